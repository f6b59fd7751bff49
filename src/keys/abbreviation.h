/*-------------------------------------------------------------------------
 *
 * abbreviation.h
 *	  Entries' first columns as numbers that are in the same order, and
 *	  searching among tuples by these numbers.
 *
 * If the abbreviations of two entries differ, they order the entries; if
 * not, nothing is known.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ABBREVIATION_H
#define SWARE_ABBREVIATION_H

#include "access/itup.h"

#include "keys/searchkey.h"

extern int64 sware_number_of_value(SwareComparison comparison, Datum value,
								   Size start);
extern int64 sware_guess_of_text(Datum value, Size start);

/* Does a column have abbreviations?  If not, all are zero. */
static inline bool
sware_has_abbreviations(const SwareKeyColumn *column)
{
	return column->comparison != SWARE_COMPARE_FUNCTION;
}

/*
 * The abbreviation of a value of an index's first column; `column` tells how
 * it is compared, and its order.  The abbreviation of a null is PG_INT64_MIN or
 * PG_INT64_MAX, which a value may have, too.
 */
static inline int64
sware_abbreviate_value(const SwareKeyColumn *column, Datum value, bool is_null)
{
	int64		number;

	if (column->comparison == SWARE_COMPARE_FUNCTION)
		return 0;
	if (is_null)
		return column->nullsFirst ? PG_INT64_MIN : PG_INT64_MAX;
	number = sware_is_integer(column->comparison) ?
		sware_integer_value(column->comparison, value) :
		sware_number_of_value(column->comparison, value, 0);
	return column->descending ? ~number : number;
}

/* The abbreviation of an entry (not of a pivot). */
static inline int64
sware_abbreviate(const SwareKeyColumn *column, TupleDesc descriptor,
				 IndexTuple entry)
{
	const char *first = (const char *) entry + MAXALIGN(sizeof(IndexTupleData));
	bool		is_null;
	Datum		value;
	int64		number;

	if (column->comparison == SWARE_COMPARE_FUNCTION)
		return 0;
	if (IndexTupleHasNulls(entry) || !sware_is_integer(column->comparison))
	{
		value = index_getattr(entry, 1, descriptor, &is_null);
		return sware_abbreviate_value(column, value, is_null);
	}

	/* the first column of an entry without nulls is at its beginning */
	number =
		column->comparison == SWARE_COMPARE_INT64 ? *(const int64 *) first :
		column->comparison == SWARE_COMPARE_INT32 ? *(const int32 *) first :
		*(const int16 *) first;
	return column->descending ? ~number : number;
}

/*
 * Find the abbreviation that a value of a column would have, given one that it
 * is compared with.  `column` tells how two values of the column are compared,
 * and `own` has the value.  Returns false if it has no abbreviation, as a value
 * of another type.
 */
static inline bool
sware_abbreviate_other(const SwareKeyColumn *column, const SwareKeyColumn *own,
					   int64 *number)
{
	if (!sware_has_abbreviations(column) ||
		!(own->isNull || sware_is_integer(own->comparison) ||
		  (own->comparison == column->comparison &&
		   own->collation == column->collation)))
		return false;
	*number = sware_abbreviate_value(column, own->value, own->isNull);
	return true;
}

/*
 * Like sware_abbreviate_other, for the first column of a search key.  Returns
 * false also if the search key has no columns.
 */
static inline bool
sware_abbreviate_end(const SwareKeyColumn *column, const SwareSearchKey *end,
					 int64 *number)
{
	return end->columnCount > 0 &&
		sware_abbreviate_other(column, &end->columns[0], number);
}

/*
 * Where between two positions, whose values are given, is a value likely to be?
 * It is not below the lower one, and not above the higher one.  Returns a
 * position from `low` to `high`.
 */
static inline int64
sware_interpolate(int64 low, int64 high, int64 low_value, int64 high_value,
				  int64 value)
{
	uint64		range = (uint64) high_value - (uint64) low_value;
	uint64		distance = (uint64) value - (uint64) low_value;

	if (range == 0)
		return low + (high - low) / 2;
	return low + (int64) ((double) distance / (double) range * (high - low));
}

/*
 * A function that returns a tuple of a source, by its position.  It is inlined.
 */
typedef IndexTuple (*SwareTupleAt) (const void *source, int position);

/*
 * The first column of a place, for a search among tuples in order: most of its
 * looks are then a comparison of two numbers.
 */
typedef struct SwareSearchColumn
{
	SwareKeyColumn column;		/* compares values of the column's own type */
	int64		value;			/* the place's abbreviation */
} SwareSearchColumn;

extern bool sware_search_column_set(SwareSearchColumn *search,
									const SwareSearchKey *key);
extern int64 sware_tuple_number(const SwareSearchKey *key,
								const SwareSearchColumn *search,
								IndexTuple tuple);

/*
 * Return the first of the positions low..high-1 whose tuple is not before a
 * place, or if `behind_equal`, the first whose tuple is behind the place; or
 * `high` if there is none.  The tuples are in order.  Calls comparators.
 */
static pg_attribute_always_inline int
sware_search(const SwareSearchKey *key, SwareTupleAt tuple_at,
			 const void *source, int low, int high, bool behind_equal)
{
	SwareSearchColumn search;
	bool		has_number = low < high &&
		sware_search_column_set(&search, key);

	while (low < high)
	{
		int			middle = low + (high - low) / 2;
		IndexTuple	tuple = tuple_at(source, middle);
		int			order = 0;

		if (has_number)
		{
			int64		number = sware_tuple_number(key, &search, tuple);

			order = (search.value > number) - (search.value < number);
		}
		if (order == 0)
			order = sware_compare_key(key, tuple);
		if (behind_equal ? order >= 0 : order > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif							/* SWARE_ABBREVIATION_H */
