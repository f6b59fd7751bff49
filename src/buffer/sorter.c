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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "buffer/abbreviation.h"
#include "buffer/sorter.h"
#include "tree/tree.h"

/* look after so many entries whether setting aside is worth its cost */
#define FIRST_LOOK		4096

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
} Sorter;

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

	for (int64 i = 0; i < sorter->count; i++)
	{
		SortItem	item = abbreviated(&sorter->column, descriptor, entries[i]);

		if (sorter->inOrder == 0 || compare_items(&last, &item, sorter->index) < 0)
		{
			entries[sorter->inOrder++] = item.entry;
			last = item;
			continue;
		}
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
			return false;
		}
	}
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
		items[i] = abbreviated(&sorter->column, RelationGetDescr(sorter->index),
							   sorter->entries[i]);
	sort_items(items, sorter->count, sorter->index);
	for (int64 i = 0; i < sorter->count; i++)
		sorter->entries[i] = items[i].entry;
}

/*
 * Sort entries, in place.  Memory is taken from the current context, and
 * given back.  Comparators may raise errors; the order is undefined then.
 */
void
sware_sort_entries(Relation index, IndexTuple *entries, int64 count)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "sware sort",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Sorter		sorter = {.index = index,.entries = entries,.count = count};

	sware_key_column_init(&sorter.column, index, 1, (Datum) 0, true);
	sorter.outliersAllocated = 1024;
	sorter.outliers = palloc(sorter.outliersAllocated * sizeof(SortItem));
	if (divide(&sorter))
	{
		sort_items(sorter.outliers, sorter.outlierCount, index);
		merge(&sorter);
	}
	else
		sort_all(&sorter);

	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}
