/*-------------------------------------------------------------------------
 *
 * unlink.c
 *	  Takes pages out of the tree: deletes those that have become empty, and
 *	  moves leaves to other blocks of the file.
 *
 * An empty page is unlinked from its siblings and its parent in one record.
 * Its key range goes to its right sibling.  That is possible in two cases:
 *
 *   (a) the right sibling's downlink follows in the same parent: the
 *       target's downlink is made to lead to the right sibling, and the right
 *       sibling's old downlink is removed;
 *   (b) the target is its parent's only child, and the parent is not the
 *       rightmost page of its level: the parent becomes empty, which means
 *       "move right", and is then deleted in the same way.
 *
 * The rightmost page of a level is neither deleted nor emptied.  Only VACUUM
 * deletes pages, and a table has only one VACUUM at a time.
 *
 * A leaf is moved as docs/architecture.md says.  The pages that link to it are
 * locked from before it is copied until their links are changed, and it moves
 * only under a cleanup lock: VACUUM would not wait for the pin of an index-only
 * scan on the page that it has left.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/indexfsm.h"

#include "base/faultpoint.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "tree/tree.h"
#include "tree/treepages.h"
#include "wal/wal.h"

/*
 * A page and its neighbors, pinned and exclusively locked, as far as they are
 * valid.
 */
typedef struct Neighbors
{
	Buffer		left;			/* InvalidBuffer if the page is leftmost */
	Buffer		page;
	Buffer		right;
	Buffer		parent;			/* without an incomplete split */
	OffsetNumber offset;		/* of the page's downlink in the parent */
} Neighbors;

/* Can a locked page be taken out of the tree? */
static bool
is_removable(Page page, bool if_empty)
{
	return !sware_page_is_rightmost(page) &&
		(SwarePageGetOpaque(page)->flags & SWARE_INCOMPLETE_SPLIT) == 0 &&
		!(if_empty && sware_page_data_count(page) > 0);
}

static void
release_neighbors(const Neighbors *neighbors)
{
	Buffer		buffers[] = {neighbors->parent, neighbors->right,
	neighbors->page, neighbors->left};

	for (int i = 0; i < (int) lengthof(buffers); i++)
	{
		if (BufferIsValid(buffers[i]))
			sware_release_buffer(buffers[i]);
	}
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
check_right_link(Relation index, const Neighbors *neighbors,
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
 * Pin and exclusively lock the page that a link means, on a level, and all
 * pages that link to it, siblings from left to right.  Returns false, with
 * nothing pinned, if the page is not that one any more, is the rightmost of its
 * level, has an incomplete split, or, with `if_empty`, has items.
 * No other backend takes pages out of the tree meanwhile.
 */
static bool
lock_neighbors(Relation index, SwareLink link, int level, bool if_empty,
			   Neighbors *neighbors)
{
	Buffer		buffer =
		sware_read_linked(index, link, level, BUFFER_LOCK_SHARE);
	SwareLink	left;
	bool		is_possible;
	SwarePageOpaque opaque;

	memset(neighbors, 0, sizeof(Neighbors));
	if (!BufferIsValid(buffer))
		return false;
	left = SwarePageGetOpaque(BufferGetPage(buffer))->left;
	is_possible = is_removable(BufferGetPage(buffer), if_empty);
	sware_release_buffer(buffer);

	if (is_possible && sware_link_is_valid(left))
	{
		neighbors->left = lock_left_sibling(index, left, link, level);
		is_possible = BufferIsValid(neighbors->left);
	}
	if (is_possible)
		neighbors->page =
			sware_read_linked(index, link, level, BUFFER_LOCK_EXCLUSIVE);
	if (!BufferIsValid(neighbors->page))
	{
		release_neighbors(neighbors);
		return false;
	}
	opaque = SwarePageGetOpaque(BufferGetPage(neighbors->page));
	if (!is_removable(BufferGetPage(neighbors->page), if_empty) ||
		sware_link_is_valid(opaque->left) != BufferIsValid(neighbors->left))
	{
		release_neighbors(neighbors);
		return false;
	}

	check_right_link(index, neighbors, opaque->right.block);
	neighbors->right = sware_lock_right_sibling(index, neighbors->page);
	neighbors->parent =
		sware_find_parent(index, neighbors->page, NULL, &neighbors->offset);
	return true;
}

/*
 * Remove the target's downlink from a copy of its parent.  Returns false, and
 * leaves the copy unchanged, in neither of the cases (a) and (b).
 */
static bool
remove_downlink(Relation index, Page parent, OffsetNumber offset,
				SwareLink right)
{
	OffsetNumber last = PageGetMaxOffsetNumber(parent);

	if (offset < last)
	{
		IndexTuple	next = sware_page_tuple(parent, offset + 1);

		if (!sware_links_equal(sware_pivot_link(next), right))
			sware_report_corruption(index, right.block,
									"The downlink behind that of its left sibling leads to block %u.",
									sware_pivot_link(next).block);
		sware_pivot_set_link(sware_page_tuple(parent, offset), right);
		offset++;
	}
	else if (offset != SWARE_FIRST_DATA || sware_page_is_rightmost(parent))
		return false;
	sware_delete_items(parent, &offset, 1);
	return true;
}

/*
 * Delete a locked page, and let all links to it lead to *copy instead; if that
 * is NULL, to its siblings.  Returns false, and changes nothing, if the parent
 * does not allow it.
 */
static bool
take_out(Relation index, const Neighbors *neighbors, const SwareLink *copy)
{
	SwareLink	left = SwarePageGetOpaque(BufferGetPage(neighbors->page))->left;
	SwareLink	right = sware_page_link(neighbors->right);
	OffsetNumber offset = neighbors->offset;
	SwareWal   *wal = sware_wal_begin(index);
	Page		parent;

	if (BufferIsValid(neighbors->left))
		SwarePageGetOpaque(sware_wal_change(wal, neighbors->left))->right =
			copy ? *copy : right;
	sware_mark_deleted(sware_wal_change(wal, neighbors->page));
	SwarePageGetOpaque(sware_wal_change(wal, neighbors->right))->left =
		copy ? *copy : left;
	parent = sware_wal_change(wal, neighbors->parent);
	if (copy)
		sware_pivot_set_link(sware_page_tuple(parent, offset), *copy);
	else if (!remove_downlink(index, parent, offset, right))
	{
		sware_wal_abort(wal);
		return false;
	}
	sware_wal_finish(wal);
	return true;
}

/*
 * Delete a page if it is empty and its place in the tree allows it; then also
 * its parent, if that becomes empty.  Returns the number of pages deleted.
 * They can be reused at once, since links carry incarnations.
 */
int
sware_delete_page(Relation index, SwareLink target, int level)
{
	Neighbors	neighbors;
	SwareLink	parent;
	SwareLink	right;
	bool		is_deleted;
	bool		parent_is_empty;
	bool		right_is_empty;
	int			deleted = 1;

	if (!lock_neighbors(index, target, level, true, &neighbors))
		return 0;

	parent = sware_page_link(neighbors.parent);
	is_deleted = take_out(index, &neighbors, NULL);
	parent_is_empty =
		sware_page_data_count(BufferGetPage(neighbors.parent)) == 0;
	right = sware_page_link(neighbors.right);
	right_is_empty =
		sware_page_data_count(BufferGetPage(neighbors.right)) == 0;
	release_neighbors(&neighbors);

	if (!is_deleted)
		return 0;
	RecordFreeIndexPage(index, target.block);
	if (parent_is_empty)
		deleted += sware_delete_page(index, parent, level + 1);

	/*
	 * If the right sibling is an empty internal page, it could not be deleted
	 * while it was the last of several children.  Now it may be an only
	 * child, so try again.  Leaves need no such attempt, since each VACUUM
	 * visits them all.
	 */
	if (right_is_empty && level > 0)
		deleted += sware_delete_page(index, right, level);
	return deleted;
}

/*
 * Move a leaf to the block `to`, which must be free, or to any free block if
 * that is InvalidBlockNumber.  Sets *leaf to the link that leads there.  The
 * block is taken out of the free space map.  The page that the leaf has left is
 * deleted, but not put into the map.
 *
 * Returns false, and changes nothing, if that is not possible now: the leaf is
 * not there any more, is rightmost, has an incomplete split, or is pinned by
 * another backend; or the block is in use.  Never waits for a pin.
 */
bool
sware_move_leaf(Relation index, SwareLink *leaf, BlockNumber to)
{
	Neighbors	neighbors;
	Buffer		target = InvalidBuffer;
	SwareLink	copy;
	PGAlignedBlock image;

	if (!lock_neighbors(index, *leaf, 0, false, &neighbors))
		return false;
	if (IsBufferCleanupOK(neighbors.page))
		target = to == InvalidBlockNumber ?
			sware_allocate_buffer(index, &copy) :
			sware_allocate_block(index, to, &copy);
	if (BufferIsValid(target))
	{
		/* VACUUM may not read the pages that the free space map lists */
		RecordUsedIndexPage(index, copy.block);
		memcpy(image.data, BufferGetPage(neighbors.page), BLCKSZ);
		SwarePageGetOpaque((Page) image.data)->incarnation = copy.incarnation;
		sware_wal_fill_page(index, target, image.data);
		SWARE_FAULT_POINT("leaf-copied");
		(void) take_out(index, &neighbors, &copy);
		sware_release_buffer(target);
		*leaf = copy;
	}
	release_neighbors(&neighbors);
	return BufferIsValid(target);
}
