/*-------------------------------------------------------------------------
 *
 * check.c
 *	  The SQL function sware_check.
 *
 * Superusers may call it, and users who were granted EXECUTE, as with amcheck.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "fmgr.h"
#include "storage/smgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "base/memory.h"
#include "constraints/constraints.h"
#include "staging/staging.h"
#include "inspect/check.h"
#include "inspect/relation.h"

PG_FUNCTION_INFO_V1(sware_check);

static void
require_checkable(Relation index)
{
	sware_refuse_partitioned(index);
	if (!sware_is_sware_index(index))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("only sware indexes are supported as targets for verification"),
				 errdetail("Relation \"%s\" is not a sware index.",
						   RelationGetRelationName(index))));
	sware_refuse_other_temp(index);
	if (!index->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot check index \"%s\"", RelationGetRelationName(index)),
				 errdetail("Index is not valid.")));
}

/*
 * Is there anything to check?  Raises an error if the index has lost its file.
 */
static bool
has_main_fork(Relation index)
{
	if (index->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED &&
		RecoveryInProgress())
	{
		ereport(NOTICE,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot verify unlogged index \"%s\" during recovery, skipping",
						RelationGetRelationName(index))));
		return false;
	}
	if (!smgrexists(RelationGetSmgr(index), MAIN_FORKNUM))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" lacks a main relation fork",
						RelationGetRelationName(index)),
				 errhint("Please REINDEX it.")));
	return true;
}

/*
 * Returns a registered snapshot; the index must have all tuples that it sees.
 * If the snapshot is older than the index, which may then lack tuples of
 * broken HOT chains, raises an error.
 */
static Snapshot
heap_snapshot(Relation index)
{
	Snapshot	snapshot = RegisterSnapshot(GetTransactionSnapshot());

	if (IsolationUsesXactSnapshot() && index->rd_index->indcheckxmin &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(
													  index->rd_indextuple->t_data),
							   snapshot->xmin))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("index \"%s\" cannot be verified using transaction snapshot",
						RelationGetRelationName(index))));
	return snapshot;
}

/* An error callback: say which block is being checked. */
static void
add_error_context(void *arg)
{
	SwareCheck *check = arg;

	if (BlockNumberIsValid(check->block))
		errcontext("checking block %u of index \"%s\"", check->block,
				   RelationGetRelationName(check->index));
}

/* Check an index, and, if `heap_all_indexed`, its table. */
static void
check_index(Relation heap, Relation index, bool heap_all_indexed)
{
	SwareCheck	check = {0};
	Snapshot	snapshot = InvalidSnapshot;
	MemoryContext outer = sware_enter_context("sware check");
	ErrorContextCallback callback;

	check.index = index;
	check.heap = heap;
	check.block = InvalidBlockNumber;
	check.strategy = GetAccessStrategy(BAS_BULKREAD);
	check.pageContext = AllocSetContextCreate(CurrentMemoryContext,
											  "sware check page",
											  ALLOCSET_DEFAULT_SIZES);

	callback.callback = add_error_context;
	callback.arg = &check;
	callback.previous = error_context_stack;
	error_context_stack = &callback;

	if (heap_all_indexed)
	{
		snapshot = heap_snapshot(index);
		sware_check_start_fingerprint(&check, snapshot);
	}
	/* the buffer first, since entries move from there to the tree */
	sware_check_buffer(&check);
	sware_check_tree(&check);
	check.block = InvalidBlockNumber;
	if (heap_all_indexed)
	{
		sware_check_heap(&check, snapshot);
		UnregisterSnapshot(snapshot);
	}

	error_context_stack = callback.previous;
	FreeAccessStrategy(check.strategy);
	sware_leave_context(outer);
}

/*
 * sware_check(index regclass, heapallindexed boolean)
 *
 * Checks the structure of an index, and, if wanted, that it has an entry for
 * every tuple of the table.  If it is that of a key, it must have the option
 * that keeps it a sware index.  Raises an error for the first fault that is
 * found.
 */
Datum
sware_check(PG_FUNCTION_ARGS)
{
	SwareTarget target;

	sware_open_target(&target, PG_GETARG_OID(0), AccessShareLock);
	require_checkable(target.index);
	sware_publish_index(target.index);
	if (has_main_fork(target.index))
		check_index(target.heap, target.index, PG_GETARG_BOOL(1));
	sware_check_key_option(target.index);
	sware_close_target(&target);

	PG_RETURN_VOID();
}
