/*-------------------------------------------------------------------------
 *
 * functions.c
 *	  The SQL functions sware_stats and sware_flush, and what these and others
 *	  share: opening the index and the table that they look into, and returning
 *	  what they have found.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "buffer/buffer.h"
#include "inspect/inspect.h"
#include "pages/bufferpages.h"
#include "shared/statistics.h"
#include "staging/staging.h"

PG_FUNCTION_INFO_V1(sware_stats);
PG_FUNCTION_INFO_V1(sware_flush);

/*
 * Raise an error if a relation is not an index of this access method, or has no
 * pages that could be read here: a partitioned index has none, and those of
 * another session's temporary one are in its memory.
 */
void
sware_require_sware_index(Relation relation)
{
	const char *name = RelationGetRelationName(relation);

	if (relation->rd_rel->relam != get_index_am_oid("sware", true))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a sware index", name)));
	if (relation->rd_rel->relkind == RELKIND_PARTITIONED_INDEX)
	{
		Oid			schema = RelationGetNamespace(relation);

		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a partitioned index", name),
				 errdetail("A partitioned index has no pages of its own."),
				 errhint("Call the function for the index of each partition. "
						 "To list them: "
						 "SELECT relid FROM pg_partition_tree(%s) WHERE isleaf;",
						 quote_literal_cstr(quote_qualified_identifier(
																	   get_namespace_name(schema), name)))));
	}
	if (RELATION_IS_OTHER_TEMP(relation))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions"),
				 errdetail("Index \"%s\" belongs to a temporary table.", name)));
}

/*
 * Open and lock an index and its table, and become the table's owner, so that
 * comparators and the expressions of the index are evaluated as that user.
 * Raises an error if the relation is not an index.
 */
void
sware_open_target(SwareTarget *target, Oid index_oid, LOCKMODE lockmode)
{
	Oid			heap_oid;

	/*
	 * Lock the table first, as all commands do.  If the relation is not an
	 * index, index_open raises an error.
	 */
	heap_oid = IndexGetRelation(index_oid, true);
	target->lockmode = lockmode;
	target->heap = NULL;
	if (OidIsValid(heap_oid))
	{
		target->heap = table_open(heap_oid, lockmode);
		sware_become_owner(target->heap, &target->caller);
	}
	target->index = index_open(index_oid, lockmode);

	/* the index may have been dropped, and its OID reused, before the lock */
	if (target->heap == NULL || heap_oid != IndexGetRelation(index_oid, false))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("could not open parent table of index \"%s\"",
						RelationGetRelationName(target->index))));
}

/* Become the calling user again, and close and unlock index and table. */
void
sware_close_target(SwareTarget *target)
{
	sware_become_again(&target->caller);
	index_close(target->index, target->lockmode);
	table_close(target->heap, target->lockmode);
}

Datum
sware_row_datum(FunctionCallInfo fcinfo, SwareRow *row)
{
	TupleDesc	descriptor;

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	while (row->count < descriptor->natts)
		sware_add_known(row, false, (Datum) 0);
	Assert(row->count == descriptor->natts);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor),
											 row->values, row->nulls));
}

/*
 * Count what is in the buffer, by the directory and its open pages.  If other
 * sessions change these meanwhile, the numbers are those of several moments.
 */
static void
count_buffer(Relation index, int64 *entries, int64 *page_count)
{
	SwareBufferState state;
	SwareListedPage *pages = NULL;
	int			count = 0;

	*entries = 0;
	if (sware_buffer_read_state(index, &state))
		count = sware_buffer_list_pages(index, SWARE_SLOT_SEALED, &pages);
	for (int i = 0; i < count; i++)
		*entries += pages[i].entries;
	for (int i = 0; i < state.tailCount; i++)
	{
		SwareLink	link = state.tails[i];
		PGAlignedBlock copy;

		/* it may have been sealed meanwhile, or even been reused */
		if (sware_copy_buffer_page(index, link, copy.data))
			*entries +=
				sware_buffer_page_entry_count(index, link.block, copy.data);
	}
	*page_count = count + state.tailCount;
}

/* Add what a part is of a whole, in percent; NULL if there is no whole. */
static void
add_percentage(SwareRow *row, double part, double whole)
{
	sware_add_known(row, whole > 0,
					Float8GetDatum(whole > 0 ? 100 * part / whole : 0));
}

/*
 * sware_stats(index regclass)
 *
 * Returns the statistics of an index, or NULL if the index has been dropped
 * while the query was in progress.
 */
Datum
sware_stats(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	Relation	index = try_relation_open(oid, AccessShareLock);
	SwareStatistics statistics;
	SwareRow	row = {0};
	int64		entries = 0;
	int64		pages = 0;
	bool		is_readable;

	if (index == NULL)
		PG_RETURN_NULL();
	sware_require_sware_index(index);

	/* it has no pages before it is built, or if it is unlogged, on a standby */
	is_readable = index->rd_index->indisready &&
		(index->rd_rel->relpersistence != RELPERSISTENCE_UNLOGGED ||
		 !RecoveryInProgress());
	if (is_readable)
		count_buffer(index, &entries, &pages);
	relation_close(index, AccessShareLock);

	sware_add_known(&row, is_readable, Int64GetDatum(entries));
	sware_add_known(&row, is_readable, Int64GetDatum(pages));
	sware_statistics_read(oid, &statistics);
	add_percentage(&row, statistics.sortedness.outOfOrder,
				   statistics.sortedness.entries);
	add_percentage(&row, statistics.sortedness.displacement,
				   statistics.sortedness.entries);
	add_percentage(&row, statistics.arrivals.late, statistics.arrivals.entries);
	/* five columns come before the counters, and one after */
	StaticAssertStmt(SWARE_COLUMN_COUNTERS + 6 <= SWARE_MAX_COLUMNS,
					 "a row of sware_stats is too long");
	for (int i = 0; i < SWARE_COLUMN_COUNTERS; i++)
		sware_add_value(&row, i == SWARE_STAT_FLUSH_TIME ||
						sware_counter_is_maximum(i) ?
						Float8GetDatum(statistics.counters[i] / 1000.0) :
						Int64GetDatum(statistics.counters[i]));
	sware_add_known(&row, statistics.since != 0,
					TimestampTzGetDatum(statistics.since));
	return sware_row_datum(fcinfo, &row);
}

/*
 * sware_flush(index regclass)
 *
 * Publishes what this session has staged for the index, and moves all entries
 * of the buffer to the tree.  Returns the number of entries that were in the
 * buffer; an entry that was there twice counts once.
 */
Datum
sware_flush(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	SwareTarget target;
	int64		moved = 0;

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("recovery is in progress"),
				 errhint("sware_flush cannot be executed during recovery.")));

	sware_open_target(&target, oid, RowExclusiveLock);
	sware_require_sware_index(target.index);
	if (!sware_is_owner_of_relation(oid, target.caller.user))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX,
					   RelationGetRelationName(target.index));

	/* an index that CREATE INDEX CONCURRENTLY has not built yet has no pages */
	if (target.index->rd_index->indisready)
	{
		sware_publish_index(target.index);
		moved = sware_buffer_flush_all(target.index);
	}
	sware_close_target(&target);
	PG_RETURN_INT64(moved);
}
