/*-------------------------------------------------------------------------
 *
 * unique.h
 *	  Inserts into unique indexes.
 *
 * locks/stagedkeys.h describes the protocol.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_UNIQUE_H
#define SWARE_UNIQUE_H

#include "access/genam.h"
#include "nodes/execnodes.h"

/* A row that is being inserted, as aminsert gets it. */
typedef struct SwareNewRow
{
	Relation	index;
	Relation	heap;
	Datum	   *values;			/* of the index's columns */
	bool	   *isnull;
	ItemPointer tid;
	IndexUniqueCheck check;
	CommandId	keepsKeyIn;		/* the command that is seen to leave the row's
								 * key as it was (newversion.h), or
								 * InvalidCommandId */
} SwareNewRow;

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
 * Search for the frontier of an index (locks/frontier.h).  Waits for direct
 * inserts, and reads pages, so the caller holds no lock but on the relation.
 */
extern void sware_search_frontier(Relation index);

/*
 * Wait until the transaction `other`, or its speculative insertion, has ended.
 * The caller holds no key lock.
 */
extern void sware_wait_for_other(const SwareNewRow *row, TransactionId other,
								 uint32 speculative_token);

#endif							/* SWARE_UNIQUE_H */
