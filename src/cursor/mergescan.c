/*-------------------------------------------------------------------------
 *
 * mergescan.c
 *	  Scanning the buffer and the tree together.  See mergescan.h.
 *
 * The next entry of the batch is its *head*.  How many of the leaf's items come
 * before the head is found out once; these are returned without comparisons.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

#include "base/faultpoint.h"
#include "buffer/buffer.h"
#include "cursor/mergescan.h"
#include "pages/bufferpages.h"
#include "pages/cache.h"
#include "pages/pageaccess.h"
#include "shared/flushrequests.h"
#include "shared/statistics.h"

#define SCANS_COUNTED_AT_ONCE	64

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

	/* nothing has been read, and the cursors are large */
	memset(scan, 0, offsetof(SwareScan, buffer));
	scan->scan = descriptor;
	scan->context = CurrentMemoryContext;
	scan->visibility.scan = descriptor;
	scan->visibility.context = scan->context;
	sware_tree_cursor_init(&scan->tree, descriptor, before_page);
	descriptor->xs_itupdesc = RelationGetDescr(index);
	descriptor->parallel_scan = NULL;	/* PostgreSQL sets it afterwards */
	descriptor->opaque = scan;
	return descriptor;
}

SwareBufferCursor *
sware_scan_buffer(SwareScan *scan)
{
	if (!scan->usesBuffer)
		sware_buffer_cursor_init(&scan->buffer, scan->scan, &scan->tree.keys,
								 &scan->visibility, scan->context);
	scan->usesBuffer = true;
	return &scan->buffer;
}

/* Release all pins, and forget the positions of the scan and its mark. */
void
sware_scan_rewind(SwareScan *scan)
{
	unpin_buffer_page(scan);
	scan->mode = SWARE_SCAN_UNDECIDED;
	scan->markMode = SWARE_SCAN_UNDECIDED;
	if (scan->usesBuffer)
		sware_buffer_cursor_rewind(&scan->buffer);
	sware_tree_cursor_rewind(&scan->tree);
}

void
sware_scan_restart(IndexScanDesc descriptor)
{
	SwareScan  *scan = descriptor->opaque;

	if (scan->mode != SWARE_SCAN_UNDECIDED)
		sware_scan_rewind(scan);
	sware_scan_keys_analyze(&scan->tree.keys, descriptor->keyData,
							descriptor->numberOfKeys);
}

/* Release all pins, and free all memory except the descriptor. */
void
sware_scan_end(SwareScan *scan)
{
	unpin_buffer_page(scan);
	if (BufferIsValid(scan->visibility.mapPage))
		ReleaseBuffer(scan->visibility.mapPage);
	if (scan->visibility.slot)
		ExecDropSingleTupleTableSlot(scan->visibility.slot);
	if (scan->visibility.isVisible)
		pfree(scan->visibility.isVisible);
	sware_free_saved_entry(&scan->saved);
	sware_free_saved_entry(&scan->marked);
	if (scan->claim)
		pfree(scan->claim);
	if (scan->usesBuffer)
		sware_buffer_cursor_end(&scan->buffer);
	sware_tree_cursor_end(&scan->tree);
	sware_table_ahead_end(&scan->ahead);
	pfree(scan);
}

/*
 * Unpin the page of the entry returned last, and save a copy of the entry, if
 * there is one.  Called before the leaf or the batch that holds it is replaced.
 */
static void
save_last(SwareScan *scan)
{
	unpin_buffer_page(scan);
	if (scan->state != SWARE_CURSOR_ON_ITEM)
	{
		scan->last = NULL;
		return;
	}
	if (scan->last == NULL)
		sware_save_entry(&scan->saved, scan->context,
						 sware_tree_cursor_tuple(&scan->tree),
						 sware_tree_cursor_tid(&scan->tree));
	else if (scan->last != scan->saved.tuple)
		sware_save_entry(&scan->saved, scan->context, scan->last,
						 &scan->last->t_tid);
	scan->last = scan->saved.tuple;
}

/* Skip the leaf's next item if it is the entry returned last. */
static void
skip_last_returned(SwareScan *scan)
{
	SwarePosition *position = &scan->tree.position;
	int			column;

	position->current++;
	if (!ItemPointerEquals(sware_tree_cursor_tid(&scan->tree),
						   &scan->last->t_tid) ||
		sware_compare_columns(scan->scan->indexRelation,
							  sware_tree_cursor_tuple(&scan->tree), scan->last,
							  &column) != 0)
		position->current--;
}

static inline void
before_page(SwareScan *scan)
{
	if (scan->tree.beforePage)
		scan->tree.beforePage(scan->scan);
}

/* Read the first batch beyond the entry returned last, in a direction. */
static void
seek_in_buffer(SwareScan *scan, ScanDirection direction)
{
	save_last(scan);
	sware_buffer_cursor_seek(sware_scan_buffer(scan),
							 ScanDirectionIsForward(direction), scan->last);
	SWARE_FAULT_POINT("scan-buffer-read");
}

/* Afterwards, seek in the tree. */
static void
seek_in_tree(SwareScan *scan, ScanDirection direction)
{
	scan->treeIsDone =
		!sware_tree_cursor_seek(&scan->tree, scan->last, direction);
	if (scan->last && ScanDirectionIsForward(direction) && !scan->treeIsDone)
		skip_last_returned(scan);
	scan->sought = direction;
	scan->itemsBefore = -1;
}

/*
 * Seek with both cursors, buffer first: the entries beyond the one returned
 * last, in a direction, or all entries.
 */
static void
seek(SwareScan *scan, ScanDirection direction)
{
	unpin_buffer_page(scan);
	before_page(scan);
	seek_in_buffer(scan, direction);
	seek_in_tree(scan, direction);
}

/*
 * Called after a batch was read.  If the buffer has more pages than can have
 * zones, and than are read fast without, a scan that may write flushes some, as
 * inserts do.  For the scan it is like a flush by another backend.
 *
 * A look-up for an insert does not flush, since it holds a key lock; the insert
 * will flush.  The caller holds no lock but on relations.
 */
void
sware_merge_relieve_buffer(SwareScan *scan)
{
	const SwareZoneView *zones = &scan->buffer.zones;

	if (!scan->tree.beforePage || IsInParallelMode() || RecoveryInProgress() ||
		!(IsMVCCSnapshot(scan->scan->xs_snapshot) ||
		  sware_scan_is_for_planner(scan->scan)))
		return;
	if (zones->chunksWanted >
		Max(zones->chunksGranted, SWARE_PAGES_WITHOUT_ZONES))
		(void) sware_buffer_flush_piece(scan->scan->indexRelation,
										SWARE_READER);
}

void
sware_count_scan(Relation index)
{
	SwareCache *cache = sware_cache(index);
	SwareBufferState state;

	if (likely(++cache->scans < SCANS_COUNTED_AT_ONCE))
		return;
	cache->scans = 0;
	sware_count_use(index, SCANS_COUNTED_AT_ONCE, 0);
	if (!RecoveryInProgress() && sware_buffer_read_state(index, &state) &&
		sware_buffer_is_bypassed(index))
		(void) sware_request_flush(index, SWARE_START_AT_ONCE);
}

/*
 * Read the first batch, before anything of the tree, and decide whether there
 * is anything to merge.
 */
static void
merge_begin(SwareScan *scan, ScanDirection direction)
{
	scan->state = SWARE_CURSOR_UNPOSITIONED;
	scan->seesLaterRows = sware_scan_sees_later_rows(scan->scan);
	before_page(scan);
	if (likely(scan->tree.beforePage && scan->scan->parallel_scan == NULL))
		sware_count_scan(scan->scan->indexRelation);
	if (likely(!scan->seesLaterRows && !sware_scan_has_staged(scan->scan) &&
			   sware_buffer_is_known_empty(scan->scan->indexRelation)))
	{
		SWARE_FAULT_POINT("scan-buffer-read");
		scan->mode = SWARE_SCAN_TREE;
		return;
	}

	seek_in_buffer(scan, direction);
	sware_merge_relieve_buffer(scan);
	if (scan->buffer.batch.count == 0)
	{
		Assert(!scan->buffer.batch.hasMore);
		scan->mode = SWARE_SCAN_TREE;
		scan->tree.isMerged = scan->seesLaterRows;
		return;
	}

	scan->mode = SWARE_SCAN_MERGE;
	scan->tree.isMerged = true;
	seek_in_tree(scan, direction);
}

/*
 * Go on by merging, from where a scan of the tree alone is.  The scan sees
 * later rows, so the tree cursor has tuples.
 */
static void
go_on_merging(SwareScan *scan)
{
	Assert(scan->mode == SWARE_SCAN_TREE && scan->tree.isMerged);
	scan->mode = SWARE_SCAN_MERGE;
	scan->state = scan->tree.state;
	scan->last = NULL;
	scan->sought = NoMovementScanDirection;
}

/*
 * Has this backend inserted rows, since the cursors sought, that the scan may
 * see?
 */
static inline bool
has_later_rows(const SwareScan *scan)
{
	return unlikely(scan->seesLaterRows) &&
		scan->buffer.arrivals != sware_arrivals;
}

/* Compare the head with an item of the leaf, in the order of the scan. */
static inline int
compare_head(SwareScan *scan, const SwareBufferedEntry *head, int item)
{
	SwareScanOrder *order = &scan->buffer.filter.order;
	SwarePosition *position = &scan->tree.position;
	SwareSortItem other =
		sware_scan_order_item(order, sware_position_tuple(position, item));

	return sware_scan_order_compare(order, &head->item, &other,
									&position->tids[item]);
}

/*
 * Find out how many items of the leaf come before the head, and whether the
 * next one equals it.  Usually few do, if buffer and tree cover the same range
 * of keys, so the number that is tried is doubled before it is halved.
 */
static void
count_items_before(SwareScan *scan)
{
	SwarePosition *position = &scan->tree.position;
	const SwareBufferedEntry *head = sware_batch_head(&scan->buffer.batch);
	bool		forward = ScanDirectionIsForward(scan->sought);
	int			step = forward ? 1 : -1;
	int			current = position->current;
	int			count = forward ? position->last - current :
		current - position->first;
	int			low = 0;		/* items before the head, at least */
	int			high = count;	/* and at most */
	int			probe = 0;		/* the number of the item to look at */

	scan->headIsInLeaf = false;
	while (head && low < high)
	{
		int			order =
			compare_head(scan, head, current + (probe + 1) * step);

		if (order > 0)
			low = probe + 1;
		else
		{
			high = probe;
			scan->headIsInLeaf = order == 0;
		}
		probe = high == count ? Min(2 * low, count - 1) :
			low + (high - low - 1) / 2;
	}
	scan->itemsBefore = head ? low : count;
}

/*
 * Pin the page of a buffered entry, unless it is pinned for the entry before.
 * Returns false, with nothing pinned, if pages have retired since the entry was
 * read, so that it may have left this page.
 *
 * The pin keeps VACUUM from freeing the entry's TID for use by another tuple:
 * VACUUM first flushes the buffer, which raises the generation, and then takes
 * a cleanup lock on every retired page.  So the TIDs of all entries of the
 * page that the batch has are kept from then on.  No other page is locked while
 * it is pinned.
 */
static bool
pin_buffer_page(SwareScan *scan, const SwareBufferedEntry *buffered)
{
	Relation	index = scan->scan->indexRelation;

	if (BufferIsValid(scan->bufferPin) &&
		sware_links_equal(scan->pinnedPage, buffered->source.page))
		return true;
	unpin_buffer_page(scan);
	scan->pinnedPage = buffered->source.page;
	scan->bufferPin =
		sware_read_buffer_page(index, buffered->source.page, BUFFER_LOCK_SHARE);
	if (!BufferIsValid(scan->bufferPin))
		return false;
	sware_unlock_buffer(scan->bufferPin);
	if (sware_buffer_cursor_is_current(&scan->buffer))
		return true;
	unpin_buffer_page(scan);
	return false;
}

/*
 * Return the item that the tree cursor is on.  Returns false if an index-only
 * scan must leave it out, since its row is not visible; if the leaf is pinned,
 * the executor finds that out.
 */
static inline bool
return_item(SwareScan *scan, bool forward)
{
	IndexScanDesc descriptor = scan->scan;
	SwareTreeCursor *tree = &scan->tree;

	if (unlikely(--scan->ahead.leaf.patience == 0))
		sware_ask_for_rows(&scan->ahead, descriptor, tree, NULL, forward);
	if (descriptor->xs_want_itup && !BufferIsValid(tree->position.buffer) &&
		!sware_find_out_visibility(&scan->visibility, tree))
		return false;
	descriptor->xs_heaptid = *sware_tree_cursor_tid(tree);
	if (descriptor->xs_want_itup)
		descriptor->xs_itup = sware_tree_cursor_tuple(tree);
	return true;
}

/*
 * Go to the leaf's next item in the direction of the scan, and return it if
 * possible.  Returns false if not: then the item has been skipped.
 */
static inline bool
return_next_item(SwareScan *scan)
{
	bool		forward = ScanDirectionIsForward(scan->sought);

	scan->tree.position.current += forward ? 1 : -1;
	scan->itemsBefore--;
	scan->last = NULL;
	scan->state = SWARE_CURSOR_ON_ITEM;
	return return_item(scan, forward);
}

/* Go to the next entry of the batch. */
static inline void
skip_head(SwareScan *scan)
{
	scan->buffer.batch.current++;
	scan->itemsBefore = -1;
}

/*
 * Return the head, if possible.  Returns false if not: then the head has been
 * skipped, or both cursors have sought again.
 */
static bool
return_head(SwareScan *scan, const SwareBufferedEntry *head)
{
	IndexTuple	entry = head->item.entry;

	if (unlikely(--scan->ahead.batch.patience == 0))
		sware_ask_for_rows(&scan->ahead, scan->scan, NULL, &scan->buffer.batch,
						   scan->ahead.forward);
	if (!IsMVCCSnapshot(scan->scan->xs_snapshot))
	{
		if (!pin_buffer_page(scan, head))
		{
			seek(scan, scan->sought);
			return false;
		}
		SWARE_FAULT_POINT("scan-pinned");
	}
	else if (scan->scan->xs_want_itup &&
			 !sware_buffer_cursor_sees_head(&scan->buffer))
	{
		skip_head(scan);
		return false;
	}

	skip_head(scan);
	scan->last = entry;
	scan->state = SWARE_CURSOR_ON_ITEM;
	scan->scan->xs_heaptid = entry->t_tid;
	if (scan->scan->xs_want_itup)
		scan->scan->xs_itup = entry;
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
	SwarePosition *position = &scan->tree.position;
	SwareBufferBatch *batch = &scan->buffer.batch;

	if (scan->state ==
		(forward ? SWARE_CURSOR_AFTER_LAST : SWARE_CURSOR_BEFORE_FIRST))
		return false;
	if (scan->sought != direction || has_later_rows(scan))
		seek(scan, direction);

	for (;;)
	{
		SwareBufferedEntry *head;

		if (scan->itemsBefore < 0)
		{
			if (batch->current == batch->count && batch->hasMore)
			{
				save_last(scan);
				before_page(scan);
				if (!sware_buffer_cursor_read_on(&scan->buffer))
				{
					seek(scan, direction);
					continue;
				}
			}
			if (!scan->treeIsDone)
				count_items_before(scan);
		}

		if (!scan->treeIsDone)
		{
			if (scan->itemsBefore > 0)
			{
				unpin_buffer_page(scan);
				if (return_next_item(scan))
					return true;
				CHECK_FOR_INTERRUPTS();
				continue;
			}
			if (forward ? position->current >= position->last :
				position->current <= position->first)
			{
				save_last(scan);
				scan->treeIsDone =
					!sware_tree_cursor_next_page(&scan->tree, direction);
				scan->itemsBefore = -1;
				continue;
			}
		}

		head = sware_batch_head(batch);
		if (head == NULL)
		{
			unpin_buffer_page(scan);
			scan->state = forward ? SWARE_CURSOR_AFTER_LAST :
				SWARE_CURSOR_BEFORE_FIRST;
			scan->sought = NoMovementScanDirection;
			return false;
		}
		if (!scan->treeIsDone && scan->headIsInLeaf)
			skip_head(scan);
		else if (return_head(scan, head))
			return true;
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Note that the row of the entry returned last is dead to everybody, unless
 * only a saved copy of the entry is left.
 */
static void
note_dead(SwareScan *scan)
{
	SwareBufferBatch *batch = &scan->buffer.batch;
	bool		is_merge = scan->mode == SWARE_SCAN_MERGE;

	if (scan->mode == SWARE_SCAN_UNDECIDED || sware_scan_is_at_end(scan))
		return;
	if (!is_merge || scan->last == NULL)
		sware_tree_cursor_note_dead(&scan->tree);
	else if (batch->current > 0 &&
			 scan->last == batch->entries[batch->current - 1].item.entry)
		sware_buffer_cursor_note_dead(&scan->buffer,
									  &batch->entries[batch->current - 1]);
}

/*
 * Go to the next entry of the whole scan, or of the interval that it is
 * restricted to.  Returns false at the end.  kill_prior_tuple says that the row
 * of the entry returned last is dead to everybody.  Reads pages, and calls
 * comparators without any lock; the caller holds none.
 */
bool
sware_scan_next(IndexScanDesc descriptor, ScanDirection direction)
{
	SwareScan  *scan = descriptor->opaque;

	if (descriptor->kill_prior_tuple)
		note_dead(scan);
	if (scan->mode == SWARE_SCAN_UNDECIDED)
		merge_begin(scan, direction);
	if (has_later_rows(scan) && scan->mode == SWARE_SCAN_TREE)
		go_on_merging(scan);
	if (scan->mode == SWARE_SCAN_MERGE)
		return merge_next(scan, direction);

	while (sware_tree_cursor_next(&scan->tree, direction))
	{
		if (return_item(scan, ScanDirectionIsForward(direction)))
			return true;
		CHECK_FOR_INTERRUPTS();
	}
	return false;
}

IndexTuple
sware_largest_entry(Relation index)
{
	IndexScanDesc descriptor = sware_scan_begin(index, 1, NULL);
	IndexTuple	entry = NULL;

	ScanKeyEntryInitialize(descriptor->keyData, SK_ISNULL | SK_SEARCHNOTNULL, 1,
						   InvalidStrategy, InvalidOid, InvalidOid, InvalidOid,
						   (Datum) 0);
	descriptor->xs_snapshot = SnapshotAny;
	descriptor->xs_want_itup = true;
	sware_scan_restart(descriptor);
	if (sware_scan_next(descriptor, BackwardScanDirection))
		entry = CopyIndexTuple(descriptor->xs_itup);
	sware_scan_end(descriptor->opaque);
	IndexScanEnd(descriptor);
	return entry;
}

/*
 * Mark the position of the scan.  If a scan of the tree alone may have to seek
 * again, it goes on by merging: then the tree's cursor needs no mark.
 */
void
sware_merge_mark(SwareScan *scan)
{
	if (scan->mode == SWARE_SCAN_TREE && scan->seesLaterRows)
		go_on_merging(scan);
	scan->markMode = scan->mode;
	if (scan->mode == SWARE_SCAN_TREE)
		sware_tree_cursor_mark(&scan->tree);
	if (scan->mode != SWARE_SCAN_MERGE)
		return;
	scan->markState = scan->state;
	if (scan->state == SWARE_CURSOR_ON_ITEM)
	{
		save_last(scan);
		sware_save_entry(&scan->marked, scan->context, scan->last,
						 &scan->last->t_tid);
	}
}

/*
 * Go back to the marked position.  The cursors seek when the scan goes on, in
 * the direction that it has then.
 */
void
sware_merge_restore(SwareScan *scan)
{
	scan->state = scan->markState;
	scan->sought = NoMovementScanDirection;
	scan->last = NULL;
	if (scan->state == SWARE_CURSOR_ON_ITEM)
	{
		sware_save_entry(&scan->saved, scan->context, scan->marked.tuple,
						 &scan->marked.tuple->t_tid);
		scan->last = scan->saved.tuple;
	}
}
