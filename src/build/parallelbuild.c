/*-------------------------------------------------------------------------
 *
 * parallelbuild.c
 *	  The workers of a parallel build.
 *
 * Leader and workers share a scan of the table.  Each sorts its part, in an
 * even share of maintenance_work_mem.  Workers export their parts to shared
 * temporary files and exit; the leader keeps its own part where it is.
 * Workers see none of the leader's staged entries, and need none: the build
 * finds the rows in the table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "storage/sharedfileset.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/snapmgr.h"

#include "build/build.h"
#include "base/compat.h"
#include "base/faultpoint.h"

/* Keys of the parts of the shared memory.  Larger numbers are PostgreSQL's. */
#define KEY_SHARED		1
#define KEY_SCAN		2
#define KEY_QUERY_TEXT	3

/* Written by one worker, and read by the leader when the worker has exited. */
typedef struct WorkerResult
{
	SwareCollected collected;
	int			files;			/* how many it has written, some of which may
								 * have been merged into others */
	bool		brokenHotChain;
	BufferUsage bufferUsage;
	WalUsage	walUsage;
} WorkerResult;

/* What leader and workers share. */
typedef struct SharedBuild
{
	/* Constant once the workers have started. */
	Oid			heap;
	Oid			index;
	bool		concurrent;
	int			participants;	/* number of processes planned, among which
								 * memory is divided */
	int64		queryId;

	SharedFileSet files;		/* has its own lock */
	WorkerResult results[FLEXIBLE_ARRAY_MEMBER];
} SharedBuild;

PGDLLEXPORT void sware_parallel_build_main(dsm_segment *segment, shm_toc *toc);

/* Allocate a part of the shared memory, whose size has been estimated. */
static void *
share_chunk(ParallelContext *context, uint64 key, Size size)
{
	void	   *chunk = shm_toc_allocate(context->toc, size);

	shm_toc_insert(context->toc, key, chunk);
	return chunk;
}

static void
estimate_chunk(ParallelContext *context, Size size)
{
	shm_toc_estimate_chunk(&context->estimator, size);
	shm_toc_estimate_keys(&context->estimator, 1);
}

/* End the parallel build, and with it parallel mode; release everything. */
void
sware_parallel_build_end(SwareParallelBuild *build)
{
	if (build->snapshotIsRegistered)
		UnregisterSnapshot(build->snapshot);
	DestroyParallelContext(build->context);
	ExitParallelMode();
	pfree(build);
}

/* Fill the shared memory with what the workers must know. */
static void
share(SwareParallelBuild *build, Relation heap, Relation index,
	  IndexInfo *index_info, Size shared_size, Size scan_size)
{
	ParallelContext *context = build->context;
	SharedBuild *shared = share_chunk(context, KEY_SHARED, shared_size);

	memset(shared, 0, shared_size);
	shared->heap = RelationGetRelid(heap);
	shared->index = RelationGetRelid(index);
	shared->concurrent = index_info->ii_Concurrent;
	shared->participants = context->nworkers + 1;
	shared->queryId = pgstat_get_my_query_id();
	SharedFileSetInit(&shared->files, context->seg);
	build->shared = shared;

	build->scan = share_chunk(context, KEY_SCAN, scan_size);
	table_parallelscan_initialize(heap, build->scan, build->snapshot);
	build->scan->phs_syncscan = false;	/* as build.c explains */

	if (debug_query_string)
		strcpy(share_chunk(context, KEY_QUERY_TEXT,
						   strlen(debug_query_string) + 1),
			   debug_query_string);
}

/*
 * Enter parallel mode and launch workers.  Returns NULL, with nothing changed,
 * if the planner finds that the build needs none, or none can be had.  Table
 * and index are locked by the caller.
 */
SwareParallelBuild *
sware_parallel_build_begin(Relation heap, Relation index, IndexInfo *index_info)
{
	int			workers = sware_plan_build_workers(heap, index, index_info);
	SwareParallelBuild *build;
	Size		shared_size;
	Size		scan_size;

	/*
	 * TRUNCATE leaves an empty table, and then the planner's estimates do not
	 * count.
	 */
	if (workers == 0 || RelationGetNumberOfBlocks(heap) == 0)
		return NULL;

	build = palloc0(sizeof(SwareParallelBuild));
	EnterParallelMode();
	build->context = CreateParallelContext("$libdir/sware", "sware_parallel_build_main",
										   workers);

	/*
	 * As in a build by one process: see all rows that any snapshot can see,
	 * or, in a concurrent build, those that one snapshot sees.
	 */
	build->snapshotIsRegistered = index_info->ii_Concurrent;
	build->snapshot = index_info->ii_Concurrent ?
		RegisterSnapshot(GetTransactionSnapshot()) : SnapshotAny;

	shared_size = add_size(offsetof(SharedBuild, results),
						   mul_size(workers, sizeof(WorkerResult)));
	scan_size = table_parallelscan_estimate(heap, build->snapshot);
	estimate_chunk(build->context, shared_size);
	estimate_chunk(build->context, scan_size);
	if (debug_query_string)
		estimate_chunk(build->context, strlen(debug_query_string) + 1);
	InitializeParallelDSM(build->context);

	/* Without a segment of shared memory, there are no workers. */
	if (build->context->seg == NULL)
	{
		sware_parallel_build_end(build);
		return NULL;
	}

	share(build, heap, index, index_info, shared_size, scan_size);
	LaunchParallelWorkers(build->context);
	ereport(DEBUG1,
			(errmsg_internal("building index \"%s\" with %d of %d parallel workers",
							 RelationGetRelationName(index),
							 build->context->nworkers_launched, workers)));
	if (build->context->nworkers_launched == 0)
	{
		sware_parallel_build_end(build);
		return NULL;
	}
	build->participants = build->context->nworkers_launched + 1;
	SWARE_FAULT_POINT("build-leader");
	return build;
}

/*
 * Wait until all workers have exited, and add their figures to the leader's.
 * Raises the error of a worker, if that has not been raised before.
 */
void
sware_parallel_build_wait(SwareParallelBuild *build, SwareCollected *collected,
						  IndexInfo *index_info)
{
	WaitForParallelWorkersToFinish(build->context);

	for (int i = 0; i < build->context->nworkers_launched; i++)
	{
		WorkerResult *result = &build->shared->results[i];

		collected->rows += result->collected.rows;
		collected->entries += result->collected.entries;
		if (result->brokenHotChain)
			index_info->ii_BrokenHotChain = true;
		InstrAccumParallelQuery(&result->bufferUsage, &result->walUsage);
	}
}

/*
 * Add what the workers have sorted to a merge.  The merge must end before the
 * parallel build does.
 */
void
sware_parallel_build_add_files(SwareParallelBuild *build,
							   SwareEntryMerge *merge)
{
	for (int i = 0; i < build->context->nworkers_launched; i++)
	{
		for (int j = 0; j < build->shared->results[i].files; j++)
			sware_entry_merge_add_exported(merge, &build->shared->files.fs, i,
										   j);
	}
}

/*
 * The function that workers execute: collects and sorts a worker's part, and
 * exports it for the leader.
 */
void
sware_parallel_build_main(dsm_segment *segment, shm_toc *toc)
{
	SharedBuild *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	ParallelTableScanDesc scan = shm_toc_lookup(toc, KEY_SCAN, false);
	WorkerResult *result = &shared->results[ParallelWorkerNumber];
	LOCKMODE	heap_lock = shared->concurrent ? ShareUpdateExclusiveLock :
		ShareLock;
	LOCKMODE	index_lock = shared->concurrent ? RowExclusiveLock :
		AccessExclusiveLock;
	Relation	heap;
	Relation	index;
	IndexInfo  *index_info;
	SwareEntrySort *sort;

	debug_query_string = shm_toc_lookup(toc, KEY_QUERY_TEXT, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	pgstat_report_query_id(shared->queryId, false);
	SharedFileSetAttach(&shared->files, segment);

	/* PostgreSQL has locked them in these modes for the leader. */
	heap = table_open(shared->heap, heap_lock);
	index = index_open(shared->index, index_lock);

	InstrStartParallelQuery();
	index_info = BuildIndexInfo(index);
	index_info->ii_Concurrent = shared->concurrent;
	sort = sware_entry_sort_begin(index, heap,
								  maintenance_work_mem / shared->participants,
								  &shared->files.fs, ParallelWorkerNumber);
	result->collected =
		sware_collect_entries(sort, heap, index, index_info, scan);
	result->brokenHotChain = index_info->ii_BrokenHotChain;
	SWARE_FAULT_POINT("build-worker");
	result->files = sware_entry_sort_export(sort);
	sware_entry_sort_end(sort);
	InstrEndParallelQuery(&result->bufferUsage, &result->walUsage);

	index_close(index, index_lock);
	table_close(heap, heap_lock);
}
