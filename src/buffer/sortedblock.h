/*-------------------------------------------------------------------------
 *
 * sortedblock.h
 *	  Sorted blocks: entries of several buffer pages, in order, with a Bloom
 *	  filter, in one segment of the pool.  zones.h tells what they are for.
 *
 *	 +-------+--------+--------+---------+---------+--------------------+
 *	 | links | fences | filter | origins | offsets | tuples				|
 *	 +-------+--------+--------+---------+---------+--------------------+
 *
 *	 links:	   of the buffer pages, in the order of sealing
 *	 fences:   abbreviations of entries at regular distances, beginning with
 *			   the first one; so a search touches little memory
 *	 filter:   of the first column, in lines of 64 bytes; all bits of an entry
 *			   are in one line
 *	 origins:  the number of the page that each entry came from
 *			   (retired ones included: those are the first)
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

/* so many entries have one fence, that of the first */
#define SWARE_FENCE_DISTANCE	64

/* A block that is not in shared memory yet. */
typedef struct SwareBlockImage
{
	SwareSortedBlock block;		/* without segment, stamp and sequence numbers */
	Size		length;
	char	   *bytes;			/* what goes into the segment */
} SwareBlockImage;

/* blockbuilder.c */
extern bool sware_block_build(Relation index, const SwareSortedBlock *blocks,
							  int block_count, const SwareLink *links, int link_count,
							  SwareBlockImage *image);
extern bool sware_block_store(SwareBlockImage *image);

/* sortedblock.c */
extern bool sware_block_copy_links(const SwareSortedBlock *block, SwareLink *links);
extern bool sware_block_copy_origins(const SwareSortedBlock *block, uint32 first,
									 uint32 count, uint16 *origins);
extern bool sware_block_retire(SwareSortedBlock *block, uint32 pages);
extern bool sware_page_make_zonemap(Relation index, SwareUnsortedPage *page);

#endif							/* SWARE_SORTEDBLOCK_H */
