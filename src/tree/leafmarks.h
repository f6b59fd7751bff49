/*-------------------------------------------------------------------------
 *
 * leafmarks.h
 *	  Marking entries of a leaf whose rows are dead to everybody.
 *
 * A tree cursor notes the dead entries that it has returned, and marks them
 * when it leaves their leaf.  The leaf was copied, and may have changed since,
 * so it has to be found out whether it is still the same.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_LEAFMARKS_H
#define SWARE_LEAFMARKS_H

#include "tree/treescan.h"

/*
 * Share-lock the position's leaf, which is logged and not pinned, if nothing
 * has changed on it since it was read but marks of dead entries.  Otherwise
 * returns InvalidBuffer.
 *
 * Every change raises the page's LSN, on a standby, too, where redo makes it.
 * So does whatever deletes the page and uses it again; it also raises the
 * incarnation, so the link would not lead there.  Marks are hints: they may
 * leave the LSN as it is, or (with checksums) raise it, which only costs the
 * caller something.
 */
extern Buffer sware_lock_unchanged_leaf(SwareTreeCursor *cursor);

/*
 * Mark the items that have been noted as dead.  Must be called before the
 * position changes or loses its pin.
 */
extern void sware_mark_dead_items(SwareTreeCursor *cursor);

#endif							/* SWARE_LEAFMARKS_H */
