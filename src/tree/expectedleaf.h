/*-------------------------------------------------------------------------
 *
 * expectedleaf.h
 *	  The leaves at which the next key is expected: a writer remembers them,
 *	  and goes there without a descent.
 *
 * While keys arrive in order this is the rightmost leaf, or the one where they
 * go on if some came early.  They may come in order in several places, as in
 * an index on (state, time).  Copies of a leaf's first item and high key, or
 * their numbers, tell which keys belong elsewhere.  (The idea is that of the
 * predicted ordered leaf of the paper on QuIT.)
 *
 * What is remembered may be out of date.  So a leaf is used only if the entry
 * lies behind its first item and before its high key now.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_EXPECTEDLEAF_H
#define SWARE_EXPECTEDLEAF_H

#include "storage/bufmgr.h"

#include "keys/searchkey.h"
#include "tree/descent.h"

/* Where is the entry of a key expected, which may go to the buffer as well? */
typedef enum SwareExpectation
{
	SWARE_AT_EXPECTED_LEAF,
	SWARE_AT_UNKNOWN_LEAF,		/* a descent finds it, and should be made */
	SWARE_AT_OTHER_LEAF,		/* a descent is not worth its cost */
	SWARE_AT_BUSY_LEAF			/* another session has locked it */
} SwareExpectation;

/* These call comparators.  They are called without content locks. */
extern Buffer sware_find_leaf(const SwareSearchKey *key, SwareStack **stack);
extern SwareExpectation sware_try_expected_leaf(const SwareSearchKey *key,
												Buffer *leaf);

#endif							/* SWARE_EXPECTEDLEAF_H */
