/*-------------------------------------------------------------------------
 *
 * compact.h
 *	  Gaps between the items of a page, and how they become free space.
 *
 * Removing an item from a page, or a part of one, leaves a gap: nothing else
 * moves, so the record of the removal is small.  A gap becomes free space when
 * it is needed, by moving the items at the edge of the hole into gaps, which
 * changes no more bytes than are won.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_COMPACT_H
#define SWARE_COMPACT_H

#include "storage/bufpage.h"

/* How many bytes are in gaps?  The page is locked, or a copy. */
extern Size sware_gap_space(Page page);

/*
 * Let gaps become free space until an item of `size` bytes fits, line pointer
 * included.  False if it does not fit all the same; items may have moved then.
 * The page is a private copy.
 */
extern bool sware_compact_page(Page page, Size size);

#endif							/* SWARE_COMPACT_H */
