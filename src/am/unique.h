/*-------------------------------------------------------------------------
 *
 * unique.h
 *	  Inserts into unique indexes.
 *
 * buffer/stagedkeys.h tells the protocol.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_UNIQUE_H
#define SWARE_UNIQUE_H

#include "access/genam.h"
#include "nodes/execnodes.h"

/*
 * Must the key of this row be unique?  Not one with nulls, unless the index
 * takes them as equal.
 */
extern bool sware_key_is_checked(Relation index, const bool *isnull,
								 IndexUniqueCheck check_unique);

/*
 * Look a key up in shared buffer and tree, for a row that is about to be (or,
 * with UNIQUE_CHECK_EXISTING, has been) inserted.  The caller holds the lock
 * of the key, and no others.
 *
 * Returns the transaction that must be waited for, without the key's lock, and
 * the look-up repeated then (with the token of a speculative insertion); or
 * InvalidTransactionId, if there is no live row of that key, or, with
 * UNIQUE_CHECK_PARTIAL, perhaps one, which *is_unique tells.  Otherwise raises
 * nbtree's error (ERRCODE_UNIQUE_VIOLATION).
 */
extern TransactionId sware_look_up_key(Relation index, Relation heap,
									   const Datum *values, const bool *isnull,
									   ItemPointer tid, IndexUniqueCheck check_unique,
									   bool *is_unique, uint32 *speculative_token);

/* Wait until it is known what becomes of another transaction's row. */
extern void sware_wait_for_other(Relation index, TransactionId other,
								 uint32 speculative_token, ItemPointer tid);

#endif							/* SWARE_UNIQUE_H */
