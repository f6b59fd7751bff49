/*-------------------------------------------------------------------------
 *
 * cost.c
 *	  The cost of a scan for the planner: that of an nbtree scan, plus that of
 *	  the buffer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/index_selfuncs.h"

#include "am/callbacks.h"
#include "pages/bufferpages.h"
#include "tree/descent.h"
#include "zones/zones.h"

/* an estimate of the number of entries on a buffer page */
#define ENTRIES_PER_PAGE		400

/* to look at all entries of a page costs as much as this number of operators */
#define PAGE_LOOK_OPERATORS		20

int
sware_tree_height(Relation index)
{
	int			level;

	(void) sware_get_root(index, &level);
	return level;
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
 * The amcostestimate callback.
 *
 * The estimate for nbtree is right for a scan of the tree.  From 18 on, it
 * includes that scans skip entries if leading columns have no equality, which
 * a sware scan does on every version (keys/skip.h).
 */
void
sware_costestimate(PlannerInfo *root, IndexPath *path, double loop_count,
				   Cost *startup_cost, Cost *total_cost,
				   Selectivity *selectivity, double *correlation, double *pages)
{
	IndexOptInfo *index = path->indexinfo;
	Relation	relation = NULL;

	/* The planner has locked the index. */
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
