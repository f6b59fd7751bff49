/*-------------------------------------------------------------------------
 *
 * stagedkeys.h
 *	  Which keys sessions have staged for unique indexes, in shared memory.
 *
 * Others must not insert a key that a running transaction has staged, and
 * cannot see its staging.  So a session that stages for a unique index, a
 * *stager*, registers the fingerprint of each key first.  Who finds a
 * fingerprint there waits for the stager's transaction, as it would for one
 * that has inserted.
 *
 * Entries move from staging to buffer to tree, never back, and who looks for a
 * key looks there in this order.
 *
 *	direct insert of key k				stager's insert of key k
 *	 1 lock k							 1 register k
 *	 2 raise the index's activity		 2 memory barrier
 *	 3 k registered by another? unlock,	 3 fast path: the activity is what it was
 *	   wait for its transaction, go to 1	when the bound was found, no other
 *	 4 look k up: a conflict is waited		stager was there, and k > bound and
 *	   for (unlocked) or an error			all that is staged: done
 *	 5 store the entry					 4 otherwise: lock k; registered by
 *	 6 unlock k							   another, or in conflict with what is
 *										   stored: withdraw k, unlock, wait or
 *										   raise the error
 *										 5 unlock k
 *
 * A direct insert raises the activity under the key's lock: whoever has raised
 * it before a stager reads it, and may still store something, is then waited
 * for when the stager looks for its bound.
 *
 * The *bound* is the largest key stored in the index: read the activity,
 * see that there is no other stager, wait until everybody who holds a key lock
 * now has let go of it, then read the largest entry of buffer and tree.  With
 * another stager about, 4 is done without a look-up if the activity is still
 * the same after looking at what the others have registered and k > bound.
 *
 * Activity is raised: by a direct insert (1); by a stager when it has made
 * itself known, before its first key; and by a stager that has published
 * entries, after they are stored and before their keys leave the register.
 *
 * Only top-level transactions stage for unique indexes (waiters wait for the
 * transaction, and what a subtransaction has inserted may be void long before
 * its end).  Registration is given up when the staging has been published, and
 * by the abort callback.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_STAGEDKEYS_H
#define SWARE_STAGEDKEYS_H

#include "utils/rel.h"

/* called when the library is loaded; without preloading there are no stagers */
extern void sware_staged_keys_request_memory(void);

/* for direct inserts */
extern void sware_raise_activity(Relation index);

/*
 * Which running transaction, other than this session's, has staged a key of
 * that fingerprint?  InvalidTransactionId if none has.  Under the key's lock,
 * with activity raised before.
 */
extern TransactionId sware_find_staged_key(Relation index, uint64 fingerprint);

#endif							/* SWARE_STAGEDKEYS_H */
