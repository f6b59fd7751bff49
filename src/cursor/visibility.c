/*-------------------------------------------------------------------------
 *
 * visibility.c
 *	  Which entries of an index-only scan have a row that its snapshot sees.
 *	  See visibility.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "access/visibilitymap.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/faultpoint.h"
#include "cursor/visibility.h"

bool
sware_row_is_visible(SwareVisibility *visibility, const ItemPointerData *tid,
					 bool *all_dead)
{
	IndexScanDesc scan = visibility->scan;
	ItemPointerData its_tid = *tid; /* the call may change it */
	bool		call_again = false;
	bool		found;

	if (visibility->slot == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(visibility->context);

		visibility->slot = table_slot_create(scan->heapRelation, NULL);
		MemoryContextSwitchTo(old);
	}
	*all_dead = false;
	do
		found = table_index_fetch_tuple(scan->xs_heapfetch, &its_tid,
										scan->xs_snapshot, visibility->slot,
										&call_again, all_dead);
	while (!found && call_again);
	ExecClearTuple(visibility->slot);
	return found;
}

bool
sware_ask_map(SwareVisibility *visibility, const ItemPointerData *tid)
{
	CHECK_FOR_INTERRUPTS();
	return VM_ALL_VISIBLE(visibility->scan->heapRelation,
						  ItemPointerGetBlockNumber(tid), &visibility->mapPage);
}

/* Look up all items of the cursor's position in the visibility map. */
static void
look_up(SwareVisibility *visibility, SwareTreeCursor *cursor)
{
	SwarePosition *position = &cursor->position;
	bool		any = false;

	Assert(IsMVCCSnapshot(visibility->scan->xs_snapshot));
	Assert(RelationNeedsWAL(visibility->scan->indexRelation));
	Assert(!BufferIsValid(position->buffer));
	if (visibility->isVisible == NULL)
		visibility->isVisible =
			MemoryContextAlloc(visibility->context,
							   SWARE_MAX_TIDS_PER_PAGE * sizeof(bool));
	SWARE_FAULT_POINT("scan-leaf-copied");

	/* steps 2 and 3 of the protocol in visibility.h, in this order */
	for (int item = position->first; item <= position->last; item++)
	{
		visibility->isVisible[item] =
			sware_ask_map(visibility, &position->tids[item]);
		any |= visibility->isVisible[item];
	}
	if (any)
	{
		SWARE_FAULT_POINT("scan-map-read");
		if (!sware_tree_cursor_leaf_is_unchanged(cursor))
			memset(&visibility->isVisible[position->first], 0,
				   (position->last - position->first + 1) * sizeof(bool));
	}
	visibility->position = cursor->replacements;
}

bool
sware_find_out_visibility(SwareVisibility *visibility, SwareTreeCursor *cursor)
{
	int			item = cursor->position.current;
	bool		all_dead;

	if (visibility->position != cursor->replacements)
		look_up(visibility, cursor);
	if (visibility->isVisible[item])
		return true;

	if (sware_row_is_visible(visibility, &cursor->position.tids[item],
							 &all_dead))
		return true;
	if (all_dead)
		sware_tree_cursor_note_dead(cursor);
	return false;
}
