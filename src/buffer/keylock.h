/*-------------------------------------------------------------------------
 *
 * keylock.h
 *	  Fingerprints of the keys of a unique index, and locks on keys.
 *
 * A fingerprint is a number that equal keys share, under the index's own
 * equality and collations; keys that differ rarely share one.  The key of an
 * index with one integer column is its own fingerprint: exact.
 *
 * Whoever inserts into a unique index holds the lock of its key from before
 * the look-up until the entry is where others find it.  It is a heavyweight
 * lock on one of SWARE_KEY_STRIPES pages that no index has: cancellable, seen
 * by the deadlock detector, given back after errors, and there without
 * preloading.  A session holds one at a time, for no longer than reading some
 * pages takes, and waits for no transaction meanwhile.
 *
 * Lock order: flush lock, key lock, content locks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_KEYLOCK_H
#define SWARE_KEYLOCK_H

#include "utils/rel.h"

#define SWARE_KEY_STRIPES	1024

typedef struct SwareFingerprint
{
	uint64		value;
	bool		isExact;		/* keys with the same one are equal */
	bool		tells;			/* if not, too many keys share it to be of use but
								 * for a lock: a column has no hash function */
} SwareFingerprint;

extern SwareFingerprint sware_fingerprint(Relation index, const Datum *values,
										  const bool *isnull);

extern bool sware_has_null_key(Relation index, const bool *isnull);
extern void sware_lock_key(Relation index, uint64 fingerprint);
extern void sware_unlock_key(Relation index, uint64 fingerprint);

/*
 * Wait until whoever holds the lock of a key now has let go of it.  The caller
 * holds no lock but on the relation.
 */
extern void sware_wait_for_key_lock(Relation index, uint64 fingerprint);

#endif							/* SWARE_KEYLOCK_H */
