/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  The access method's callbacks for scans.
 *
 * A scan that looks up one key takes the TIDs from the record cache, or fills
 * the cache (records/recordcache.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/xact.h"
#include "pgstat.h"
#include "utils/snapmgr.h"

#include "base/faultpoint.h"
#include "scan/scan.h"
#include "unique/unique.h"
#include "locks/predicatelocks.h"
#include "staging/staging.h"

SwareScanReads sware_session_reads;

/*
 * Before a page is read, publish what this session has staged for the index,
 * unless the scan searches staging itself, or makes an estimate for the
 * planner.
 */
static void
publish_staged(IndexScanDesc descriptor)
{
	if (!sware_scan_searches_staging(descriptor) &&
		!sware_scan_is_for_planner(descriptor))
		sware_publish_index(descriptor->indexRelation);
}

/* The ambeginscan callback. */
IndexScanDesc
sware_beginscan(Relation index, int key_count, int order_by_count)
{
	/* no ordering operators are supported */
	Assert(order_by_count == 0);
	return sware_scan_begin(index, key_count, publish_staged);
}

/*
 * The amrescan callback: start or restart a scan.  Without keys, the scan keeps
 * those that it has.
 */
void
sware_rescan(IndexScanDesc descriptor, ScanKey keys, int key_count,
			 ScanKey order_bys, int order_by_count)
{
	SwareScan  *scan = descriptor->opaque;

	scan->record.isAsked = scan->record.mayInstall = false;
	scan->record.count = 0;
	scan->record.marked = -1;
	sware_table_ahead_restart(&scan->ahead, sware_scan_is_at_end(scan));
	if (keys && descriptor->numberOfKeys > 0)
		memmove(descriptor->keyData, keys,
				descriptor->numberOfKeys * sizeof(ScanKeyData));
	if (keys || descriptor->numberOfKeys == 0)
		sware_scan_restart(descriptor);
	else
	{
		sware_scan_rewind(scan);
		sware_scan_keys_lift_restriction(&scan->tree.keys);
	}
	sware_lock_predicates(descriptor, &scan->tree.keys);
}

/*
 * Does a scan look up one key, so that a record says what it finds?  Its only
 * condition is equality, of the column's own type, and it has an MVCC snapshot.
 * It is no index-only scan, nor in a parallel plan or a transaction that began
 * in recovery; no rows may be removed that a snapshot sees
 * (old_snapshot_threshold); and this session has not staged entries for the
 * index, nor may it insert rows that the scan sees.
 *
 * The scan has taken its predicate lock when it was restarted, so it does not
 * matter to serializable transactions where the TIDs come from.
 */
static bool
looks_up_key(IndexScanDesc descriptor)
{
	Relation	index = descriptor->indexRelation;
	ScanKey		condition = descriptor->keyData;

	return descriptor->numberOfKeys == 1 &&
		condition->sk_flags == 0 &&
		condition->sk_strategy == BTEqualStrategyNumber &&
		(condition->sk_subtype == InvalidOid ||
		 condition->sk_subtype == index->rd_opcintype[0]) &&
		descriptor->xs_snapshot != NULL &&
		IsMVCCSnapshot(descriptor->xs_snapshot) &&
		!descriptor->xs_want_itup &&
		descriptor->parallel_scan == NULL && !IsInParallelMode() &&
		!descriptor->xactStartedInRecovery &&

	/* an imported snapshot may see rows whose entries scans leave out */
		!descriptor->xs_snapshot->takenDuringRecovery &&
		!sware_snapshots_get_too_old() &&
		!sware_scan_has_staged(descriptor) &&
		!sware_scan_sees_later_rows(descriptor);
}

/*
 * Ask the cache for the scan's key, before anything of the index is read.  May
 * read the metapage, and raise errors of that.
 */
static void
ask_for_record(IndexScanDesc descriptor, ScanDirection direction)
{
	SwareScan  *scan = descriptor->opaque;
	SwareScanRecord *record = &scan->record;

	record->isAsked = true;
	if (likely(!sware_has_records(descriptor->indexRelation)) ||
		!looks_up_key(descriptor))
		return;
	record->count = sware_find_record(descriptor->indexRelation,
									  descriptor->keyData->sk_argument,
									  &record->key, record->tids);
	record->current = ScanDirectionIsForward(direction) ? -1 : record->count;
	record->mayInstall = record->count == 0;
	if (record->mayInstall)
	{
		SWARE_FAULT_POINT("record-missed");
		return;
	}
	pgstat_count_index_scan(descriptor->indexRelation);
	sware_count_index_search(descriptor);
}

/* Go to the next TID of the record that the scan has; false: there is none. */
static bool
next_of_record(IndexScanDesc descriptor, ScanDirection direction)
{
	SwareScanRecord *record = &((SwareScan *) descriptor->opaque)->record;

	/* the next look-up searches the index, and has the dead entry marked */
	if (descriptor->kill_prior_tuple)
		sware_remove_record(&record->key, false);

	if (ScanDirectionIsForward(direction))
		record->current = Min(record->current + 1, record->count);
	else
		record->current = Max(record->current - 1, -1);
	if (record->current < 0 || record->current >= record->count)
		return false;
	descriptor->xs_heaptid = record->tids[record->current];
	return true;
}

/* Install what the scan has found, after its first sware_scan_next. */
static void
offer_record(SwareScan *scan, ScanDirection direction)
{
	SwareScanRecord *record = &scan->record;
	SwarePosition *position = &scan->tree.position;
	int			count;

	record->mayInstall = false;
	SWARE_FAULT_POINT("record-read");

	/*
	 * The first leaf must have all entries of the key, those too that only
	 * other snapshots see.  A scan that begins at the other end may not know
	 * that.
	 */
	if (scan->mode != SWARE_SCAN_TREE ||
		!ScanDirectionIsForward(direction) ||
		scan->tree.state != SWARE_CURSOR_ON_ITEM || position->right.more)
		return;
	count = position->last - position->first + 1;
	if (count > 0 && count <= SWARE_RECORD_TIDS)
		sware_install_record(&record->key, &position->tids[position->first],
							 count);
}

/*
 * The amgettuple callback: set xs_heaptid, and xs_itup if wanted, to the next
 * entry.  Returns false if there is none.
 */
bool
sware_gettuple(IndexScanDesc descriptor, ScanDirection direction)
{
	SwareScan  *scan = descriptor->opaque;

	descriptor->xs_recheck = false;
	if (!scan->record.isAsked)
		ask_for_record(descriptor, direction);
	if (unlikely(scan->record.count > 0))
		return next_of_record(descriptor, direction);

	for (;;)
	{
		bool		is_parallel = descriptor->parallel_scan != NULL;
		bool		found;

		if (scan->mode == SWARE_SCAN_UNDECIDED && !is_parallel)
			sware_wait_for_staged_keys(descriptor);
		else if (scan->mode == SWARE_SCAN_UNDECIDED &&
				 !sware_claim_interval(scan, direction))
			return false;
		found = sware_scan_next(descriptor, direction);
		if (unlikely(scan->record.mayInstall))
			offer_record(scan, direction);
		if (found || !is_parallel)
			return found;
		sware_scan_rewind(scan);
	}
}

/*
 * Add the TIDs of all entries of the buffer to a bitmap, and return their
 * number.  Pages that retire between two batches make no difference: their
 * entries are found in the tree, all of which is read afterwards.  A TID that
 * is added twice is in the bitmap once.
 */
static int64
add_buffered(SwareScan *scan, TIDBitmap *bitmap)
{
	SwareBufferCursor *cursor = sware_scan_buffer(scan);
	const SwareBufferBatch *batch = &cursor->batch;
	int64		total = 0;

	sware_buffer_cursor_seek(cursor, true, NULL);
	sware_merge_relieve_buffer(scan);
	for (;;)
	{
		for (int i = 0; i < batch->count; i++)
			tbm_add_tuples(bitmap, &batch->entries[i].item.entry->t_tid, 1,
						   false);
		total += batch->count;
		if (!batch->hasMore)
			break;
		SWARE_FAULT_POINT("bitmap-batch-added");
		if (!sware_buffer_cursor_read_on(cursor))
			sware_buffer_cursor_seek(cursor, true, cursor->last.tuple);
	}
	SWARE_FAULT_POINT("bitmap-buffer-added");
	return total;
}

/*
 * The amgetbitmap callback: add the TIDs of all entries to a bitmap, and return
 * their number.  In a parallel plan, one process makes the bitmap for all.
 */
int64
sware_getbitmap(IndexScanDesc descriptor, TIDBitmap *bitmap)
{
	SwareScan  *scan = descriptor->opaque;
	SwareTreeCursor *tree = &scan->tree;
	SwarePosition *position = &tree->position;
	int64		total;

	scan->mode = SWARE_SCAN_TREE;
	tree->readAtMost = SWARE_READ_ALL;
	publish_staged(descriptor);
	sware_count_scan(descriptor->indexRelation);
	total = add_buffered(scan, bitmap);

	while (sware_tree_cursor_next_page(tree, ForwardScanDirection))
	{
		int			count = position->last - position->first + 1;

		tbm_add_tuples(bitmap, &position->tids[position->first], count, false);
		total += count;
	}
	return total;
}

void
sware_add_scan_reads(SwareScanReads *sum, const SwareScan *scan)
{
	sum->leaves += scan->tree.leavesRead;
	sum->treeEntries += scan->tree.entriesRead;
	sum->tablePrefetches += scan->ahead.asked;
	if (!scan->usesBuffer)
		return;
	sum->buffer.stagedEntries += scan->buffer.reads.stagedEntries;
	sum->buffer.entries += scan->buffer.reads.entries;
	sum->buffer.pages += scan->buffer.reads.pages;
	sum->buffer.zones += scan->buffer.reads.zones;
}

/* The amendscan callback. */
void
sware_endscan(IndexScanDesc descriptor)
{
	if (!sware_scan_is_for_planner(descriptor))
		sware_add_scan_reads(&sware_session_reads, descriptor->opaque);
	sware_scan_end(descriptor->opaque);
}

/* The ammarkpos callback: remember the position of the scan. */
void
sware_markpos(IndexScanDesc descriptor)
{
	SwareScan  *scan = descriptor->opaque;

	if (scan->record.count > 0)
		scan->record.marked = scan->record.current;
	else
		sware_merge_mark(scan);
}

/* The amrestrpos callback: go back to the position that was marked. */
void
sware_restrpos(IndexScanDesc descriptor)
{
	SwareScan  *scan = descriptor->opaque;

	if (scan->record.count > 0)
	{
		scan->record.current = scan->record.marked;
		return;
	}
	if (scan->markMode == SWARE_SCAN_UNDECIDED)
		sware_scan_rewind(scan);
	else if (scan->markMode == SWARE_SCAN_TREE)
		sware_tree_cursor_restore(&scan->tree);
	else
		sware_merge_restore(scan);
}
