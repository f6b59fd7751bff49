/*-------------------------------------------------------------------------
 *
 * treescan.c
 *	  The tree cursor.  See treescan.h.
 *
 * The cursor holds one content lock at most (see sware_lock_buffer).  What
 * happens to a leaf after it has been read cannot mislead the cursor.  If the
 * leaf is split, entries that have been read already move right, to pages that
 * the remembered right link skips.  If the page that a link names is deleted
 * or reused, its incarnation has changed, and the cursor seeks its border from
 * the root.
 *
 * From leaf to leaf, the border moves only in the direction of the scan,
 * whatever is on the leaves.  So no entry is returned twice, even if damaged
 * links form a circle.  A circle of leaves without qualifying entries ends with
 * an error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "tree/treepages.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "tree/treescan.h"

/*
 * After this number of leaves in a row without a qualifying entry it is
 * checked whether the index has that many at all.
 */
#define MAX_FRUITLESS_LEAVES	10000

/*
 * When a search from the root has led to the very next leaf, a cursor that
 * skips entries follows this number of links before it seeks a place again,
 * unless one of them leads to a leaf before the place.
 */
#define LINKS_AFTER_FAILURE		31

/* See border.h. */
void
sware_save_tuple(SwareSavedEntry *saved, MemoryContext context,
				 IndexTuple tuple)
{
	Size		size = sware_leaf_tuple_key_size(tuple) + NAMEDATALEN;

	if (saved->size < size)
	{
		if (saved->tuple)
			pfree(saved->tuple);
		/* round up, so that keys of varying length seldom need more memory */
		saved->size = TYPEALIGN(128, size);
		saved->tuple = MemoryContextAlloc(context, saved->size);
	}
	sware_copy_first_entry(saved->tuple, tuple);
}

static void
copy_continuation(SwareTreeCursor *cursor, SwareContinuation *to,
				  const SwareContinuation *from)
{
	to->more = from->more;
	to->linked = from->linked;
	to->sibling = from->sibling;
	sware_copy_border(&to->border, cursor->context, &from->border);
}

/*
 * Find the leaf with the entries next to the border of arrival, by a descent
 * from the root.  Returns it pinned and share-locked.
 */
static Buffer
seek(SwareTreeCursor *cursor, SwareSearchKey *place, bool forward)
{
	Buffer		buffer;

	/*
	 * The intervals of a parallel scan do not count as scans, nor do look-ups
	 * for unique keys: an index that is never scanned should show.
	 */
	if (likely(cursor->keys.interval == NULL && cursor->beforePage))
		pgstat_count_index_scan(cursor->scan->indexRelation);
	if (likely(!cursor->isScout))
		sware_count_index_search(cursor->scan);

	if (!cursor->arrival.hasTuple && place->columnCount == 0)
		return sware_seek_leaf(cursor->scan->indexRelation, NULL, !forward);

	place->below = !forward;
	buffer = sware_seek_leaf(cursor->scan->indexRelation, place, false);
	place->below = false;
	return buffer;
}

/*
 * Read a leaf, pinned and share-locked, into the position.  Releases the lock,
 * and the pin if it is not needed.
 *
 * As long as the leaf is pinned, VACUUM cannot get the cleanup lock that it
 * takes on every leaf.  So it does not finish, and TIDs of this position are
 * not reused.  With an MVCC snapshot a scan that reads the table needs no pin:
 * the row that a reused TID leads to is invisible to it.
 */
static void
read_leaf(SwareTreeCursor *cursor, Buffer buffer, bool forward)
{
	SwarePosition *position = &cursor->position;
	Page		page = BufferGetPage(buffer);
	SwarePageOpaque opaque = SwarePageGetOpaque(page);

	/*
	 * It is enough to test leaves, and not pages that descents pass.  What an
	 * old snapshot may miss was removed from a leaf, by VACUUM or to make
	 * room, which raised that leaf's LSN.  If the leaf was deleted
	 * afterwards, its range went to its right sibling, whose LSN was raised
	 * when its left link was changed; if it was moved, to a copy with a
	 * higher LSN.  A split raises the LSNs of both halves.  So a scan that
	 * reads the range now reads a leaf with a higher LSN.
	 */
	if (likely(!cursor->isScout))
		sware_test_for_old_snapshot(cursor->scan->xs_snapshot,
									cursor->scan->indexRelation, page);

	cursor->replacements++;
	position->page = sware_page_link(buffer);
	position->lsn = BufferGetLSNAtomic(buffer);
	position->left.sibling = opaque->left;
	position->right.sibling = opaque->right;
	position->tuplesUsed = 0;
	sware_read_leaf(cursor, buffer, forward);
	cursor->leavesRead++;
	cursor->entriesRead += position->last - position->first + 1;
	cursor->readAtMost = cursor->readAtMost == SWARE_READ_FIRST ?
		SWARE_READ_SECOND : SWARE_READ_ALL;

	if (unlikely(cursor->keepPin) && position->first <= position->last)
	{
		sware_unlock_buffer(buffer);
		position->buffer = buffer;
	}
	else
		sware_release_buffer(buffer);
}

static void
unpin(SwarePosition *position)
{
	if (BufferIsValid(position->buffer))
	{
		ReleaseBuffer(position->buffer);
		position->buffer = InvalidBuffer;
	}
}

/*
 * Share-lock the position's leaf, to read on.  A part of the entries may have
 * gone to another leaf by a split.  Going forward, the leaf's high key tells.
 * Going backward, returns InvalidBuffer then, or if that is not known.
 */
static pg_noinline Buffer
read_same_leaf(SwareTreeCursor *cursor, bool forward)
{
	Relation	index = cursor->scan->indexRelation;

	if (forward)
		return sware_read_linked(index, cursor->position.page, 0,
								 BUFFER_LOCK_SHARE);
	return RelationNeedsWAL(index) ? sware_lock_unchanged_leaf(cursor) :
		InvalidBuffer;
}

static void
free_position(SwarePosition *position)
{
	unpin(position);
	sware_free_saved_entry(&position->left.border.saved);
	sware_free_saved_entry(&position->right.border.saved);
}

/* Copy a position.  The copy has its own pin. */
static pg_noinline void
copy_position(SwareTreeCursor *cursor, SwarePosition *to,
			  const SwarePosition *from)
{
	unpin(to);
	memcpy(to, from, offsetof(SwarePosition, left));
	if (BufferIsValid(to->buffer))
		IncrBufferRefCount(to->buffer);
	copy_continuation(cursor, &to->left, &from->left);
	copy_continuation(cursor, &to->right, &from->right);
	memcpy(&to->tids[to->first], &from->tids[to->first],
		   (to->last - to->first + 1) * sizeof(ItemPointerData));
	memcpy(&to->pageOffsets[to->first], &from->pageOffsets[to->first],
		   (to->last - to->first + 1) * sizeof(OffsetNumber));
	if (cursor->wantTuples)
	{
		memcpy(&to->tupleOffsets[to->first], &from->tupleOffsets[to->first],
			   (to->last - to->first + 1) * sizeof(uint16));
		memcpy(to->tuples.data, from->tuples.data, from->tuplesUsed);
	}
}

/*
 * Count a leaf without a qualifying entry.  Raises an error if there have
 * been more than the index can have, since links then form a circle.  A leaf
 * may be read twice, once by a link and once by a search for the next stretch,
 * and a few times more if other sessions change the tree.
 */
static void
count_fruitless_leaf(SwareTreeCursor *cursor, int64 *leaves)
{
	Relation	index = cursor->scan->indexRelation;

	if (++*leaves % MAX_FRUITLESS_LEAVES == 0 &&
		*leaves / 4 > RelationGetNumberOfBlocks(index))
		sware_report_corruption(index, cursor->position.page.block,
								"Links lead from leaf to leaf without end.");
}

/*
 * Note where a descent to a place ahead has led, from the position's leaf: if
 * only to its sibling, links are followed for a while.
 */
static pg_noinline void
note_descent(SwareTreeCursor *cursor, Buffer buffer,
			 const SwareContinuation *side)
{
	SwareLink	page = sware_page_link(buffer);

	cursor->linksToFollow = sware_links_equal(page, side->sibling) ||
		sware_links_equal(page, cursor->position.page) ?
		LINKS_AFTER_FAILURE : 0;
}

/*
 * Follow the link to the sibling on one side, where the border of arrival is.
 * Returns the leaf, pinned and share-locked; or InvalidBuffer if the link does
 * not lead to the leaf that it means.
 */
static pg_noinline Buffer
follow_link(SwareTreeCursor *cursor, const SwareContinuation *side,
			bool forward)
{
	Relation	index = cursor->scan->indexRelation;
	SwareReadahead *ahead = &cursor->ahead;
	Buffer		buffer;

	if (unlikely(sware_readahead_is_due(ahead)) && cursor->arrival.hasTuple &&
		!cursor->isScout)
		sware_readahead_of_link(ahead, &cursor->keys, &cursor->arrival, forward,
								side->sibling.block,
								cursor->arrivesAhead ?
								cursor->linksToFollow :
								MAX_IO_CONCURRENCY);
	sware_readahead_before_leaf(ahead);
	if (forward)
		buffer = sware_read_linked(index, side->sibling, 0, BUFFER_LOCK_SHARE);
	else
		buffer = sware_step_left(index, side->sibling, cursor->position.page,
								 0);
	sware_readahead_after_leaf(ahead);
	return buffer;
}

/*
 * Go to the next leaf with qualifying entries beyond one end of the position,
 * or a scout to the next leaf, and stay before its first item in the direction.
 * Returns false, with nothing pinned, if there is none.
 */
static bool
go_on(SwareTreeCursor *cursor, bool forward)
{
	SwarePosition *position = &cursor->position;
	SwareContinuation *side = forward ? &position->right : &position->left;
	SwareBorder *arrival = &cursor->arrival;
	int64		fruitless = 0;

	sware_mark_dead_items(cursor);
	if (unlikely(cursor->markItem >= 0))
	{
		position->current = cursor->markItem;
		copy_position(cursor, cursor->marked, position);
		cursor->markItem = -1;
	}

	do
	{
		Buffer		buffer = InvalidBuffer;
		SwareSkip	result = SWARE_SKIP_NONE;
		SwareSearchKey *place = NULL;

		CHECK_FOR_INTERRUPTS();
		count_fruitless_leaf(cursor, &fruitless);
		unpin(position);
		if (side->more)
		{
			sware_swap_borders(arrival, &side->border);
			result = sware_first_place(&cursor->keys, arrival->hasTuple ?
									   arrival->saved.tuple : NULL, forward,
									   &cursor->arrivalKey, &place);
		}
		if (result == SWARE_SKIP_NONE)
		{
			side->more = false;
			cursor->state = forward ? SWARE_CURSOR_AFTER_LAST :
				SWARE_CURSOR_BEFORE_FIRST;
			return false;
		}

		cursor->arrivesAhead = result == SWARE_SKIP_AHEAD;
		/* the rest of a leaf of which a part has been read? */
		if (side->linked &&
			sware_links_equal(position->page, side->sibling))
			buffer = read_same_leaf(cursor, forward);
		else if (side->linked &&
				 (!cursor->arrivesAhead || cursor->linksToFollow > 0))
		{
			cursor->linksToFollow -= cursor->arrivesAhead ? 1 : 0;
			buffer = follow_link(cursor, side, forward);
		}
		cursor->arrivesByLink = BufferIsValid(buffer);
		if (!BufferIsValid(buffer))
		{
			sware_readahead_stop(&cursor->ahead);
			buffer = seek(cursor, place, forward);
			if (unlikely(cursor->arrivesAhead) && arrival->hasTuple)
				note_descent(cursor, buffer, side);
		}
		read_leaf(cursor, buffer, forward);
	} while (unlikely(position->first > position->last) && !cursor->isScout);

	cursor->state = SWARE_CURSOR_ON_ITEM;
	position->current = forward ? position->first - 1 : position->last + 1;
	return true;
}

/* See treescan.h. */
SwareTreeCursor *
sware_tree_scout_make(const SwareTreeCursor *cursor)
{
	MemoryContext caller = MemoryContextSwitchTo(cursor->context);
	SwareTreeCursor *scout = palloc(sizeof(SwareTreeCursor));

	sware_tree_cursor_init(scout, cursor->scan, NULL);
	scout->isScout = true;
	MemoryContextSwitchTo(caller);
	return scout;
}

void
sware_tree_scout_restart(SwareTreeCursor *scout)
{
	IndexScanDesc scan = scout->scan;

	sware_tree_cursor_rewind(scout);
	sware_scan_keys_analyze(&scout->keys, scan->keyData, scan->numberOfKeys);
}

void
sware_tree_scout_begin(SwareTreeCursor *scout, const SwareTreeCursor *cursor,
					   bool forward)
{
	SwarePosition *position = &scout->position;

	scout->usesMarks = cursor->usesMarks;
	scout->readAtMost = SWARE_READ_ALL;
	scout->state = SWARE_CURSOR_ON_ITEM;
	position->page = cursor->position.page;
	position->lsn = cursor->position.lsn;
	position->first = position->current = 0;
	position->last = -1;
	if (forward)
		copy_continuation(scout, &position->right, &cursor->position.right);
	else
		copy_continuation(scout, &position->left, &cursor->position.left);
}

bool
sware_tree_scout_next_leaf(SwareTreeCursor *scout, SwareTreeCursor *cursor,
						   bool forward)
{
	scout->ahead.coldLeaves = 0;
	if (scout->state != SWARE_CURSOR_ON_ITEM || !go_on(scout, forward))
		return false;
	/* the cursor will find the leaf in shared buffers */
	cursor->ahead.coldLeaves += scout->ahead.coldLeaves;
	return true;
}

/*
 * May a scan leave out marked entries, and mark others?  Not in recovery, nor
 * in a transaction that began in recovery, since its snapshot may need rows
 * that were dead to everybody on the primary.  A parallel worker has a
 * transaction of its own, but its leader's snapshot, so the snapshot decides.
 */
bool
sware_scan_uses_marks(IndexScanDesc scan)
{
	return scan->ignore_killed_tuples &&
		!(IsMVCCSnapshot(scan->xs_snapshot) &&
		  scan->xs_snapshot->takenDuringRecovery);
}

/* Find out what the scan needs besides TIDs. */
static void
learn_what_is_wanted(SwareTreeCursor *cursor)
{
	IndexScanDesc scan = cursor->scan;

	cursor->wantTuples = scan->xs_want_itup || cursor->isMerged;
	cursor->usesMarks = sware_scan_uses_marks(scan);

	/* the intervals of a parallel scan are read to their ends */
	if (cursor->keys.interval)
		cursor->readAtMost = SWARE_READ_ALL;

	/*
	 * Pages that are not logged have no LSN; see lock_leaf_to_mark.  For an
	 * index-only scan a pin is of no use in recovery, since redo of generic
	 * records takes no cleanup lock.  So the caller examines the rows of
	 * leaves that are not pinned, in recovery and after it
	 * (cursor/visibility.h).  The planner, whose snapshot is not MVCC, asks
	 * an index on a standby, too, from 18 on: its pin protects nothing
	 * either, so its estimate may come from an entry whose row is gone, which
	 * does no harm.
	 */
	cursor->keepPin = !IsMVCCSnapshot(scan->xs_snapshot) ||
		!RelationNeedsWAL(scan->indexRelation) ||
		(scan->xs_want_itup && !RecoveryInProgress());
}

/*
 * Go to the first leaf with qualifying entries in the direction, from the
 * place of `entry`, which must qualify, or from the end if that is NULL.  An
 * entry at the place itself is found again when going forward, and not when
 * going backward.  Afterwards the cursor is before the first of the leaf's
 * entries in the direction.  Returns false if there is no such leaf.  With an
 * entry, the cursor must not have a mark.
 */
bool
sware_tree_cursor_seek(SwareTreeCursor *cursor, IndexTuple entry,
					   ScanDirection direction)
{
	bool		forward = ScanDirectionIsForward(direction);
	SwareContinuation *side = forward ? &cursor->position.right :
		&cursor->position.left;

	Assert(!entry || cursor->markState == SWARE_CURSOR_UNPOSITIONED);
	learn_what_is_wanted(cursor);
	side->more = !cursor->keys.isEmpty;
	side->linked = side->border.hasTuple = false;
	if (unlikely(entry != NULL))
		sware_set_tuple_border(&side->border, cursor->context, entry);
	return go_on(cursor, forward);
}

/* Make a cursor for an index scan. */
void
sware_tree_cursor_init(SwareTreeCursor *cursor, IndexScanDesc scan,
					   SwareBeforePage before_page)
{
	memset(cursor, 0, offsetof(SwareTreeCursor, keys));
	cursor->scan = scan;
	cursor->beforePage = before_page;
	cursor->context = CurrentMemoryContext;
	sware_scan_keys_init(&cursor->keys, scan->indexRelation,
						 scan->numberOfKeys);
	cursor->readAtMost = SWARE_READ_FIRST;
	cursor->firstDead = SWARE_MAX_TIDS_PER_PAGE;
	cursor->lastDead = -1;
	cursor->markItem = -1;
	cursor->skipPatience = 1;
	sware_readahead_init(&cursor->ahead, scan->indexRelation,
						 cursor->context);
	/* without pin or memory; the items are left undefined */
	memset(&cursor->position, 0, offsetof(SwarePosition, tids));
}

/*
 * Forget the cursor's position and its mark.  Afterwards the scan keys may be
 * changed.
 */
void
sware_tree_cursor_rewind(SwareTreeCursor *cursor)
{
	sware_mark_dead_items(cursor);
	unpin(&cursor->position);
	if (cursor->marked)
		unpin(cursor->marked);
	cursor->isMerged = false;
	cursor->readAtMost = SWARE_READ_FIRST;
	cursor->skipPatience = 1;
	cursor->linksToFollow = 0;
	sware_readahead_stop(&cursor->ahead);
	cursor->state = SWARE_CURSOR_UNPOSITIONED;
	cursor->markState = SWARE_CURSOR_UNPOSITIONED;
	cursor->markItem = -1;
}

/* Release all pins and memory. */
void
sware_tree_cursor_end(SwareTreeCursor *cursor)
{
	sware_mark_dead_items(cursor);
	if (cursor->dead)
		pfree(cursor->dead);
	free_position(&cursor->position);
	if (cursor->marked)
	{
		free_position(cursor->marked);
		pfree(cursor->marked);
	}
	sware_free_saved_entry(&cursor->arrival.saved);
	sware_readahead_end(&cursor->ahead);
	sware_scan_keys_free(&cursor->keys);
}

/*
 * Go to the next leaf with qualifying entries in the direction, from the
 * present position or, if there is none, from the end.  The position then has
 * the leaf's entries, and the cursor is before the first of them in the
 * direction.  A first leaf with many entries counts as several leaves: a few
 * entries, then some more, and then the rest.  Returns false if there is no
 * such leaf.
 */
bool
sware_tree_cursor_next_page(SwareTreeCursor *cursor, ScanDirection direction)
{
	bool		forward = ScanDirectionIsForward(direction);

	if (likely(cursor->beforePage != NULL))
		cursor->beforePage(cursor->scan);

	if (cursor->state == SWARE_CURSOR_ON_ITEM)
		return go_on(cursor, forward);
	if (cursor->state ==
		(forward ? SWARE_CURSOR_AFTER_LAST : SWARE_CURSOR_BEFORE_FIRST))
		return false;
	return sware_tree_cursor_seek(cursor, NULL, direction);
}

/*
 * Go to the next item in the direction.  Returns false if there is none; then
 * the cursor may turn around.
 */
bool
sware_tree_cursor_next(SwareTreeCursor *cursor, ScanDirection direction)
{
	SwarePosition *position = &cursor->position;
	bool		forward = ScanDirectionIsForward(direction);

	if ((cursor->state != SWARE_CURSOR_ON_ITEM ||
		 (forward ? position->current >= position->last :
		  position->current <= position->first)) &&
		!sware_tree_cursor_next_page(cursor, direction))
		return false;
	position->current += forward ? 1 : -1;
	return true;
}

/* Set the cursor's mark to where it is (ammarkpos). */
void
sware_tree_cursor_mark(SwareTreeCursor *cursor)
{
	if (cursor->marked == NULL)
	{
		cursor->marked =
			MemoryContextAlloc(cursor->context, sizeof(SwarePosition));
		memset(cursor->marked, 0, offsetof(SwarePosition, tids));
	}
	unpin(cursor->marked);
	cursor->markState = cursor->state;
	cursor->markItem =
		cursor->state == SWARE_CURSOR_ON_ITEM ? cursor->position.current : -1;
}

/* Go back to the cursor's mark (amrestrpos). */
void
sware_tree_cursor_restore(SwareTreeCursor *cursor)
{
	if (cursor->markItem >= 0)
	{
		cursor->position.current = cursor->markItem;
		return;
	}
	sware_mark_dead_items(cursor);
	unpin(&cursor->position);
	cursor->state = cursor->markState;
	if (cursor->state == SWARE_CURSOR_ON_ITEM)
	{
		copy_position(cursor, &cursor->position, cursor->marked);
		cursor->replacements++;
	}
}
