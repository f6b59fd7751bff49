/*-------------------------------------------------------------------------
 *
 * keyset.c
 *	  Key sets: sets of fingerprints in the pool's shared memory.  See keyset.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "keys/fingerprint.h"
#include "takenkeys/keyset.h"

/* a group is a number, which is not zero, and a bitmap of 2^6 bits */
#define GROUP_BITS		6
#define GROUP_SIZE		(2 * sizeof(uint64))

/* the number of a place that has no group */
#define NEVER_USED		UINT64CONST(0)

/*
 * a table that has used this number of its places is replaced by a larger one
 */
#define FILLED(places)	((places) / 4 * 3)

/* the number of chunks of the largest table: 64 MB */
#define LARGEST_TABLE			4096

/*
 * all sets together have at most this number of chunks; zones have the others
 */
#define CHUNKS_FOR_SETS()	((uint32) sware_pool_chunk_count() / 2)

/* in shared memory: how many chunks all sets have */
static pg_atomic_uint32 *chunks_of_all;

void
sware_key_sets_attach(pg_atomic_uint32 *chunks_of_all_sets)
{
	chunks_of_all = chunks_of_all_sets;
}

uint32
sware_key_sets_chunk_count(void)
{
	return pg_atomic_read_u32(chunks_of_all);
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

static inline uint32
first_place(const SwareKeySet *set, uint64 number)
{
	return ((sware_mix(number) >> 32) * set->places) >> 32;
}

/* The place of a group in a table, or where it belongs. */
static inline volatile uint64 *
find(const SwareKeySet *set, uint64 number)
{
	uint32		place = first_place(set, number);

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
allocate(SwareKeySet *set, uint32 chunk_count)
{
	uint32		before = pg_atomic_fetch_add_u32(chunks_of_all, chunk_count);

	if (chunk_count > LARGEST_TABLE ||
		before + chunk_count > CHUNKS_FOR_SETS() ||
		!sware_pool_allocate(sware_pool_bytes(chunk_count), &set->allocation))
	{
		pg_atomic_fetch_sub_u32(chunks_of_all, chunk_count);
		set->allocation.chunks = 0;
		return false;
	}
	Assert(set->allocation.chunks == chunk_count);
	sware_pool_clear(&set->allocation);
	set->places = sware_pool_bytes(chunk_count) / GROUP_SIZE;
	set->usedPlaces = 0;
	return true;
}

/* Free the table of a set, which other backends do not find. */
static void
free_table(const SwareKeySet *set)
{
	sware_pool_free(&set->allocation);
	pg_atomic_fetch_sub_u32(chunks_of_all, set->allocation.chunks);
}

/*
 * Put another set in the place of one, under its lock, and free the old table.
 */
static void
replace(SwareKeySet *set, LWLock *lock, const SwareKeySet *other)
{
	SwareKeySet old = *set;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	*set = *other;
	LWLockRelease(lock);
	free_table(&old);
}

/* Double a set's table.  Returns false, with nothing changed, without room. */
static bool
grow(SwareKeySet *set, LWLock *lock)
{
	SwareKeySet larger = *set;

	if (!allocate(&larger, Max(1, set->allocation.chunks * 2)))
		return false;
	for (uint32 place = 0; place < set->places; place++)
	{
		volatile uint64 *group = place_address(set, place);
		volatile uint64 *copy;

		if (group[0] == NEVER_USED)
			continue;
		copy = find(&larger, group[0]);
		copy[0] = group[0];
		copy[1] = group[1];
		larger.usedPlaces++;
	}
	replace(set, lock, &larger);
	return true;
}

/* Fetch the place of a fingerprint to be added: it may be in no cache. */
void
sware_key_set_prefetch(const SwareKeySet *set, uint64 fingerprint)
{
	if (set->places > 0)
		__builtin_prefetch((void *)
						   place_address(set, first_place(set,
														  group_number(fingerprint))),
						   1);
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

	if (unlikely(set->places == 0) && !grow(set, lock))
		return false;
	group = find(set, number);
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
			if (!grow(set, lock))
				return false;
			group = find(set, number);
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
	volatile uint64 *group = find(set, group_number(fingerprint));

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
	group = find(set, number);
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

	replace(set, lock, &empty);
}
