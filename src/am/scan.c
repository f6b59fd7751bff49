/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  The access method's callbacks for scans.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"

#include "am/scan.h"
#include "buffer/staging.h"
#include "tree/treescan.h"

/*
 * Begin a scan.  Cheap: what only some scans need is allocated when they
 * need it.
 */
IndexScanDesc
sware_beginscan(Relation index, int key_count, int order_by_count)
{
	IndexScanDesc scan;
	SwareTreeCursor *cursor;

	/* no ordering operators are supported */
	Assert(order_by_count == 0);

	scan = RelationGetIndexScan(index, key_count, order_by_count);
	cursor = palloc(sizeof(SwareTreeCursor));
	sware_tree_cursor_init(cursor, scan);
	scan->xs_itupdesc = RelationGetDescr(index);
	scan->opaque = cursor;
	return scan;
}

/*
 * Start or restart a scan; without keys, with the same ones as before.
 */
void
sware_rescan(IndexScanDesc scan, ScanKey keys, int key_count,
			 ScanKey order_bys, int order_by_count)
{
	SwareTreeCursor *cursor = scan->opaque;

	sware_tree_cursor_rewind(cursor);

	/* the planner, which asks for extreme values, can do without ours */
	if (scan->xs_snapshot && scan->xs_snapshot->snapshot_type == SNAPSHOT_NON_VACUUMABLE)
		cursor->beforePage = NULL;
	else
		cursor->beforePage = sware_publish_index;
	if (keys && scan->numberOfKeys > 0)
		memmove(scan->keyData, keys, scan->numberOfKeys * sizeof(ScanKeyData));
	if (keys || scan->numberOfKeys == 0)
		sware_scan_keys_analyze(&cursor->keys, scan->keyData, scan->numberOfKeys);
}

/*
 * The next entry.
 *
 * kill_prior_tuple is ignored: without a conflict horizon in WAL, dropping
 * entries outside VACUUM would take rows from a standby's older snapshots.
 */
bool
sware_gettuple(IndexScanDesc scan, ScanDirection direction)
{
	SwareTreeCursor *cursor = scan->opaque;

	scan->xs_recheck = false;
	if (!sware_tree_cursor_next(cursor, direction))
		return false;
	scan->xs_heaptid = *sware_tree_cursor_tid(cursor);
	if (cursor->wantTuples)
		scan->xs_itup = sware_tree_cursor_tuple(cursor);
	return true;
}

/*
 * Add all entries to a bitmap; returns their number.
 */
int64
sware_getbitmap(IndexScanDesc scan, TIDBitmap *bitmap)
{
	SwareTreeCursor *cursor = scan->opaque;
	SwarePosition *position = &cursor->position;
	int64		total = 0;

	while (sware_tree_cursor_next_page(cursor, ForwardScanDirection))
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
sware_endscan(IndexScanDesc scan)
{
	SwareTreeCursor *cursor = scan->opaque;

	sware_tree_cursor_end(cursor);
	pfree(cursor);
}

/*
 * Remember where the scan is.
 */
void
sware_markpos(IndexScanDesc scan)
{
	sware_tree_cursor_mark(scan->opaque);
}

/*
 * Go back to where the scan was marked.
 */
void
sware_restrpos(IndexScanDesc scan)
{
	sware_tree_cursor_restore(scan->opaque);
}
