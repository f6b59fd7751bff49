/*-------------------------------------------------------------------------
 *
 * deadrows.h
 *	  Which rows are dead to everybody?
 *
 * Given a list of rows, the table returns those of them that may lose their
 * entries, and the horizon: a standby must not need rows that transactions up
 * to it have deleted.  The table expects that the caller knows of at least one
 * such row.  So rows that are thought to be dead are checked one by one first.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_DEADROWS_H
#define SWARE_DEADROWS_H

#include "access/tableam.h"
#include "executor/tuptable.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/compat.h"

/* A check of a table's rows, one after another. */
typedef struct SwareRowCheck
{
	IndexFetchTableData *fetch;
	TupleTableSlot *slot;
	SnapshotData snapshot;
} SwareRowCheck;

/*
 * Can the table say which rows are dead to everybody?  Other kinds of tables
 * than heaps may answer that a row is not there when it is only not visible.
 * `heap` may be NULL.
 */
static inline bool
sware_table_tells_dead(Relation heap)
{
	return heap != NULL && heap->rd_tableam == GetHeapamTableAmRoutine();
}

/*
 * Begin a check of a table's rows.  Memory comes from the current context.
 * The check keeps a page of the table pinned between calls.
 */
static inline void
sware_row_check_begin(SwareRowCheck *check, Relation heap)
{
	check->fetch = sware_index_fetch_begin(heap);
	check->slot = table_slot_create(heap, NULL);
	InitNonVacuumableSnapshot(check->snapshot, GlobalVisTestFor(heap));
}

/*
 * Is the row of a TID, with all its versions in a HOT chain, dead to everybody?
 * Locks a page of the table; the caller may hold content locks of the index.
 */
static inline bool
sware_row_is_dead(SwareRowCheck *check, const ItemPointerData *tid)
{
	ItemPointerData copy = *tid;	/* the call below changes it */
	bool		call_again = false;

	return !table_index_fetch_tuple(check->fetch, &copy, &check->snapshot,
									check->slot, &call_again, NULL);
}

/* End the check: release its pin and its memory. */
static inline void
sware_row_check_end(SwareRowCheck *check)
{
	ExecDropSingleTupleTableSlot(check->slot);
	table_index_fetch_end(check->fetch);
}

#endif							/* SWARE_DEADROWS_H */
