/*-------------------------------------------------------------------------
 *
 * parallelbuild.c
 *	  The workers of a parallel build.
 *
 * Leader and workers share a scan of the table.  Each sorts its part, in an
 * even share of maintenance_work_mem.  Workers leave theirs in shared temporary
 * files and exit; the leader has its own part where it is.  When it merges, its
 * share is all the memory that is left in use.
 *
 * What one process has to do for a table in order, workers do, too: each gets
 * ascending blocks, so its part is in order and is not sorted either.
 *
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
#include "pgstat.h"
#include "storage/sharedfileset.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/snapmgr.h"

#include "am/parallelbuild.h"
#include "compat.h"
#include "faultpoint.h"

/* chunks of the shared memory segment; larger numbers are core's */
#define KEY_SHARED		1
#define KEY_SCAN		2
#define KEY_QUERY_TEXT	3

/* written by one worker, and read when it has exited */
typedef struct WorkerResult
{
	SwareCollected collected;
	bool		brokenHotChain;
	BufferUsage bufferUsage;
	WalUsage	walUsage;
} WorkerResult;

typedef struct SharedBuild
{
	/* not changed after the start */
	Oid			heap;
	Oid			index;
	bool		concurrent;
	int			participants;	/* as asked for, to share memory */
	int64		queryId;

	SharedFileSet files;		/* protected by itself */
	WorkerResult results[FLEXIBLE_ARRAY_MEMBER];
} SharedBuild;

struct SwareParallelBuild
{
	ParallelContext *context;
	SharedBuild *shared;
	ParallelTableScanDesc scan;
	Snapshot	snapshot;
	bool		snapshotIsRegistered;
};

PGDLLEXPORT void sware_parallel_build_main(dsm_segment *segment, shm_toc *toc);

/* Give a chunk of memory to everybody; it has been estimated. */
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

/* End parallel mode, and give everything back. */
static void
leave(SwareParallelBuild *build)
{
	if (build->snapshotIsRegistered)
		UnregisterSnapshot(build->snapshot);
	DestroyParallelContext(build->context);
	ExitParallelMode();
	pfree(build);
}

/* Fill shared memory with what workers must know. */
static void
share(SwareParallelBuild *build, Relation heap, Relation index, IndexInfo *index_info,
	  Size shared_size, Size scan_size)
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
	build->scan->phs_syncscan = false;	/* see collect.c */

	if (debug_query_string)
		strcpy(share_chunk(context, KEY_QUERY_TEXT, strlen(debug_query_string) + 1),
			   debug_query_string);
}

/*
 * Launch workers, if the planner finds that the build needs some.  If it does
 * not, or none can be had, this returns NULL.
 */
SwareParallelBuild *
sware_parallel_build_begin(Relation heap, Relation index, IndexInfo *index_info)
{
	int			workers = sware_plan_build_workers(heap, index, index_info);
	SwareParallelBuild *build;
	Size		shared_size;
	Size		scan_size;

	/* an empty table may be one just truncated, when nobody plans workers */
	if (workers == 0 || RelationGetNumberOfBlocks(heap) == 0)
		return NULL;

	build = palloc0(sizeof(SwareParallelBuild));
	EnterParallelMode();
	build->context = CreateParallelContext("$libdir/sware", "sware_parallel_build_main",
										   workers);

	/*
	 * As a build by one process does: see all rows that anybody can, or, if
	 * writers are about, those that a snapshot sees.
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

	/* without a segment, there are no workers */
	if (build->context->seg == NULL)
	{
		leave(build);
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
		leave(build);
		return NULL;
	}
	SWARE_FAULT_POINT("build-leader");
	return build;
}

/* Among how many processes memory is shared, the leader included. */
int
sware_parallel_build_participants(SwareParallelBuild *build)
{
	return build->context->nworkers_launched + 1;
}

/* The scan of which the leader collects a part. */
ParallelTableScanDesc
sware_parallel_build_scan(SwareParallelBuild *build)
{
	return build->scan;
}

/*
 * Wait until all workers have exited, and add their figures to the leader's.
 * An error of a worker is raised here, if not earlier.
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

/* Add what workers have sorted to a merge, which must end before this ends. */
void
sware_parallel_build_add_lists(SwareParallelBuild *build, SwareEntryMerge *merge)
{
	for (int i = 0; i < build->context->nworkers_launched; i++)
	{
		List	   *lists = sware_entry_sort_open_exported(&build->shared->files.fs, i);
		ListCell   *cell;

		foreach(cell, lists)
			sware_entry_merge_add_list(merge, lfirst(cell));
	}
}

void
sware_parallel_build_end(SwareParallelBuild *build)
{
	leave(build);
}

/* Collect and sort this worker's part, and leave it to the leader. */
static void
do_part(SharedBuild *shared, ParallelTableScanDesc scan, Relation heap, Relation index,
		WorkerResult *result)
{
	IndexInfo  *index_info = BuildIndexInfo(index);
	SwareEntrySort *sort =
		sware_entry_sort_begin_shared(index, heap,
									  maintenance_work_mem / shared->participants,
									  &shared->files.fs, ParallelWorkerNumber);

	index_info->ii_Concurrent = shared->concurrent;
	result->collected = sware_collect_entries(sort, heap, index, index_info, scan);
	result->brokenHotChain = index_info->ii_BrokenHotChain;
	SWARE_FAULT_POINT("build-worker");
	sware_entry_sort_export(sort);
	sware_entry_sort_end(sort);
}

/* Where workers start. */
void
sware_parallel_build_main(dsm_segment *segment, shm_toc *toc)
{
	SharedBuild *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	ParallelTableScanDesc scan = shm_toc_lookup(toc, KEY_SCAN, false);
	WorkerResult *result = &shared->results[ParallelWorkerNumber];
	LOCKMODE	heap_lock = shared->concurrent ? ShareUpdateExclusiveLock : ShareLock;
	LOCKMODE	index_lock = shared->concurrent ? RowExclusiveLock : AccessExclusiveLock;
	Relation	heap;
	Relation	index;

	debug_query_string = shm_toc_lookup(toc, KEY_QUERY_TEXT, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	pgstat_report_query_id(shared->queryId, false);
	SharedFileSetAttach(&shared->files, segment);

	/* in the modes in which core has locked them for the leader */
	heap = table_open(shared->heap, heap_lock);
	index = index_open(shared->index, index_lock);

	InstrStartParallelQuery();
	do_part(shared, scan, heap, index, result);
	InstrEndParallelQuery(&result->bufferUsage, &result->walUsage);

	index_close(index, index_lock);
	table_close(heap, heap_lock);
}
