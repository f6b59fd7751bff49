/*-------------------------------------------------------------------------
 *
 * stagedsource.h
 *	  What is staged for an index, as a source of a buffer cursor's batches.
 *
 * Entries go from staging to the buffer or the tree, so a batch is read from
 * staging first.  It has copies of entries, as from the buffer.  If entries
 * have left staging when the next batch is read, which the staging generation
 * shows, the scan seeks again: they may have gone to pages that it has read.
 * An entry in the batch whose subtransaction has aborted leads to no row that
 * the snapshot sees: should its TID be another row's by then, that row was
 * inserted later.
 *
 * Rows that are inserted after the scan's snapshot was taken are invisible to
 * it, as a rule.  So it does not matter which of their entries it finds, and if
 * nothing is staged for the index when the scan begins, it need not look there
 * again.  There is an exception: a row carries the command id that its
 * *statement* began with.  So a function that the statement calls can open a
 * cursor with a later snapshot, which sees the rows that the statement inserts
 * afterwards, staged or not.  Such a scan seeks again whenever this backend has
 * inserted a row.
 *
 * The room "staging" is below this one and knows nothing of scans: it sorts
 * and searches what it has, in index order.  So no function pointers are
 * needed, and staged runs are read as sorted zones are (listreader.h).
 *
 * Only scans with an MVCC snapshot search staging.  For others, and for
 * parallel scans, it is published.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_STAGEDSOURCE_H
#define SWARE_STAGEDSOURCE_H

#include "access/relscan.h"
#include "utils/snapmgr.h"

#include "cursor/buffercursor.h"
#include "staging/staging.h"

/* Does a scan search staging where it is? */
static inline bool
sware_scan_searches_staging(IndexScanDesc scan)
{
	return scan->xs_snapshot != NULL && IsMVCCSnapshot(scan->xs_snapshot) &&
		scan->parallel_scan == NULL;
}

/* Does it search staging, and is anything staged for its index? */
static inline bool
sware_scan_has_staged(IndexScanDesc scan)
{
	return unlikely(sware_staged_indexes > 0) &&
		sware_scan_searches_staging(scan) &&
		sware_find_staging(scan->indexRelation) != NULL;
}

/* May the scan's snapshot see rows that statements in progress insert later? */
static inline bool
sware_scan_sees_later_rows(IndexScanDesc scan)
{
	return unlikely(sware_statement.earliestCommand != InvalidCommandId) &&
		sware_scan_searches_staging(scan) &&
		scan->xs_snapshot->curcid > sware_statement.earliestCommand;
}

/*
 * Take the wanted entries of staging into the cursor's batch, for which its
 * filter has begun.  Returns false if staging has changed in the meantime; then
 * some may be missing.  Calls comparators; the caller holds no locks.
 */
extern bool sware_take_staged(SwareBufferCursor *cursor);

#endif							/* SWARE_STAGEDSOURCE_H */
