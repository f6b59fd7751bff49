/*-------------------------------------------------------------------------
 *
 * searchkey.c
 *	  Search keys: making them, comparing them with tuples, and finding their
 *	  place on a page.
 *
 * Nothing here locks anything: where a page is given, the caller holds a
 * content lock on it, or owns a copy.  Comparators may raise errors.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "common/int.h"
#include "utils/fmgroids.h"

#include "keys/abbreviation.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "pages/pageaccess.h"

/*
 * Tell how a comparison function compares, if that is known.  May look for the
 * collation in the catalogs.
 */
SwareComparison
sware_comparison_kind(const FmgrInfo *function, Oid collation)
{
	switch (function->fn_oid)
	{
		case F_BTINT2CMP:
			return SWARE_COMPARE_INT16;
		case F_BTINT4CMP:
		case F_DATE_CMP:
			return SWARE_COMPARE_INT32;
		case F_BTINT8CMP:
		case F_TIMESTAMP_CMP:
		case F_TIMESTAMPTZ_CMP:
			return SWARE_COMPARE_INT64;
		case F_UUID_CMP:
			return SWARE_COMPARE_UUID;
		case F_BYTEACMP:
		case F_BTTEXT_PATTERN_CMP:
			return SWARE_COMPARE_BYTES;
		case F_BTTEXTCMP:
			return sware_collates_by_bytes(collation) ? SWARE_COMPARE_BYTES :
				SWARE_COMPARE_FUNCTION;
		case F_NUMERIC_CMP:
			return SWARE_COMPARE_NUMERIC;
		case F_BTFLOAT4CMP:
			return SWARE_COMPARE_FLOAT4;
		case F_BTFLOAT8CMP:
			return SWARE_COMPARE_FLOAT8;
		default:
			return SWARE_COMPARE_FUNCTION;
	}
}

/*
 * Set up a column of a search key for values of the index's own type.  It has
 * no value yet.
 */
void
sware_key_column_init(SwareKeyColumn *column, Relation index, int number)
{
	int16		option = index->rd_indoption[number - 1];

	column->value = (Datum) 0;
	column->isNull = true;
	column->descending = (option & INDOPTION_DESC) != 0;
	column->nullsFirst = (option & INDOPTION_NULLS_FIRST) != 0;
	column->function = index_getprocinfo(index, number, BTORDER_PROC);
	column->collation = index->rd_indcollation[number - 1];
	column->comparison = sware_comparison_kind(column->function,
											   column->collation);
}

/* Set up a search key without any column: the place before all entries. */
void
sware_search_key_init(SwareSearchKey *key, Relation index)
{
	key->index = index;
	key->columnCount = 0;
	key->hasTid = false;
	key->after = false;
	key->below = false;
}

/* Set a column.  Columns are set in order, from 1 on. */
void
sware_search_key_set_column(SwareSearchKey *key, int column, Datum value,
							bool isNull)
{
	Assert(column <= key->columnCount + 1);
	sware_key_column_init(&key->columns[column - 1], key->index, column);
	key->columns[column - 1].value = value;
	key->columns[column - 1].isNull = isNull;
	key->columnCount = Max(column, key->columnCount);
}

/* Set up a search key that sware_search_key_set_entry will set, repeatedly. */
void
sware_search_key_prepare(SwareSearchKey *key, Relation index)
{
	sware_search_key_init(key, index);
	key->columnCount = IndexRelationGetNumberOfKeyAttributes(index);
	for (int i = 0; i < key->columnCount; i++)
		sware_key_column_init(&key->columns[i], index, i + 1);
	key->hasTid = true;
}

/*
 * Set a prepared search key to the place of an entry, or of the first TID of a
 * posting list.  The key points into the tuple.
 */
void
sware_search_key_set_entry(SwareSearchKey *key, IndexTuple entry)
{
	for (int i = 0; i < key->columnCount; i++)
		key->columns[i].value = index_getattr(entry, i + 1,
											  RelationGetDescr(key->index),
											  &key->columns[i].isNull);
	key->tid = *sware_leaf_tuple_tids(entry);
}

/*
 * Set up a search key, and set it to the place of a pivot, an entry, or the
 * first entry of a posting list.  The key points into the tuple.  What a leaf
 * has that may be damaged is set by sware_search_key_set_entry in its place: it
 * could look like a pivot.
 */
void
sware_search_key_from_tuple(SwareSearchKey *key, Relation index,
							IndexTuple tuple)
{
	if (!sware_tuple_is_pivot(tuple))
	{
		sware_search_key_prepare(key, index);
		sware_search_key_set_entry(key, tuple);
		return;
	}
	sware_search_key_init(key, index);
	for (int column = 1; column <= sware_tuple_count(tuple); column++)
	{
		bool		is_null;
		Datum		value = index_getattr(tuple, column,
										  RelationGetDescr(index), &is_null);

		sware_search_key_set_column(key, column, value, is_null);
	}
	key->hasTid = sware_pivot_has_tid(tuple);
	if (key->hasTid)
		key->tid = *sware_pivot_tid(tuple);
}

/* Negative if `a` comes first. */
static int
call_function(const SwareKeyColumn *column, Datum a, Datum b)
{
	/* the index's value comes first: functions may be cross-type */
	int32		order = DatumGetInt32(FunctionCall2Coll(column->function,
														column->collation,
														b, a));

	return (order < 0) - (order > 0);
}

static int
compare_bytes(const SwareKeyColumn *column, Datum a, Datum b)
{
	SwareBytes	bytes_a = sware_bytes_of(column->comparison, a);
	SwareBytes	bytes_b = sware_bytes_of(column->comparison, b);
	int			order;

	if (unlikely(bytes_a.data == NULL || bytes_b.data == NULL))
		return call_function(column, a, b);
	order = memcmp(bytes_a.data, bytes_b.data,
				   Min(bytes_a.size, bytes_b.size));
	if (order == 0)
		return (bytes_a.size > bytes_b.size) - (bytes_a.size < bytes_b.size);
	return (order > 0) - (order < 0);
}

/*
 * Compare two values of the index; `column` tells how.  Negative if `a` comes
 * first.
 */
static inline int
compare_values(const SwareKeyColumn *column, Datum a, bool null_a, Datum b,
			   bool null_b)
{
	int			result;

	if (unlikely(null_a || null_b))
	{
		if (null_a && null_b)
			return 0;
		return (null_a == column->nullsFirst) ? -1 : 1;
	}
	if (sware_is_integer(column->comparison))
	{
		int64		number_a = sware_integer_value(column->comparison, a);
		int64		number_b = sware_integer_value(column->comparison, b);

		result = (number_a > number_b) - (number_a < number_b);
	}
	else if (sware_is_bytes(column->comparison))
		result = compare_bytes(column, a, b);
	else
		result = call_function(column, a, b);
	return column->descending ? -result : result;
}

/*
 * Compare a column of a search key with a value of the index: negative if
 * the key's place is before it, zero if they are equal.
 */
int
sware_compare_column(const SwareKeyColumn *column, Datum value, bool is_null)
{
	return compare_values(column, column->value, column->isNull, value,
						  is_null);
}

/*
 * Compare a place with a tuple of a tree page: negative if the place is
 * before it, positive if behind.  Zero means "at it": an equal entry or
 * pivot, or a posting list whose range holds the TID.
 */
int
sware_compare_key(const SwareSearchKey *key, IndexTuple tuple)
{
	TupleDesc	descriptor = RelationGetDescr(key->index);
	bool		is_pivot = sware_tuple_is_pivot(tuple);
	int			tuple_columns = is_pivot ? sware_tuple_count(tuple) :
		IndexRelationGetNumberOfKeyAttributes(key->index);
	int			columns = Min(key->columnCount, tuple_columns);
	bool		tuple_has_tid;
	ItemPointer tids;
	int			count;
	int			result;

	for (int i = 0; i < columns; i++)
	{
		bool		is_null;
		Datum		value = index_getattr(tuple, i + 1, descriptor, &is_null);

		result = sware_compare_column(&key->columns[i], value, is_null);
		if (result != 0)
			return result;
	}

	/* Columns or a TID that the tuple lacks count as minus infinity. */
	tuple_has_tid = !is_pivot || sware_pivot_has_tid(tuple);
	if (key->columnCount > tuple_columns || (key->hasTid && !tuple_has_tid))
		return 1;

	/* what the key lacks puts it before or behind all that are equal so far */
	if (key->columnCount < tuple_columns || (!key->hasTid && tuple_has_tid))
		return key->after ? 1 : -1;

	if (key->hasTid)
	{
		if (is_pivot)
		{
			tids = sware_pivot_tid(tuple);
			count = 1;
		}
		else
		{
			tids = sware_leaf_tuple_tids(tuple);
			count = sware_leaf_tuple_tid_count(tuple);
		}
		result = ItemPointerCompare(unconstify(ItemPointerData *, &key->tid),
									&tids[0]);
		if (result < 0)
			return -1;
		if (count > 1)
			result =
				ItemPointerCompare(unconstify(ItemPointerData *, &key->tid),
								   &tids[count - 1]);
		if (result > 0)
			return 1;
		if (count > 1 && result < 0)
			return 0;			/* within the range of a posting list */
	}

	if (key->after)
		return 1;
	return key->below ? -1 : 0;
}

/*
 * Compare a pivot with another one, or with a leaf tuple: not positive if the
 * tuple belongs to the right of it.
 */
int
sware_compare_pivot(Relation index, IndexTuple pivot, IndexTuple tuple)
{
	SwareSearchKey key;

	sware_search_key_from_tuple(&key, index, pivot);
	return sware_compare_key(&key, tuple);
}

/* Compare a column, from 1 on, of two leaf tuples. */
static inline int
compare_in_column(const SwareKeyColumn *how, TupleDesc descriptor, int number,
				  IndexTuple a, IndexTuple b)
{
	bool		null_a;
	bool		null_b;
	Datum		value_a = index_getattr(a, number, descriptor, &null_a);
	Datum		value_b = index_getattr(b, number, descriptor, &null_b);

	return compare_values(how, value_a, null_a, value_b, null_b);
}

/*
 * Compare the key columns of two leaf tuples, which may be marked as dead.  A
 * prepared search key tells how.
 */
int
sware_compare_keys_by(const SwareSearchKey *prepared, IndexTuple a,
					  IndexTuple b)
{
	TupleDesc	descriptor = RelationGetDescr(prepared->index);
	int			result = 0;

	for (int i = 0; i < prepared->columnCount && result == 0; i++)
		result = compare_in_column(&prepared->columns[i], descriptor, i + 1, a,
								   b);
	return result;
}

/*
 * Compare the key columns of two leaf tuples.  `column` gets the first one in
 * which they differ, or the number of key columns plus one.
 */
int
sware_compare_columns(Relation index, IndexTuple a, IndexTuple b, int *column)
{
	int			columns = IndexRelationGetNumberOfKeyAttributes(index);
	int			result = 0;

	for (*column = 1; *column <= columns; ++*column)
	{
		SwareKeyColumn how;

		sware_key_column_init(&how, index, *column);
		result = compare_in_column(&how, RelationGetDescr(index), *column, a,
								   b);
		if (result != 0)
			break;
	}
	return result;
}

/* Compare two leaf tuples by (key, first TID). */
int
sware_compare_entries(Relation index, IndexTuple a, IndexTuple b)
{
	int			column;
	int			result = sware_compare_columns(index, a, b, &column);

	return result != 0 ? result :
		ItemPointerCompare(sware_leaf_tuple_tids(a), sware_leaf_tuple_tids(b));
}

/*
 * Prepare a search by the numbers of the first column, whose values are of the
 * index's own type.  Returns false if the place has none.
 */
bool
sware_search_column_set(SwareSearchColumn *search, const SwareSearchKey *key)
{
	const SwareKeyColumn *given = &key->columns[0];

	if (key->columnCount == 0)
		return false;
	if (sware_has_abbreviations(given) &&
		given->collation == key->index->rd_indcollation[0])
	{
		search->column = *given;
		search->value = sware_abbreviate_value(given, given->value,
											   given->isNull);
		return true;
	}
	sware_key_column_init(&search->column, key->index, 1);
	return sware_abbreviate_other(&search->column, given, &search->value);
}

/* The abbreviation of a search's column, of any tuple of the tree. */
int64
sware_tuple_number(const SwareSearchKey *key, const SwareSearchColumn *search,
				   IndexTuple tuple)
{
	/* columns that a pivot does not keep count as minus infinity */
	if (unlikely(sware_tuple_is_pivot(tuple) && sware_tuple_count(tuple) == 0))
		return PG_INT64_MIN;
	return sware_abbreviate(&search->column, RelationGetDescr(key->index),
							tuple);
}

static inline IndexTuple
leaf_tuple_at(const void *source, int offset)
{
	return sware_page_tuple((Page) source, offset);
}

typedef struct PivotSource
{
	Relation	index;
	BlockNumber block;
	Page		page;
} PivotSource;

static inline IndexTuple
pivot_at(const void *source, int offset)
{
	const PivotSource *pivots = source;

	return sware_checked_pivot(pivots->index, pivots->block, pivots->page,
							   offset);
}

static inline IndexTuple
array_tuple_at(const void *source, int position)
{
	return ((const IndexTuple *) source)[position];
}

/*
 * The first of the tuples from..to-1 of an array, which are in order, that is
 * not before the place, or if `behind_equal`, that is behind it; `to` if there
 * is none.
 */
int
sware_search_array(const SwareSearchKey *key, const IndexTuple *tuples,
				   int from, int to, bool behind_equal)
{
	return sware_search(key, array_tuple_at, tuples, from, to, behind_equal);
}

/* The first of first..last that is not before the place; else last + 1. */
OffsetNumber
sware_search_leaf(const SwareSearchKey *key, Page page,
				  OffsetNumber first, OffsetNumber last)
{
	return sware_search(key, leaf_tuple_at, page, first, last + 1, false);
}

/*
 * The offset of the downlink to follow: the last whose pivot is not above
 * the place.  The page is locked, or a copy, and has at least one downlink.
 */
OffsetNumber
sware_search_internal(const SwareSearchKey *key, BlockNumber block, Page page)
{
	PivotSource source = {key->index, block, page};

	/* the first downlink is minus infinity and needs no comparison */
	return sware_search(key, pivot_at, &source, SWARE_FIRST_DATA + 1,
						PageGetMaxOffsetNumber(page) + 1, true) - 1;
}
