/*-------------------------------------------------------------------------
 *
 * mergescan.c
 *	  Scanning the shared buffer and the tree together.  See mergescan.h.
 *
 * The tree gives its entries leaf by leaf, the buffer chunk by chunk.  The
 * chunk's next entry is its *head*.  The *boundary* is the first of the leaf's
 * items that is not before the head: up to there, items are returned without
 * comparisons.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "miscadmin.h"

#include "am/mergescan.h"
#include "faultpoint.h"

/* Make a scan that has read nothing; the cursors are made by the caller. */
void
sware_merge_init(SwareScan *scan)
{
	scan->mode = SWARE_SCAN_UNDECIDED;
	scan->state = SWARE_CURSOR_UNPOSITIONED;
	scan->isSought = false;
	scan->lastReturned = SWARE_LAST_SAVED;
	scan->last.tuple = NULL;
	scan->last.size = 0;
	scan->bufferPin = InvalidBuffer;
	scan->slot = NULL;
	scan->claim = NULL;
	scan->markMode = SWARE_SCAN_UNDECIDED;
	scan->markState = SWARE_CURSOR_UNPOSITIONED;
	scan->marked.tuple = NULL;
	scan->marked.size = 0;
}

static inline void
unpin_buffer_page(SwareScan *scan)
{
	if (BufferIsValid(scan->bufferPin))
	{
		ReleaseBuffer(scan->bufferPin);
		scan->bufferPin = InvalidBuffer;
	}
}

/* Forget where the scan and its mark are. */
void
sware_merge_rewind(SwareScan *scan)
{
	unpin_buffer_page(scan);
	scan->mode = SWARE_SCAN_UNDECIDED;
	scan->markMode = SWARE_SCAN_UNDECIDED;
}

/* Let go of all pins and memory, the cursors' excepted. */
void
sware_merge_end(SwareScan *scan)
{
	unpin_buffer_page(scan);
	if (scan->slot)
		ExecDropSingleTupleTableSlot(scan->slot);
	if (scan->last.tuple)
		pfree(scan->last.tuple);
	if (scan->marked.tuple)
		pfree(scan->marked.tuple);
	if (scan->claim)
		pfree(scan->claim);
}

/* Keep a copy of an entry: a tuple with the key columns, and a TID. */
static void
save_entry(SwareScan *scan, SwareSavedEntry *saved, IndexTuple tuple, ItemPointer tid)
{
	Size		size = IndexTupleSize(tuple);

	if (saved->size < size)
	{
		if (saved->tuple)
			pfree(saved->tuple);
		/* in steps, so that keys of varying length cause few of these */
		saved->size = TYPEALIGN(128, size);
		saved->tuple = MemoryContextAlloc(scan->context, saved->size);
	}
	memcpy(saved->tuple, tuple, size);
	saved->tuple->t_tid = *tid;
}

/*
 * Keep a copy of the entry returned last.  Called before the leaf or the chunk
 * that it is in goes away.
 */
static void
save_last(SwareScan *scan)
{
	if (scan->lastReturned == SWARE_LAST_IN_LEAF)
		save_entry(scan, &scan->last, sware_tree_cursor_tuple(&scan->tree),
				   sware_tree_cursor_tid(&scan->tree));
	else if (scan->lastReturned == SWARE_LAST_IN_CHUNK)
	{
		IndexTuple	entry = scan->buffer.entries[scan->buffer.current - 1].entry;

		save_entry(scan, &scan->last, entry, &entry->t_tid);
	}
	scan->lastReturned = SWARE_LAST_SAVED;
}

/* Take away a leaf's item that was returned before. */
static void
skip_last_returned(SwareScan *scan)
{
	SwarePosition *position = &scan->tree.position;
	SwareBufferedEntry last;

	last.entry = scan->last.tuple;
	last.abbreviation = sware_buffer_cursor_abbreviate(&scan->buffer, last.entry);
	position->current++;
	if (sware_buffer_cursor_compare(&scan->buffer, &last,
									sware_tree_cursor_tuple(&scan->tree),
									sware_tree_cursor_tid(&scan->tree)) != 0)
		position->current--;
}

/*
 * Let both cursors seek, buffer first: what lies beyond the entry returned
 * last, in the direction, or everything.
 */
static void
seek(SwareScan *scan, bool forward)
{
	IndexTuple	after = NULL;

	unpin_buffer_page(scan);
	if (scan->state == SWARE_CURSOR_ON_ITEM)
	{
		save_last(scan);
		after = scan->last.tuple;
	}
	scan->lastReturned = SWARE_LAST_SAVED;	/* the chunk goes away */

	if (scan->beforePage)
		scan->beforePage(scan->scan->indexRelation);
	sware_buffer_cursor_seek(&scan->buffer, forward, after);
	SWARE_FAULT_POINT("scan-buffer-read");
	scan->treeIsDone = !sware_tree_cursor_seek(&scan->tree, after,
											   forward ? ForwardScanDirection :
											   BackwardScanDirection);
	if (after && forward && !scan->treeIsDone)
		skip_last_returned(scan);
	scan->forward = forward;
	scan->isSought = true;
	scan->boundaryIsKnown = false;
}

/*
 * Read the chunk before anything of the tree, and decide whether there is
 * anything to merge.
 */
void
sware_merge_begin(SwareScan *scan, ScanDirection direction)
{
	bool		forward = ScanDirectionIsForward(direction);

	if (scan->beforePage)
		scan->beforePage(scan->scan->indexRelation);
	sware_buffer_cursor_seek(&scan->buffer, forward, NULL);
	SWARE_FAULT_POINT("scan-buffer-read");
	if (scan->buffer.count == 0)
	{
		Assert(scan->buffer.exhausted);
		scan->mode = SWARE_SCAN_TREE;
		return;
	}

	scan->mode = SWARE_SCAN_MERGE;
	scan->state = SWARE_CURSOR_UNPOSITIONED;
	scan->lastReturned = SWARE_LAST_SAVED;
	scan->tree.isMerged = true;
	scan->treeIsDone = !sware_tree_cursor_seek(&scan->tree, NULL, direction);
	scan->forward = forward;
	scan->isSought = true;
	scan->boundaryIsKnown = false;
}

/* Compare the head with an item of the leaf. */
static inline int
compare_head(SwareScan *scan, const SwareBufferedEntry *head, int item)
{
	SwarePosition *position = &scan->tree.position;

	return sware_buffer_cursor_compare(&scan->buffer, head,
									   (IndexTuple) (position->tuples +
													 position->tupleOffsets[item]),
									   &position->tids[item]);
}

/*
 * Find the boundary.  Usually it is the next item, if buffer and tree have
 * the same range, or beyond the leaf, if the buffer is above the tree.
 */
static void
find_boundary(SwareScan *scan)
{
	SwarePosition *position = &scan->tree.position;
	SwareBufferedEntry *head = sware_buffer_cursor_head(&scan->buffer);
	int			step = scan->forward ? 1 : -1;
	int			near = position->current + step;	/* the next item */
	int			far = scan->forward ? position->last : position->first;
	int			order;

	scan->boundaryIsKnown = true;
	scan->headIsAtBoundary = false;
	scan->boundary = far + step;
	if (head == NULL || (far - near) * step < 0)
		return;

	order = compare_head(scan, head, near) * step;
	if (order <= 0)
	{
		scan->boundary = near;
		scan->headIsAtBoundary = order == 0;
		return;
	}
	if (near == far)
		return;
	order = compare_head(scan, head, far) * step;
	if (order > 0)
		return;

	/* the boundary is behind `near`, and `far` is not before the head */
	scan->headIsAtBoundary = order == 0;
	while ((far - near) * step > 1)
	{
		int			middle = near + (far - near) / 2;

		order = compare_head(scan, head, middle) * step;
		if (order > 0)
			near = middle;
		else
		{
			far = middle;
			scan->headIsAtBoundary = order == 0;
		}
	}
	scan->boundary = far;
}

/*
 * Is the tuple of a buffered entry visible to the scan's snapshot?
 *
 * The visibility map says nothing about it: nothing holds VACUUM off from the
 * entry, so its TID may be another tuple's by now.
 */
static bool
is_visible(SwareScan *scan, IndexTuple entry)
{
	IndexScanDesc descriptor = scan->scan;
	ItemPointerData tid = entry->t_tid; /* the call changes it */
	bool		call_again = false;
	bool		found;

	if (scan->slot == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(scan->context);

		scan->slot = table_slot_create(descriptor->heapRelation, NULL);
		MemoryContextSwitchTo(old);
	}
	do
		found = table_index_fetch_tuple(descriptor->xs_heapfetch, &tid,
										descriptor->xs_snapshot, scan->slot,
										&call_again, NULL);
	while (!found && call_again);
	ExecClearTuple(scan->slot);
	return found;
}

/*
 * Pin the page of a buffered entry.  False, with nothing pinned, if pages have
 * retired since the entry was read: it may have left this page.
 *
 * VACUUM lets a TID be reused only after it has flushed the buffer, which
 * raises the generation, and has then had a cleanup lock on every page
 * retired.
 */
static bool
pin_buffer_page(SwareScan *scan, const SwareBufferedEntry *buffered)
{
	Relation	index = scan->scan->indexRelation;

	scan->bufferPin = sware_read_buffer_page(index, buffered->page, BUFFER_LOCK_SHARE);
	if (!BufferIsValid(scan->bufferPin))
		return false;
	sware_unlock_buffer(scan->bufferPin);
	if (sware_buffer_generation(index) == scan->buffer.generation)
		return true;
	unpin_buffer_page(scan);
	return false;
}

/* Return the next item of the leaf. */
static inline bool
return_item(SwareScan *scan, int item)
{
	scan->tree.position.current = item;
	scan->lastReturned = SWARE_LAST_IN_LEAF;
	scan->state = SWARE_CURSOR_ON_ITEM;
	scan->scan->xs_heaptid = *sware_tree_cursor_tid(&scan->tree);
	if (scan->scan->xs_want_itup)
		scan->scan->xs_itup = sware_tree_cursor_tuple(&scan->tree);
	return true;
}

/*
 * Return the head, if it can be returned.  False if not: then it has been
 * skipped, or both cursors have sought again.
 */
static bool
return_head(SwareScan *scan, SwareBufferedEntry *head)
{
	if (!IsMVCCSnapshot(scan->scan->xs_snapshot))
	{
		if (!pin_buffer_page(scan, head))
		{
			seek(scan, scan->forward);
			return false;
		}
		SWARE_FAULT_POINT("scan-pinned");
	}
	else if (scan->scan->xs_want_itup && !is_visible(scan, head->entry))
	{
		/* what was returned last may be the entry before this one */
		if (scan->lastReturned == SWARE_LAST_IN_CHUNK)
			save_last(scan);
		scan->buffer.current++;
		scan->boundaryIsKnown = false;
		return false;
	}

	scan->buffer.current++;
	scan->boundaryIsKnown = false;
	scan->lastReturned = SWARE_LAST_IN_CHUNK;
	scan->state = SWARE_CURSOR_ON_ITEM;
	scan->scan->xs_heaptid = head->entry->t_tid;
	if (scan->scan->xs_want_itup)
		scan->scan->xs_itup = head->entry;
	return true;
}

/*
 * Go to the next entry in the direction.  False at the end; from there the
 * scan may turn around.
 */
bool
sware_merge_next(SwareScan *scan, ScanDirection direction)
{
	bool		forward = ScanDirectionIsForward(direction);
	int			step = forward ? 1 : -1;
	SwarePosition *position = &scan->tree.position;
	SwareBufferCursor *buffer = &scan->buffer;

	unpin_buffer_page(scan);
	if (!scan->isSought || scan->forward != forward)
	{
		if (scan->state == (forward ? SWARE_CURSOR_AFTER_LAST : SWARE_CURSOR_BEFORE_FIRST))
			return false;
		seek(scan, forward);
	}

	for (;;)
	{
		SwareBufferedEntry *head;

		if (!scan->boundaryIsKnown)
		{
			if (buffer->current == buffer->count && !buffer->exhausted)
			{
				save_last(scan);
				if (scan->beforePage)
					scan->beforePage(scan->scan->indexRelation);
				if (!sware_buffer_cursor_read_on(buffer))
				{
					seek(scan, forward);
					continue;
				}
			}
			if (!scan->treeIsDone)
				find_boundary(scan);
		}

		if (!scan->treeIsDone)
		{
			int			next = position->current + step;

			if (next != scan->boundary)
				return return_item(scan, next);
			if (forward ? next > position->last : next < position->first)
			{
				save_last(scan);
				scan->treeIsDone = !sware_tree_cursor_next_page(&scan->tree, direction);
				scan->boundaryIsKnown = false;
				continue;
			}
		}

		head = sware_buffer_cursor_head(buffer);
		if (head == NULL)
		{
			scan->state = forward ? SWARE_CURSOR_AFTER_LAST : SWARE_CURSOR_BEFORE_FIRST;
			scan->isSought = false;
			return false;
		}
		if (!scan->treeIsDone && scan->headIsAtBoundary)
		{
			/* the leaf has it too */
			if (scan->lastReturned == SWARE_LAST_IN_CHUNK)
				save_last(scan);
			buffer->current++;
			scan->boundaryIsKnown = false;
			continue;
		}
		if (return_head(scan, head))
			return true;
		CHECK_FOR_INTERRUPTS();
	}
}

/* Remember where the scan is. */
void
sware_merge_mark(SwareScan *scan)
{
	scan->markMode = scan->mode;
	if (scan->mode != SWARE_SCAN_MERGE)
		return;
	scan->markState = scan->state;
	if (scan->state == SWARE_CURSOR_ON_ITEM)
	{
		save_last(scan);
		save_entry(scan, &scan->marked, scan->last.tuple, &scan->last.tuple->t_tid);
	}
}

/*
 * Go back to where the scan was marked.  The cursors seek when the scan goes
 * on, in the direction that it then has.
 */
void
sware_merge_restore(SwareScan *scan)
{
	unpin_buffer_page(scan);
	scan->state = scan->markState;
	scan->isSought = false;
	scan->lastReturned = SWARE_LAST_SAVED;
	if (scan->state == SWARE_CURSOR_ON_ITEM)
		save_entry(scan, &scan->last, scan->marked.tuple, &scan->marked.tuple->t_tid);
}
