/*-------------------------------------------------------------------------
 *
 * deadrows.c
 *	  Which rows are dead to everybody?  See deadrows.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/snapmgr.h"

#include "base/compat.h"
#include "tree/deadrows.h"

void
sware_row_check_begin(SwareRowCheck *check, Relation heap)
{
	check->fetch = sware_index_fetch_begin(heap);
	check->slot = table_slot_create(heap, NULL);
	InitNonVacuumableSnapshot(check->snapshot, GlobalVisTestFor(heap));
}

bool
sware_row_is_dead(SwareRowCheck *check, const ItemPointerData *tid)
{
	ItemPointerData copy = *tid;	/* the call below changes it */
	bool		call_again = false;

	return !table_index_fetch_tuple(check->fetch, &copy, &check->snapshot,
									check->slot, &call_again, NULL);
}

void
sware_row_check_end(SwareRowCheck *check)
{
	ExecDropSingleTupleTableSlot(check->slot);
	table_index_fetch_end(check->fetch);
}
