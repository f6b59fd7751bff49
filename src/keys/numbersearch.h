/*-------------------------------------------------------------------------
 *
 * numbersearch.h
 *	  Narrowing a search among tuples in order by the first column, if it has
 *	  abbreviations.
 *
 * Keys on a page often have similar distances, so a place can be interpolated:
 * two or three looks at numbers then do what takes nine comparisons of keys.
 * The interpolation search of sorted lists is from the paper on SWARE.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_NUMBERSEARCH_H
#define SWARE_NUMBERSEARCH_H

#include "keys/abbreviation.h"
#include "keys/searchkey.h"
#include "layout/tuple.h"

/* Fewer tuples than these are searched faster by comparing keys. */
#define SWARE_FEW_TO_NARROW		8

/* After this number of interpolations a search goes on by halves. */
#define SWARE_MAX_INTERPOLATIONS	3

/*
 * A function that returns a tuple of a source, by its position.  It is inlined.
 */
typedef IndexTuple (*SwareTupleAt) (const void *source, int position);

/* The abbreviation of any tuple of the tree. */
static inline int64
sware_tuple_number(const SwareSearchKey *key, const SwareKeyColumn *column,
				   IndexTuple tuple)
{
	/* columns that a pivot does not keep count as minus infinity */
	if (unlikely(sware_tuple_is_pivot(tuple) && sware_tuple_count(tuple) == 0))
		return PG_INT64_MIN;
	return sware_abbreviate(column, RelationGetDescr(key->index), tuple);
}

/*
 * Of the positions *low..*high-1, whose tuples are in order, leave only those
 * whose abbreviation equals that of a place.  The tuples before these are
 * before the place, and those behind them are behind it.  Leaves everything as
 * it is if there are few, or no abbreviations.
 */
static pg_attribute_always_inline void
sware_narrow(const SwareSearchKey *key, SwareTupleAt tuple_at,
			 const void *source, int *low, int *high)
{
	SwareKeyColumn column;
	int			begin = *low;	/* those before it are lower */
	int			end = *high - 1;	/* it is not lower, nor are those behind */
	int			behind = *high;
	int			interpolations = 0;
	int64		low_value;
	int64		high_value;
	int64		last_value;
	int64		value;

	if (key->columnCount == 0 || end - begin < SWARE_FEW_TO_NARROW)
		return;
	sware_key_column_init(&column, key->index, 1, (Datum) 0, true);
	if (!sware_abbreviate_end(&column, key, &value))
		return;

	last_value = sware_tuple_number(key, &column, tuple_at(source, end));
	high_value = last_value;
	if (last_value < value)
	{
		*low = *high;
		return;
	}
	low_value = sware_tuple_number(key, &column, tuple_at(source, begin));
	if (low_value < value)
		begin++;
	else
	{
		end = begin;
		high_value = low_value;
	}
	while (begin < end)
	{
		int			middle;
		int64		its_value;

		if (interpolations++ < SWARE_MAX_INTERPOLATIONS)
			middle = sware_interpolate(begin - 1, end, low_value, high_value,
									   value);
		else
			middle = begin + (end - begin) / 2;
		middle = Min(Max(middle, begin), end - 1);
		its_value = sware_tuple_number(key, &column, tuple_at(source, middle));
		if (its_value < value)
		{
			begin = middle + 1;
			low_value = its_value;
		}
		else
		{
			end = middle;
			high_value = its_value;
		}
	}

	*low = begin;
	if (last_value == value)
		return;					/* none is higher */

	/* the first that is higher is near, as a rule */
	end = begin;
	if (high_value == value)
	{
		int			step = 1;

		/* those before `end` are not higher; double the steps */
		for (end = begin + 1; end < behind; step *= 2)
		{
			int			probe = Min(end + step, behind) - 1;

			if (sware_tuple_number(key, &column,
								   tuple_at(source, probe)) > value)
			{
				behind = probe;
				break;
			}
			end = probe + 1;
		}
		while (end < behind)
		{
			int			middle = end + (behind - end) / 2;

			if (sware_tuple_number(key, &column,
								   tuple_at(source, middle)) > value)
				behind = middle;
			else
				end = middle + 1;
		}
	}
	*high = end;
}

#endif							/* SWARE_NUMBERSEARCH_H */
