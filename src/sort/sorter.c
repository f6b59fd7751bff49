/*-------------------------------------------------------------------------
 *
 * sorter.c
 *	  Sorting entries in memory, cheaply if they come nearly in order.
 *
 * Entries that come in order are set aside, the others, the *outliers*, are
 * sorted, and the two are merged.  If an entry is below the last one set aside,
 * it is unknown which of the two is out of place, so both become outliers:
 * otherwise an entry that came much too early would make outliers of all that
 * follow.  (The division is Cook and Kim's, "Best sorting algorithm for nearly
 * sorted lists", 1980, which (K,L)-adaptive sorting builds on: "Indexing for
 * Near-Sorted Data", section IV.)  If many entries are outliers, everything is
 * sorted, but for entries before them that are known to be in order.
 *
 * To measure how far from being in order the entries were costs little:
 * outliers are counted anyway, and for a sample of them this looks where
 * sorting has put them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/faultpoint.h"
#include "base/memory.h"
#include "keys/entry.h"
#include "shared/statistics.h"
#include "sort/sorter.h"

/* after this number of entries, look whether setting aside is worth its cost */
#define FIRST_LOOK		4096

/* the largest number of outliers that are measured */
#define MAX_SAMPLES		512

/* How far from being in order entries were; statistics.h defines it. */
typedef struct Sortedness
{
	int64		outOfOrder;
	int64		largestDisplacement;	/* of a sample, if many are displaced */
} Sortedness;

/* An outlier and where it arrived. */
typedef struct Sample
{
	IndexTuple	entry;
	int64		position;
} Sample;

/* Samples, taken at regular distances. */
typedef struct Samples
{
	int64		distance;		/* one outlier of this number is taken */
	int64		skipped;		/* outliers since the last sample */
	int			count;
	Sample		samples[MAX_SAMPLES];
} Samples;

typedef struct Sorter
{
	SwareComparator *comparator;
	IndexTuple *entries;		/* those to be sorted */
	int64		count;
	int64		before;			/* number of entries directly before them,
								 * which are sorted already */
	int			share;			/* one entry of this number may be an outlier */
	Samples    *samples;		/* of outliers; NULL if none are wanted */
	int64		inOrder;		/* number of entries set aside; they come
								 * first */
	IndexTuple *outliers;
	int64		outlierCount;
	int64		divided;		/* entries that divide has looked at */
} Sorter;

/* Take every `distance`-th outlier as a sample, if samples are wanted. */
static inline void
take_sample(Samples *samples, IndexTuple entry, int64 position)
{
	Sample		sample = {entry, position};

	if (samples == NULL || ++samples->skipped < samples->distance)
		return;
	samples->skipped = 0;
	if (samples->count == MAX_SAMPLES)
	{
		samples->count = MAX_SAMPLES / 2;
		samples->distance *= 2;
		for (int i = 0; i < samples->count; i++)
			samples->samples[i] = samples->samples[i * 2];
	}
	samples->samples[samples->count++] = sample;
}

/*
 * Divide entries into those that are in order, which move to the front, and
 * outliers.  Returns false if too many are outliers; then all entries are still
 * in the array, and if that was noticed early, in their order: equal keys often
 * come in the order of their TIDs.
 */
static bool
divide(Sorter *sorter)
{
	IndexTuple *entries = sorter->entries;
	Size		early = Min(sorter->count, FIRST_LOOK) * sizeof(IndexTuple);
	IndexTuple *first_entries = memcpy(palloc(early), entries, early);
	SwareSortItem last;
	bool		is_previous = false;	/* is `last` the previous entry? */
	int64		most = Max(sorter->count, FIRST_LOOK) / sorter->share + 2;

	sorter->outliers =
		MemoryContextAllocHuge(CurrentMemoryContext,
							   Min(most, sorter->count) * sizeof(IndexTuple));
	for (int64 i = 0; i < sorter->count; i++)
	{
		SwareSortItem item = sware_make_item(sorter->comparator, entries[i]);

		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (sorter->inOrder == 0 ||
			sware_compare_items(&last, &item, sorter->comparator) < 0)
		{
			entries[sorter->inOrder++] = item.entry;
			last = item;
			is_previous = true;
			continue;
		}
		take_sample(sorter->samples, entries[i], sorter->before + i);
		if (is_previous)
			take_sample(sorter->samples, last.entry, sorter->before + i - 1);
		is_previous = false;
		sorter->inOrder--;
		sorter->outliers[sorter->outlierCount++] = last.entry;
		sorter->outliers[sorter->outlierCount++] = item.entry;
		if (sorter->inOrder > 0)
			last = sware_make_item(sorter->comparator,
								   entries[sorter->inOrder - 1]);

		if (sorter->outlierCount > Max(i, FIRST_LOOK) / sorter->share)
		{
			if (i < FIRST_LOOK)
				memcpy(entries, first_entries, early);
			else
				memcpy(entries + sorter->inOrder, sorter->outliers,
					   sorter->outlierCount * sizeof(IndexTuple));
			sorter->divided = i + 1;
			pfree(first_entries);
			return false;
		}
	}
	sorter->divided = sorter->count;
	pfree(first_entries);
	return true;
}

static inline bool
is_below(SwareComparator *comparator, IndexTuple entry,
		 const SwareSortItem *item)
{
	SwareSortItem own = sware_make_item(comparator, entry);

	return sware_compare_items(&own, item, comparator) < 0;
}

/* How many entries in order, from `low` to `high`, are below an item? */
static int64
place_of(SwareComparator *comparator, IndexTuple *entries, int64 low,
		 int64 high, const SwareSortItem *item)
{
	while (low < high)
	{
		int64		middle = low + (high - low) / 2;

		if (is_below(comparator, entries[middle], item))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Merge the first `count` entries of an array, which are in order, with others
 * in order, for which there is room behind them.  Begins with the largest of
 * the others, and looks for the place of each from the end of those in order,
 * in steps that grow.
 */
static void
merge(SwareComparator *comparator, IndexTuple *entries, int64 count,
	  const IndexTuple *others, int64 other_count)
{
	for (; other_count > 0; other_count--)
	{
		SwareSortItem largest =
			sware_make_item(comparator, others[other_count - 1]);
		int64		low = 0;
		int64		high = count;

		CHECK_FOR_INTERRUPTS();
		for (int64 step = 1; high > 0; step *= 2)
		{
			int64		place = Max(count - step, 0);

			if (is_below(comparator, entries[place], &largest))
			{
				low = place + 1;
				break;
			}
			high = place;
		}
		low = place_of(comparator, entries, low, high, &largest);
		memmove(entries + low + other_count, entries + low,
				(count - low) * sizeof(IndexTuple));
		entries[low + other_count - 1] = largest.entry;
		count = low;
	}
}

/*
 * Divide the entries, sort the outliers, and merge them with the others; or
 * sort everything.  Returns about how many entries were out of order.
 */
static int64
sort(Sorter *sorter)
{
	if (divide(sorter))
	{
		sware_sort_scrambled(sorter->comparator, sorter->outliers,
							 sorter->outlierCount);
		merge(sorter->comparator, sorter->entries, sorter->inOrder,
			  sorter->outliers, sorter->outlierCount);
		pfree(sorter->outliers);

		/* of each pair of outliers, only one is out of place */
		return sorter->outlierCount / 2;
	}
	pfree(sorter->outliers);
	SWARE_FAULT_POINT("sort-all");
	for (int64 i = sorter->divided; i < sorter->count; i++)
		take_sample(sorter->samples, sorter->entries[i], sorter->before + i);
	sware_sort_scrambled(sorter->comparator, sorter->entries, sorter->count);
	return sorter->count * sorter->outlierCount / sorter->divided;
}

/* Merge two lists of entries, each in order, one behind the other in memory. */
static void
merge_lists(SwareComparator *comparator, IndexTuple *entries,
			int64 first_count, int64 second_count)
{
	IndexTuple *second = entries + first_count;
	IndexTuple *others;
	SwareSortItem last;

	if (first_count == 0 || second_count == 0)
		return;

	/* what lies behind the first list stays where it is */
	last = sware_make_item(comparator, second[-1]);
	second_count = place_of(comparator, second, 0, second_count, &last);
	if (second_count == 0)
		return;
	others = MemoryContextAllocHuge(CurrentMemoryContext,
									second_count * sizeof(IndexTuple));
	memcpy(others, second, second_count * sizeof(IndexTuple));
	merge(comparator, entries, first_count, others, second_count);
	pfree(others);
}

static int64
largest_displacement(Sorter *sorter)
{
	int64		largest = 0;

	for (int i = 0; i < sorter->samples->count; i++)
	{
		Sample	   *sample = &sorter->samples->samples[i];
		SwareSortItem item = sware_make_item(sorter->comparator, sample->entry);
		int64		displacement =
			place_of(sorter->comparator, sorter->entries - sorter->before,
					 0, sorter->before + sorter->count, &item) -
			sample->position;

		largest = Max(largest, displacement < 0 ? -displacement : displacement);
	}
	return largest;
}

/*
 * Sort entries in place, and measure how far from being in order they were,
 * with the samples, which are empty; without any, only `outOfOrder` is told.
 * The array begins with `lists` lists that are in order already, of which the
 * first begins at begins[0] = 0; those in any order follow from begins[lists]
 * on.
 */
static Sortedness
sort_and_measure(Relation index, IndexTuple *entries, int64 count,
				 const int64 *begins, int lists, Samples *samples)
{
	Sortedness	sortedness = {0, 0};
	MemoryContext caller;
	Sorter		sorter = {.entries = entries + begins[lists],
		.count = count - begins[lists],
		.before = begins[lists],
		.share = SWARE_USUAL_SHARE,
	.samples = samples};

	if (count < 2 || (sorter.count == 0 && lists < 2))
		return sortedness;
	caller = sware_enter_context("sware sort");
	sorter.comparator = sware_make_comparator(index);

	/* which entries come in order is measured, so it is not guessed */
	if (count >= SWARE_MANY_TO_SORT)
		sware_refine_numbers(sorter.comparator, entries, count, false);
	sortedness.outOfOrder = sort(&sorter);
	for (int i = lists; i > 0; i--)
		merge_lists(sorter.comparator, entries + begins[i - 1],
					begins[i] - begins[i - 1], count - begins[i]);
	if (samples)
		sortedness.largestDisplacement = largest_displacement(&sorter);
	sware_leave_context(caller);
	return sortedness;
}

/*
 * Sort entries in place.  Memory is taken from the current context and freed.
 * Comparators may raise errors; the order is undefined then.
 */
void
sware_sort_entries(Relation index, IndexTuple *entries, int64 count)
{
	int64		begin = 0;

	(void) sort_and_measure(index, entries, count, &begin, 0, NULL);
}

/*
 * Like sware_sort_entries, for an array that begins with lists that are in
 * order already: these are merged with the other entries, the last list first.
 * `begins` has where each of them begins, and where the other entries do.
 */
void
sware_sort_behind_lists(Relation index, IndexTuple *entries, int64 count,
						const int64 *begins, int lists)
{
	(void) sort_and_measure(index, entries, count, begins, lists, NULL);
}

/*
 * Like sware_sort_entries, for entries in the order of their arrival, of which
 * the first `sorted` ones are in order already.  How far from being in order
 * they were is measured, and added to the index's statistics.
 */
void
sware_sort_arrivals(Relation index, IndexTuple *entries, int64 sorted,
					int64 count)
{
	int64		begins[] = {0, sorted};
	Samples		samples;
	Sortedness	sortedness;

	samples.distance = 1;
	samples.skipped = 0;
	samples.count = 0;
	sortedness = sort_and_measure(index, entries, count, begins, 1, &samples);

	sware_note_sortedness(index, count, sortedness.outOfOrder,
						  sortedness.largestDisplacement);
}

/*
 * Sort entries in place by a comparator, whose numbers, as they are, divide
 * them.  Gives up if more than one entry of `share` is an outlier, and returns
 * whether it has not.  Memory is taken from the current context and freed.
 */
bool
sware_sort_nearly_sorted(SwareComparator *comparator, IndexTuple *entries,
						 int64 count, int share)
{
	Sorter		sorter = {.comparator = comparator,
		.entries = entries,
		.count = count,
	.share = share};

	(void) sort(&sorter);
	return sorter.divided == count;
}
