/*-------------------------------------------------------------------------
 *
 * split.c
 *	  Splits pages, inserts the downlinks that complete the splits, and stores
 *	  entries of a run in a leaf that has no room for them.
 *
 * A split is one record: the page keeps the left part of its items, a new
 * right sibling gets the others, and the left link of the old right sibling is
 * changed.  The record also flags the page as incompletely split.  A second
 * record puts the downlink to the new page into the parent (which may split
 * the parent), and clears the flag.  A backend that wants to change a flagged
 * page completes its split first.
 *
 * A leaf that has no room for entries of a run may have some when its
 * duplicates are merged.  Otherwise it is split, and gets as many of them as
 * fit together.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/faultpoint.h"
#include "base/options.h"
#include "keys/entry.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/cache.h"
#include "pages/pageaccess.h"
#include "shared/statistics.h"
#include "tree/treepages.h"
#include "wal/wal.h"

/*
 * How full the left half of a split is made, in percent, if a run fills it.
 * Where runs meet entries that are there already, more will follow.
 */
#define LEFT_HALF_FILL	90

/*
 * a left half is full if this number of bytes are left when its duplicates have
 * been merged
 */
#define STILL_FULL		(SWARE_PAGE_CAPACITY * 3 / 4)

/* The items of a leaf, into which a run is merged. */
typedef struct Merge
{
	SwareItems	items;
	Size		space;			/* what they take */
	IndexTuple	last;			/* the item that was inserted last */
	int			leftCount;		/* how many items a left half has that the run
								 * fills; 0 if it fills none */
	IndexTuple	bound;			/* if the left half is full, the next key of
								 * the run or of the leaf; else NULL */
} Merge;

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
 * Make a private copy of a leaf its left half, with the first `count` of
 * `items`, which may point into the leaf itself.  The items of the leaf stay
 * where they are, so that little of it changes and has to be logged.  Those
 * that are removed leave gaps, which are closed when an entry needs the room.
 * Marks of dead entries are lost, as in the right half.  Returns false if there
 * is too little room without that; the copy is to be written anew then.
 */
static bool
keep_items(Page copy, Page page, const SwareItems *items, int count,
		   IndexTuple high_key)
{
	PageHeader	header = (PageHeader) copy;
	Size		needed = count * sizeof(ItemIdData) +
		MAXALIGN(IndexTupleSize(high_key));

	for (int i = 0; i < count; i++)
	{
		if (!is_on_page(page, items->tuples[i]))
			needed += MAXALIGN(IndexTupleSize(items->tuples[i]));
	}
	header->pd_lower = (char *) PageGetItemId(copy, SWARE_FIRST_DATA) -
		(char *) copy;
	if (!sware_page_is_leaf(page) ||
		header->pd_lower + needed > header->pd_upper)
		return false;

	sware_set_high_key(copy, high_key);
	for (int i = 0; i < count; i++)
	{
		IndexTuple	tuple = items->tuples[i];
		OffsetNumber offset = SWARE_FIRST_DATA + i;

		if (is_on_page(page, tuple))
		{
			ItemIdSetNormal(PageGetItemId(copy, offset),
							(char *) tuple - (char *) page,
							IndexTupleSize(tuple));
			header->pd_lower += sizeof(ItemIdData);
		}
		else
			sware_add_item(copy, tuple, offset);
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
static void
split_page(Relation index, Buffer buffer, SwareItems *items, int new_item,
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
	right = sware_allocate_buffer(index, &right_link);

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
	Buffer		root = sware_allocate_buffer(index, &root_link);
	SwareWal   *wal;
	Page		root_page;
	SwareMetaPage meta;

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

static void
insert_item(SwareItems *items, int position, IndexTuple tuple)
{
	memmove(&items->tuples[position + 1], &items->tuples[position],
			(items->count - position) * sizeof(IndexTuple));
	items->tuples[position] = tuple;
	items->count++;
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
	insert_item(items, position, downlink);

	is_split = items->count > SWARE_MIN_FANOUT;
	if (is_split)
		split_page(index, parent, items, position, NULL, child);
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

/* Return the index of the first item that is not before a place. */
static inline int
item_position(const SwareSearchKey *key, const SwareItems *items)
{
	return sware_search_array(key, items->tuples, 0, items->count, false);
}

/*
 * Return the index of the item that is a tuple, or has its TID in a posting
 * list; -1 if there is none.  Compares no keys: an entry is not compared with
 * itself, as its comparison may fail.
 */
static int
position_of(const SwareItems *items, IndexTuple tuple)
{
	for (int i = 0; i < items->count; i++)
	{
		if (items->tuples[i] == tuple ||
			(sware_tuple_is_posting(items->tuples[i]) &&
			 !sware_tuple_is_posting(tuple) &&
			 sware_posting_contains(items->tuples[i], &tuple->t_tid)))
			return i;
	}
	return -1;
}

/*
 * Insert an entry into the items of a leaf, unless they have it already.
 * `position` is that of the first item that is not before the entry.  Returns
 * the index of the item that was inserted, or -1.
 */
static int
merge_entry(SwareSearchKey *key, SwareItems *items, IndexTuple entry,
			int position)
{
	if (position < items->count &&
		sware_compare_key(key, items->tuples[position]) == 0)
	{
		IndexTuple	list = items->tuples[position];
		IndexTuple	evicted;

		if (!sware_tuple_is_posting(list) ||
			sware_posting_contains(list, &entry->t_tid))
			return -1;
		items->tuples[position] =
			sware_posting_insert(list, entry, &evicted);
		insert_item(items, ++position, evicted);
		return position;
	}
	insert_item(items, position, entry);
	return position;
}

/*
 * Merge the start of a run into the items of a leaf, until they take more than
 * its room: one entry too many at most, so that two pages have room for all.
 * Returns the number of entries merged.
 */
static int
merge_beyond_room(SwareSearchKey *key, Merge *merge, IndexTuple *entries,
				  int count, Size room)
{
	SwareItems *items = &merge->items;
	int			merged = 0;

	while (merged < count && merge->space <= room)
	{
		IndexTuple	entry = entries[merged++];
		int			position;

		sware_search_key_set_entry(key, entry);
		position = merge_entry(key, items, entry, item_position(key, items));
		if (position >= 0)
		{
			merge->last = items->tuples[position];
			merge->space += sware_item_space(merge->last);
		}
	}
	return merged;
}

/*
 * The space of a pivot behind an entry of a run, before the run's next entry or
 * before an item.
 */
static Size
next_pivot_space(IndexTuple *entries, int number, int count, IndexTuple item)
{
	Size		space = sware_pivot_space(item);

	return number + 1 == count ? space :
		Max(space, sware_pivot_space(entries[number + 1]));
}

/*
 * Merge more of a run into the items of a leaf that will be split, as long as
 * they fill a left half of their own.  So a split behind the last one is
 * possible: the right half has only items of the leaf then.  Stops at a TID
 * within the range of a posting list: the TID that it changes places with may
 * be too much for the right half.  Returns the number of entries merged.
 */
static int
merge_into_left_half(SwareSearchKey *key, Merge *merge, IndexTuple *entries,
					 int count)
{
	SwareItems *items = &merge->items;
	Size		limit = SWARE_PAGE_CAPACITY * LEFT_HALF_FILL / 100;
	Size		space = 0;		/* of the items before `counted` */
	int			counted = 0;
	int			merged;

	for (merged = 0; merged < count; merged++)
	{
		IndexTuple	entry = entries[merged];
		Size		size = sware_item_space(entry);
		int			place;
		int			behind;		/* where the item behind the entry is */
		bool		is_there;

		sware_search_key_set_entry(key, entry);
		place = item_position(key, items);
		while (counted < place)
			space += sware_item_space(items->tuples[counted++]);
		is_there = place < items->count &&
			sware_compare_key(key, items->tuples[place]) == 0;
		behind = is_there ? place + 1 : place;
		if (behind == items->count ||
			(is_there && sware_tuple_is_posting(items->tuples[place])) ||
			space + size + next_pivot_space(entries, merged, count,
											items->tuples[behind]) >
			SWARE_PAGE_CAPACITY)
			return merged;
		if (space + size > limit)
			break;

		if (!is_there)
			insert_item(items, place, entry);
		merge->last = items->tuples[place];
		merge->leftCount = place + 1;
	}
	if (merged > 0 && merged < count)
	{
		IndexTuple	item = items->tuples[merge->leftCount];
		IndexTuple	next = entries[merged];

		merge->bound =
			sware_compare_entries(key->index, next, item) < 0 ? next : item;
	}
	return merged;
}

/*
 * Merge the duplicates among items into posting lists, but none of the first
 * `left_count` with others: a split between them stays possible.  Returns how
 * many of the items these are afterwards.
 */
static int
deduplicate_halves(Relation index, SwareItems *items, int left_count)
{
	IndexTuple *right = items->tuples + left_count;
	int			right_count =
		sware_deduplicate(index, right, items->count - left_count);

	left_count = sware_deduplicate(index, items->tuples, left_count);
	memmove(items->tuples + left_count, right,
			right_count * sizeof(IndexTuple));
	items->count = left_count + right_count;
	return left_count;
}

/*
 * Do the entries of a run lie here and there among the items of a leaf, into
 * which `stored` of them have been merged?  They do if most items between the
 * first one and the run's next one are not of the run.  What comes before the
 * first one does not matter: an earlier run may have brought it.
 */
static bool
lie_here_and_there(SwareSearchKey *key, const SwareItems *items,
				   IndexTuple *entries, int count, int stored)
{
	int			first;

	if (stored == 1)
		return false;
	sware_search_key_set_entry(key, entries[0]);
	first = item_position(key, items);
	sware_search_key_set_entry(key, entries[Min(stored, count - 1)]);
	return stored * 2 < item_position(key, items) - first;
}

/*
 * Store at least one entry of a run in an exclusively locked leaf that has no
 * room for all of them, by merging duplicates or by a split.  Returns the
 * number of entries stored.  Releases the leaf.
 */
int
sware_rearrange(SwareSearchKey *key, Buffer buffer,
				IndexTuple *entries, int count, SwareStack *stack)
{
	Relation	index = key->index;
	Page		page = BufferGetPage(buffer);
	Merge	   *merge = palloc(sizeof(Merge));
	SwareItems *items = &merge->items;
	IndexTuple	high_key = sware_page_is_rightmost(page) ? NULL :
		sware_page_high_key(page);
	Size		room = SWARE_PAGE_CAPACITY -
		(high_key ? sware_item_space(high_key) : sizeof(ItemIdData));
	bool		is_scattered;	/* do the new entries lie here and there? */
	bool		rewrite;
	int			stored;

	sware_collect_items(page, items);
	merge->space = sware_items_space(items->tuples, items->count);
	merge->last = entries[0];
	merge->leftCount = 0;
	merge->bound = NULL;
	stored = merge_beyond_room(key, merge, entries, count, room);
	if (merge->space > room)
		stored += merge_into_left_half(key, merge, entries + stored,
									   count - stored);

	is_scattered = lie_here_and_there(key, items, entries, count, stored);
	if (is_scattered)
		merge->bound = NULL;

	rewrite = merge->space <= room;
	if (!rewrite &&
		sware_option_deduplicate(index) && sware_cache(index)->allEqualImage)
	{
		merge->leftCount = deduplicate_halves(index, items, merge->leftCount);
		if (sware_items_space(items->tuples, merge->leftCount) < STILL_FULL)
			merge->bound = NULL;

		/*
		 * if merging gains very little, the leaf is full again soon: split it
		 */
		rewrite = sware_items_space(items->tuples, items->count) <=
			room - room / 32;
	}

	if (rewrite)
	{
		SwareWal   *wal = sware_wal_begin(index);

		sware_write_items(sware_wal_change(wal, buffer), high_key,
						  items->tuples, items->count);
		sware_wal_finish(wal);
		sware_release_buffer(buffer);
	}
	else
	{
		int			last = merge->bound ? merge->leftCount - 1 :
			position_of(items, merge->last);

		sware_count(index, SWARE_STAT_LEAF_SPLITS, 1);
		split_page(index, buffer, items, is_scattered ? -1 : last,
				   merge->bound, InvalidBuffer);
		sware_insert_downlink(index, buffer, stack);
	}
	return stored;
}
