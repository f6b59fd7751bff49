/*-------------------------------------------------------------------------
 *
 * neighbors.c
 *	  Locks a page with all pages that link to it.  See neighbors.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "layout/page.h"
#include "pages/pageaccess.h"
#include "tree/descent.h"
#include "tree/neighbors.h"
#include "tree/split.h"

/* Can a locked page be taken out of the tree? */
static bool
is_removable(Page page, bool if_empty)
{
	return !sware_page_is_rightmost(page) &&
		(SwarePageGetOpaque(page)->flags & SWARE_INCOMPLETE_SPLIT) == 0 &&
		!(if_empty && sware_page_data_count(page) > 0);
}

static void
release_if_valid(Buffer buffer)
{
	if (BufferIsValid(buffer))
		sware_release_buffer(buffer);
}

/*
 * Lock the left sibling of a page exclusively, and return it.  If the page
 * that the page's left link leads to has been split, the left sibling is
 * further right.  Incomplete splits on the way are completed.
 *
 * Returns InvalidBuffer, with nothing pinned, if it is not found.
 */
static Buffer
lock_left_sibling(Relation index, SwareLink left, SwareLink link, int level)
{
	int64		steps = 0;

	while (sware_link_is_valid(left) && left.block != link.block)
	{
		Buffer		buffer;
		SwarePageOpaque opaque;

		CHECK_FOR_INTERRUPTS();
		sware_count_step(index, left.block, &steps);
		buffer = sware_read_linked(index, left, level, BUFFER_LOCK_EXCLUSIVE);
		if (!BufferIsValid(buffer))
			return InvalidBuffer;
		opaque = SwarePageGetOpaque(BufferGetPage(buffer));
		if ((opaque->flags & SWARE_INCOMPLETE_SPLIT) != 0)
		{
			sware_insert_downlink(index, buffer, NULL);
			continue;
		}
		if (sware_links_equal(opaque->right, link))
			return buffer;
		left = opaque->right;
		sware_release_buffer(buffer);
	}
	return InvalidBuffer;
}

/*
 * Raise an error unless the right link of a page leads to another page than it
 * and its left sibling, both of which are locked: the backend would wait for
 * itself.
 */
static void
check_right_link(Relation index, const SwareNeighbors *neighbors,
				 BlockNumber right)
{
	BlockNumber block = BufferGetBlockNumber(neighbors->page);

	if (right == block ||
		(BufferIsValid(neighbors->left) &&
		 right == BufferGetBlockNumber(neighbors->left)))
		sware_report_corruption(index, block,
								"The right link leads to block %u.", right);
}

/*
 * Lock the page and its siblings, from left to right.  Returns false, with
 * nothing pinned, if it cannot be taken out of the tree now.
 */
static bool
lock_siblings(Relation index, SwareLink link, int level, bool if_empty,
			  SwareNeighbors *neighbors)
{
	Buffer		buffer =
		sware_read_linked(index, link, level, BUFFER_LOCK_SHARE);
	SwareLink	left;
	bool		is_possible;
	Page		page;
	SwarePageOpaque opaque;

	if (!BufferIsValid(buffer))
		return false;
	page = BufferGetPage(buffer);
	left = SwarePageGetOpaque(page)->left;
	is_possible = is_removable(page, if_empty);
	sware_release_buffer(buffer);
	if (!is_possible)
		return false;

	neighbors->left = InvalidBuffer;
	if (sware_link_is_valid(left))
	{
		neighbors->left = lock_left_sibling(index, left, link, level);
		if (!BufferIsValid(neighbors->left))
			return false;
	}

	neighbors->page =
		sware_read_linked(index, link, level, BUFFER_LOCK_EXCLUSIVE);
	if (!BufferIsValid(neighbors->page))
	{
		release_if_valid(neighbors->left);
		return false;
	}
	page = BufferGetPage(neighbors->page);
	opaque = SwarePageGetOpaque(page);
	if (!is_removable(page, if_empty) ||
		sware_link_is_valid(opaque->left) != BufferIsValid(neighbors->left))
	{
		sware_release_buffer(neighbors->page);
		release_if_valid(neighbors->left);
		return false;
	}

	check_right_link(index, neighbors, opaque->right.block);
	neighbors->right = sware_lock_right_sibling(index, neighbors->page);
	return true;
}

bool
sware_lock_neighbors(Relation index, SwareLink link, int level, bool if_empty,
					 SwareNeighbors *neighbors)
{
	if (!lock_siblings(index, link, level, if_empty, neighbors))
		return false;
	neighbors->parent =
		sware_find_parent(index, neighbors->page, NULL, &neighbors->offset);
	return true;
}

void
sware_release_neighbors(SwareNeighbors *neighbors)
{
	sware_release_buffer(neighbors->parent);
	sware_release_buffer(neighbors->right);
	sware_release_buffer(neighbors->page);
	release_if_valid(neighbors->left);
}
