/*-------------------------------------------------------------------------
 *
 * check.h
 *	  The parts of sware_check.
 *
 * Other sessions may insert, flush and VACUUM meanwhile.  Every page is copied
 * under a share lock, one at a time, and the copies are checked.  Copies of
 * several pages are of different moments, so a rule that relates them may seem
 * broken when it is not.  Then the pages are read again, and the finding
 * counts only if the first of them was the same before and after
 * (checktree.c).
 *
 * A fault is reported as an error, ERRCODE_INDEX_CORRUPTED as a rule.  The
 * functions hold no locks when they are called and when they return, except the
 * locks on index and table, and allocate in the current memory context.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_CHECK_H
#define SWARE_CHECK_H

#include "access/itup.h"
#include "lib/bloomfilter.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "layout/page.h"

typedef struct SwareCheck
{
	Relation	index;
	Relation	heap;
	BufferAccessStrategy strategy;
	MemoryContext pageContext;	/* reset for each page of a level, and each
								 * tuple of the table */
	SwareLink	root;			/* as the metapage has it */
	int			rootLevel;
	bool		allEqualImage;
	BlockNumber block;			/* the page being checked, for messages */

	BlockNumber indexBlocks;	/* the index has at least this many blocks */
	BlockNumber heapBlocks;		/* the table has at least this many blocks */
	uint32	   *visited;		/* for each block, the incarnation in which it
								 * was visited; 0: not yet */
	BlockNumber visitedSize;	/* length of that array */
	bool		retracing;		/* may the next page have been visited? */
	int64		retraced;		/* visited pages since the last new one */

	bloom_filter *filter;		/* of the entries of the index that scans see;
								 * NULL if the table is not checked */
	bool		marksMatter;	/* do scans with the snapshot of the check
								 * leave out marked entries? */
} SwareCheck;

/*
 * checktree.c: copy a block that something on the page `from` refers to; copy
 * the metapage, and check it; check the whole tree
 */
extern void sware_check_copy_block(SwareCheck *check, BlockNumber from,
								   BlockNumber block, Page copy);
extern void sware_check_copy_metapage(SwareCheck *check, Page copy);
extern void sware_check_tree(SwareCheck *check);

/* checkbuffer.c: check the whole buffer */
extern void sware_check_buffer(SwareCheck *check);

/* check.c: whether the entries of index and table are the same */
extern void sware_check_fingerprint(SwareCheck *check, IndexTuple tuple,
									bool is_marked);
extern void sware_check_heap_tids(SwareCheck *check, IndexTuple tuple,
								  OffsetNumber offset);

#endif							/* SWARE_CHECK_H */
