/*-------------------------------------------------------------------------
 *
 * deadentries.h
 *	  Removes entries of dead rows from a leaf that has no room.
 *
 * Scans mark entries whose rows are dead to everybody (treescan.h).  A leaf
 * without room first loses those of them that the table confirms.  Then, if
 * updates have left several versions of a row, the table is asked for old
 * versions among equal keys.  This does not release TIDs for reuse: only
 * VACUUM does that.  So pins that keep VACUUM away from a leaf do not matter
 * here, and no cleanup lock is needed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_DEADENTRIES_H
#define SWARE_DEADENTRIES_H

#include "storage/bufmgr.h"
#include "utils/rel.h"

/*
 * Make room for an item of `size` bytes, line pointer included, on an
 * exclusively locked leaf that has too little free space: remove entries of
 * dead rows.  `hasVersions` says that the entries to come are versions of rows
 * that the index has already.  Returns whether there is room for the item; the
 * leaf may have changed even if there is none.
 *
 * `heap` is the table; if it is NULL, no table is asked.  Locks pages of the
 * table, one at a time, while the leaf is locked.
 */
extern bool sware_leaf_make_room(Relation index, Relation heap, Buffer buffer,
								 Size size, bool hasVersions);

#endif							/* SWARE_DEADENTRIES_H */
