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

/* the value of a place that has no fingerprint or group */
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

/* `has_groups`: fingerprints are integer keys as they are, and not hashes. */
void
sware_key_set_init(SwareKeySet *set, bool has_groups)
{
	memset(set, 0, sizeof(SwareKeySet));
	set->hasGroups = has_groups;
}

/* the value in a table that stands for a fingerprint, or for its group */
static inline uint64
table_value(const SwareKeySet *set, uint64 fingerprint)
{
	if (set->hasGroups)
		return (fingerprint >> GROUP_BITS) + 1;

	/* 0 has a meaning of its own */
	return fingerprint == NEVER_USED ? 1 : fingerprint;
}

/* Has a fingerprint a place of its own, behind all others of a plain table? */
static inline bool
has_own_place(const SwareKeySet *set, uint64 fingerprint)
{
	return unlikely(fingerprint == NEVER_USED) && !set->hasGroups;
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
	return sware_pool_address(&set->allocation,
							  place * (set->hasGroups ? GROUP_SIZE :
									   sizeof(uint64)));
}

static inline uint32
first_place(const SwareKeySet *set, uint64 value)
{
	return ((sware_mix(value) >> 32) * set->places) >> 32;
}

/* The place of a value in a table, or where it belongs. */
static inline volatile uint64 *
find(const SwareKeySet *set, uint64 value)
{
	uint32		place = first_place(set, value);

	for (;;)
	{
		volatile uint64 *address = place_address(set, place);
		uint64		there = *address;

		if (there == value || there == NEVER_USED)
			return address;
		if (++place == set->places)
			place = 0;
	}
}

static inline volatile uint64 *
find_fingerprint(const SwareKeySet *set, uint64 fingerprint)
{
	return has_own_place(set, fingerprint) ?
		place_address(set, set->places) :
		find(set, table_value(set, fingerprint));
}

/*
 * Add a fingerprint at the place that find() gave, which is where its value is
 * or belongs.  Returns false if the fingerprint is there already.
 */
static inline bool
add_to_table(SwareKeySet *set, volatile uint64 *address, uint64 fingerprint)
{
	uint64		value = table_value(set, fingerprint);
	bool		is_new_value = *address != value;

	if (!set->hasGroups)
	{
		if (!is_new_value)
			return false;
		*address = value;
	}
	else if (is_new_value)
	{
		address[1] = member_bit(fingerprint);
		pg_write_barrier();
		*address = value;
	}
	else
	{
		if (address[1] & member_bit(fingerprint))
			return false;
		address[1] |= member_bit(fingerprint);
	}
	set->usedPlaces += is_new_value;
	return true;
}

/* Add a fingerprint to a new table, which has room for it. */
static void
copy_to_table(SwareKeySet *set, uint64 fingerprint)
{
	if (add_to_table(set, find_fingerprint(set, fingerprint), fingerprint))
		set->count++;
}

/*
 * Copy all fingerprints from one table to another one that has room for them.
 */
static void
copy_table(const SwareKeySet *from, SwareKeySet *to)
{
	if (!from->hasGroups && *place_address(from, from->places) != NEVER_USED)
		copy_to_table(to, 0);
	for (uint32 place = 0; place < from->places; place++)
	{
		volatile uint64 *address = place_address(from, place);
		uint64		value = *address;

		if (value == NEVER_USED)
			continue;
		if (!from->hasGroups)
			copy_to_table(to, value);
		else if (to->hasGroups)
		{
			volatile uint64 *copy = find(to, value);

			copy[0] = value;
			copy[1] = address[1];
			to->usedPlaces++;
		}
		else
		{
			for (int bit = 0; bit < 1 << GROUP_BITS; bit++)
			{
				if (address[1] & (UINT64CONST(1) << bit))
					copy_to_table(to, ((value - 1) << GROUP_BITS) + bit);
			}
		}
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
	set->places = set->hasGroups ? sware_pool_bytes(chunk_count) / GROUP_SIZE :
		sware_pool_bytes(chunk_count) / sizeof(uint64) - 1;
	set->usedPlaces = 0;
	set->count = 0;
	set->latestGroup = NULL;
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

	if (set->usedPlaces > 0 && set->count < set->usedPlaces * (uint64) 2)
		larger.hasGroups = false;
	if (!allocate(&larger, Max(1, set->allocation.chunks * 2)))
		return false;
	if (set->allocation.chunks > 0)
		copy_table(set, &larger);
	larger.count = set->count;
	replace(set, lock, &larger);
	return true;
}

/*
 * The place of a group in a set's table, or where it belongs.  Keys that come
 * in order are in the same group as the one before.
 */
static inline volatile uint64 *
find_group(SwareKeySet *set, uint64 value)
{
	if (set->latestGroup == NULL || *set->latestGroup != value)
		set->latestGroup = find(set, value);
	return set->latestGroup;
}

/* Fetch the place of a fingerprint to be added: it may be in no cache. */
void
sware_key_set_prefetch(const SwareKeySet *set, uint64 fingerprint)
{
	if (set->allocation.chunks > 0 && !set->hasGroups)
		__builtin_prefetch((void *)
						   place_address(set, first_place(set, fingerprint)), 1);
}

/*
 * Add a fingerprint to a set of this backend's, and issue a memory barrier.
 * Takes the lock exclusively if the table has to grow; the caller does not hold
 * it.
 */
SwareKeySetResult
sware_key_set_add(SwareKeySet *set, LWLock *lock, uint64 fingerprint)
{
	uint64		value;
	volatile uint64 *address;

	if (unlikely(set->allocation.chunks == 0) && !grow(set, lock))
		return SWARE_KEY_HAS_NO_ROOM;
	value = table_value(set, fingerprint);
	address = set->hasGroups ? find_group(set, value) :
		find_fingerprint(set, fingerprint);
	if (unlikely(*address != value && set->usedPlaces >= FILLED(set->places)))
	{
		if (!grow(set, lock))
			return SWARE_KEY_HAS_NO_ROOM;
		address = find_fingerprint(set, fingerprint);
	}
	if (!add_to_table(set, address, fingerprint))
		return SWARE_KEY_IS_THERE;
	set->count++;
	pg_memory_barrier();
	return SWARE_KEY_ADDED;
}

/*
 * Remove the fingerprint that was added last from a set of this backend's.  No
 * locks.  Nothing was added behind it in the table, so its place is as if it
 * had never been used.
 */
void
sware_key_set_remove(SwareKeySet *set, uint64 fingerprint)
{
	volatile uint64 *address = find_fingerprint(set, fingerprint);

	set->count--;
	Assert(*address == table_value(set, fingerprint));
	if (set->hasGroups)
		address[1] &= ~member_bit(fingerprint);
	else
	{
		*address = NEVER_USED;
		set->usedPlaces--;
	}
}

/*
 * Is a fingerprint in a set?  The caller owns the set, or holds its lock, at
 * least shared.  The owner may be adding other fingerprints meanwhile.
 */
bool
sware_key_set_contains(const SwareKeySet *set, uint64 fingerprint)
{
	volatile uint64 *address;

	if (set->allocation.chunks == 0)
		return false;
	address = find_fingerprint(set, fingerprint);
	if (*address != table_value(set, fingerprint))
		return false;
	pg_read_barrier();
	return !set->hasGroups || (address[1] & member_bit(fingerprint)) != 0;
}

/*
 * Remove all fingerprints from a set of this backend's, and free its table.
 * Takes the lock exclusively; the caller does not hold it.
 */
void
sware_key_set_empty(SwareKeySet *set, LWLock *lock)
{
	SwareKeySet empty;

	sware_key_set_init(&empty, set->hasGroups);
	replace(set, lock, &empty);
}
