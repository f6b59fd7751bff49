/*-------------------------------------------------------------------------
 *
 * numbersearch.c
 *	  The column whose numbers a search looks at.  See numbersearch.h.
 *
 * Nothing here locks anything, as in searchkey.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "keys/abbreviation.h"
#include "keys/numbersearch.h"
#include "keys/searchkey.h"
#include "layout/tuple.h"

/*
 * Let a search look at a column, whose values are compared with those of the
 * index's own type.  Returns false if the place has no abbreviation there.
 */
bool
sware_search_column_set(SwareSearchColumn *search, const SwareSearchKey *key,
						int number)
{
	const SwareKeyColumn *given = &key->columns[number];

	search->number = number;
	if (number >= key->columnCount)
		return false;
	if (sware_has_abbreviations(given) &&
		given->collation == key->index->rd_indcollation[number])
	{
		search->column = *given;
		search->value = sware_abbreviate_value(given, given->value,
											   given->isNull);
		return true;
	}
	sware_key_column_init(&search->column, key->index, number + 1, (Datum) 0,
						  true);
	return sware_abbreviate_other(&search->column, given, &search->value);
}

/*
 * Are values equal that have the place's number?  An extreme number may be
 * that of a null, or of a missing column.
 */
bool
sware_search_column_is_exact(const SwareSearchColumn *search)
{
	return sware_is_integer(search->column.comparison) &&
		search->value != PG_INT64_MIN && search->value != PG_INT64_MAX;
}

/* The abbreviation of a search's column, of any tuple of the tree. */
int64
sware_tuple_number(const SwareSearchKey *key, const SwareSearchColumn *search,
				   IndexTuple tuple)
{
	TupleDesc	descriptor = RelationGetDescr(key->index);
	bool		is_null;
	Datum		value;

	/* columns that a pivot does not keep count as minus infinity */
	if (unlikely(sware_tuple_is_pivot(tuple) &&
				 sware_tuple_count(tuple) <= search->number))
		return PG_INT64_MIN;
	if (search->number == 0)
		return sware_abbreviate(&search->column, descriptor, tuple);
	value = index_getattr(tuple, search->number + 1, descriptor, &is_null);
	return sware_abbreviate_value(&search->column, value, is_null);
}
