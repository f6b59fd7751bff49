/*-------------------------------------------------------------------------
 *
 * numbersearch.h
 *	  Searching among tuples in order by abbreviations of their first columns.
 *
 * Most looks of a search are then a comparison of two numbers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_NUMBERSEARCH_H
#define SWARE_NUMBERSEARCH_H

#include "keys/abbreviation.h"
#include "keys/searchkey.h"

/*
 * A function that returns a tuple of a source, by its position.  It is inlined.
 */
typedef IndexTuple (*SwareTupleAt) (const void *source, int position);

/* The first column of a place, for a search by numbers. */
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

#endif							/* SWARE_NUMBERSEARCH_H */
