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

#include "miscadmin.h"
#include "storage/indexfsm.h"

#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "tree/descent.h"
#include "tree/pagewrite.h"
#include "tree/split.h"
#include "tree/unlink.h"
#include "wal/wal.h"

/* The pages that a deletion changes, all exclusively locked. */
typedef struct Deletion
{
	Buffer		left;			/* InvalidBuffer if the target is leftmost */
	Buffer		target;
	Buffer		right;
	Buffer		parent;
	OffsetNumber offset;		/* of the target's downlink in the parent */
} Deletion;

/* May a locked page be deleted?  Its parent must allow it as well. */
static bool
is_deletable(Page page)
{
	return sware_page_data_count(page) == 0 &&
		!sware_page_is_rightmost(page) &&
		(SwarePageGetOpaque(page)->flags & SWARE_INCOMPLETE_SPLIT) == 0;
}

static void
release_if_valid(Buffer buffer)
{
	if (BufferIsValid(buffer))
		sware_release_buffer(buffer);
}

/*
 * Lock the left sibling of the target exclusively, and return it.  If the page
 * that the target's left link leads to has been split, the left sibling is
 * further right.  Incomplete splits on the way are completed.
 *
 * Returns InvalidBuffer, with nothing pinned, if it is not found.
 */
static Buffer
lock_left_sibling(Relation index, SwareLink left, SwareLink target, int level)
{
	while (sware_link_is_valid(left))
	{
		Buffer		buffer;
		SwarePageOpaque opaque;

		CHECK_FOR_INTERRUPTS();
		buffer = sware_read_linked(index, left, level, BUFFER_LOCK_EXCLUSIVE);
		if (!BufferIsValid(buffer))
			return InvalidBuffer;
		opaque = SwarePageGetOpaque(BufferGetPage(buffer));
		if ((opaque->flags & SWARE_INCOMPLETE_SPLIT) != 0)
		{
			sware_insert_downlink(index, buffer, NULL);
			continue;
		}
		if (sware_links_equal(opaque->right, target))
			return buffer;
		if (sware_links_equal(sware_page_link(buffer), target))
		{
			sware_release_buffer(buffer);
			return InvalidBuffer;
		}
		left = opaque->right;
		sware_release_buffer(buffer);
	}
	return InvalidBuffer;
}

/*
 * Lock the target and its siblings, from left to right.  Returns false, with
 * nothing pinned, if the target cannot be deleted now.
 */
static bool
lock_siblings(Relation index, SwareLink target, int level, Deletion *deletion)
{
	Buffer		buffer =
		sware_read_linked(index, target, level, BUFFER_LOCK_SHARE);
	SwareLink	left;
	Page		page;
	SwarePageOpaque opaque;

	if (!BufferIsValid(buffer))
		return false;
	page = BufferGetPage(buffer);
	left = SwarePageGetOpaque(page)->left;
	if (!is_deletable(page))
		left = target;
	sware_release_buffer(buffer);
	if (sware_links_equal(left, target))
		return false;

	deletion->left = InvalidBuffer;
	if (sware_link_is_valid(left))
	{
		deletion->left = lock_left_sibling(index, left, target, level);
		if (!BufferIsValid(deletion->left))
			return false;
	}

	deletion->target =
		sware_read_linked(index, target, level, BUFFER_LOCK_EXCLUSIVE);
	if (!BufferIsValid(deletion->target))
	{
		release_if_valid(deletion->left);
		return false;
	}
	page = BufferGetPage(deletion->target);
	opaque = SwarePageGetOpaque(page);
	if (!is_deletable(page) ||
		sware_link_is_valid(opaque->left) != BufferIsValid(deletion->left))
	{
		sware_release_buffer(deletion->target);
		release_if_valid(deletion->left);
		return false;
	}

	deletion->right =
		sware_read_linked(index, opaque->right, level, BUFFER_LOCK_EXCLUSIVE);
	if (!BufferIsValid(deletion->right) ||
		!sware_links_equal(SwarePageGetOpaque(BufferGetPage(deletion->right))
						   ->left,
						   target))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("right sibling %u of block %u does not link back in index \"%s\"",
						opaque->right.block, target.block,
						RelationGetRelationName(index))));
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
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("downlink to block %u does not lead to the right sibling, block %u, in index \"%s\"",
							sware_pivot_link(next).block, right.block,
							RelationGetRelationName(index))));
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
 * Unlink the target, and return whether that was possible.  All pages of the
 * deletion are locked.
 */
static bool
unlink_target(Relation index, Deletion *deletion)
{
	SwareLink	left_link =
		SwarePageGetOpaque(BufferGetPage(deletion->target))->left;
	SwareLink	right_link = sware_page_link(deletion->right);
	SwareWal   *wal = sware_wal_begin(index);

	if (BufferIsValid(deletion->left))
		SwarePageGetOpaque(sware_wal_change(wal, deletion->left))->right =
			right_link;
	sware_mark_deleted(sware_wal_change(wal, deletion->target));
	SwarePageGetOpaque(sware_wal_change(wal, deletion->right))->left =
		left_link;
	if (!remove_downlink(index, sware_wal_change(wal, deletion->parent),
						 deletion->offset, right_link))
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
	Deletion	deletion;
	SwareLink	parent;
	SwareLink	right;
	bool		is_deleted;
	bool		parent_is_empty;
	bool		right_is_empty;
	int			deleted = 1;

	if (!lock_siblings(index, target, level, &deletion))
		return 0;

	deletion.parent =
		sware_find_parent(index, deletion.target, NULL, &deletion.offset);
	parent = sware_page_link(deletion.parent);
	is_deleted = unlink_target(index, &deletion);
	parent_is_empty = sware_page_data_count(BufferGetPage(deletion.parent)) ==
		0;
	right = sware_page_link(deletion.right);
	right_is_empty = sware_page_data_count(BufferGetPage(deletion.right)) == 0;

	sware_release_buffer(deletion.parent);
	sware_release_buffer(deletion.right);
	sware_release_buffer(deletion.target);
	release_if_valid(deletion.left);

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
