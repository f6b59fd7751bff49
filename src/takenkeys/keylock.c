/*-------------------------------------------------------------------------
 *
 * keylock.c
 *	  Locks on the keys of unique indexes.  See keylock.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/transam.h"
#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/lmgr.h"

#include "base/compat.h"
#include "base/faultpoint.h"
#include "base/sharedmemory.h"
#include "keys/fingerprint.h"
#include "takenkeys/keylock.h"

/* the first of the page numbers; the one above them is the flush lock's */
#define FIRST_KEY_LOCK_PAGE		(MaxBlockNumber - SWARE_KEY_STRIPES)

/* whose lock everybody shares who has a key of the index locked */
#define ANY_KEY_PAGE			(FIRST_KEY_LOCK_PAGE - 1)

/* a lock in shared memory, half a cache line */
typedef struct KeyLock
{
	pg_atomic_uint64 turns;		/* how often it was taken or released: odd
								 * while it is held */
	pg_atomic_uint64 index;		/* whose key the last holder locked, see
								 * sware_index_number; written by the holder */
	ConditionVariable released; /* a broadcast tells those who wait */
} KeyLock;

static KeyLock *key_locks = NULL;	/* NULL if the library was not preloaded */
static KeyLock *held_lock = NULL;	/* the one that this session holds */
static uint32 wait_event = 0;	/* of waits for a lock in shared memory */

void
sware_share_key_locks(void)
{
	bool		is_new;

	key_locks = sware_share("sware key locks",
							SWARE_KEY_STRIPES * sizeof(KeyLock), &is_new);
	if (key_locks != NULL)
		wait_event = sware_new_wait_event("SwareKeyLock");
	for (int i = 0; i < SWARE_KEY_STRIPES && is_new; i++)
	{
		pg_atomic_init_u64(&key_locks[i].turns, 0);
		pg_atomic_init_u64(&key_locks[i].index, 0);
		ConditionVariableInit(&key_locks[i].released);
	}
}

int
sware_key_stripe(uint64 fingerprint)
{
	return sware_mix(fingerprint) % SWARE_KEY_STRIPES;
}

static BlockNumber
lock_page(uint64 fingerprint)
{
	return FIRST_KEY_LOCK_PAGE + sware_key_stripe(fingerprint);
}

/*
 * Are all key columns of built-in types, and compared by built-in functions,
 * which execute nobody's code?  Those of arrays, ranges, enums and records
 * depend on other types.
 */
static bool
is_built_in(Relation index)
{
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		Oid			type = index->rd_opcintype[i];

		if (type >= FirstGenbkiObjectId || IsPolymorphicType(type) ||
			type == RECORDOID ||
			index_getprocid(index, i + 1, BTORDER_PROC) >= FirstGenbkiObjectId)
			return false;
	}
	return true;
}

static inline KeyLock *
lock_of_stripe(Relation index, int stripe)
{
	uint32		first = murmurhash32(MyDatabaseId ^ RelationGetRelid(index));

	return &key_locks[(first + stripe) % SWARE_KEY_STRIPES];
}

static inline bool
take_lock(KeyLock *lock)
{
	uint64		turns = pg_atomic_read_u64(&lock->turns);

	return turns % 2 == 0 &&
		pg_atomic_compare_exchange_u64(&lock->turns, &turns, turns + 1);
}

/*
 * Lock a key, waiting for other backends.  A temporary index has one user, and
 * needs no lock.  Until it is unlocked, the caller raises no errors, or catches
 * them and calls sware_release_key_lock; if the session ends, the end of its
 * transaction does that.  The caller holds no content locks, and no other key
 * lock of the index.
 */
void
sware_lock_key(Relation index, uint64 fingerprint)
{
	KeyLock    *lock;

	if (index->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return;
	if (key_locks == NULL || !is_built_in(index))
	{
		LockPage(index, ANY_KEY_PAGE, ShareLock);
		LockPage(index, lock_page(fingerprint), ExclusiveLock);
		return;
	}
	if (held_lock != NULL)
		elog(ERROR, "cannot lock a key of index \"%s\" within another insert",
			 RelationGetRelationName(index));
	lock = lock_of_stripe(index, sware_key_stripe(fingerprint));
	if (unlikely(!take_lock(lock)))
	{
		SWARE_WAIT_FOR_SHOWN_LOCK(index, lock_page(fingerprint));
		ConditionVariablePrepareToSleep(&lock->released);
		while (!take_lock(lock))
			ConditionVariableSleep(&lock->released, wait_event);
		ConditionVariableCancelSleep();
	}
	held_lock = lock;
	pg_atomic_write_u64(&lock->index, sware_index_number(index));
	SWARE_SHOW_LOCK(index, lock_page(fingerprint));
}

void
sware_release_key_lock(void)
{
	KeyLock    *lock = held_lock;

	if (lock == NULL)
		return;
	held_lock = NULL;
	pg_atomic_fetch_add_u64(&lock->turns, 1);
	ConditionVariableBroadcast(&lock->released);
}

/*
 * Unlock the key that this backend has locked last.  If it has a lock in shared
 * memory, that is its last one.
 */
void
sware_unlock_key(Relation index, uint64 fingerprint)
{
	if (index->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return;
	if (held_lock != NULL)
	{
		SWARE_HIDE_LOCK(index, lock_page(fingerprint));
		sware_release_key_lock();
	}
	else
	{
		UnlockPage(index, lock_page(fingerprint), ExclusiveLock);
		UnlockPage(index, ANY_KEY_PAGE, ShareLock);
	}
}

/*
 * Wait until a lock is released, if a key of the index is locked by it.  A lock
 * that was taken a moment ago may name another index still: its holder has not
 * looked for the key yet.
 */
static void
wait_for_lock(Relation index, int stripe)
{
	KeyLock    *lock = lock_of_stripe(index, stripe);
	uint64		turns = pg_atomic_read_u64(&lock->turns);

	if (turns % 2 == 0)
		return;
	pg_read_barrier();
	if (pg_atomic_read_u64(&lock->index) != sware_index_number(index))
		return;
	SWARE_WAIT_FOR_SHOWN_LOCK(index, FIRST_KEY_LOCK_PAGE + stripe);
	ConditionVariablePrepareToSleep(&lock->released);
	while (pg_atomic_read_u64(&lock->turns) == turns)
		ConditionVariableSleep(&lock->released, wait_event);
	ConditionVariableCancelSleep();
}

void
sware_wait_for_locked_keys(Relation index)
{
	if (key_locks == NULL || !is_built_in(index))
	{
		LockPage(index, ANY_KEY_PAGE, ExclusiveLock);
		UnlockPage(index, ANY_KEY_PAGE, ExclusiveLock);
		return;
	}
	for (int stripe = 0; stripe < SWARE_KEY_STRIPES; stripe++)
		wait_for_lock(index, stripe);
}
