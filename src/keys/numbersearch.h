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

/* The abbreviation of a column, counted from 0, of any tuple of the tree. */
static inline int64
sware_tuple_number(const SwareSearchKey *key, const SwareKeyColumn *column,
				   int number, IndexTuple tuple)
{
	TupleDesc	descriptor = RelationGetDescr(key->index);
	bool		is_null;
	Datum		value;

	/* columns that a pivot does not keep count as minus infinity */
	if (unlikely(sware_tuple_is_pivot(tuple) &&
				 sware_tuple_count(tuple) <= number))
		return PG_INT64_MIN;
	if (number == 0)
		return sware_abbreviate(column, descriptor, tuple);
	value = index_getattr(tuple, number + 1, descriptor, &is_null);
	return sware_abbreviate_value(column, value, is_null);
}

/*
 * Of the positions *low..*high-1, whose tuples are in order, and equal a place
 * in the columns before `number`, leave only those whose abbreviation of this
 * column is `value`, which is the place's.  The tuples before these are before
 * the place, and those behind them are behind it.
 */
static pg_attribute_always_inline void
sware_narrow_by_column(const SwareSearchKey *key, const SwareKeyColumn *column,
					   int number, int64 value, SwareTupleAt tuple_at,
					   const void *source, int *low, int *high)
{
	int			begin = *low;	/* those before it are lower */
	int			end = *high - 1;	/* it is not lower, nor are those behind */
	int			behind = *high;
	int			interpolations = 0;
	int64		low_value;
	int64		high_value;
	int64		last_value;

	last_value = sware_tuple_number(key, column, number,
									tuple_at(source, end));
	high_value = last_value;
	if (last_value < value)
	{
		*low = *high;
		return;
	}
	low_value = sware_tuple_number(key, column, number,
								   tuple_at(source, begin));
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
		its_value = sware_tuple_number(key, column, number,
									   tuple_at(source, middle));
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

			if (sware_tuple_number(key, column, number,
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

			if (sware_tuple_number(key, column, number,
								   tuple_at(source, middle)) > value)
				behind = middle;
			else
				end = middle + 1;
		}
	}
	*high = end;
}

/*
 * Of the positions *low..*high-1, whose tuples are in order, leave only those
 * whose abbreviation equals that of a place.  The tuples before these are
 * before the place, and those behind them are behind it.  Further columns are
 * looked at as long as those before are known to be equal.  Leaves everything
 * as it is if there are few positions, or no abbreviations.
 */
static pg_attribute_always_inline void
sware_narrow(const SwareSearchKey *key, SwareTupleAt tuple_at,
			 const void *source, int *low, int *high)
{
	for (int i = 0; i < key->columnCount &&
		 *high - *low > SWARE_FEW_TO_NARROW; i++)
	{
		const SwareKeyColumn *column = &key->columns[i];
		SwareKeyColumn own;
		int64		value;

		/* a value of the column's own type tells how it is compared */
		if (!sware_has_abbreviations(column) ||
			column->collation != key->index->rd_indcollation[i])
		{
			sware_key_column_init(&own, key->index, i + 1, (Datum) 0, true);
			if (!sware_abbreviate_other(&own, column, &value))
				return;
			column = &own;
		}
		else
			value = sware_abbreviate_value(column, column->value,
										   column->isNull);
		sware_narrow_by_column(key, column, i, value, tuple_at, source,
							   low, high);

		/* an extreme number may be that of a null, or of a missing column */
		if (!sware_is_integer(column->comparison) ||
			value == PG_INT64_MIN || value == PG_INT64_MAX)
			return;
	}
}

#endif							/* SWARE_NUMBERSEARCH_H */
