/*-------------------------------------------------------------------------
 *
 * build.c
 *	  The callbacks of CREATE INDEX and REINDEX.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "catalog/pg_index.h"
#include "catalog/pg_opclass.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/backend_progress.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "am/callbacks.h"
#include "am/collect.h"
#include "am/duplicates.h"
#include "am/entrymerge.h"
#include "am/entrysort.h"
#include "am/parallelbuild.h"
#include "buffer/staging.h"
#include "buffer/zones.h"
#include "compat.h"
#include "tree/bulkload.h"
#include "tree/cache.h"

/* phases of a build; core reports the first */
#define PHASE_INITIALIZE	PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE
#define PHASE_SCAN			2
#define PHASE_SORT			3
#define PHASE_LOAD			4

/* how often the number of entries loaded is reported */
#define ENTRIES_PER_REPORT	1024

typedef struct BuildState
{
	SwareParallelBuild *parallel;	/* NULL: there are no workers */
	SwareEntrySort *sort;		/* all entries, or the leader's part */
	SwareDuplicateCheck *duplicateCheck;	/* NULL unless the index is unique */
} BuildState;

/* the ambuildphasename callback */
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

/* Name of the operator class of an index column (from 0). */
static char *
operator_class_name(Relation index, int column)
{
	bool		isnull;
	oidvector  *classes;
	HeapTuple	tuple;
	char	   *name;

	classes = (oidvector *)
		DatumGetPointer(SysCacheGetAttr(INDEXRELID, index->rd_indextuple,
										Anum_pg_index_indclass, &isnull));
	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(classes->values[column]));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", classes->values[column]);
	name = pstrdup(NameStr(((Form_pg_opclass) GETSTRUCT(tuple))->opcname));
	ReleaseSysCache(tuple);
	return name;
}

/*
 * Refuse operator classes that compare bytes under a collation for which
 * different bytes may be equal: an index scan by the type's own equality
 * would miss rows.  Core refuses this only for classes that it knows by OID.
 */
static void
check_collations(Relation index)
{
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		Oid			collation = index->rd_indcollation[i];
		RegProcedure comparison = index_getprocid(index, i + 1, BTORDER_PROC);

		if ((comparison == F_BTTEXT_PATTERN_CMP ||
			 comparison == F_BTBPCHAR_PATTERN_CMP) &&
			OidIsValid(collation) && !get_collation_isdeterministic(collation))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("nondeterministic collations are not supported for operator class \"%s\"",
							operator_class_name(index, i))));
	}
}

/*
 * Refuse operator classes whose order no btree operator family knows: the sort
 * of a build could not produce it, even if some tables need no sort.
 */
static void
check_ordering_operators(Relation index)
{
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		Oid			type = index->rd_opcintype[i];
		Oid			less_than = get_opfamily_member(index->rd_opfamily[i], type, type,
													BTLessStrategyNumber);
		Oid			family;
		Oid			input_type;
		SwareOrderingKind kind;

		if (!OidIsValid(less_than) ||
			!get_ordering_op_properties(less_than, &family, &input_type, &kind))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("operator class \"%s\" has no btree counterpart",
							operator_class_name(index, i)),
					 errdetail("Its \"<\" operator is a member of no btree operator family."),
					 errhint("Create a btree operator class with the same operators first.")));
	}
}

/*
 * Say, once in a session, that much is missing without shared memory.
 */
static void
hint_at_preload(Relation index)
{
	static bool hinted = false;

	if (hinted || sware_zones_are_available() ||
		index->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return;
	hinted = true;
	ereport(NOTICE,
			(errmsg("the shared buffers of sware indexes are small without a pool in shared memory"),
			 errhint("Add \"sware\" to shared_preload_libraries.")));
}

/*
 * Read and sort the table's rows, with the help of workers, if there are any.
 */
static SwareCollected
collect_and_sort(BuildState *build, Relation heap, Relation index, IndexInfo *index_info)
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
									  parallel ? sware_parallel_build_scan(parallel) : NULL);

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PHASE_SORT);
	sware_entry_sort_perform(build->sort);
	if (parallel)
		sware_parallel_build_wait(parallel, &collected, index_info);

	values[0] = collected.entries;
	pgstat_progress_update_multi_param(lengthof(counters), counters, values);
	return collected;
}

/*
 * Make the tree of the sorted entries.  The keys of a unique index are looked
 * at here, where equal ones meet.  Dead rows, whose old versions somebody may
 * still see, have entries, and share their keys with others.
 */
static void
load_tree(BuildState *build, Relation index)
{
	SwareEntryMerge *merge = sware_entry_merge_begin(build->sort);
	SwareBulkload *load = sware_bulkload_begin(index);
	IndexTuple	entry;
	int64		done = 0;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PHASE_LOAD);
	if (build->parallel)
		sware_parallel_build_add_lists(build->parallel, merge);
	sware_entry_merge_perform(merge);
	while ((entry = sware_entry_merge_next(merge)) != NULL)
	{
		bool		is_dead = sware_take_dead_mark(entry);

		if (build->duplicateCheck && !is_dead)
			sware_duplicate_check_next(build->duplicateCheck, entry);
		sware_bulkload_add(load, entry);
		if (++done % ENTRIES_PER_REPORT == 0)
			pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, done);
	}
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, done);
	sware_bulkload_finish(load);
	sware_entry_merge_end(merge);
}

/* the ambuild callback */
IndexBuildResult *
sware_build(Relation heap, Relation index, IndexInfo *index_info)
{
	IndexBuildResult *result;
	BuildState	build = {0};
	SwareCollected collected;
	int			participants = 1;

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data",
			 RelationGetRelationName(index));
	check_collations(index);
	check_ordering_operators(index);
	hint_at_preload(index);
	sware_cache_forget(index);
	sware_supersede_staged(index);

	build.parallel = sware_parallel_build_begin(heap, index, index_info);
	if (build.parallel)
		participants = sware_parallel_build_participants(build.parallel);
	build.sort = sware_entry_sort_begin(index, heap, maintenance_work_mem / participants);
	if (index_info->ii_Unique)
		build.duplicateCheck =
			sware_duplicate_check_begin(index, heap, index_info->ii_NullsNotDistinct,
										build.sort);
	collected = collect_and_sort(&build, heap, index, index_info);
	load_tree(&build, index);
	if (build.duplicateCheck)
		sware_duplicate_check_end(build.duplicateCheck);
	sware_entry_sort_end(build.sort);
	if (build.parallel)
		sware_parallel_build_end(build.parallel);

	result = palloc(sizeof(IndexBuildResult));
	result->heap_tuples = collected.rows;
	result->index_tuples = collected.entries;
	return result;
}

/* the ambuildempty callback */
void
sware_buildempty(Relation index)
{
	check_collations(index);
	sware_bulkload_empty_init_fork(index);
}
