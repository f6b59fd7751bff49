/*-------------------------------------------------------------------------
 *
 * searchkey.h
 *	  Search keys: places in the order of entries, and comparisons with them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SEARCHKEY_H
#define SWARE_SEARCHKEY_H

#include "access/itup.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "storage/bufpage.h"
#include "utils/rel.h"
#include "utils/uuid.h"

#include "base/compat.h"
#include "layout/tuple.h"

/*
 * How a column's values are compared.  All but the first have abbreviations
 * (abbreviation.h).  Those of integers tell all about the value, the others may
 * be those of several values.
 */
typedef enum SwareComparison
{
	SWARE_COMPARE_FUNCTION,		/* through fmgr */
	SWARE_COMPARE_NUMERIC,		/* through fmgr */
	SWARE_COMPARE_FLOAT4,		/* through fmgr */
	SWARE_COMPARE_FLOAT8,		/* through fmgr */
	SWARE_COMPARE_BYTES,		/* a varlena, byte by byte */
	SWARE_COMPARE_UUID,
	SWARE_COMPARE_INT16,		/* integers from here on */
	SWARE_COMPARE_INT32,
	SWARE_COMPARE_INT64
} SwareComparison;

typedef struct SwareKeyColumn
{
	Datum		value;
	bool		isNull;
	bool		descending;
	bool		nullsFirst;
	SwareComparison comparison;
	FmgrInfo   *function;		/* compares index column value (left) with
								 * `value` (right): support function 1,
								 * perhaps cross-type */
	Oid			collation;
} SwareKeyColumn;

/*
 * A place in the order of entries, given by the first columns of a key and
 * perhaps a TID.  What is not given makes it lie before all entries that are
 * equal in what is given, or behind them all if `after` is set.
 *
 * `below` moves the place just below where it would be: a descent then ends
 * left of a pivot that equals it, not right of it.
 */
typedef struct SwareSearchKey
{
	Relation	index;
	int			columnCount;
	bool		hasTid;			/* only if all key columns are given */
	bool		after;
	bool		below;
	ItemPointerData tid;
	SwareKeyColumn columns[INDEX_MAX_KEYS];
} SwareSearchKey;

extern void sware_key_column_init(SwareKeyColumn *column, Relation index,
								  int number);
extern int	sware_compare_column(const SwareKeyColumn *column, Datum value,
								 bool is_null);
extern void sware_search_key_init(SwareSearchKey *key, Relation index);
extern void sware_search_key_set_column(SwareSearchKey *key, int column,
										Datum value, bool isNull);
extern void sware_search_key_prepare(SwareSearchKey *key, Relation index);
extern void sware_search_key_set_entry(SwareSearchKey *key, IndexTuple entry);
extern void sware_search_key_from_tuple(SwareSearchKey *key, Relation index,
										IndexTuple tuple);
extern SwareComparison sware_comparison_kind(const FmgrInfo *function,
											 Oid collation);
extern int	sware_compare_key(const SwareSearchKey *key, IndexTuple tuple);
extern int	sware_compare_pivot(Relation index, IndexTuple pivot,
								IndexTuple tuple);
extern int	sware_compare_keys_by(const SwareSearchKey *prepared,
								  IndexTuple a, IndexTuple b);
extern int	sware_compare_columns(Relation index, IndexTuple a, IndexTuple b,
								  int *column);
extern int	sware_compare_entries(Relation index, IndexTuple a, IndexTuple b);
extern int	sware_search_array(const SwareSearchKey *key,
							   const IndexTuple *tuples, int from, int to,
							   bool behind_equal);
extern OffsetNumber sware_search_leaf(const SwareSearchKey *key, Page page,
									  OffsetNumber first, OffsetNumber last);
extern OffsetNumber sware_search_internal(const SwareSearchKey *key,
										  BlockNumber block, Page page);

/* Copy a search key.  Only the columns that it has are copied. */
static inline void
sware_copy_search_key(SwareSearchKey *to, const SwareSearchKey *from)
{
	memcpy(to, from, offsetof(SwareSearchKey, columns) +
		   from->columnCount * sizeof(SwareKeyColumn));
}

/* Are values compared as integers, without calling a function? */
static inline bool
sware_is_integer(SwareComparison comparison)
{
	return comparison >= SWARE_COMPARE_INT16;
}

/* The number of a value that is compared as an integer. */
static inline int64
sware_integer_value(SwareComparison comparison, Datum value)
{
	switch (comparison)
	{
		case SWARE_COMPARE_INT16:
			return DatumGetInt16(value);
		case SWARE_COMPARE_INT32:
			return DatumGetInt32(value);
		default:
			return DatumGetInt64(value);
	}
}

/*
 * Set a value that is compared as an integer to a number.  Returns false, with
 * the value unchanged, if it has no room for that; also if that would take
 * memory.
 */
static inline bool
sware_set_integer(SwareComparison comparison, int64 number, Datum *value)
{
	int64		most = comparison == SWARE_COMPARE_INT16 ? PG_INT16_MAX :
		comparison == SWARE_COMPARE_INT32 ? PG_INT32_MAX : PG_INT64_MAX;

	if (number > most || number < -most - 1 ||
		(most == PG_INT64_MAX && sizeof(Datum) < sizeof(int64)))
		return false;
	*value = comparison == SWARE_COMPARE_INT16 ? Int16GetDatum(number) :
		comparison == SWARE_COMPARE_INT32 ? Int32GetDatum(number) :
		Int64GetDatum(number);
	return true;
}

/* How are values of a type compared, if it is one of the integer types? */
static inline SwareComparison
sware_comparison_of_integers(Oid type)
{
	return type == INT2OID ? SWARE_COMPARE_INT16 :
		type == INT4OID ? SWARE_COMPARE_INT32 :
		type == INT8OID ? SWARE_COMPARE_INT64 : SWARE_COMPARE_FUNCTION;
}

/* Are values compared by their bytes alone? */
static inline bool
sware_is_bytes(SwareComparison comparison)
{
	return comparison == SWARE_COMPARE_BYTES ||
		comparison == SWARE_COMPARE_UUID;
}

/* The bytes of a uuid or a varlena. */
typedef struct SwareBytes
{
	const char *data;			/* NULL: compressed or stored elsewhere */
	Size		size;
} SwareBytes;

static inline SwareBytes
sware_bytes_of(SwareComparison comparison, Datum value)
{
	const struct varlena *varlena =
		(const struct varlena *) DatumGetPointer(value);
	SwareBytes	bytes = {NULL, 0};

	if (comparison == SWARE_COMPARE_UUID)
	{
		bytes.data = DatumGetPointer(value);
		bytes.size = UUID_LEN;
	}
	else if (likely(!VARATT_IS_COMPRESSED(varlena) &&
					!VARATT_IS_EXTERNAL(varlena)))
	{
		bytes.data = VARDATA_ANY(varlena);
		bytes.size = VARSIZE_ANY_EXHDR(varlena);
	}
	return bytes;
}

/*
 * Are two entries, which are no posting lists, equal?  Calls comparators if
 * their TIDs are equal.
 */
static inline bool
sware_entries_are_equal(Relation index, IndexTuple a, IndexTuple b)
{
	int			column;

	return ItemPointerEquals(&a->t_tid, &b->t_tid) &&
		sware_compare_columns(index, a, b, &column) == 0;
}

#endif							/* SWARE_SEARCHKEY_H */
