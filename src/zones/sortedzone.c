/*-------------------------------------------------------------------------
 *
 * sortedzone.c
 *	  Sorted zones: reading them without locks, and what is hashed for them.
 *
 * Readers copy what they look at and check the zone's stamp before they use the
 * copy: a comparator may get what a page held, but nothing else, and no lock is
 * held when it runs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"

#include "keys/abbreviation.h"
#include "keys/bloomfilter.h"
#include "keys/fingerprint.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "zones/sortedzone.h"

/*
 * A search between two fences first interpolates twice, unless there are few
 * entries, and then goes on by halves.
 */
#define MAX_INTERPOLATIONS		2
#define MIN_TO_INTERPOLATE		8

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
	const uint8 *line =
		sware_pool_peek(&zone->allocation, zone->filterStart +
						(Size) sware_filter_line(filter_hash, zone->filterLines) *
						SWARE_FILTER_LINE_BYTES, sware_pool_chunk_count());

	return line && !sware_filter_has(line, filter_hash, zone->filterProbes);
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
	uint16		origin;

	if (zone->isOfRun)
		return sware_run_copy_page(zone, number, page);
	return sware_sorted_zone_read(zone, zone->originsStart +
								  (Size) number * sizeof(uint16),
								  &origin, sizeof(origin)) &&
		sware_sorted_zone_read(zone, origin * sizeof(SwareLink), page,
							   sizeof(SwareLink));
}

bool
sware_sorted_zone_get(Relation index, const SwareSortedZone *zone,
					  uint32 first, uint32 end, bool forward,
					  SwareWindow *window)
{
	Size		start;
	Size		last;
	Size		size;
	Size		offset = 0;

	Assert(first < end && end <= zone->entries);
	if (zone->isOfRun)
		return sware_run_get(index, zone, first, end, forward, window);
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

/*
 * The t_info of an entry of a zone that is kept from being freed.
 *
 * Others may copy or mark the entry meanwhile: t_info is read and written as a
 * whole, and nothing in it changes but the mark, which is only ever set.
 */
static inline volatile unsigned short *
entry_info(const SwareSortedZone *zone, uint32 number)
{
	Size		start;
	Size		size;

	(void) find_tuple(zone, number, &start, &size);
	return sware_pool_address(&zone->allocation,
							  zone->tuplesStart + start +
							  offsetof(IndexTupleData, t_info));
}

static inline bool
is_marked(const SwareSortedZone *zone, uint32 number)
{
	return (*entry_info(zone, number) & SWARE_MARKED_ENTRY) != 0;
}

/*
 * Note how far the entries at the ends of a zone are marked, but not more than
 * `most` entries further than is known.  The zone is kept from being freed.
 * Does nothing for a page run, whose marks are on its pages.
 *
 * Several backends may do this at a time.  Whatever they write is true, though
 * one may write less than another one has; the next call makes up for that.
 */
void
sware_sorted_zone_note_ends(const SwareSortedZone *zone, uint32 most)
{
	volatile SwareMarkedEnds *ends =
		sware_pool_address(&zone->allocation, zone->endsStart);
	uint32		known_first = ends->first;
	uint32		known_end = ends->end;
	uint32		first = known_first;
	uint32		end = known_end;

	if (zone->isOfRun)
		return;
	while (first < end && first - known_first < most && is_marked(zone, first))
		first++;
	while (end > first && known_end - end < most && is_marked(zone, end - 1))
		end--;
	if (first > known_first)
		ends->first = first;
	if (end < known_end)
		ends->end = end;
}

void
sware_sorted_zone_interval(const SwareSortedZone *zone, bool without_marked,
						   int64 *begin, int64 *end)
{
	SwareMarkedEnds ends;

	*begin = zone->firstEntry;
	*end = zone->entries;
	if (without_marked &&
		sware_sorted_zone_read(zone, zone->endsStart, &ends, sizeof(ends)))
	{
		*begin = Min(Max(*begin, ends.first), *end);
		*end = Max(*begin, Min(*end, ends.end));
	}
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
	if (number >= zone->entries ||
		!sware_sorted_zone_copy_page(zone, number, page))
		return false;
	if (!zone->isOfRun)
		*entry_info(zone, number) |= SWARE_MARKED_ENTRY;
	return true;
}

/*
 * Find the first fence from *fence on that is not below a value, or, if
 * `above`, that is above it.  Moves *fence there; sets *low_value to the one
 * before, and *high_value to it, if there is one.  Returns false if the zone is
 * gone.
 */
static bool
find_fence(const SwareSortedZone *zone, int64 value, bool above, uint32 *fence,
		   int64 *low_value, int64 *high_value)
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
		{
			*fence = middle + 1;
			*low_value = found;
		}
		else
		{
			high = middle;
			*high_value = found;
		}
	}
	return sware_pool_has_stamp(&zone->allocation, zone->stamp);
}

/*
 * Search the fences for an abbreviation that is neither below the smallest nor
 * above the largest one of a zone.  Sets *low and *high so that entries before
 * *low are below the value, and entries from *high on are above it; and
 * *low_value and *high_value, between which the abbreviations of the entries
 * from *low to *high - 1 are.  Returns false if the zone is gone.
 */
static bool
search_fences(const SwareSortedZone *zone, int64 value, uint32 *low,
			  uint32 *high, int64 *low_value, int64 *high_value)
{
	uint32		fence = 0;

	if (!find_fence(zone, value, false, &fence, low_value, high_value))
		return false;
	*low = fence == 0 ? 0 : (fence - 1) * SWARE_FENCE_DISTANCE + 1;

	/* usually it is also the first fence above */
	if (fence < zone->fences && *high_value == value)
	{
		int64		equal;

		*high_value = zone->largest;
		if (!find_fence(zone, value, true, &fence, &equal, high_value))
			return false;
	}
	*high = fence == zone->fences ? zone->entries :
		fence * SWARE_FENCE_DISTANCE;
	return true;
}

/*
 * Which entry of a zone is probably the first that is not below a value, or the
 * last that is not above it?  Returns -1 if the zone is gone.
 */
static int64
guess_entry(const SwareSortedZone *zone, int64 value)
{
	int64		low_value = zone->smallest;
	int64		high_value = zone->largest;
	uint32		low = zone->firstEntry;
	uint32		high = zone->entries;

	if (value <= low_value)
		return low;
	if (value >= high_value)
		return high - 1;
	if (zone->fences > 0 &&
		!search_fences(zone, value, &low, &high, &low_value, &high_value))
		return -1;
	low = Max(low, zone->firstEntry);
	if (low < high)
		low = sware_interpolate(low, high - 1, low_value, high_value, value);
	return Min(low, zone->entries - 1);
}

bool
sware_sorted_zone_guess(const SwareSortedZone *zone, int64 smallest,
						int64 largest, uint32 *first, uint32 *last)
{
	int64		low = guess_entry(zone, smallest);
	int64		high = guess_entry(zone, largest);

	if (low < 0 || high < low)
		return false;
	*first = low;
	*last = high;
	return true;
}

int64
sware_sorted_zone_search(Relation index, const SwareSortedZone *zone,
						 const SwareSearchKey *place, SwareWindow *window)
{
	TupleDesc	descriptor = RelationGetDescr(index);
	SwareKeyColumn column;
	uint32		low = 0;
	uint32		high = zone->entries;
	bool		abbreviated = false;
	int64		value = 0;
	int64		low_value = zone->smallest; /* not above entry `low` */
	int64		high_value = zone->largest; /* not below entry `high` - 1 */
	int			interpolations = 0;

	if (zone->isOfRun)
		low = zone->firstEntry;
	if (place->columnCount == 0)
		return place->after ? high : low;
	if (zone->fences > 0 || zone->isOutline)
	{
		sware_key_column_init(&column, index, 1, (Datum) 0, true);
		abbreviated = sware_abbreviate_end(&column, place, &value);
	}
	if (abbreviated)
	{
		if (value < low_value)
			return low;
		if (value > high_value)
			return high;
		if (zone->fences > 0 &&
			!search_fences(zone, value, &low, &high, &low_value, &high_value))
			return -1;
	}
	if (zone->isOfRun &&
		!sware_run_narrow(index, zone, place, &low, &high, window))
		return -1;

	while (low < high)
	{
		SwareEntryCopy copy;
		uint32		middle = low + (high - low) / 2;
		int64		found;
		int			order;

		if (abbreviated && interpolations < MAX_INTERPOLATIONS &&
			high - low > MIN_TO_INTERPOLATE)
		{
			middle = sware_interpolate(low, high - 1, low_value,
									   high_value, value);
			interpolations++;
		}
		if (zone->isOfRun)
			sware_copy_tuple(&copy, sware_window_entry(window, middle));
		else if (!copy_tuple(zone, middle, &copy.tuple))
			return -1;
		sware_clear_mark(&copy.tuple);

		found = abbreviated ?
			sware_abbreviate(&column, descriptor, &copy.tuple) :
			0;
		if (found != value)
			order = value < found ? -1 : 1;
		else
			order = sware_compare_key(place, &copy.tuple);
		if (order > 0)
		{
			low = middle + 1;
			low_value = found;
		}
		else
		{
			high = middle;
			high_value = found;
		}
	}
	return low;
}
