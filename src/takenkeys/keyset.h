/*-------------------------------------------------------------------------
 *
 * keyset.h
 *	  Key sets: sets of fingerprints in the pool's shared memory.
 *
 * A key set belongs to one backend, its owner, which alone changes it.  Other
 * backends look into it while they hold its lock, shared.  The owner takes the
 * lock exclusively to replace the table by another one or to empty it, but not
 * to add or remove a fingerprint.  So a backend that looks into the set at the
 * same time may miss that fingerprint, or find one that is not there.
 *
 * The set is a hash table with open addressing.  Each place has the number of a
 * group of 64 successive fingerprints, and a bitmap of those that are there.
 * The fingerprints of integers are the keys themselves, so keys that lie close
 * together share a group, and a load in order stays within the processor's
 * cache.
 *
 * All key sets together use at most half of the pool, and each at most 64 MB.
 * No function here raises an error.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_KEYSET_H
#define SWARE_KEYSET_H

#include "shared/pool.h"

/*
 * A key set, in shared memory.  All zero if it is empty; then it has no table.
 */
typedef struct SwareKeySet
{
	/* read by all backends */
	SwareAllocation allocation; /* the table; no chunks: there is none */
	uint32		places;			/* how many the table has */

	/* used by the owner only */
	uint32		usedPlaces;		/* of the table */
} SwareKeySet;

/* Set where in shared memory the chunks of all key sets are counted. */
extern void sware_key_sets_attach(pg_atomic_uint32 *chunks_of_all_sets);

/* How many chunks of the pool do all key sets have now?  Takes no lock. */
extern uint32 sware_key_sets_chunk_count(void);

extern bool sware_key_set_add(SwareKeySet *set, LWLock *lock,
							  uint64 fingerprint);
extern void sware_key_set_prefetch(const SwareKeySet *set,
								   uint64 fingerprint);
extern void sware_key_set_remove(SwareKeySet *set, uint64 fingerprint);
extern bool sware_key_set_contains(const SwareKeySet *set, uint64 fingerprint);
extern void sware_key_set_empty(SwareKeySet *set, LWLock *lock);

#endif							/* SWARE_KEYSET_H */
