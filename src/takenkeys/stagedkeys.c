/*-------------------------------------------------------------------------
 *
 * stagedkeys.c
 *	  Which keys sessions have staged for unique indexes.  stagedkeys.h
 *	  describes the protocol.
 *
 * To find the seats of an index, where its stagers have their keys, a backend
 * goes through all seats.  The number of an index's stagers is stored beside
 * its activity, so that a backend that inserts into an index without stagers
 * reads only that number.
 *
 * No lightweight lock is held while an error can be raised.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"

#include "base/sharedmemory.h"
#include "keys/abbreviation.h"
#include "locks/changes.h"
#include "pages/cache.h"
#include "takenkeys/keylock.h"
#include "takenkeys/stagedkeys.h"

/* indexes are distributed over the activities by hash */
#define ACTIVITIES		256

/* the largest number of indexes that a session is a stager of at a time */
#define MAX_OWN_STAGERS	16

typedef struct Seat
{
	pg_atomic_uint64 index;		/* see sware_index_number; 0 if the seat is
								 * free.  Changed under the lock */

	/* guarded by the seat's lock; only the owner writes, see keyset.h */
	TransactionId transaction;	/* the stager's, top-level */
	SwareKeySet keys;
} Seat;

/* in shared memory */
typedef struct Register
{
	SwareActivity activities[ACTIVITIES];
	pg_atomic_uint32 chunks;	/* of all key sets */
	Seat		seats[FLEXIBLE_ARRAY_MEMBER];
} Register;

static Register *shared = NULL; /* NULL if the library was not preloaded */
static LWLockPadded *locks;		/* one for each seat, and a last one for
								 * taking seats */

/* the indexes that this session is a stager of in the current transaction */
static SwareStager own_stagers[MAX_OWN_STAGERS];
static int	own_count = 0;

/* as many seats as sessions; one may use several, and others none */
static inline int
seat_count(void)
{
	return MaxBackends;
}

/*
 * The activity of an index's build, whichever file and index has the build: so
 * a bound remains right when an index gets another one's file, and its own one
 * again.  May read the metapage.
 */
static inline SwareActivity *
activity_of(Relation index)
{
	uint32		incarnation = (uint32) sware_cache(index)->indexIncarnation;
	uint32		hash = murmurhash32(MyDatabaseId ^ incarnation);

	return &shared->activities[hash % ACTIVITIES];
}

void
sware_share_staged_keys(void)
{
	Size		size = add_size(offsetof(Register, seats),
								mul_size(seat_count(), sizeof(Seat)));
	bool		is_new;

	locks = sware_share_locks("SwareStagedKeys", seat_count() + 1);
	shared = sware_share("sware staged keys", size, &is_new);
	if (shared != NULL)
		sware_key_sets_attach(&shared->chunks);
	if (!is_new)
		return;
	pg_atomic_init_u32(&shared->chunks, 0);
	for (int i = 0; i < ACTIVITIES; i++)
	{
		pg_atomic_init_u64(&shared->activities[i].raised, 0);
		pg_atomic_init_u32(&shared->activities[i].stagers, 0);
	}
	for (int i = 0; i < seat_count(); i++)
		pg_atomic_init_u64(&shared->seats[i].index, 0);
}

void
sware_raise_activity(Relation index)
{
	if (shared != NULL)
		pg_atomic_fetch_add_u64(&activity_of(index)->raised, 1);
}

static bool
is_own_seat(int seat)
{
	for (int i = 0; i < own_count; i++)
	{
		if (own_stagers[i].seat == seat)
			return true;
	}
	return false;
}

bool
sware_index_has_stagers(Relation index)
{
	pg_memory_barrier();
	return shared == NULL ||
		pg_atomic_read_u32(&activity_of(index)->stagers) > 0;
}

bool
sware_there_are_stagers(Relation index)
{
	SwareActivity *activity;
	uint32		count;

	if (shared == NULL)
		return false;
	activity = activity_of(index);
	count = pg_atomic_read_u32(&activity->stagers);
	for (int i = 0; i < own_count && count > 0; i++)
	{
		if (own_stagers[i].activity == activity)
			count--;
	}
	return count > 0;
}

/*
 * Return the transaction of a seat's stager, if it has staged a key of the
 * index; else InvalidTransactionId.  Takes the seat's lock.
 */
static TransactionId
look_into_seat(int seat, uint64 index, uint64 fingerprint)
{
	TransactionId result = InvalidTransactionId;

	LWLockAcquire(&locks[seat].lock, LW_SHARED);
	if (pg_atomic_read_u64(&shared->seats[seat].index) == index &&
		sware_key_set_contains(&shared->seats[seat].keys, fingerprint))
		result = shared->seats[seat].transaction;
	LWLockRelease(&locks[seat].lock);
	return result;
}

TransactionId
sware_find_staged_key(Relation index, uint64 fingerprint)
{
	uint64		number = sware_index_number(index);
	TransactionId result = InvalidTransactionId;

	if (!sware_there_are_stagers(index))
		return InvalidTransactionId;
	for (int i = 0; i < seat_count() && !TransactionIdIsValid(result); i++)
	{
		if (pg_atomic_read_u64(&shared->seats[i].index) == number &&
			!is_own_seat(i))
			result = look_into_seat(i, number, fingerprint);
	}
	return result;
}

/* Take a free seat for an index, and return its number; -1 if none is free. */
static int
take_seat(Relation index)
{
	LWLock	   *lock = &locks[seat_count()].lock;
	int			seat;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	for (seat = 0; seat < seat_count(); seat++)
	{
		if (pg_atomic_read_u64(&shared->seats[seat].index) == 0)
			break;
	}
	if (seat < seat_count())
	{
		Seat	   *taken = &shared->seats[seat];

		LWLockAcquire(&locks[seat].lock, LW_EXCLUSIVE);
		taken->transaction = GetTopTransactionIdIfAny();
		memset(&taken->keys, 0, sizeof(SwareKeySet));
		pg_atomic_write_u64(&taken->index, sware_index_number(index));
		LWLockRelease(&locks[seat].lock);
	}
	LWLockRelease(lock);
	return seat < seat_count() ? seat : -1;
}

/*
 * Make this session a stager of an index until its transaction ends.  Returns
 * NULL if the library was not preloaded, the transaction has no XID yet, or no
 * seat is free.  The result is valid until the transaction ends.
 */
SwareStager *
sware_become_stager(Relation index)
{
	SwareActivity *activity;
	SwareStager *stager;
	SwareKeyColumn column;
	bool		is_integer;
	int			seat;

	if (shared == NULL || own_count == MAX_OWN_STAGERS ||
		!TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return NULL;

	sware_key_column_init(&column, index, 1);
	is_integer = IndexRelationGetNumberOfKeyAttributes(index) == 1 &&
		sware_is_integer(column.comparison);
	activity = activity_of(index);
	seat = take_seat(index);
	if (seat < 0)
		return NULL;

	/* Nothing raises an error from here on. */
	stager = &own_stagers[own_count++];
	memset(stager, 0, sizeof(SwareStager));
	stager->seat = seat;
	stager->keys = &shared->seats[seat].keys;
	stager->lock = &locks[seat].lock;
	stager->activity = activity;
	stager->index = RelationGetRelid(index);
	stager->first.comparison = column.comparison;
	stager->first.descending = column.descending;
	stager->first.nullsFirst = column.nullsFirst;
	stager->isInteger = is_integer;

	pg_atomic_fetch_add_u32(&activity->stagers, 1);
	return stager;
}

/*
 * Free the seats of this session: its transaction has ended, also because the
 * session exits, and its entries are stored, or void.  Raises no errors.
 */
void
sware_staged_keys_transaction_ends(void)
{
	while (own_count > 0)
	{
		SwareStager *stager = &own_stagers[--own_count];

		sware_key_set_empty(stager->keys, stager->lock);
		LWLockAcquire(stager->lock, LW_EXCLUSIVE);
		pg_atomic_write_u64(&shared->seats[stager->seat].index, 0);
		LWLockRelease(stager->lock);
		pg_atomic_fetch_sub_u32(&stager->activity->stagers, 1);
	}
}

/*
 * Note that staged entries have been stored, while their keys are still
 * registered: raise the activity.  The bound must be searched for again, which
 * this session's own entries are no reason to put off.
 */
void
sware_tell_of_stored(SwareStager *stager)
{
	pg_atomic_fetch_add_u64(&stager->activity->raised, 1);
	stager->hasBound = false;
	stager->rowsBeforeSearch = 0;
}

/*
 * Remove all registered keys of a stager, since nothing is staged any more.
 * The session remains a stager.  Raises no errors.
 *
 * If this session is admitting a key of the index, a comparison function of the
 * index has executed SQL that has the staged entries published.  Then the
 * registered keys stay, since the one that is being admitted must.
 */
void
sware_forget_keys(SwareStager *stager)
{
	if (!sware_is_changing(stager->index, SWARE_INSERTS))
		sware_key_set_empty(stager->keys, stager->lock);
}
