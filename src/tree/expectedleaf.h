/*-------------------------------------------------------------------------
 *
 * expectedleaf.h
 *	  The leaf at which the next key is expected: a backend remembers it, and
 *	  goes there without a descent.
 *
 * While keys arrive in order this is the rightmost leaf; if some came early, it
 * is the one where the others go on.  Keys that are late or early are told by
 * their numbers, and do not make the backend forget it.  (The idea is that of
 * the predicted ordered leaf of the paper on QuIT.)  Readers and writers have
 * one each, as a queue is read at one end and written at the other.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_EXPECTEDLEAF_H
#define SWARE_EXPECTEDLEAF_H

#include "storage/bufmgr.h"

#include "keys/searchkey.h"

/* Where is the entry of a key expected, which may go to the buffer as well? */
typedef enum SwareExpectation
{
	SWARE_AT_EXPECTED_LEAF,
	SWARE_AT_UNKNOWN_LEAF,		/* a descent finds it, and should be made */
	SWARE_AT_OTHER_LEAF,		/* a descent is not worth its cost */
	SWARE_AT_BUSY_LEAF			/* another session has locked it */
} SwareExpectation;

/*
 * These run comparators; all but sware_note_leaf are called without content
 * locks.
 */
extern Buffer sware_expected_leaf(const SwareSearchKey *key, int lockmode);
extern SwareExpectation sware_try_expected_leaf(const SwareSearchKey *key,
												Buffer *leaf);
extern void sware_note_leaf(const SwareSearchKey *key, Buffer buffer,
							bool is_writer);

#endif							/* SWARE_EXPECTEDLEAF_H */
