/*-------------------------------------------------------------------------
 *
 * frontier.h
 *	  Frontiers of unique indexes, in shared memory: most keys that arrive in
 *	  order, or nearly, need no look-up.
 *
 * Such a key is new, and not far from the largest ones.  The *frontier* of an
 * index says which keys there are at its upper end, by their abbreviations: it
 * has a *floor* and some numbers above it.  A key above the floor whose number
 * is not among these is new.  So keys may come out of order as far as the
 * numbers reach, and some may be far ahead of the others.  (A stager has its
 * bound, stagedkeys.h, which is of no use while others insert, too.)
 *
 *	 insert of key k
 *	 1 lock k
 *	 2 is k registered by a stager?  Then see there
 *	 3 add k to the frontier; was it valid, and k new to it?  Then skip 4
 *	 4 look k up
 *	 5 store the entry
 *	 6 unlock k
 *
 * Of two sessions that insert the same key, the second one does all this after
 * the first one has unlocked it.  So it finds the key that was added in step 3,
 * and looks it up.  A stager raises the floor to its keys before it stores what
 * it has staged; until then the keys are found in step 2.  When there is no
 * room for another number, the floor rises to one of the smaller ones, and
 * these go.
 *
 * There is a fixed number of frontiers, and indexes may share one in turn: it
 * belongs to one index at a time.  To make it its own, a session
 *
 *	 a takes it, empty and not valid: from now on inserts add to it in step 3
 *	 b finds no stager; else it gives up
 *	 c waits until locked keys are unlocked: their inserts may have done step 3
 *	   before
 *	 d reads the largest entries of buffer and tree, adds them, and raises the
 *	   floor to the smallest of them, unless these were all
 *	 e makes it valid, unless another session has taken it since
 *
 * A session searches for it in this way after a number of misses in a row:
 * inserts of its own that had no use of the frontier.  The index may have none,
 * or one whose floor has been raised too far, as by keys that were rolled back.
 *
 * A frontier belongs to an incarnation of an index in a database.  A build
 * makes a new one, and a move to another tablespace takes it along.
 *
 * Invariants, while a frontier is valid:
 *	- Each key that must be unique, and is stored or being stored, has a number
 *	  that is at most the floor, or is one of the frontier's numbers.
 *	- From one taking to the next, what it covers only grows.
 *
 * Keys with nulls need not be unique, unless the index treats nulls as equal.
 * Those with a null first column have no number, and are always looked up.
 * Indexes whose first column has no abbreviations have no frontiers, nor have
 * temporary ones, nor those whose keys may not wait (keys/trust.c): a search
 * compares the largest ones with each other.
 *
 * The functions may read the metapage and detoast keys, so the caller holds no
 * content lock.  They hold their own lightweight lock for moments only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_FRONTIER_H
#define SWARE_FRONTIER_H

#include "access/itup.h"
#include "utils/rel.h"

/* See base/sharedmemory.h. */
extern void sware_share_frontiers(void);

/*
 * Step 3: add the key of a new row, given by its first column.  Returns whether
 * it is known to be new.  Sets *is_wanted if a frontier should be searched for
 * (steps a to e), as soon as no key is locked.
 */
extern bool sware_pass_frontier(Relation index, Datum value, bool is_null,
								bool *is_wanted);

/* Raise the floor to entries that a stager is about to store. */
extern void sware_raise_frontier(Relation index, IndexTuple *entries,
								 int64 count);

/* Step a.  Returns the number of this taking, for step e; 0: give up. */
extern uint64 sware_take_frontier(Relation index);

/* how many entries are read in step d */
#define SWARE_FRONTIER_ENTRIES	128

/* Steps d and e, with the largest entries, the largest one first. */
extern void sware_validate_frontier(Relation index, IndexTuple *entries,
									int count, uint64 taking);

/* Take away the frontiers of a database. */
extern void sware_forget_frontiers_of_database(Oid database);

#endif							/* SWARE_FRONTIER_H */
