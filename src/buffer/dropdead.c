/*-------------------------------------------------------------------------
 *
 * dropdead.c
 *	  Leaves out entries that need not go to the tree.  See dropdead.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/compat.h"
#include "base/faultpoint.h"
#include "buffer/dropdead.h"
#include "layout/tuple.h"
#include "tree/deadrows.h"
#include "wal/wal.h"

/*
 * Entries that the table is asked about at once.  They come in the order of
 * their arrival, so many of them are of the same block of the table.
 */
#define ENTRIES_AT_ONCE		1024

/*
 * If fewer than one in this number of the entries asked about are dead, the
 * next ones are passed over: as many as were asked about, then twice as many,
 * and so on.  The table is asked about the marked ones among them only; but
 * about all if this share of them is marked.
 */
#define WORTHWHILE_SHARE	32
#define MAX_PASSED_OVER		(15 * ENTRIES_AT_ONCE)

static int
count_marked(IndexTuple *entries, int count)
{
	int			marked = 0;

	for (int i = 0; i < count; i++)
		marked += sware_entry_is_marked(entries[i]);
	return marked;
}

/*
 * Find out which entries' rows are dead to everybody: dead[i] tells of entry i.
 * Only the marked ones are looked at, or all.  Returns their number.
 */
static int
find_dead(SwareRowCheck *check, IndexTuple *entries, int count, bool ask_all,
		  bool *dead)
{
	int			found = 0;

	for (int i = 0; i < count; i++)
	{
		dead[i] = (ask_all || sware_entry_is_marked(entries[i])) &&
			sware_row_is_dead(check, &entries[i]->t_tid);
		found += dead[i];
	}
	return found;
}

/* qsort comparator */
static int
compare_tids(const void *a, const void *b)
{
	return ItemPointerCompare(unconstify(ItemPointerData *,
										 (const ItemPointerData *) a),
							  unconstify(ItemPointerData *,
										 (const ItemPointerData *) b));
}

/*
 * Tell standbys of the dead ones among entries, one at least.  An entry may be
 * there twice, if publishing it had failed; the table is asked about it once.
 */
static void
log_conflict(Relation index, Relation heap, IndexTuple *entries, int count,
			 const bool *dead)
{
	ItemPointerData tids[ENTRIES_AT_ONCE];
	TM_IndexDelete asked[ENTRIES_AT_ONCE];
	TM_IndexStatus status[ENTRIES_AT_ONCE];
	TM_IndexDeleteOp operation;
	int			dead_count = 0;

	for (int i = 0; i < count; i++)
	{
		if (dead[i])
			tids[dead_count++] = entries[i]->t_tid;
	}
	qsort(tids, dead_count, sizeof(ItemPointerData), compare_tids);

	operation.irel = index;
	operation.iblknum = InvalidBlockNumber;
	operation.bottomup = false;
	operation.bottomupfreespace = 0;
	operation.ndeltids = 0;
	operation.deltids = asked;
	operation.status = status;
	for (int i = 0; i < dead_count; i++)
	{
		int			id = operation.ndeltids;

		if (i > 0 && ItemPointerEquals(&tids[i - 1], &tids[i]))
			continue;
		asked[id].tid = tids[i];
		asked[id].id = id;
		status[id].idxoffnum = FirstOffsetNumber;
		status[id].knowndeletable = true;
		status[id].promising = false;
		status[id].freespace = 0;
		operation.ndeltids++;
	}
	sware_wal_log_conflict(index, heap,
						   table_index_delete_tuples(heap, &operation));
}

int
sware_drop_dead(Relation index, Relation heap, IndexTuple *entries, int count,
				bool only_marked)
{
	bool		dead[ENTRIES_AT_ONCE];
	SwareRowCheck check;
	int			kept = 0;
	int			passed_over = 0;	/* entries that follow the last question
									 * about all, and are passed over */
	int			to_pass_over = 0;	/* how many of these are left */

	/*
	 * scans with old snapshots fail by the LSNs of leaves, which this would
	 * not raise
	 */
	if (!sware_table_tells_dead(heap) || sware_snapshots_get_too_old())
		return 0;

	sware_row_check_begin(&check, heap);
	for (int next = 0; next < count; next += ENTRIES_AT_ONCE)
	{
		IndexTuple *some = entries + next;
		int			some_count = Min(count - next, ENTRIES_AT_ONCE);
		int			worthwhile = Max(some_count / WORTHWHILE_SHARE, 1);
		bool		ask_all = (to_pass_over == 0 && !only_marked) ||
			count_marked(some, some_count) >= worthwhile;
		int			found =
			find_dead(&check, some, some_count, ask_all, dead);

		CHECK_FOR_INTERRUPTS();
		if (found > 0)
			log_conflict(index, heap, some, some_count, dead);
		for (int i = 0; i < some_count; i++)
		{
			if (!dead[i])
				entries[kept++] = some[i];
		}

		if (!ask_all)
			to_pass_over = Max(to_pass_over - ENTRIES_AT_ONCE, 0);
		else
		{
			passed_over = found >= worthwhile ? 0 :
				Min(2 * passed_over + ENTRIES_AT_ONCE, MAX_PASSED_OVER);
			to_pass_over = passed_over;
		}
	}
	sware_row_check_end(&check);
	SWARE_FAULT_POINT("flush-dead-dropped");
	return count - kept;
}
