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

/* Is a key, which is not registered, above the bound?  This may search for that. */
static bool
is_above_bound(SwareStager *stager, Relation index, const Datum *values,
			   const bool *isnull)
{
	if (unlikely(!sware_bound_is_valid(stager)))
	{
		if (stager->rowsBeforeSearch > 0)
		{
			stager->rowsBeforeSearch--;
			return false;
		}
		search_bound(stager, index);
	}
	return sware_key_is_above_bound(stager, index, values, isnull);
}

/* what becomes of a key that is to be registered */
typedef enum Admission
{
	KEY_IS_ADMITTED,			/* it is registered, and its entry can be staged */
	KEY_IS_REFUSED,				/* it is registered already, or may not be any more */
	KEY_NEEDS_ROOM,				/* it is not registered: make room first */
	KEY_MUST_WAIT,				/* it is not: for a transaction */
	KEY_NEEDS_LOOK_UP			/* it is not, and all that is known is not enough */
} Admission;

static Admission
register_key(SwareStager *stager, uint64 fingerprint)
{
	switch (sware_register_key(stager, fingerprint))
	{
		case SWARE_KEY_ADDED:
			SWARE_FAULT_POINT("key-registered");
			return KEY_IS_ADMITTED;
		case SWARE_KEY_IS_THERE:
			return KEY_IS_REFUSED;
		case SWARE_KEY_HAS_NO_ROOM:
			return KEY_NEEDS_ROOM;
	}
	pg_unreachable();
}

/* Register a key that is above the bound. */
static Admission
admit_above_bound(SwareStager *stager, Relation index, uint64 fingerprint)
{
	Admission	result = register_key(stager, fingerprint);

	if (likely(result == KEY_IS_ADMITTED) &&
		unlikely(!sware_key_needs_no_look_up(stager, index, fingerprint)))
	{
		sware_withdraw_key(stager, fingerprint);
		result = KEY_NEEDS_LOOK_UP;
	}
	return result;
}

/*
 * Register a key, and look it up.  It is locked meanwhile, so that nobody who has
 * it locked takes it for staged before that is decided.
 */
static Admission
admit_with_look_up(SwareStager *stager, Relation index, Relation heap,
				   const Datum *values, const bool *isnull, ItemPointer tid,
				   uint64 fingerprint, TransactionId *other,
				   uint32 *speculative_token)
{
	uint64		disturbances;
	bool		is_unique;
	Admission	result;

	sware_lock_key(index, fingerprint);
	SWARE_FAULT_POINT("staged-key-locked");
	result = register_key(stager, fingerprint);
	if (result == KEY_IS_ADMITTED)
	{
		disturbances = stager->disturbances;
		*other = sware_find_staged_key(index, fingerprint);
		if (!TransactionIdIsValid(*other))
			*other = sware_look_up_key(index, heap, values, isnull, tid, UNIQUE_CHECK_YES,
									   &is_unique, speculative_token);
		/* after a disturbance, it may be an inner insert that has registered it */
		if (unlikely(stager->disturbances != disturbances))
			result = KEY_IS_REFUSED;
		else if (TransactionIdIsValid(*other))
		{
			sware_withdraw_key(stager, fingerprint);
			result = KEY_MUST_WAIT;
		}
	}
	sware_unlock_key(index, fingerprint);
	return result;
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
	bool		room_was_made = false;

	for (;;)
	{
		Admission	result = KEY_NEEDS_LOOK_UP;
		TransactionId other = InvalidTransactionId;
		uint32		speculative_token = 0;

		if (likely(is_above_bound(stager, index, values, isnull)))
			result = admit_above_bound(stager, index, fingerprint);
		if (unlikely(result == KEY_NEEDS_LOOK_UP))
			result = admit_with_look_up(stager, index, heap, values, isnull, tid,
										fingerprint, &other, &speculative_token);
		if (likely(result == KEY_IS_ADMITTED))
			return true;

		if (result == KEY_IS_REFUSED || (result == KEY_NEEDS_ROOM && room_was_made))
			return false;
		if (result == KEY_NEEDS_ROOM)
		{
			sware_staging_publish_lower_part(staging, index, heap);
			room_was_made = true;
		}
		else
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
	while (TransactionIdIsValid(sware_find_staged_key(index, fingerprint.value)))
	{
		/* it may be withdrawn soon, by who has it locked */
		sware_lock_key(index, fingerprint.value);
		other = sware_find_staged_key(index, fingerprint.value);
		sware_unlock_key(index, fingerprint.value);
		if (TransactionIdIsValid(other))
			XactLockTableWait(other, NULL, NULL, XLTW_None);
	}
}
