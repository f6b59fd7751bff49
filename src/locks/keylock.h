/*-------------------------------------------------------------------------
 *
 * keylock.h
 *	  Fingerprints of the keys of a unique index, and locks on keys.
 *
 * A fingerprint is a number that equal keys share, under the index's own
 * equality and collations.  Different keys share one as rarely as two random
 * numbers of 64 bits are equal, if the hash functions of the columns are good.
 * In an index with one integer column, the key is its own fingerprint: no other
 * key shares it, and keys that lie close together have fingerprints that do
 * (keyset.h makes use of that).
 *
 * A backend that inserts into a unique index locks the key before it looks it
 * up, and unlocks it when other backends can find the entry.  The lock is a
 * heavyweight lock on one of SWARE_KEY_STRIPES page numbers that no index has.
 * So a wait for it can be cancelled and is seen by the deadlock detector, an
 * error releases it, and it needs no preloading.  A session holds at most one
 * key lock of an index, for no longer than it takes to read some pages, and
 * waits for no transaction meanwhile.
 *
 * Lock order: flush lock, key lock, content locks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_KEYLOCK_H
#define SWARE_KEYLOCK_H

#include "utils/rel.h"

#define SWARE_KEY_STRIPES	1024

/* The fingerprint of a key. */
typedef struct SwareFingerprint
{
	uint64		value;
	bool		tells;			/* false if a column has no hash function: so
								 * many keys share the fingerprint that it is
								 * of use for nothing but a lock */
} SwareFingerprint;

/* test modules call these, too */
#pragma GCC visibility push(default)

/*
 * Returns the fingerprint of a key.  Hash functions run, which may raise
 * errors, and leave detoasted values in the current memory context.
 */
extern SwareFingerprint sware_fingerprint(Relation index, const Datum *values,
										  const bool *isnull);

/* Returns which of the key locks belongs to a fingerprint: 0 is the first. */
extern int	sware_key_stripe(uint64 fingerprint);

#pragma GCC visibility pop

extern bool sware_has_null_key(Relation index, const bool *isnull);
extern void sware_lock_key(Relation index, uint64 fingerprint);
extern void sware_unlock_key(Relation index, uint64 fingerprint);

/*
 * If another backend holds the lock of a key, wait until it has released it.
 * The caller holds no lock but that of the relation.
 */
extern void sware_wait_for_key_lock(Relation index, uint64 fingerprint);

#endif							/* SWARE_KEYLOCK_H */
