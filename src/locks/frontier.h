/*-------------------------------------------------------------------------
 *
 * frontier.h
 *	  Frontiers of unique indexes, in shared memory: a key beyond the frontier
 *	  needs no look-up.
 *
 * Keys that arrive in order are new, each larger than all before.  The
 * *frontier* of an index is an abbreviation that none of its keys exceeds,
 * stored or staged.  (For a stager, its bound serves the same purpose,
 * stagedkeys.h; it is of no use while others insert, too.)
 *
 *	 insert of key k
 *	 1 lock k, and announce the insert (stagedkeys.h)
 *	 2 is k registered by a stager?  Then see there
 *	 3 raise the frontier to k; was it valid, and below k?  Then skip 4
 *	 4 look k up
 *	 5 store the entry
 *	 6 unlock k
 *
 * Of two sessions that insert the same key, the second one does all this after
 * the first one has unlocked it.  So it finds the frontier raised in step 3,
 * and looks the key up.  A stager raises the frontier before it stores what it
 * has staged; until then the keys are found in step 2.
 *
 * There is a fixed number of frontiers, and indexes whose numbers collide share
 * one in turn: it belongs to one file at a time.  To make it its own, a session
 *
 *	 a takes it, not valid yet: from now on inserts raise it in step 3
 *	 b finds no stager; else it gives up
 *	 c waits for the direct inserts under way, which may have done step 3 before
 *	 d reads the largest entry of buffer and tree, and raises the frontier to it
 *	 e makes it valid, unless another session has taken it since
 *
 * Invariants, while a frontier is valid:
 *	- Each key that is stored, or is being stored, is not above it.
 *	- It only rises.
 *
 * A build stores keys without raising anything, so it first takes away the
 * frontier of its file.  Keys with a null first column have no look-up that
 * could be saved, and do not count.  Indexes whose first column has no
 * abbreviations have no frontiers, nor have temporary ones.
 *
 * The functions hold no lock but a spinlock, and raise no errors.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_FRONTIER_H
#define SWARE_FRONTIER_H

#include "access/itup.h"
#include "utils/rel.h"

/* Request shared memory, and attach to it, as in stagedkeys.h. */
extern void sware_frontiers_request_memory(void);
extern void sware_frontiers_attach(void);

/*
 * Step 3: raise the frontier to the key of a new row, given by its first
 * column.  Returns whether the key was beyond it.  Sets *is_wanted if a
 * frontier should be searched for (steps a to e), as soon as no key is locked.
 */
extern bool sware_pass_frontier(Relation index, Datum value, bool is_null,
								bool *is_wanted);

/* Raise the frontier to entries that are about to be stored. */
extern void sware_raise_frontier(Relation index, IndexTuple *entries,
								 int64 count);

/* Step a.  Returns the number of this taking, for step e; 0: give up. */
extern uint64 sware_take_frontier(Relation index);

/* Steps d and e, with the largest entry, or NULL if there is none. */
extern void sware_validate_frontier(Relation index, IndexTuple largest,
									uint64 taking);

/* Take the frontier away from an index, or all those of a database. */
extern void sware_forget_frontier(Relation index);
extern void sware_forget_frontiers_of_database(Oid database);

#endif							/* SWARE_FRONTIER_H */
