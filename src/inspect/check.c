/*-------------------------------------------------------------------------
 *
 * check.c
 *	  The SQL function sware_check, and checking the index against its table.
 *
 * Superusers may call it, and users who were granted EXECUTE, as with amcheck.
 *
 * Other sessions may insert, flush and VACUUM meanwhile.  Every page is copied
 * under a share lock, one at a time, and the copies are checked.  Copies of
 * several pages are of different moments, so a rule that relates them may seem
 * broken when it is not.  Then the pages are read again, and the finding counts
 * only if the first of them was the same before and after (checktree.c).
 *
 * A fault is reported as an error, ERRCODE_INDEX_CORRUPTED as a rule.  The
 * parts of the check hold no locks when they are called and when they return,
 * except the locks on index and table, and allocate in the current memory
 * context.
 *
 * While the pages of buffer and tree are checked, a fingerprint of each (key,
 * TID) is added to a Bloom filter.  Then the table is scanned, and each tuple
 * is looked up in the filter.  A filter never lacks what was added, so a tuple
 * that it lacks has no entry in the index.  A small share of missing entries
 * may go unnoticed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/tupmacs.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "commands/defrem.h"
#include "common/pg_prng.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "storage/smgr.h"
#include "utils/datum.h"
#include "utils/snapmgr.h"

#include "base/memory.h"
#include "constraints/constraints.h"
#include "inspect/inspect.h"
#include "layout/tuple.h"
#include "staging/staging.h"

PG_FUNCTION_INFO_V1(sware_check);

/* What a TID and the values of all columns are told by. */
typedef struct Fingerprint
{
	ItemPointerData tid;
	uint16		padding;
	uint32		columns[INDEX_MAX_KEYS];
} Fingerprint;

/*
 * Set the hashes of all columns, and return the length of the fingerprint.  A
 * hash is the same whether the value is stored compressed, with a short header,
 * or out of line.  Of a value that is passed by value only the bytes that are
 * stored count: the others can have any contents.
 */
static Size
fingerprint_columns(Fingerprint *fingerprint, TupleDesc descriptor,
					const Datum *values, const bool *nulls)
{
	fingerprint->padding = 0;
	for (int i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
		Datum		value = values[i];

		fingerprint->columns[i] = 0;
		if (nulls[i])
			continue;
		if (attribute->attbyval)
		{
			value = 0;
			store_att_byval(&value, values[i], attribute->attlen);
		}
		fingerprint->columns[i] =
			datum_image_hash(value, attribute->attbyval, attribute->attlen);
	}
	return offsetof(Fingerprint, columns) + descriptor->natts * sizeof(uint32);
}

/*
 * Check the TIDs of item `offset` of check->block, and add its entries to the
 * filter if there is one.  The TIDs must be within the table's blocks: an entry
 * is inserted after its tuple, and removed before the table is truncated.  An
 * entry that is marked is left out of the filter if scans leave it out, too: a
 * row that its snapshot sees cannot be dead to everybody.
 */
void
sware_check_entries(SwareCheck *check, IndexTuple tuple, OffsetNumber offset,
					bool is_marked)
{
	TupleDesc	descriptor = RelationGetDescr(check->index);

	/* other table access methods may use TIDs differently */
	bool		is_heap = check->heap->rd_rel->relam == HEAP_TABLE_AM_OID;
	bool		is_added =
		check->filter && !(is_marked && check->marksMatter);
	Fingerprint fingerprint;
	Size		length = 0;
	ItemPointer tids = sware_leaf_tuple_tids(tuple);
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];

	if (is_added)
	{
		index_deform_tuple(tuple, descriptor, values, nulls);
		length = fingerprint_columns(&fingerprint, descriptor, values, nulls);
	}
	for (int i = 0; i < sware_leaf_tuple_tid_count(tuple); i++)
	{
		BlockNumber block = ItemPointerGetBlockNumber(&tids[i]);

		if (is_heap && block >= check->heapBlocks)
			check->heapBlocks = RelationGetNumberOfBlocks(check->heap);
		if (is_heap &&
			(block >= check->heapBlocks ||
			 ItemPointerGetOffsetNumber(&tids[i]) > MaxHeapTuplesPerPage))
			sware_report_corruption(check->index, check->block,
									"TID (%u,%u) of item %u cannot be in the table, "
									"which has %u blocks.",
									block, ItemPointerGetOffsetNumber(&tids[i]),
									offset, check->heapBlocks);
		fingerprint.tid = tids[i];
		if (is_added)
			bloom_add_element(check->filter, (unsigned char *) &fingerprint,
							  length);
	}
}

/* Look up a tuple of the table in the filter: a callback of the table scan. */
static void
check_heap_tuple(Relation index, ItemPointer tid, Datum *values, bool *nulls,
				 bool is_alive, void *state)
{
	SwareCheck *check = state;
	Fingerprint fingerprint = {.tid = *tid};
	Size		length;
	MemoryContext outer = MemoryContextSwitchTo(check->pageContext);

	length = fingerprint_columns(&fingerprint, RelationGetDescr(index), values,
								 nulls);
	MemoryContextSwitchTo(outer);
	MemoryContextReset(check->pageContext);

	if (bloom_lacks_element(check->filter, (unsigned char *) &fingerprint,
							length))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("heap tuple (%u,%u) from table \"%s\" lacks matching index tuple within index \"%s\"",
						ItemPointerGetBlockNumber(tid),
						ItemPointerGetOffsetNumber(tid),
						RelationGetRelationName(check->heap),
						RelationGetRelationName(index)),
				 errdetail_internal("No index entry with the tuple's key leads to block %u, offset %u.",
									ItemPointerGetBlockNumber(tid),
									ItemPointerGetOffsetNumber(tid)),
				 errhint("Please REINDEX it.")));
}

/*
 * Check that the filter has every tuple that a snapshot sees.  The snapshot was
 * taken before the first page of the index was copied.
 */
static void
check_heap(SwareCheck *check, Snapshot snapshot)
{
	IndexInfo  *index_info = BuildIndexInfo(check->index);
	TableScanDesc scan;

	/*
	 * With ii_Concurrent the scan returns what the snapshot sees, as in the
	 * first phase of CREATE INDEX CONCURRENTLY.
	 */
	index_info->ii_Concurrent = true;
	index_info->ii_Unique = false;
	index_info->ii_ExclusionOps = NULL;
	index_info->ii_ExclusionProcs = NULL;
	index_info->ii_ExclusionStrats = NULL;

	/* table_index_build_scan ends the scan */
	scan = table_beginscan_strat(check->heap, snapshot, 0, NULL, true, true);
	table_index_build_scan(check->heap, check->index, index_info, true, false,
						   check_heap_tuple, check, scan);

	ereport(DEBUG1,
			(errmsg_internal("Bloom filter of index \"%s\" has %.2f%% of its bits set",
							 RelationGetRelationName(check->index),
							 100.0 * bloom_prop_bits_set(check->filter))));
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
		/* the filter is as large as all entries of the index may need */
		int64		pages = RelationGetNumberOfBlocks(index);
		int64		entries = Max(pages * (SWARE_MAX_TIDS_PER_PAGE / 3),
								  (int64) index->rd_rel->reltuples);

		snapshot = RegisterSnapshot(GetTransactionSnapshot());

		/* an index that is newer may lack tuples of broken HOT chains */
		if (IsolationUsesXactSnapshot() && index->rd_index->indcheckxmin &&
			!TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data),
								   snapshot->xmin))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("index \"%s\" cannot be verified using transaction snapshot",
							RelationGetRelationName(index))));
		check.filter = bloom_create(entries, maintenance_work_mem,
									pg_prng_uint64(&pg_global_prng_state));
		check.marksMatter = !snapshot->takenDuringRecovery;
	}
	/* the buffer first, since entries move from there to the tree */
	sware_check_buffer(&check);
	sware_check_tree(&check);
	check.block = InvalidBlockNumber;
	if (heap_all_indexed)
	{
		check_heap(&check, snapshot);
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
	/* amcheck's error */
	if (target.index->rd_rel->relam != get_index_am_oid("sware", true))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("only sware indexes are supported as targets for verification"),
				 errdetail("Relation \"%s\" is not a sware index.",
						   RelationGetRelationName(target.index))));
	sware_require_sware_index(target.index);
	if (!target.index->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot check index \"%s\"",
						RelationGetRelationName(target.index)),
				 errdetail("Index is not valid.")));
	sware_publish_index(target.index);
	if (has_main_fork(target.index))
		check_index(target.heap, target.index, PG_GETARG_BOOL(1));
	sware_check_key_option(PG_GETARG_OID(0));
	sware_close_target(&target);

	PG_RETURN_VOID();
}
