/*-------------------------------------------------------------------------
 *
 * scankeys.h
 *	  What a scan's qualification means for the order of entries.
 *
 * A qualification is turned into a *range* and *conditions*.  The range is a
 * part of the order of entries, given by the place before its first entry and
 * the place behind its last one.  An entry qualifies if it lies in the range
 * and passes all conditions.
 *
 * The leading columns with an equality (`=`, IS NULL or `= ANY`) and bounds on
 * the next column make *stretches* of the range: there is one for each
 * combination of array elements, and none of its entries has to be tested
 * whether it belongs there.  Without arrays the range is a single stretch.
 * Whatever else is asked has to be tested on each entry.  The next stretch, or
 * the next place in a stretch at which an entry can qualify, is found from an
 * entry that does not (skip.c); so a scan goes through its range in order.  The
 * leading columns that have one value each in the whole range are the *prefix*.
 *
 * A scan may be restricted to an *interval* of the order of entries, between
 * two places.  Then its range is that part of the qualification's that lies in
 * the interval.
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

/* a condition that is tested on entries of the range */
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

/* How a scan is restricted, and its range without the restriction. */
typedef struct SwareInterval
{
	bool		cutsLow;		/* does the interval begin in the range? */
	bool		cutsHigh;		/* does it end there? */
	SwareSearchKey low;
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

/* What scan keys have if scans of their range may skip. */
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

	bool		isEmpty;		/* can nothing qualify? */
	bool		hasOnlyEqualities;	/* are all keys `=`, with one value of the
									 * own type for each prefix column? */
	int			prefixColumns;	/* number of columns in the prefix */
	int			stretchColumns; /* this number of the first columns have one
								 * value each in a stretch */
	int			stretchConditions;	/* this number of the first conditions say
									 * which entries are in stretches */
	int			conditionCount;
	SwareCondition *conditions;

	SwareSkipKeys *skip;		/* NULL if no entries of the range are to be
								 * skipped */
	SwareSkipKeys *skipMemory;	/* memory for it; allocated when needed */
	SwareInterval *interval;	/* NULL if the scan is not restricted */
	SwareInterval *intervalMemory;	/* memory for it; allocated when needed */

	/* The large parts come last. */
	SwareSearchKey low;			/* no columns: the range has no lower end */
	SwareSearchKey high;		/* no columns: it has no upper end */
} SwareScanKeys;

extern void sware_scan_keys_init(SwareScanKeys *keys, Relation index,
								 int count);
extern void sware_scan_keys_analyze(SwareScanKeys *keys, ScanKey qualification,
									int count);
extern void sware_scan_keys_free(SwareScanKeys *keys);

extern void sware_scan_keys_restrict(SwareScanKeys *keys, IndexTuple begin,
									 IndexTuple end);
extern void sware_scan_keys_lift_restriction(SwareScanKeys *keys);
extern bool sware_scan_keys_go_beyond(const SwareScanKeys *keys,
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

/* Has the range equal keys only?  These may have nulls. */
static inline bool
sware_scan_keys_are_one_key(const SwareScanKeys *keys)
{
	int			columns = IndexRelationGetNumberOfKeyAttributes(keys->index);

	return keys->prefixColumns == columns && keys->interval == NULL;
}

/* May the range have several stretches? */
static inline bool
sware_scan_keys_have_stretches(const SwareScanKeys *keys)
{
	return keys->stretchConditions > 0;
}

/*
 * Does an entry of the range satisfy all conditions from this one on?  Calls
 * operators' functions, so no lightweight lock may be held.
 */
static inline bool
sware_scan_keys_satisfy(SwareScanKeys *keys, IndexTuple tuple, int from)
{
	TupleDesc	descriptor = RelationGetDescr(keys->index);

	for (int i = from; i < keys->conditionCount; i++)
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

/* Where can the next qualifying entry of the range be? */
typedef enum SwareSkip
{
	SWARE_SKIP_NONE,			/* there is no other one */
	SWARE_SKIP_HERE,			/* at the place where the cursor is */
	SWARE_SKIP_AHEAD			/* not before another place */
} SwareSkip;

/*
 * Find the first place in a direction at which a qualifying entry of the range
 * can be, from an entry or pivot on that lies in the range, and set `place` to
 * it if it lies ahead.  The place points into the tuple, and into the scan
 * keys; nothing is allocated.  Calls comparators.  The caller may hold a
 * content lock, as for other comparisons with a page's tuples.
 */
extern SwareSkip sware_skip_from_tuple(SwareScanKeys *keys, IndexTuple tuple,
									   bool forward, SwareSearchKey *place);

/*
 * The same for stretches, if keys have some: an entry that is here is in a
 * stretch.  Then `place` is set to where that ends in the direction, unless an
 * interval ends before.  A pivot that lacks columns may be before a stretch.
 */
extern SwareSkip sware_find_stretch(SwareScanKeys *keys, IndexTuple tuple,
									bool forward, SwareSearchKey *place);

/*
 * Set *place to the first place in a direction at which a qualifying entry of
 * the range can be, from such a tuple on or, if it is NULL, from where the
 * range begins.  That is an end of the range, or it is in `memory`.
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
