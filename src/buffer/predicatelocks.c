/*-------------------------------------------------------------------------
 *
 * predicatelocks.c
 *	  What serializable scans lock, and inserts check.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/predicate.h"

#include "buffer/abbreviation.h"
#include "buffer/bloomfilter.h"
#include "buffer/hashfunction.h"
#include "buffer/predicatelocks.h"
#include "faultpoint.h"

#define SCALE_BITS			64

/* one marker for points, and one for granules of so many successive levels */
#define POINT_MARKER		((BlockNumber) 0)
#define LEVELS_PER_MARKER	16
#define GRANULE_MARKERS		(SCALE_BITS / LEVELS_PER_MARKER)

/* the rest of such a page number is a hash; none is InvalidBlockNumber */
#define POINT_BIT			((BlockNumber) 0x40000000)
#define GRANULE_BIT			((BlockNumber) 0x80000000)
#define HASH_MASK			((BlockNumber) 0x3FFFFFFF)

/*
 * A transaction that has more locks on pages of an index than
 * max_pred_locks_per_relation gets one on all of it, by default with 33.
 */
#define MAX_POINTS			16
#define MAX_GRANULES		20

/* granules at the ends of a bounded range are so much smaller than the range */
#define END_PRECISION_BITS	8

typedef struct GranuleSet
{
	int			count;
	uint64		places[MAX_GRANULES];	/* their first ones */
	int			levels[MAX_GRANULES];
} GranuleSet;

/*
 * The place of a number on the scale.  A larger number has none further down.
 *
 * A place is as precise as a floating-point number of 57 bits, so that ranges
 * that are open on one side, too, are covered by few granules: a granule on
 * the way from the other end to infinity is as large as the number is far
 * from zero.
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
	fraction = (uint64) number << (64 - length) << 1;	/* without the first bit */
	return UINT64CONST(1) << 63 | (uint64) length << 57 | fraction >> 7;
}

static BlockNumber
granule_block(uint64 place, int level)
{
	uint64		hash = sware_filter_mix(sware_filter_mix(place >> level) + level);

	return GRANULE_BIT | ((BlockNumber) hash & HASH_MASK);
}

static BlockNumber
granule_marker(int level)
{
	return POINT_MARKER + 1 + level / LEVELS_PER_MARKER;
}

static BlockNumber
point_block(uint64 hash)
{
	return POINT_BIT | ((BlockNumber) sware_filter_mix(hash) & HASH_MASK);
}

/* no hash of a value can be said not to be this one; that does no harm */
static BlockNumber
null_block(void)
{
	return point_block(UINT64CONST(0x6E756C6C));
}

/*
 * The point of a value asked for, which is `own`; of the order of `column`,
 * the index's first.  False if it has none that an insert would look for.
 */
static bool
point_of(Relation index, const SwareKeyColumn *column, const SwareKeyColumn *own,
		 BlockNumber *block)
{
	int64		number;
	FmgrInfo   *function;

	if (own->isNull)
	{
		*block = null_block();
		return true;
	}
	if (sware_has_abbreviations(column))
	{
		if (!sware_abbreviate_other(column, own, &number))
			return false;
		*block = point_block(number);
		return true;
	}

	/* another type's values may be hashed in another way, or be none of ours */
	function = sware_hash_function(index, 0);
	if (function == NULL || own->function != index_getprocinfo(index, 1, BTORDER_PROC))
		return false;
	*block = point_block(sware_hash_value(index, 0, function, own->value));
	return true;
}

/*
 * Lock the points of a scan with an equality on the first column.  False, with
 * nothing locked, if there are too many, or one has no point.
 */
static bool
lock_points(IndexScanDesc scan, SwareScanKeys *keys, const SwareKeyColumn *column)
{
	Relation	index = scan->indexRelation;
	BlockNumber blocks[MAX_POINTS];
	int			count = 1;

	/* the first column's array is the first, if it has one */
	if (keys->arrayCount > 0 && keys->arrays[0].column == 0)
	{
		SwareElements *elements = &keys->arrays[0].elements;
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
add_granule(GranuleSet *set, uint64 place, int level)
{
	Assert(set->count < MAX_GRANULES);
	set->places[set->count] = place >> level << level;
	set->levels[set->count++] = level;
}

/*
 * Add granules that cover the places from `end` on to the last one, or from
 * the first one to `end`, of a granule.  At most so many, and none below a level.
 */
static void
cover_end(GranuleSet *set, uint64 end, bool is_upper, int level, int count, int least_level)
{
	while (level > least_level)
	{
		uint64		inside = is_upper ? end : ~end;
		uint64		half = UINT64CONST(1) << (level - 1);

		/* is all of it wanted? */
		if ((inside & (half | (half - 1))) == (half | (half - 1)))
			break;
		if (inside & half)
		{
			/* the end is in the farther half; the nearer one is wanted */
			if (count == 1)
				break;
			add_granule(set, is_upper ? end & ~half : end | half, level - 1);
			count--;
		}
		level--;
	}
	add_granule(set, end, level);
}

/* Cover the places from `first` to `last`, which is not before it. */
static void
cover(GranuleSet *set, uint64 first, uint64 last)
{
	uint64		differing = first ^ last;
	bool		is_bounded = first != 0 && last != PG_UINT64_MAX;
	int			level;
	int			least_level = 0;

	set->count = 0;
	if (differing == 0)
	{
		add_granule(set, first, 0);
		return;
	}

	/* the ends are in different halves of a granule of one more level */
	level = pg_leftmost_one_pos64(differing);
	if (is_bounded)
	{
		least_level = pg_leftmost_one_pos64(last - first) - END_PRECISION_BITS;
		least_level = Max(least_level, 0);
	}

	/* an open end needs one granule */
	cover_end(set, last, true, level, is_bounded ? MAX_GRANULES / 2 : MAX_GRANULES - 1,
			  least_level);
	cover_end(set, first, false, level, is_bounded ? MAX_GRANULES / 2 :
			  MAX_GRANULES - set->count, least_level);
}

/*
 * Lock granules that cover the range of a scan whose first column has
 * abbreviations and bounds.  False, with nothing locked, if that is not so.
 *
 * Such a range holds no nulls, so the place of a null as an end means that
 * there is no bound on this side.
 */
static bool
lock_granules(IndexScanDesc scan, SwareScanKeys *keys, const SwareKeyColumn *column)
{
	Relation	index = scan->indexRelation;
	const SwareSearchKey *low = &keys->low;
	const SwareSearchKey *high = &keys->high;
	bool		has_low = low->columnCount > 0 && !low->columns[0].isNull;
	bool		has_high = high->columnCount > 0 && !high->columns[0].isNull;
	int64		first = PG_INT64_MIN;
	int64		last = PG_INT64_MAX;
	uint64		last_place = PG_UINT64_MAX;
	GranuleSet	set;

	if (!has_low && !has_high)
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

	if (last < PG_INT64_MAX)
	{
		uint64		next_place = scale(last + 1);

		/* a small number has many places of its own, a large one shares one */
		last_place = scale(last);
		if (next_place > last_place)
			last_place = next_place - 1;
	}
	cover(&set, scale(first), last_place);
	for (int i = 0; i < set.count; i++)
		PredicateLockPage(index, granule_marker(set.levels[i]), scan->xs_snapshot);
	for (int i = 0; i < set.count; i++)
		PredicateLockPage(index, granule_block(set.places[i], set.levels[i]),
						  scan->xs_snapshot);
	return true;
}

/* Take the locks of a serializable transaction's scan. */
void
sware_lock_ranges(IndexScanDesc scan, SwareScanKeys *keys)
{
	SwareKeyColumn column;

	/* what rebuilds tables and indexes, or plans, needs no such locks */
	if (scan->xs_snapshot == NULL || !IsMVCCSnapshot(scan->xs_snapshot))
		return;
	if (keys->rangeCount == 0)
		return;					/* nothing can qualify, ever */

	sware_key_column_init(&column, scan->indexRelation, 1, (Datum) 0, false);
	if (keys->prefixColumns > 0 ? lock_points(scan, keys, &column) :
		lock_granules(scan, keys, &column))
		return;
	PredicateLockRelation(scan->indexRelation, scan->xs_snapshot);
}

/* Check for transactions with a lock on such a page. */
static void
check_block(Relation index, BlockNumber block)
{
	if (PageIsPredicateLocked(index, block))
		CheckForSerializableConflictIn(index, NULL, block);
}

/* The point of an entry's first column; its marker if it has none. */
static BlockNumber
point_of_entry(Relation index, const SwareKeyColumn *column, FmgrInfo *function,
			   IndexTuple entry)
{
	bool		is_null;
	Datum		value = index_getattr(entry, 1, RelationGetDescr(index), &is_null);

	if (is_null)
		return null_block();
	if (sware_has_abbreviations(column))
		return point_block(sware_abbreviate_value(column, value, false));
	if (function == NULL)
		return POINT_MARKER;
	return point_block(sware_hash_value(index, 0, function, value));
}

/* Check for locks on points. */
static void
check_points(Relation index, const SwareKeyColumn *column, IndexTuple *entries, int64 count)
{
	FmgrInfo   *function = sware_has_abbreviations(column) ? NULL :
		sware_hash_function(index, 0);
	BlockNumber previous = InvalidBlockNumber;

	for (int64 i = 0; i < count; i++)
	{
		BlockNumber block = point_of_entry(index, column, function, entries[i]);

		CHECK_FOR_INTERRUPTS();
		if (block != previous)
			check_block(index, block);
		previous = block;
	}
}

/*
 * Check for locks on granules.  Those that an entry shares with the one before
 * have been looked at.
 */
static void
check_granules(Relation index, const SwareKeyColumn *column, const bool *has_locks,
			   IndexTuple *entries, int64 count)
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
				check_block(index, granule_block(place, level));
		}
		previous = place;
		is_first = false;
	}
}

/*
 * Check a serializable transaction's entries for conflicts.
 *
 * The whole index comes last: when a transaction has many locks on pages, it
 * gets one on the index, and then gives up the others.
 */
void
sware_check_entries(Relation index, IndexTuple *entries, int64 count)
{
	SwareKeyColumn column;
	bool		has_locks[GRANULE_MARKERS];
	bool		any = false;

	sware_key_column_init(&column, index, 1, (Datum) 0, false);
	if (PageIsPredicateLocked(index, POINT_MARKER))
		check_points(index, &column, entries, count);
	SWARE_FAULT_POINT("conflicts-points");
	for (int i = 0; i < GRANULE_MARKERS; i++)
	{
		has_locks[i] = sware_has_abbreviations(&column) &&
			PageIsPredicateLocked(index, granule_marker(i * LEVELS_PER_MARKER));
		any |= has_locks[i];
	}
	if (any)
		check_granules(index, &column, has_locks, entries, count);
	CheckForSerializableConflictIn(index, NULL, InvalidBlockNumber);
}
