/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  The access method's callbacks for scans.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"

#include "am/mergescan.h"
#include "am/parallelscan.h"
#include "am/scan.h"
#include "am/stager.h"
#include "buffer/predicatelocks.h"
#include "buffer/staging.h"

/*
 * Begin a scan.  Cheap: what only some scans need is allocated when they
 * need it.
 */
IndexScanDesc
sware_beginscan(Relation index, int key_count, int order_by_count)
{
	IndexScanDesc descriptor;
	SwareScan  *scan;

	/* no ordering operators are supported */
	Assert(order_by_count == 0);

	descriptor = RelationGetIndexScan(index, key_count, order_by_count);
	scan = palloc(sizeof(SwareScan));
	scan->scan = descriptor;
	scan->context = CurrentMemoryContext;
	sware_tree_cursor_init(&scan->tree, descriptor);
	sware_buffer_cursor_init(&scan->buffer, descriptor, &scan->tree.keys,
							 CurrentMemoryContext);
	sware_merge_init(scan);
	descriptor->xs_itupdesc = RelationGetDescr(index);
	descriptor->parallel_scan = NULL;	/* core sets it afterwards */
	descriptor->opaque = scan;
	return descriptor;
}

/* Let go of what the scan is on; its keys may change then. */
static void
rewind_scan(SwareScan *scan)
{
	sware_merge_rewind(scan);
	sware_buffer_cursor_rewind(&scan->buffer);
	sware_tree_cursor_rewind(&scan->tree);
}

/*
 * Start or restart a scan; without keys, with the same ones as before.
 */
void
sware_rescan(IndexScanDesc descriptor, ScanKey keys, int key_count,
			 ScanKey order_bys, int order_by_count)
{
	SwareScan  *scan = descriptor->opaque;

	rewind_scan(scan);

	/* the planner, which asks for extreme values, can do without ours */
	if (descriptor->xs_snapshot &&
		descriptor->xs_snapshot->snapshot_type == SNAPSHOT_NON_VACUUMABLE)
		scan->beforePage = NULL;
	else
		scan->beforePage = sware_publish_index;
	scan->tree.beforePage = scan->beforePage;
	if (keys && descriptor->numberOfKeys > 0)
		memmove(descriptor->keyData, keys, descriptor->numberOfKeys * sizeof(ScanKeyData));
	if (keys || descriptor->numberOfKeys == 0)
		sware_scan_keys_analyze(&scan->tree.keys, descriptor->keyData,
								descriptor->numberOfKeys);
	else
		sware_scan_keys_lift_restriction(&scan->tree.keys);
	sware_lock_predicates(descriptor, &scan->tree.keys);
}

/* The next entry of the whole scan, or of the interval that it is restricted to. */
static bool
next_entry(SwareScan *scan, ScanDirection direction)
{
	IndexScanDesc descriptor = scan->scan;
	SwareTreeCursor *tree = &scan->tree;

	if (scan->mode == SWARE_SCAN_UNDECIDED)
	{
		/* an insert looks its key up in this way, too, but has it locked */
		if (scan->beforePage)
			sware_wait_for_staged_keys(descriptor);
		sware_merge_begin(scan, direction);
	}
	if (scan->mode == SWARE_SCAN_MERGE)
		return sware_merge_next(scan, direction);

	if (!sware_tree_cursor_next(tree, direction))
		return false;
	descriptor->xs_heaptid = *sware_tree_cursor_tid(tree);
	if (tree->wantTuples)
		descriptor->xs_itup = sware_tree_cursor_tuple(tree);
	return true;
}

/*
 * The next entry.
 *
 * kill_prior_tuple is ignored: without a conflict horizon in WAL, dropping
 * entries outside VACUUM would take rows from a standby's older snapshots.
 */
bool
sware_gettuple(IndexScanDesc descriptor, ScanDirection direction)
{
	SwareScan  *scan = descriptor->opaque;

	descriptor->xs_recheck = false;
	if (descriptor->parallel_scan == NULL)
		return next_entry(scan, direction);

	for (;;)
	{
		if (scan->mode == SWARE_SCAN_UNDECIDED && !sware_claim_interval(scan, direction))
			return false;
		if (next_entry(scan, direction))
			return true;
		rewind_scan(scan);
	}
}

static void
add_to_bitmap(ItemPointer tid, void *bitmap)
{
	tbm_add_tuples(bitmap, tid, 1, false);
}

/*
 * Add all entries to a bitmap; returns their number.  In a parallel plan, one
 * process makes the bitmap for all.
 *
 * What pages have retired since the buffer was read makes no difference here:
 * the whole tree is read afterwards.  An entry that is added twice is in the
 * bitmap once.
 */
int64
sware_getbitmap(IndexScanDesc descriptor, TIDBitmap *bitmap)
{
	SwareScan  *scan = descriptor->opaque;
	SwareTreeCursor *tree = &scan->tree;
	SwarePosition *position = &tree->position;
	int64		total;

	scan->mode = SWARE_SCAN_TREE;
	if (scan->beforePage)
		scan->beforePage(descriptor->indexRelation);
	total = sware_buffer_cursor_visit_all(&scan->buffer, add_to_bitmap, bitmap);

	while (sware_tree_cursor_next_page(tree, ForwardScanDirection))
	{
		int			count = position->last - position->first + 1;

		tbm_add_tuples(bitmap, &position->tids[position->first], count, false);
		total += count;
	}
	return total;
}

/*
 * End a scan.
 */
void
sware_endscan(IndexScanDesc descriptor)
{
	SwareScan  *scan = descriptor->opaque;

	sware_merge_end(scan);
	sware_buffer_cursor_end(&scan->buffer);
	sware_tree_cursor_end(&scan->tree);
	pfree(scan);
}

/*
 * Remember where the scan is.
 */
void
sware_markpos(IndexScanDesc descriptor)
{
	SwareScan  *scan = descriptor->opaque;

	if (scan->mode == SWARE_SCAN_TREE)
		sware_tree_cursor_mark(&scan->tree);
	sware_merge_mark(scan);
}

/*
 * Go back to where the scan was marked.
 */
void
sware_restrpos(IndexScanDesc descriptor)
{
	SwareScan  *scan = descriptor->opaque;

	switch (scan->markMode)
	{
		case SWARE_SCAN_UNDECIDED:
			sware_merge_rewind(scan);
			sware_tree_cursor_rewind(&scan->tree);
			break;
		case SWARE_SCAN_TREE:
			sware_tree_cursor_restore(&scan->tree);
			break;
		case SWARE_SCAN_MERGE:
			sware_merge_restore(scan);
			break;
	}
}
