/*-------------------------------------------------------------------------
 *
 * keyset.c
 *	  Key sets: sets of fingerprints in the pool's shared memory.  See keyset.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "keys/bytehash.h"
#include "locks/keyset.h"

/* a group is a number, which is not zero, and a bitmap of 2^6 bits */
#define GROUP_BITS		6
#define GROUP_SIZE		(2 * sizeof(uint64))

/*
 * Values of places that have no fingerprint or group: one that was never used,
 * and, in a plain table, one whose fingerprint was removed.
 */
#define NEVER_USED		UINT64CONST(0)
#define REMOVED			UINT64CONST(1)

/*
 * a table that has used this number of its places is replaced by a larger one
 */
#define FILLED(places)	((places) / 4 * 3)

/* Memory is asked for this number of fingerprints at a time. */
#define FILL_BATCH		64

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

/*
 * Make a set empty that has no table.  `is_exact`: its fingerprints are integer
 * keys as they are, and not hashes.
 */
void
sware_key_set_init(SwareKeySet *set, bool is_exact)
{
	memset(set, 0, sizeof(SwareKeySet));
	set->isExact = is_exact;
	set->hasGroups = is_exact;
	set->smallest = PG_INT64_MAX;
	set->largest = PG_INT64_MIN;
}

/* the value in a table that stands for a fingerprint, or for its group */
static inline uint64
table_value(const SwareKeySet *set, uint64 fingerprint)
{
	if (set->hasGroups)
		return (fingerprint >> GROUP_BITS) + 1;

	/* 0 and 1 have a meaning of their own */
	return fingerprint <= REMOVED ? fingerprint + 2 : fingerprint;
}

/*
 * Has a fingerprint a place of its own, behind all others of a plain table?
 * Those have that whose values stand for other fingerprints, too.
 */
static inline bool
has_own_place(const SwareKeySet *set, uint64 fingerprint)
{
	return unlikely(fingerprint <= REMOVED) && !set->hasGroups;
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

/* the place where the search for a value begins */
static inline uint32
first_place(const SwareKeySet *set, uint64 value)
{
	return ((sware_mix(value) >> 32) * set->places) >> 32;
}

/*
 * Returns the place of a value in a table, or the unused place where it
 * belongs if it is not there.
 */
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

/* Like find, for the value of a fingerprint. */
static inline volatile uint64 *
find_fingerprint(const SwareKeySet *set, uint64 fingerprint)
{
	return has_own_place(set, fingerprint) ?
		place_address(set, set->places + fingerprint) :
		find(set, table_value(set, fingerprint));
}

/*
 * Is a fingerprint among the recent ones of a set, which the caller owns or has
 * locked?
 */
static bool
is_among_recent(const SwareKeySet *set, uint64 fingerprint)
{
	uint64		value = table_value(set, fingerprint);
	uint32		count = *(volatile const uint32 *) &set->recentCount;
	bool		result = false;

	/*
	 * The caller must look into the table after this look at the array, even
	 * if the array is empty: the value may have moved a moment ago.
	 */
	pg_read_barrier();
	if (count == 0 || has_own_place(set, fingerprint))
		return false;
	for (uint32 i = 0; i < count; i++)
		result |= set->recent[i] == value;
	pg_read_barrier();
	return result;
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
	for (uint64 own = 0; own <= REMOVED && !from->hasGroups; own++)
	{
		if (*find_fingerprint(from, own) != NEVER_USED)
			copy_to_table(to, own);
	}
	for (uint32 place = 0; place < from->places; place++)
	{
		volatile uint64 *address = place_address(from, place);
		uint64		value = *address;

		if (value == NEVER_USED)
			continue;
		if (!from->hasGroups)
		{
			if (value != REMOVED)
				copy_to_table(to, value);
		}
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
 * one. Returns false, with no table in the set, if there is no room.
 */
static bool
allocate(SwareKeySet *set, uint32 chunk_count)
{
	uint32		before = pg_atomic_fetch_add_u32(chunks_of_all, chunk_count);

	if (before + chunk_count > CHUNKS_FOR_SETS() ||
		!sware_pool_allocate(sware_pool_bytes(chunk_count), &set->allocation))
	{
		pg_atomic_fetch_sub_u32(chunks_of_all, chunk_count);
		set->allocation.chunks = 0;
		return false;
	}
	Assert(set->allocation.chunks == chunk_count);
	sware_pool_clear(&set->allocation);
	set->places = set->hasGroups ? sware_pool_bytes(chunk_count) / GROUP_SIZE :
		sware_pool_bytes(chunk_count) / sizeof(uint64) - (REMOVED + 1);
	set->usedPlaces = 0;
	set->count = 0;
	set->latestGroup = NULL;
	return true;
}

/* Free a table that other backends do not find any more. */
static void
free_allocation(const SwareAllocation *allocation)
{
	sware_pool_free(allocation);
	pg_atomic_fetch_sub_u32(chunks_of_all, allocation->chunks);
}

/*
 * Put another set in the place of one, under its lock, and free the old table.
 */
static void
replace(SwareKeySet *set, LWLock *lock, const SwareKeySet *other)
{
	SwareAllocation allocation = set->allocation;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	*set = *other;
	LWLockRelease(lock);
	free_allocation(&allocation);
}

/*
 * Replace a set's table by one of twice the size.  Returns false, with nothing
 * changed, if there is no room.
 */
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

/* Let a set's smallest and largest fingerprint include another one. */
static inline void
widen_bounds(SwareKeySet *set, uint64 fingerprint)
{
	int64		number = (int64) fingerprint;

	if (number < set->smallest)
		set->smallest = number;
	if (number > set->largest)
		set->largest = number;
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

/*
 * Add a fingerprint to a set of this backend's.  Other backends find it after
 * the caller's next memory barrier.  Takes the lock exclusively if the table
 * has to grow; the caller does not hold it.
 */
SwareKeySetResult
sware_key_set_add(SwareKeySet *set, LWLock *lock, uint64 fingerprint)
{
	uint64		value;
	volatile uint64 *address;

	if (unlikely(set->allocation.chunks == 0) && !grow(set, lock))
		return SWARE_KEY_HAS_NO_ROOM;

	value = table_value(set, fingerprint);
	if (unlikely(set->recentCount > 0) && is_among_recent(set, fingerprint))
		return SWARE_KEY_IS_THERE;
	address = set->hasGroups ? find_group(set, value) :
		find_fingerprint(set, fingerprint);
	if (unlikely(*address != value && set->usedPlaces >= FILLED(set->places)))
	{
		if (!grow(set, lock))
			return SWARE_KEY_HAS_NO_ROOM;
		address = find_fingerprint(set, fingerprint);
	}
	widen_bounds(set, fingerprint);
	if (!add_to_table(set, address, fingerprint))
		return SWARE_KEY_IS_THERE;
	set->count++;
	return SWARE_KEY_ADDED;
}

/*
 * Move the recent fingerprints of a set to its table.  Other backends find them
 * all the time.  Returns false, with nothing changed, if there is no room.
 * Takes the lock exclusively if the table has to grow.
 */
bool
sware_key_set_move_recent(SwareKeySet *set, LWLock *lock)
{
	uint32		count = set->recentCount;
	volatile uint64 *addresses[SWARE_RECENT_KEYS];

	while (set->usedPlaces + count > FILLED(set->places))
	{
		if (!grow(set, lock))
			return false;
	}
	for (uint32 i = 0; i < count; i++)
	{
		addresses[i] = place_address(set, first_place(set, set->recent[i]));
		__builtin_prefetch((void *) addresses[i], 1);
	}
	for (uint32 i = 0; i < count; i++)
	{
		uint64		value = set->recent[i];

		if (value == REMOVED)
			continue;
		if (*addresses[i] != NEVER_USED)
			addresses[i] = find(set, value);
		(void) add_to_table(set, addresses[i], value);
	}
	/* in the table before they leave the array */
	pg_write_barrier();
	set->recentCount = 0;
	return true;
}

/*
 * Like sware_key_set_add, but the caller knows that the fingerprint is not in
 * the set.
 */
SwareKeySetResult
sware_key_set_add_new(SwareKeySet *set, LWLock *lock, uint64 fingerprint)
{
	if (unlikely(set->allocation.chunks == 0 || set->hasGroups ||
				 has_own_place(set, fingerprint)))
		return sware_key_set_add(set, lock, fingerprint);
	if (unlikely(set->recentCount == SWARE_RECENT_KEYS) &&
		!sware_key_set_move_recent(set, lock))
		return SWARE_KEY_HAS_NO_ROOM;

	widen_bounds(set, fingerprint);
	set->recent[set->recentCount] = table_value(set, fingerprint);
	/* written before it is in use */
	pg_write_barrier();
	*(volatile uint32 *) &set->recentCount += 1;
	set->count++;
	return SWARE_KEY_ADDED;
}

/*
 * Remove a fingerprint from the recent ones of a set.  Returns false if it is
 * not there.
 */
static bool
remove_from_recent(SwareKeySet *set, uint64 fingerprint)
{
	uint64		value = table_value(set, fingerprint);

	if (has_own_place(set, fingerprint))
		return false;
	/* the latest one is the most likely */
	for (uint32 i = set->recentCount; i-- > 0;)
	{
		if (set->recent[i] == value)
		{
			*(volatile uint64 *) &set->recent[i] = REMOVED;
			return true;
		}
	}
	return false;
}

/*
 * Remove a fingerprint from a set of this backend's, if it is there.  No
 * locks.
 */
void
sware_key_set_remove(SwareKeySet *set, uint64 fingerprint)
{
	volatile uint64 *address;

	if (set->allocation.chunks == 0)
		return;
	if (remove_from_recent(set, fingerprint))
	{
		set->count--;
		return;
	}
	address = find_fingerprint(set, fingerprint);
	if (*address != table_value(set, fingerprint))
		return;
	set->count--;
	if (set->hasGroups)
		address[1] &= ~member_bit(fingerprint);
	else if (has_own_place(set, fingerprint))
	{
		*address = NEVER_USED;
		set->usedPlaces--;
	}
	else
		*address = REMOVED;
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
	if (set->isExact &&
		((int64) fingerprint < ((volatile const SwareKeySet *) set)->smallest ||
		 (int64) fingerprint > ((volatile const SwareKeySet *) set)->largest))
		return false;
	if (is_among_recent(set, fingerprint))
		return true;
	address = find_fingerprint(set, fingerprint);
	if (*address != table_value(set, fingerprint))
		return false;
	pg_read_barrier();
	return !set->hasGroups || (address[1] & member_bit(fingerprint)) != 0;
}

/*
 * Is there room for this number of further fingerprints, so that the table need
 * not grow, and do all sets together use no more than half of what they may
 * have?  The owner asks.
 */
bool
sware_key_set_has_room(const SwareKeySet *set, int64 count)
{
	double		share = set->count == 0 ? 1 :
		(double) set->usedPlaces / set->count;

	return set->usedPlaces + SWARE_RECENT_KEYS + count * Min(share, 1) <=
		FILLED(set->places) &&
		sware_key_sets_chunk_count() <= CHUNKS_FOR_SETS() / 2;
}

/*
 * Ask for the memory of the places of several fingerprints in a set's table, so
 * that it is there when they are added.
 */
static void
prefetch_places(const SwareKeySet *set, const uint64 *fingerprints, int count)
{
	for (int i = 0; i < count; i++)
	{
		uint64		value = table_value(set, fingerprints[i]);

		__builtin_prefetch((void *) place_address(set, first_place(set, value)),
						   1);
	}
}

/*
 * Replace all fingerprints of a set of this backend's by others, in a table
 * that is no larger than the old one.  Returns false, with nothing changed, if
 * there is no room.  A subset of the set's own fingerprints always fits into
 * such a table.  Takes the lock exclusively; the caller does not hold it.
 */
bool
sware_key_set_fill(SwareKeySet *set, LWLock *lock,
				   const uint64 *fingerprints, int64 count)
{
	SwareKeySet other;
	uint32		chunk_count = 1;

	sware_key_set_init(&other, set->isExact);
	other.hasGroups = set->hasGroups;
	if (count == 0)
	{
		replace(set, lock, &other);
		return true;
	}

	/*
	 * The new table has room for the fingerprints even if no two share a
	 * group; but it need not be larger than the old one, which had room for
	 * all.
	 */
	if (set->allocation.chunks == 0)
		return false;
	while (chunk_count < set->allocation.chunks &&
		   FILLED(sware_pool_bytes(chunk_count) /
				  (set->hasGroups ? GROUP_SIZE : sizeof(uint64))) <
		   (uint64) count)
		chunk_count *= 2;
	if (!allocate(&other, chunk_count))
		return false;
	for (int64 i = 0; i < count; i++)
	{
		if (i % FILL_BATCH == 0)
			prefetch_places(&other, fingerprints + i,
							Min(FILL_BATCH, count - i));
		if (other.usedPlaces > FILLED(other.places) + SWARE_RECENT_KEYS)
		{
			free_allocation(&other.allocation);
			return false;
		}
		widen_bounds(&other, fingerprints[i]);
		copy_to_table(&other, fingerprints[i]);
	}
	replace(set, lock, &other);
	return true;
}

/*
 * Remove all fingerprints from a set of this backend's, and free its table.
 * Takes the lock exclusively; the caller does not hold it.
 */
void
sware_key_set_empty(SwareKeySet *set, LWLock *lock)
{
	(void) sware_key_set_fill(set, lock, NULL, 0);
}
