/*-------------------------------------------------------------------------
 *
 * bufferbatch.h
 *	  Collecting the entries of a buffer cursor's batch.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BUFFERBATCH_H
#define SWARE_BUFFERBATCH_H

#include "cursor/buffercursor.h"
#include "keys/abbreviation.h"
#include "keys/searchkey.h"

/* the largest number of entries of a buffer page */
#define SWARE_MAX_BUFFER_ENTRIES	(BLCKSZ / sizeof(IndexTupleData))

/* where an entry is, as seen from the ranges */
typedef enum SwareRangeSide
{
	SWARE_BELOW_RANGE,			/* keys->range is the first range above the
								 * entry */
	SWARE_IN_RANGE,
	SWARE_ABOVE_RANGES
} SwareRangeSide;

extern void sware_batch_begin(SwareBufferCursor *cursor, IndexTuple after);
extern void sware_batch_take_candidates(SwareBufferCursor *cursor,
										const SwareCandidates *candidates);
extern IndexTuple sware_batch_make_room(SwareBufferCursor *cursor, Size size);
extern void sware_batch_give_back(SwareBufferCursor *cursor, Size size);
extern bool sware_batch_take_in_order(SwareBufferCursor *cursor,
									  const SwareBufferedEntry *found);
extern void sware_batch_keep_the_best(SwareBufferCursor *cursor);
extern void sware_batch_save_memory(SwareBufferCursor *cursor);
extern void sware_batch_finish(SwareBufferCursor *cursor);
extern SwareRangeSide sware_side_of_ranges(SwareBufferCursor *cursor,
										   IndexTuple entry,
										   int64 abbreviation);

/* The abbreviation of an entry. */
static inline int64
sware_batch_abbreviate(const SwareBufferCursor *cursor, IndexTuple entry)
{
	return sware_abbreviate(&cursor->column,
							RelationGetDescr(cursor->scan->indexRelation),
							entry);
}

/* Compare an entry `a` with a tuple `b` of the key columns and a TID. */
static inline int
sware_batch_compare(const SwareBufferCursor *cursor, IndexTuple a,
					int64 abbreviation_a, IndexTuple b, int64 abbreviation_b,
					ItemPointer tid_b)
{
	if (abbreviation_a != abbreviation_b)
		return abbreviation_a < abbreviation_b ? -1 : 1;

	/* An extreme abbreviation may be that of a null. */
	if (!cursor->abbreviationsDecide ||
		abbreviation_a == PG_INT64_MIN || abbreviation_a == PG_INT64_MAX)
	{
		int			column;
		int			result = sware_compare_columns(cursor->scan->indexRelation,
												   a, b, &column);

		if (result != 0)
			return result;
	}
	return ItemPointerCompare(&a->t_tid, tid_b);
}

/* Does an entry, whose abbreviation is wanted, lie beyond the place? */
static inline bool
sware_is_beyond_place(const SwareBufferCursor *cursor, IndexTuple entry,
					  int64 abbreviation)
{
	int			result;

	if (!cursor->hasPlace || abbreviation != cursor->placeAbbreviation)
		return true;
	result = sware_compare_key(&cursor->place, entry);
	return cursor->forward ? result < 0 : result > 0;
}

/* Is an entry, whose abbreviation is wanted, better than the worst one? */
static inline bool
sware_is_better_than_worst(const SwareBufferCursor *cursor, IndexTuple entry,
						   int64 abbreviation)
{
	int			result;

	if (cursor->worst == NULL)
		return true;
	result = sware_batch_compare(cursor, entry, abbreviation, cursor->worst,
								 cursor->worstAbbreviation,
								 &cursor->worst->t_tid);
	return cursor->forward ? result < 0 : result > 0;
}

#endif							/* SWARE_BUFFERBATCH_H */
