/*-------------------------------------------------------------------------
 *
 * readahead.c
 *	  Asks the kernel for leaves before VACUUM reads them.
 *
 * The leaves that follow are copied from one page of level 1 after the other,
 * each of which is locked for that moment only.  VACUUM visits them in this
 * order, since only VACUUM deletes pages.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/spccache.h"

#include "base/faultpoint.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/cache.h"
#include "pages/pageaccess.h"
#include "tree/descent.h"
#include "tree/readahead.h"

/*
 * A leaf that follows another one this closely is not asked for: the kernel
 * reads ahead by itself where a file is read in order, and does so in larger
 * pieces.
 */
#define NEAR_AHEAD		16

struct SwareReadahead
{
	Relation	index;
	int			distance;		/* how many leaves are asked for ahead */
	SwareLink	parent;			/* the next page of level 1; invalid at the
								 * end */
	int			listed;			/* how many leaves are in the list */
	int			visited;		/* those before this one have been visited */
	int			asked;			/* those before this one have been asked for */
	BlockNumber last;			/* the leaf before the next one to ask for */
	BlockNumber leaves[MAX_IO_CONCURRENCY + SWARE_MAX_ITEMS_PER_PAGE];
};

/*
 * Begin to read the leaves of an index from the leftmost one on.  Returns NULL
 * if there is nothing to ask for, or if maintenance_io_concurrency forbids it.
 * The caller holds no content locks.
 */
SwareReadahead *
sware_readahead_begin(Relation index)
{
	int			distance =
		get_tablespace_maintenance_io_concurrency(index->rd_rel->reltablespace);
	SwareReadahead *ahead;
	Buffer		buffer;
	int			height;

	if (distance <= 0)
		return NULL;
	sware_cache_refresh_root(index);
	sware_get_root(index, &height);
	if (height == 0)
		return NULL;

	ahead = palloc(sizeof(SwareReadahead));
	ahead->index = index;
	ahead->distance = distance;
	ahead->listed = ahead->visited = ahead->asked = 0;
	ahead->last = InvalidBlockNumber;
	buffer = sware_descend_to_edge(index, 1, false);
	ahead->parent = sware_page_link(buffer);
	sware_release_buffer(buffer);
	return ahead;
}

/*
 * Add the leaves of the next page of level 1 to the list.  If that page has
 * been deleted or reused, the list ends here.  The caller holds no content
 * locks.
 */
static void
list_more_leaves(SwareReadahead *ahead)
{
	Buffer		buffer;
	Page		page;

	SWARE_FAULT_POINT("vacuum-lists-leaves");
	buffer = sware_read_linked(ahead->index, ahead->parent, 1,
							   BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buffer))
	{
		ahead->parent.block = InvalidBlockNumber;
		return;
	}
	ahead->listed -= ahead->visited;
	ahead->asked -= ahead->visited;
	memmove(ahead->leaves, ahead->leaves + ahead->visited,
			ahead->listed * sizeof(BlockNumber));
	ahead->visited = 0;

	page = BufferGetPage(buffer);
	for (OffsetNumber offset = SWARE_FIRST_DATA;
		 offset <= PageGetMaxOffsetNumber(page); offset++)
		ahead->leaves[ahead->listed++] =
			sware_pivot_link(sware_page_tuple(page, offset)).block;
	ahead->parent = SwarePageGetOpaque(page)->right;
	sware_release_buffer(buffer);
}

/*
 * The caller is about to read a leaf: ask for some that follow.  The caller
 * holds no content locks.
 */
void
sware_readahead_visit(SwareReadahead *ahead, BlockNumber leaf)
{
	if (ahead == NULL)
		return;

	/* this leaf may be the first one of a page, so it has to be listed, too */
	while (ahead->listed - ahead->visited <= ahead->distance &&
		   sware_link_is_valid(ahead->parent))
		list_more_leaves(ahead);
	if (ahead->visited < ahead->listed && ahead->leaves[ahead->visited] == leaf)
		ahead->visited++;
	ahead->asked = Max(ahead->asked, ahead->visited);

	while (ahead->asked < ahead->listed &&
		   ahead->asked - ahead->visited < ahead->distance)
	{
		BlockNumber block = ahead->leaves[ahead->asked++];

		if (block <= ahead->last || block - ahead->last > NEAR_AHEAD)
			PrefetchBuffer(ahead->index, MAIN_FORKNUM, block);
		ahead->last = block;
	}
}

/* Free what sware_readahead_begin has returned. */
void
sware_readahead_end(SwareReadahead *ahead)
{
	if (ahead != NULL)
		pfree(ahead);
}
