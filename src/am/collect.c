/*-------------------------------------------------------------------------
 *
 * collect.c
 *	  Reading a table's rows into a sort.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/tableam.h"

#include "am/collect.h"

typedef struct CollectState
{
	SwareEntrySort *sort;
	bool		marksDead;
	int64		entries;
} CollectState;

/* called for each row of the table */
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
 * Read the rows of a table, or those that a shared scan hands out to this
 * process, and put their entries into the sort.  For a unique index, those of
 * dead rows are marked.
 */
SwareCollected
sware_collect_entries(SwareEntrySort *sort, Relation heap, Relation index,
					  IndexInfo *index_info, ParallelTableScanDesc shared_scan)
{
	CollectState state = {.sort = sort,.marksDead = index_info->ii_Unique};
	SwareCollected result;

	/*
	 * From the first block on: a synchronized scan, which starts anywhere,
	 * would put the lower half of an ordered table behind the upper one.  A
	 * shared scan knows by itself where to start, but has to be told that it
	 * might.
	 */
	if (shared_scan)
		result.rows = table_index_build_scan(heap, index, index_info, true,
											 !IsParallelWorker(), add_row, &state,
											 table_beginscan_parallel(heap, shared_scan));
	else
		result.rows = table_index_build_scan(heap, index, index_info, false, true,
											 add_row, &state, NULL);
	result.entries = state.entries;
	return result;
}
