/*-------------------------------------------------------------------------
 *
 * build.c
 *	  The callbacks of CREATE INDEX and REINDEX.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/parallel.h"
#include "access/tableam.h"
#include "catalog/pg_opclass.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "build/build.h"
#include "layout/tuple.h"
#include "sort/entrysort.h"
#include "staging/staging.h"
#include "zones/zones.h"
#include "base/compat.h"
#include "tree/tree.h"
#include "pages/cache.h"

/* Phases of a build.  PostgreSQL itself reports the first. */
#define PHASE_INITIALIZE	PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE
#define PHASE_SCAN			2
#define PHASE_SORT			3
#define PHASE_LOAD			4

/* progress is reported each time this number of entries has been loaded */
#define ENTRIES_PER_REPORT	1024

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

typedef struct BuildState
{
	SwareParallelBuild *parallel;	/* NULL if there are no workers */
	SwareEntrySort *sort;		/* sorts all entries, or the leader's part */
	DuplicateCheck *duplicateCheck; /* NULL if not unique */
} BuildState;

/*
 * The ambuildphasename callback: the name of a phase for
 * pg_stat_progress_create_index.
 */
char *
sware_buildphasename(int64 phase)
{
	switch (phase)
	{
		case PHASE_INITIALIZE:
			return "initializing";
		case PHASE_SCAN:
			return "scanning table";
		case PHASE_SORT:
			return "sorting entries";
		case PHASE_LOAD:
			return "loading tree";
		default:
			return NULL;
	}
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
SwareCollected
sware_collect_entries(SwareEntrySort *sort, Relation heap, Relation index,
					  IndexInfo *index_info, ParallelTableScanDesc shared_scan)
{
	CollectState state = {.sort = sort,.marksDead = index_info->ii_Unique};
	SwareCollected result;

	/*
	 * The scan starts with the first block.  A synchronized scan, which
	 * starts anywhere, would put the lower half of an ordered table behind
	 * the upper one.  The descriptor of a shared scan forbids it
	 * (parallelbuild.c), whatever the argument says, which PostgreSQL demands
	 * to be true.
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
 * Read the table's rows and sort their entries, together with the workers, if
 * there are any.
 */
static SwareCollected
collect_and_sort(BuildState *build, Relation heap, Relation index,
				 IndexInfo *index_info)
{
	const int	counters[] = {
		PROGRESS_CREATEIDX_TUPLES_TOTAL,
		PROGRESS_SCAN_BLOCKS_TOTAL,
		PROGRESS_SCAN_BLOCKS_DONE
	};
	int64		values[] = {0, 0, 0};
	SwareParallelBuild *parallel = build->parallel;
	SwareCollected collected;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PHASE_SCAN);
	collected = sware_collect_entries(build->sort, heap, index, index_info,
									  parallel ? parallel->scan : NULL);

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PHASE_SORT);
	sware_entry_sort_perform(build->sort);
	if (parallel)
		sware_parallel_build_wait(parallel, &collected, index_info);

	values[0] = collected.entries;
	pgstat_progress_update_multi_param(lengthof(counters), counters, values);
	return collected;
}

static bool
key_has_nulls(Relation index, IndexTuple entry)
{
	bool		is_null = false;

	if (IndexTupleHasNulls(entry))
	{
		for (int i = 1;
			 i <= IndexRelationGetNumberOfKeyAttributes(index) && !is_null;
			 i++)
			(void) index_getattr(entry, i, RelationGetDescr(index), &is_null);
	}
	return is_null;
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
	if (!check->nullsNotDistinct && key_has_nulls(check->index, entry))
		return;

	if (check->hasPrevious &&
		sware_comparator_keys(check->comparator, &check->previous.tuple,
							  entry) == 0)
		report_duplicate(check);

	memcpy(&check->previous, entry, IndexTupleSize(entry));
	check->hasPrevious = true;
}

/*
 * Load the sorted entries, of which there are `count`, into the tree.  Equal
 * keys of a unique index meet here, so it is here that duplicates are found.
 * Dead rows that some snapshot may still see have entries, too; their keys are
 * not checked, since other rows may have the same keys.
 */
static void
load_tree(BuildState *build, Relation index, int64 count)
{
	SwareEntryMerge *merge = sware_entry_sort_merge(build->sort);
	SwareBulkload *load = sware_bulkload_begin(index, MAIN_FORKNUM);
	IndexTuple	entry;
	int64		done = 0;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PHASE_LOAD);
	if (build->parallel)
		sware_parallel_build_add_files(build->parallel, merge);
	while ((entry = sware_entry_merge_next(merge)) != NULL)
	{
		bool		is_dead = sware_take_dead_mark(entry);

		if (build->duplicateCheck && !is_dead)
			check_next(build->duplicateCheck, entry);
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
	IndexBuildResult *result;
	BuildState	build = {0};
	DuplicateCheck check = {.index = index,
		.heap = heap,
	.nullsNotDistinct = index_info->ii_NullsNotDistinct};
	SwareCollected collected;
	int			participants = 1;

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data",
			 RelationGetRelationName(index));
	check_collations(index);
	hint_at_preload(index);
	sware_cache_forget(index);
	sware_staging_build_begins();

	build.parallel = sware_parallel_build_begin(heap, index, index_info);
	if (build.parallel)
		participants = build.parallel->participants;
	build.sort = sware_entry_sort_begin(index, heap,
										maintenance_work_mem / participants,
										NULL, 0);
	if (index_info->ii_Unique)
	{
		check.comparator = sware_entry_sort_comparator(build.sort);
		build.duplicateCheck = &check;
	}
	collected = collect_and_sort(&build, heap, index, index_info);
	load_tree(&build, index, collected.entries);
	sware_entry_sort_end(build.sort);
	if (build.parallel)
		sware_parallel_build_end(build.parallel);

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
