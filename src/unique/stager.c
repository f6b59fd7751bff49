/*-------------------------------------------------------------------------
 *
 * stager.c
 *	  Staging for unique indexes: takenkeys/stagedkeys.h describes the
 *	  protocol.  Here are the bound, and when it is searched for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"

#include "base/faultpoint.h"
#include "cursor/mergescan.h"
#include "keys/abbreviation.h"
#include "keys/scankeys.h"
#include "locks/changes.h"
#include "keys/fingerprint.h"
#include "takenkeys/keylock.h"
#include "takenkeys/stagedkeys.h"
#include "staging/staging.h"
#include "unique/unique.h"

/* to become a stager costs about as much as this number of rows gains by it */
#define ROWS_BEFORE_STAGING	12

/* a bound that has saved this number of look-ups was worth its search */
#define ROWS_WORTH_A_SEARCH	64

/*
 * After a search that was not worth its cost, rows are looked up before the
 * next search: first this number of them, then twice as many each time.
 */
#define FIRST_PAUSE			32
#define LONGEST_PAUSE		4096

/* how many rows a transaction has inserted directly; indexes share counts */
#define ARRIVAL_COUNTS		64

static struct
{
	TransactionId transaction;
	int			count;
}			arrivals[ARRIVAL_COUNTS];

static inline bool
is_worth_staging(Relation index)
{
	TransactionId current = GetTopTransactionIdIfAny();
	int			place = RelationGetRelid(index) % ARRIVAL_COUNTS;

	if (unlikely(arrivals[place].transaction != current))
	{
		arrivals[place].transaction = current;
		arrivals[place].count = 0;
	}
	if (likely(arrivals[place].count == ROWS_BEFORE_STAGING))
		return true;
	arrivals[place].count++;
	return false;
}

/* Is the bound known, and has no session stored anything since it was found? */
static inline bool
bound_is_valid(const SwareStager *stager)
{
	return stager->hasBound &&
		pg_atomic_read_u64(&stager->activity->raised) == stager->boundActivity;
}

/*
 * Search for the bound of an index: its largest entry whose first column is
 * not null.  It may be unknown afterwards.  Waits for direct inserts, reads
 * pages and calls comparators, so the caller holds no lock but on the relation.
 */
static void
search_bound(SwareStager *stager, Relation index)
{
	IndexTuple	largest;

	stager->pause = stager->rowsSaved >= ROWS_WORTH_A_SEARCH ? 0 :
		Min(Max(stager->pause * 2, FIRST_PAUSE), LONGEST_PAUSE);
	stager->rowsBeforeSearch = stager->pause;
	stager->rowsSaved = 0;

	stager->hasBound = false;
	stager->boundActivity = pg_atomic_read_u64(&stager->activity->raised);
	pg_memory_barrier();
	sware_wait_for_locked_keys(index);
	SWARE_FAULT_POINT("bound-begins");
	largest = sware_largest_entry(index);
	if (stager->bound)
		pfree(stager->bound);
	stager->bound = NULL;
	if (largest)
	{
		MemoryContext caller = MemoryContextSwitchTo(TopTransactionContext);

		stager->bound = CopyIndexTuple(largest);
		MemoryContextSwitchTo(caller);
		stager->boundNumber =
			sware_abbreviate(&stager->first, RelationGetDescr(index), largest);
		pfree(largest);
	}
	stager->hasBound = true;
	SWARE_FAULT_POINT("bound-found");
}

/*
 * Is a key above the bound?  The key is not registered.  This may search for
 * the bound, and calls comparison functions, so no lightweight lock may be
 * held.  These may execute SQL that publishes, after which the bound may be
 * unknown.
 */
static bool
is_above_bound(SwareStager *stager, const SwareNewRow *row)
{
	SwareSearchKey key;
	int64		number;

	if (unlikely(!bound_is_valid(stager)))
	{
		if (stager->rowsBeforeSearch > 0)
		{
			stager->rowsBeforeSearch--;
			return false;
		}
		search_bound(stager, row->index);
		if (!bound_is_valid(stager))
			return false;
	}
	if (stager->bound == NULL)
		return true;
	number = sware_abbreviate_value(&stager->first, row->values[0],
									row->isnull[0]);
	if (number != stager->boundNumber)
		return number > stager->boundNumber;

	sware_search_key_init(&key, row->index);
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(row->index); i++)
		sware_search_key_set_column(&key, i + 1, row->values[i],
									row->isnull[i]);
	/* a place before all entries with an equal key */
	return sware_compare_key(&key, stager->bound) > 0;
}

/* Only with KEY_IS_ADMITTED a key has become registered. */
typedef enum Admission
{
	KEY_IS_ADMITTED,			/* its entry can be staged */
	KEY_IS_REFUSED,				/* this session has registered it already, or
								 * its entry cannot be staged, or there is no
								 * room to register it */
	KEY_MUST_WAIT,				/* another transaction must end first */
	KEY_NEEDS_LOOK_UP			/* it is unknown whether another row has it */
} Admission;

/*
 * Register a key, without looking for other rows that have it.  Issues a memory
 * barrier.  Returns false if the key is refused.
 */
static bool
register_key(SwareStager *stager, uint64 fingerprint)
{
	if (!sware_key_set_add(stager->keys, stager->lock, fingerprint))
		return false;
	SWARE_FAULT_POINT("key-registered");
	return true;
}

/*
 * Step 1 of a stager's insert: register a key that was above the bound, if it
 * is certain then that no other row has it.  May take the locks of seats for a
 * moment.
 */
static Admission
admit_above_bound(SwareStager *stager, const SwareNewRow *row,
				  uint64 fingerprint)
{
	if (!register_key(stager, fingerprint))
		return KEY_IS_REFUSED;
	SWARE_FAULT_POINT("above-bound");
	if (likely(pg_atomic_read_u32(&stager->activity->stagers) <= 1) ||
		!TransactionIdIsValid(sware_find_staged_key(row->index, fingerprint)))
	{
		/*
		 * A key that left the register before we looked is stored, and its
		 * session raised the activity before.
		 */
		pg_read_barrier();
		if (bound_is_valid(stager))
		{
			stager->rowsSaved++;
			return KEY_IS_ADMITTED;
		}
	}
	sware_key_set_remove(stager->keys, fingerprint);
	return KEY_NEEDS_LOOK_UP;
}

/*
 * Register a key, and look for it among other stagers' keys and, unless the row
 * keeps its key, stored ones.  Its key lock is held meanwhile, so that no
 * backend with that lock takes the key for staged before this is decided.  With
 * KEY_MUST_WAIT, *other is the transaction to wait for.
 */
static Admission
admit_with_look_up(SwareStager *stager, const SwareNewRow *row,
				   uint64 fingerprint, TransactionId *other,
				   uint32 *speculative_token)
{
	volatile Admission result = KEY_IS_REFUSED;
	bool		is_unique;

	PG_TRY();
	{
		sware_lock_key(row->index, fingerprint);
		SWARE_FAULT_POINT("staged-key-locked");
		if (register_key(stager, fingerprint))
		{
			result = KEY_IS_ADMITTED;
			*other = sware_find_staged_key(row->index, fingerprint);
			if (!TransactionIdIsValid(*other) && !sware_keeps_key(row))
				*other = sware_look_up_key(row, &is_unique, speculative_token);
		}
		if (TransactionIdIsValid(*other))
		{
			sware_key_set_remove(stager->keys, fingerprint);
			result = KEY_MUST_WAIT;
		}
		sware_unlock_key(row->index, fingerprint);
	}
	PG_CATCH();
	{
		/* as in insert_unique (am/insert.c) */
		sware_release_key_lock();
		PG_RE_THROW();
	}
	PG_END_TRY();
	return result;
}

/*
 * Register a key once it is certain that no other live row has it.  Waits for
 * transactions that may have inserted it; raises an error if another row has
 * it.
 */
static Admission
admit_key(SwareStager *stager, const SwareNewRow *row, uint64 fingerprint)
{
	for (;;)
	{
		Admission	result = KEY_NEEDS_LOOK_UP;
		TransactionId other = InvalidTransactionId;
		uint32		speculative_token = 0;

		if (likely(row->keepsKeyIn == InvalidCommandId &&
				   is_above_bound(stager, row)))
			result = admit_above_bound(stager, row, fingerprint);
		if (unlikely(result == KEY_NEEDS_LOOK_UP))
		{
			sware_keys_ahead_before(row);
			result = admit_with_look_up(stager, row, fingerprint, &other,
										&speculative_token);
			sware_keys_ahead_after(row->index);
		}
		if (likely(result != KEY_MUST_WAIT))
			return result;
		sware_wait_for_other(row, other, speculative_token);
	}
}

/*
 * Register the key of a row so that its entry can be staged.  This makes the
 * session a stager of the index if it is none.  A key that need not be unique
 * is admitted without being registered.
 */
static Admission
admit(SwareStaging *staging, const SwareNewRow *row)
{
	SwareStager *stager = staging->stager;
	SwareFingerprint fingerprint;

	/* as sware_fingerprint does it */
	if (likely(stager && stager->isInteger && !row->isnull[0]))
		fingerprint.value = (uint64)
			sware_integer_value(stager->first.comparison, row->values[0]);
	else
	{
		if (!sware_key_is_checked(row))
			return KEY_IS_ADMITTED;
		fingerprint = sware_fingerprint(row->index, row->values, row->isnull);

		/* where nulls are equal, the fingerprint does not tell keys apart */
		if (!fingerprint.tells || sware_has_null_key(row->index, row->isnull))
			return KEY_IS_REFUSED;
		if (stager == NULL)
			stager = staging->stager = sware_become_stager(row->index);
		if (stager == NULL)
			return KEY_IS_REFUSED;
	}
	return admit_key(stager, row, fingerprint.value);
}

bool
sware_stage_unique(const SwareNewRow *row, IndexInfo *index_info)
{
	Relation	index = row->index;

	/*
	 * Other backends wait for the top-level transaction, so no subtransaction
	 * stages.  While a comparison function inserts into another index, a key
	 * of the outer index may be locked, and this must not wait.
	 */
	if (row->check == UNIQUE_CHECK_YES &&
		GetCurrentTransactionNestLevel() == 1 &&
		index->rd_rel->relpersistence != RELPERSISTENCE_TEMP &&
		sware_change_count == 0 && is_worth_staging(index))
	{
		SwareStaging *staging = sware_staging_for_insert(row, index_info);
		Admission	result = KEY_IS_REFUSED;

		if (staging)
		{
			sware_begin_change(index, SWARE_INSERTS);
			result = admit(staging, row);
			sware_end_change();
		}
		if (result == KEY_IS_ADMITTED)
		{
			sware_stage_entry(staging, row);
			return true;
		}
	}
	sware_publish_index(index);
	return false;
}

/*
 * ON CONFLICT looks for conflicts by such scans, and so do exclusion
 * constraints and the appliers of logical replication.
 */
void
sware_wait_for_stagers_of_key(IndexScanDesc scan)
{
	Relation	index = scan->indexRelation;
	int			columns = IndexRelationGetNumberOfKeyAttributes(index);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS] = {0};
	SwareFingerprint fingerprint;
	TransactionId other;

	if (!index->rd_index->indisunique || !sware_there_are_stagers(index) ||
		scan->numberOfKeys != columns)
		return;
	for (int i = 0; i < columns; i++)
	{
		if (!sware_is_own_equality(index, &scan->keyData[i], i))
			return;
		values[i] = scan->keyData[i].sk_argument;
	}
	fingerprint = sware_fingerprint(index, values, isnull);
	while (TransactionIdIsValid(
								sware_find_staged_key(index, fingerprint.value)))
	{
		/* The session that has the key locked may withdraw it soon. */
		sware_lock_key(index, fingerprint.value);
		other = sware_find_staged_key(index, fingerprint.value);
		sware_unlock_key(index, fingerprint.value);
		if (TransactionIdIsValid(other))
			XactLockTableWait(other, NULL, NULL, XLTW_None);
	}
}
