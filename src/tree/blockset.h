/*-------------------------------------------------------------------------
 *
 * blockset.h
 *	  A set of blocks of a file, one bit each; and how to sort blocks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BLOCKSET_H
#define SWARE_BLOCKSET_H

#include "storage/block.h"
#include "utils/memutils.h"

typedef struct SwareBlockSet
{
	BlockNumber blocks;			/* all blocks are below this number */
	uint8	   *bits;
} SwareBlockSet;

/* Make an empty set, in the current memory context. */
static inline SwareBlockSet *
sware_block_set_make(BlockNumber blocks)
{
	SwareBlockSet *set = palloc(sizeof(SwareBlockSet));

	set->blocks = blocks;
	set->bits = MemoryContextAllocExtended(CurrentMemoryContext, blocks / 8 + 1,
										   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	return set;
}

/* Add a block, unless it is beyond those that the set was made for. */
static inline void
sware_block_set_add(SwareBlockSet *set, BlockNumber block)
{
	if (block < set->blocks)
		set->bits[block / 8] |= 1 << (block % 8);
}

static inline bool
sware_block_set_has(const SwareBlockSet *set, BlockNumber block)
{
	return block < set->blocks &&
		(set->bits[block / 8] & (1 << (block % 8))) != 0;
}

static inline void
sware_block_set_free(SwareBlockSet *set)
{
	pfree(set->bits);
	pfree(set);
}

/* qsort comparator of block numbers */
static inline int
sware_compare_blocks(const void *a, const void *b)
{
	BlockNumber one = *(const BlockNumber *) a;
	BlockNumber other = *(const BlockNumber *) b;

	return (one > other) - (one < other);
}

#endif							/* SWARE_BLOCKSET_H */
