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
#include "access/stratnum.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/index_selfuncs.h"
#include "utils/lsyscache.h"

#include "am/callbacks.h"
#include "base/compat.h"
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

/* Does a condition on an index column allow one value only? */
static bool
is_equality(Expr *clause, Oid opfamily)
{
	Oid			operator;

	if (IsA(clause, NullTest))
		return ((NullTest *) clause)->nulltesttype == IS_NULL;
	else if (IsA(clause, OpExpr))
		operator = ((OpExpr *) clause)->opno;
	else if (IsA(clause, ScalarArrayOpExpr))
		operator = ((ScalarArrayOpExpr *) clause)->opno;
	else
		return false;

	return get_op_opfamily_strategy(operator, opfamily) ==
		BTEqualStrategyNumber;
}

/*
 * How many of a path's clauses bound the part of the index that a scan reads?
 * They are in the order of index columns; those up to the first column without
 * an equality do.
 */
static int
count_bounding_clauses(IndexPath *path)
{
	int			count = 0;
	int			column = 0;
	bool		equality = false;
	ListCell   *clause_cell;

	foreach(clause_cell, path->indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, clause_cell);
		ListCell   *qual_cell;

		if (clause->indexcol != column)
		{
			if (!equality || clause->indexcol != column + 1)
				break;
			column = clause->indexcol;
			equality = false;
		}

		foreach(qual_cell, clause->indexquals)
		{
			RestrictInfo *qual = lfirst_node(RestrictInfo, qual_cell);

			if (is_equality(qual->clause, path->indexinfo->opfamily[column]))
				equality = true;
		}
		count++;
	}

	return count;
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
 * An estimate for nbtree may be that of a scan that skips over the values of
 * columns without equality.  A sware scan reads everything that the bounding
 * clauses allow, and checks the other clauses for each entry.  So estimate a
 * scan with the bounding clauses only, and add the cost of these checks.  The
 * selectivity stays that of all clauses.
 */
static void
estimate_without_skipping(PlannerInfo *root, IndexPath *path,
						  double loop_count, Cost *startup_cost,
						  Cost *total_cost, double *correlation, double *pages)
{
	int			clauses = list_length(path->indexclauses);
	int			bounding = count_bounding_clauses(path);
	IndexPath	bounded = *path;
	Selectivity selectivity;
	double		entries;

	if (bounding == clauses)
		return;
	bounded.indexclauses = list_copy_head(path->indexclauses, bounding);
	btcostestimate(root, &bounded, loop_count, startup_cost, total_cost,
				   &selectivity, correlation, pages);
	entries = clamp_row_est(selectivity * path->indexinfo->rel->tuples);
	*total_cost += entries * cpu_operator_cost * (clauses - bounding);
}

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
	if (SWARE_BTCOST_ASSUMES_SKIP_SCAN)
		estimate_without_skipping(root, path, loop_count, startup_cost,
								  total_cost, correlation, pages);
	if (relation)
	{
		add_buffer_cost(relation, *selectivity, startup_cost, total_cost);
		index_close(relation, NoLock);
	}
}
