/*-------------------------------------------------------------------------
 *
 * unlink.c
 *	  Deletes pages that have become empty.
 *
 * A page is unlinked from its siblings and its parent in one record.  Its
 * key range goes to its right sibling.  That is possible in two cases:
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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/indexfsm.h"

#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "tree/neighbors.h"
#include "tree/pagewrite.h"
#include "wal/wal.h"

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
		sware_remove_item(parent, offset + 1);
		return true;
	}
	if (offset == SWARE_FIRST_DATA && !sware_page_is_rightmost(parent))
	{
		sware_remove_item(parent, offset);
		return true;
	}
	return false;
}

/*
 * Unlink a page, and return whether that was possible.  It and its neighbors
 * are locked.
 */
static bool
unlink_page(Relation index, SwareNeighbors *neighbors)
{
	SwareLink	left_link =
		SwarePageGetOpaque(BufferGetPage(neighbors->page))->left;
	SwareLink	right_link = sware_page_link(neighbors->right);
	SwareWal   *wal = sware_wal_begin(index);

	if (BufferIsValid(neighbors->left))
		SwarePageGetOpaque(sware_wal_change(wal, neighbors->left))->right =
			right_link;
	sware_mark_deleted(sware_wal_change(wal, neighbors->page));
	SwarePageGetOpaque(sware_wal_change(wal, neighbors->right))->left =
		left_link;
	if (!remove_downlink(index, sware_wal_change(wal, neighbors->parent),
						 neighbors->offset, right_link))
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
 *
 * The caller holds no content locks.
 */
int
sware_delete_page(Relation index, SwareLink target, int level)
{
	SwareNeighbors neighbors;
	SwareLink	parent;
	SwareLink	right;
	bool		is_deleted;
	bool		parent_is_empty;
	bool		right_is_empty;
	int			deleted = 1;

	if (!sware_lock_neighbors(index, target, level, true, &neighbors))
		return 0;

	parent = sware_page_link(neighbors.parent);
	is_deleted = unlink_page(index, &neighbors);
	parent_is_empty =
		sware_page_data_count(BufferGetPage(neighbors.parent)) == 0;
	right = sware_page_link(neighbors.right);
	right_is_empty =
		sware_page_data_count(BufferGetPage(neighbors.right)) == 0;
	sware_release_neighbors(&neighbors);

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
