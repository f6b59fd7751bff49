/*-------------------------------------------------------------------------
 *
 * unique.h
 *	  Inserts into unique indexes.
 *
 * takenkeys/stagedkeys.h describes the protocol.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_UNIQUE_H
#define SWARE_UNIQUE_H

#include "access/relscan.h"
#include "access/xact.h"
#include "utils/snapshot.h"

#include "staging/staging.h"

/*
 * Must the key of this row be unique?  A key with nulls need not, unless the
 * index treats nulls as equal.
 */
extern bool sware_key_is_checked(const SwareNewRow *row);

/*
 * Look for the key of a row in the buffer and the tree.  The row is about to
 * be inserted, or, with UNIQUE_CHECK_EXISTING, has been.  The caller holds the
 * key lock of the key, and no other locks.
 *
 * If another transaction may have inserted the key, returns that transaction;
 * with a speculative insertion, *speculative_token is its token.  The caller
 * gives up the key lock, waits for the transaction, and calls this again.
 *
 * Otherwise returns InvalidTransactionId.  Then no live row has the key,
 * except that with UNIQUE_CHECK_PARTIAL *is_unique is false if one may have
 * it.  If a live row has the key, raises nbtree's error
 * (ERRCODE_UNIQUE_VIOLATION).
 */
extern TransactionId sware_look_up_key(const SwareNewRow *row, bool *is_unique,
									   uint32 *speculative_token);

/*
 * Wait until the transaction `other`, or its speculative insertion, has ended.
 * The caller holds no key lock.
 */
extern void sware_wait_for_other(const SwareNewRow *row, TransactionId other,
								 uint32 speculative_token);

/*
 * If it can be seen that a row is the new version of one with the same key,
 * which has an entry in the index, return the id of the command that updates
 * it; else InvalidCommandId.  The caller holds no buffer lock.
 */
extern CommandId sware_command_that_keeps_key(const SwareNewRow *row,
											  const IndexInfo *index_info);

/*
 * Can a look-up of the key be left out?  No other command was executed since
 * the UPDATE began.  The key is locked.
 */
static inline bool
sware_keeps_key(const SwareNewRow *row)
{
	return row->keepsKeyIn != InvalidCommandId &&
		row->keepsKeyIn == GetCurrentCommandId(false);
}

/* keysahead.c */

/*
 * The key of a row that waits, and that a stager inserts, is about to be looked
 * up: if the latest ones had to be read from the disk, ask for the leaves of
 * the keys that follow in the table.  Reads pages, so no content lock and no
 * key lock may be held.  Compares keys that may wait, which calls nobody's
 * functions, and cannot fail.
 */
extern void sware_keys_ahead_before(const SwareNewRow *row);

/* The key has been looked up. */
extern void sware_keys_ahead_after(Relation index);

/* stager.c */

/*
 * Stage the entry of a row in a unique index, if that is possible.  Raises an
 * error if the key exists already.  May wait for transactions and publish, so
 * no lightweight lock may be held.  Returns false if the caller must look the
 * key up and store the entry; then nothing is staged for the index.
 */
extern bool sware_stage_unique(const SwareNewRow *row, IndexInfo *index_info);

extern void sware_wait_for_stagers_of_key(IndexScanDesc scan);

/*
 * A scan with a dirty snapshot looks for rows of a key that other backends are
 * inserting, but it cannot see staged ones.  Before it reads, wait until no
 * other backend has staged a row of the key.  No lightweight lock may be held.
 */
static inline void
sware_wait_for_staged_keys(IndexScanDesc scan)
{
	if (unlikely(scan->xs_snapshot &&
				 scan->xs_snapshot->snapshot_type == SNAPSHOT_DIRTY))
		sware_wait_for_stagers_of_key(scan);
}

#endif							/* SWARE_UNIQUE_H */
