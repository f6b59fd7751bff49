/*-------------------------------------------------------------------------
 *
 * mergescan.c
 *	  Scanning the buffer and the tree together.  See mergescan.h.
 *
 * The tree gives its entries leaf by leaf, the buffer batch by batch.  The next
 * entry of the batch is its *head*.  The *boundary* is the leaf's first item
 * that is not before the head: items before the boundary are returned without
 * comparisons.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

#include "base/faultpoint.h"
#include "buffer/buffer.h"
#include "cursor/mergescan.h"
#include "pages/bufferpages.h"
#include "pages/pageaccess.h"

/* Set up a scan that has read nothing. */
static void
init(SwareScan *scan)
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

/*
 * Begin a scan in the current memory context.  This is cheap: what only some
 * scans need is allocated when it is needed.
 */
IndexScanDesc
sware_scan_begin(Relation index, int key_count, SwareBeforePage before_page)
{
	IndexScanDesc descriptor = RelationGetIndexScan(index, key_count, 0);
	SwareScan  *scan = palloc(sizeof(SwareScan));

	scan->scan = descriptor;
	scan->context = CurrentMemoryContext;
	sware_tree_cursor_init(&scan->tree, descriptor, before_page);
	sware_buffer_cursor_init(&scan->buffer, descriptor, &scan->tree.keys,
							 CurrentMemoryContext);
	init(scan);
	descriptor->xs_itupdesc = RelationGetDescr(index);
	descriptor->parallel_scan = NULL;	/* PostgreSQL sets it afterwards */
	descriptor->opaque = scan;
	return descriptor;
}

/* Release all pins, and forget the positions of the scan and its mark. */
void
sware_scan_rewind(SwareScan *scan)
{
	unpin_buffer_page(scan);
	scan->mode = SWARE_SCAN_UNDECIDED;
	scan->markMode = SWARE_SCAN_UNDECIDED;
	sware_buffer_cursor_rewind(&scan->buffer);
	sware_tree_cursor_rewind(&scan->tree);
}

void
sware_scan_restart(IndexScanDesc descriptor)
{
	SwareScan  *scan = descriptor->opaque;

	sware_scan_rewind(scan);
	sware_scan_keys_analyze(&scan->tree.keys, descriptor->keyData,
							descriptor->numberOfKeys);
}

/* Release all pins, and free all memory except the descriptor. */
void
sware_scan_end(SwareScan *scan)
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
	sware_buffer_cursor_end(&scan->buffer);
	sware_tree_cursor_end(&scan->tree);
	pfree(scan);
}

/*
 * Save a copy of an entry, given as a tuple with the key columns, and a TID.
 */
static void
save_entry(SwareScan *scan, SwareSavedEntry *saved, IndexTuple tuple,
		   ItemPointer tid)
{
	Size		size = IndexTupleSize(tuple);

	if (saved->size < size)
	{
		if (saved->tuple)
			pfree(saved->tuple);

		/*
		 * Allocate a multiple of 128 bytes, so that keys of varying length
		 * rarely need a new allocation.
		 */
		saved->size = TYPEALIGN(128, size);
		saved->tuple = MemoryContextAlloc(scan->context, saved->size);
	}
	memcpy(saved->tuple, tuple, size);
	saved->tuple->t_tid = *tid;
}

/*
 * Save a copy of the entry returned last.  Called before the leaf or the batch
 * that holds it is replaced.
 */
static void
save_last(SwareScan *scan)
{
	if (scan->lastReturned == SWARE_LAST_IN_LEAF)
		save_entry(scan, &scan->last, sware_tree_cursor_tuple(&scan->tree),
				   sware_tree_cursor_tid(&scan->tree));
	else if (scan->lastReturned == SWARE_LAST_IN_BATCH)
	{
		IndexTuple	entry =
			scan->buffer.entries[scan->buffer.current - 1].entry;

		save_entry(scan, &scan->last, entry, &entry->t_tid);
	}
	scan->lastReturned = SWARE_LAST_SAVED;
}

/* Skip the leaf's next item if it is the entry returned last. */
static void
skip_last_returned(SwareScan *scan)
{
	SwarePosition *position = &scan->tree.position;
	SwareBufferedEntry last;

	last.entry = scan->last.tuple;
	last.abbreviation =
		sware_buffer_cursor_abbreviate(&scan->buffer, last.entry);
	position->current++;
	if (sware_buffer_cursor_compare(&scan->buffer, &last,
									sware_tree_cursor_tuple(&scan->tree),
									sware_tree_cursor_tid(&scan->tree)) != 0)
		position->current--;
}

static inline void
before_page(SwareScan *scan)
{
	if (scan->tree.beforePage)
		scan->tree.beforePage(scan->scan);
}

/*
 * Seek with both cursors, buffer first: the entries beyond the one returned
 * last, in the direction of the scan, or all entries.
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
	scan->lastReturned = SWARE_LAST_SAVED;	/* the batch is replaced */

	before_page(scan);
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
 * Called after a batch was read.  If the buffer has more pages than can have
 * zones, each scan must read many of them.  So a scan that may write flushes
 * some, as inserts do; or pages with none but marked entries, if it has left
 * out many of these.  For the scan it makes no difference from a flush by
 * another backend.
 *
 * A look-up for an insert does not flush, since it holds a key lock; the insert
 * will flush.  The caller holds no lock but on relations.
 */
void
sware_merge_relieve_buffer(SwareScan *scan)
{
	if (!scan->buffer.hasView || !scan->tree.beforePage ||
		!IsMVCCSnapshot(scan->scan->xs_snapshot) ||
		IsInParallelMode() || RecoveryInProgress())
		return;
	if (sware_zone_view_is_over_limit(&scan->buffer.view))
		sware_buffer_flush_piece(scan->scan->indexRelation);
	else if (sware_buffer_cursor_met_dead_pages(&scan->buffer))
		sware_buffer_flush_dead(scan->scan->indexRelation);
}

/*
 * Read the first batch, before anything of the tree, and decide whether there
 * is anything to merge.
 */
static void
merge_begin(SwareScan *scan, ScanDirection direction)
{
	bool		forward = ScanDirectionIsForward(direction);

	before_page(scan);
	sware_buffer_cursor_seek(&scan->buffer, forward, NULL);
	SWARE_FAULT_POINT("scan-buffer-read");
	sware_merge_relieve_buffer(scan);
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
													 position
													 ->tupleOffsets[item]),
									   &position->tids[item]);
}

/*
 * Find the boundary.  Usually it is the next item, if buffer and tree cover
 * the same range of keys, or beyond the leaf's last item, if the buffer is
 * above the tree.  So these are tried before a binary search.
 */
static void
find_boundary(SwareScan *scan)
{
	SwarePosition *position = &scan->tree.position;
	SwareBufferedEntry *head = sware_buffer_cursor_head(&scan->buffer);
	int			step = scan->forward ? 1 : -1;
	int			near = position->current + step;	/* the leaf's next item */
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

	/* The boundary is behind `near`, and `far` is not before the head. */
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
 * Is the tuple of a buffered entry visible to the scan's snapshot?  If it is
 * dead to everybody, this is noted.
 *
 * The visibility map cannot be used: no pin keeps VACUUM from removing the
 * entry's tuple, so another tuple may have its TID by now.
 */
static bool
is_visible(SwareScan *scan, const SwareBufferedEntry *buffered)
{
	IndexScanDesc descriptor = scan->scan;
	ItemPointerData tid = buffered->entry->t_tid;	/* the call may change it */
	bool		call_again = false;
	bool		all_dead = false;
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
										&call_again, &all_dead);
	while (!found && call_again);
	ExecClearTuple(scan->slot);
	if (!found && all_dead)
		sware_buffer_cursor_note_dead(&scan->buffer, buffered);
	return found;
}

/*
 * Pin the page of a buffered entry.  Returns false, with nothing pinned, if
 * pages have retired since the entry was read, so that it may have left this
 * page.
 *
 * The pin keeps VACUUM from freeing the entry's TID for use by another tuple:
 * VACUUM first flushes the buffer, which raises the generation, and then takes
 * a cleanup lock on every retired page.
 */
static bool
pin_buffer_page(SwareScan *scan, const SwareBufferedEntry *buffered)
{
	Relation	index = scan->scan->indexRelation;

	scan->bufferPin =
		sware_read_buffer_page(index, buffered->source.page, BUFFER_LOCK_SHARE);
	if (!BufferIsValid(scan->bufferPin))
		return false;
	sware_unlock_buffer(scan->bufferPin);
	if (sware_buffer_generation(index) == scan->buffer.generation)
		return true;
	unpin_buffer_page(scan);
	return false;
}

/* Return an item of the leaf, and go to the next one. */
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
 * Return the head, if possible.  Returns false if not: then the head has been
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
	else if (scan->scan->xs_want_itup && !is_visible(scan, head))
	{
		/* The entry returned last may be the one before the head. */
		if (scan->lastReturned == SWARE_LAST_IN_BATCH)
			save_last(scan);
		scan->buffer.current++;
		scan->boundaryIsKnown = false;
		return false;
	}

	scan->buffer.current++;
	scan->boundaryIsKnown = false;
	scan->lastReturned = SWARE_LAST_IN_BATCH;
	scan->state = SWARE_CURSOR_ON_ITEM;
	scan->scan->xs_heaptid = head->entry->t_tid;
	if (scan->scan->xs_want_itup)
		scan->scan->xs_itup = head->entry;
	return true;
}

/*
 * Go to the next entry in the direction.  Returns false at the end; from there
 * the scan may turn around.
 */
static bool
merge_next(SwareScan *scan, ScanDirection direction)
{
	bool		forward = ScanDirectionIsForward(direction);
	int			step = forward ? 1 : -1;
	SwarePosition *position = &scan->tree.position;
	SwareBufferCursor *buffer = &scan->buffer;

	unpin_buffer_page(scan);
	if (!scan->isSought || scan->forward != forward)
	{
		if (scan->state ==
			(forward ? SWARE_CURSOR_AFTER_LAST : SWARE_CURSOR_BEFORE_FIRST))
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
				before_page(scan);
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
				scan->treeIsDone =
					!sware_tree_cursor_next_page(&scan->tree, direction);
				scan->boundaryIsKnown = false;
				continue;
			}
		}

		head = sware_buffer_cursor_head(buffer);
		if (head == NULL)
		{
			scan->state = forward ? SWARE_CURSOR_AFTER_LAST :
				SWARE_CURSOR_BEFORE_FIRST;
			scan->isSought = false;
			return false;
		}
		if (!scan->treeIsDone && scan->headIsAtBoundary)
		{
			/* the leaf has this entry, too */
			if (scan->lastReturned == SWARE_LAST_IN_BATCH)
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

/*
 * Note that the row of the entry returned last is dead to everybody, unless all
 * there is of the entry is a saved copy.
 */
static void
note_dead(SwareScan *scan)
{
	if (scan->mode == SWARE_SCAN_TREE ?
		scan->tree.state == SWARE_CURSOR_ON_ITEM :
		(scan->mode == SWARE_SCAN_MERGE &&
		 scan->state == SWARE_CURSOR_ON_ITEM &&
		 scan->lastReturned == SWARE_LAST_IN_LEAF))
		sware_tree_cursor_note_dead(&scan->tree);
	else if (scan->mode == SWARE_SCAN_MERGE &&
			 scan->state == SWARE_CURSOR_ON_ITEM &&
			 scan->lastReturned == SWARE_LAST_IN_BATCH)
		sware_buffer_cursor_note_dead(&scan->buffer,
									  &scan->buffer.entries[scan->buffer.current - 1]);
}

/*
 * Go to the next entry of the whole scan, or of the interval that it is
 * restricted to.  Returns false at the end.  kill_prior_tuple says that the row
 * of the entry returned last is dead to everybody.  Reads pages, and runs
 * comparators without any lock; the caller holds none.
 */
bool
sware_scan_next(IndexScanDesc descriptor, ScanDirection direction)
{
	SwareScan  *scan = descriptor->opaque;
	SwareTreeCursor *tree = &scan->tree;

	if (descriptor->kill_prior_tuple)
		note_dead(scan);
	if (scan->mode == SWARE_SCAN_UNDECIDED)
		merge_begin(scan, direction);
	if (scan->mode == SWARE_SCAN_MERGE)
		return merge_next(scan, direction);

	if (!sware_tree_cursor_next(tree, direction))
		return false;
	descriptor->xs_heaptid = *sware_tree_cursor_tid(tree);
	if (tree->wantTuples)
		descriptor->xs_itup = sware_tree_cursor_tuple(tree);
	return true;
}

IndexTuple
sware_largest_entry(Relation index)
{
	IndexScanDesc descriptor = sware_scan_begin(index, 1, NULL);
	IndexTuple	largest = NULL;

	ScanKeyEntryInitialize(descriptor->keyData, SK_ISNULL | SK_SEARCHNOTNULL, 1,
						   InvalidStrategy, InvalidOid, InvalidOid, InvalidOid,
						   (Datum) 0);
	descriptor->xs_snapshot = SnapshotAny;
	descriptor->xs_want_itup = true;
	sware_scan_restart(descriptor);
	if (sware_scan_next(descriptor, BackwardScanDirection))
		largest = CopyIndexTuple(descriptor->xs_itup);
	sware_scan_end(descriptor->opaque);
	IndexScanEnd(descriptor);
	return largest;
}

/* Mark the position of the scan. */
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
		save_entry(scan, &scan->marked, scan->last.tuple,
				   &scan->last.tuple->t_tid);
	}
}

/*
 * Go back to the marked position.  The cursors seek when the scan goes on, in
 * the direction that it has then.
 */
void
sware_merge_restore(SwareScan *scan)
{
	unpin_buffer_page(scan);
	scan->state = scan->markState;
	scan->isSought = false;
	scan->lastReturned = SWARE_LAST_SAVED;
	if (scan->state == SWARE_CURSOR_ON_ITEM)
		save_entry(scan, &scan->last, scan->marked.tuple,
				   &scan->marked.tuple->t_tid);
}
