/*-------------------------------------------------------------------------
 *
 * deadrows.h
 *	  Which rows are dead to everybody?
 *
 * The table tells which rows of a list may lose their entries, and up to which
 * transaction a standby must not need them any more (the horizon).  It expects
 * to be told of one such row at least: so those that are thought to be dead are
 * looked at first, one by one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_DEADROWS_H
#define SWARE_DEADROWS_H

#include "access/tableam.h"
#include "utils/rel.h"

/* Looks at rows of a table. */
typedef struct SwareRowCheck
{
	IndexFetchTableData *fetch;
	TupleTableSlot *slot;
	SnapshotData snapshot;
} SwareRowCheck;

/* Can the table say which rows are dead to everybody?  `heap` may be NULL. */
static inline bool
sware_table_tells_dead(Relation heap)
{
	return heap != NULL && heap->rd_tableam->index_delete_tuples != NULL;
}

/*
 * Begin to look at rows of a table; memory comes from the current context.  The
 * check keeps a page of the table pinned between calls.
 */
extern void sware_row_check_begin(SwareRowCheck *check, Relation heap);

/*
 * Is the row of a TID, with all its versions in a HOT chain, dead to everybody?
 * Locks a page of the table; the caller may hold content locks of the index.
 */
extern bool sware_row_is_dead(SwareRowCheck *check, const ItemPointerData *tid);

/* Let go of the pin and the memory. */
extern void sware_row_check_end(SwareRowCheck *check);

#endif							/* SWARE_DEADROWS_H */
