/*-------------------------------------------------------------------------
 *
 * check.h
 *	  The parts of sware_check.
 *
 * Other sessions may insert, flush and VACUUM meanwhile.  Every page is copied under
 * a share lock, one at a time, and judged as a copy.  What relates several
 * pages is true of one moment, while the copies come from several: when a
 * relation seems violated, the pages are read again, and it counts only if
 * the first of them was the same before and after (checktree.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_CHECK_H
#define SWARE_CHECK_H

#include "lib/bloomfilter.h"
#include "lib/stringinfo.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "tree/entry.h"
#include "tree/page.h"

typedef struct SwareCheck
{
	Relation	index;
	Relation	heap;
	BufferAccessStrategy strategy;
	MemoryContext pageContext;	/* reset for each page of a level */
	SwareLink	root;			/* as the metapage has it */
	int			rootLevel;
	bool		allEqualImage;
	BlockNumber block;			/* what is looked at, for error messages */

	BlockNumber indexBlocks;	/* blocks known to be in the index */
	BlockNumber heapBlocks;		/* blocks known to be in the table */
	uint32	   *visited;		/* incarnation in which a block was visited */
	BlockNumber visitedSize;	/* length of that array */
	bool		retracing;		/* may pages come along that were visited? */
	int64		retraced;		/* how many did, since the last new one */

	bloom_filter *filter;		/* what the index holds, or NULL */
	StringInfoData fingerprint; /* of the entry that is being added */
} SwareCheck;

/* checktree.c */
extern void sware_check_copy_block(SwareCheck *check, BlockNumber from, BlockNumber block,
								   Page copy);
extern void sware_check_copy_metapage(SwareCheck *check, Page copy);
extern void sware_check_tree(SwareCheck *check);

/* checkbuffer.c */
extern void sware_check_buffer(SwareCheck *check);

/* checkorder.c */
extern void sware_check_leaf_order(SwareCheck *check, Page page);
extern bool sware_pivot_is_below(SwareCheck *check, IndexTuple a, IndexTuple b);
extern const char *sware_siblings_disorder(SwareCheck *check, Page left, Page right);

/* checkheap.c */
extern void sware_check_start_fingerprint(SwareCheck *check);
extern void sware_check_fingerprint(SwareCheck *check, IndexTuple tuple);
extern void sware_check_heap_tids(SwareCheck *check, IndexTuple tuple, OffsetNumber offset);
extern void sware_check_heap(SwareCheck *check, Snapshot snapshot);

#endif							/* SWARE_CHECK_H */
