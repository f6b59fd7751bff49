/*-------------------------------------------------------------------------
 *
 * moveleaf.h
 *	  Moves a leaf to another block of the file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_MOVELEAF_H
#define SWARE_MOVELEAF_H

#include "utils/rel.h"

#include "layout/page.h"

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

#endif							/* SWARE_MOVELEAF_H */
