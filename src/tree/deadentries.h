/*-------------------------------------------------------------------------
 *
 * deadentries.h
 *	  Removing entries of dead rows from a leaf that has no room.
 *
 * Scans mark entries whose rows are dead to everybody (treescan.h).  A leaf
 * without room first drops those that the table confirms; then, where updates
 * have left versions of one row, the table is asked for old versions among
 * equal keys.  No TID is released by this, only by VACUUM; so pins that keep
 * VACUUM away from a leaf do not matter here, and no cleanup lock is needed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_DEADENTRIES_H
#define SWARE_DEADENTRIES_H

#include "storage/bufmgr.h"
#include "utils/rel.h"

/*
 * Make room for an item of `size` bytes, line pointer included, on an
 * exclusively locked leaf that has not got it: use its gaps, or else remove
 * entries of dead rows.  There may be room for up to `wanted` bytes then, if
 * that is to be had.  `hasVersions` says that the entries to come are versions
 * of rows that the index has already.  False if there is not enough room all
 * the same; the leaf may have changed.
 *
 * `heap` is the table, or NULL to ask no table.  Locks pages of the table, one
 * at a time, while the leaf is locked.
 */
extern bool sware_leaf_make_room(Relation index, Relation heap, Buffer buffer,
								 Size size, Size wanted, bool hasVersions);

#endif							/* SWARE_DEADENTRIES_H */
