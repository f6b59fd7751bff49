/*-------------------------------------------------------------------------
 *
 * split.c
 *	  Splits pages, and inserts the downlinks that complete the splits.
 *
 * A split is one record: the page keeps the left part of its items, a new
 * right sibling gets the others, and the left link of the old right sibling is
 * changed.  The record also flags the page as incompletely split.  A second
 * record puts the downlink to the new page into the parent (which may split
 * the parent), and clears the flag.  A backend that wants to change a flagged
 * page completes its split first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/faultpoint.h"
#include "keys/entry.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "tree/treepages.h"
#include "wal/wal.h"

/*
 * Lock the right sibling of an exclusively locked page, to change its left
 * link; InvalidBuffer if there is none.  The lock on the page keeps its right
 * sibling from being deleted.
 */
Buffer
sware_lock_right_sibling(Relation index, Buffer buffer)
{
	SwarePageOpaque opaque = SwarePageGetOpaque(BufferGetPage(buffer));
	Buffer		right;

	if (!sware_link_is_valid(opaque->right))
		return InvalidBuffer;
	right = sware_read_linked(index, opaque->right, opaque->level,
							  BUFFER_LOCK_EXCLUSIVE);
	if (!BufferIsValid(right) ||
		!sware_links_equal(SwarePageGetOpaque(BufferGetPage(right))->left,
						   sware_page_link(buffer)))
		sware_report_corruption(index, opaque->right.block,
								"It does not link back to block %u, whose right sibling it is.",
								BufferGetBlockNumber(buffer));
	return right;
}

/* Clear the flag of a page when its right sibling gets a downlink. */
static void
complete_split(SwareWal *wal, Buffer child)
{
	Page		page = sware_wal_change(wal, child);

	Assert((SwarePageGetOpaque(page)->flags & SWARE_INCOMPLETE_SPLIT) != 0);
	SwarePageGetOpaque(page)->flags &= ~SWARE_INCOMPLETE_SPLIT;
}

static inline bool
is_on_page(Page page, IndexTuple tuple)
{
	return (char *) tuple > (char *) page &&
		(char *) tuple < (char *) page + BLCKSZ;
}

/*
 * Do the first `count` items consist of the first ones of a leaf, all in their
 * order, and of new ones?  Then *kept is the number of the former, and *space
 * the bytes that the latter need.
 */
static bool
are_kept(Page page, const SwareItems *items, int count, int *kept, Size *space)
{
	*kept = 0;
	*space = 0;
	for (int i = 0; i < count; i++)
	{
		if (*kept < sware_page_data_count(page) &&
			items->tuples[i] == sware_page_tuple(page, SWARE_FIRST_DATA + *kept))
			(*kept)++;
		else if (!is_on_page(page, items->tuples[i]))
			*space += sware_item_space(items->tuples[i]);
		else
			return false;
	}
	return true;
}

/*
 * Make a private copy of a leaf its left half, with the first `count` of
 * `items`, which may point into the leaf itself.  The items of the leaf stay
 * where they are, so that little of it changes and has to be logged.  Those
 * that are removed leave gaps, which are closed when an entry needs the room.
 * Does nothing and returns false if there is too little room without that.
 */
static bool
keep_items(Page copy, Page page, const SwareItems *items, int count,
		   IndexTuple high_key)
{
	PageHeader	header = (PageHeader) copy;
	int			kept;
	Size		space;
	LocationIndex lower;

	if (!sware_page_is_leaf(page) ||
		!are_kept(page, items, count, &kept, &space))
		return false;
	lower = (char *) PageGetItemId(copy, SWARE_FIRST_DATA + kept) -
		(char *) copy;
	if (lower + space + MAXALIGN(IndexTupleSize(high_key)) > header->pd_upper)
		return false;

	header->pd_lower = lower;
	sware_set_high_key(copy, high_key);
	for (int i = 0; i < count; i++)
	{
		if (!is_on_page(page, items->tuples[i]))
			sware_add_item(copy, items->tuples[i], SWARE_FIRST_DATA + i);
	}
	return true;
}

/*
 * Split an exclusively locked page.  `items` are its items and new ones, in
 * order; they may point into the page.  `new_item` is the last one that was
 * added, or -1 if the new ones lie here and there.  If the page is internal, it
 * is the downlink that completes the split of `child`, which is exclusively
 * locked.
 *
 * If `bound` is not NULL, the page is a leaf, and is split behind the item
 * `new_item`, which is not the last one.  The right half gets all keys from
 * `bound` on, which lies between that item and the next.
 *
 * The page stays locked, and is flagged as incompletely split; the caller must
 * call sware_insert_downlink next.
 */
void
sware_split(Relation index, Buffer buffer, SwareItems *items, int new_item,
			IndexTuple bound, Buffer child)
{
	Page		page = BufferGetPage(buffer);
	int			level = SwarePageGetOpaque(page)->level;
	bool		is_leaf = level == 0;
	IndexTuple	old_high_key = sware_page_has_high_key(page) ?
		sware_page_high_key(page) : NULL;
	int			left_count =
		bound ? new_item + 1 :
		sware_find_split_point(index, page, items, new_item);
	IndexTuple	first_right = items->tuples[left_count];
	IndexTuple	pivot;
	SwareLink	left_link = sware_page_link(buffer);
	SwareLink	right_link;
	Buffer		old_right;
	Buffer		right;
	SwareWal   *wal;
	Page		left_page;
	Page		right_page;

	if (is_leaf)
		pivot = sware_form_pivot(index, items->tuples[left_count - 1],
								 bound ? bound : first_right);
	else
	{
		/* the first key of the right page moves up; only its link stays */
		pivot = sware_form_high_key(first_right);
		items->tuples[left_count] =
			sware_form_minus_infinity(sware_pivot_link(first_right));
	}

	old_right = sware_lock_right_sibling(index, buffer);
	right = sware_allocate_buffer(index, &right_link.incarnation);
	right_link.block = BufferGetBlockNumber(right);

	wal = sware_wal_begin(index);
	left_page = sware_wal_change(wal, buffer);
	right_page = sware_wal_new_page(wal, right);

	sware_init_page(right_page, is_leaf ? SWARE_KIND_LEAF : SWARE_KIND_INTERNAL,
					level, right_link.incarnation);
	SwarePageGetOpaque(right_page)->left = left_link;
	SwarePageGetOpaque(right_page)->right = SwarePageGetOpaque(page)->right;
	sware_write_items(right_page, old_high_key, items->tuples + left_count,
					  items->count - left_count);

	if (!keep_items(left_page, page, items, left_count, pivot))
		sware_write_items(left_page, pivot, items->tuples, left_count);
	SwarePageGetOpaque(left_page)->right = right_link;
	SwarePageGetOpaque(left_page)->flags |= SWARE_INCOMPLETE_SPLIT;

	if (BufferIsValid(old_right))
		SwarePageGetOpaque(sware_wal_change(wal, old_right))->left = right_link;
	if (BufferIsValid(child))
		complete_split(wal, child);
	sware_wal_finish(wal);

	if (BufferIsValid(old_right))
		sware_release_buffer(old_right);
	sware_release_buffer(right);
}

/*
 * If an exclusively locked page is the root, pin the metapage, lock it
 * exclusively, and return it; otherwise return InvalidBuffer.  The root
 * cannot change while it is locked.
 */
static Buffer
lock_metapage_if_root(Relation index, Buffer buffer)
{
	Buffer		meta_buffer;

	if (!sware_page_is_leftmost(BufferGetPage(buffer)))
		return InvalidBuffer;
	meta_buffer =
		sware_read_buffer(index, SWARE_METAPAGE, BUFFER_LOCK_EXCLUSIVE);
	if (sware_links_equal(SwarePageGetMeta(BufferGetPage(meta_buffer))->root,
						  sware_page_link(buffer)))
		return meta_buffer;
	sware_release_buffer(meta_buffer);
	return InvalidBuffer;
}

/*
 * Put a new root above the old one, which has been split.  Both the old root
 * and the metapage are exclusively locked.
 */
static void
grow_root(Relation index, Buffer left, Buffer meta_buffer)
{
	Page		old_page = BufferGetPage(left);
	int			level = SwarePageGetOpaque(old_page)->level + 1;
	IndexTuple	downlinks[2];
	SwareLink	root_link;
	Buffer		root = sware_allocate_buffer(index, &root_link.incarnation);
	SwareWal   *wal;
	Page		root_page;
	SwareMetaPage meta;

	root_link.block = BufferGetBlockNumber(root);
	downlinks[0] = sware_form_minus_infinity(sware_page_link(left));
	downlinks[1] = sware_form_downlink(sware_page_high_key(old_page),
									   SwarePageGetOpaque(old_page)->right);

	wal = sware_wal_begin(index);
	complete_split(wal, left);
	root_page = sware_wal_new_page(wal, root);
	sware_init_page(root_page, SWARE_KIND_INTERNAL, level,
					root_link.incarnation);
	sware_write_items(root_page, NULL, downlinks, 2);
	meta = SwarePageGetMeta(sware_wal_change(wal, meta_buffer));
	meta->root = root_link;
	meta->level = level;
	sware_wal_finish(wal);

	sware_release_buffer(root);
}

/*
 * Insert a downlink at an offset of an exclusively locked parent that has too
 * little room for it.  If the parent has few downlinks, it gives up its high
 * key for it; otherwise it is split.  Returns whether it was split.  `child`
 * is the exclusively locked page whose split is completed.
 */
static bool
make_room_for_downlink(Relation index, Buffer parent, IndexTuple downlink,
					   OffsetNumber offset, Buffer child)
{
	SwareItems *items = palloc(sizeof(SwareItems));
	int			position = offset - SWARE_FIRST_DATA;
	bool		is_split;

	sware_collect_items(BufferGetPage(parent), items);
	memmove(&items->tuples[position + 1], &items->tuples[position],
			(items->count - position) * sizeof(IndexTuple));
	items->tuples[position] = downlink;
	items->count++;

	is_split = items->count > SWARE_MIN_FANOUT;
	if (is_split)
		sware_split(index, parent, items, position, NULL, child);
	else
	{
		SwareWal   *wal = sware_wal_begin(index);

		complete_split(wal, child);
		sware_write_items(sware_wal_change(wal, parent), NULL, items->tuples,
						  items->count);
		sware_wal_finish(wal);
	}
	return is_split;
}

/*
 * Complete the split of an exclusively locked page: put the downlink to its
 * right sibling into its parent, or into a new root.  Releases the page.
 *
 * The stack is a hint, and may be NULL.  The caller may hold locks on lower
 * levels, and resets or deletes the memory context.
 */
void
sware_insert_downlink(Relation index, Buffer left, SwareStack *stack)
{
	Page		left_page = BufferGetPage(left);
	IndexTuple	downlink;
	OffsetNumber offset;
	Buffer		parent;

	SWARE_FAULT_POINT("split-downlink");

	/* a page that has ancestors cannot be the root */
	if (stack == NULL)
	{
		Buffer		meta_buffer = lock_metapage_if_root(index, left);

		if (BufferIsValid(meta_buffer))
		{
			grow_root(index, left, meta_buffer);
			sware_release_buffer(meta_buffer);
			sware_release_buffer(left);
			return;
		}
	}

	downlink = sware_form_downlink(sware_page_high_key(left_page),
								   SwarePageGetOpaque(left_page)->right);
	parent = sware_find_parent(index, left, stack, &offset);
	if (PageGetFreeSpace(BufferGetPage(parent)) >=
		MAXALIGN(IndexTupleSize(downlink)))
	{
		SwareWal   *wal = sware_wal_begin(index);

		complete_split(wal, left);
		sware_add_item(sware_wal_change(wal, parent), downlink, offset + 1);
		sware_wal_finish(wal);
		sware_release_buffer(parent);
		sware_release_buffer(left);
	}
	else
	{
		bool		is_split = make_room_for_downlink(index, parent, downlink,
													  offset + 1, left);

		sware_release_buffer(left);
		if (is_split)
			sware_insert_downlink(index, parent, stack ? stack->parent : NULL);
		else
			sware_release_buffer(parent);
	}
}
