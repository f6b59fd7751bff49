/*-------------------------------------------------------------------------
 *
 * scankeys.h
 *	  What a scan's qualification means for the order of entries.
 *
 * A qualification is turned into *ranges* and *conditions*.  A range is an
 * interval of the order of entries, given by the place before its first
 * entry and the place behind its last one.  The ranges of a scan are
 * disjoint and numbered from 0 in index order; there is one for each
 * combination of array elements.  An entry qualifies if it lies in a range
 * and passes all conditions, so a scan that goes through the ranges in order
 * returns entries in order, and none twice.
 *
 * The leading columns with an equality (`=`, IS NULL or `= ANY`) are the
 * *prefix*.  Equalities on them and bounds on the next column make the
 * ranges; whatever else is asked becomes a condition.  Conditions on columns
 * behind that one let a cursor skip entries of a range (skip.c).
 *
 * A scan may be restricted to an *interval* of the order of entries, between
 * two places.  Then its ranges are those parts of the qualification's that lie
 * in the interval, numbered from 0 on again, so that a cursor goes through them
 * in the same way.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SCANKEYS_H
#define SWARE_SCANKEYS_H

#include "access/skey.h"
#include "access/stratnum.h"

#include "keys/searchkey.h"

/* the elements of an array, in index order, without nulls and duplicates */
typedef struct SwareElements
{
	int			count;
	Datum	   *values;
	SwareKeyColumn column;		/* compares index column with an element */
} SwareElements;

/* an array on a prefix column */
typedef struct SwareRangeArray
{
	int			column;			/* from 0 on */
	SwareElements elements;
} SwareRangeArray;

/* a condition that is tested on each entry of the ranges */
typedef struct SwareCondition
{
	ScanKey		key;
	SwareElements *elements;	/* if the key has an array */
	SwareComparison integers;	/* if values are compared as integers of this
								 * size, those from `least` to `most` pass;
								 * otherwise SWARE_COMPARE_FUNCTION */
	int64		least;
	int64		most;
} SwareCondition;

/* a comparison function across types, looked up once per scan */
typedef struct SwareCrossTypeFunction
{
	int			column;
	Oid			left;
	Oid			right;
	FmgrInfo	function;		/* all zero: there is none */
	struct SwareCrossTypeFunction *next;
} SwareCrossTypeFunction;

/* what a scan is restricted to, and its ranges without the restriction */
typedef struct SwareInterval
{
	int64		allRanges;		/* number of ranges of the qualification */
	int64		firstRange;		/* the number there of the range now 0 */
	bool		cutsFirst;		/* does the first range begin at `begin`? */
	bool		cutsLast;		/* does the last range end at `end`? */
	SwareSearchKey begin;		/* both point into the tuples of
								 * sware_scan_keys_restrict */
	SwareSearchKey end;
	SwareSearchKey low;			/* `low` and `high` of ranges that are not
								 * cut, except for the values of arrays */
	SwareSearchKey high;
} SwareInterval;

/* One end of the values that a column may have. */
typedef struct SwareSkipEnd
{
	bool		isGiven;		/* false: there is no such end */
	bool		isStrict;		/* is the value itself not allowed? */
	SwareKeyColumn column;		/* the value, or null */
} SwareSkipEnd;

/*
 * The values that a column may have if an entry is to qualify; perhaps also
 * others, since a column can have several conditions.
 */
typedef struct SwareSkipColumn
{
	SwareElements *elements;	/* one of these; or if NULL: */
	SwareSkipEnd ends[2];		/* the low one and the high one, in index
								 * order */
} SwareSkipColumn;

/* What scan keys have if scans of their ranges may skip. */
typedef struct SwareSkipKeys
{
	int			lastColumn;		/* the last one with a condition, from 0 on */
	SwareSearchKey from;		/* for comparing: the columns of the entry or
								 * pivot at which a cursor is */
	SwareSkipColumn columns[INDEX_MAX_KEYS];	/* those from the first column
												 * behind the prefix to
												 * lastColumn */
} SwareSkipKeys;

typedef struct SwareScanKeys
{
	Relation	index;
	MemoryContext scanContext;	/* lives as long as the scan */
	MemoryContext arrayContext; /* reset by each analysis; made when needed */
	SwareCrossTypeFunction *crossTypeFunctions;

	int64		rangeCount;		/* 0 if nothing can qualify */
	int64		range;			/* the current range: `low` and `high` are its
								 * ends */
	int			prefixColumns;	/* number of columns in the prefix */
	bool		hasOnlyEqualities;	/* are all keys `=`, with one value of the
									 * own type for each prefix column? */
	int			arrayCount;
	int			conditionCount;
	SwareCondition *conditions;

	SwareSkipKeys *skip;		/* NULL if no entries of a range are to be
								 * skipped */
	SwareSkipKeys *skipMemory;	/* memory for it; allocated when needed */
	SwareInterval *interval;	/* NULL if the scan is not restricted */
	SwareInterval *intervalMemory;	/* memory for it; allocated when needed */

	/* The large parts come last. */
	SwareSearchKey low;			/* no columns: the range has no lower end */
	SwareSearchKey high;		/* no columns: it has no upper end */
	SwareRangeArray arrays[INDEX_MAX_KEYS];
} SwareScanKeys;

extern void sware_scan_keys_init(SwareScanKeys *keys, Relation index,
								 int count);
extern void sware_scan_keys_analyze(SwareScanKeys *keys, ScanKey qualification,
									int count);
extern void sware_scan_keys_free(SwareScanKeys *keys);

extern void sware_scan_keys_restrict(SwareScanKeys *keys, IndexTuple begin,
									 IndexTuple end);
extern void sware_scan_keys_lift_restriction(SwareScanKeys *keys);
extern void sware_scan_keys_set_range(SwareScanKeys *keys, int64 range);
extern int64 sware_scan_keys_next_range(SwareScanKeys *keys, int64 from,
										IndexTuple tuple, bool forward);
extern bool sware_condition_passes(SwareCondition *condition, Datum value,
								   bool is_null);

/* Does a key say that a column, from 0 on, equals a value of its own type? */
static inline bool
sware_is_own_equality(Relation index, const ScanKeyData *key, int column)
{
	return key->sk_flags == 0 && key->sk_attno == column + 1 &&
		key->sk_strategy == BTEqualStrategyNumber &&
		(!OidIsValid(key->sk_subtype) ||
		 key->sk_subtype == index->rd_opcintype[column]);
}

/* Is there one range, and has it equal keys only?  These may have nulls. */
static inline bool
sware_scan_keys_are_one_key(const SwareScanKeys *keys)
{
	int			columns = IndexRelationGetNumberOfKeyAttributes(keys->index);

	return keys->rangeCount == 1 && keys->prefixColumns == columns &&
		keys->interval == NULL && keys->low.columnCount == columns;
}

/*
 * Does the interval of a restricted scan cut the current range, at its lower
 * end or at its upper one?
 */
static inline bool
sware_range_is_cut(const SwareScanKeys *keys, bool at_low)
{
	return at_low ? keys->interval->cutsFirst && keys->range == 0 :
		keys->interval->cutsLast && keys->range == keys->rangeCount - 1;
}

/*
 * Does an entry of a range satisfy all conditions?  Calls operators'
 * functions, so no lightweight lock may be held.
 */
static inline bool
sware_scan_keys_satisfy(SwareScanKeys *keys, IndexTuple tuple)
{
	TupleDesc	descriptor = RelationGetDescr(keys->index);

	for (int i = 0; i < keys->conditionCount; i++)
	{
		SwareCondition *condition = &keys->conditions[i];
		bool		is_null;
		Datum		value = index_getattr(tuple, condition->key->sk_attno,
										  descriptor, &is_null);

		if (sware_is_integer(condition->integers))
		{
			int64		number;

			if (is_null)
				return false;
			number = sware_integer_value(condition->integers, value);
			if (number < condition->least || number > condition->most)
				return false;
		}
		else if (!sware_condition_passes(condition, value, is_null))
			return false;
	}
	return true;
}

/* Where can the next qualifying entry of a range be? */
typedef enum SwareSkip
{
	SWARE_SKIP_NONE,			/* there is no other one */
	SWARE_SKIP_HERE,			/* at the place where the cursor is */
	SWARE_SKIP_AHEAD			/* not before another place */
} SwareSkip;

/*
 * Find the first place in a direction at which a qualifying entry of the
 * current range can be, from an entry or pivot on that lies in the range, and
 * set `place` to it if it lies ahead.  The place points into the tuple, and
 * into the scan keys; nothing is allocated.  Calls comparators.  The caller may
 * hold a content lock, as for other comparisons with a page's tuples.
 */
extern SwareSkip sware_skip_from_tuple(SwareScanKeys *keys, IndexTuple tuple,
									   bool forward, SwareSearchKey *place);

/*
 * Set *place to the first place in a direction at which a qualifying entry of
 * the current range can be, from such a tuple on or, if it is NULL, from where
 * the range begins.  That is an end of the range, or it is in `memory`.
 */
extern SwareSkip sware_first_place(SwareScanKeys *keys, IndexTuple tuple,
								   bool forward, SwareSearchKey *memory,
								   SwareSearchKey **place);

/*
 * What follows is for the files of this room.  Columns are counted from 0 on.
 * Functions that compare call those of the operator class; memory is the
 * scan's.
 */
#define KEY_IS_NULL(key)		(((key)->sk_flags & SK_SEARCHNULL) != 0)
#define KEY_IS_NOT_NULL(key)	(((key)->sk_flags & SK_SEARCHNOTNULL) != 0)
#define KEY_IS_ARRAY(key)		(((key)->sk_flags & SK_SEARCHARRAY) != 0)
#define KEY_IS_OPERATOR(key)                                                  \
	(((key)->sk_flags &                                                       \
	  (SK_SEARCHNULL | SK_SEARCHNOTNULL | SK_SEARCHARRAY)) == 0)

/* The type of a key's argument, or of its elements if that is an array. */
static inline Oid
sware_argument_type(const SwareScanKeys *keys, ScanKey key)
{
	return OidIsValid(key->sk_subtype) ? key->sk_subtype :
		keys->index->rd_opcintype[key->sk_attno - 1];
}

extern FmgrInfo *sware_find_scan_function(SwareScanKeys *keys, int column,
										  Oid left, Oid right);
extern bool sware_is_comparable(SwareScanKeys *keys, ScanKey key);
extern void sware_init_scan_column(SwareScanKeys *keys, SwareKeyColumn *result,
								   int column, Oid left, Oid right,
								   Oid collation);
extern void sware_make_scan_column(SwareScanKeys *keys, SwareKeyColumn *result,
								   int column, ScanKey key);
extern SwareElements *sware_get_elements(SwareScanKeys *keys, ScanKey key);
extern int	sware_find_element(const SwareElements *elements, Datum value,
							   bool is_null, bool behind, bool *equal);
extern bool sware_reduce_to_extreme(SwareScanKeys *keys, ScanKey key);
extern void sware_compare_as_integers(SwareScanKeys *keys,
									  SwareCondition *condition);

#endif							/* SWARE_SCANKEYS_H */
