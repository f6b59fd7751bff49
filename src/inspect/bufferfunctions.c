/*-------------------------------------------------------------------------
 *
 * bufferfunctions.c
 *	  The SQL functions sware_stats and sware_flush.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xlog.h"
#include "fmgr.h"
#include "utils/acl.h"
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
