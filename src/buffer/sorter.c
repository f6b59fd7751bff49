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
 * at the entry.  Entries are distributed by it before they are sorted: into
 * so many buckets that what is left to sort is little, and close together.
 * The buckets keep the order of arrival, which often is that of the TIDs, so
 * that equal keys are in order then.
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

/* fewer items are sorted without distributing them */
#define MIN_DISTRIBUTED	1024

/* items are distributed into so many buckets, or half of it */
#define MAX_BUCKETS		4096

typedef struct SortItem
{
	int64		abbreviation;	/* orders entries that differ in it */
	IndexTuple	entry;
} SortItem;

/* what it takes to compare items */
typedef struct Comparison
{
	Relation	index;
	bool		isOneInteger;	/* is the only column an abbreviated one? */
} Comparison;

/* A TID as a number, in the same order. */
static inline uint64
tid_number(const ItemPointerData *tid)
{
	return (uint64) ItemPointerGetBlockNumberNoCheck(tid) << 16 |
		ItemPointerGetOffsetNumberNoCheck(tid);
}

static inline int
compare_items(const SortItem *a, const SortItem *b, const Comparison *comparison)
{
	if (a->abbreviation != b->abbreviation)
		return a->abbreviation < b->abbreviation ? -1 : 1;
	/* nulls share their abbreviation with an extreme value */
	if (comparison->isOneInteger &&
		a->abbreviation != PG_INT64_MIN && a->abbreviation != PG_INT64_MAX)
	{
		uint64		tid_a = tid_number(&a->entry->t_tid);
		uint64		tid_b = tid_number(&b->entry->t_tid);

		return tid_a < tid_b ? -1 : tid_a > tid_b;
	}
	return sware_compare_entries(comparison->index, a->entry, b->entry);
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
#define ST_COMPARE(a, b, comparison) compare_items(a, b, comparison)
#define ST_COMPARE_ARG_TYPE const Comparison
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
	Comparison	comparison;
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

		if (sorter->inOrder == 0 || compare_items(&last, &item, &sorter->comparison) < 0)
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
			compare_items(&last, &sorter->outliers[outlier], &sorter->comparison) > 0)
		{
			entries[place] = entries[ordered--];
			if (ordered >= 0)
				last = abbreviated(&sorter->column, descriptor, entries[ordered]);
		}
		else
			entries[place] = sorter->outliers[outlier--].entry;
	}
}

/*
 * Distribute items into buckets that follow each other in the order of
 * abbreviations, as many as `count` makes worthwhile, and sort each.  Returns
 * them sorted, in new memory.
 */
static SortItem *
sort_by_buckets(const Comparison *comparison, const SortItem *items, int64 count)
{
	SortItem   *result = MemoryContextAllocHuge(CurrentMemoryContext,
												count * sizeof(SortItem));
	int64		ends[MAX_BUCKETS] = {0};	/* of buckets in `result` */
	int64		lowest = items[0].abbreviation;
	int64		highest = items[0].abbreviation;
	int64		start = 0;
	int			shift = 0;

	for (int64 i = 1; i < count; i++)
	{
		lowest = Min(lowest, items[i].abbreviation);
		highest = Max(highest, items[i].abbreviation);
	}
	while (((uint64) highest - (uint64) lowest) >> shift >= MAX_BUCKETS)
		shift++;

#define BUCKET(item) (((uint64) (item).abbreviation - (uint64) lowest) >> shift)
	for (int64 i = 0; i < count; i++)
		ends[BUCKET(items[i])]++;
	for (int bucket = 0; bucket < MAX_BUCKETS; bucket++)
	{
		int64		size = ends[bucket];

		ends[bucket] = start;	/* grows to the end as items come */
		start += size;
	}
	for (int64 i = 0; i < count; i++)
		result[ends[BUCKET(items[i])]++] = items[i];
#undef BUCKET

	start = 0;
	for (int bucket = 0; bucket < MAX_BUCKETS; bucket++)
	{
		if (ends[bucket] - start > 1)
			sort_items(result + start, ends[bucket] - start, comparison);
		start = ends[bucket];
	}
	return result;
}

/* Sort items.  Returns them sorted, where they are or in new memory. */
static SortItem *
sorted_items(Sorter *sorter, SortItem *items, int64 count)
{
	if (count >= MIN_DISTRIBUTED && sware_has_abbreviations(&sorter->column))
		return sort_by_buckets(&sorter->comparison, items, count);
	sort_items(items, count, &sorter->comparison);
	return items;
}

/* Sort all entries. */
static void
sort_all(Sorter *sorter)
{
	TupleDesc	descriptor = RelationGetDescr(sorter->index);
	SortItem   *items = MemoryContextAllocHuge(CurrentMemoryContext,
											   sorter->count * sizeof(SortItem));

	for (int64 i = 0; i < sorter->count; i++)
	{
		items[i] = abbreviated(&sorter->column, descriptor, sorter->entries[i]);
		if (i >= sorter->divided)
			take_sample(sorter->samples, items[i], i);
	}
	items = sorted_items(sorter, items, sorter->count);
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

		if (compare_items(&other, item, &sorter->comparison) < 0)
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
	sorter->comparison.index = sorter->index;
	sorter->comparison.isOneInteger = sware_has_abbreviations(&sorter->column) &&
		IndexRelationGetNumberOfKeyAttributes(sorter->index) == 1;
	sorter->outliersAllocated = 1024;
	sorter->outliers = palloc(sorter->outliersAllocated * sizeof(SortItem));
	if (divide(sorter))
	{
		/* of each pair of outliers, one is to blame */
		sortedness->outOfOrder = sorter->outlierCount / 2;
		sorter->outliers = sorted_items(sorter, sorter->outliers, sorter->outlierCount);
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

/*
 * The same for entries in the order of their arrival, of which notes are taken.
 * Returns whether they were in order, and so are where they were.
 */
bool
sware_sort_arrivals(Relation index, IndexTuple *entries, int64 count)
{
	SwareSortedness sortedness;

	sware_sort_and_measure(index, entries, count, &sortedness);
	sware_note_sortedness(index, count, sortedness.outOfOrder,
						  sortedness.largestDisplacement);
	return sortedness.outOfOrder == 0;
}
