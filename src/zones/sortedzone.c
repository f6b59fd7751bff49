/*-------------------------------------------------------------------------
 *
 * sortedzone.c
 *	  Sorted zones: reading them without locks, and what is hashed for them.
 *
 * Readers copy what they look at and check the zone's stamp before they use the
 * copy: a comparator may get what a page held, but nothing else, and no lock is
 * held when it runs.
 *
 * The entries of a page run are numbered from page to page.  The zone knows
 * where on its page every 64th entry of the run begins, so a window begins and
 * ends with one of these, or with the page.  An outline does not know: a window
 * has a whole page.  One page is locked at a time, for a moment.  A damaged
 * page is an error (ERRCODE_INDEX_CORRUPTED).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"

#include "base/faultpoint.h"
#include "keys/abbreviation.h"
#include "keys/fingerprint.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "zones/sortedzone.h"

/*
 * A search in an outline guesses this number of pages, and then goes on by
 * halves.
 */
#define MAX_GUESSES				3

/*
 * The hash function's OID is in the upper half of the result: a filter must not
 * be asked about the hashes of another function.
 */
bool
sware_bloom_hash(Relation index, Datum value, uint64 *hash)
{
	FmgrInfo   *function = sware_hash_function(index, 0);
	Oid			function_oid;

	if (function == NULL)
		return false;
	function_oid = function->fn_oid;
	*hash = (uint64) function_oid << 32 |
		(uint32) sware_hash_value(index, 0, function, value);
	return true;
}

bool
sware_sorted_zone_lacks(const SwareSortedZone *zone, uint64 hash)
{
	SwareFilterHash filter_hash = sware_filter_hash((uint32) hash);
	const uint8 *line = (const uint8 *)
		sware_pool_peek(&zone->allocation, zone->filterStart +
						sware_filter_line(filter_hash, zone->filterLines));

	return line && !sware_filter_has(line, filter_hash, zone->filterProbes) &&
		sware_pool_has_stamp(&zone->allocation, zone->stamp);
}

/* A page of a run. */
typedef struct RunPage
{
	uint32		number;			/* among the links */
	uint32		start;			/* number of its first entry */
	uint32		end;			/* number behind its last entry */
} RunPage;

/* Copy the number at which a page starts. */
static inline bool
read_start(const SwareSortedZone *zone, uint32 page, uint32 *start)
{
	return sware_pool_read(&zone->allocation,
						   zone->startsStart + (Size) page * sizeof(uint32),
						   start, sizeof(uint32));
}

/* Find a page by its number.  Returns false if the zone is gone. */
static bool
find_page_by_number(const SwareSortedZone *zone, uint32 number, RunPage *page)
{
	uint32		starts[2];

	if (!sware_sorted_zone_read(zone, zone->startsStart +
								(Size) number * sizeof(uint32),
								starts, sizeof(starts)))
		return false;
	page->number = number;
	page->start = starts[0];
	page->end = starts[1];
	return true;
}

/* Find the page of an entry.  Returns false if the zone is gone. */
static bool
find_page(const SwareSortedZone *zone, uint32 number, RunPage *page)
{
	uint32		start;

	Assert(number < zone->entries);
	page->number = 0;
	for (uint32 end = zone->pages; end - page->number > 1;)
	{
		uint32		middle = page->number + (end - page->number) / 2;

		if (!read_start(zone, middle, &start))
			return false;
		if (start <= number)
			page->number = middle;
		else
			end = middle;
	}
	return find_page_by_number(zone, page->number, page);
}

/* Copy the link to a page, by its number. */
static inline bool
copy_link(const SwareSortedZone *zone, uint32 page, SwareLink *link)
{
	return sware_sorted_zone_read(zone, (Size) page * sizeof(SwareLink), link,
								  sizeof(SwareLink));
}

/*
 * Find the offset on its page of an entry that is the first there, or has a
 * fence.  Returns false if the zone is gone.
 */
static bool
find_offset(const SwareSortedZone *zone, const RunPage *page, uint32 number,
			uint32 *offset)
{
	uint16		stored;

	if (zone->entrySize > 0 || number == page->start)
	{
		*offset = SWARE_BUFFER_START +
			(number - page->start) * zone->entrySize;
		return true;
	}
	Assert(number % SWARE_FENCE_DISTANCE == 0);
	if (!sware_sorted_zone_read(zone, zone->offsetsStart +
								number / SWARE_FENCE_DISTANCE * sizeof(uint16),
								&stored, sizeof(stored)))
		return false;
	*offset = stored;
	return true;
}

/*
 * Find out where in a window's bytes its entries are, which were copied from an
 * offset of a page.  Raises an error if they are not what the run has there.
 */
static void
find_entries(Relation index, const SwareSortedZone *zone, BlockNumber block,
			 SwareWindow *window, uint32 from, uint32 length)
{
	uint32		offset = 0;

	for (uint32 i = 0; i < window->count; i++)
	{
		IndexTuple	entry = (IndexTuple) (window->copy.bytes + offset);
		uint32		size = sizeof(IndexTupleData);

		if (offset + size <= length)
			size = MAXALIGN(IndexTupleSize(entry));
		if (size <= sizeof(IndexTupleData) || size > zone->largestEntry ||
			offset + size > length)
			sware_report_buffer_entry(index, block, from + offset);
		window->offsets[i] = offset;
		offset += size;
	}
	if (offset != length)
		sware_report_buffer_entry(index, block, from + offset);
}

/*
 * Get entries of a page into a window: those from `first` to `end` - 1 that are
 * on the page; and perhaps some more around.  Returns false if the zone is
 * gone.  Locks the page for a moment.
 */
static bool
fill_window(Relation index, const SwareSortedZone *zone, const RunPage *page,
			uint32 first, uint32 end, SwareWindow *window)
{
	uint32		from;
	uint32		to;
	SwareLink	link;
	Buffer		buffer;
	Size		page_end;

	CHECK_FOR_INTERRUPTS();
	SWARE_FAULT_POINT("run-page-read");

	end = Min(TYPEALIGN(SWARE_FENCE_DISTANCE, end), page->end);
	first = Max(TYPEALIGN_DOWN(SWARE_FENCE_DISTANCE, first), page->start);
	if (zone->isOutline)
	{
		first = page->start;
		end = page->end;
	}
	if (!find_offset(zone, page, first, &from) ||
		(end < page->end && !find_offset(zone, page, end, &to)) ||
		!copy_link(zone, page->number, &link))
		return false;
	buffer = sware_read_buffer_page(index, link, BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buffer))
	{
		window->strange = link;
		return false;
	}
	page_end = sware_buffer_page_end(BufferGetPage(buffer));
	if (end == page->end)
		to = page_end;
	if (unlikely(from > to || to > page_end || page_end > BLCKSZ))
		sware_report_buffer_entry(index, link.block, from);
	memcpy(window->copy.bytes, (char *) BufferGetPage(buffer) + from,
		   to - from);
	sware_release_buffer(buffer);

	window->first = first;
	window->count = end - first;
	find_entries(index, zone, link.block, window, from, to - from);
	return true;
}

/* Copy an entry that a window has, without its mark. */
static inline void
copy_entry(SwareWindow *window, uint32 number, SwareEntryCopy *copy)
{
	sware_copy_tuple(copy, sware_window_entry(window, number));
	sware_clear_mark(&copy->tuple);
}

/*
 * Copy the first entry of a page: its anchor, or from the page, which the
 * window then has.  Returns false if the zone is gone.
 */
static bool
copy_start(Relation index, const SwareSortedZone *zone, const RunPage *page,
		   SwareWindow *window, SwareEntryCopy *copy)
{
	uint32		range[2];

	if (zone->anchorsStart == 0)
	{
		if (!sware_window_has(window, page->start) &&
			!fill_window(index, zone, page, page->start, page->start + 1,
						 window))
			return false;
		copy_entry(window, page->start, copy);
		return true;
	}
	if (!sware_sorted_zone_read(zone, zone->anchorsStart +
								(Size) page->number * sizeof(uint32),
								range, sizeof(range)) ||
		!sware_sorted_zone_read(zone, range[0], copy, range[1] - range[0]))
		return false;
	sware_clear_mark(&copy->tuple);
	return true;
}

/*
 * Bring the numbers *low and *high, between which a search of a page run looks
 * for a place, so close together that the entries from *low to *high - 1 are on
 * one page, and get these into the window.  Leaves out entries of retired
 * pages.  Returns false if the zone is gone.  Calls comparators, with no page
 * locked.
 *
 * Looks at the page in the middle of those on which the place may be, until one
 * is left.  An outline knows no entries: each page that is looked at is read
 * into the window, and the first ones are guessed by the abbreviations around.
 */
static bool
narrow_to_page(Relation index, const SwareSortedZone *zone,
			   const SwareSearchKey *place, uint32 *low, uint32 *high,
			   SwareWindow *window)
{
	TupleDesc	descriptor = RelationGetDescr(index);
	int64		low_value = zone->smallest;
	int64		high_value = zone->largest;
	int64		value = 0;
	int			guesses = 0;
	SwareKeyColumn column;
	RunPage		first;			/* the place is not before its start */
	RunPage		last;			/* the last one on which it may be */

	*low = Max(*low, zone->firstEntry);
	*high = Max(*high, *low);
	if (*low == *high)
		return true;
	if (!find_page(zone, *low, &first) || !find_page(zone, *high - 1, &last))
		return false;
	if (zone->isOutline)
	{
		sware_key_column_init(&column, index, 1);
		if (sware_abbreviate_end(&column, place, &value))
			guesses = MAX_GUESSES;
	}
	while (first.number < last.number)
	{
		RunPage		middle;
		uint32		number =
			first.number + (last.number - first.number + 1) / 2;
		SwareEntryCopy entry;

		if (guesses-- > 0)
		{
			if (!find_page(zone, sware_interpolate(*low, *high - 1, low_value,
												   high_value, value),
						   &middle))
				return false;
			number = Max(middle.number, first.number + 1);
		}
		if (!find_page_by_number(zone, number, &middle) ||
			!copy_start(index, zone, &middle, window, &entry))
			return false;
		if (sware_compare_key(place, &entry.tuple) <= 0)
		{
			*high = middle.start;
			if (*low == *high)
				return true;
			last.number = number - 1;
			if (zone->isOutline)
				high_value = sware_abbreviate(&column, descriptor,
											  &entry.tuple);
			continue;
		}
		first = middle;
		*low = middle.start + 1;
		if (!zone->isOutline)
			continue;
		copy_entry(window, middle.end - 1, &entry);
		if (sware_compare_key(place, &entry.tuple) <= 0)
		{
			last = middle;
			*high = middle.end - 1;
		}
		else
		{
			*low = middle.end;
			low_value = sware_abbreviate(&column, descriptor, &entry.tuple);
		}
	}
	return *low == *high ||
		(sware_window_has(window, *low) &&
		 sware_window_has(window, *high - 1)) ||
		fill_window(index, zone, &first, *low, *high, window);
}

/*
 * Find where an entry of a zone that has copies begins among the tuples, and
 * its size.  Returns false if the zone is gone.
 */
static inline bool
find_tuple(const SwareSortedZone *zone, uint32 number, Size *start, Size *size)
{
	uint32		range[2];

	Assert(number < zone->entries && !zone->isOfRun);
	*size = zone->entrySize;
	*start = number * *size;
	if (*size > 0)
		return true;
	if (!sware_sorted_zone_read(zone, zone->offsetsStart +
								(Size) number * sizeof(uint32),
								range, sizeof(range)))
		return false;
	*start = range[0];
	*size = range[1] - range[0];
	return true;
}

/* Copy the tuple of such an entry.  Returns false if the zone is gone. */
static inline bool
copy_tuple(const SwareSortedZone *zone, uint32 number, IndexTuple into)
{
	Size		start;
	Size		size;

	return find_tuple(zone, number, &start, &size) &&
		sware_sorted_zone_read(zone, zone->tuplesStart + start, into, size);
}

bool
sware_sorted_zone_copy_page(const SwareSortedZone *zone, uint32 number,
							SwareLink *page)
{
	RunPage		found;
	uint16		origin;

	if (zone->isOfRun)
		return find_page(zone, number, &found) &&
			copy_link(zone, found.number, page);
	return sware_sorted_zone_read(zone, zone->originsStart +
								  (Size) number * sizeof(uint16),
								  &origin, sizeof(origin)) &&
		copy_link(zone, origin, page);
}

bool
sware_sorted_zone_get(Relation index, const SwareSortedZone *zone,
					  uint32 first, uint32 end, bool forward,
					  SwareWindow *window)
{
	RunPage		page;
	Size		start;
	Size		last;
	Size		size;
	Size		offset = 0;

	Assert(first < end && end <= zone->entries);
	if (zone->isOfRun)
		return find_page(zone, forward ? first : end - 1, &page) &&
			fill_window(index, zone, &page, Max(first, page.start), end,
						window);
	if (!find_tuple(zone, first, &start, &size) ||
		!find_tuple(zone, end - 1, &last, &size) ||
		!sware_sorted_zone_read(zone, zone->tuplesStart + start,
								window->copy.bytes, last + size - start))
		return false;
	window->first = first;
	window->count = end - first;
	for (uint32 i = 0; i < window->count; i++)
	{
		window->offsets[i] = offset;
		offset += MAXALIGN(IndexTupleSize((IndexTuple)
										  (window->copy.bytes + offset)));
	}
	return true;
}

bool
sware_run_retire(SwareSortedZone *zone, uint32 pages)
{
	uint32		start;

	if (!read_start(zone, pages, &start))
		return false;

	/* the last fence that is not behind the first entry that counts */
	if (zone->fences > 0 && start < zone->entries &&
		!sware_pool_read(&zone->allocation,
						 zone->fencesStart +
						 start / SWARE_FENCE_DISTANCE * sizeof(int64),
						 &zone->smallest, sizeof(int64)))
		return false;
	if (!sware_pool_has_stamp(&zone->allocation, zone->stamp))
		return false;
	zone->retiredPages = pages;
	zone->firstEntry = start;
	return start < zone->entries;
}

/*
 * Mark an entry of a zone, if that has copies, and set *page to the buffer page
 * that it is on.  Returns false if the zone is gone.  The caller holds a lock
 * that keeps it from being freed if it is not.
 */
bool
sware_sorted_zone_mark(const SwareSortedZone *zone, uint32 number,
					   SwareLink *page)
{
	Size		start;
	Size		size;
	volatile unsigned short *info;

	if (number >= zone->entries ||
		!sware_sorted_zone_copy_page(zone, number, page))
		return false;
	if (zone->isOfRun)
		return true;

	/*
	 * Others may copy or mark the entry meanwhile: t_info is read and written
	 * as a whole, and nothing in it changes but the mark, which is only ever
	 * set.
	 */
	(void) find_tuple(zone, number, &start, &size);
	info = sware_pool_address(&zone->allocation, zone->tuplesStart + start +
							  offsetof(IndexTupleData, t_info));
	*info |= SWARE_MARKED_ENTRY;
	return true;
}

/*
 * Move *fence to the first fence from there on that is not below a value, or,
 * if `above`, that is above it.  Returns false if the zone is gone.
 */
static bool
find_fence(const SwareSortedZone *zone, int64 value, bool above, uint32 *fence)
{
	uint32		high = zone->fences;

	while (*fence < high)
	{
		uint32		middle = *fence + (high - *fence) / 2;
		int64		found;

		if (!sware_pool_read(&zone->allocation,
							 zone->fencesStart + (Size) middle * sizeof(int64),
							 &found, sizeof(int64)))
			return false;
		if (above ? found <= value : found < value)
			*fence = middle + 1;
		else
			high = middle;
	}
	return sware_pool_has_stamp(&zone->allocation, zone->stamp);
}

/*
 * Search the fences for an abbreviation.  Sets *low and *high so that entries
 * before *low are below it, and entries from *high on are above it.  Returns
 * false if the zone is gone.
 */
static bool
search_fences(const SwareSortedZone *zone, int64 value, uint32 *low,
			  uint32 *high)
{
	uint32		fence = 0;

	if (!find_fence(zone, value, false, &fence))
		return false;
	*low = fence == 0 ? 0 : (fence - 1) * SWARE_FENCE_DISTANCE + 1;
	if (!find_fence(zone, value, true, &fence))
		return false;
	*high = fence == zone->fences ? zone->entries :
		fence * SWARE_FENCE_DISTANCE;
	return true;
}

bool
sware_run_guess_link(const SwareSortedZone *zone, int64 value, SwareLink *link)
{
	uint32		low = zone->firstEntry;
	uint32		high = zone->entries;
	int64		entry;
	RunPage		page;

	if (value <= zone->smallest)
		entry = low;
	else if (value >= zone->largest)
		entry = high - 1;
	else if (zone->fences == 0)
		entry = sware_interpolate(low, high - 1, zone->smallest, zone->largest,
								  value);
	else if (search_fences(zone, value, &low, &high))
		entry = Min(Max(low + (high - low) / 2, zone->firstEntry),
					zone->entries - 1);
	else
		return false;
	return find_page(zone, entry, &page) && copy_link(zone, page.number, link);
}

int64
sware_sorted_zone_search(Relation index, const SwareSortedZone *zone,
						 const SwareSearchKey *place, SwareWindow *window)
{
	SwareKeyColumn column;
	uint32		low = zone->firstEntry;
	uint32		high = zone->entries;
	bool		abbreviated = false;
	int64		value = 0;

	if (place->columnCount == 0)
		return place->after ? high : low;
	if (zone->fences > 0 || zone->isOutline)
	{
		sware_key_column_init(&column, index, 1);
		abbreviated = sware_abbreviate_end(&column, place, &value);
	}
	if (abbreviated)
	{
		if (value < zone->smallest)
			return low;
		if (value > zone->largest)
			return high;
		if (zone->fences > 0 && !search_fences(zone, value, &low, &high))
			return -1;
	}
	if (zone->isOfRun &&
		!narrow_to_page(index, zone, place, &low, &high, window))
		return -1;

	while (low < high)
	{
		SwareEntryCopy copy;
		uint32		middle = low + (high - low) / 2;
		int64		found;

		if (zone->isOfRun)
			sware_copy_tuple(&copy, sware_window_entry(window, middle));
		else if (!copy_tuple(zone, middle, &copy.tuple))
			return -1;
		sware_clear_mark(&copy.tuple);

		found = abbreviated ?
			sware_abbreviate(&column, RelationGetDescr(index), &copy.tuple) :
			value;
		if (found == value ? sware_compare_key(place, &copy.tuple) > 0 :
			found < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
