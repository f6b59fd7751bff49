/*-------------------------------------------------------------------------
 *
 * readahead.h
 *	  Asks the kernel for leaves before they are read.
 *
 * VACUUM and most scans go from leaf to leaf by their links.  Where keys did
 * not come in order, neighbours are far apart in the file, and each leaf that
 * is not in memory would cost the time of one read from the disk.  The pages
 * of level 1 say which leaves follow, so the kernel can begin to read several
 * of them at the same time.  They also say which leaves the entries of a run
 * belong to.
 *
 * No page is pinned ahead: VACUUM takes a cleanup lock on each leaf, which any
 * pin would delay, and a second pin of its own forbid.
 *
 * What is asked for is a hint.  Leaves that come from splits meanwhile are
 * read without one.  A leaf that has been deleted or reused meanwhile was
 * asked for in vain: nobody reads it through the list, so its incarnation need
 * not be known.
 *
 * All functions but sware_readahead_end must be called without content locks.
 * They may report a damaged page of level 1, as descents do.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_READAHEAD_H
#define SWARE_READAHEAD_H

#include "access/itup.h"
#include "executor/instrument.h"
#include "utils/rel.h"

#include "keys/searchkey.h"

typedef struct SwareReadahead SwareReadahead;

extern SwareReadahead *sware_readahead_make(Relation index);
extern void sware_readahead_want(SwareReadahead *ahead, IndexTuple *entries,
								 int count);
extern bool sware_readahead_begin(SwareReadahead *ahead,
								  const SwareSearchKey *place,
								  const SwareSearchKey *end, bool forward);
extern void sware_readahead_set_distance(SwareReadahead *ahead, int distance,
										 int limit);
extern void sware_readahead_visit(SwareReadahead *ahead, BlockNumber leaf,
								  int most);
extern bool sware_readahead_is_useless(const SwareReadahead *ahead);
extern void sware_readahead_end(SwareReadahead *ahead);

/* How many blocks has this session read into buffers? */
static inline int64
sware_blocks_read(void)
{
	return pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read;
}

#endif							/* SWARE_READAHEAD_H */
