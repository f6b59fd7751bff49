/*-------------------------------------------------------------------------
 *
 * conflict.c
 *	  Write the WAL record that cancels a standby's queries before entries are
 *	  removed.  See conflict.h.
 *
 * The record is the one that nbtree writes before it reuses a deleted page.
 * It changes no page.  It names only the relation and the horizon, and its
 * redo only resolves conflicts.  So redo needs no code of this library.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtxlog.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "storage/block.h"

#include "base/compat.h"
#include "wal/conflict.h"

/*
 * Return the horizon with its epoch.  The horizon is a transaction that has
 * begun.  So if its number is above that of the next transaction, it belongs
 * to the epoch before.  If the epoch were too high, redo would overlook the
 * conflict.
 */
static FullTransactionId
with_epoch(TransactionId horizon)
{
	FullTransactionId next = ReadNextFullTransactionId();
	uint32		epoch = EpochFromFullTransactionId(next);

	if (horizon > XidFromFullTransactionId(next))
		epoch--;
	return FullTransactionIdFromEpochAndXid(epoch, horizon);
}

void
sware_wal_log_conflict(Relation index, Relation heap, TransactionId horizon)
{
	xl_btree_reuse_page record;

	if (!XLogStandbyInfoActive() || !RelationNeedsWAL(index) ||
		!TransactionIdIsValid(horizon))
		return;

	memset(&record, 0, sizeof(record));
	sware_fill_conflict(&record, index, heap, with_epoch(horizon));
	record.block = InvalidBlockNumber;
	XLogBeginInsert();
	XLogRegisterData((char *) &record, SizeOfBtreeReusePage);
	(void) XLogInsert(RM_BTREE_ID, XLOG_BTREE_REUSE_PAGE);
}
