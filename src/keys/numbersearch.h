/*-------------------------------------------------------------------------
 *
 * numbersearch.h
 *	  Searching among tuples in order, with abbreviations of their columns.
 *
 * Keys on a page often have similar distances, so a place can be interpolated:
 * a few looks at numbers then do what takes nine comparisons of keys.  The
 * interpolation search of sorted lists is from the paper on SWARE.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_NUMBERSEARCH_H
#define SWARE_NUMBERSEARCH_H

#include "keys/abbreviation.h"
#include "keys/searchkey.h"

/* Fewer tuples than these are searched faster by comparing keys. */
#define SWARE_FEW_TO_INTERPOLATE	8

/* After this number of interpolations a search goes on by halves. */
#define SWARE_MAX_INTERPOLATIONS	3

/*
 * A function that returns a tuple of a source, by its position.  It is inlined.
 */
typedef IndexTuple (*SwareTupleAt) (const void *source, int position);

/*
 * The column whose numbers a search looks at.  The place and all tuples that
 * are left have equal values in the columns before it.
 */
typedef struct SwareSearchColumn
{
	int			number;			/* from 0 on */
	SwareKeyColumn column;		/* compares values of the column's own type */
	int64		value;			/* the place's abbreviation */
} SwareSearchColumn;

extern bool sware_search_column_set(SwareSearchColumn *search,
									const SwareSearchKey *key, int number);
extern bool sware_search_column_is_exact(const SwareSearchColumn *search);
extern int64 sware_tuple_number(const SwareSearchKey *key,
								const SwareSearchColumn *search,
								IndexTuple tuple);

/*
 * Return the first of the positions low..high-1 whose tuple is not before a
 * place, or if `behind_equal`, the first whose tuple is behind the place; or
 * `high` if there is none.  The tuples are in order.  Calls comparators.
 *
 * The first looks are at the two ends, the next ones at where the place should
 * be.  If both ends have the place's number, the next column is looked at.
 */
static pg_attribute_always_inline int
sware_search(const SwareSearchKey *key, SwareTupleAt tuple_at,
			 const void *source, int low, int high, bool behind_equal)
{
	SwareSearchColumn search;
	bool		has_numbers = high - low > SWARE_FEW_TO_INTERPOLATE &&
		sware_search_column_set(&search, key, 0);
	int			looks = 0;
	int64		low_number = 0; /* of position low - 1, or at first, of low */
	int64		high_number = 0;	/* of position high */

	while (low < high)
	{
		int			middle = low + (high - low) / 2;
		int64		number = 0;
		int			order = 0;
		IndexTuple	tuple;

		if (has_numbers && looks < SWARE_MAX_INTERPOLATIONS + 2)
		{
			if (looks == 0)
				middle = high - 1;
			else if (looks == 1)
				middle = low;
			else
				middle = Min(Max(sware_interpolate(low - 1, high, low_number,
												   high_number, search.value),
								 low), high - 1);
			looks++;
		}
		tuple = tuple_at(source, middle);
		if (has_numbers)
		{
			number = sware_tuple_number(key, &search, tuple);
			order = (search.value > number) - (search.value < number);
		}
		if (order == 0)
			order = sware_compare_key(key, tuple);
		if (behind_equal ? order >= 0 : order > 0)
		{
			low = middle + 1;
			low_number = number;
		}
		else
		{
			high = middle;
			high_number = number;
		}

		if (unlikely(looks == 2 && low_number == high_number &&
					 high - low > SWARE_FEW_TO_INTERPOLATE &&
					 sware_search_column_is_exact(&search)))
		{
			has_numbers = sware_search_column_set(&search, key,
												  search.number + 1);
			looks = 0;
		}
	}
	return low;
}

#endif							/* SWARE_NUMBERSEARCH_H */
