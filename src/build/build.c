/*-------------------------------------------------------------------------
 *
 * build.c
 *	  The callbacks of CREATE INDEX and REINDEX.
 *
 * If there are workers, leader and workers share a scan of the table.  Each
 * sorts its part, in an even share of maintenance_work_mem.  Workers export
 * their parts to shared temporary files and exit; the leader keeps its own part
 * where it is, and merges all of them.  Workers see none of the leader's staged
 * entries, and need none: the build finds the rows in the table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_opclass.h"
#include "commands/progress.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "storage/sharedfileset.h"
#include "tcop/tcopprot.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "base/faultpoint.h"
#include "build/build.h"
#include "keys/fingerprint.h"
#include "layout/tuple.h"
#include "pages/cache.h"
#include "sort/sorter.h"
#include "staging/staging.h"
#include "tree/tree.h"
#include "zones/zones.h"

/* Phases of a build.  PostgreSQL itself reports the first. */
#define PHASE_INITIALIZE	PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE
#define PHASE_SCAN			2
#define PHASE_SORT			3
#define PHASE_LOAD			4

/* progress is reported each time this number of entries has been loaded */
#define ENTRIES_PER_REPORT	1024

/* Keys of the parts of the shared memory.  Larger numbers are PostgreSQL's. */
#define KEY_SHARED		1
#define KEY_SCAN		2
#define KEY_QUERY_TEXT	3

typedef struct Collected
{
	double		rows;
	int64		entries;
} Collected;

/* Written by one worker, and read by the leader when the worker has exited. */
typedef struct WorkerResult
{
	Collected	collected;
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

typedef struct ParallelBuild
{
	struct ParallelContext *context;
	SharedBuild *shared;
	ParallelTableScanDesc scan; /* of which the leader reads a part, too */
	Snapshot	snapshot;		/* registered if it is an MVCC snapshot */
} ParallelBuild;

/* Finds duplicate keys among entries that come in order. */
typedef struct DuplicateCheck
{
	Relation	index;
	Relation	heap;
	bool		nullsNotDistinct;
	SwareComparator *comparator;
	bool		hasPrevious;
	SwareEntryCopy previous;
} DuplicateCheck;

typedef struct CollectState
{
	SwareEntrySort *sort;
	bool		marksDead;
	int64		entries;
} CollectState;

PGDLLEXPORT void sware_parallel_build_main(dsm_segment *segment, shm_toc *toc);

/*
 * The ambuildphasename callback: the name of a phase for
 * pg_stat_progress_create_index.
 */
char *
sware_buildphasename(int64 phase)
{
	static char *const names[] = {
		[PHASE_INITIALIZE] = "initializing",
		[PHASE_SCAN] = "scanning table",
		[PHASE_SORT] = "sorting entries",
		[PHASE_LOAD] = "loading tree"
	};

	return phase < 0 || phase >= (int64) lengthof(names) ? NULL : names[phase];
}

/* The name of an operator class, without a schema, as in nbtree's messages. */
static char *
operator_class_name(Oid class)
{
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(class));
	char	   *name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", class);
	name = pstrdup(NameStr(((Form_pg_opclass) GETSTRUCT(tuple))->opcname));
	ReleaseSysCache(tuple);
	return name;
}

/*
 * Raise an error for operator classes that compare bytes under a collation for
 * which different bytes may be equal: an index scan by the type's own equality
 * would miss rows.  PostgreSQL itself refuses only its own classes for other
 * access methods.
 */
static void
check_collations(Relation index)
{
	for (int i = 1; i <= IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		Oid			collation = index->rd_indcollation[i - 1];
		Oid			class =
			get_index_column_opclass(RelationGetRelid(index), i);
		RegProcedure comparison = index_getprocid(index, i, BTORDER_PROC);

		if ((comparison == F_BTTEXT_PATTERN_CMP ||
			 comparison == F_BTBPCHAR_PATTERN_CMP) &&
			OidIsValid(collation) && !get_collation_isdeterministic(collation))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("nondeterministic collations are not supported for operator class \"%s\"",
							operator_class_name(class))));
	}
}

/* Tell the user, once in a session, that the library should be preloaded. */
static void
hint_at_preload(Relation index)
{
	static bool hinted = false;

	if (hinted || sware_zones_are_available() ||
		index->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return;
	hinted = true;
	ereport(NOTICE,
			(errmsg("the buffers of sware indexes are small without a pool in shared memory"),
			 errhint("Add \"sware\" to shared_preload_libraries.")));
}

/* Put the entry of a row into the sort.  Called for each row of the table. */
static void
add_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		bool tuple_is_alive, void *argument)
{
	CollectState *state = argument;

	sware_entry_sort_put(state->sort, values, isnull, tid,
						 state->marksDead && !tuple_is_alive);
	state->entries++;
}

/*
 * Read the rows of a table, and put their entries into a sort; of a shared
 * scan, the rows that it hands out to this process.  In a unique index, the
 * entries of dead rows are marked.  Returns the numbers of rows and entries.
 */
static Collected
collect_entries(SwareEntrySort *sort, Relation heap, Relation index,
				IndexInfo *index_info, ParallelTableScanDesc shared_scan)
{
	CollectState state = {.sort = sort,.marksDead = index_info->ii_Unique};
	Collected	result;

	/*
	 * The scan starts with the first block.  A synchronized scan, which
	 * starts anywhere, would put the lower half of an ordered table behind
	 * the upper one.  The descriptor of a shared scan forbids it
	 * (`begin_parallel`), whatever the argument says, which PostgreSQL
	 * demands to be true.
	 */
	if (shared_scan)
		result.rows =
			table_index_build_scan(heap, index, index_info, true,
								   !IsParallelWorker(), add_row, &state,
								   sware_beginscan_parallel(heap,
															shared_scan));
	else
		result.rows = table_index_build_scan(heap, index, index_info, false,
											 true, add_row, &state, NULL);
	result.entries = state.entries;
	return result;
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
		collect_entries(sort, heap, index, index_info, scan);
	result->brokenHotChain = index_info->ii_BrokenHotChain;
	SWARE_FAULT_POINT("build-worker");
	result->files = sware_entry_sort_export(sort);
	sware_entry_sort_end(sort);
	InstrEndParallelQuery(&result->bufferUsage, &result->walUsage);

	index_close(index, index_lock);
	table_close(heap, heap_lock);
}

/* Allocate a part of the shared memory, whose size has been estimated. */
static void *
share_chunk(ParallelContext *context, uint64 key, Size size)
{
	void	   *chunk = shm_toc_allocate(context->toc, size);

	shm_toc_insert(context->toc, key, chunk);
	return chunk;
}

/* End the parallel build, and with it parallel mode; release everything. */
static void
end_parallel(ParallelBuild *build)
{
	if (IsMVCCSnapshot(build->snapshot))
		UnregisterSnapshot(build->snapshot);
	DestroyParallelContext(build->context);
	ExitParallelMode();
	pfree(build);
}

/*
 * Enter parallel mode and launch workers.  Returns NULL, with nothing changed,
 * if the planner finds that the build needs none, or none can be had.  Table
 * and index are locked by the caller.
 */
static ParallelBuild *
begin_parallel(Relation heap, Relation index, IndexInfo *index_info)
{
	int			workers = sware_plan_build_workers(heap, index, index_info);
	ParallelBuild *build;
	Size		shared_size;
	Size		scan_size;

	/*
	 * TRUNCATE leaves an empty table, and then the planner's estimates do not
	 * count.
	 */
	if (workers == 0 || RelationGetNumberOfBlocks(heap) == 0)
		return NULL;

	build = palloc0(sizeof(ParallelBuild));
	EnterParallelMode();
	build->context = CreateParallelContext("$libdir/sware", "sware_parallel_build_main",
										   workers);

	/*
	 * As in a build by one process: see all rows that any snapshot can see,
	 * or, in a concurrent build, those that one snapshot sees.
	 */
	build->snapshot = index_info->ii_Concurrent ?
		RegisterSnapshot(GetTransactionSnapshot()) : SnapshotAny;

	shared_size = add_size(offsetof(SharedBuild, results),
						   mul_size(workers, sizeof(WorkerResult)));
	scan_size = table_parallelscan_estimate(heap, build->snapshot);
	shm_toc_estimate_chunk(&build->context->estimator, shared_size);
	shm_toc_estimate_chunk(&build->context->estimator, scan_size);
	if (debug_query_string)
		shm_toc_estimate_chunk(&build->context->estimator,
							   strlen(debug_query_string) + 1);
	shm_toc_estimate_keys(&build->context->estimator, 3);
	InitializeParallelDSM(build->context);

	/* Without a segment of shared memory, there are no workers. */
	if (build->context->seg == NULL)
	{
		end_parallel(build);
		return NULL;
	}

	/* what the workers must know */
	build->shared = share_chunk(build->context, KEY_SHARED, shared_size);
	memset(build->shared, 0, shared_size);
	build->shared->heap = RelationGetRelid(heap);
	build->shared->index = RelationGetRelid(index);
	build->shared->concurrent = index_info->ii_Concurrent;
	build->shared->participants = build->context->nworkers + 1;
	build->shared->queryId = pgstat_get_my_query_id();
	SharedFileSetInit(&build->shared->files, build->context->seg);
	build->scan = share_chunk(build->context, KEY_SCAN, scan_size);
	table_parallelscan_initialize(heap, build->scan, build->snapshot);
	build->scan->phs_syncscan = false;	/* see collect_entries */
	if (debug_query_string)
		strcpy(share_chunk(build->context, KEY_QUERY_TEXT,
						   strlen(debug_query_string) + 1),
			   debug_query_string);

	LaunchParallelWorkers(build->context);
	ereport(DEBUG1,
			(errmsg_internal("building index \"%s\" with %d of %d parallel workers",
							 RelationGetRelationName(index),
							 build->context->nworkers_launched, workers)));
	if (build->context->nworkers_launched == 0)
	{
		end_parallel(build);
		return NULL;
	}
	SWARE_FAULT_POINT("build-leader");
	return build;
}

/*
 * Wait until all workers have exited, and add their figures to the leader's.
 * Raises the error of a worker, if that has not been raised before.
 */
static void
wait_for_workers(ParallelBuild *build, Collected *collected,
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

/* Report that the previous entry has the same key as the present one. */
static void
report_duplicate(DuplicateCheck *check)
{
	Relation	index = check->index;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	char	   *key;

	index_deform_tuple(&check->previous.tuple, RelationGetDescr(index), values,
					   isnull);
	key = BuildIndexValueDescription(index, values, isnull);
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("could not create unique index \"%s\"",
					RelationGetRelationName(index)),
			 key ? errdetail("Key %s is duplicated.", key) :
			 errdetail("Duplicate keys exist."),
			 errtableconstraint(check->heap, RelationGetRelationName(index))));
}

/*
 * Check the entry of the next live row: raise an error if its key is that of
 * the live row before.  The entry is copied.  Calls comparators.
 */
static void
check_next(DuplicateCheck *check, IndexTuple entry)
{
	if (!check->nullsNotDistinct && IndexTupleHasNulls(entry))
	{
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		index_deform_tuple(entry, RelationGetDescr(check->index), values,
						   isnull);
		if (sware_has_null_key(check->index, isnull))
			return;
	}
	if (check->hasPrevious &&
		sware_comparator_keys(check->comparator, &check->previous.tuple,
							  entry) == 0)
		report_duplicate(check);

	memcpy(&check->previous, entry, IndexTupleSize(entry));
	check->hasPrevious = true;
}

/*
 * Load the entries that leader and workers have sorted, of which there are
 * `count`, into the tree.  Equal keys of a unique index meet here, so it is
 * here that duplicates are found; `check` is NULL for other indexes.  Dead rows
 * that some snapshot may still see have entries, too; their keys are not
 * checked, since other rows may have the same keys.
 */
static void
load_tree(SwareEntrySort *sort, ParallelBuild *parallel, Relation index,
		  DuplicateCheck *check, int64 count)
{
	SwareEntryMerge *merge = sware_entry_sort_merge(sort);
	SwareBulkload *load = sware_bulkload_begin(index, MAIN_FORKNUM);
	IndexTuple	entry;
	int64		done = 0;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PHASE_LOAD);
	for (int i = 0; parallel && i < parallel->context->nworkers_launched; i++)
	{
		for (int j = 0; j < parallel->shared->results[i].files; j++)
			sware_entry_merge_add_exported(merge, &parallel->shared->files.fs,
										   i, j);
	}
	while ((entry = sware_entry_merge_next(merge)) != NULL)
	{
		/* another row may have the key of a dead one */
		if (check && !sware_entry_is_marked(entry))
			check_next(check, entry);
		sware_clear_mark(entry);
		sware_bulkload_add(load, entry);
		if (++done % ENTRIES_PER_REPORT == 0)
			pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, done);
	}
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, done);
	if (done != count)
		elog(ERROR, "sorting has returned " INT64_FORMAT " of " INT64_FORMAT " entries of index \"%s\"",
			 done, count, RelationGetRelationName(index));
	sware_bulkload_finish(load);
	sware_entry_merge_end(merge);
}

/*
 * The ambuild callback: builds an index that is empty.  The caller has locked
 * table and index.  Raises an error if a unique index would have duplicates.
 */
IndexBuildResult *
sware_build(Relation heap, Relation index, IndexInfo *index_info)
{
	const int	counters[] = {
		PROGRESS_CREATEIDX_TUPLES_TOTAL,
		PROGRESS_SCAN_BLOCKS_TOTAL,
		PROGRESS_SCAN_BLOCKS_DONE
	};
	int64		progress[] = {0, 0, 0};
	IndexBuildResult *result;
	ParallelBuild *parallel;	/* NULL if there are no workers */
	SwareEntrySort *sort;		/* of all entries, or of the leader's part */
	DuplicateCheck check = {.index = index,
		.heap = heap,
	.nullsNotDistinct = index_info->ii_NullsNotDistinct};
	Collected	collected;
	int			participants = 1;	/* among which memory is divided */

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data",
			 RelationGetRelationName(index));
	check_collations(index);
	hint_at_preload(index);
	sware_cache_forget(index);
	sware_staging_build_begins();

	parallel = begin_parallel(heap, index, index_info);
	if (parallel)
		participants += parallel->context->nworkers_launched;
	sort = sware_entry_sort_begin(index, heap,
								  maintenance_work_mem / participants, NULL, 0);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PHASE_SCAN);
	collected = collect_entries(sort, heap, index, index_info,
								parallel ? parallel->scan : NULL);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PHASE_SORT);
	sware_entry_sort_perform(sort);
	if (parallel)
		wait_for_workers(parallel, &collected, index_info);
	progress[0] = collected.entries;
	pgstat_progress_update_multi_param(lengthof(counters), counters, progress);

	if (index_info->ii_Unique)
		check.comparator = sware_make_comparator(index);
	load_tree(sort, parallel, index, index_info->ii_Unique ? &check : NULL,
			  collected.entries);
	sware_entry_sort_end(sort);
	if (parallel)
		end_parallel(parallel);

	result = palloc(sizeof(IndexBuildResult));
	result->heap_tuples = collected.rows;
	result->index_tuples = collected.entries;
	return result;
}

/* The ambuildempty callback: writes an empty index to the init fork. */
void
sware_buildempty(Relation index)
{
	check_collations(index);
	sware_bulkload_finish(sware_bulkload_begin(index, INIT_FORKNUM));
}
