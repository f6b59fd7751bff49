/*-------------------------------------------------------------------------
 *
 * newversion.c
 *	  Does an UPDATE leave the key of a row as it was?
 *
 * An UPDATE that cannot be HOT inserts an entry of the row's new version into
 * each index, also where the key has not changed.  A unique index then needs no
 * look-up.  The old version was live when it was updated, so no other row had
 * the key.  Its entry stays, so any other session that wants the key finds the
 * old version, and waits for this transaction.  This session may itself insert
 * a row with the key after the old version has been replaced, and before the
 * new one's entry is stored, in functions that other indexes call.  But that is
 * another command, and raises the current command id.
 *
 * What aminsert is told (index_unchanged) is a hint: triggers may have changed
 * the key.  So this looks at the old version itself.
 *
 * The executor still has the old version of the row that it is updating: the
 * state of the innermost statement in progress leads to it.  Whatever is found
 * there proves itself: if the current transaction has updated it, and its
 * successor is the new row, it is the old version.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "storage/bufmgr.h"
#include "utils/datum.h"

#include "base/compat.h"
#include "staging/staging.h"
#include "unique/unique.h"

/*
 * Has this transaction replaced the tuple in a slot by the one at `successor`?
 * A tuple that others have locked as well counts as not replaced.
 */
static bool
is_replaced_by(TupleTableSlot *slot, ItemPointer successor)
{
	BufferHeapTupleTableSlot *stored = (BufferHeapTupleTableSlot *) slot;
	HeapTupleHeader tuple;
	bool		result;

	if (TTS_EMPTY(slot) || !TTS_IS_BUFFERTUPLE(slot) ||
		!BufferIsValid(stored->buffer))
		return false;
	tuple = stored->base.tuple->t_data;

	/* other sessions may be locking the row */
	LockBuffer(stored->buffer, BUFFER_LOCK_SHARE);
	result = ItemPointerEquals(&tuple->t_ctid, successor) &&
		(tuple->t_infomask & (HEAP_XMAX_INVALID | HEAP_XMAX_IS_MULTI)) == 0 &&
		!HEAP_XMAX_IS_LOCKED_ONLY(tuple->t_infomask) &&
		TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetRawXmax(tuple));
	LockBuffer(stored->buffer, BUFFER_LOCK_UNLOCK);
	return result;
}

/*
 * Return the old version of a row that the innermost statement in progress is
 * updating; NULL if it is inserting the row, or the old version is not found.
 * In data-modifying WITH clauses it is not looked for.
 */
static TupleTableSlot *
old_version(const SwareNewRow *row)
{
	QueryDesc  *query = sware_statement.query;
	ModifyTableState *node;
	ResultRelInfo *target;

	if (query == NULL || query->planstate == NULL ||
		!IsA(query->planstate, ModifyTableState))
		return NULL;
	node = (ModifyTableState *) query->planstate;
	if (node->operation == CMD_INSERT || node->operation == CMD_DELETE)
		return NULL;
	target = sware_current_target(node);
	if (RelationGetRelid(target->ri_RelationDesc) !=
		RelationGetRelid(row->heap) ||
		target->ri_oldTupleSlot == NULL ||
		!is_replaced_by(target->ri_oldTupleSlot, row->tid))
		return NULL;
	return target->ri_oldTupleSlot;
}

/*
 * Has the tuple in a slot the same key as a row, to the last bit?  The key has
 * no expressions.
 */
static bool
has_key_of(TupleTableSlot *slot, const SwareNewRow *row)
{
	Form_pg_index form = row->index->rd_index;

	for (int i = 0; i < form->indnkeyatts; i++)
	{
		AttrNumber	column = form->indkey.values[i];
		Form_pg_attribute attribute =
			TupleDescAttr(slot->tts_tupleDescriptor, column - 1);
		bool		isnull;
		Datum		value = slot_getattr(slot, column, &isnull);

		if (isnull != row->isnull[i] ||
			(!isnull && !datum_image_eq(value, row->values[i],
										attribute->attbyval,
										attribute->attlen)))
			return false;
	}
	return true;
}

/*
 * An index that is not valid may have no entry of a live row yet, and a partial
 * one none of the old version.  Expressions of the old version would have to be
 * evaluated.
 */
CommandId
sware_command_that_keeps_key(const SwareNewRow *row,
							 const IndexInfo *index_info)
{
	TupleTableSlot *slot;

	if (row->check != UNIQUE_CHECK_YES || !row->index->rd_index->indisvalid ||
		index_info->ii_Expressions != NIL || index_info->ii_Predicate != NIL)
		return InvalidCommandId;
	slot = old_version(row);
	if (slot == NULL || !has_key_of(slot, row))
		return InvalidCommandId;
	return sware_statement.query->estate->es_output_cid;
}
