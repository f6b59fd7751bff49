/*-------------------------------------------------------------------------
 *
 * recordscan.c
 *	  A scan that looks up one key takes the TIDs from the record cache, or
 *	  fills the cache (records/recordcache.h).
 *
 * That is done for an index scan with an MVCC snapshot whose only condition is
 * equality, of the column's own type.  It is not done if this session has
 * staged entries for the index, or may insert rows that the scan sees; nor for
 * index-only scans, in parallel plans, in transactions that began in recovery,
 * and where rows may be removed that a snapshot sees (old_snapshot_threshold).
 *
 * The scan has taken its predicate lock when it was restarted, so it does not
 * matter to serializable transactions where the TIDs come from.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/xact.h"
#include "pgstat.h"
#include "utils/snapmgr.h"

#include "base/compat.h"
#include "base/faultpoint.h"
#include "cursor/stagedsource.h"
#include "scan/scan.h"

/* Does a scan look up one key, so that a record says what it finds? */
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

void
sware_ask_for_record(IndexScanDesc descriptor, ScanDirection direction)
{
	SwareScan  *scan = descriptor->opaque;
	SwareScanRecord *record = &scan->record;

	record->isAsked = true;
	if (!sware_has_records(descriptor->indexRelation) ||
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

bool
sware_next_of_record(IndexScanDesc descriptor, ScanDirection direction)
{
	SwareScanRecord *record = &((SwareScan *) descriptor->opaque)->record;

	/* the next look-up searches the index, and has the dead entry marked */
	if (descriptor->kill_prior_tuple)
		sware_remove_record(&record->key);

	if (ScanDirectionIsForward(direction))
		record->current = Min(record->current + 1, record->count);
	else
		record->current = Max(record->current - 1, -1);
	if (record->current < 0 || record->current >= record->count)
		return false;
	descriptor->xs_heaptid = record->tids[record->current];
	return true;
}

void
sware_offer_record(SwareScan *scan, ScanDirection direction)
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
		(scan->usesBuffer && scan->buffer.passedOver) ||
		!ScanDirectionIsForward(direction) ||
		scan->tree.state != SWARE_CURSOR_ON_ITEM || position->right.more)
		return;
	count = position->last - position->first + 1;
	if (count > 0 && count <= SWARE_RECORD_TIDS)
		sware_install_record(&record->key, &position->tids[position->first],
							 count);
}
