/*-------------------------------------------------------------------------
 *
 * zonebuilder.c
 *	  Building sorted zones in private memory, and storing them in the pool.
 *
 * A sorted zone is made of buffer pages, whose entries are copied and sorted;
 * those of a page run are in order.  Outlines are made of what the directory
 * tells.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xlog.h"
#include "miscadmin.h"

#include "base/memory.h"
#include "base/options.h"
#include "keys/abbreviation.h"
#include "keys/fingerprint.h"
#include "sort/sorter.h"
#include "layout/tuple.h"
#include "pages/bufferpages.h"
#include "zones/zonetable.h"

/* the number of entries for which there is room at first */
#define FIRST_ALLOCATED		1024

/*
 * The zone of a page run has anchors if they take no more than this for each
 * page, in bytes.
 */
#define ANCHOR_BYTES		512

/*
 * What a page run's filter has for bloom_bits: twice as many, as long as
 * SWARE_RUN_PAGES_PER_CHUNK pages find room in a chunk.  A look-up asks the
 * filters of all runs, and reads a page for each wrong answer.
 */
#define RUN_FILTER_BITS(bits)	Max(bits, Min(2 * (bits), 20))

/* The entries of the new zone, which are in copies of its pages. */
typedef struct Gathered
{
	Relation	index;
	char	   *pages;			/* BLCKSZ bytes of each */
	IndexTuple *entries;
	int64		count;
	int64		allocated;
} Gathered;

/* The number, in the new zone, of the page that an entry is on. */
static inline uint16
origin_of(const Gathered *gathered, int64 entry)
{
	return ((char *) gathered->entries[entry] - gathered->pages) / BLCKSZ;
}

/*
 * Gather the entries of buffer pages, and set the seal of the last one.
 * Returns false if there are none, or if a page is gone, or is to be a page
 * run's but is not sorted, or empty.  Locks one at a time.
 */
static bool
gather_pages(Gathered *gathered, const SwareLink *links, SwareSortedZone *zone)
{
	/*
	 * Pages of a dropped database can be taken for those of another one until
	 * a record changes them (see is_same_history).  Their entries are the
	 * same then, but not their marks, which would count after promotion.
	 */
	bool		takes_no_marks = RecoveryInProgress();
	SwarePagesAhead ahead;

	gathered->pages = MemoryContextAllocHuge(CurrentMemoryContext,
											 (Size) zone->pages * BLCKSZ);
	sware_pages_ahead_init(&ahead, gathered->index);
	for (uint32 i = 0; i < zone->pages; i++)
	{
		Page		copy = gathered->pages + (Size) i * BLCKSZ;
		Size		end;

		CHECK_FOR_INTERRUPTS();
		sware_ask_for_pages(&ahead, links, zone->pages, i);
		if (!sware_copy_buffer_page(gathered->index, links[i], copy) ||
			(zone->isOfRun && !sware_buffer_page_is_sorted(copy)))
			return false;
		end = sware_buffer_page_end(copy);
		if (zone->isOfRun && end == SWARE_BUFFER_START)
			return false;
		for (Size offset = SWARE_BUFFER_START; offset < end;)
		{
			Size		start = offset;
			IndexTuple	entry = sware_buffer_entry(gathered->index,
												   links[i].block, copy,
												   &offset);

			if (IndexTupleSize(entry) > SWARE_MAX_ENTRY_SIZE)
				sware_report_buffer_entry(gathered->index, links[i].block,
										  start);
			if (takes_no_marks)
				sware_clear_mark(entry);
			if (gathered->count == gathered->allocated)
				sware_grow(gathered->entries, gathered->allocated,
						   FIRST_ALLOCATED, CurrentMemoryContext);
			gathered->entries[gathered->count++] = entry;
		}
		zone->lastSeal = SwarePageGetOpaque(copy)->seal;
	}
	return gathered->count > 0;
}

/* Keep one of each group of equal entries.  Returns how many are left. */
static int64
drop_equal(Relation index, IndexTuple *entries, int64 count)
{
	int64		kept = Min(count, 1);

	for (int64 i = 1; i < count; i++)
	{
		if (!sware_entries_are_equal(index, entries[i], entries[kept - 1]))
			entries[kept++] = entries[i];
	}
	return kept;
}

/*
 * Set how large the filter of a zone will be; none if there is no hash
 * function.  Returns its length in bytes.
 */
static Size
plan_filter(Relation index, SwareSortedZone *zone)
{
	int			bits = sware_options_of(index)->bloomBits;
	FmgrInfo   *function = bits > 0 ? sware_hash_function(index, 0) : NULL;

	if (function == NULL)
		return 0;
	if (zone->isOfRun)
		bits = RUN_FILTER_BITS(bits);
	zone->hashFunction = function->fn_oid;
	zone->filterLines = ((uint64) zone->entries * bits - 1) /
		SWARE_FILTER_LINE_BITS + 1;
	zone->filterProbes = rint(bits * M_LN2);
	zone->filterProbes =
		Max(1, Min(zone->filterProbes, SWARE_FILTER_MAX_PROBES));
	return (Size) zone->filterLines * SWARE_FILTER_LINE_BYTES;
}

/* How many entries have a fence, if there are any? */
static inline uint32
fence_count(const SwareSortedZone *zone)
{
	return (zone->entries - 1) / SWARE_FENCE_DISTANCE + 1;
}

/* Add a part to an allocation, and return where it begins. */
static inline uint32
add_part(SwareZoneImage *image, Size size, Size alignment)
{
	uint32		start = TYPEALIGN(alignment, image->length);

	image->length = start + size;
	return start;
}

/* Is an entry of a page run the first of its page? */
static inline bool
is_first_of_page(const Gathered *gathered, uint32 number)
{
	return number == 0 ||
		origin_of(gathered, number) != origin_of(gathered, number - 1);
}

/* Set where in the allocation the parts will be, and the length of all. */
static void
lay_out(const Gathered *gathered, const SwareKeyColumn *column,
		SwareZoneImage *image)
{
	IndexTuple *entries = gathered->entries;
	SwareSortedZone *zone = &image->zone;
	Size		first_size = MAXALIGN(IndexTupleSize(entries[0]));
	Size		copied = 0;
	Size		offsets;
	bool		same_size = true;

	for (uint32 i = 0; i < zone->entries; i++)
	{
		Size		size = MAXALIGN(IndexTupleSize(entries[i]));

		if (!zone->isOfRun || is_first_of_page(gathered, i))
			copied += size;
		same_size &= size == first_size;
		zone->largestEntry = Max(zone->largestEntry, size);
	}
	zone->entrySize = same_size ? first_size : 0;
	zone->fences = sware_has_abbreviations(column) ? fence_count(zone) : 0;
	offsets = zone->isOfRun ? fence_count(zone) * sizeof(uint16) :
		(zone->entries + 1) * sizeof(uint32);

	image->length = zone->pages * sizeof(SwareLink);
	zone->fencesStart = add_part(image, zone->fences * sizeof(int64),
								 SWARE_POOL_ALIGNMENT);
	zone->filterStart = add_part(image, plan_filter(gathered->index, zone),
								 SWARE_POOL_ALIGNMENT);
	if (zone->isOfRun)
		zone->startsStart = add_part(image, (zone->pages + 1) * sizeof(uint32),
									 sizeof(uint32));
	else
		zone->originsStart = add_part(image, zone->entries * sizeof(uint16),
									  sizeof(uint16));
	zone->offsetsStart = add_part(image, same_size ? 0 : offsets,
								  sizeof(uint32));
	if (zone->isOfRun && copied > zone->pages * ANCHOR_BYTES)
		copied = 0;
	else if (zone->isOfRun)
		zone->anchorsStart = add_part(image, (zone->pages + 1) * sizeof(uint32),
									  sizeof(uint32));
	zone->tuplesStart = add_part(image, copied, MAXIMUM_ALIGNOF);
}

/*
 * Add the first column's values to the filter.  If the column has got another
 * hash function meanwhile, the zone gets no filter.
 */
static void
fill_filter(Relation index, IndexTuple *entries, SwareZoneImage *image)
{
	SwareSortedZone *zone = &image->zone;
	FmgrInfo   *function = sware_hash_function(index, 0);
	uint8	   *filter = (uint8 *) image->bytes + zone->filterStart;
	MemoryContext caller;

	/* the operator class may have been altered since the zone was laid out */
	if (function == NULL || function->fn_oid != zone->hashFunction)
	{
		zone->filterLines = 0;
		return;
	}

	caller = sware_enter_context("sware filter");
	for (uint32 i = 0; i < zone->entries; i++)
	{
		bool		is_null;
		Datum		value;
		SwareFilterHash hash;

		value = index_getattr(entries[i], 1, RelationGetDescr(index), &is_null);
		if (is_null)
			continue;
		hash = sware_filter_hash((uint32) sware_hash_value(index, 0, function,
														   value));
		sware_filter_add(filter + sware_filter_line(hash, zone->filterLines),
						 hash, zone->filterProbes);
		if (i % 1024 == 0)
		{
			MemoryContextReset(CurrentMemoryContext);
			CHECK_FOR_INTERRUPTS();
		}
	}
	sware_leave_context(caller);
}

/* Fill in origins, offsets and tuples of a zone with copies. */
static void
fill_copies(const Gathered *gathered, SwareZoneImage *image)
{
	IndexTuple *entries = gathered->entries;
	SwareSortedZone *zone = &image->zone;
	uint16	   *origins = (uint16 *) (image->bytes + zone->originsStart);
	uint32	   *offsets = (uint32 *) (image->bytes + zone->offsetsStart);
	char	   *tuples = image->bytes + zone->tuplesStart;
	uint32		length = 0;

	for (uint32 i = 0; i < zone->entries; i++)
	{
		origins[i] = origin_of(gathered, i);
		if (zone->entrySize == 0)
			offsets[i] = length;
		sware_copy_tuple(tuples + length, entries[i]);
		length += MAXALIGN(IndexTupleSize(entries[i]));
	}
	if (zone->entrySize == 0)
		offsets[zone->entries] = length;
}

/* Fill in starts, offsets and anchors of the zone of a page run. */
static void
fill_run(const Gathered *gathered, SwareZoneImage *image)
{
	IndexTuple *entries = gathered->entries;
	SwareSortedZone *zone = &image->zone;
	uint32	   *starts = (uint32 *) (image->bytes + zone->startsStart);
	uint16	   *offsets = (uint16 *) (image->bytes + zone->offsetsStart);
	uint32	   *anchors = (uint32 *) (image->bytes + zone->anchorsStart);
	uint32		anchors_end = zone->tuplesStart;
	uint32		offset = SWARE_BUFFER_START;
	uint32		page = 0;

	for (uint32 i = 0; i < zone->entries; i++)
	{
		Size		size = MAXALIGN(IndexTupleSize(entries[i]));

		if (is_first_of_page(gathered, i))
		{
			offset = SWARE_BUFFER_START;
			starts[page] = i;
			if (zone->anchorsStart > 0)
			{
				anchors[page] = anchors_end;
				sware_copy_tuple(image->bytes + anchors_end, entries[i]);
				anchors_end += size;
			}
			page++;
		}
		if (zone->entrySize == 0 && i % SWARE_FENCE_DISTANCE == 0)
			offsets[i / SWARE_FENCE_DISTANCE] = offset;
		offset += size;
	}
	starts[page] = zone->entries;
	if (zone->anchorsStart > 0)
		anchors[page] = anchors_end;
}

/* Fill the image of a zone whose parts have their places. */
static void
fill(const Gathered *gathered, const SwareLink *links,
	 const SwareKeyColumn *column, SwareZoneImage *image)
{
	SwareSortedZone *zone = &image->zone;
	int64	   *fences = (int64 *) (image->bytes + zone->fencesStart);

	memcpy(image->bytes, links, zone->pages * sizeof(SwareLink));
	for (uint32 i = 0; i < zone->fences; i++)
		fences[i] =
			sware_abbreviate(column, RelationGetDescr(gathered->index),
							 gathered
							 ->entries[(Size) i * SWARE_FENCE_DISTANCE]);
	if (zone->filterLines > 0)
		fill_filter(gathered->index, gathered->entries, image);
	if (zone->isOfRun)
		fill_run(gathered, image);
	else
		fill_copies(gathered, image);
}

/*
 * Build a sorted zone of buffer pages that are neighbours in the order of
 * sealing.  image->zone says how many they are, and whether it will be that of
 * a page run.  Returns false if one of them is gone, or they have no entries.
 * Takes memory from the current context, which the caller soon deletes.  Locks
 * one page at a time, and none while comparators and hash functions are called.
 */
bool
sware_sorted_zone_build(Relation index, const SwareLink *links,
						SwareZoneImage *image)
{
	SwareSortedZone *zone = &image->zone;
	Gathered	gathered = {.index = index};
	SwareKeyColumn column;

	Assert(zone->pages <= SWARE_MAX_ZONE_PAGES);
	if (!gather_pages(&gathered, links, zone))
		return false;
	zone->entries = gathered.count;
	if (!zone->isOfRun)
	{
		sware_sort_entries(index, gathered.entries, 0, gathered.count);
		zone->entries = drop_equal(index, gathered.entries, gathered.count);
	}
	sware_key_column_init(&column, index, 1);
	zone->smallest = sware_abbreviate(&column, RelationGetDescr(index),
									  gathered.entries[0]);
	zone->largest = sware_abbreviate(&column, RelationGetDescr(index),
									 gathered.entries[zone->entries - 1]);

	lay_out(&gathered, &column, image);
	image->bytes =
		MemoryContextAllocExtended(CurrentMemoryContext, image->length,
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	fill(&gathered, links, &column, image);
	return true;
}

/*
 * Read a page, and set what is to be known of it.  Returns false if it is gone.
 * If `behind` is not NULL, it is to be a sorted page with entries: *behind is
 * set to the number of pages of its run that follow.  Locks it for a moment.
 */
bool
sware_examine_page(Relation index, SwareUnsortedPage *page, uint32 *behind)
{
	TupleDesc	descriptor = RelationGetDescr(index);
	SwareKeyColumn column;
	PGAlignedBlock copy;

	CHECK_FOR_INTERRUPTS();
	if (!sware_copy_buffer_page(index, page->page, copy.data))
		return false;
	if (behind != NULL)
	{
		if (!sware_buffer_page_is_sorted(copy.data) ||
			sware_buffer_page_end(copy.data) == SWARE_BUFFER_START)
			return false;
		*behind = sware_page_run_end(copy.data, 0);
	}
	sware_key_column_init(&column, index, 1);
	page->seal = SwarePageGetOpaque(copy.data)->seal;
	page->isKnown = true;
	page->smallest = PG_INT64_MAX;
	page->largest = PG_INT64_MIN;
	for (Size offset = SWARE_BUFFER_START;
		 offset < sware_buffer_page_end(copy.data);)
	{
		IndexTuple	entry =
			sware_buffer_entry(index, page->page.block, copy.data, &offset);
		int64		abbreviation = sware_abbreviate(&column, descriptor, entry);

		page->smallest = Min(page->smallest, abbreviation);
		page->largest = Max(page->largest, abbreviation);
	}
	return true;
}

/* Set what an outline has: where its pages are, and how many entries. */
static void
fill_outline(const SwareListedPage *listed, int count, SwareZoneImage *image)
{
	SwareSortedZone *zone = &image->zone;
	SwareLink  *links;
	uint32	   *starts;

	zone->isOfRun = zone->isOutline = true;
	zone->pages = count;
	zone->firstSequence = listed[0].sequence;
	zone->lastSequence = listed[count - 1].sequence;
	zone->largestEntry = MAXALIGN(SWARE_MAX_ENTRY_SIZE);
	image->length = count * sizeof(SwareLink);
	zone->startsStart = add_part(image, (count + 1) * sizeof(uint32),
								 sizeof(uint32));
	image->bytes = palloc0(image->length);
	links = (SwareLink *) image->bytes;
	starts = (uint32 *) (image->bytes + zone->startsStart);
	for (int i = 0; i < count; i++)
	{
		links[i] = listed[i].page;
		starts[i] = zone->entries;
		zone->entries += listed[i].entries;
	}
	starts[count] = zone->entries;
}

/*
 * Make the outline of the page run that a listed page is of, as far as pages
 * that are to be in outlines follow that one.  Returns their number; 0 if a
 * page that is read for it is not there any more.
 */
static int
make_outline(Relation index, const SwareListedPage *listed,
			 const bool *is_sorted, int count, SwareZoneImage *image)
{
	SwareUnsortedPage first = {.page = listed[0].page};
	SwareUnsortedPage last;
	uint32		behind;
	int			pages = 1;

	if (!sware_examine_page(index, &first, &behind))
		return 0;
	count = Min(count, SWARE_MAX_ZONE_PAGES);
	while (pages < count && (uint32) pages <= behind &&
		   listed[pages].isSorted && !is_sorted[pages] &&
		   listed[pages].entries > 0 &&
		   listed[pages].sequence == listed[0].sequence + pages)
		pages++;
	last.page = listed[pages - 1].page;
	if (!sware_examine_page(index, &last, &behind))
		return 0;
	memset(image, 0, sizeof(SwareZoneImage));
	fill_outline(listed, pages, image);
	image->zone.lastSeal = last.seal;
	image->zone.smallest = first.smallest;
	image->zone.largest = last.largest;
	return pages;
}

/*
 * Make outlines of all sorted pages among those listed for which is_sorted is
 * not set, and set it, unless a page is not there any more.  Takes memory from
 * the current context.  Locks one page at a time.
 */
void
sware_outlines_make(Relation index, const SwareListedPage *listed, int count,
					bool *is_sorted, SwareOutlines *outlines)
{
	int			pages;

	memset(outlines, 0, sizeof(SwareOutlines));
	for (int i = 0; i < count; i += pages)
	{
		pages = 1;
		if (!listed[i].isSorted || is_sorted[i] || listed[i].entries == 0)
			continue;
		if (outlines->count == outlines->allocated)
			sware_grow(outlines->images, outlines->allocated, 32,
					   CurrentMemoryContext);
		pages = make_outline(index, listed + i, is_sorted + i, count - i,
							 &outlines->images[outlines->count]);
		memset(is_sorted + i, true, pages);
		outlines->count += pages > 0;
		pages = Max(pages, 1);
	}
}

/*
 * Copy an image to the pool, and set allocation and stamp in its description.
 * Returns false if the pool has no room.  The caller must free the allocation,
 * or put it where other backends find it, before anything can fail or be
 * interrupted.  Takes locks as sware_zones_allocate does.
 */
bool
sware_sorted_zone_store(SwareSortedZone *zone, const SwareZoneImage *image)
{
	if (!sware_zones_allocate(image->length, &zone->allocation))
		return false;
	sware_pool_write(&zone->allocation, 0, image->bytes, image->length);
	zone->stamp = sware_new_stamp();
	sware_pool_set_stamp(&zone->allocation, zone->stamp);
	return true;
}
