/*-------------------------------------------------------------------------
 *
 * pagesahead.c
 *	  Asks the kernel for pages of an index before they are read.  See
 *	  pagesahead.h.
 *
 * The functions lock nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/spccache.h"

#include "base/compat.h"
#include "base/faultpoint.h"
#include "pages/pagesahead.h"

/* A page had to be read: find out how many may be asked for from now on. */
void
sware_pages_ahead_begin(SwarePagesAhead *ahead)
{
	ahead->distance = 0;
	if (sware_kernel_can_be_asked())
		ahead->distance =
			get_tablespace_io_concurrency(ahead->index->rd_rel->reltablespace);
	ahead->fileBlocks = RelationGetNumberOfBlocks(ahead->index);
}

/* Ask for a page, if the file has it. */
void
sware_ask_for_page(const SwarePagesAhead *ahead, SwareLink link)
{
	if (link.block >= ahead->fileBlocks)
		return;
	SWARE_FAULT_POINT("pages-ahead-asks");
	PrefetchBuffer(ahead->index, MAIN_FORKNUM, link.block);
}

/*
 * The caller has a list of pages that it reads in this order, and is about to
 * read the one with the number `next`: ask for some behind it.
 *
 * The page that follows the one before it in the file is not asked for: the
 * kernel reads ahead by itself where a file is read in order.
 */
void
sware_ask_for_pages(SwarePagesAhead *ahead, const SwareLink *links, int count,
					int next)
{
	int			end = Min(count, next + 1 + sware_pages_ahead(ahead));

	for (ahead->asked = Max(ahead->asked, next + 1); ahead->asked < end;
		 ahead->asked++)
	{
		SwareLink	link = links[ahead->asked];

		if (link.block != links[ahead->asked - 1].block + 1)
			sware_ask_for_page(ahead, link);
	}
}
