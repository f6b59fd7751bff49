/*-------------------------------------------------------------------------
 *
 * pagesahead.h
 *	  Asks the kernel for pages of an index before they are read.
 *
 * This is for readers that have the links to the pages that they will read, in
 * their order.  Nothing is asked for before one of the pages was not in shared
 * buffers.  From then on, a reader asks for the pages that follow, up to
 * effective_io_concurrency of the index's tablespace ahead.  The tree's leaves,
 * whose links are not at hand, have a way of their own (tree/readahead.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PAGESAHEAD_H
#define SWARE_PAGESAHEAD_H

#include "executor/instrument.h"
#include "utils/rel.h"

#include "layout/page.h"

typedef struct SwarePagesAhead
{
	Relation	index;
	int			distance;		/* so many pages are asked for ahead; -1: not
								 * known, since all were in shared buffers */
	BlockNumber fileBlocks;		/* of the index, if `distance` is known: links
								 * of a damaged page may lead behind its end */
	int			asked;			/* pages before this one have been asked for,
								 * or need not be */
	int64		blocksRead;		/* how many blocks this session had read */
} SwarePagesAhead;

/* How many blocks has this session read? */
static inline int64
sware_blocks_read(void)
{
	return pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read;
}

/* Prepare for a list of pages, of which none has been read. */
static inline void
sware_pages_ahead_init(SwarePagesAhead *ahead, Relation index)
{
	ahead->index = index;
	ahead->distance = -1;
	ahead->asked = 0;
	ahead->blocksRead = sware_blocks_read();
}

extern void sware_pages_ahead_begin(SwarePagesAhead *ahead);

/* How many pages may be asked for ahead?  None if none had to be read. */
static inline int
sware_pages_ahead(SwarePagesAhead *ahead)
{
	if (likely(ahead->distance < 0))
	{
		if (ahead->blocksRead == sware_blocks_read())
			return 0;
		sware_pages_ahead_begin(ahead);
	}
	return ahead->distance;
}

extern void sware_ask_for_page(const SwarePagesAhead *ahead, SwareLink link);
extern void sware_ask_for_pages(SwarePagesAhead *ahead, const SwareLink *links,
								int count, int next);

#endif							/* SWARE_PAGESAHEAD_H */
