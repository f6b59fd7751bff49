/*-------------------------------------------------------------------------
 *
 * keyset.h
 *	  A set of fingerprints in the pool's shared memory.
 *
 * Its owner alone changes it.  Others look into it while they hold a lock that
 * the owner takes exclusively to put the set elsewhere or to empty it, but not
 * to add a fingerprint: who looks while one is being added may miss it, or find
 * what is not there.
 *
 * It is a hash table with open addressing, in one of two shapes:
 *
 *	groups	of 64 successive numbers, each with a bitmap: 16 bytes
 *	plain	the fingerprints themselves, 8 bytes each
 *
 * Exact fingerprints begin as groups, which keys that lie close together share,
 * so that a load in order stays within the processor's cache.  When the set
 * grows, and they share too little, it becomes plain.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_KEYSET_H
#define SWARE_KEYSET_H

#include "buffer/pool.h"

typedef struct SwareKeySet
{
	/* readers need these */
	SwareSegment segment;		/* of no chunks, if the set is empty */
	uint32		places;			/* that the segment has */
	bool		isExact;		/* fingerprints are integers as they are */
	bool		hasGroups;
	int64		smallest;		/* if isExact: none is below ... */
	int64		largest;		/* ... or above */

	/* the owner's */
	uint32		usedPlaces;
	uint64		count;			/* fingerprints */
} SwareKeySet;

typedef enum SwareKeySetResult
{
	SWARE_KEY_ADDED,
	SWARE_KEY_IS_THERE,
	SWARE_KEY_HAS_NO_ROOM		/* the pool gives no more */
} SwareKeySetResult;

extern void sware_key_sets_attach(pg_atomic_uint32 *chunks_of_all_sets);

/* test modules call these, too */
#pragma GCC visibility push(default)

extern void sware_key_set_init(SwareKeySet *set, bool is_exact);
extern SwareKeySetResult sware_key_set_add(SwareKeySet *set, LWLock *lock,
										   uint64 fingerprint);
extern void sware_key_set_remove(SwareKeySet *set, uint64 fingerprint);
extern bool sware_key_set_contains(const SwareKeySet *set, uint64 fingerprint);
extern bool sware_key_set_fill(SwareKeySet *set, LWLock *lock,
							   const uint64 *fingerprints, int64 count);
extern void sware_key_set_empty(SwareKeySet *set, LWLock *lock);

#pragma GCC visibility pop

#endif							/* SWARE_KEYSET_H */
