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
 * turn.
 * A bucket keeps the order of arrival, which often is that of the TIDs, so
 * that equal keys are in order already.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "keys/entry.h"
#include "sort/itemsort.h"

/* fewer items than this are sorted without buckets */
#define MIN_DISTRIBUTED	128

/* how often items can be distributed, if their numbers are far from even */
#define BUCKET_LEVELS	4

/*
 * The number of items for which there is a bucket, and the largest number of
 * buckets.
 */
#define ITEMS_PER_BUCKET	8
#define MAX_BUCKETS		65536

/* the part of the items that are outliers after a good guess, as a divisor */
#define GOOD_GUESS_OUTLIERS	8

/* up to this number of items are sorted by inserting one after the other */
#define FEW_ITEMS		16

/* fewer items than this are sorted by quicksort, not by merging */
#define MIN_MERGED		512

/*
 * After this number of items, first ask whether abbreviations pay.  Support
 * functions expect the numbers at which tuplesort asks: they demand less each
 * time.
 */
#define FIRST_DOUBT		160

#define ST_SORT quicksort_items
#define ST_ELEMENT_TYPE SwareSortItem
#define ST_COMPARE(a, b, comparator) sware_compare_items(a, b, comparator)
#define ST_COMPARE_ARG_TYPE SwareComparator
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* How a type's abbreviations are turned into numbers of the same order. */
typedef enum NumberKind
{
	NUMBER_UNKNOWN,
	NUMBER_UNSIGNED,
	NUMBER_SIGNED
} NumberKind;

static NumberKind
number_kind(SortSupport column)
{
	if (column->abbrev_converter == NULL || SIZEOF_DATUM != sizeof(int64))
		return NUMBER_UNKNOWN;
	if (column->comparator == ssup_datum_unsigned_cmp)
		return NUMBER_UNSIGNED;
	if (column->comparator == ssup_datum_signed_cmp)
		return NUMBER_SIGNED;
	return NUMBER_UNKNOWN;
}

static inline int64
number_from_abbreviation(NumberKind kind, Datum abbreviation)
{
	return kind == NUMBER_UNSIGNED ?
		(int64) (abbreviation ^ ((uint64) 1 << 63)) : (int64) abbreviation;
}

/*
 * Set the items' numbers from the sort support abbreviations of the first
 * column's type.  A null gets the same as an extreme value.  Returns false,
 * with no numbers set, if the type has none of a known kind, or sort support
 * gives them up.
 */
static bool
abbreviate_items(SwareComparator *comparator, SwareSortItem *items, int64 count)
{
	SortSupportData column = {0};
	NumberKind	kind;
	int64		doubt = FIRST_DOUBT;

	sware_prepare_column(&column, comparator->index, 1, true);
	kind = number_kind(&column);
	if (kind == NUMBER_UNKNOWN)
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
			number =
				number_from_abbreviation(kind,
										 column.abbrev_converter(value,
																 &column));
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
 * Sort items by merging.  This makes fewer comparisons than quicksort, and
 * compares entries that are neighbours in memory if they came nearly in order.
 * There is room for half of the items in `scratch`.
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
	if (count < MIN_MERGED)
	{
		quicksort_items(items, count, comparator);
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

/* Have the items of a list different numbers? */
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

/* Are items in order already, as equal keys often are? */
static bool
are_in_order(SwareComparator *comparator, const SwareSortItem *items,
			 int64 count)
{
	for (int64 i = 1; i < count; i++)
	{
		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (i + SWARE_PREFETCH_DISTANCE < count)
			__builtin_prefetch(items[i + SWARE_PREFETCH_DISTANCE].entry);
		if (sware_compare_items(&items[i - 1], &items[i], comparator) > 0)
			return false;
	}
	return true;
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
		else if (!are_in_order(comparator, first, size))
			sort_by_merging(comparator, first, items, size);
		start = ends[bucket];
	}
	pfree(ends);
}

/* Set the items' numbers to those that the comparator makes. */
static void
set_numbers(const SwareComparator *comparator, SwareSortItem *items,
			int64 count)
{
	for (int64 i = 0; i < count; i++)
	{
		if (i + SWARE_PREFETCH_DISTANCE < count)
			__builtin_prefetch(items[i + SWARE_PREFETCH_DISTANCE].entry);
		items[i] = sware_make_item(comparator, items[i].entry);
	}
}

/* How many items of a list in order come before another item? */
static int64
count_before(SwareComparator *comparator, const SwareSortItem *items,
			 int64 count, const SwareSortItem *other)
{
	int64		low = 0;

	/* often all of them do */
	if (count > 0 &&
		sware_compare_items(&items[count - 1], other, comparator) < 0)
		return count;
	while (low < count)
	{
		int64		middle = low + (count - low) / 2;

		if (sware_compare_items(&items[middle], other, comparator) < 0)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* Insert sorted outliers into items in order, behind which there is room. */
static void
insert_outliers(SwareComparator *comparator, SwareSortItem *items,
				int64 in_order, const SwareSortItem *outliers, int64 count)
{
	for (; count > 0; count--)
	{
		const SwareSortItem *largest = &outliers[count - 1];
		int64		before =
			count_before(comparator, items, in_order, largest);

		CHECK_FOR_INTERRUPTS();
		memmove(items + before + count, items + before,
				(in_order - before) * sizeof(SwareSortItem));
		items[before + count - 1] = *largest;
		in_order = before;
	}
}

/*
 * Sort items that a guess has put in order, nearly if it is good; it has been
 * dropped.  As in sorter.c, items in order are set aside, and of two that are
 * not, both are outliers.  If these are many, the guess was bad, and is not
 * tried again.  Otherwise like sware_sort_items.
 */
static SwareSortItem *
sort_guessed(SwareComparator *comparator, SwareSortItem *items, int64 count)
{
	int64		max_outliers = count / GOOD_GUESS_OUTLIERS + 2;
	SwareSortItem *outliers =
		MemoryContextAllocHuge(CurrentMemoryContext,
							   max_outliers * sizeof(SwareSortItem));
	int64		outlier_count = 0;
	int64		in_order = 0;
	SwareGuess	guess = comparator->guess;

	comparator->guess = SWARE_GUESS_NOTHING;
	for (int64 i = 0; i < count; i++)
	{
		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (i + SWARE_PREFETCH_DISTANCE < count)
			__builtin_prefetch(items[i + SWARE_PREFETCH_DISTANCE].entry);
		if (in_order == 0 || sware_compare_items(&items[in_order - 1],
												 &items[i], comparator) < 0)
		{
			items[in_order++] = items[i];
			continue;
		}
		if (outlier_count + 2 > max_outliers)
		{
			memcpy(items + in_order, outliers,
				   outlier_count * sizeof(SwareSortItem));
			pfree(outliers);
			return sware_sort_items(comparator, items, count);
		}
		outliers[outlier_count++] = items[--in_order];
		outliers[outlier_count++] = items[i];
	}
	if (outlier_count > 0)
	{
		outliers = sware_sort_items(comparator, outliers, outlier_count);
		insert_outliers(comparator, items, in_order, outliers, outlier_count);
	}
	pfree(outliers);
	comparator->guess = guess;
	return items;
}

/*
 * Sort items that sware_make_item has made.  Returns them sorted, with the same
 * numbers, in the same array, or in new memory and frees the array.  Takes
 * memory from the current context, and runs comparators.
 */
SwareSortItem *
sware_sort_items(SwareComparator *comparator, SwareSortItem *items, int64 count)
{
	bool		refines = count >= SWARE_MANY_TO_SORT &&
		comparator->partCount == 0;
	bool		has_numbers;
	bool		abbreviates;

	if (refines)
	{
		sware_refine_numbers(comparator, &items[0].entry,
							 sizeof(SwareSortItem), count);
		refines = comparator->partCount > 0;
		if (refines)
			set_numbers(comparator, items, count);
	}
	has_numbers = comparator->partCount > 0 ||
		sware_has_abbreviations(&comparator->first);
	abbreviates = !has_numbers && count >= SWARE_MANY_TO_SORT &&
		abbreviate_items(comparator, items, count);

	if (count >= MIN_DISTRIBUTED && (has_numbers || abbreviates))
	{
		SwareSortItem *result =
			MemoryContextAllocHuge(CurrentMemoryContext,
								   count * sizeof(SwareSortItem));

		sort_by_buckets(comparator, items, result, count, BUCKET_LEVELS);
		pfree(items);
		items = result;
	}
	else if (count >= MIN_MERGED)
	{
		SwareSortItem *scratch =
			MemoryContextAllocHuge(CurrentMemoryContext,
								   count / 2 * sizeof(SwareSortItem));

		sort_by_merging(comparator, items, scratch, count);
		pfree(scratch);
	}
	else
		quicksort_items(items, count, comparator);
	if (refines && comparator->hasGuess)
	{
		sware_drop_guess(comparator);
		set_numbers(comparator, items, count);
		items = sort_guessed(comparator, items, count);
	}

	/* these numbers are valid in this sort only */
	if (refines)
	{
		sware_unrefine_numbers(comparator);
		set_numbers(comparator, items, count);
	}
	for (int64 i = 0; abbreviates && i < count; i++)
		items[i].abbreviation = 0;
	return items;
}

SwareSortItem *
sware_merge_items(SwareComparator *comparator, const SwareSortItem *a,
				  int64 count_a, const SwareSortItem *b, int64 count_b)
{
	SwareSortItem *result =
		MemoryContextAllocHuge(CurrentMemoryContext, (count_a + count_b) *
							   sizeof(SwareSortItem));
	const SwareSortItem *end_a = a + count_a;
	const SwareSortItem *end_b = b + count_b;
	SwareSortItem *to = result;
	int64		before = count_b == 0 ? count_a :
		count_before(comparator, a, count_a, b);

	memcpy(to, a, before * sizeof(SwareSortItem));
	to += before;
	a += before;
	while (a < end_a && b < end_b)
	{
		if ((to - result) % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		*to++ = sware_compare_items(a, b, comparator) <= 0 ? *a++ : *b++;
	}
	memcpy(to, a, (end_a - a) * sizeof(SwareSortItem));
	to += end_a - a;
	memcpy(to, b, (end_b - b) * sizeof(SwareSortItem));
	return result;
}
