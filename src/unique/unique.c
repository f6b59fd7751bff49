/*-------------------------------------------------------------------------
 *
 * unique.c
 *	  Looking for a key in a unique index, and seeing that an UPDATE leaves it
 *	  as it was.  See unique.h.
 *
 * All entries with the key are scanned, and their rows looked at.  Nearly
 * always the key is new, and there are none.
 *
 * As in any scan, the buffer is looked at before the tree, so an entry that
 * moves to the tree between the two is found in the buffer.  The key lock keeps
 * other sessions from storing new ones.
 *
 * The scan is kept for the session's next look-ups, until the index's relation
 * cache entry changes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/datum.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "base/compat.h"
#include "base/faultpoint.h"
#include "cursor/mergescan.h"
#include "keys/fingerprint.h"
#include "locks/predicatelocks.h"
#include "staging/staging.h"
#include "takenkeys/keylock.h"
#include "takenkeys/stagedkeys.h"
#include "unique/unique.h"

/* when so many scans are kept, all are freed */
#define MAX_KEPT_SCANS	64

/* a scan for look-ups in an index, kept for later ones */
typedef struct KeptScan
{
	Oid			index;
	SwareFile	file;			/* the index's file when the scan was made */
	MemoryContext context;		/* has this, and the scan's memory */
	IndexScanDesc scan;
} KeptScan;

/* what the rows that have the key mean for the new row */
typedef enum Verdict
{
	NO_CONFLICT,
	CONFLICT_UNDECIDED,			/* depends on a transaction in progress */
	CONFLICT
} Verdict;

/* the state while the rows that have the key of a new row are looked at */
typedef struct Examination
{
	const SwareNewRow *row;
	SnapshotData snapshot;		/* a dirty snapshot, which tells the
								 * transaction that an undecided conflict
								 * depends on */
	Verdict		verdict;
	bool		foundItself;	/* was the new row's own entry among them? */
} Examination;

/* those that no look-up uses now, in CacheMemoryContext */
static List *kept_scans = NIL;
static bool are_changes_noticed = false;

bool
sware_key_is_checked(const SwareNewRow *row)
{
	return row->check != UNIQUE_CHECK_NO &&
		(row->index->rd_index->indnullsnotdistinct ||
		 !sware_has_null_key(row->index, row->isnull));
}

/* Free the scans kept for a relation that has changed, or all. */
static void
forget_relation(Datum argument, Oid relation)
{
	ListCell   *cell;

	foreach(cell, kept_scans)
	{
		KeptScan   *kept = lfirst(cell);

		if (OidIsValid(relation) && kept->index != relation)
			continue;
		kept_scans = foreach_delete_current(kept_scans, cell);
		MemoryContextDelete(kept->context);
	}
}

/*
 * Make a scan with an equality on each key column, in the current memory
 * context.  The caller has published what this session has staged for the
 * index.
 */
static IndexScanDesc
make_scan(Relation index)
{
	int			columns = IndexRelationGetNumberOfKeyAttributes(index);
	IndexScanDesc scan = sware_scan_begin(index, columns, NULL);

	sware_scan_buffer(scan->opaque)->filter.asksForKeys = true;
	for (int i = 0; i < columns; i++)
	{
		ScanKey		key = &scan->keyData[i];

		/* only conditions of a scan call the function of the operator */
		memset(key, 0, sizeof(ScanKeyData));
		key->sk_attno = i + 1;
		key->sk_strategy = BTEqualStrategyNumber;
		key->sk_collation = index->rd_indcollation[i];
	}
	return scan;
}

/*
 * Return the scan that is kept for an index, and keep it no longer, or make
 * one.  Its memory context becomes a child of the current one until the scan is
 * kept again, so that an error frees it.
 */
static KeptScan *
take_scan(Relation index)
{
	ListCell   *cell;
	KeptScan   *kept;
	MemoryContext context;
	MemoryContext caller;

	foreach(cell, kept_scans)
	{
		IndexScanDesc scan;

		kept = lfirst(cell);
		if (kept->index != RelationGetRelid(index))
			continue;
		kept_scans = foreach_delete_current(kept_scans, cell);
		scan = kept->scan;
		/* what a scan knows of zones belongs to one file */
		if (scan->indexRelation != index ||
			memcmp(&kept->file, &SwareRelationLocator(index),
				   sizeof(SwareFile)) != 0)
		{
			MemoryContextDelete(kept->context);
			break;
		}
		MemoryContextSetParent(kept->context, CurrentMemoryContext);
		scan->xs_itupdesc = RelationGetDescr(index);
		scan->xactStartedInRecovery = TransactionStartedDuringRecovery();
		scan->ignore_killed_tuples = !scan->xactStartedInRecovery;
		return kept;
	}

	context = AllocSetContextCreate(CurrentMemoryContext, "sware look-up",
									ALLOCSET_SMALL_SIZES);
	caller = MemoryContextSwitchTo(context);
	kept = palloc(sizeof(KeptScan));
	kept->index = RelationGetRelid(index);
	kept->file = SwareRelationLocator(index);
	kept->context = context;
	kept->scan = make_scan(index);
	MemoryContextSwitchTo(caller);
	return kept;
}

/* Keep a scan, which holds no pins, for later look-ups. */
static void
keep_scan(KeptScan *kept)
{
	MemoryContext caller;

	if (!are_changes_noticed)
		CacheRegisterRelcacheCallback(forget_relation, (Datum) 0);
	are_changes_noticed = true;
	if (list_length(kept_scans) >= MAX_KEPT_SCANS)
		forget_relation((Datum) 0, InvalidOid);
	caller = MemoryContextSwitchTo(CacheMemoryContext);
	kept_scans = lappend(kept_scans, kept);
	MemoryContextSwitchTo(caller);
	MemoryContextSetParent(kept->context, CacheMemoryContext);
}

/*
 * Look at the rows that have the key of a scan that has been restarted, until
 * a conflict is found.
 */
static void
examine_rows(IndexScanDesc scan, Examination *examination)
{
	const SwareNewRow *row = examination->row;
	SnapshotData *dirty = &examination->snapshot;

	scan->kill_prior_tuple = false;
	while (sware_scan_next(scan, ForwardScanDirection))
	{
		ItemPointerData tid = scan->xs_heaptid;

		scan->kill_prior_tuple = false;
		if (row->check == UNIQUE_CHECK_EXISTING &&
			ItemPointerEquals(&tid, row->tid))
		{
			examination->foundItself = true;
			continue;
		}
		if (!table_index_fetch_tuple_check(row->heap, &tid, dirty,
										   &scan->kill_prior_tuple))
			continue;
		if (row->check == UNIQUE_CHECK_PARTIAL ||
			TransactionIdIsValid(dirty->xmin) ||
			TransactionIdIsValid(dirty->xmax))
		{
			examination->verdict = CONFLICT_UNDECIDED;
			return;
		}

		/*
		 * CREATE INDEX CONCURRENTLY inserts rows that may have been deleted
		 * meanwhile.  The TID may be the root of a HOT chain: a live row
		 * anywhere in it has the key.
		 */
		tid = *row->tid;
		if (table_index_fetch_tuple_check(row->heap, &tid, SnapshotSelf, NULL))
			examination->verdict = CONFLICT;
		return;
	}
}

/*
 * Raise the error of a key that is not unique.  What it tells is read from
 * catalogs, which may wait for locks of other sessions, so the key is unlocked
 * first.
 */
static void
report_conflict(const SwareNewRow *row)
{
	Relation	index = row->index;
	IndexTuple	entry = index_form_tuple(RelationGetDescr(index), row->values,
										 row->isnull);
	char	   *key;

	sware_release_key_lock();

	/* prefer to report a serialization failure, if that caused the conflict */
	sware_check_conflicts(index, &entry, 1);

	key = BuildIndexValueDescription(index, row->values, row->isnull);
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("duplicate key value violates unique constraint \"%s\"",
					RelationGetRelationName(index)),
			 key ? errdetail("Key %s already exists.", key) : 0,
			 errtableconstraint(row->heap, RelationGetRelationName(index))));
}

TransactionId
sware_look_up_key(const SwareNewRow *row, bool *is_unique,
				  uint32 *speculative_token)
{
	Examination examination = {.row = row,
		.verdict = NO_CONFLICT,
	.foundItself = false};
	KeptScan   *kept = take_scan(row->index);
	IndexScanDesc scan = kept->scan;

	InitDirtySnapshot(examination.snapshot);
	scan->xs_snapshot = &examination.snapshot;
	if (row->check == UNIQUE_CHECK_EXISTING)
		scan->ignore_killed_tuples = false; /* the entry itself may be marked */
	for (int i = 0; i < scan->numberOfKeys; i++)
	{
		bool		isnull = row->isnull[i];

		scan->keyData[i].sk_flags = isnull ? SK_ISNULL | SK_SEARCHNULL : 0;
		scan->keyData[i].sk_argument = isnull ? (Datum) 0 : row->values[i];
	}
	sware_scan_restart(scan);
	examine_rows(scan, &examination);

	/* after an error it is freed */
	sware_scan_rewind(scan->opaque);
	scan->xs_snapshot = InvalidSnapshot;
	keep_scan(kept);

	*is_unique = true;
	*speculative_token = 0;
	if (examination.verdict == CONFLICT)
		report_conflict(row);
	if (row->check == UNIQUE_CHECK_EXISTING &&
		examination.verdict == NO_CONFLICT && !examination.foundItself)
		ereport(
				ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("failed to re-find tuple within index \"%s\"",
						RelationGetRelationName(row->index)),
				 errhint(
						 "This may be because of a non-immutable index expression."),
				 errtableconstraint(row->heap,
									RelationGetRelationName(row->index))));
	if (examination.verdict == NO_CONFLICT)
		return InvalidTransactionId;
	if (row->check == UNIQUE_CHECK_PARTIAL)
	{
		*is_unique = false;
		return InvalidTransactionId;
	}
	*speculative_token = examination.snapshot.speculativeToken;
	return TransactionIdIsValid(examination.snapshot.xmin) ?
		examination.snapshot.xmin : examination.snapshot.xmax;
}

void
sware_wait_for_other(const SwareNewRow *row, TransactionId other,
					 uint32 speculative_token)
{
	if (speculative_token != 0)
		SpeculativeInsertionWait(other, speculative_token);
	else
		XactLockTableWait(other, row->index, row->tid, XLTW_InsertIndex);
}

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
