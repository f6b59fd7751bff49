/*-------------------------------------------------------------------------
 *
 * itemsort.c
 *	  Sorting entries in an array, with numbers that stand for their first
 *	  columns.
 *
 * Integers stand for themselves.  Other types may have abbreviations in their
 * sort support functions, for as long as a sort lasts; they become numbers if
 * it is known how they are compared.
 *
 * Before items are sorted, they are distributed by their numbers into buckets.
 * There are enough buckets that each has few items, close together in memory.
 * A bucket keeps the order of arrival, which often is that of the TIDs, so
 * that equal keys are in order already.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"

#include "keys/itemsort.h"

/* fewer items than this are sorted without buckets */
#define MIN_DISTRIBUTED	1024

/* the largest number of buckets; with fewer items, fewer are used */
#define MAX_BUCKETS		4096

/*
 * for fewer items than this, a type's abbreviations do not repay their
 * preparation
 */
#define MIN_ABBREVIATED	256

/* after this number of items, first ask whether abbreviations pay */
#define FIRST_DOUBT		128

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
	NUMBER_SIGNED,
	NUMBER_BACKWARD				/* signed, in descending order */
} NumberKind;

static NumberKind
number_kind(Relation index, SortSupport column)
{
	if (column->abbrev_converter == NULL || SIZEOF_DATUM != sizeof(int64))
		return NUMBER_UNKNOWN;
	if (column->comparator == ssup_datum_unsigned_cmp)
		return NUMBER_UNSIGNED;
	if (column->comparator == ssup_datum_signed_cmp)
		return NUMBER_SIGNED;
	if (index_getprocid(index, 1, BTSORTSUPPORT_PROC) == F_NUMERIC_SORTSUPPORT)
		return NUMBER_BACKWARD;
	return NUMBER_UNKNOWN;
}

static inline int64
number_from_abbreviation(NumberKind kind, Datum abbreviation)
{
	if (kind == NUMBER_UNSIGNED)
		return (int64) (abbreviation ^ ((uint64) 1 << 63));
	return kind == NUMBER_SIGNED ? (int64) abbreviation : ~(int64) abbreviation;
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
	kind = number_kind(comparator->index, &column);
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

/*
 * Distribute items into buckets, which follow each other in the order of the
 * items' numbers, and sort each bucket.  Returns the sorted items in new
 * memory.
 */
static SwareSortItem *
sort_by_buckets(SwareComparator *comparator, const SwareSortItem *items,
				int64 count)
{
	SwareSortItem *result =
		MemoryContextAllocHuge(CurrentMemoryContext,
							   count * sizeof(SwareSortItem));
	int64		ends[MAX_BUCKETS] = {0};	/* where buckets end in `result` */
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

		ends[bucket] = start;	/* the bucket's start, which grows to its end */
		start += size;
	}
	for (int64 i = 0; i < count; i++)
		result[ends[BUCKET(items[i])]++] = items[i];
#undef BUCKET

	start = 0;
	for (int bucket = 0; bucket < MAX_BUCKETS; bucket++)
	{
		if (ends[bucket] - start > 1)
			quicksort_items(result + start, ends[bucket] - start, comparator);
		start = ends[bucket];
	}
	return result;
}

/*
 * Sort items that sware_make_item has made.  Returns them sorted, in the same
 * array or in new memory, with their own abbreviations.  Takes memory from the
 * current context, and runs comparators.
 */
SwareSortItem *
sware_sort_items(SwareComparator *comparator, SwareSortItem *items, int64 count)
{
	bool		is_integer = sware_has_abbreviations(&comparator->first);
	bool		has_own = !is_integer && count >= MIN_ABBREVIATED &&
		abbreviate_items(comparator, items, count);

	if (count >= MIN_DISTRIBUTED && (is_integer || has_own))
		items = sort_by_buckets(comparator, items, count);
	else
		quicksort_items(items, count, comparator);

	/* sort support abbreviations are valid in this sort only */
	for (int64 i = 0; has_own && i < count; i++)
		items[i].abbreviation = 0;
	return items;
}
