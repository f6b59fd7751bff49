/*-------------------------------------------------------------------------
 *
 * expectedleaf.h
 *	  The leaf at which the next key is expected: a backend remembers it, and
 *	  goes there without a descent.
 *
 * While keys arrive in order this is the rightmost leaf; if some came early, it
 * is the one where the others go on.  Keys that are late or early are told by
 * their numbers, and do not make the backend forget it.  (The idea is that of
 * the predicted ordered leaf of the paper on QuIT.)
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_EXPECTEDLEAF_H
#define SWARE_EXPECTEDLEAF_H

#include "storage/bufmgr.h"

#include "keys/searchkey.h"

/* These run comparators; the first is called without content locks. */
extern Buffer sware_expected_leaf(const SwareSearchKey *key, int lockmode);
extern void sware_note_leaf(const SwareSearchKey *key, Buffer buffer,
							bool is_writer);

#endif							/* SWARE_EXPECTEDLEAF_H */
