/*-------------------------------------------------------------------------
 *
 * leafmarks.c
 *	  Marking entries of a leaf whose rows are dead to everybody.
 *
 * A tree cursor notes the dead entries that it has returned, and marks them
 * when it leaves their leaf.  The leaf was copied, and may have changed since,
 * so it has to be found out whether it is still the same.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "shared/statistics.h"
#include "tree/treescan.h"

Buffer
sware_lock_unchanged_leaf(SwareTreeCursor *cursor)
{
	SwarePosition *position = &cursor->position;
	Buffer		buffer = sware_read_linked(cursor->scan->indexRelation,
										   position->page, 0,
										   BUFFER_LOCK_SHARE);

	if (BufferIsValid(buffer) && BufferGetLSNAtomic(buffer) != position->lsn)
	{
		sware_release_buffer(buffer);
		return InvalidBuffer;
	}
	return buffer;
}

/*
 * Is the position's leaf, which is logged and not pinned, what it was when it
 * was read, but for marks of dead entries?  If so, its entries have been there
 * all the time.  Locks the leaf for a moment; the caller holds no lock.
 */
bool
sware_tree_cursor_leaf_is_unchanged(SwareTreeCursor *cursor)
{
	Buffer		buffer = sware_lock_unchanged_leaf(cursor);

	if (!BufferIsValid(buffer))
		return false;
	sware_release_buffer(buffer);
	return true;
}

/*
 * Share-lock the position's leaf, to mark entries.  Returns InvalidBuffer if
 * none may be marked.  If the leaf is not pinned, VACUUM may have removed an
 * entry and let its TID be reused, for a row with the same key; if the leaf is
 * unchanged, this has not happened.  Pages that are not logged have no LSN,
 * and are kept pinned therefore.
 */
static Buffer
lock_leaf_to_mark(SwareTreeCursor *cursor)
{
	SwarePosition *position = &cursor->position;

	if (BufferIsValid(position->buffer))
	{
		sware_lock_buffer(position->buffer, BUFFER_LOCK_SHARE);
		if (sware_links_equal(sware_page_link(position->buffer),
							  position->page))
			return position->buffer;

		/* an empty leaf can be deleted and reused although it is pinned */
		sware_unlock_buffer(position->buffer);
		return InvalidBuffer;
	}
	if (!RelationNeedsWAL(cursor->scan->indexRelation))
		return InvalidBuffer;
	return sware_lock_unchanged_leaf(cursor);
}

/*
 * Are the TIDs of the tuple at an offset of the leaf the same as those of the
 * position's items from `item` on, and all noted as dead?  If the page has
 * changed, there may be another tuple.
 */
static bool
is_all_dead(SwareTreeCursor *cursor, Page page, OffsetNumber offset, int item)
{
	SwarePosition *position = &cursor->position;
	IndexTuple	tuple;
	int			count;

	if (offset > PageGetMaxOffsetNumber(page))
		return false;
	tuple = sware_page_tuple(page, offset);
	count = sware_leaf_tuple_tid_count(tuple);
	if (count > position->last - item + 1)
		return false;
	for (int i = 0; i < count; i++)
	{
		if (!cursor->dead[item + i] ||
			!ItemPointerEquals(&sware_leaf_tuple_tids(tuple)[i],
							   &position->tids[item + i]))
			return false;
	}
	return true;
}

/*
 * Mark the position's items that are noted as dead, as far as the leaf has not
 * changed.
 */
static void
mark_noted(SwareTreeCursor *cursor)
{
	SwarePosition *position = &cursor->position;
	int			marked = 0;
	Buffer		buffer = lock_leaf_to_mark(cursor);

	if (!BufferIsValid(buffer))
		return;
	if (sware_begin_marks(buffer))
	{
		Page		page = BufferGetPage(buffer);

		for (int item = cursor->firstDead; item <= cursor->lastDead; item++)
		{
			OffsetNumber offset = position->pageOffsets[item];

			/* a posting list is reached by its first TID */
			if (!cursor->dead[item] ||
				!is_all_dead(cursor, page, offset, item) ||
				ItemIdIsDead(PageGetItemId(page, offset)))
				continue;
			ItemIdMarkDead(PageGetItemId(page, offset));
			marked += sware_leaf_tuple_tid_count(sware_page_tuple(page,
																  offset));
		}
		sware_finish_marks(buffer, marked > 0);
	}
	if (BufferIsValid(position->buffer))
		sware_unlock_buffer(buffer);
	else
	{
		/* an image that was logged for the marks has another LSN */
		position->lsn = BufferGetLSNAtomic(buffer);
		sware_release_buffer(buffer);
	}
	if (marked > 0)
		sware_count(cursor->scan->indexRelation, SWARE_STAT_ENTRIES_MARKED,
					marked);
}

void
sware_mark_dead_items(SwareTreeCursor *cursor)
{
	if (likely(cursor->firstDead > cursor->lastDead))
		return;
	if (cursor->notedDead > cursor->triedDead)
		mark_noted(cursor);
	memset(&cursor->dead[cursor->firstDead], 0,
		   cursor->lastDead - cursor->firstDead + 1);
	cursor->firstDead = SWARE_MAX_TIDS_PER_PAGE;
	cursor->lastDead = -1;
	cursor->notedDead = cursor->triedDead = 0;
}

/*
 * Note that the row of the item that the cursor is on is dead to everybody.
 * Does nothing in a scan that does not use marks.
 */
void
sware_tree_cursor_note_dead(SwareTreeCursor *cursor)
{
	int			item = cursor->position.current;

	Assert(cursor->state == SWARE_CURSOR_ON_ITEM);
	if (!cursor->usesMarks)
		return;
	if (cursor->dead == NULL)
		cursor->dead =
			MemoryContextAllocZero(cursor->context,
								   SWARE_MAX_TIDS_PER_PAGE * sizeof(bool));
	cursor->dead[item] = true;
	cursor->firstDead = Min(cursor->firstDead, item);
	cursor->lastDead = Max(cursor->lastDead, item);

	/*
	 * The row that comes next may be updated, and its new entry changes the
	 * leaf.  So the first ones are marked now.
	 */
	cursor->notedDead++;
	if ((cursor->notedDead & (cursor->notedDead - 1)) == 0)
	{
		mark_noted(cursor);
		cursor->triedDead = cursor->notedDead;
	}
}
