/*-------------------------------------------------------------------------
 *
 * neighbors.h
 *	  Locks a page with all pages that link to it, takes it out of the tree, or
 *	  puts another page in its place.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_NEIGHBORS_H
#define SWARE_NEIGHBORS_H

#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "layout/page.h"

/* A page and its neighbors, all pinned and exclusively locked. */
typedef struct SwareNeighbors
{
	Buffer		left;			/* InvalidBuffer if the page is leftmost */
	Buffer		page;
	Buffer		right;
	Buffer		parent;			/* without an incomplete split */
	OffsetNumber offset;		/* of the page's downlink in the parent */
} SwareNeighbors;

/*
 * Pin and exclusively lock the page that a link means, on a level, and all
 * pages that link to it.  Returns false, with nothing pinned, if the page is
 * not that one any more, is the rightmost of its level, has an incomplete
 * split, or, with `if_empty`, has items.
 *
 * Only a backend that VACUUMs the index may call this: no other one takes pages
 * out of the tree meanwhile.  The caller holds no content locks.
 */
extern bool sware_lock_neighbors(Relation index, SwareLink link, int level,
								 bool if_empty, SwareNeighbors *neighbors);
extern void sware_release_neighbors(SwareNeighbors *neighbors);

extern int	sware_delete_page(Relation index, SwareLink target, int level);

/*
 * Move a leaf to the block `to`, which must be free, or to any free block if
 * that is InvalidBlockNumber.  Sets *leaf to the link that leads there.  The
 * block is taken out of the free space map.  The page that the leaf has left is
 * deleted, but not put into the map.
 *
 * Returns false, and changes nothing, if that is not possible now: the leaf is
 * not there any more, is rightmost, has an incomplete split, or is pinned by
 * another backend; or the block is in use.  Never waits for a pin.
 *
 * Only a backend that VACUUMs the index may call this.  The caller holds no
 * content locks, and no pin on the leaf.
 */
extern bool sware_move_leaf(Relation index, SwareLink *leaf, BlockNumber to);

#endif							/* SWARE_NEIGHBORS_H */
