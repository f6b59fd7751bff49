/*-------------------------------------------------------------------------
 *
 * sware_zones.c
 *	  Compares what shared memory knows about buffer pages with the pages, for
 *	  tests.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"

#include "buffer/buffer.h"
#include "keys/abbreviation.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/bufferpages.h"
#include "pages/pageaccess.h"
#include "zones/zones.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(sware_compare_zones);
PG_FUNCTION_INFO_V1(sware_count_chunks);
PG_FUNCTION_INFO_V1(sware_quota);
PG_FUNCTION_INFO_V1(sware_run_zones);

/* places that are searched for in each zone */
#define SEARCHES	40

/* entries are copied in pieces of up to this number */
#define LARGEST_PIECE	100

typedef struct Entries
{
	IndexTuple *tuples;
	int			count;
	int			allocated;
} Entries;

static void
add_entry(Entries *entries, IndexTuple tuple)
{
	if (entries->count == entries->allocated)
	{
		entries->allocated = Max(1024, entries->allocated * 2);
		entries->tuples =
			entries->tuples == NULL ?
			palloc(entries->allocated * sizeof(IndexTuple)) :
			repalloc_huge(entries->tuples,
						  entries->allocated * sizeof(IndexTuple));
	}
	entries->tuples[entries->count++] = CopyIndexTuple(tuple);
}

static int
compare_entries(const void *a, const void *b, void *index)
{
	return sware_compare_entries((Relation) index, *(const IndexTuple *) a,
								 *(const IndexTuple *) b);
}

static void
sort_and_drop_equal(Relation index, Entries *entries)
{
	int			kept = Min(entries->count, 1);

	qsort_arg(entries->tuples, entries->count, sizeof(IndexTuple),
			  compare_entries, index);
	for (int i = 1; i < entries->count; i++)
	{
		if (sware_compare_entries(index, entries->tuples[i],
								  entries->tuples[kept - 1]) != 0)
			entries->tuples[kept++] = entries->tuples[i];
	}
	entries->count = kept;
}

/*
 * A view as the last one of some readers gets it; or, if `readers` is 0, one
 * that will stay as it is, since nothing more is to be sorted.
 */
static void
make_view(Relation index, SwareZoneView *view, int readers)
{
	SwareBufferState state;
	uint64		before = 0;
	uint64		stamp = 0;
	bool		is_current;

	/* a reader that builds a zone makes a new listing */
	do
	{
		before = stamp;
		sware_zone_view_init(view, index, CurrentMemoryContext);
		(void) sware_buffer_read_state(index, &state);
		is_current = sware_zone_view_refresh(view, &state);
		stamp = view->stamp;
	} while (!is_current ||
			 (view->isCrowded && (!view->mayBuild || stamp != before) &&
			  --readers != 0));
}

/*
 * Add a page's entries to those of unsorted pages, or of pages in sorted
 * zones.  A zonemap must cover the entries exactly.
 */
static void
read_page(Relation index, SwareLink link, const SwareUnsortedPage *unsorted,
		  Entries *entries)
{
	Buffer		buffer = sware_read_buffer_page(index, link, BUFFER_LOCK_SHARE);
	int64		smallest = PG_INT64_MAX;
	int64		largest = PG_INT64_MIN;
	SwareKeyColumn column;
	Page		page;

	if (!BufferIsValid(buffer))
		elog(ERROR, "page %u is not what the directory says", link.block);
	page = BufferGetPage(buffer);
	sware_key_column_init(&column, index, 1);
	for (Size offset = SWARE_BUFFER_START;
		 offset < sware_buffer_page_end(page);)
	{
		IndexTuple	entry =
			sware_buffer_entry(index, link.block, page, &offset);
		int64		abbreviation =
			sware_abbreviate(&column, RelationGetDescr(index), entry);

		smallest = Min(smallest, abbreviation);
		largest = Max(largest, abbreviation);
		add_entry(entries, entry);
	}
	sware_release_buffer(buffer);
	if (unsorted != NULL && unsorted->isKnown &&
		(unsorted->smallest != smallest || unsorted->largest != largest))
		elog(ERROR, "page %u has a wrong zonemap", link.block);
}

static const SwareUnsortedPage *
find_unsorted(const SwareZoneView *view, SwareLink link)
{
	for (int i = 0; i < view->pageCount; i++)
	{
		if (sware_links_equal(view->pages[i].page, link))
			return &view->pages[i];
	}
	return NULL;
}

static bool
is_listed(const SwareListedPage *listed, int count, SwareLink link)
{
	for (int i = 0; i < count; i++)
	{
		if (sware_links_equal(listed[i].page, link))
			return true;
	}
	return false;
}

/*
 * How many entries of a zone can be read?  Those of a page run that have
 * retired cannot.
 */
static int
readable_entries(const SwareSortedZone *zone)
{
	return zone->isOfRun ? zone->entries - zone->firstEntry : zone->entries;
}

/*
 * Get entries of a zone into a window in pieces of all sizes that fit, which
 * follow each other forward or backward, and compare them with those that were
 * read one by one.
 */
static void
get_in_pieces(Relation index, const SwareSortedZone *zone,
			  const IndexTuple *expected, bool forward)
{
	uint32		readable = readable_entries(zone);
	uint32		skipped = zone->entries - readable;
	uint32		size = 1;
	SwareWindow window;

	sware_window_init(&window);
	for (uint32 done = 0; done < readable; size++)
	{
		uint32		first;
		uint32		end;

		size = Min(Min(size % (LARGEST_PIECE + 1), readable - done),
				   BLCKSZ / zone->largestEntry);
		size = Max(size, 1);
		first = forward ? done : readable - done - size;
		end = first + size;
		if (!sware_sorted_zone_get(index, zone, skipped + first, skipped + end,
								   forward, &window))
			elog(ERROR, "a sorted zone is gone");
		if (!sware_window_has(&window,
							  skipped + (forward ? first : end - 1)))
			elog(ERROR, "a window lacks an entry of a sorted zone");
		for (; done < readable; done++)
		{
			uint32		i = forward ? done : readable - done - 1;
			IndexTuple	entry;
			Size		length;

			if (!sware_window_has(&window, skipped + i))
				break;
			entry = sware_window_entry(&window, skipped + i);
			length = IndexTupleSize(entry);
			sware_clear_mark(entry);
			if (length != IndexTupleSize(expected[i]) ||
				memcmp(entry, expected[i], length) != 0)
				elog(ERROR, "entry %u of a sorted zone is wrong in a window", i);
		}
	}
}

/*
 * Read a zone from first to last.  Entries are from listed pages, unless these
 * have retired; then they are not among those that are live.
 */
static void
read_zone(Relation index, const SwareZoneView *view,
		  const SwareSortedZone *zone, const SwareListedPage *listed,
		  int listed_count, Entries *entries, Entries *live)
{
	int			first = entries->count;
	int64		smallest;
	SwareKeyColumn column;
	SwareWindow window;

	sware_window_init(&window);
	for (uint32 i = zone->entries - readable_entries(zone); i < zone->entries;
		 i++)
	{
		IndexTuple	entry;
		SwareLink	page;
		bool		is_retired = i < zone->firstEntry;

		if ((!sware_window_has(&window, i) &&
			 !sware_sorted_zone_get(index, zone, i, i + 1, true, &window)) ||
			!sware_sorted_zone_copy_page(zone, i, &page))
			elog(ERROR, "a sorted zone is gone");
		entry = sware_window_entry(&window, i);
		if (find_unsorted(view, page) != NULL)
			elog(ERROR, "page %u is in a sorted zone and unsorted", page.block);
		if (is_retired == is_listed(listed, listed_count, page))
			elog(ERROR, "a sorted zone is wrong about whether page %u has retired", page.block);
		sware_clear_mark(entry);
		add_entry(entries, entry);
		if (!is_retired)
			add_entry(live, entry);
		if (entries->count > first + 1 &&
			sware_compare_entries(index, entries->tuples[entries->count - 2],
								  entries->tuples[entries->count - 1]) >= 0)
			elog(ERROR, "a sorted zone is not in order");
	}
	get_in_pieces(index, zone, entries->tuples + first, true);
	get_in_pieces(index, zone, entries->tuples + first, false);
	sware_key_column_init(&column, index, 1);
	smallest = sware_abbreviate(&column, RelationGetDescr(index),
								entries->tuples[first]);
	if ((zone->isOutline || (zone->isOfRun && zone->retiredPages > 0) ?
		 zone->smallest > smallest : zone->smallest != smallest) ||
		zone->largest != sware_abbreviate(&column, RelationGetDescr(index),
										  entries->tuples[entries->count - 1]))
		elog(ERROR, "a sorted zone has a wrong zonemap");
}

/* Look for a place in a zone, and compare with a search from first to last. */
static void
search_zone(const SwareZoneView *view, const SwareSortedZone *zone,
			const Entries *own, const SwareSearchKey *place)
{
	int			skipped = zone->entries - readable_entries(zone);
	int			expected = 0;
	int64		found;
	SwareWindow window;

	while (expected < own->count &&
		   sware_compare_key(place, own->tuples[expected]) > 0)
		expected++;
	sware_window_init(&window);
	found = sware_sorted_zone_search(view->index, zone, place, &window);
	if (found != expected + skipped)
		elog(ERROR, "a search found " INT64_FORMAT " instead of %d", found,
			 expected + skipped);
}

static void
search_for_entry(const SwareZoneView *view, const SwareSortedZone *zone,
				 const Entries *own, IndexTuple entry)
{
	SwareSearchKey place;

	sware_search_key_from_tuple(&place, view->index, entry);
	search_zone(view, zone, own, &place);
	place.after = true;
	search_zone(view, zone, own, &place);
	place.hasTid = false;
	search_zone(view, zone, own, &place);
	place.after = false;
	search_zone(view, zone, own, &place);
	place.columnCount = 1;
	search_zone(view, zone, own, &place);
	place.after = true;
	search_zone(view, zone, own, &place);
}

/* Is a value among those of a zone's first column? */
static bool
has_value(Relation index, const Entries *own, Datum value)
{
	SwareSearchKey place;
	int			low = 0;
	int			high = own->count;
	bool		is_null;
	Datum		found;

	sware_search_key_init(&place, index);
	sware_search_key_set_column(&place, 1, value, false);
	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (sware_compare_key(&place, own->tuples[middle]) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == own->count)
		return false;
	found =
		index_getattr(own->tuples[low], 1, RelationGetDescr(index), &is_null);
	return sware_compare_column(&place.columns[0], found, is_null) == 0;
}

/* Ask a zone's filter for some entries' values. */
static void
probe_filter(const SwareZoneView *view, int zone, const Entries *own,
			 const Entries *asked, int64 *absent, int64 *false_positives)
{
	Relation	index = view->index;

	for (int i = 0; i < asked->count; i++)
	{
		uint64		hash;
		bool		is_null;
		Datum		value = index_getattr(asked->tuples[i], 1,
										  RelationGetDescr(index), &is_null);
		bool		is_there;
		bool		may_be_there;

		if (is_null)
			continue;
		if (!sware_bloom_hash(index, value, &hash))
			elog(ERROR, "a sorted zone has a filter, but its column has no hash function");
		is_there = has_value(index, own, value);
		may_be_there = !sware_sorted_zone_lacks(&view->sorted[zone], hash);
		if (is_there && !may_be_there)
			elog(ERROR, "a filter denies an entry of its sorted zone");
		if (!is_there)
		{
			++*absent;
			if (may_be_there)
				++* false_positives;
		}
	}
}

/* Look for entries of all sorted zones, and of unsorted pages, in each zone. */
static void
compare_zones(Relation index, const SwareZoneView *view, const Entries *all,
			  const Entries *unsorted, int64 *absent, int64 *false_positives)
{
	int			first = 0;

	for (int i = 0; i < view->sortedCount; i++)
	{
		const SwareSortedZone *zone = &view->sorted[i];
		Entries		own = {all->tuples + first, readable_entries(zone), 0};

		for (int j = 0; j <= SEARCHES; j++)
		{
			search_for_entry(view, zone, &own,
							 all->tuples[(int64) (all->count - 1) * j /
										 SEARCHES]);
			search_for_entry(view, zone, &own,
							 own.tuples[(int64) (own.count - 1) * j /
										SEARCHES]);
		}
		if (zone->filterLines > 0)
		{
			probe_filter(view, i, &own, all, absent, false_positives);
			probe_filter(view, i, &own, unsorted, absent, false_positives);
		}
		first += own.count;
	}
}

Datum
sware_compare_zones(PG_FUNCTION_ARGS)
{
	Relation	index = index_open(PG_GETARG_OID(0), AccessShareLock);
	SwareZoneView view;
	SwareListedPage *listed;
	int			listed_count;
	Entries		expected = {0};
	Entries		all = {0};
	Entries		found = {0};
	Entries		unsorted = {0};
	int			sorted = 0;
	int			retired = 0;
	int			zonemaps = 0;
	int			filters = 0;
	int64		absent = 0;
	int64		false_positives = 0;
	TupleDesc	descriptor;
	Datum		values[8];
	bool		isnull[8] = {false};

	if (!sware_zones_are_available())
		elog(ERROR, "sware is not preloaded");
	make_view(index, &view, PG_GETARG_INT32(1));
	listed_count = sware_buffer_list_pages(index, SWARE_SLOT_SEALED, &listed);
	for (int i = 0; i < view.sortedCount; i++)
	{
		read_zone(index, &view, &view.sorted[i], listed, listed_count, &all,
				  &found);
		sorted += view.sorted[i].pages - view.sorted[i].retiredPages;
		retired += view.sorted[i].retiredPages;
		filters += view.sorted[i].filterLines > 0;
	}
	for (int i = 0; i < view.pageCount; i++)
		zonemaps += view.pages[i].isKnown &&
			view.pages[i].smallest < view.pages[i].largest;
	for (int i = 0; i < listed_count; i++)
	{
		const SwareUnsortedPage *page = find_unsorted(&view, listed[i].page);

		read_page(index, listed[i].page, page,
				  page != NULL ? &unsorted : &expected);
	}
	if (sorted + view.pageCount != listed_count)
		elog(ERROR, "%d pages are sorted and %d unsorted, but %d are listed",
			 sorted, view.pageCount, listed_count);
	if (all.count > 0)
		compare_zones(index, &view, &all, &unsorted, &absent, &false_positives);

	sort_and_drop_equal(index, &expected);
	sort_and_drop_equal(index, &found);
	if (expected.count != found.count)
		elog(ERROR, "sorted zones have %d different entries, and their pages have %d",
			 found.count, expected.count);
	for (int i = 0; i < found.count; i++)
	{
		if (sware_compare_entries(index, found.tuples[i],
								  expected.tuples[i]) != 0)
			elog(ERROR, "sorted zones and their pages have different entries");
	}
	index_close(index, AccessShareLock);

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int32GetDatum(listed_count);
	values[1] = Int32GetDatum(view.sortedCount);
	values[2] = Int32GetDatum(sorted);
	values[3] = Int32GetDatum(view.pageCount);
	values[4] = Int32GetDatum(zonemaps);
	values[5] = Int32GetDatum(filters);
	values[6] = Int32GetDatum(retired);
	isnull[7] = absent == 0;
	values[7] =
		Float8GetDatum(isnull[7] ? 0 : (double) false_positives / absent);
	PG_RETURN_DATUM(
					HeapTupleGetDatum(heap_form_tuple(descriptor, values, isnull)));
}

Datum
sware_count_chunks(PG_FUNCTION_ARGS)
{
	int			total;
	int			unused;
	int			used;
	TupleDesc	descriptor;
	Datum		values[3];
	bool		isnull[3] = {false};

	sware_zones_count_chunks(&total, &unused, &used);
	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int32GetDatum(total);
	values[1] = Int32GetDatum(unused);
	values[2] = Int32GetDatum(used);
	PG_RETURN_DATUM(
					HeapTupleGetDatum(heap_form_tuple(descriptor, values, isnull)));
}

Datum
sware_quota(PG_FUNCTION_ARGS)
{
	Relation	index = index_open(PG_GETARG_OID(0), AccessShareLock);
	TupleDesc	descriptor;
	Datum		values[2];
	bool		isnull[2] = {false};

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int32GetDatum(sware_buffer_quota(index));
	values[1] = Int32GetDatum(sware_first_slot(SWARE_MAX_DIRECTORY_PAGES));
	index_close(index, AccessShareLock);
	PG_RETURN_DATUM(
					HeapTupleGetDatum(heap_form_tuple(descriptor, values, isnull)));
}

Datum
sware_run_zones(PG_FUNCTION_ARGS)
{
	Relation	index = index_open(PG_GETARG_OID(0), AccessShareLock);
	SwareZoneView view;
	TupleDesc	descriptor;
	Datum		values[6];
	int64		counts[6] = {0};
	bool		isnull[6] = {false};

	make_view(index, &view, 0);
	for (int i = 0; i < view.sortedCount; i++)
	{
		const SwareSortedZone *zone = &view.sorted[i];

		if (!zone->isOfRun)
			continue;
		counts[0]++;
		if (zone->isOutline)
			counts[5] += zone->pages;
		counts[1] += zone->pages;
		counts[2] += zone->retiredPages;
		counts[3] += zone->entries;
		counts[4] += zone->allocation.chunks;
	}
	index_close(index, AccessShareLock);
	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	for (int i = 0; i < 6; i++)
		values[i] = Int64GetDatum(counts[i]);
	PG_RETURN_DATUM(
					HeapTupleGetDatum(heap_form_tuple(descriptor, values, isnull)));
}
