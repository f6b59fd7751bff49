/*-------------------------------------------------------------------------
 *
 * bufferchunk.h
 *	  Making a chunk of a buffer cursor of the entries that it finds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BUFFERCHUNK_H
#define SWARE_BUFFERCHUNK_H

#include "buffer/abbreviation.h"
#include "buffer/buffercursor.h"

/* a buffer page does not have more entries */
#define SWARE_MAX_BUFFER_ENTRIES	(BLCKSZ / sizeof(IndexTupleData))

/* where an entry is, seen from the ranges */
typedef enum SwareRangeSide
{
	SWARE_BELOW_RANGE,			/* keys->range is the first range above it */
	SWARE_IN_RANGE,
	SWARE_ABOVE_RANGES
} SwareRangeSide;

extern void sware_chunk_begin(SwareBufferCursor *cursor, IndexTuple after);
extern void sware_chunk_take_candidates(SwareBufferCursor *cursor,
										const SwareCandidates *candidates);
extern IndexTuple sware_chunk_make_room(SwareBufferCursor *cursor, Size size);
extern void sware_chunk_give_back(SwareBufferCursor *cursor, Size size);
extern bool sware_chunk_take_in_order(SwareBufferCursor *cursor,
									  const SwareBufferedEntry *found);
extern void sware_chunk_keep_the_best(SwareBufferCursor *cursor);
extern void sware_chunk_save_memory(SwareBufferCursor *cursor);
extern void sware_chunk_finish(SwareBufferCursor *cursor);
extern SwareRangeSide sware_side_of_ranges(SwareBufferCursor *cursor, IndexTuple entry,
										   int64 abbreviation);

static inline int64
sware_chunk_abbreviate(const SwareBufferCursor *cursor, IndexTuple entry)
{
	return sware_abbreviate(&cursor->column,
							RelationGetDescr(cursor->scan->indexRelation), entry);
}

/* Compare an entry with a tuple of the key columns and a TID. */
static inline int
sware_chunk_compare(const SwareBufferCursor *cursor, IndexTuple a, int64 abbreviation_a,
					IndexTuple b, int64 abbreviation_b, ItemPointer tid_b)
{
	if (abbreviation_a != abbreviation_b)
		return abbreviation_a < abbreviation_b ? -1 : 1;

	/* an extreme abbreviation may stand for a null */
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

/* Does an entry with an abbreviation that is wanted lie beyond the place? */
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

/* Is an entry with an abbreviation that is wanted good enough? */
static inline bool
sware_is_better_than_worst(const SwareBufferCursor *cursor, IndexTuple entry,
						   int64 abbreviation)
{
	int			result;

	if (cursor->worst == NULL)
		return true;
	result = sware_chunk_compare(cursor, entry, abbreviation, cursor->worst,
								 cursor->worstAbbreviation, &cursor->worst->t_tid);
	return cursor->forward ? result < 0 : result > 0;
}

#endif							/* SWARE_BUFFERCHUNK_H */
