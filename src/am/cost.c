/*-------------------------------------------------------------------------
 *
 * cost.c
 *	  What a scan is expected to cost: what it would cost with btree, except
 *	  for what only btree scans do.
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
#include "buffer/zones.h"
#include "compat.h"
#include "tree/tree.h"

/* how many entries a buffer page has, about */
#define ENTRIES_PER_PAGE		400

/* what a look at all entries of a page costs: comparisons of integers */
#define PAGE_LOOK_OPERATORS		20

/* number of levels above the leaves */
int
sware_tree_height(Relation index)
{
	int			level;

	(void) sware_get_root(index, &level);
	return level;
}

/* Does the condition fix the value of the index column it is about? */
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

	return get_op_opfamily_strategy(operator, opfamily) == BTEqualStrategyNumber;
}

/*
 * How many of the clauses, which come in the order of index columns, bound
 * the part of the index that a scan reads?  Those up to the first column that
 * has no equality.
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
 * What the shared buffer adds to the cost of a scan: a look at open pages, and
 * at sealed ones too if they have no zones; a comparison or two for each
 * qualifying entry in it.
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
	pages_read = state.tailCount + (sware_zones_are_available() ? 0 : state.sealedPages);
	entries = (double) ENTRIES_PER_PAGE * (state.sealedPages + state.tailCount);

	*startup_cost += pages_read * PAGE_LOOK_OPERATORS * cpu_operator_cost;
	*total_cost += pages_read * PAGE_LOOK_OPERATORS * cpu_operator_cost +
		selectivity * entries * 2 * cpu_operator_cost;
}

/* What a scan of the tree costs. */
static void
estimate_tree_scan(PlannerInfo *root, IndexPath *path, double loop_count,
				   Cost *startup_cost, Cost *total_cost,
				   Selectivity *selectivity, double *correlation, double *pages)
{
	IndexOptInfo *index = path->indexinfo;
	int			bounding;

	btcostestimate(root, path, loop_count,
				   startup_cost, total_cost, selectivity, correlation, pages);

	if (!SWARE_BTCOST_ASSUMES_SKIP_SCAN)
		return;

	/*
	 * What was estimated may be a scan that skips over the values of columns
	 * without equality.  Ours reads all that the bounding clauses bound, and
	 * filters by the others: estimate a scan by the former alone, and add the
	 * cost of the filter.  The selectivity stays that of all clauses.
	 */
	bounding = count_bounding_clauses(path);
	if (bounding < list_length(path->indexclauses))
	{
		IndexPath	bounded = *path;
		Selectivity bounded_selectivity;
		double		entries;

		bounded.indexclauses = list_copy_head(path->indexclauses, bounding);
		btcostestimate(root, &bounded, loop_count,
					   startup_cost, total_cost, &bounded_selectivity,
					   correlation, pages);
		entries = clamp_row_est(bounded_selectivity * index->rel->tuples);
		*total_cost += entries * cpu_operator_cost *
			(list_length(path->indexclauses) - bounding);
	}
}

/*
 * The amcostestimate callback.
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

	/* Before version 18, core knows the height of btrees only. */
	if (index->tree_height < 0 && relation)
		index->tree_height = sware_tree_height(relation);

	estimate_tree_scan(root, path, loop_count,
					   startup_cost, total_cost, selectivity, correlation, pages);
	if (relation)
	{
		add_buffer_cost(relation, *selectivity, startup_cost, total_cost);
		index_close(relation, NoLock);
	}
}
