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
 *	 1 lock k							 1 fast path, if k > bound: register k
 *	 2 raise the index's activity		   (if it is there already, publish
 *	 3 k registered by another? unlock,	   all, and insert directly); memory
 *	   wait for its transaction, go to 1   barrier; no other stager has k, and
 *	 4 look k up: a conflict is waited	   then the activity is what it was
 *	   for (unlocked) or an error		   when the bound was found: done;
 *	 5 store the entry					   if not, withdraw k
 *	 6 unlock k							 2 lock k
 *										 3 register k, memory barrier
 *										 4 registered by another, or in conflict
 *										   with what is stored: withdraw k,
 *										   unlock, wait (and go to 1) or raise
 *										   the error
 *										 5 unlock k
 *
 * What is registered in step 3 may be withdrawn again, after waits for pages and
 * whatever comparisons take.  Nobody who has k locked finds it before that is
 * decided: it would wait for a stager that waits for its own transaction, which
 * has deleted the row of that key and inserts another one.
 *
 * A direct insert raises the activity under the key's lock: whoever has raised
 * it before a stager reads it, and may still store something, is then waited
 * for when the stager looks for its bound.
 *
 * The *bound* is the largest key stored in the index: read the activity, wait
 * until all direct inserts that are under way have let go of their keys' locks,
 * then read the largest entry of buffer and tree.  If there was no other stager
 * then, there is none as long as the activity is the same.
 *
 * Functions that compare keys may run SQL of their own.  If that has published
 * entries, or inserted directly, a key that is being admitted may have left the
 * register, or be stored: the stager's *disturbances* have changed, and the row is
 * inserted directly.
 *
 * Activity is raised: by a direct insert (1); by a stager when it has made
 * itself known, before its first key; and by a stager that has published
 * entries, after they are stored and before their keys leave the register.
 *
 * Only top-level transactions stage for unique indexes (waiters wait for the
 * transaction, and what a subtransaction has inserted may be void long before
 * its end).  Keys leave the register when their entries have been published;
 * the stager stays known until its transaction ends.
 *
 * A stager waits for no transaction while it has a key that is neither staged
 * nor withdrawn, and nobody waits for a transaction, or for the memory of keys,
 * with a key lock.  Registered keys are held as rows inserted are: until the end
 * of the transaction, and for the deadlock detector to see.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_STAGEDKEYS_H
#define SWARE_STAGEDKEYS_H

#include "access/itup.h"
#include "utils/rel.h"

#include "buffer/abbreviation.h"
#include "buffer/keylock.h"
#include "buffer/keyset.h"
#include "tree/tree.h"

/* What a session that stages for a unique index knows of it. */
typedef struct SwareStager
{
	/* in shared memory */
	int			slot;
	SwareKeySet *keys;
	LWLock	   *lock;			/* of the keys, see keyset.h */
	pg_atomic_uint64 *activity;

	Oid			index;
	SwareComparison comparison; /* of the only key column, or FUNCTION */
	bool		descending;

	uint64		disturbances;	/* how often keys have left the register, or were
								 * inserted directly by this session */

	/* the bound */
	bool		hasBound;
	int			boundUses;		/* comparisons with it that are going on */
	uint64		boundActivity;	/* the activity that it holds for */
	bool		hasCompany;		/* were other stagers there then? */
	bool		isUnbounded;	/* is nothing stored? */
	int64		boundNumber;	/* the abbreviation, if columns are integers */
	IndexTuple	bound;			/* in memory of the transaction; NULL if it is a
								 * number, or nothing */

	/* when to look for it */
	int			rowsBeforeSearch;	/* so many slow ones more */
	int			pause;			/* that many, after the last search */
	int			rowsSaved;		/* by the bound that there was last */
} SwareStager;

/* As those of zones.h; if they are not called, there are no stagers. */
extern void sware_staged_keys_request_memory(void);
extern void sware_staged_keys_attach(void);

/* a direct insert of this session */
typedef struct SwareDirectInsert
{
	Oid			index;
	uint64		fingerprint;
	struct SwareDirectInsert *outer;	/* whose comparison has led to this one */
} SwareDirectInsert;

/*
 * For direct inserts: begin one, before its key is locked, and end it when the
 * entry has been stored, or on an error.  Say that it is going on with the key
 * locked, which raises the activity, and that it is not, before the lock is let
 * go of to wait for a transaction.
 */
extern void sware_begin_direct_insert(SwareDirectInsert *insert, Relation index,
									  uint64 fingerprint);
extern void sware_announce_direct_insert(void);
extern void sware_revoke_direct_insert(void);
extern void sware_end_direct_insert(void);

/* Raise the error for a comparison that inserts the key it was called for. */
extern void sware_report_nested_insert(Relation index);

/* Is this session inserting directly, and so calls us from a comparison? */
extern bool sware_is_inserting_directly(void);

/*
 * Which running transaction, other than this session's, has staged a key of
 * that fingerprint?  InvalidTransactionId if none has.  Under the key's lock,
 * with activity raised before.
 */
extern TransactionId sware_find_staged_key(Relation index, uint64 fingerprint);

/* Does another session stage for the index?  It may also be for another index. */
extern bool sware_there_are_stagers(Relation index);

/* for stagers */
extern SwareStager *sware_become_stager(Relation index);
extern SwareKeySetResult sware_register_key(SwareStager *stager, uint64 fingerprint);
extern void sware_withdraw_key(SwareStager *stager, uint64 fingerprint);
extern bool sware_key_is_above_bound(SwareStager *stager, Relation index,
									 const Datum *values, const bool *isnull);
extern bool sware_key_needs_no_look_up(SwareStager *stager, Relation index,
									   uint64 fingerprint);
extern bool sware_wait_for_direct_inserts(Relation index);
extern uint64 sware_begin_bound(SwareStager *stager, bool *has_company);
extern void sware_set_bound(SwareStager *stager, Relation index, IndexTuple largest,
							uint64 activity, bool has_company);
extern bool sware_bound_is_valid(SwareStager *stager);
extern void sware_forget_bound(SwareStager *stager);

/* after entries have been stored: all of them, or the first of those in order */
extern void sware_tell_of_stored(SwareStager *stager, Relation index,
								 IndexTuple *entries, int64 count, bool in_order);
extern void sware_keep_keys(SwareStager *stager, Relation index,
							IndexTuple *entries, int64 count);
extern void sware_forget_keys(SwareStager *stager);

extern bool sware_has_staged_key_itself(Relation index, uint64 fingerprint);
extern void sware_staged_keys_transaction_ends(void);

/* The fingerprint of a key that is one integer, as sware_fingerprint tells it. */
static inline uint64
sware_integer_fingerprint(const SwareStager *stager, Datum value)
{
	SwareKeyColumn column;

	column.comparison = stager->comparison;
	column.descending = false;
	return (uint64) sware_abbreviate_value(&column, value, false);
}

#endif							/* SWARE_STAGEDKEYS_H */
