/*-------------------------------------------------------------------------
 *
 * scanranges.c
 *	  Going through the ranges of a scan, and restricting them to an interval.
 *	  See scankeys.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "keys/scankeys.h"

/* Copy a search key.  Only the columns that it has are copied. */
static inline void
copy_search_key(SwareSearchKey *to, const SwareSearchKey *from)
{
	memcpy(to, from, offsetof(SwareSearchKey, columns) +
		   from->columnCount * sizeof(SwareKeyColumn));
}

/* Make a range the current one: set `low` and `high` to its ends. */
void
sware_scan_keys_set_range(SwareScanKeys *keys, int64 range)
{
	SwareInterval *interval = keys->interval;
	int64		rest = range;

	Assert(range >= 0 && range < keys->rangeCount);
	if (likely(range == keys->range))
		return;

	keys->range = range;
	if (unlikely(interval != NULL))
	{
		copy_search_key(&keys->low, &interval->low);
		copy_search_key(&keys->high, &interval->high);
		rest += interval->firstRange;
	}
	for (int i = keys->arrayCount - 1; i >= 0; i--)
	{
		SwareRangeArray *array = &keys->arrays[i];
		Datum		value =
			array->elements.values[rest % array->elements.count];

		keys->low.columns[array->column].value = value;
		keys->high.columns[array->column].value = value;
		rest /= array->elements.count;
	}
	if (unlikely(interval != NULL))
	{
		if (sware_range_is_cut(keys, true))
			copy_search_key(&keys->low, &interval->begin);
		if (sware_range_is_cut(keys, false))
			copy_search_key(&keys->high, &interval->end);
	}
}

/*
 * Does a range's upper end lie above an entry or pivot, or above the first
 * entry of a posting list?  Makes the range the current one, and calls
 * comparators.
 */
static bool
range_ends_above(SwareScanKeys *keys, int64 range, IndexTuple tuple)
{
	int			order;

	sware_scan_keys_set_range(keys, range);
	if (keys->high.columnCount == 0)
		return true;
	order = sware_compare_key(&keys->high, tuple);
	return order > 0 ||
		(order == 0 && keys->high.hasTid && sware_tuple_is_posting(tuple) &&
		 ItemPointerCompare(&keys->high.tid, sware_posting_tids(tuple)) > 0);
}

static int
compare_range_begin(SwareScanKeys *keys, int64 range, IndexTuple tuple)
{
	sware_scan_keys_set_range(keys, range);
	return keys->low.columnCount == 0 ? -1 :
		sware_compare_key(&keys->low, tuple);
}

/*
 * Has a range a part beyond an entry or pivot, in a direction?  What lies at it
 * counts as beyond.  Makes the range the current one.
 */
static bool
goes_beyond(SwareScanKeys *keys, int64 range, IndexTuple tuple, bool forward)
{
	return forward ? range_ends_above(keys, range, tuple) :
		compare_range_begin(keys, range, tuple) <= 0;
}

/*
 * Return the first range in a direction, from `from` on, that has a part beyond
 * an entry or pivot: whose upper end lies above it, or whose lower end is not
 * above it.  If there is none, returns the number of ranges, or -1.  The range
 * is likely to be near, so the steps of the search grow before they are halved.
 * Changes the current range, and calls comparators.
 */
int64
sware_scan_keys_next_range(SwareScanKeys *keys, int64 from, IndexTuple tuple,
						   bool forward)
{
	int			sign = forward ? 1 : -1;
	int64		low = 0;		/* counted from `from` on */
	int64		high = forward ? keys->rangeCount - from : from + 1;

	for (int64 step = 1; low < high; step *= 2)
	{
		int64		probe = low + Min(step, high - low) - 1;

		if (goes_beyond(keys, from + sign * probe, tuple, forward))
		{
			high = probe;
			break;
		}
		low = probe + 1;
	}
	while (low < high)
	{
		int64		middle = low + (high - low) / 2;

		if (goes_beyond(keys, from + sign * middle, tuple, forward))
			high = middle;
		else
			low = middle + 1;
	}
	return from + sign * low;
}

/*
 * Restrict the scan to the interval that is not below `begin` and below `end`,
 * each a pivot or an entry; NULL means no such end.  The tuples must stay in
 * place until the next restriction, sware_scan_keys_lift_restriction, or the
 * next analysis.  Calls comparators.
 */
void
sware_scan_keys_restrict(SwareScanKeys *keys, IndexTuple begin, IndexTuple end)
{
	SwareInterval *interval;
	int64		first = 0;
	int64		last;

	sware_scan_keys_lift_restriction(keys);
	if (keys->rangeCount == 0)
		return;
	if (keys->intervalMemory == NULL)
		keys->intervalMemory =
			MemoryContextAlloc(keys->scanContext, sizeof(SwareInterval));
	interval = keys->intervalMemory;

	last = keys->rangeCount - 1;
	interval->allRanges = keys->rangeCount;
	interval->cutsFirst = interval->cutsLast = false;
	copy_search_key(&interval->low, &keys->low);
	copy_search_key(&interval->high, &keys->high);

	if (begin)
		first = sware_scan_keys_next_range(keys, 0, begin, true);
	if (end)
	{
		last = sware_scan_keys_next_range(keys, last, end, false);
		if (last >= 0 && compare_range_begin(keys, last, end) == 0)
			last--;
	}
	if (begin && first <= last)
	{
		interval->cutsFirst = compare_range_begin(keys, first, begin) < 0;
		sware_search_key_from_tuple(&interval->begin, keys->index, begin);
	}
	if (end && first <= last)
	{
		interval->cutsLast = range_ends_above(keys, last, end);
		sware_search_key_from_tuple(&interval->end, keys->index, end);
	}

	interval->firstRange = first;
	keys->interval = interval;
	keys->rangeCount = Max(last - first + 1, 0);
	keys->range = -1;
}

/* Remove the restriction: the scan goes through all ranges again. */
void
sware_scan_keys_lift_restriction(SwareScanKeys *keys)
{
	SwareInterval *interval = keys->interval;

	if (interval == NULL)
		return;
	copy_search_key(&keys->low, &interval->low);
	copy_search_key(&keys->high, &interval->high);
	keys->interval = NULL;
	keys->rangeCount = interval->allRanges;
	keys->range = -1;
}
