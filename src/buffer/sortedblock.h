/*-------------------------------------------------------------------------
 *
 * sortedblock.h
 *	  Sorted blocks: entries of several buffer pages, in order, with a Bloom
 *	  filter, in one segment of the pool.  zones.h tells what they are for.
 *
 *	 +-------+--------+---------+---------+------------------------------+
 *	 | links | filter | origins | offsets | tuples						 |
 *	 +-------+--------+---------+---------+------------------------------+
 *
 *	 links:	   of the buffer pages, in the order of sealing
 *	 filter:   of the first column, in lines of 64 bytes; all bits of an entry
 *			   are in one line
 *	 origins:  the number of the page that each entry came from
 *	 offsets:  where each tuple begins, and where the last one ends; only if
 *			   they are not all of the same size
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SORTEDBLOCK_H
#define SWARE_SORTEDBLOCK_H

#include "buffer/zones.h"

/* a block can have as many pages; their entries fit into a segment */
#define SWARE_MAX_BLOCK_PAGES	1024

/* A block that is not in shared memory yet. */
typedef struct SwareBlockImage
{
	SwareSortedBlock block;		/* without segment and stamp */
	Size		length;
	char	   *bytes;			/* what goes into the segment */
} SwareBlockImage;

extern bool sware_block_build(Relation index, const SwareLink *links, int count,
							  SwareBlockImage *image);
extern bool sware_block_store(SwareBlockImage *image);
extern bool sware_block_copy_links(const SwareSortedBlock *block, SwareLink *links);
extern bool sware_page_make_zonemap(Relation index, SwareUnsortedPage *page);

#endif							/* SWARE_SORTEDBLOCK_H */
