/*-------------------------------------------------------------------------
 *
 * readahead.h
 *	  Asks the kernel for leaves before VACUUM reads them.
 *
 * VACUUM goes from leaf to leaf by their links.  Where keys did not come in
 * order, neighbours are far apart in the file, and each leaf that is not in
 * memory would cost the time of one read from the disk.  The pages of level 1
 * say which leaves follow, so the kernel can begin to read several of them at
 * the same time.
 *
 * No page is pinned ahead: VACUUM takes a cleanup lock on each leaf, which a
 * second pin of its own would forbid.  What is asked for is a hint.  Leaves
 * that come from splits meanwhile are read without one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_READAHEAD_H
#define SWARE_READAHEAD_H

#include "utils/rel.h"

typedef struct SwareReadahead SwareReadahead;

extern SwareReadahead *sware_readahead_begin(Relation index);
extern void sware_readahead_visit(SwareReadahead *ahead, BlockNumber leaf);
extern void sware_readahead_end(SwareReadahead *ahead);

#endif							/* SWARE_READAHEAD_H */
