/*-------------------------------------------------------------------------
 *
 * conflict.c
 *	  The record that says which rows' entries are about to be removed.  See
 *	  conflict.h.
 *
 * It is a record of nbtree's, for the reuse of a deleted page: it touches no
 * page and names only the relation and the horizon, and its redo does nothing
 * but resolve conflicts.  So no code of this library is needed for redo.
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
 * The horizon with its epoch.  It is a transaction that has begun, so if its
 * number is above the next one's, it belongs to the epoch before.  With an
 * epoch too high, redo would skip the conflict.
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
