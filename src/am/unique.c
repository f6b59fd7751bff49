/*-------------------------------------------------------------------------
 *
 * unique.c
 *	  Is a key in a unique index already?  See unique.h.
 *
 * Nearly always it is not, and that is found out without a look at the table:
 * no entry of the shared buffer has the key, and then none of the tree.  Only
 * if one has, all of them are scanned, and their rows looked at.
 *
 * The scan that this takes is kept for the session's next look-ups, until the
 * index's relation cache entry changes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/tableam.h"
#include "storage/lmgr.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "am/mergescan.h"
#include "am/scan.h"
#include "am/unique.h"
#include "buffer/keylock.h"
#include "buffer/predicatelocks.h"
#include "compat.h"
#include "tree/tree.h"

/* Scans are kept for so many indexes; then all are made anew. */
#define MAX_KEPT_SCANS	64

/* a scan for look-ups in an index, which is kept between them */
typedef struct KeptScan
{
	Oid			index;			/* hash key */
	SwareFile	file;			/* of the index */
	MemoryContext context;		/* of the scan */
	IndexScanDesc scan;
} KeptScan;

/* what a look-up says of the rows that have the key */
typedef enum Verdict
{
	NO_CONFLICT,
	CONFLICT_UNDECIDED,			/* with a row of a running transaction */
	CONFLICT
} Verdict;

/* looking at the rows that have a key */
typedef struct Examination
{
	ItemPointerData tid;		/* of the row that is to be inserted */
	IndexUniqueCheck check;
	SnapshotData snapshot;		/* dirty: says which transaction an undecided
								 * conflict is with */
	Verdict		verdict;
	bool		foundItself;	/* an entry with that TID */
} Examination;

/* those that are not in use; NULL if there never were any */
static HTAB *kept_scans = NULL;

bool
sware_key_is_checked(Relation index, const bool *isnull, IndexUniqueCheck check_unique)
{
	return check_unique != UNIQUE_CHECK_NO &&
		(index->rd_index->indnullsnotdistinct || !sware_has_null_key(index, isnull));
}

/* Free the scan that is kept for an index, if there is one. */
static void
free_kept_scan(Oid index)
{
	KeptScan   *kept = hash_search(kept_scans, &index, HASH_FIND, NULL);

	if (kept == NULL)
		return;
	MemoryContextDelete(kept->context);
	(void) hash_search(kept_scans, &index, HASH_REMOVE, NULL);
}

static void
free_kept_scans(void)
{
	HASH_SEQ_STATUS status;
	KeptScan   *kept;

	hash_seq_init(&status, kept_scans);
	while ((kept = hash_seq_search(&status)) != NULL)
		free_kept_scan(kept->index);
}

/* A relation cache entry has changed, or all may have. */
static void
forget_relation(Datum argument, Oid relation)
{
	if (OidIsValid(relation))
		free_kept_scan(relation);
	else
		free_kept_scans();
}

/* Make a scan with an equality on each key column, in the current memory context. */
static IndexScanDesc
make_scan(Relation index)
{
	int			columns = IndexRelationGetNumberOfKeyAttributes(index);
	IndexScanDesc scan = sware_beginscan(index, columns, 0);

	((SwareScan *) scan->opaque)->buffer.asksForKeys = true;
	for (int i = 0; i < columns; i++)
	{
		Oid			type = index->rd_opcintype[i];
		Oid			equality = get_opfamily_member(index->rd_opfamily[i], type, type,
												   BTEqualStrategyNumber);

		if (!OidIsValid(equality))
			elog(ERROR, "missing operator %d(%u,%u) in operator family %u",
				 BTEqualStrategyNumber, type, type, index->rd_opfamily[i]);
		ScanKeyEntryInitialize(&scan->keyData[i], 0, i + 1, BTEqualStrategyNumber,
							   InvalidOid, index->rd_indcollation[i],
							   get_opcode(equality), (Datum) 0);
	}
	return scan;
}

/*
 * Take the scan that is kept for an index, or make one.  Until it is kept again, its
 * memory context belongs to the current one, and goes with that after an error.
 */
static IndexScanDesc
take_scan(Relation index, MemoryContext *context)
{
	Oid			key = RelationGetRelid(index);
	KeptScan   *kept = kept_scans == NULL ? NULL :
		hash_search(kept_scans, &key, HASH_FIND, NULL);
	MemoryContext caller;
	IndexScanDesc scan;

	if (kept != NULL)
	{
		/* what is known of zones is of a file */
		if (kept->scan->indexRelation == index &&
			memcmp(&kept->file, &SwareRelationLocator(index), sizeof(SwareFile)) == 0)
		{
			*context = kept->context;
			scan = kept->scan;
			(void) hash_search(kept_scans, &key, HASH_REMOVE, NULL);
			MemoryContextSetParent(*context, CurrentMemoryContext);
			scan->xs_itupdesc = RelationGetDescr(index);
			return scan;
		}
		free_kept_scan(key);
	}

	*context = AllocSetContextCreate(CurrentMemoryContext, "sware look-up",
									 ALLOCSET_SMALL_SIZES);
	caller = MemoryContextSwitchTo(*context);
	scan = make_scan(index);
	MemoryContextSwitchTo(caller);
	return scan;
}

/* Keep a scan that holds no pins, unless another one is kept by now. */
static void
keep_scan(IndexScanDesc scan, MemoryContext context)
{
	Oid			key = RelationGetRelid(scan->indexRelation);
	KeptScan   *kept;
	bool		found;

	if (kept_scans == NULL)
	{
		HASHCTL		control = {.keysize = sizeof(Oid),.entrysize = sizeof(KeptScan)};

		kept_scans = hash_create("sware kept scans", MAX_KEPT_SCANS, &control,
								 HASH_ELEM | HASH_BLOBS);
		CacheRegisterRelcacheCallback(forget_relation, (Datum) 0);
	}
	if (hash_get_num_entries(kept_scans) >= MAX_KEPT_SCANS)
		free_kept_scans();
	kept = hash_search(kept_scans, &key, HASH_ENTER, &found);
	if (found)
	{
		MemoryContextDelete(context);
		return;
	}
	kept->file = SwareRelationLocator(scan->indexRelation);
	kept->context = context;
	kept->scan = scan;
	MemoryContextSetParent(context, CacheMemoryContext);
}

/* Start a scan anew, for all entries that have a key. */
static void
restart(IndexScanDesc scan, const Datum *values, const bool *isnull)
{
	SwareScan  *state = scan->opaque;

	for (int i = 0; i < scan->numberOfKeys; i++)
	{
		scan->keyData[i].sk_flags = isnull[i] ? SK_ISNULL | SK_SEARCHNULL : 0;
		scan->keyData[i].sk_argument = isnull[i] ? (Datum) 0 : values[i];
	}
	sware_rescan(scan, scan->keyData, scan->numberOfKeys, NULL, 0);

	/* what this session has staged was published before */
	state->beforePage = state->tree.beforePage = NULL;
}

/*
 * May there be an entry with the key of a scan that has been started?
 *
 * An entry that is in the tree when this looks at the tree, but was in the
 * buffer before, was there when this looked at the buffer: nobody else adds
 * one while the key is locked.
 */
static bool
may_be_there(IndexScanDesc scan)
{
	SwareScan  *state = scan->opaque;

	sware_buffer_cursor_seek(&state->buffer, true, NULL);
	return state->buffer.count > 0 ||
		sware_tree_may_have(&state->tree.keys.low, &state->tree.keys.high);
}

/* Look at the rows that have the key of a scan that has been started. */
static void
examine_rows(IndexScanDesc scan, Relation heap, Examination *examination)
{
	SnapshotData *dirty = &examination->snapshot;

	while (sware_gettuple(scan, ForwardScanDirection))
	{
		ItemPointerData tid = scan->xs_heaptid;

		if (examination->check == UNIQUE_CHECK_EXISTING &&
			ItemPointerEquals(&tid, &examination->tid))
		{
			examination->foundItself = true;
			continue;
		}
		if (!table_index_fetch_tuple_check(heap, &tid, dirty, NULL))
			continue;
		if (examination->check == UNIQUE_CHECK_PARTIAL ||
			TransactionIdIsValid(dirty->xmin) || TransactionIdIsValid(dirty->xmax))
		{
			examination->verdict = CONFLICT_UNDECIDED;
			return;
		}

		/*
		 * CREATE INDEX CONCURRENTLY inserts rows that may have been deleted
		 * meanwhile.  The TID may be the root of a HOT chain: a live row
		 * anywhere in it has the key.
		 */
		tid = examination->tid;
		if (table_index_fetch_tuple_check(heap, &tid, SnapshotSelf, NULL))
			examination->verdict = CONFLICT;
		return;
	}
}

static void
report_conflict(Relation index, Relation heap, const Datum *values, const bool *isnull)
{
	IndexTuple	entry = index_form_tuple(RelationGetDescr(index),
										 unconstify(Datum *, values),
										 unconstify(bool *, isnull));
	char	   *key;

	/* report a serialization failure rather, which this may come from */
	sware_check_conflicts(index, &entry, 1);

	key = BuildIndexValueDescription(index, unconstify(Datum *, values),
									 unconstify(bool *, isnull));
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("duplicate key value violates unique constraint \"%s\"",
					RelationGetRelationName(index)),
			 key ? errdetail("Key %s already exists.", key) : 0,
			 errtableconstraint(heap, RelationGetRelationName(index))));
}

/*
 * Look at the rows that have a key, as far as that is needed.  The scan is kept
 * afterwards, unless there is an error.
 */
static void
examine_key(IndexScanDesc scan, MemoryContext context, Relation heap,
			const Datum *values, const bool *isnull, Examination *examination)
{
	SwareScan  *state = scan->opaque;

	scan->xs_snapshot = &examination->snapshot;
	restart(scan, values, isnull);
	if (examination->check == UNIQUE_CHECK_EXISTING || may_be_there(scan))
		examine_rows(scan, heap, examination);
	sware_merge_rewind(state);
	sware_tree_cursor_rewind(&state->tree);
	scan->xs_snapshot = InvalidSnapshot;
	keep_scan(scan, context);
}

TransactionId
sware_look_up_key(Relation index, Relation heap, const Datum *values, const bool *isnull,
				  ItemPointer tid, IndexUniqueCheck check_unique, bool *is_unique,
				  uint32 *speculative_token)
{
	Examination examination = {.tid = *tid,.check = check_unique,.verdict = NO_CONFLICT,
	.foundItself = false};
	MemoryContext context;
	IndexScanDesc scan = take_scan(index, &context);

	InitDirtySnapshot(examination.snapshot);
	examine_key(scan, context, heap, values, isnull, &examination);

	*is_unique = true;
	*speculative_token = 0;
	if (examination.verdict == CONFLICT)
		report_conflict(index, heap, values, isnull);
	if (check_unique == UNIQUE_CHECK_EXISTING &&
		examination.verdict == NO_CONFLICT && !examination.foundItself)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("failed to re-find tuple within index \"%s\"",
						RelationGetRelationName(index)),
				 errhint("This may be because of a non-immutable index expression."),
				 errtableconstraint(heap, RelationGetRelationName(index))));
	if (examination.verdict == NO_CONFLICT)
		return InvalidTransactionId;
	if (check_unique == UNIQUE_CHECK_PARTIAL)
	{
		*is_unique = false;
		return InvalidTransactionId;
	}
	*speculative_token = examination.snapshot.speculativeToken;
	return TransactionIdIsValid(examination.snapshot.xmin) ?
		examination.snapshot.xmin : examination.snapshot.xmax;
}

void
sware_wait_for_other(Relation index, TransactionId other, uint32 speculative_token,
					 ItemPointer tid)
{
	if (speculative_token != 0)
		SpeculativeInsertionWait(other, speculative_token);
	else
		XactLockTableWait(other, index, tid, XLTW_InsertIndex);
}
