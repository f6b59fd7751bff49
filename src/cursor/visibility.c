/*-------------------------------------------------------------------------
 *
 * visibility.c
 *	  Which entries of an index-only scan have a row that its snapshot sees.
 *	  See visibility.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/faultpoint.h"
#include "cursor/visibility.h"

/* Is a visible tuple in a slot settled?  Other sessions may be changing it. */
static bool
holds_settled(TupleTableSlot *slot)
{
	BufferHeapTupleTableSlot *stored = (BufferHeapTupleTableSlot *) slot;
	HeapTupleHeader tuple;
	uint16		infomask;

	if (!TTS_IS_BUFFERTUPLE(slot))
		return false;
	tuple = stored->base.tuple->t_data;
	infomask = tuple->t_infomask;
	return ((infomask & HEAP_XMAX_INVALID) != 0 ||
			HEAP_XMAX_IS_LOCKED_ONLY(infomask)) &&
		!TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple));
}

bool
sware_row_is_visible(SwareVisibility *visibility, const ItemPointerData *tid,
					 bool *all_dead, bool *is_settled)
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
	if (is_settled)
		*is_settled = found && holds_settled(visibility->slot);
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
							 &all_dead, NULL))
		return true;
	if (all_dead)
		sware_tree_cursor_note_dead(cursor);
	return false;
}

/*
 * Can the values that a scan asks for equal one key each?  Those of the
 * column's type can, and integers, but no null.
 */
static bool
has_exact_values(IndexScanDesc scan)
{
	for (int i = 0; i < scan->numberOfKeys; i++)
	{
		ScanKey		key = &scan->keyData[i];
		Oid			type =
			scan->indexRelation->rd_opcintype[key->sk_attno - 1];

		if ((key->sk_flags & SK_ISNULL) != 0)
			return false;
		if (OidIsValid(key->sk_subtype) && key->sk_subtype != type &&
			!(sware_is_integer(sware_comparison_of_integers(key->sk_subtype)) &&
			  sware_is_integer(sware_comparison_of_integers(type))))
			return false;
	}
	return true;
}

bool
sware_scan_finds_one_row(IndexScanDesc scan, const SwareScanKeys *keys)
{
	Relation	index = scan->indexRelation;
	Form_pg_index form = index->rd_index;
	HeapTupleHeader entry = index->rd_indextuple->t_data;

	return form->indisunique && form->indisvalid &&
		scan->xs_heapfetch != NULL && scan->xs_snapshot != NULL &&
		IsMVCCSnapshot(scan->xs_snapshot) && !IsolationIsSerializable() &&
		sware_scan_keys_are_one_key(keys) && has_exact_values(scan) &&
		TransactionIdPrecedes(HeapTupleHeaderGetXmin(entry),
							  scan->xs_snapshot->xmin);
}
