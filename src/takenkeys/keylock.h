/*-------------------------------------------------------------------------
 *
 * keylock.h
 *	  Locks on the keys of unique indexes.
 *
 * A backend that inserts into a unique index locks the key before it looks it
 * up, and unlocks it when other backends can find the entry.  Meanwhile it
 * reads and changes pages of the index and of its table, and waits for what
 * nbtree waits for with a leaf locked, but for no transaction.
 *
 * Of an index whose keys are compared by built-in functions, the lock is a
 * number in shared memory: it is odd while the lock is held.  The deadlock
 * detector sees nothing of it, and need not: a session that holds such a lock
 * takes no other one, and executes no SQL.  A wait for it can be cancelled, and
 * an error releases it.
 *
 * The functions of other indexes may execute SQL, insert into other indexes,
 * and wait for anybody.  There, and where the library is not preloaded, the
 * lock is a heavyweight lock on a page number that no index has.  So that
 * others can wait for all locked keys of an index, a lock in shared memory
 * names the index, and who has a heavyweight one shares another one.
 *
 * Which kind of lock an index has follows from the functions and types of its
 * operator classes, which never change, so all sessions take the same.
 *
 * Either way a key has one of SWARE_KEY_STRIPES locks.  Those in shared memory
 * are all indexes' together.
 *
 * Lock order: flush lock, key lock, content locks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_KEYLOCK_H
#define SWARE_KEYLOCK_H

#include "miscadmin.h"
#include "utils/rel.h"

#define SWARE_KEY_STRIPES	1024

/* See base/sharedmemory.h. */
extern void sware_share_key_locks(void);

/*
 * Returns which of an index's key locks belongs to a fingerprint: 0 is the
 * first.
 */
extern int	sware_key_stripe(uint64 fingerprint);

/* The number of an index in shared memory; never 0. */
static inline uint64
sware_index_number(Relation index)
{
	return (uint64) MyDatabaseId << 32 | RelationGetRelid(index);
}

extern void sware_lock_key(Relation index, uint64 fingerprint);
extern void sware_unlock_key(Relation index, uint64 fingerprint);

/*
 * Wait until all keys of an index that other backends have locked now have been
 * unlocked once.  The caller holds no lock but that of the relation.
 */
extern void sware_wait_for_locked_keys(Relation index);

/*
 * Release the key lock in shared memory that this session has, if any, after an
 * error, and before the client is told of it: the client may not read that for
 * a long time.  The server's lock manager releases heavyweight ones itself.
 * Raises no errors.
 */
extern void sware_release_key_lock(void);

#endif							/* SWARE_KEYLOCK_H */
