/*-------------------------------------------------------------------------
 *
 * sorter.c
 *	  Sorting entries in memory, cheaply if they come nearly in order.
 *
 * As for builds (entrysort.c), entries that come in order are set aside, the
 * others are sorted, and the two are merged (Cook and Kim's division, which
 * (K,L)-adaptive sorting builds on; SWARE, section IV).  When an entry is
 * below the last one set aside, both become outliers.  When outliers are the
 * rule, everything is sorted.
 *
 * A first column that is compared as an integer is compared without looking
 * at the entry.
 *
 * How far from being in order the entries were is known for next to nothing:
 * outliers are counted anyway, and for some of them it is looked up where they
 * have got to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "buffer/abbreviation.h"
#include "buffer/sorter.h"
#include "buffer/statistics.h"
#include "tree/tree.h"

/* look after so many entries whether setting aside is worth its cost */
#define FIRST_LOOK		4096

/* so many outliers are measured, at most */
#define MAX_SAMPLES		512

typedef struct SortItem
{
	int64		abbreviation;	/* orders entries that differ in it */
	IndexTuple	entry;
} SortItem;

static inline int
compare_items(const SortItem *a, const SortItem *b, Relation index)
{
	if (a->abbreviation != b->abbreviation)
		return a->abbreviation < b->abbreviation ? -1 : 1;
	return sware_compare_entries(index, a->entry, b->entry);
}

/* An outlier and where it arrived. */
typedef struct Sample
{
	SortItem	item;
	int64		position;
} Sample;

/* Samples, taken at regular distances. */
typedef struct Samples
{
	int64		distance;		/* take one of so many */
	int64		skipped;		/* since the last one that was taken */
	int			count;
	Sample		samples[MAX_SAMPLES];
} Samples;

#define ST_SORT sort_items
#define ST_ELEMENT_TYPE SortItem
#define ST_COMPARE(a, b, index) compare_items(a, b, index)
#define ST_COMPARE_ARG_TYPE struct RelationData
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* An entry with its abbreviation. */
static inline SortItem
abbreviated(const SwareKeyColumn *column, TupleDesc descriptor, IndexTuple entry)
{
	SortItem	item = {sware_abbreviate(column, descriptor, entry), entry};

	return item;
}

typedef struct Sorter
{
	Relation	index;
	SwareKeyColumn column;		/* the first */
	IndexTuple *entries;
	int64		count;
	int64		inOrder;		/* entries set aside, which are the first */
	SortItem   *outliers;
	int64		outlierCount;
	int64		outliersAllocated;
	int64		divided;		/* entries that were looked at by divide */
	Samples    *samples;
} Sorter;

/* Take an outlier as a sample, if it is the turn of one. */
static inline void
take_sample(Samples *samples, SortItem item, int64 position)
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
add_outlier(Sorter *sorter, SortItem item)
{
	if (sorter->outlierCount == sorter->outliersAllocated)
	{
		sorter->outliersAllocated *= 2;
		sorter->outliers = repalloc_huge(sorter->outliers,
										 sorter->outliersAllocated * sizeof(SortItem));
	}
	sorter->outliers[sorter->outlierCount++] = item;
}

/*
 * Divide entries into those that are in order, which move to the front, and
 * outliers.  If these are the rule, false, and no entry is missing.
 */
static bool
divide(Sorter *sorter)
{
	TupleDesc	descriptor = RelationGetDescr(sorter->index);
	IndexTuple *entries = sorter->entries;
	SortItem	last;
	bool		is_previous = false;	/* is `last` the previous entry? */

	for (int64 i = 0; i < sorter->count; i++)
	{
		SortItem	item = abbreviated(&sorter->column, descriptor, entries[i]);

		if (sorter->inOrder == 0 || compare_items(&last, &item, sorter->index) < 0)
		{
			entries[sorter->inOrder++] = item.entry;
			last = item;
			is_previous = true;
			continue;
		}
		take_sample(sorter->samples, item, i);
		if (is_previous)
			take_sample(sorter->samples, last, i - 1);
		is_previous = false;
		sorter->inOrder--;
		add_outlier(sorter, last);
		add_outlier(sorter, item);
		if (sorter->inOrder > 0)
			last = abbreviated(&sorter->column, descriptor,
							   entries[sorter->inOrder - 1]);

		if (sorter->outlierCount > Max(i, FIRST_LOOK) / 2)
		{
			for (int64 j = 0; j < sorter->outlierCount; j++)
				entries[sorter->inOrder + j] = sorter->outliers[j].entry;
			sorter->divided = i + 1;
			return false;
		}
	}
	sorter->divided = sorter->count;
	return true;
}

/* Merge the entries in order with the sorted outliers, from the end on. */
static void
merge(Sorter *sorter)
{
	TupleDesc	descriptor = RelationGetDescr(sorter->index);
	IndexTuple *entries = sorter->entries;
	int64		ordered = sorter->inOrder - 1;
	int64		outlier = sorter->outlierCount - 1;
	SortItem	last = {0};

	if (ordered >= 0)
		last = abbreviated(&sorter->column, descriptor, entries[ordered]);
	for (int64 place = sorter->count - 1; outlier >= 0; place--)
	{
		if (ordered >= 0 &&
			compare_items(&last, &sorter->outliers[outlier], sorter->index) > 0)
		{
			entries[place] = entries[ordered--];
			if (ordered >= 0)
				last = abbreviated(&sorter->column, descriptor, entries[ordered]);
		}
		else
			entries[place] = sorter->outliers[outlier--].entry;
	}
}

/* Sort all entries. */
static void
sort_all(Sorter *sorter)
{
	SortItem   *items = MemoryContextAllocHuge(CurrentMemoryContext,
											   sorter->count * sizeof(SortItem));

	for (int64 i = 0; i < sorter->count; i++)
	{
		items[i] = abbreviated(&sorter->column, RelationGetDescr(sorter->index),
							   sorter->entries[i]);
		if (i >= sorter->divided)
			take_sample(sorter->samples, items[i], i);
	}
	sort_items(items, sorter->count, sorter->index);
	for (int64 i = 0; i < sorter->count; i++)
		sorter->entries[i] = items[i].entry;
}

/* The place of an entry among the sorted ones. */
static int64
place_of(Sorter *sorter, const SortItem *item)
{
	int64		low = 0;
	int64		high = sorter->count;

	while (low < high)
	{
		int64		middle = low + (high - low) / 2;
		SortItem	other = abbreviated(&sorter->column,
										RelationGetDescr(sorter->index),
										sorter->entries[middle]);

		if (compare_items(&other, item, sorter->index) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The largest displacement of the samples, after sorting. */
static int64
largest_displacement(Sorter *sorter)
{
	int64		largest = 0;

	for (int i = 0; i < sorter->samples->count; i++)
	{
		Sample	   *sample = &sorter->samples->samples[i];
		int64		displacement = place_of(sorter, &sample->item) - sample->position;

		largest = Max(largest, displacement < 0 ? -displacement : displacement);
	}
	return largest;
}

/* Sort all entries of a sorter.  Memory is taken from the current context. */
static void
sort(Sorter *sorter, SwareSortedness *sortedness)
{
	sware_key_column_init(&sorter->column, sorter->index, 1, (Datum) 0, true);
	sorter->outliersAllocated = 1024;
	sorter->outliers = palloc(sorter->outliersAllocated * sizeof(SortItem));
	if (divide(sorter))
	{
		/* of each pair of outliers, one is to blame */
		sortedness->outOfOrder = sorter->outlierCount / 2;
		sort_items(sorter->outliers, sorter->outlierCount, sorter->index);
		merge(sorter);
	}
	else
	{
		sortedness->outOfOrder = sorter->count * sorter->outlierCount / sorter->divided;
		sort_all(sorter);
	}
	sortedness->largestDisplacement = largest_displacement(sorter);
}

/*
 * Sort entries, in place, and tell how far from being in order they were.
 * Memory is taken from the current context, and given back.  Comparators may
 * raise errors; the order is undefined then.
 */
void
sware_sort_and_measure(Relation index, IndexTuple *entries, int64 count,
					   SwareSortedness *sortedness)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "sware sort",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Samples		samples;
	Sorter		sorter = {.index = index,.entries = entries,.count = count,.samples = &samples};

	samples.distance = 1;
	samples.skipped = 0;
	samples.count = 0;
	sort(&sorter, sortedness);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}

/* The same, for those who do not want to know. */
void
sware_sort_entries(Relation index, IndexTuple *entries, int64 count)
{
	SwareSortedness unused;

	sware_sort_and_measure(index, entries, count, &unused);
}

/* The same for entries in the order of their arrival, of which notes are taken. */
void
sware_sort_arrivals(Relation index, IndexTuple *entries, int64 count)
{
	SwareSortedness sortedness;

	sware_sort_and_measure(index, entries, count, &sortedness);
	sware_note_sortedness(index, count, sortedness.outOfOrder,
						  sortedness.largestDisplacement);
}
