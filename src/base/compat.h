/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Differences between the supported server versions.
 *
 * Every test of PG_VERSION_NUM is here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_COMPAT_H
#define SWARE_COMPAT_H

#include "access/amapi.h"
#if PG_VERSION_NUM >= 180000
#include "access/cmptype.h"
#endif
#include "access/relscan.h"
#if PG_VERSION_NUM >= 190000
#include "access/tableam.h"
#endif
#include "commands/vacuum.h"
#include "nodes/parsenodes.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/pg_locale.h"
#include "utils/rel.h"
#include "utils/wait_event.h"

/* 16 moved the macros for varlenas out of postgres.h */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#if PG_VERSION_NUM < 150000
#error "sware needs PostgreSQL 15 or later"
#endif

/* 17 dropped old_snapshot_threshold */
#if PG_VERSION_NUM < 170000
#define SWARE_SNAPSHOTS_GET_TOO_OLD
#define sware_test_for_old_snapshot(snapshot, rel, page) \
	TestForOldSnapshot(snapshot, rel, page)
#define sware_snapshots_get_too_old()	OldSnapshotThresholdActive()
#else
#define sware_test_for_old_snapshot(snapshot, rel, page) \
	((void) (snapshot), (void) (rel), (void) (page))
#define sware_snapshots_get_too_old()	false
#endif

/* 18 passes whether the delay is ANALYZE's; an index's delays are VACUUM's */
#if PG_VERSION_NUM >= 180000
#define sware_vacuum_delay_point()	vacuum_delay_point(false)
#else
#define sware_vacuum_delay_point()	vacuum_delay_point()
#endif

/* 17 has another word */
#if PG_VERSION_NUM >= 170000
#define sware_is_autovacuum_worker()	AmAutoVacuumWorkerProcess()
#else
#define sware_is_autovacuum_worker()	IsAutoVacuumWorkerProcess()
#endif

/* 17 moved the id of a session's own transaction */
#if PG_VERSION_NUM >= 170000
#define sware_local_transaction_id()	(MyProc->vxid.lxid)
#else
#define sware_local_transaction_id()	(MyProc->lxid)
#endif

/* 18 has another word, which stands before the function's type */
#if PG_VERSION_NUM >= 180000
#define SWARE_NORETURN	pg_noreturn
#else
#define SWARE_NORETURN	pg_attribute_noreturn()
#endif

/*
 * from 17 on, an owner's functions are called with a search_path that is safe
 */
#if PG_VERSION_NUM >= 170000
#define sware_restrict_search_path()	RestrictSearchPath()
#else
#define sware_restrict_search_path()	((void) 0)
#endif

/* 16 replaced the functions that check ownership by one for all objects */
#if PG_VERSION_NUM >= 160000
#define sware_is_owner_of_relation(oid, user) \
	object_ownercheck(RelationRelationId, oid, user)
#else
#define sware_is_owner_of_relation(oid, user)	pg_class_ownercheck(oid, user)
#endif

/* 16 renamed the struct that identifies a relation's file */
#if PG_VERSION_NUM >= 160000
#define SwareRelationLocator(rel)	((rel)->rd_locator)
#define SwareFileDatabase(file)		((file).dbOid)
#define SwareFileTablespace(file)	((file).spcOid)
#define SwareFileNumber(file)		((file).relNumber)
typedef RelFileLocator SwareFile;
#else
#define SwareRelationLocator(rel)	((rel)->rd_node)
#define SwareFileDatabase(file)		((file).dbNode)
#define SwareFileTablespace(file)	((file).spcNode)
#define SwareFileNumber(file)		((file).relNode)
typedef RelFileNode SwareFile;
#endif

/* 16 has a function that makes a file longer by several pages */
#if PG_VERSION_NUM >= 160000
#define SWARE_EXTENDS_BY_SEVERAL
#endif

/*
 * Make an index's file longer by some pages of zeroes, which follow each
 * other.  Returns how many there are, at least 1 and at most `pages`, and sets
 * *first to the number of the first one.  None of them stays pinned.
 *
 * From 16 on, one request reserves the space for all of them.  Before, each
 * page is written, while the lock is held.  If only the last one were, the
 * others would be a hole in the file, and a full disk would show too late.
 */
static inline int
sware_extend_file(Relation index, int pages, BlockNumber *first)
{
#ifdef SWARE_EXTENDS_BY_SEVERAL
	Buffer	   *buffers = palloc(pages * sizeof(Buffer));
	uint32		extended_by;

	*first = ExtendBufferedRelBy(BMR_REL(index), MAIN_FORKNUM, NULL, 0, pages,
								 buffers, &extended_by);
	for (uint32 i = 0; i < extended_by; i++)
		ReleaseBuffer(buffers[i]);
	pfree(buffers);
	return extended_by;
#else
	bool		need_lock = !RELATION_IS_LOCAL(index);

	if (need_lock)
		LockRelationForExtension(index, ExclusiveLock);
	for (int i = 0; i < pages; i++)
	{
		Buffer		buffer = ReadBuffer(index, P_NEW);

		if (i == 0)
			*first = BufferGetBlockNumber(buffer);
		ReleaseBuffer(buffer);
	}
	if (need_lock)
		UnlockRelationForExtension(index, ExclusiveLock);
	return pages;
#endif
}

/*
 * 16 renamed what nbtree's record of a conflict holds, and added whether the
 * table is one that logical decoding on a standby reads.
 */
#if PG_VERSION_NUM >= 160000
#define sware_fill_conflict(record, index, heap, horizon) \
	((record)->locator = (index)->rd_locator, \
	 (record)->snapshotConflictHorizon = (horizon), \
	 (record)->isCatalogRel = RelationIsAccessibleInLogicalDecoding(heap))
#else
#define sware_fill_conflict(record, index, heap, horizon) \
	((void) (heap), \
	 (record)->node = (index)->rd_node, \
	 (record)->latestRemovedFullXid = (horizon))
#endif

/* 18 has generated columns that are computed when they are read */
#if PG_VERSION_NUM >= 180000
#define SwareIsVirtualColumn(attribute) \
	((attribute)->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL)
#else
#define SwareIsVirtualColumn(attribute)	((void) (attribute), false)
#endif

/* 18 shows the number of descents in EXPLAIN ANALYZE */
#if PG_VERSION_NUM >= 180000
#define sware_count_index_search(scan) \
	do { \
		if ((scan)->instrument) \
			(scan)->instrument->nsearches++; \
	} while (0)
#else
#define sware_count_index_search(scan)	((void) (scan))
#endif

/*
 * 18 begins a scan with a place to count its descents in, and 19 with options;
 * none is wanted.
 */
#if PG_VERSION_NUM >= 190000
#define sware_index_beginscan(heap, index, snapshot, keys) \
	index_beginscan(heap, index, snapshot, NULL, keys, 0, SO_NONE)
#elif PG_VERSION_NUM >= 180000
#define sware_index_beginscan(heap, index, snapshot, keys) \
	index_beginscan(heap, index, snapshot, NULL, keys, 0)
#else
#define sware_index_beginscan(heap, index, snapshot, keys) \
	index_beginscan(heap, index, snapshot, keys, 0)
#endif

/* 17 and 18 give amestimateparallelscan more parameters */
#if PG_VERSION_NUM >= 180000
#define SWARE_ESTIMATE_PARALLEL_SCAN_PARAMETERS \
	Relation index, int key_count, int order_by_count
#elif PG_VERSION_NUM >= 170000
#define SWARE_ESTIMATE_PARALLEL_SCAN_PARAMETERS \
	int key_count, int order_by_count
#else
#define SWARE_ESTIMATE_PARALLEL_SCAN_PARAMETERS	void
#endif

/*
 * Before 18, unique indexes of partitioned tables need an operator that the
 * server finds for btree only.
 */
#if PG_VERSION_NUM < 180000
#define SWARE_UNIQUE_PARTITIONS_NEED_BTREE
#endif

/* 18 renamed the offset of an access method's state in a parallel scan's */
#if PG_VERSION_NUM >= 180000
#define SwareParallelScanOffset(parallel)	((parallel)->ps_offset_am)
#else
#define SwareParallelScanOffset(parallel)	((parallel)->ps_offset)
#endif

/* 18 dropped an argument of ExecutorRun */
#if PG_VERSION_NUM >= 180000
#define SWARE_EXECUTOR_RUN_PARAMETERS \
	QueryDesc *query, ScanDirection direction, uint64 count
#define SWARE_EXECUTOR_RUN_ARGUMENTS	query, direction, count
#else
#define SWARE_EXECUTOR_RUN_PARAMETERS \
	QueryDesc *query, ScanDirection direction, uint64 count, bool execute_once
#define SWARE_EXECUTOR_RUN_ARGUMENTS	query, direction, count, execute_once
#endif

/*
 * From 17 on, the server plans parallel workers for an index build if the
 * access method says that it can use them.  Before, it does so for btree only.
 */
#if PG_VERSION_NUM >= 170000
#define sware_plan_build_workers(heap, index, index_info) \
	((void) (heap), (void) (index), (index_info)->ii_ParallelWorkers)
#define sware_set_can_build_parallel(routine) \
	((routine)->amcanbuildparallel = true)
#else
#include "optimizer/optimizer.h"
#define sware_plan_build_workers(heap, index, index_info) \
	((void) (index_info), \
	 plan_create_index_workers(RelationGetRelid(heap), RelationGetRelid(index)))
#define sware_set_can_build_parallel(routine)	((void) (routine))
#endif

/*
 * From 18 on, the access method says what its strategies mean, and how high a
 * tree is.  Before, the server knows that of btree only.
 */
#if PG_VERSION_NUM >= 180000
#include "access/nbtree.h"

static inline void
sware_set_version_properties(IndexAmRoutine *routine,
							 int (*tree_height) (Relation index))
{
	routine->amcanhash = false;
	routine->amconsistentequality = true;
	routine->amconsistentordering = true;
	routine->amgettreeheight = tree_height;
	routine->amtranslatestrategy = bttranslatestrategy;
	routine->amtranslatecmptype = bttranslatecmptype;
}
#else
static inline void
sware_set_version_properties(IndexAmRoutine *routine,
							 int (*tree_height) (Relation index))
{
	/* sware_costestimate finds the height out by itself */
	(void) routine;
	(void) tree_height;
}
#endif

/* 18 has this in the description of a locale */
#if PG_VERSION_NUM >= 180000
#define sware_collates_by_bytes(collation) \
	(OidIsValid(collation) && \
	 pg_newlocale_from_collation(collation)->collate_is_c)
#else
#define sware_collates_by_bytes(collation)	lc_collate_is_c(collation)
#endif

/* 19 takes one number of a table's entries, and not two */
#if PG_VERSION_NUM >= 190000
#define sware_init_shared_hash(name, size, control, flags) \
	ShmemInitHash(name, size, control, flags)
#else
#define sware_init_shared_hash(name, size, control, flags) \
	ShmemInitHash(name, size, size, control, flags)
#endif

/* 19 asks for options of scans of tables; none is wanted */
#if PG_VERSION_NUM >= 190000
#define sware_beginscan_parallel(heap, scan) \
	table_beginscan_parallel(heap, scan, SO_NONE)
#define sware_index_fetch_begin(heap)	table_index_fetch_begin(heap, SO_NONE)
#else
#define sware_beginscan_parallel(heap, scan) \
	table_beginscan_parallel(heap, scan)
#define sware_index_fetch_begin(heap)	table_index_fetch_begin(heap)
#endif

/* 19 has another word */
#if PG_VERSION_NUM >= 190000
#define sware_set_checksum(page, block)	PageSetChecksum(page, block)
#else
#define sware_set_checksum(page, block)	PageSetChecksumInplace(page, block)
#endif

/* 19 has to be told that a descriptor has all its columns */
#if PG_VERSION_NUM >= 190000
#define sware_finish_descriptor(descriptor)	TupleDescFinalize(descriptor)
#else
#define sware_finish_descriptor(descriptor)	((void) (descriptor))
#endif

/*
 * Marks (hint bits) may be set under a share lock.  From 19 on, a page is
 * written while others may have it share-locked, so the server has to be asked
 * first, and may say no: then no bit may change.  After the last bit,
 * sware_finish_marks is called, unless the answer was no.
 */
#if PG_VERSION_NUM >= 190000
#define sware_begin_marks(buffer)	BufferBeginSetHintBits(buffer)
#define sware_finish_marks(buffer, changed) \
	BufferFinishSetHintBits(buffer, changed, true)
#else
#define sware_begin_marks(buffer)	((void) (buffer), true)
#define sware_finish_marks(buffer, changed) \
	do { \
		if (changed) \
			MarkBufferDirtyHint(buffer, true); \
	} while (0)
#endif

/* 19 wants the name of a kind of locks before there is one */
#if PG_VERSION_NUM >= 190000
#define sware_new_tranche(name)	LWLockNewTrancheId(name)
#else
#define sware_new_tranche(name)	((void) (name), LWLockNewTrancheId())
#endif

/*
 * From 17 on, extensions can name what their sessions wait for.  Called in
 * shmem_startup_hook: later, an error could come in the middle of something.
 */
#if PG_VERSION_NUM >= 170000
#define sware_new_wait_event(name)	WaitEventExtensionNew(name)
#else
#define sware_new_wait_event(name)	((void) (name), PG_WAIT_EXTENSION)
#endif

/* From 18 on, extensions can add options to EXPLAIN. */
#if PG_VERSION_NUM >= 180000
#define SWARE_HAS_EXPLAIN_OPTIONS
#endif

/* 19 wants to check the option in auto_explain's setting */
#if PG_VERSION_NUM >= 190000
#define sware_register_explain_option(name, handler) \
	RegisterExtensionExplainOption(name, handler, GUCCheckBooleanExplainOption)
#elif PG_VERSION_NUM >= 180000
#define sware_register_explain_option(name, handler) \
	RegisterExtensionExplainOption(name, handler)
#endif

/* 17 has something to do at the end of inserts */
#if PG_VERSION_NUM >= 170000
#define sware_end_inserts(index, index_info) \
	index_insert_cleanup(index, index_info)
#else
#define sware_end_inserts(index, index_info) \
	((void) (index), (void) (index_info))
#endif

/*
 * Can the kernel be asked to read a page?  Not if its cache is passed by, as 16
 * and later can do (debug_io_direct).
 */
#if !defined(USE_PREFETCH)
#define sware_kernel_can_be_asked() false
#elif PG_VERSION_NUM >= 160000
#define sware_kernel_can_be_asked() ((io_direct_flags & IO_DIRECT_DATA) == 0)
#else
#define sware_kernel_can_be_asked() true
#endif

/* Before 19, the content lock of a page is a lightweight lock. */
#if PG_VERSION_NUM < 190000
#define SWARE_CONTENT_LOCKS_ARE_LWLOCKS
#endif

/*
 * From 19 on, autovacuum has parallel workers.  Is it autovacuum that this is
 * done for?
 */
#if PG_VERSION_NUM >= 190000
#define sware_is_for_autovacuum(info)	((info)->is_autovacuum)
#else
#define sware_is_for_autovacuum(info) \
	((void) (info), sware_is_autovacuum_worker())
#endif

/* The table that a node of a plan is changing now: executor internals. */
#define sware_current_target(node) \
	((node)->resultRelInfo + (node)->mt_lastResultIndex)

/* 16 made parameters const that some functions only read */
#if PG_VERSION_NUM >= 160000
#define SWARE_VALUES_TYPE	const Datum *
#define SWARE_NULLS_TYPE	const bool *
#define SWARE_PAGE_TYPE		const void *
#else
#define SWARE_VALUES_TYPE	Datum *
#define SWARE_NULLS_TYPE	bool *
#define SWARE_PAGE_TYPE		char *
#endif

/*
 * From 18 on, foreign keys, ON CONFLICT and the planner take a unique index of
 * any access method for what it is.
 */
#if PG_VERSION_NUM >= 180000
#define SWARE_KEYS_SERVE_ALL	true
#else
#define SWARE_KEYS_SERVE_ALL	false
#endif

/* 18 has keys whose last column is a range; they are GiST's */
#if PG_VERSION_NUM >= 180000
static inline bool
sware_is_constraint_without_overlaps(const Constraint *constraint)
{
	return constraint->without_overlaps;
}

static inline bool
sware_is_index_without_overlaps(const IndexStmt *index)
{
	return index->iswithoutoverlaps;
}
#else
static inline bool
sware_is_constraint_without_overlaps(const Constraint *constraint)
{
	return false;
}

static inline bool
sware_is_index_without_overlaps(const IndexStmt *index)
{
	return false;
}
#endif

/*
 * Does a part of ALTER TABLE make the constraints of its column again?  17 can
 * give a generated column another expression.
 */
#if PG_VERSION_NUM >= 170000
#define sware_rebuilds_keys(part) \
	((part)->subtype == AT_AlterColumnType || \
	 (part)->subtype == AT_SetExpression)
#else
#define sware_rebuilds_keys(part)	((part)->subtype == AT_AlterColumnType)
#endif

/* From 18 on, NOT NULL can be declared before the rows are known to obey. */
#if PG_VERSION_NUM >= 180000
#define sware_column_is_not_null(table, number) \
	(TupleDescCompactAttr(RelationGetDescr(table), \
						  (number) - 1)->attnullability == ATTNULLABLE_VALID)
#else
#define sware_column_is_not_null(table, number) \
	(TupleDescAttr(RelationGetDescr(table), (number) - 1)->attnotnull)
#endif

/*
 * Let a part of ALTER TABLE make a column of a primary key NOT NULL, as the
 * server does.  From 18 on there may be a constraint that will not do.
 */
#if PG_VERSION_NUM >= 180000
#define sware_set_not_null(part, column) \
	((part)->subtype = AT_AddConstraint, \
	 (part)->def = (Node *) makeNotNullConstraint(makeString(column)))
#else
#define sware_set_not_null(part, column) \
	((part)->subtype = AT_SetNotNull, \
	 (part)->name = (column))
#endif

/* On a subscriber, 17 looks for the operator of equality in btree only. */
#if PG_VERSION_NUM >= 170000 && PG_VERSION_NUM < 180000
#define SWARE_SUBSCRIBERS_NEED_BTREE	true
#else
#define SWARE_SUBSCRIBERS_NEED_BTREE	false
#endif

#endif							/* SWARE_COMPAT_H */
