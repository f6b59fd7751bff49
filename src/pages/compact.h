/*-------------------------------------------------------------------------
 *
 * compact.h
 *	  Gaps between the items of a page, and how they become free space.
 *
 * When an item, or a part of one, is removed from a page, it leaves a gap:
 * nothing else moves, so the record of the removal is small.  A gap becomes
 * free space when that is needed: items at the edge of the hole are moved into
 * gaps, which changes no more bytes than it frees.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_COMPACT_H
#define SWARE_COMPACT_H

#include "storage/bufpage.h"

/*
 * How many bytes are in gaps?  The caller has locked the page, or owns a
 * copy.
 */
extern Size sware_gap_space(Page page);

/*
 * Turn gaps into free space until an item of `wanted` bytes fits, line pointer
 * included; or as large a one as possible, if that is not below `size`.
 * Returns false if it is; items may have moved then.  The page is a private
 * copy.
 */
extern bool sware_compact_page(Page page, Size size, Size wanted);

/*
 * Turn all gaps into free space: put all items against the special space, in
 * the order in which they lie.  Changes nothing on a damaged page whose items
 * overlap.  The page is a private copy.
 */
extern void sware_close_gaps(Page page);

#endif							/* SWARE_COMPACT_H */
