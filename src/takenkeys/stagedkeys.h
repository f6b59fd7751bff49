/*-------------------------------------------------------------------------
 *
 * stagedkeys.h
 *	  Which keys sessions have staged for unique indexes, in shared memory.
 *
 * Other sessions must not insert a key that a transaction in progress has
 * staged, but cannot see its staging.  So a session that stages for a unique
 * index, a *stager*, registers the fingerprint of each key first, in its *seat*
 * for the index.  A session that finds its key's fingerprint registered waits
 * for the stager's transaction, as for one that has inserted the key.
 *
 * Entries move from staging to buffer to tree, never back, so a session that
 * looks for a key looks at these in the same order.
 *
 * The *activity* of an index is a count that each session raises when it stores
 * a key there.  Indexes may share one, by chance: that costs look-ups and harms
 * nothing.  The *bound* is the largest key stored in the index, as a stager
 * knows it: a larger key needs no look-up.
 *
 *	direct insert of key k				stager's insert of key k
 *	 1 lock k							 1 fast path, only if k > bound and the
 *	 2 raise the index's activity		   activity is what it was when the
 *	 3 is k registered by another?		   bound was found; else go to 2:
 *	   Then unlock k, wait for the		   register k, memory barrier; look for
 *	   other's transaction, go to 1		   k among other stagers' keys, and read
 *	 4 look k up: a conflict is waited	   the activity after that. If no other
 *	   for (unlocked) or an error		   has k, and the activity is still the
 *	 5 store the entry					   bound's: done. Else withdraw k
 *	 6 unlock k							 2 lock k
 *										 3 register k, memory barrier
 *										 4 is k registered by another, or in
 *										   conflict with what is stored? Then
 *										   withdraw k, unlock it, and wait (and
 *										   go to 1) or raise the error
 *										 5 unlock k: done
 *
 * A direct insert may do steps 4 and 5 at once, where the expected leaf shows
 * that k is new (store_new_key in am/insert.c).
 *
 * Done means that k is *admitted*: its entry can be staged.  If the stager
 * finds in step 1 or 3 that it has registered k itself already, it publishes
 * all that it has staged for the index, and inserts directly.
 *
 * A key that a stager registers in step 3 may be withdrawn again in step 4,
 * after reading pages and comparing.  A session that inserts k directly does
 * not find it registered meanwhile, since it needs the key lock to look.
 * Otherwise a transaction that has deleted the row of k and inserts another one
 * could wait for a stager that waits for this same transaction.  Step 1 does
 * without the lock, since it does nothing slow between registering and
 * withdrawing k.  If the other insert looks within that moment, the deadlock
 * detector ends one of the two transactions.
 *
 * To find the bound, a stager reads the activity, waits until all keys of the
 * index that are locked have been unlocked, and then reads the largest entry of
 * buffer and tree.  A direct insert raises the activity while it has its key
 * locked.  So if it has raised the activity before the stager reads it, but has
 * not stored its entry yet, the stager waits for it.
 *
 * Functions that compare keys may execute SQL of their own, and that may have
 * staged entries published, even in the middle of an insert's steps.  Then the
 * keys of these stored entries stay registered, and the stager looks for its
 * bound again.  This session can insert nothing into the index meanwhile
 * (changes.h).
 *
 * The activity is raised by a direct insert (step 2), and by a stager that has
 * published entries, after they are stored and before their keys leave the
 * register.  The stagers of each activity are counted: who is alone need not
 * look for k among others' keys in step 1.
 *
 * Only top-level transactions stage for unique indexes: the entries of a
 * subtransaction may be void long before its transaction ends.  Keys leave the
 * register when all that is staged for the index has been published; to wait
 * for a transaction that has stored a key does no harm.  The session remains a
 * stager until its transaction ends.
 *
 * There are no undetected deadlocks.  A stager waits for no transaction while
 * it has a key that is neither staged nor withdrawn, and no session does while
 * it holds a key lock.  To wait for a registered key is to wait for a
 * transaction, as for an inserted row, which the deadlock detector sees.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_STAGEDKEYS_H
#define SWARE_STAGEDKEYS_H

#include "access/itup.h"
#include "utils/rel.h"

#include "keys/searchkey.h"
#include "shared/pool.h"

/*
 * A *key set* is a set of fingerprints in the pool's shared memory.  It belongs
 * to one backend, its owner, which alone changes it.  Other backends look into
 * it while they hold its lock, shared.  The owner takes the lock exclusively to
 * replace the table by another one or to empty it, but not to add or remove a
 * fingerprint.  So a backend that looks into the set at the same time may miss
 * that fingerprint, or find one that is not there.
 *
 * The set is a hash table with open addressing.  Each place has the number of a
 * group of 64 successive fingerprints, and a bitmap of those that are there: so
 * integers that come in order stay within the processor's cache.
 *
 * All key sets together use at most half of the pool, and each at most 64 MB.
 * A set that is all zero is empty, and has no table.  Functions of key sets
 * raise no errors.
 */
typedef struct SwareKeySet
{
	/* read by all backends */
	SwareAllocation allocation; /* the table; no chunks: there is none */
	uint32		places;			/* how many the table has */

	/* used by the owner only */
	uint32		usedPlaces;		/* of the table */
} SwareKeySet;

/* How many chunks of the pool do all key sets have now?  Takes no lock. */
extern uint32 sware_key_sets_chunk_count(void);

extern bool sware_key_set_add(SwareKeySet *set, LWLock *lock,
							  uint64 fingerprint);
extern void sware_key_set_remove(SwareKeySet *set, uint64 fingerprint);
extern bool sware_key_set_contains(const SwareKeySet *set, uint64 fingerprint);
extern void sware_key_set_empty(SwareKeySet *set, LWLock *lock);

/* The activity of unique indexes.  In shared memory. */
typedef struct SwareActivity
{
	pg_atomic_uint64 raised;
	pg_atomic_uint32 stagers;
	char		padding[PG_CACHE_LINE_SIZE - sizeof(pg_atomic_uint64) -
						sizeof(pg_atomic_uint32)];
} SwareActivity;

/* What a stager knows of a unique index.  In private memory. */
typedef struct SwareStager
{
	/* in shared memory */
	int			seat;			/* its number */
	SwareKeySet *keys;
	LWLock	   *lock;			/* protects the keys */
	SwareActivity *activity;

	Oid			index;
	SwareKeyColumn first;		/* how the first key column is compared */
	bool		isInteger;		/* is it the only one, and an integer? */

	/* The bound. */
	bool		hasBound;
	uint64		boundActivity;	/* the bound is valid while the activity is
								 * this */
	IndexTuple	bound;			/* a copy of the entry, in
								 * TopTransactionContext; NULL: nothing is
								 * stored, so every key is above the bound */
	int64		boundNumber;	/* its abbreviation */

	/* When to search for it. */
	int			rowsBeforeSearch;	/* rows still to insert by look-up before
									 * the bound is searched for again */
	int			pause;			/* the value of rowsBeforeSearch after the
								 * last search */
	int			rowsSaved;		/* look-ups saved by the last bound */
} SwareStager;

/* See base/sharedmemory.h.  Nobody stages if the library is not preloaded. */
extern void sware_share_staged_keys(void);

/*
 * Raise the activity of an index, if it has one.  A direct insert calls this
 * with its key locked.  The key lock names the index before: so a stager that
 * has read the activity before notices that it was raised, and one that reads
 * it afterwards waits for the key lock.  Raises no errors, but may read the
 * metapage.
 */
extern void sware_raise_activity(Relation index);

/*
 * Return the current transaction of another session that has staged a key with
 * this fingerprint; InvalidTransactionId if there is none.  The caller holds
 * the key's lock, and has raised the activity before.  Takes the lock of each
 * seat of the index for a moment.
 */
extern TransactionId sware_find_staged_key(Relation index, uint64 fingerprint);

/*
 * Does another session stage for the index?  The answer may be true by mistake:
 * stagers are counted for each activity, which other indexes may share.
 */
extern bool sware_there_are_stagers(Relation index);

/* Functions for stagers. */
extern SwareStager *sware_become_stager(Relation index);
extern void sware_tell_of_stored(SwareStager *stager);
extern void sware_forget_keys(SwareStager *stager);

extern void sware_staged_keys_transaction_ends(void);

#endif							/* SWARE_STAGEDKEYS_H */
