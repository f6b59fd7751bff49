/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Differences between the supported server versions, a section for each
 *	  version that has changed something.
 *
 * Every test of PG_VERSION_NUM is here, but for those of the tests' own needs
 * (test/lib/testcompat.h).
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
#if PG_VERSION_NUM >= 190000
#include "nodes/miscnodes.h"
#endif
#include "nodes/parsenodes.h"
#if PG_VERSION_NUM < 170000
#include "optimizer/optimizer.h"
#endif
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/pg_locale.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"				/* before, postgres.h had the macros */
#endif

#if PG_VERSION_NUM < 150000
#error "sware needs PostgreSQL 15 or later"
#endif

/* 16 */
#if PG_VERSION_NUM >= 160000
/* the struct that identifies a relation's file has another name */
typedef RelFileLocator SwareFile;
#define SwareRelationLocator(rel)	((rel)->rd_locator)
#define SwareFileDatabase(file)		((file).dbOid)
#define SwareFileTablespace(file)	((file).spcOid)
#define SwareFileNumber(file)		((file).relNumber)

/* has the relation got a new file in this transaction, or is it new itself? */
#define sware_file_is_new(rel) \
	((rel)->rd_createSubid != InvalidSubTransactionId || \
	 (rel)->rd_firstRelfilelocatorSubid != InvalidSubTransactionId)

/* one function tells the ownership of all objects */
#define sware_is_owner_of_relation(oid, user) \
	object_ownercheck(RelationRelationId, oid, user)

/*
 * What nbtree's record of a conflict holds has other names.  It also has
 * whether the table is one that logical decoding on a standby reads.
 */
#define sware_fill_conflict(record, index, heap, horizon) \
	((record)->locator = (index)->rd_locator, \
	 (record)->snapshotConflictHorizon = (horizon), \
	 (record)->isCatalogRel = RelationIsAccessibleInLogicalDecoding(heap))

/* a function makes a file longer by several pages (sware_extend_file) */
#define SWARE_EXTENDS_BY_SEVERAL
#else
typedef RelFileNode SwareFile;
#define SwareRelationLocator(rel)	((rel)->rd_node)
#define SwareFileDatabase(file)		((file).dbNode)
#define SwareFileTablespace(file)	((file).spcNode)
#define SwareFileNumber(file)		((file).relNode)
#define sware_file_is_new(rel) \
	((rel)->rd_createSubid != InvalidSubTransactionId || \
	 (rel)->rd_firstRelfilenodeSubid != InvalidSubTransactionId)
#define sware_is_owner_of_relation(oid, user)	pg_class_ownercheck(oid, user)
#define sware_fill_conflict(record, index, heap, horizon) \
	((void) (heap), \
	 (record)->node = (index)->rd_node, \
	 (record)->latestRemovedFullXid = (horizon))
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

/* 17 */
#if PG_VERSION_NUM >= 170000
/* old_snapshot_threshold is gone */
#define sware_test_for_old_snapshot(snapshot, rel, page) \
	((void) (snapshot), (void) (rel), (void) (page))
#define sware_snapshots_get_too_old()	false

#define sware_is_autovacuum_worker()	AmAutoVacuumWorkerProcess()
#define sware_local_transaction_id()	(MyProc->vxid.lxid)

/* an owner's functions are called with a search_path that is safe */
#define sware_restrict_search_path()	RestrictSearchPath()

/*
 * The server plans parallel workers for an index build if the access method
 * says that it can use them.  Before, it does so for btree only.
 */
#define sware_plan_build_workers(heap, index, index_info) \
	((void) (heap), (void) (index), (index_info)->ii_ParallelWorkers)
#define sware_set_can_build_parallel(routine) \
	((routine)->amcanbuildparallel = true)

/*
 * Extensions can name what their sessions wait for.  Called in
 * shmem_startup_hook: later, an error could come in the middle of something.
 */
#define sware_new_wait_event(name)	WaitEventExtensionNew(name)

/* a generated column can get another expression */
#define SWARE_CHANGE_EXPRESSION	AT_SetExpression
#else
#define sware_test_for_old_snapshot(snapshot, rel, page) \
	TestForOldSnapshot(snapshot, rel, page)
#define sware_snapshots_get_too_old()	OldSnapshotThresholdActive()
#define sware_is_autovacuum_worker()	IsAutoVacuumWorkerProcess()
#define sware_local_transaction_id()	(MyProc->lxid)
#define sware_restrict_search_path()	((void) 0)
#define sware_plan_build_workers(heap, index, index_info) \
	((void) (index_info), \
	 plan_create_index_workers(RelationGetRelid(heap), RelationGetRelid(index)))
#define sware_set_can_build_parallel(routine)	((void) (routine))
#define sware_new_wait_event(name)	((void) (name), PG_WAIT_EXTENSION)
#define SWARE_CHANGE_EXPRESSION	AT_AlterColumnType	/* there is none */
#endif

/* 18 */
#if PG_VERSION_NUM >= 180000
/* pg_get_loaded_modules() shows a library's version */
#define SWARE_MODULE_MAGIC \
	PG_MODULE_MAGIC_EXT(.name = "sware", .version = "1.0.0")

/* whether the delay is ANALYZE's; an index's delays are VACUUM's */
#define sware_vacuum_delay_point()	vacuum_delay_point(false)

#define SWARE_NORETURN	pg_noreturn

/* generated columns may be computed when they are read */
#define SwareIsVirtualColumn(attribute) \
	((attribute)->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL)

/* EXPLAIN ANALYZE shows the number of descents */
#define sware_count_index_search(scan) \
	do { \
		if ((scan)->instrument) \
			(scan)->instrument->nsearches++; \
	} while (0)

#define SwareParallelScanOffset(parallel)	((parallel)->ps_offset_am)

/* ExecutorRun has lost an argument */
#define SWARE_EXECUTOR_RUN_PARAMETERS \
	QueryDesc *query, ScanDirection direction, uint64 count
#define SWARE_EXECUTOR_RUN_ARGUMENTS	query, direction, count

/*
 * The access method says what its strategies mean, and how high a tree is.
 * Before, the server knows that of btree only, and sware_costestimate finds the
 * height out by itself.
 */
#define sware_set_version_properties(routine, tree_height) \
	((routine)->amcanhash = false, \
	 (routine)->amconsistentequality = true, \
	 (routine)->amconsistentordering = true, \
	 (routine)->amgettreeheight = (tree_height), \
	 (routine)->amtranslatestrategy = bttranslatestrategy, \
	 (routine)->amtranslatecmptype = bttranslatecmptype)

#define sware_collates_by_bytes(collation) \
	(OidIsValid(collation) && \
	 pg_newlocale_from_collation(collation)->collate_is_c)

/* extensions can add options to EXPLAIN */
#define SWARE_HAS_EXPLAIN_OPTIONS

/*
 * Foreign keys, ON CONFLICT and the planner take a unique index of any access
 * method for what it is.
 */
#define SWARE_KEYS_SERVE_ALL	true

/* the last column of a key may be a range; such keys are GiST's */
#define sware_is_constraint_without_overlaps(constraint) \
	((constraint)->without_overlaps)
#define sware_is_index_without_overlaps(index)	((index)->iswithoutoverlaps)

/* NOT NULL can be declared before the rows are known to obey */
#define sware_column_is_not_null(table, number) \
	(TupleDescCompactAttr(RelationGetDescr(table), \
						  (number) - 1)->attnullability == ATTNULLABLE_VALID)

/*
 * Let a part of ALTER TABLE make a column of a primary key NOT NULL, as the
 * server does.  There may be a constraint that will not do.
 */
#define sware_set_not_null(part, column) \
	((part)->subtype = AT_AddConstraint, \
	 (part)->def = (Node *) makeNotNullConstraint(makeString(column)))
#else
#define SWARE_MODULE_MAGIC	PG_MODULE_MAGIC
#define sware_vacuum_delay_point()	vacuum_delay_point()
#define SWARE_NORETURN	pg_attribute_noreturn()
#define SwareIsVirtualColumn(attribute)	((void) (attribute), false)
#define sware_count_index_search(scan)	((void) (scan))
#define SwareParallelScanOffset(parallel)	((parallel)->ps_offset)
#define SWARE_EXECUTOR_RUN_PARAMETERS \
	QueryDesc *query, ScanDirection direction, uint64 count, bool execute_once
#define SWARE_EXECUTOR_RUN_ARGUMENTS	query, direction, count, execute_once
#define sware_set_version_properties(routine, tree_height) \
	((void) (routine), (void) (tree_height))
#define sware_collates_by_bytes(collation)	lc_collate_is_c(collation)
#define SWARE_KEYS_SERVE_ALL	false
#define sware_is_constraint_without_overlaps(constraint)	false
#define sware_is_index_without_overlaps(index)	false
#define sware_column_is_not_null(table, number) \
	(TupleDescAttr(RelationGetDescr(table), (number) - 1)->attnotnull)
#define sware_set_not_null(part, column) \
	((part)->subtype = AT_SetNotNull, \
	 (part)->name = (column))
#endif

/* 19 */
#if PG_VERSION_NUM >= 190000
/* a shared hash table has one number of entries, and not two */
#define sware_init_shared_hash(name, size, control, flags) \
	ShmemInitHash(name, size, control, flags)

/* scans of tables have options; none is wanted */
#define sware_beginscan_parallel(heap, scan) \
	table_beginscan_parallel(heap, scan, SO_NONE)
#define sware_index_fetch_begin(heap)	table_index_fetch_begin(heap, SO_NONE)

#define sware_set_checksum(page, block)	PageSetChecksum(page, block)

/* a descriptor has to be told that it has all its columns */
#define sware_finish_descriptor(descriptor)	TupleDescFinalize(descriptor)

/*
 * Marks (hint bits) may be set under a share lock.  A page is written while
 * others may have it share-locked, so the server has to be asked first, and may
 * say no: then no bit may change.  After the last bit, sware_finish_marks is
 * called, unless the answer was no.
 */
#define sware_begin_marks(buffer)	BufferBeginSetHintBits(buffer)
#define sware_finish_marks(buffer, changed) \
	BufferFinishSetHintBits(buffer, changed, true)

/* an option of EXPLAIN is checked in auto_explain's setting */
#define sware_register_explain_option(name, handler) \
	RegisterExtensionExplainOption(name, handler, GUCCheckBooleanExplainOption)

/* does this backend hold a content lock?  It cannot be told any more */
#define sware_holds_content_lock()	false

/* the instant that a local time means; false if it is out of range */
static inline bool
sware_instant_of(Timestamp local, TimestampTz *instant)
{
	ErrorSaveContext context = {.type = T_ErrorSaveContext};

	*instant = timestamp2timestamptz_safe(local, (Node *) &context);
	return !context.error_occurred;
}
#else
#define sware_init_shared_hash(name, size, control, flags) \
	ShmemInitHash(name, size, size, control, flags)
#define sware_beginscan_parallel(heap, scan) \
	table_beginscan_parallel(heap, scan)
#define sware_index_fetch_begin(heap)	table_index_fetch_begin(heap)
#define sware_set_checksum(page, block)	PageSetChecksumInplace(page, block)
#define sware_finish_descriptor(descriptor)	((void) (descriptor))
#define sware_begin_marks(buffer)	((void) (buffer), true)
#define sware_finish_marks(buffer, changed) \
	do { \
		if (changed) \
			MarkBufferDirtyHint(buffer, true); \
	} while (0)
#define sware_register_explain_option(name, handler) \
	RegisterExtensionExplainOption(name, handler)
#define sware_holds_content_lock() \
	LWLockAnyHeldByMe(&GetBufferDescriptor(0)->content_lock, NBuffers, \
					  sizeof(BufferDescPadded))
static inline bool
sware_instant_of(Timestamp local, TimestampTz *instant)
{
	int			overflow = 0;

	*instant = timestamp2timestamptz_opt_overflow(local, &overflow);
	return overflow == 0;
}
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

/* Does a part of ALTER TABLE make the constraints of its column again? */
#define sware_rebuilds_keys(part) \
	((part)->subtype == AT_AlterColumnType || \
	 (part)->subtype == SWARE_CHANGE_EXPRESSION)

/* On a subscriber, 17 looks for the operator of equality in btree only. */
#define SWARE_SUBSCRIBERS_NEED_BTREE	(PG_VERSION_NUM / 10000 == 17)

/* The table that a node of a plan is changing now: executor internals. */
#define sware_current_target(node) \
	((node)->resultRelInfo + (node)->mt_lastResultIndex)

#endif							/* SWARE_COMPAT_H */
