/*-------------------------------------------------------------------------
 *
 * itemsort.c
 *	  Sorting entries in an array, with numbers that stand for their first
 *	  columns.
 *
 * A comparator makes the numbers, if it is known how the first column is
 * compared.  Other types may have abbreviations in their sort support function,
 * for as long as a sort lasts; they become numbers if it is known how they are
 * compared.
 *
 * Before items are sorted, they are distributed by their numbers into buckets.
 * There are enough buckets that each has few items, close together in memory.
 * Where numbers lie close together, a bucket has many, and is distributed in
 * turn.  A bucket keeps the order of arrival, which often is that of the TIDs,
 * so that equal keys are in order already.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "keys/entry.h"
#include "sort/sorter.h"

/* fewer items than this are sorted without buckets */
#define MIN_DISTRIBUTED	128

/* how often items can be distributed, if their numbers are far from even */
#define BUCKET_LEVELS	4

/* items for which there is a bucket, and the largest number of buckets */
#define ITEMS_PER_BUCKET	8
#define MAX_BUCKETS		65536

/* up to this number of items are sorted by inserting one after the other */
#define FEW_ITEMS		16

/*
 * After this number of items, first ask whether abbreviations pay.  Support
 * functions expect the numbers at which tuplesort asks: they demand less each
 * time.
 */
#define FIRST_DOUBT		160

/*
 * Set the items' numbers from the sort support abbreviations of the first
 * column's type.  A null gets the same as an extreme value.  Returns false,
 * with no numbers set, if the type has none that are compared as unsigned
 * integers, or sort support gives them up.
 */
static bool
abbreviate_items(SwareComparator *comparator, SwareSortItem *items, int64 count)
{
	SortSupportData column = {0};
	int64		doubt = FIRST_DOUBT;

	sware_prepare_column(&column, comparator->index, 1, true);
	if (column.abbrev_converter == NULL || SIZEOF_DATUM != sizeof(int64) ||
		column.comparator != ssup_datum_unsigned_cmp)
		return false;

	for (int64 i = 0; i < count; i++)
	{
		bool		is_null;
		Datum		value =
			index_getattr(items[i].entry, 1, comparator->descriptor, &is_null);
		int64		number;

		if (i == doubt)
		{
			CHECK_FOR_INTERRUPTS();
			doubt *= 2;
			if (column.abbrev_abort(i, &column))
			{
				for (int64 j = 0; j < i; j++)
					items[j].abbreviation = 0;
				return false;
			}
		}
		if (is_null)
			items[i].abbreviation = column.ssup_nulls_first ? PG_INT64_MIN :
				PG_INT64_MAX;
		else
		{
			number = (int64) (column.abbrev_converter(value, &column) ^
							  (UINT64CONST(1) << 63));
			items[i].abbreviation = column.ssup_reverse ? ~number : number;
		}
	}
	return true;
}

/* Sort a few items by inserting one after the other. */
static inline void
sort_few(SwareComparator *comparator, SwareSortItem *items, int64 count)
{
	for (int64 i = 1; i < count; i++)
	{
		SwareSortItem item = items[i];
		int64		place = i;

		while (place > 0 &&
			   sware_compare_items(&items[place - 1], &item, comparator) > 0)
		{
			items[place] = items[place - 1];
			place--;
		}
		items[place] = item;
	}
}

/*
 * Sort items by merging.  This makes few comparisons, and compares entries that
 * are neighbours in memory if they came nearly in order.  There is room for
 * half of the items in `scratch`.
 */
static void
sort_by_merging(SwareComparator *comparator, SwareSortItem *items,
				SwareSortItem *scratch, int64 count)
{
	int64		half = count / 2;
	const SwareSortItem *a = scratch;
	const SwareSortItem *end_a = scratch + half;
	const SwareSortItem *b = items + half;
	const SwareSortItem *end_b = items + count;

	if (count <= FEW_ITEMS)
	{
		sort_few(comparator, items, count);
		return;
	}
	sort_by_merging(comparator, items, scratch, half);
	sort_by_merging(comparator, items + half, scratch, count - half);
	if (sware_compare_items(b - 1, b, comparator) <= 0)
		return;

	memcpy(scratch, items, half * sizeof(SwareSortItem));
	while (a < end_a && b < end_b)
	{
		if ((end_b - b) % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (a + SWARE_PREFETCH_DISTANCE < end_a)
			__builtin_prefetch(a[SWARE_PREFETCH_DISTANCE].entry);
		if (b + SWARE_PREFETCH_DISTANCE < end_b)
			__builtin_prefetch(b[SWARE_PREFETCH_DISTANCE].entry);
		*items++ = sware_compare_items(a, b, comparator) <= 0 ? *a++ : *b++;
	}
	memcpy(items, a, (end_a - a) * sizeof(SwareSortItem));
}

static bool
numbers_differ(const SwareSortItem *items, int64 count)
{
	for (int64 i = 1; i < count; i++)
	{
		if (items[i].abbreviation != items[0].abbreviation)
			return true;
	}
	return false;
}

/*
 * Distribute items into buckets, which follow each other in the order of the
 * items' numbers, and sort each bucket.  One with many items whose numbers
 * differ is distributed in turn, as long as there are `levels`.  The items get
 * to `result`, which has room for them; where they were is scratch memory
 * afterwards.
 */
static void
sort_by_buckets(SwareComparator *comparator, SwareSortItem *items,
				SwareSortItem *result, int64 count, int levels)
{
	int64		buckets = Min(count / ITEMS_PER_BUCKET, MAX_BUCKETS);
	int64	   *ends;			/* where buckets end in `result` */
	int64		lowest = items[0].abbreviation;
	int64		highest = items[0].abbreviation;
	int64		start = 0;
	int			shift = 0;

	for (int64 i = 1; i < count; i++)
	{
		lowest = Min(lowest, items[i].abbreviation);
		highest = Max(highest, items[i].abbreviation);
	}
	while (((uint64) highest - (uint64) lowest) >> shift >= (uint64) buckets)
		shift++;

	ends = palloc0(buckets * sizeof(int64));
#define BUCKET(item) (((uint64) (item).abbreviation - (uint64) lowest) >> shift)
	for (int64 i = 0; i < count; i++)
		ends[BUCKET(items[i])]++;
	for (int64 bucket = 0; bucket < buckets; bucket++)
	{
		int64		size = ends[bucket];

		ends[bucket] = start;	/* the bucket's start, which grows to its end */
		start += size;
	}
	for (int64 i = 0; i < count; i++)
		result[ends[BUCKET(items[i])]++] = items[i];
#undef BUCKET

	start = 0;
	for (int64 bucket = 0; bucket < buckets; bucket++)
	{
		int64		size = ends[bucket] - start;
		SwareSortItem *first = result + start;

		if (bucket % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (levels > 1 && size >= MIN_DISTRIBUTED &&
			numbers_differ(first, size))
		{
			memcpy(items + start, first, size * sizeof(SwareSortItem));
			sort_by_buckets(comparator, items + start, first, size, levels - 1);
		}
		else
			sort_by_merging(comparator, first, items, size);
		start = ends[bucket];
	}
	pfree(ends);
}

/*
 * Sort entries in any order.  Takes memory from the current context, and calls
 * comparators.
 *
 * If numbers are guessed, the entries that they have sorted are nearly in order
 * if the guess was good: then they are sorted without it.  If it was bad, it is
 * not tried again.
 */
void
sware_sort_scrambled(SwareComparator *comparator, IndexTuple *entries,
					 int64 count)
{
	SwareSortItem *items =
		MemoryContextAllocHuge(CurrentMemoryContext,
							   count * sizeof(SwareSortItem));
	SwareSortItem *other =
		MemoryContextAllocHuge(CurrentMemoryContext,
							   count * sizeof(SwareSortItem));
	SwareSortItem *sorted;
	bool		refines = count >= SWARE_MANY_TO_SORT &&
		comparator->partCount == 0;
	bool		has_numbers;

	if (refines)
	{
		sware_refine_numbers(comparator, entries, count, true);
		refines = comparator->partCount > 0;
	}
	for (int64 i = 0; i < count; i++)
	{
		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		sware_prefetch_entry(entries, i, count);
		items[i] = sware_make_item(comparator, entries[i]);
	}
	has_numbers = comparator->partCount > 0 ||
		sware_has_abbreviations(&comparator->first) ||
		(count >= SWARE_MANY_TO_SORT &&
		 abbreviate_items(comparator, items, count));
	sorted = items;
	if (count >= MIN_DISTRIBUTED && has_numbers)
	{
		sort_by_buckets(comparator, items, other, count, BUCKET_LEVELS);
		sorted = other;
	}
	else
		sort_by_merging(comparator, items, other, count);
	for (int64 i = 0; i < count; i++)
		entries[i] = sorted[i].entry;
	pfree(items);
	pfree(other);

	if (refines && comparator->hasGuess)
	{
		SwareGuess	guess = comparator->guess;

		sware_drop_guess(comparator);
		comparator->guess = SWARE_GUESS_NOTHING;
		if (sware_sort_nearly_sorted(comparator, entries, count,
									 SWARE_GUESSED_SHARE))
			comparator->guess = guess;
	}

	/* these numbers are valid in this sort only */
	if (refines)
		sware_unrefine_numbers(comparator);
}
