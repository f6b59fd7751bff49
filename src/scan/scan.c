/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  The access method's callbacks for scans.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"

#include "cursor/mergescan.h"
#include "cursor/stagedsource.h"
#include "scan/scan.h"
#include "unique/unique.h"
#include "locks/predicatelocks.h"
#include "staging/staging.h"

SwareScanReads sware_session_reads;

/*
 * Publish what this session has staged for an index, before a page of the index
 * is read, unless the scan searches staging itself.  That is not done for the
 * planner: an estimate need not include what is staged.
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
 * The amgettuple callback: set xs_heaptid, and xs_itup if wanted, to the next
 * entry.  Returns false if there is none.
 */
bool
sware_gettuple(IndexScanDesc descriptor, ScanDirection direction)
{
	SwareScan  *scan = descriptor->opaque;

	descriptor->xs_recheck = false;
	if (!scan->record.isAsked)
		sware_ask_for_record(descriptor, direction);
	if (scan->record.count > 0)
		return sware_next_of_record(descriptor, direction);

	if (descriptor->parallel_scan == NULL)
	{
		bool		found;

		if (scan->mode == SWARE_SCAN_UNDECIDED)
			sware_wait_for_staged_keys(descriptor);
		found = sware_scan_next(descriptor, direction);
		if (scan->record.mayInstall)
			sware_offer_record(scan, direction);
		return found;
	}

	for (;;)
	{
		if (scan->mode == SWARE_SCAN_UNDECIDED &&
			!sware_claim_interval(scan, direction))
			return false;
		if (sware_scan_next(descriptor, direction))
			return true;
		sware_scan_rewind(scan);
	}
}

/* Add the TID of a buffered entry to a bitmap. */
static void
add_to_bitmap(ItemPointer tid, void *bitmap)
{
	tbm_add_tuples(bitmap, tid, 1, false);
}

/*
 * The amgetbitmap callback: add the TIDs of all entries to a bitmap, and return
 * their number.  In a parallel plan, one process makes the bitmap for all.
 *
 * Buffer pages that retire while the buffer is read make no difference: their
 * entries are found in the tree, all of which is read afterwards.  A TID that
 * is added twice is in the bitmap once.
 */
int64
sware_getbitmap(IndexScanDesc descriptor, TIDBitmap *bitmap)
{
	SwareScan  *scan = descriptor->opaque;
	SwareTreeCursor *tree = &scan->tree;
	SwarePosition *position = &tree->position;
	SwareVisitor visitor = {.visit = add_to_bitmap,.state = bitmap};
	int64		total;

	scan->mode = SWARE_SCAN_TREE;
	tree->readAtMost = SWARE_READ_ALL;
	publish_staged(descriptor);
	sware_buffer_cursor_visit_all(sware_scan_buffer(scan), &visitor);
	total = visitor.visited;
	sware_merge_relieve_buffer(scan);

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
	switch (scan->markMode)
	{
		case SWARE_SCAN_UNDECIDED:
			sware_scan_rewind(scan);
			break;
		case SWARE_SCAN_TREE:
			sware_tree_cursor_restore(&scan->tree);
			break;
		case SWARE_SCAN_MERGE:
			sware_merge_restore(scan);
			break;
	}
}
