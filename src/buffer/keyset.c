/*-------------------------------------------------------------------------
 *
 * keyset.c
 *	  A set of fingerprints in the pool's shared memory.  See keyset.h.
 *
 * Nothing here raises errors, except that a lock may not be had.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "buffer/keyset.h"

/* a group's number, which is never zero, and a bit for each of its members */
#define GROUP_BITS		6
#define GROUP_SIZE		(2 * sizeof(uint64))

/* in a plain set: nothing has ever been here; something was removed from here */
#define NEVER_USED		UINT64CONST(0)
#define REMOVED			UINT64CONST(1)

/* so much of the places is used at most */
#define FILLED(places)	((places) / 8 * 5)

/* all sets together leave this share of the pool to the zones */
#define CHUNKS_FOR_SETS()	((uint32) sware_pool_chunk_count() / 2)

/* how many chunks all sets have */
static pg_atomic_uint32 *chunks_of_all;

void
sware_key_sets_attach(pg_atomic_uint32 *chunks_of_all_sets)
{
	chunks_of_all = chunks_of_all_sets;
}

void
sware_key_set_init(SwareKeySet *set, bool is_exact)
{
	memset(set, 0, sizeof(SwareKeySet));
	set->isExact = is_exact;
	set->hasGroups = is_exact;
	set->smallest = PG_INT64_MAX;
	set->largest = PG_INT64_MIN;
}

/* What stands for a fingerprint, or for its group, in the table. */
static inline uint64
table_value(const SwareKeySet *set, uint64 fingerprint)
{
	if (set->hasGroups)
		return (fingerprint >> GROUP_BITS) + 1;

	/* two and three may get company, which does no harm */
	return fingerprint <= REMOVED ? fingerprint + 2 : fingerprint;
}

static inline uint64
member_bit(uint64 fingerprint)
{
	return UINT64CONST(1) << (fingerprint & ((1 << GROUP_BITS) - 1));
}

static inline volatile uint64 *
place_address(const SwareKeySet *set, uint32 place)
{
	return sware_segment_address(&set->segment,
								 place * (set->hasGroups ? GROUP_SIZE : sizeof(uint64)));
}

/* the place where the search for a value begins */
static inline uint32
first_place(const SwareKeySet *set, uint64 value)
{
	value ^= value >> 32;
	value *= UINT64CONST(0xD6E8FEB86659FD93);
	value ^= value >> 32;
	value *= UINT64CONST(0xD6E8FEB86659FD93);
	return ((value >> 32) * set->places) >> 32;
}

/* Where a value is in a table that is not empty, or, if it is not there, belongs. */
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

/* Add a fingerprint to a table that has room. */
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
	set->count++;
	return true;
}

/* The same, for those who fill a new table. */
static void
copy_to_table(SwareKeySet *set, uint64 fingerprint)
{
	(void) add_to_table(set, find(set, table_value(set, fingerprint)), fingerprint);
}

/* Copy all fingerprints from one table to another one that has room for them. */
static void
copy_table(const SwareKeySet *from, SwareKeySet *to)
{
	for (uint32 place = 0; place < from->places; place++)
	{
		volatile uint64 *address = place_address(from, place);
		uint64		value = *address;

		if (!from->hasGroups)
		{
			if (value != NEVER_USED && value != REMOVED)
				copy_to_table(to, value);
		}
		else if (value != NEVER_USED)
		{
			for (int bit = 0; bit < 1 << GROUP_BITS; bit++)
			{
				if (address[1] & (UINT64CONST(1) << bit))
					copy_to_table(to, ((value - 1) << GROUP_BITS) + bit);
			}
		}
	}
}

/* Give a set, which has none, a table of so many chunks.  False: no room. */
static bool
allocate(SwareKeySet *set, uint32 chunk_count)
{
	uint32		before = pg_atomic_fetch_add_u32(chunks_of_all, chunk_count);

	if (before + chunk_count > CHUNKS_FOR_SETS() ||
		!sware_segment_allocate(sware_segment_bytes(chunk_count), &set->segment))
	{
		pg_atomic_fetch_sub_u32(chunks_of_all, chunk_count);
		set->segment.chunks = 0;
		return false;
	}
	Assert(set->segment.chunks == chunk_count);
	sware_segment_clear(&set->segment);
	set->places = sware_segment_bytes(chunk_count) /
		(set->hasGroups ? GROUP_SIZE : sizeof(uint64));
	set->usedPlaces = 0;
	set->count = 0;
	return true;
}

static void
free_segment(const SwareSegment *segment)
{
	sware_segment_free(segment);
	pg_atomic_fetch_sub_u32(chunks_of_all, segment->chunks);
}

/* Put another set in the place of one. */
static void
replace(SwareKeySet *set, LWLock *lock, const SwareKeySet *other)
{
	SwareSegment segment = set->segment;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	*set = *other;
	LWLockRelease(lock);
	free_segment(&segment);
}

/* Make a set's table larger.  False, with nothing changed, if there is no room. */
static bool
grow(SwareKeySet *set, LWLock *lock)
{
	SwareKeySet larger = *set;

	if (set->usedPlaces > 0 && set->count < set->usedPlaces * (uint64) 2)
		larger.hasGroups = false;
	if (!allocate(&larger, Max(1, set->segment.chunks * 2)))
		return false;
	if (set->segment.chunks > 0)
		copy_table(set, &larger);
	replace(set, lock, &larger);
	return true;
}

static inline void
widen_fences(SwareKeySet *set, uint64 fingerprint)
{
	int64		number = (int64) fingerprint;

	if (number < set->smallest)
		set->smallest = number;
	if (number > set->largest)
		set->largest = number;
}

/* Add a fingerprint.  It is there for others behind the caller's next memory barrier. */
SwareKeySetResult
sware_key_set_add(SwareKeySet *set, LWLock *lock, uint64 fingerprint)
{
	uint64		value;
	volatile uint64 *address;

	if (unlikely(set->segment.chunks == 0) && !grow(set, lock))
		return SWARE_KEY_HAS_NO_ROOM;

	value = table_value(set, fingerprint);
	address = find(set, value);
	if (unlikely(*address != value && set->usedPlaces >= FILLED(set->places)))
	{
		if (!grow(set, lock))
			return SWARE_KEY_HAS_NO_ROOM;
		address = find(set, table_value(set, fingerprint));
	}
	widen_fences(set, fingerprint);
	return add_to_table(set, address, fingerprint) ? SWARE_KEY_ADDED : SWARE_KEY_IS_THERE;
}

/* Remove a fingerprint that was added. */
void
sware_key_set_remove(SwareKeySet *set, uint64 fingerprint)
{
	uint64		value;
	volatile uint64 *address;

	if (set->segment.chunks == 0)
		return;
	value = table_value(set, fingerprint);
	address = find(set, value);
	if (*address != value)
		return;
	set->count--;
	if (set->hasGroups)
		address[1] &= ~member_bit(fingerprint);
	else
		*address = REMOVED;
}

/*
 * Is a fingerprint in a set?  The caller owns it, or holds its lock, at least
 * shared.  The owner may be adding others meanwhile.
 */
bool
sware_key_set_contains(const SwareKeySet *set, uint64 fingerprint)
{
	uint64		value = table_value(set, fingerprint);
	volatile uint64 *address;

	if (set->segment.chunks == 0)
		return false;
	if (set->isExact &&
		((int64) fingerprint < ((volatile const SwareKeySet *) set)->smallest ||
		 (int64) fingerprint > ((volatile const SwareKeySet *) set)->largest))
		return false;
	address = find(set, value);
	if (*address != value)
		return false;
	pg_read_barrier();
	return !set->hasGroups || (address[1] & member_bit(fingerprint)) != 0;
}

/*
 * Let a set have these fingerprints, and no others.  False, with nothing changed,
 * if there is no room.  There is, as far as the table goes, for any of those that
 * the set has.
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

	/* as if none shared a group; but what there is now has room for part of it */
	if (set->segment.chunks == 0)
		return false;
	while (chunk_count < set->segment.chunks &&
		   FILLED(sware_segment_bytes(chunk_count) /
				  (set->hasGroups ? GROUP_SIZE : sizeof(uint64))) < (uint64) count)
		chunk_count *= 2;
	if (!allocate(&other, chunk_count))
		return false;
	for (int64 i = 0; i < count; i++)
	{
		if (other.usedPlaces > FILLED(other.places))
		{
			free_segment(&other.segment);
			return false;
		}
		widen_fences(&other, fingerprints[i]);
		copy_to_table(&other, fingerprints[i]);
	}
	replace(set, lock, &other);
	return true;
}

/* Remove all fingerprints, and give the memory back. */
void
sware_key_set_empty(SwareKeySet *set, LWLock *lock)
{
	(void) sware_key_set_fill(set, lock, NULL, 0);
}
