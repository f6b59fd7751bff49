/*-------------------------------------------------------------------------
 *
 * sorter.c
 *	  Sorting entries in memory, cheaply if they come nearly in order.
 *
 * As for builds (entrysort.c), entries that come in order are set aside, the
 * others are sorted, and the two are merged (Cook and Kim's division, which
 * (K,L)-adaptive sorting builds on: "Indexing for Near-Sorted Data", section
 * IV).  If an entry is below the last one set aside, both become outliers.  If
 * most entries are outliers, everything is sorted.  Entries before them that
 * are known to be in order are not sorted again, but merged with the result.
 *
 * To measure how far from being in order the entries were costs little:
 * outliers are counted anyway, and only for a sample of them it is looked up
 * where sorting has put them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "keys/entry.h"
#include "sort/itemsort.h"
#include "keys/searchkey.h"
#include "sort/sorter.h"
#include "shared/statistics.h"

/*
 * after this number of entries, look whether setting aside is worth its cost
 */
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
	SwareSortItem item;
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
	Relation	index;
	SwareComparator *comparator;
	IndexTuple *entries;		/* those to be sorted */
	int64		count;
	int64		before;			/* number of entries directly before them,
								 * which are sorted already */
	int64		inOrder;		/* number of entries set aside; they come
								 * first */
	SwareSortItem *outliers;
	int64		outlierCount;
	int64		outliersAllocated;
	int64		divided;		/* entries that divide has looked at */
	Samples    *samples;
} Sorter;

/* Take every `distance`-th outlier as a sample. */
static inline void
take_sample(Samples *samples, SwareSortItem item, int64 position)
{
	Sample		sample = {item, position};

	if (++samples->skipped < samples->distance)
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

static void
add_outlier(Sorter *sorter, SwareSortItem item)
{
	if (sorter->outlierCount == sorter->outliersAllocated)
	{
		sorter->outliersAllocated *= 2;
		sorter->outliers =
			repalloc_huge(sorter->outliers,
						  sorter->outliersAllocated * sizeof(SwareSortItem));
	}
	sorter->outliers[sorter->outlierCount++] = item;
}

/*
 * Divide entries into those that are in order, which move to the front, and
 * outliers.  Returns false if most are outliers; then all entries are still in
 * the array, and if that was noticed early, in their order: equal keys often
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

	for (int64 i = 0; i < sorter->count; i++)
	{
		SwareSortItem item = sware_make_item(sorter->comparator, entries[i]);

		if (sorter->inOrder == 0 ||
			sware_compare_items(&last, &item, sorter->comparator) < 0)
		{
			entries[sorter->inOrder++] = item.entry;
			last = item;
			is_previous = true;
			continue;
		}
		take_sample(sorter->samples, item, sorter->before + i);
		if (is_previous)
			take_sample(sorter->samples, last, sorter->before + i - 1);
		is_previous = false;
		sorter->inOrder--;
		add_outlier(sorter, last);
		add_outlier(sorter, item);
		if (sorter->inOrder > 0)
			last = sware_make_item(sorter->comparator,
								   entries[sorter->inOrder - 1]);

		if (sorter->outlierCount > Max(i, FIRST_LOOK) / 2)
		{
			if (i < FIRST_LOOK)
				memcpy(entries, first_entries, early);
			else
			{
				for (int64 j = 0; j < sorter->outlierCount; j++)
					entries[sorter->inOrder + j] = sorter->outliers[j].entry;
			}
			sorter->divided = i + 1;
			return false;
		}
	}
	sorter->divided = sorter->count;
	return true;
}

/*
 * Merge the first `left_count` entries of an array, which are in order, with
 * other entries in order, from the end to the beginning.  The array has room
 * for them all.
 */
static void
merge(SwareComparator *comparator, IndexTuple *entries, int64 left_count,
	  const SwareSortItem *right, int64 right_count)
{
	SwareSortItem left = {0};

	if (left_count > 0)
		left = sware_make_item(comparator, entries[left_count - 1]);
	while (right_count > 0)
	{
		int64		place = left_count + right_count - 1;

		if (place % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (left_count == 0 ||
			sware_compare_items(&left, &right[right_count - 1],
								comparator) <= 0)
		{
			entries[place] = right[--right_count].entry;
			continue;
		}
		entries[place] = left.entry;
		if (--left_count > 0)
			left = sware_make_item(comparator, entries[left_count - 1]);
	}
}

/* Sort all entries. */
static void
sort_all(Sorter *sorter)
{
	SwareSortItem *items =
		MemoryContextAllocHuge(CurrentMemoryContext,
							   sorter->count * sizeof(SwareSortItem));

	for (int64 i = 0; i < sorter->count; i++)
	{
		items[i] = sware_make_item(sorter->comparator, sorter->entries[i]);
		if (i >= sorter->divided)
			take_sample(sorter->samples, items[i], sorter->before + i);
	}
	items = sware_sort_items(sorter->comparator, items, sorter->count);
	for (int64 i = 0; i < sorter->count; i++)
		sorter->entries[i] = items[i].entry;
}

/* How many entries of a sorted array are below an item? */
static int64
place_of(SwareComparator *comparator, IndexTuple *entries, int64 count,
		 const SwareSortItem *item)
{
	int64		low = 0;
	int64		high = count;

	while (low < high)
	{
		int64		middle = low + (high - low) / 2;
		SwareSortItem other = sware_make_item(comparator, entries[middle]);

		if (sware_compare_items(&other, item, comparator) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Merge two lists of entries, each in order, of which the second one follows
 * the first one in an array.  Returns false if they have not moved, because
 * all of the second list lies behind the first.  Takes memory from the current
 * context.
 */
static bool
merge_lists(SwareComparator *comparator, IndexTuple *entries,
			int64 first_count, int64 second_count)
{
	IndexTuple *second = entries + first_count;
	SwareSortItem *items;
	SwareSortItem last;

	if (first_count == 0 || second_count == 0)
		return false;

	/* what lies behind the first list stays where it is */
	last = sware_make_item(comparator, second[-1]);
	second_count = place_of(comparator, second, second_count, &last);
	if (second_count == 0)
		return false;
	items = MemoryContextAllocHuge(CurrentMemoryContext,
								   second_count * sizeof(SwareSortItem));
	for (int64 i = 0; i < second_count; i++)
	{
		sware_prefetch_entry(second, i, second_count);
		items[i] = sware_make_item(comparator, second[i]);
	}
	merge(comparator, entries, first_count, items, second_count);
	return true;
}

/*
 * The largest distance between arrival and sorted position among the samples.
 * Called after sorting.
 */
static int64
largest_displacement(Sorter *sorter)
{
	int64		largest = 0;

	for (int i = 0; i < sorter->samples->count; i++)
	{
		Sample	   *sample = &sorter->samples->samples[i];
		int64		displacement =
			place_of(sorter->comparator, sorter->entries - sorter->before,
					 sorter->before + sorter->count, &sample->item) -
			sample->position;

		largest = Max(largest, displacement < 0 ? -displacement : displacement);
	}
	return largest;
}

/*
 * Sort the entries of a sorter, and merge them with those before them.  Memory
 * is taken from the current context.
 */
static void
sort(Sorter *sorter, Sortedness *sortedness)
{
	sorter->comparator = sware_make_comparator(sorter->index);
	if (sorter->count >= SWARE_MANY_TO_SORT)
		sware_refine_numbers(sorter->comparator,
							 sorter->entries - sorter->before,
							 sizeof(IndexTuple),
							 sorter->before + sorter->count);

	/* which entries come in order is measured, so it is not guessed */
	if (sorter->comparator->hasGuess)
		sware_unrefine_numbers(sorter->comparator);
	sorter->outliersAllocated = 1024;
	sorter->outliers =
		palloc(sorter->outliersAllocated * sizeof(SwareSortItem));
	if (divide(sorter))
	{
		/* only one of each pair of outliers is out of place */
		sortedness->outOfOrder = sorter->outlierCount / 2;
		sorter->outliers = sware_sort_items(sorter->comparator,
											sorter->outliers,
											sorter->outlierCount);
		merge(sorter->comparator, sorter->entries, sorter->inOrder,
			  sorter->outliers, sorter->outlierCount);
	}
	else
	{
		sortedness->outOfOrder =
			sorter->count * sorter->outlierCount / sorter->divided;
		sort_all(sorter);
	}
	if (merge_lists(sorter->comparator, sorter->entries - sorter->before,
					sorter->before, sorter->count))
		sortedness->outOfOrder = Max(sortedness->outOfOrder, 1);
	sortedness->largestDisplacement = largest_displacement(sorter);
}

/*
 * Sort entries in place, of which the first `sorted` ones are in order already,
 * and measure how far from being in order they were.  Memory is taken from the
 * current context and freed.  Comparators may raise errors; the order is
 * undefined then.
 */
static void
sort_and_measure(Relation index, IndexTuple *entries, int64 sorted, int64 count,
				 Sortedness *sortedness)
{
	MemoryContext context;
	MemoryContext caller;
	Samples		samples;
	Sorter		sorter = {.index = index,
		.entries = entries + sorted,
		.count = count - sorted,
		.before = sorted,
	.samples = &samples};

	if (count < 2 || sorter.count == 0)
	{
		sortedness->outOfOrder = 0;
		sortedness->largestDisplacement = 0;
		return;
	}
	context = AllocSetContextCreate(CurrentMemoryContext, "sware sort",
									ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(context);
	samples.distance = 1;
	samples.skipped = 0;
	samples.count = 0;
	sort(&sorter, sortedness);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}

/*
 * Sort entries in place.  Memory is taken from the current context and freed.
 * Comparators may raise errors; the order is undefined then.
 */
void
sware_sort_entries(Relation index, IndexTuple *entries, int64 count)
{
	Sortedness	unused;

	sort_and_measure(index, entries, 0, count, &unused);
}

/*
 * Like sware_sort_entries, for entries in the order of their arrival, of which
 * the first `sorted` ones are in order already.  How far from being in order
 * they were is measured, and added to the index's statistics.  Returns whether
 * all were in order, and so have not moved.
 */
bool
sware_sort_arrivals(Relation index, IndexTuple *entries, int64 sorted,
					int64 count)
{
	Sortedness	sortedness;

	sort_and_measure(index, entries, sorted, count, &sortedness);
	sware_note_sortedness(index, count, sortedness.outOfOrder,
						  sortedness.largestDisplacement);
	return sortedness.outOfOrder == 0;
}

/*
 * Merge two lists of entries, each in order, of which the second one lies
 * behind the first, which has `first_count` entries.  Memory is taken from the
 * current context and freed.  Comparators may raise errors.
 */
void
sware_merge_entries(Relation index, IndexTuple *entries, int64 first_count,
					int64 second_count)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "sware merge",
							  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);

	(void) merge_lists(sware_make_comparator(index), entries, first_count,
					   second_count);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}
