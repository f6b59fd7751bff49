/*-------------------------------------------------------------------------
 *
 * predicatelocks.c
 *	  Predicate locks: what serializable scans lock, and inserts check.  See
 *	  predicatelocks.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/predicate.h"

#include "base/faultpoint.h"
#include "keys/abbreviation.h"
#include "keys/fingerprint.h"
#include "keys/searchkey.h"
#include "locks/predicatelocks.h"

#define SCALE_BITS			64

/* one marker is for points, and each other one for granules of 16 levels */
#define POINT_MARKER		((BlockNumber) 0)
#define GRANULE_MARKER		((BlockNumber) 1)	/* the first of them */
#define LEVELS_PER_MARKER	16
#define GRANULE_MARKERS		(SCALE_BITS / LEVELS_PER_MARKER)

/*
 * The number of a point or granule is one of these bits and a hash.  None of
 * them is a marker or InvalidBlockNumber.
 */
#define POINT_BIT			((BlockNumber) 0x40000000)
#define GRANULE_BIT			((BlockNumber) 0x80000000)
#define HASH_MASK			((BlockNumber) 0x3FFFFFFF)

/*
 * A transaction that has more locks on pages of an index than
 * max_pred_locks_per_relation gets one on all of it, by default with 33.
 */
#define MAX_POINTS			16
#define MAX_GRANULES		20

/* a bounded range is covered up to this part of its size: 1/256 */
#define END_PRECISION_BITS	8

/* the granules that cover a range */
typedef struct GranuleSet
{
	bool		hasLevel[GRANULE_MARKERS];	/* by marker: is one of its
											 * levels? */
	int			count;			/* may be too many */
	BlockNumber blocks[MAX_GRANULES];
} GranuleSet;

/*
 * Returns the place of a number on the scale.  Larger numbers have the same
 * place or a higher one.
 *
 * The scale is that of a floating-point number with a fraction of 57 bits, so
 * its places stand for more and more numbers, the further these are from zero.
 * So a range that is open on one side, too, is covered well by few granules.
 */
static uint64
scale(int64 number)
{
	int			length;
	uint64		fraction;

	if (number < 0)
		return ~scale(~number);
	if (number == 0)
		return UINT64CONST(1) << 63;
	length = pg_leftmost_one_pos64(number) + 1;
	fraction = (uint64) number << (64 - length) << 1;	/* no first bit */
	return UINT64CONST(1) << 63 | (uint64) length << 57 | fraction >> 7;
}

/* the page number of the granule of a level with a number, counted from 0 */
static BlockNumber
granule_block(uint64 number, int level)
{
	uint64		hash = sware_mix(sware_mix(number) + level);

	return GRANULE_BIT | ((BlockNumber) hash & HASH_MASK);
}

/* the page number of the point of a hash */
static BlockNumber
point_block(uint64 hash)
{
	return POINT_BIT | ((BlockNumber) sware_mix(hash) & HASH_MASK);
}

/*
 * Set *block to the point of a value that a scan asks for, `own`, which may be
 * of another type than `column`, the first column of the index.  Returns false
 * if it has no point, or not the one that an insert of an equal value checks.
 */
static bool
point_of(Relation index, const SwareKeyColumn *column,
		 const SwareKeyColumn *own, BlockNumber *block)
{
	int64		number;
	FmgrInfo   *function;

	if (own->isNull)
	{
		/* the point of null, which may be some value's, too */
		*block = point_block(UINT64CONST(0x6E756C6C));
		return true;
	}
	if (sware_is_integer(column->comparison))
	{
		if (!sware_abbreviate_other(column, own, &number))
			return false;
		*block = point_block(number);
		return true;
	}

	/* another type's hash function may give equal values other hashes */
	function = sware_hash_function(index, 0);
	if (function == NULL ||
		own->function != index_getprocinfo(index, 1, BTORDER_PROC))
		return false;
	*block = point_block(sware_hash_value(index, 0, function, own->value));
	return true;
}

/*
 * Lock the points of a scan with an equality on the first column.  Returns
 * false, with nothing locked, if there are too many values, or if one has no
 * point.
 */
static bool
lock_points(IndexScanDesc scan, SwareScanKeys *keys,
			const SwareKeyColumn *column)
{
	Relation	index = scan->indexRelation;
	BlockNumber blocks[MAX_POINTS];
	int			count = 1;

	if (keys->prefixColumns == 0)
	{
		/* where an array makes stretches, there are skip keys */
		const SwareElements *elements = keys->skip->columns[0].elements;
		SwareKeyColumn own = elements->column;

		if (elements->count > MAX_POINTS)
			return false;
		count = elements->count;
		for (int i = 0; i < count; i++)
		{
			own.value = elements->values[i];
			own.isNull = false;
			if (!point_of(index, column, &own, &blocks[i]))
				return false;
		}
	}
	else if (!point_of(index, column, &keys->low.columns[0], &blocks[0]))
		return false;

	PredicateLockPage(index, POINT_MARKER, scan->xs_snapshot);
	for (int i = 0; i < count; i++)
		PredicateLockPage(index, blocks[i], scan->xs_snapshot);
	return true;
}

static void
add_granule(GranuleSet *set, uint64 number, int level)
{
	if (set->count < MAX_GRANULES)
		set->blocks[set->count] = granule_block(number, level);
	set->hasLevel[level / LEVELS_PER_MARKER] = true;
	set->count++;
}

/*
 * Cover the places from `first` to `last` by granules, none of them of a level
 * below this one; so they may cover some places beyond the ends, too.  Returns
 * false if they are too many.
 */
static bool
cover(GranuleSet *set, uint64 first, uint64 last, int level)
{
	memset(set, 0, sizeof(GranuleSet));

	/* these are numbers of granules of the level */
	first >>= level;
	last >>= level;
	for (; first < last && level < SCALE_BITS - 1; level++)
	{
		/* the next level has one for each two that begin at an even number */
		if (first % 2 == 1)
			add_granule(set, first++, level);
		if (last % 2 == 0)
			add_granule(set, last--, level);
		first /= 2;
		last /= 2;
	}
	if (first <= last)
		add_granule(set, first, level);
	if (first < last)
		add_granule(set, last, level);
	return set->count <= MAX_GRANULES;
}

/*
 * Lock granules that cover the range of a scan with bounds on the first
 * column.  Returns false, with nothing locked, if there are no bounds, or if
 * they are no integers.
 *
 * A range with bounds holds no nulls.  So if null is one end of the range,
 * there is no bound on that side.
 */
static bool
lock_granules(IndexScanDesc scan, SwareScanKeys *keys,
			  const SwareKeyColumn *column)
{
	Relation	index = scan->indexRelation;
	const SwareSearchKey *low = &keys->low;
	const SwareSearchKey *high = &keys->high;
	bool		has_low = low->columnCount > 0 && !low->columns[0].isNull;
	bool		has_high = high->columnCount > 0 && !high->columns[0].isNull;
	int64		first = PG_INT64_MIN;
	int64		last = PG_INT64_MAX;
	uint64		first_place;
	uint64		last_place = PG_UINT64_MAX;
	int			level = 0;
	GranuleSet	set;

	if (!sware_is_integer(column->comparison) || (!has_low && !has_high))
		return false;
	if (has_low)
	{
		if (!sware_abbreviate_end(column, low, &first))
			return false;
		if (low->after && first++ == PG_INT64_MAX)
			return true;
	}
	if (has_high)
	{
		if (!sware_abbreviate_end(column, high, &last))
			return false;
		if (!high->after && last-- == PG_INT64_MIN)
			return true;
	}
	if (first > last)
		return true;			/* nothing can be inserted there */

	first_place = scale(first);
	if (last < PG_INT64_MAX)
	{
		uint64		next_place = scale(last + 1);

		/* include all places of a small number; large numbers share one */
		last_place = scale(last);
		if (next_place > last_place)
			last_place = next_place - 1;
	}

	/* an open end takes one granule; the other one may have all others */
	if (first_place != 0 && last_place != PG_UINT64_MAX)
		level = pg_leftmost_one_pos64((last_place - first_place) | 1) -
			END_PRECISION_BITS;
	level = Max(level, 0);
	while (!cover(&set, first_place, last_place, level))
		level++;
	for (int i = 0; i < GRANULE_MARKERS; i++)
	{
		if (set.hasLevel[i])
			PredicateLockPage(index, GRANULE_MARKER + i, scan->xs_snapshot);
	}
	for (int i = 0; i < set.count; i++)
		PredicateLockPage(index, set.blocks[i], scan->xs_snapshot);
	return true;
}

void
sware_lock_predicates(IndexScanDesc scan, SwareScanKeys *keys)
{
	SwareKeyColumn column;

	if (likely(!IsolationIsSerializable()))
		return;

	/* scans that rebuild tables, or look at statistics, need no locks */
	if (scan->xs_snapshot == NULL || !IsMVCCSnapshot(scan->xs_snapshot))
		return;
	if (keys->isEmpty)
		return;					/* no entry can ever qualify */

	sware_key_column_init(&column, scan->indexRelation, 1);
	if (keys->stretchColumns > 0 ? lock_points(scan, keys, &column) :
		lock_granules(scan, keys, &column))
		return;
	PredicateLockRelation(scan->indexRelation, scan->xs_snapshot);
}

/* Check for other transactions' locks on a page number. */
static void
check_block(Relation index, BlockNumber block)
{
	if (PageIsPredicateLocked(index, block))
		CheckForSerializableConflictIn(index, NULL, block);
}

/*
 * Check for locks on the points of entries' first columns; for an entry that
 * has none, on the marker of points.
 */
static void
check_points(Relation index, const SwareKeyColumn *column, IndexTuple *entries,
			 int64 count)
{
	BlockNumber previous = InvalidBlockNumber;

	for (int64 i = 0; i < count; i++)
	{
		SwareKeyColumn own = *column;
		BlockNumber block;

		CHECK_FOR_INTERRUPTS();
		own.value = index_getattr(entries[i], 1, RelationGetDescr(index),
								  &own.isNull);
		if (!point_of(index, column, &own, &block))
			block = POINT_MARKER;
		if (block != previous)
			check_block(index, block);
		previous = block;
	}
}

/*
 * Check for locks on the granules that entries lie in, if granules of their
 * level have locks.  Granules that an entry shares with the entry before it
 * have been checked.
 */
static void
check_granules(Relation index, const SwareKeyColumn *column,
			   const bool *has_locks, IndexTuple *entries, int64 count)
{
	TupleDesc	descriptor = RelationGetDescr(index);
	uint64		previous = 0;
	bool		is_first = true;

	for (int64 i = 0; i < count; i++)
	{
		bool		is_null;
		Datum		value = index_getattr(entries[i], 1, descriptor, &is_null);
		uint64		place;

		CHECK_FOR_INTERRUPTS();
		if (is_null)
			continue;
		place = scale(sware_abbreviate_value(column, value, false));
		for (int level = 0; level < SCALE_BITS; level++)
		{
			if (!is_first && (place ^ previous) >> level == 0)
				break;
			if (has_locks[level / LEVELS_PER_MARKER])
				check_block(index, granule_block(place >> level, level));
		}
		previous = place;
		is_first = false;
	}
}

void
sware_check_conflicts(Relation index, IndexTuple *entries, int64 count)
{
	SwareKeyColumn column;
	bool		has_locks[GRANULE_MARKERS];
	bool		any = false;

	if (likely(!IsolationIsSerializable()))
		return;

	sware_key_column_init(&column, index, 1);
	if (PageIsPredicateLocked(index, POINT_MARKER))
		check_points(index, &column, entries, count);
	SWARE_FAULT_POINT("conflicts-points");
	for (int i = 0; i < GRANULE_MARKERS; i++)
	{
		has_locks[i] = sware_is_integer(column.comparison) &&
			PageIsPredicateLocked(index, GRANULE_MARKER + i);
		any |= has_locks[i];
	}
	if (any)
		check_granules(index, &column, has_locks, entries, count);

	/*
	 * The whole index must be checked last: a scan that has too many locks on
	 * pages gets a lock on the index first, and then gives up the others.
	 */
	CheckForSerializableConflictIn(index, NULL, InvalidBlockNumber);
}
