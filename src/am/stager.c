/*-------------------------------------------------------------------------
 *
 * stager.c
 *	  Staging for unique indexes.  buffer/stagedkeys.h tells the protocol.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/snapmgr.h"

#include "am/mergescan.h"
#include "am/scan.h"
#include "am/stager.h"
#include "am/unique.h"
#include "buffer/stagedkeys.h"
#include "buffer/staging.h"
#include "faultpoint.h"

/*
 * To make oneself known costs about as much as so many direct inserts gain by
 * being staged.
 */
#define ROWS_BEFORE_STAGING	64

/* a bound that has saved so many look-ups was worth its search */
#define ROWS_WORTH_A_SEARCH	64

/* after one that was not, so many rows are looked up before the next search */
#define FIRST_PAUSE			32
#define LONGEST_PAUSE		4096

/*
 * How many rows this transaction has inserted into unique indexes without
 * staging.  Some indexes may share a number.
 */
#define ARRIVAL_COUNTS		64

static int	arrivals[ARRIVAL_COUNTS];
static TransactionId arrivals_transaction = InvalidTransactionId;

/* Has this transaction inserted so much that the next row is worth staging? */
static inline bool
is_worth_staging(Relation index)
{
	TransactionId current = GetTopTransactionIdIfAny();
	int		   *count = &arrivals[RelationGetRelid(index) % ARRIVAL_COUNTS];

	if (unlikely(arrivals_transaction != current))
	{
		memset(arrivals, 0, sizeof(arrivals));
		arrivals_transaction = current;
	}
	if (likely(*count == ROWS_BEFORE_STAGING))
		return true;
	++*count;
	return false;
}

/*
 * The bound of an index: its largest entry whose first column is not null.  There
 * may be none afterwards.
 */
static void
search_bound(SwareStager *stager, Relation index)
{
	ScanKeyData not_null;
	IndexScanDesc descriptor;
	SwareScan  *scan;
	bool		has_company;
	bool		found;
	uint64		activity = sware_begin_bound(stager, &has_company);

	stager->pause = stager->rowsSaved >= ROWS_WORTH_A_SEARCH ? 0 :
		Min(Max(stager->pause * 2, FIRST_PAUSE), LONGEST_PAUSE);
	stager->rowsBeforeSearch = stager->pause;
	stager->rowsSaved = 0;

	if (!sware_wait_for_direct_inserts(index))
		return;
	SWARE_FAULT_POINT("bound-begins");
	ScanKeyEntryInitialize(&not_null, SK_ISNULL | SK_SEARCHNOTNULL, 1, InvalidStrategy,
						   InvalidOid, InvalidOid, InvalidOid, (Datum) 0);
	descriptor = sware_beginscan(index, 1, 0);
	descriptor->xs_snapshot = SnapshotAny;
	descriptor->xs_want_itup = true;
	sware_rescan(descriptor, &not_null, 1, NULL, 0);
	scan = descriptor->opaque;
	/* what this session has staged stays where it is */
	scan->beforePage = NULL;
	scan->tree.beforePage = NULL;
	found = sware_gettuple(descriptor, BackwardScanDirection);
	sware_set_bound(stager, index, found ? descriptor->xs_itup : NULL, activity,
					has_company);
	sware_endscan(descriptor);
	IndexScanEnd(descriptor);
	SWARE_FAULT_POINT("bound-found");
}

/*
 * A registered key that is not above the bound, or for which there is none: look
 * it up.  Returns the transaction to be waited for; or InvalidTransactionId, and
 * the entry may be staged, if there have been no disturbances since the key was
 * registered.
 */
static TransactionId
look_up(SwareStager *stager, Relation index, Relation heap, const Datum *values,
		const bool *isnull, ItemPointer tid, uint64 fingerprint,
		uint64 disturbances, uint32 *speculative_token)
{
	TransactionId other;
	bool		is_unique;

	*speculative_token = 0;
	if (!sware_bound_is_valid(stager))
	{
		if (stager->rowsBeforeSearch == 0)
		{
			search_bound(stager, index);
			if (sware_key_needs_no_look_up(stager, index, values, isnull, fingerprint))
				return InvalidTransactionId;
		}
		else
			stager->rowsBeforeSearch--;
	}

	sware_lock_key(index, fingerprint);
	SWARE_FAULT_POINT("staged-key-locked");
	other = sware_find_staged_key(index, fingerprint);
	if (!TransactionIdIsValid(other))
		other = sware_look_up_key(index, heap, values, isnull, tid, UNIQUE_CHECK_YES,
								  &is_unique, speculative_token);
	/* after a disturbance, it may be an inner insert that has registered it */
	if (TransactionIdIsValid(other) && stager->disturbances == disturbances)
		sware_withdraw_key(stager, fingerprint);
	sware_unlock_key(index, fingerprint);
	return other;
}

/*
 * Register a key, making room for it if need be.  False if it cannot be, or is
 * registered already.
 */
static bool
register_key(SwareStaging *staging, Relation index, Relation heap, uint64 fingerprint)
{
	SwareKeySetResult result = sware_register_key(staging->stager, fingerprint);

	if (unlikely(result == SWARE_KEY_HAS_NO_ROOM))
	{
		sware_staging_publish_lower_part(staging, index, heap);
		result = sware_register_key(staging->stager, fingerprint);
	}
	return result == SWARE_KEY_ADDED;
}

/*
 * Register a key, and see to it that there is no other row that has it.  False if
 * it is registered already, cannot be, or may not be any more.
 */
static bool
admit_key(SwareStaging *staging, Relation index, Relation heap, const Datum *values,
		  const bool *isnull, ItemPointer tid, uint64 fingerprint)
{
	SwareStager *stager = staging->stager;

	for (;;)
	{
		TransactionId other = InvalidTransactionId;
		uint32		speculative_token;
		uint64		disturbances;

		if (!register_key(staging, index, heap, fingerprint))
			return false;
		disturbances = stager->disturbances;
		SWARE_FAULT_POINT("key-registered");
		if (unlikely(!sware_key_needs_no_look_up(stager, index, values, isnull,
												 fingerprint)))
			other = look_up(stager, index, heap, values, isnull, tid, fingerprint,
							disturbances, &speculative_token);
		if (unlikely(stager->disturbances != disturbances))
			return false;
		if (likely(!TransactionIdIsValid(other)))
			return true;

		sware_wait_for_other(index, other, speculative_token, tid);
	}
}

/* May an entry be staged, as far as its key is concerned? */
static bool
admit(SwareStaging *staging, Relation index, Relation heap, const Datum *values,
	  const bool *isnull, ItemPointer tid)
{
	SwareStager *stager = staging->stager;
	uint64		fingerprint;

	if (likely(stager && stager->comparison != SWARE_COMPARE_FUNCTION && !isnull[0]))
		fingerprint = sware_integer_fingerprint(stager, values[0]);
	else
	{
		SwareFingerprint any;

		if (!sware_key_is_checked(index, isnull, UNIQUE_CHECK_YES))
			return true;
		any = sware_fingerprint(index, values, isnull);
		/* with nulls that are equal to each other, it is not exact */
		if (!any.tells || sware_has_null_key(index, isnull))
			return false;
		if (stager == NULL)
			stager = staging->stager = sware_become_stager(index);
		if (stager == NULL)
			return false;
		fingerprint = any.value;
	}
	return admit_key(staging, index, heap, values, isnull, tid, fingerprint);
}

/*
 * A comparator may insert into the index whose entries are being published, and
 * then these cannot be published first.
 */
static void
refuse_while_publishing(Relation index, const Datum *values, const bool *isnull)
{
	if (sware_is_publishing(index) &&
		sware_has_staged_key_itself(index, sware_fingerprint(index, values, isnull).value))
		sware_report_nested_insert(index);
}

bool
sware_stage_unique(Relation index, Relation heap, Datum *values, bool *isnull,
				   ItemPointer tid, IndexUniqueCheck check_unique,
				   IndexInfo *index_info)
{
	/* others wait for the top-level transaction */
	if (check_unique == UNIQUE_CHECK_YES && GetCurrentTransactionNestLevel() == 1 &&
		index->rd_rel->relpersistence != RELPERSISTENCE_TEMP &&
		!sware_is_inserting_directly() && is_worth_staging(index))
	{
		SwareStaging *staging = sware_staging_for_insert(index, heap, tid, index_info);

		if (staging && admit(staging, index, heap, values, isnull, tid))
		{
			sware_stage_entry(staging, index, heap, values, isnull, tid);
			return true;
		}
	}
	if (sware_staged_indexes > 0)
	{
		sware_publish_index(index);
		refuse_while_publishing(index, values, isnull);
	}
	return false;
}

/*
 * Get the key of which a scan asks for all rows.  False if it asks for others,
 * too, or compares with values of another type.
 */
static bool
get_key(IndexScanDesc scan, Datum *values, bool *isnull)
{
	int			columns = IndexRelationGetNumberOfKeyAttributes(scan->indexRelation);

	if (scan->numberOfKeys != columns)
		return false;
	for (int i = 0; i < columns; i++)
	{
		ScanKey		key = &scan->keyData[i];

		if (key->sk_attno != i + 1 || key->sk_flags != 0 ||
			key->sk_strategy != BTEqualStrategyNumber ||
			(OidIsValid(key->sk_subtype) &&
			 key->sk_subtype != scan->indexRelation->rd_opcintype[i]))
			return false;
		values[i] = key->sk_argument;
		isnull[i] = false;
	}
	return true;
}

/* Who inserts speculatively looks for conflicts in this way, and so do appliers. */
void
sware_wait_for_stagers_of_key(IndexScanDesc scan)
{
	Relation	index = scan->indexRelation;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	SwareFingerprint fingerprint;
	TransactionId other;

	if (!index->rd_index->indisunique || !sware_there_are_stagers(index) ||
		!get_key(scan, values, isnull))
		return;
	fingerprint = sware_fingerprint(index, values, isnull);
	while (TransactionIdIsValid(other = sware_find_staged_key(index, fingerprint.value)))
		XactLockTableWait(other, NULL, NULL, XLTW_None);
}
