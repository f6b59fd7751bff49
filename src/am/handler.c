/*-------------------------------------------------------------------------
 *
 * handler.c
 *	  The access method's handler: its properties and its callbacks, with those
 *	  that are short, and those of VACUUM.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "commands/vacuum.h"
#include "fmgr.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/index_selfuncs.h"
#include "utils/syscache.h"

#include "am/callbacks.h"
#include "base/compat.h"
#include "base/faultpoint.h"
#include "base/options.h"
#include "buffer/buffer.h"
#include "build/build.h"
#include "pages/bufferpages.h"
#include "pages/cache.h"
#include "records/recordcache.h"
#include "scan/scan.h"
#include "staging/staging.h"
#include "tree/tree.h"
#include "zones/zones.h"

PG_FUNCTION_INFO_V1(sware_handler);

/* an estimate of the number of entries on a buffer page */
#define ENTRIES_PER_PAGE		400

/* to look at all entries of a page costs as much as this number of operators */
#define PAGE_LOOK_OPERATORS		20

/* The amgettreeheight callback: the number of levels above the leaves. */
static int
sware_tree_height(Relation index)
{
	return sware_cache(index)->level;
}

/*
 * Add what the buffer adds to the cost of a scan: a look at its open pages,
 * and at sealed ones too if there are no zones; and two comparisons for each
 * qualifying entry of the buffer.
 */
static void
add_buffer_cost(Relation index, Selectivity selectivity, Cost *startup_cost,
				Cost *total_cost)
{
	SwareBufferState state;
	double		pages_read;
	double		entries;

	if (!sware_buffer_read_state(index, &state))
		return;
	pages_read = state.tailCount +
		(sware_zones_are_available() ? 0 : state.sealedPages);
	entries = (double) ENTRIES_PER_PAGE * (state.sealedPages + state.tailCount);

	*startup_cost += pages_read * PAGE_LOOK_OPERATORS * cpu_operator_cost;
	*total_cost += pages_read * PAGE_LOOK_OPERATORS * cpu_operator_cost +
		selectivity * entries * 2 * cpu_operator_cost;
}

/*
 * The amcostestimate callback: the cost of an nbtree scan, plus that of the
 * buffer.  The planner has locked the index.
 *
 * The estimate for nbtree is right for a scan of the tree.  From 18 on, it
 * includes that scans skip entries if leading columns have no equality, which
 * a sware scan does on every version (keys/skip.c).
 */
static void
sware_costestimate(PlannerInfo *root, IndexPath *path, double loop_count,
				   Cost *startup_cost, Cost *total_cost,
				   Selectivity *selectivity, double *correlation, double *pages)
{
	IndexOptInfo *index = path->indexinfo;
	Relation	relation = NULL;

	if (!index->hypothetical)
		relation = index_open(index->indexoid, NoLock);

	/* before version 18, the server finds out the height of btrees only */
	if (index->tree_height < 0 && relation)
		index->tree_height = sware_tree_height(relation);

	btcostestimate(root, path, loop_count, startup_cost, total_cost,
				   selectivity, correlation, pages);
	if (relation)
	{
		add_buffer_cost(relation, *selectivity, startup_cost, total_cost);
		index_close(relation, NoLock);
	}
}

/*
 * The amvalidate callback.  An operator class must store values of its input
 * type, so that its operators and functions can take them.  The server does
 * not check that, since the handler sets amstorage, for one class only: type
 * name is stored as cstring, which saves its padding.
 */
static bool
sware_validate(Oid opclass_oid)
{
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass_oid));
	Form_pg_opclass opclass;
	bool		is_valid;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclass_oid);
	opclass = (Form_pg_opclass) GETSTRUCT(tuple);
	is_valid = !OidIsValid(opclass->opckeytype) ||
		opclass->opckeytype == opclass->opcintype ||
		(opclass->opcintype == NAMEOID && opclass->opckeytype == CSTRINGOID);
	if (!is_valid)
		ereport(INFO,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("operator class \"%s\" of access method %s stores type %s, not its input type %s",
						NameStr(opclass->opcname), "sware",
						format_type_be(opclass->opckeytype),
						format_type_be(opclass->opcintype))));
	ReleaseSysCache(tuple);

	/* both report everything that is wrong */
	return btvalidate(opclass_oid) && is_valid;
}

/*
 * The amcanreturn callback: an index-only scan can return any column.  How it
 * knows which rows are visible, on a standby too, is told in
 * cursor/visibility.h.
 */
static bool
sware_canreturn(Relation index, int column)
{
	return true;
}

/*
 * The ambulkdelete callback: remove the entries whose TIDs VACUUM's callback
 * calls dead.  VACUUM holds ShareUpdateExclusiveLock on the table, and
 * RowExclusiveLock on the index.
 *
 * They may be in the buffer, and a scan may be about to return one from there.
 * So the whole buffer is flushed first, and then VACUUM waits until no backend
 * has a pin on the pages that it was on.
 */
static IndexBulkDeleteResult *
sware_bulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
				 IndexBulkDeleteCallback callback, void *callback_state)
{
	if (stats == NULL)
		stats =
			(IndexBulkDeleteResult *) palloc0(sizeof(IndexBulkDeleteResult));

	sware_publish_index(info->index);
	sware_buffer_flush_all(info->index);
	SWARE_FAULT_POINT("vacuum-flushed");
	sware_buffer_wait_for_readers(info->index, info->strategy);
	SWARE_FAULT_POINT("vacuum-waited");
	sware_tree_bulk_delete(info, stats, callback, callback_state);

	/* records that have the TIDs are of no use before these are reused */
	sware_records_raise_epoch(info->index);
	SWARE_FAULT_POINT("vacuum-deleted");

	return stats;
}

/*
 * The amvacuumcleanup callback: finish a VACUUM.  If `stats` is NULL, there
 * were no dead entries to remove, and sware_bulkdelete was not called.
 */
static IndexBulkDeleteResult *
sware_vacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	SwareBlockSet *free_pages = NULL;

	if (info->analyze_only)
		return stats;

	if (stats == NULL)
	{
		stats =
			(IndexBulkDeleteResult *) palloc0(sizeof(IndexBulkDeleteResult));
		stats->estimated_count = true;
		sware_publish_index(info->index);
		sware_buffer_flush_all(info->index);
	}
	sware_buffer_free_retired(info->index, PG_INT32_MAX);

	if (sware_options_of(info->index)->groupLeaves)
		free_pages =
			sware_block_set_make(RelationGetNumberOfBlocks(info->index));
	sware_tree_cleanup(info, stats, free_pages);
	SWARE_FAULT_POINT("vacuum-examined");

	if (free_pages)
		sware_tree_order_leaves(info, free_pages);

	/*
	 * If leaves were split meanwhile, some entries were counted twice.  There
	 * cannot be more entries than rows.
	 */
	if (!info->estimated_count &&
		stats->num_index_tuples > info->num_heap_tuples)
		stats->num_index_tuples = info->num_heap_tuples;

	return stats;
}

/*
 * The handler function.  It must stay cheap: it is called several times while a
 * query is planned.
 *
 * Strategies and support functions are btree's.  So btree's own callbacks
 * adjust operator classes and, with one more check, validate them.
 * There is no amproperty callback: so the server asks amcanreturn about
 * "returnable", while btree's callback always says yes.
 */
Datum
sware_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *routine = makeNode(IndexAmRoutine);

	routine->amstrategies = BTMaxStrategyNumber;
	routine->amsupport = BTNProcs;
	routine->amoptsprocnum = BTOPTIONS_PROC;
	routine->amcanorder = true;
	routine->amcanbackward = true;
	routine->amcanunique = true;
	routine->amcanmulticol = true;
	routine->amoptionalkey = true;
	routine->amsearcharray = true;
	routine->amsearchnulls = true;
	routine->amstorage = true;	/* name_ops stores cstring */
	routine->amclusterable = true;
	routine->ampredlocks = true;
	routine->amcanparallel = true;
	routine->amcaninclude = true;
	routine->amusemaintenanceworkmem = true;
	routine->amparallelvacuumoptions =
		VACUUM_OPTION_PARALLEL_BULKDEL | VACUUM_OPTION_PARALLEL_COND_CLEANUP;
	routine->amkeytype = InvalidOid;

	routine->ambuild = sware_build;
	routine->ambuildempty = sware_buildempty;
	routine->aminsert = sware_insert;
	routine->ambulkdelete = sware_bulkdelete;
	routine->amvacuumcleanup = sware_vacuumcleanup;
	routine->amcanreturn = sware_canreturn;
	routine->amcostestimate = sware_costestimate;
	routine->amoptions = sware_options;
	routine->ambuildphasename = sware_buildphasename;
	routine->amvalidate = sware_validate;
	routine->amadjustmembers = btadjustmembers;
	routine->ambeginscan = sware_beginscan;
	routine->amrescan = sware_rescan;
	routine->amgettuple = sware_gettuple;
	routine->amgetbitmap = sware_getbitmap;
	routine->amendscan = sware_endscan;
	routine->ammarkpos = sware_markpos;
	routine->amrestrpos = sware_restrpos;
	routine->amestimateparallelscan = sware_estimateparallelscan;
	routine->aminitparallelscan = sware_initparallelscan;
	routine->amparallelrescan = sware_parallelrescan;

	sware_set_can_build_parallel(routine);
	sware_set_version_properties(routine, sware_tree_height);

	PG_RETURN_POINTER(routine);
}
