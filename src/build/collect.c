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

#include "base/compat.h"
#include "build/build.h"

typedef struct CollectState
{
	SwareEntrySort *sort;
	bool		marksDead;
	int64		entries;
} CollectState;

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
