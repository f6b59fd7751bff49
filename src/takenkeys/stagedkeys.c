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
#include "keys/fingerprint.h"
#include "locks/changes.h"
#include "pages/cache.h"
#include "takenkeys/keylock.h"
#include "takenkeys/stagedkeys.h"

/* indexes are distributed over the activities by hash */
#define ACTIVITIES		256

/* the largest number of indexes that a session is a stager of at a time */
#define MAX_OWN_STAGERS	16

/* a group is a number, which is not zero, and a bitmap of 2^6 bits */
#define GROUP_BITS		6
#define GROUP_SIZE		(2 * sizeof(uint64))

/* the number of a place that has no group */
#define NEVER_USED		UINT64CONST(0)

/* after so many places are used, a larger table replaces it */
#define FILLED(places)	((places) / 4 * 3)

/* the number of chunks of the largest table: 64 MB */
#define LARGEST_TABLE			4096

/* most chunks of all sets together; zones have the others */
#define CHUNKS_FOR_SETS()	(sware_pool_chunk_count / 2)

typedef struct Seat
{
	pg_atomic_uint64 index;		/* see sware_index_number; 0 if the seat is
								 * free.  Changed under the lock */

	/* guarded by the seat's lock; only the owner writes */
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

/* Key sets. */

uint32
sware_key_sets_chunk_count(void)
{
	return pg_atomic_read_u32(&shared->chunks);
}

/* the number of a fingerprint's group */
static inline uint64
group_number(uint64 fingerprint)
{
	return (fingerprint >> GROUP_BITS) + 1;
}

/* the bit that stands for a fingerprint in its group's bitmap */
static inline uint64
member_bit(uint64 fingerprint)
{
	return UINT64CONST(1) << (fingerprint & ((1 << GROUP_BITS) - 1));
}

static inline volatile uint64 *
place_address(const SwareKeySet *set, uint32 place)
{
	return sware_pool_address(&set->allocation, place * GROUP_SIZE);
}

/* The place of a group in a table, or where it belongs. */
static inline volatile uint64 *
find_group(const SwareKeySet *set, uint64 number)
{
	uint32		place = ((sware_mix(number) >> 32) * set->places) >> 32;

	for (;;)
	{
		volatile uint64 *address = place_address(set, place);
		uint64		there = *address;

		if (there == number || there == NEVER_USED)
			return address;
		if (++place == set->places)
			place = 0;
	}
}

/*
 * Give a set a new table of this number of chunks; the caller keeps the old
 * one.  Returns false, with no table in the set, if there is no room.
 */
static bool
allocate_table(SwareKeySet *set, uint32 chunk_count)
{
	uint32		before = pg_atomic_fetch_add_u32(&shared->chunks, chunk_count);

	if (chunk_count > LARGEST_TABLE ||
		before + chunk_count > CHUNKS_FOR_SETS() ||
		!sware_pool_allocate(sware_pool_bytes(chunk_count), &set->allocation))
	{
		pg_atomic_fetch_sub_u32(&shared->chunks, chunk_count);
		set->allocation.chunks = 0;
		return false;
	}
	Assert(set->allocation.chunks == chunk_count);
	sware_pool_write(&set->allocation, 0, NULL, sware_pool_bytes(chunk_count));
	set->places = sware_pool_bytes(chunk_count) / GROUP_SIZE;
	set->usedPlaces = 0;
	return true;
}

/*
 * Put another set in the place of one, under its lock, and free the old table.
 */
static void
replace_table(SwareKeySet *set, LWLock *lock, const SwareKeySet *other)
{
	SwareKeySet old = *set;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	*set = *other;
	LWLockRelease(lock);
	sware_pool_free(&old.allocation);
	pg_atomic_fetch_sub_u32(&shared->chunks, old.allocation.chunks);
}

/* Double a set's table.  Returns false, with nothing changed, without room. */
static bool
grow_table(SwareKeySet *set, LWLock *lock)
{
	SwareKeySet larger = *set;

	if (!allocate_table(&larger, Max(1, set->allocation.chunks * 2)))
		return false;
	for (uint32 place = 0; place < set->places; place++)
	{
		volatile uint64 *group = place_address(set, place);
		volatile uint64 *copy;

		if (group[0] == NEVER_USED)
			continue;
		copy = find_group(&larger, group[0]);
		copy[0] = group[0];
		copy[1] = group[1];
		larger.usedPlaces++;
	}
	replace_table(set, lock, &larger);
	return true;
}

/*
 * Add a fingerprint to a set of this backend's, and issue a memory barrier.
 * Returns false if it is there already, or if the sets may have no more of the
 * pool.  Takes the lock exclusively if the table has to grow; the caller does
 * not hold it.
 */
bool
sware_key_set_add(SwareKeySet *set, LWLock *lock, uint64 fingerprint)
{
	uint64		number = group_number(fingerprint);
	uint64		bit = member_bit(fingerprint);
	volatile uint64 *group;

	if (unlikely(set->places == 0) && !grow_table(set, lock))
		return false;
	group = find_group(set, number);
	if (group[0] == number)
	{
		if (group[1] & bit)
			return false;
		group[1] |= bit;
	}
	else
	{
		if (unlikely(set->usedPlaces >= FILLED(set->places)))
		{
			if (!grow_table(set, lock))
				return false;
			group = find_group(set, number);
		}
		group[1] = bit;
		pg_write_barrier();
		group[0] = number;
		set->usedPlaces++;
	}
	pg_memory_barrier();
	return true;
}

/*
 * Remove a fingerprint that is in a set of this backend's.  No locks.  Its
 * group stays.
 */
void
sware_key_set_remove(SwareKeySet *set, uint64 fingerprint)
{
	volatile uint64 *group = find_group(set, group_number(fingerprint));

	Assert(group[1] & member_bit(fingerprint));
	group[1] &= ~member_bit(fingerprint);
}

/*
 * Is a fingerprint in a set?  The caller owns the set, or holds its lock, at
 * least shared.  The owner may be adding other fingerprints meanwhile.
 */
bool
sware_key_set_contains(const SwareKeySet *set, uint64 fingerprint)
{
	uint64		number = group_number(fingerprint);
	volatile uint64 *group;

	if (set->places == 0)
		return false;
	group = find_group(set, number);
	if (group[0] != number)
		return false;
	pg_read_barrier();
	return (group[1] & member_bit(fingerprint)) != 0;
}

/*
 * Remove all fingerprints from a set of this backend's, and free its table.
 * Takes the lock exclusively; the caller does not hold it.
 */
void
sware_key_set_empty(SwareKeySet *set, LWLock *lock)
{
	SwareKeySet empty = {0};

	replace_table(set, lock, &empty);
}

/* The register of staged keys. */

void
sware_raise_activity(Relation index)
{
	if (shared != NULL)
		pg_atomic_fetch_add_u64(&activity_of(index)->raised, 1);
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
 * Return the transaction of a seat's stager, if it is another session's, which
 * has staged a key of the index; else InvalidTransactionId.  Takes the seat's
 * lock.
 */
static TransactionId
look_into_seat(int number, uint64 index, uint64 fingerprint)
{
	Seat	   *seat = &shared->seats[number];
	TransactionId result = InvalidTransactionId;

	LWLockAcquire(&locks[number].lock, LW_SHARED);
	if (pg_atomic_read_u64(&seat->index) == index &&
		!TransactionIdEquals(seat->transaction, GetTopTransactionIdIfAny()) &&
		sware_key_set_contains(&seat->keys, fingerprint))
		result = seat->transaction;
	LWLockRelease(&locks[number].lock);
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
		if (pg_atomic_read_u64(&shared->seats[i].index) == number)
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
	int			seat;

	if (shared == NULL || own_count == MAX_OWN_STAGERS ||
		!TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return NULL;

	sware_key_column_init(&column, index, 1);
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
	stager->isInteger = sware_is_integer(column.comparison) &&
		IndexRelationGetNumberOfKeyAttributes(index) == 1;

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
