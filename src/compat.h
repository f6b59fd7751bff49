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
#include "commands/vacuum.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#if PG_VERSION_NUM < 150000
#error "sware needs PostgreSQL 15 or later"
#endif

/* 17 dropped old_snapshot_threshold */
#if PG_VERSION_NUM < 170000
#define SWARE_SNAPSHOTS_GET_TOO_OLD
#define sware_test_for_old_snapshot(snapshot, rel, page) \
	TestForOldSnapshot(snapshot, rel, page)
#else
#define sware_test_for_old_snapshot(snapshot, rel, page) \
	((void) (snapshot), (void) (rel), (void) (page))
#endif

/* 18 tells VACUUM's delay from ANALYZE's; index access methods do the former */
#if PG_VERSION_NUM >= 180000
#define sware_vacuum_delay_point()	vacuum_delay_point(false)
#else
#define sware_vacuum_delay_point()	vacuum_delay_point()
#endif

/* 17 has what keeps a table owner's functions from a caller's search_path */
#if PG_VERSION_NUM >= 170000
#define sware_restrict_search_path()	RestrictSearchPath()
#else
#define sware_restrict_search_path()	((void) 0)
#endif

/* 17 made one function of two, that ask for a lock and for a stronger one */
#if PG_VERSION_NUM >= 170000
#define sware_lock_is_held_by_me(tag, mode)	LockHeldByMe(tag, mode, false)
#else
#define sware_lock_is_held_by_me(tag, mode)	LockHeldByMe(tag, mode)
#endif

/* 16 made one function of those that check who owns what */
#if PG_VERSION_NUM >= 160000
#define sware_is_owner_of_relation(oid, user) \
	object_ownercheck(RelationRelationId, oid, user)
#else
#define sware_is_owner_of_relation(oid, user)	pg_class_ownercheck(oid, user)
#endif

/* 16 renamed what identifies a relation's file */
#if PG_VERSION_NUM >= 160000
#define SwareRelationLocator(rel)	((rel)->rd_locator)
#define SwareFileDatabase(file)		((file).dbOid)
typedef RelFileLocator SwareFile;
#else
#define SwareRelationLocator(rel)	((rel)->rd_node)
#define SwareFileDatabase(file)		((file).dbNode)
typedef RelFileNode SwareFile;
#endif

/* 18 tells what an ordering operator means by a CompareType */
#if PG_VERSION_NUM >= 180000
typedef CompareType SwareOrderingKind;
#else
typedef int16 SwareOrderingKind;
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

/* and so a scan is begun with a place to count them in */
#if PG_VERSION_NUM >= 180000
#define sware_index_beginscan(heap, index, snapshot, keys) \
	index_beginscan(heap, index, snapshot, NULL, keys, 0)
#else
#define sware_index_beginscan(heap, index, snapshot, keys) \
	index_beginscan(heap, index, snapshot, keys, 0)
#endif

/* 17 and 18 tell more of a parallel scan of which the shared state is to be made */
#if PG_VERSION_NUM >= 180000
#define SWARE_ESTIMATE_PARALLEL_SCAN_PARAMETERS \
	Relation index, int key_count, int order_by_count
#elif PG_VERSION_NUM >= 170000
#define SWARE_ESTIMATE_PARALLEL_SCAN_PARAMETERS	int key_count, int order_by_count
#else
#define SWARE_ESTIMATE_PARALLEL_SCAN_PARAMETERS	void
#endif

/* 18 renamed where in dynamic shared memory that state is */
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
 * 18 plans nbtree scans that skip over columns without a qual, and its
 * btcostestimate counts on that.
 */
#if PG_VERSION_NUM >= 180000
#define SWARE_BTCOST_ASSUMES_SKIP_SCAN	true
#else
#define SWARE_BTCOST_ASSUMES_SKIP_SCAN	false
#endif

/*
 * 17 asks the access method whether workers can help to build an index, and
 * then plans them; before, it plans them for btree only.
 */
#if PG_VERSION_NUM >= 170000
#define sware_plan_build_workers(heap, index, index_info) \
	((void) (heap), (void) (index), (index_info)->ii_ParallelWorkers)
#define sware_set_can_build_parallel(routine)	((routine)->amcanbuildparallel = true)
#else
#include "optimizer/optimizer.h"
#define sware_plan_build_workers(heap, index, index_info) \
	((void) (index_info), \
	 plan_create_index_workers(RelationGetRelid(heap), RelationGetRelid(index)))
#define sware_set_can_build_parallel(routine)	((void) (routine))
#endif

/*
 * 18 asks the access method what only btree could say before: what its
 * strategies mean, and how high a tree is.
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

/* 16 made constants of what some functions only read */
#if PG_VERSION_NUM >= 160000
#define SWARE_VALUES_TYPE	const Datum *
#define SWARE_NULLS_TYPE	const bool *
#define SWARE_PAGE_TYPE		const void *
#else
#define SWARE_VALUES_TYPE	Datum *
#define SWARE_NULLS_TYPE	bool *
#define SWARE_PAGE_TYPE		char *
#endif

#endif							/* SWARE_COMPAT_H */
