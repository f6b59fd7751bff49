/*-------------------------------------------------------------------------
 *
 * append.c
 *	  Bulk append: a run above every entry of the tree becomes whole leaves
 *	  (opportunistic bulk loading: "Indexing for Near-Sorted Data", section
 *	  III).
 *
 * The new leaves are written first, each with a record of its own; no page
 * links to them yet.  Then one record links them all: it changes the old
 * rightmost leaf, and adds their downlinks to its parent.  A heavyweight lock
 * on the metapage's number keeps VACUUM from deleting them before they are
 * linked or given back.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/lmgr.h"

#include "base/faultpoint.h"
#include "base/memory.h"
#include "base/options.h"
#include "keys/entry.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/cache.h"
#include "pages/pageaccess.h"
#include "tree/tree.h"
#include "tree/treepages.h"
#include "wal/wal.h"

/* the most leaves that are linked by one record */
#define MAX_APPENDED_LEAVES		128

typedef struct NewLeaf
{
	Page		page;			/* what it will be */
	IndexTuple	pivot;			/* between the leaf before and this one */
	Buffer		buffer;			/* pinned and locked, once it is allocated */
	SwareLink	link;
} NewLeaf;

typedef struct Append
{
	Relation	index;
	SwareLink	rightmost;		/* the old rightmost leaf */
	IndexTuple	largest;		/* a copy of its last tuple */
	Size		parentRoom;		/* for downlinks */
	Size		parentSpace;	/* that those of the new leaves take */
	NewLeaf		leaves[MAX_APPENDED_LEAVES];
	int			count;
} Append;

static inline IndexTuple
largest_tuple(Page page)
{
	return sware_page_tuple(page, PageGetMaxOffsetNumber(page));
}

/* Is an entry above all entries of a leaf, of which there is at least one? */
static bool
is_above_leaf(Relation index, Page page, IndexTuple entry)
{
	SwareSearchKey key;

	if (sware_page_data_count(page) == 0)
		return false;
	sware_search_key_from_tuple(&key, index, entry);
	return sware_compare_key(&key, largest_tuple(page)) > 0;
}

/*
 * Is a leaf as full as it is to be when it leaves the right end, but still with
 * room for a high key?  If it is not, entries should go to the leaf itself
 * first.
 */
static bool
is_filled(Relation index, Page page, IndexTuple next)
{
	Size		unused =
		SWARE_PAGE_CAPACITY * (100 - sware_leaf_fill(index, next)) / 100;
	Size		room = PageGetExactFreeSpace(page);

	return room >= sware_pivot_space(next) &&
		room < Max(unused, sware_pivot_space(next)) + sware_item_space(next);
}

/* Does an internal page's last downlink lead to a page? */
static bool
has_last_downlink(Page page, SwareLink child)
{
	return sware_page_data_count(page) > 0 &&
		sware_links_equal(sware_pivot_link(largest_tuple(page)), child);
}

/*
 * Can a run with this first entry be appended?  Remembers what the append
 * needs to know of the tree's right edge.  Pages are share-locked one at a
 * time, so all of this must be checked again later.
 */
static bool
look_at_right_edge(Append *append, IndexTuple first)
{
	Relation	index = append->index;
	Buffer		buffer = sware_descend_to_edge(index, 0, true);
	Page		page = BufferGetPage(buffer);
	bool		is_above = is_above_leaf(index, page, first) &&
		is_filled(index, page, first);
	bool		is_parent;

	append->rightmost = sware_page_link(buffer);
	if (is_above)
		append->largest = CopyIndexTuple(largest_tuple(page));
	sware_release_buffer(buffer);
	if (!is_above)
		return false;

	/* the root has no parent to take downlinks */
	if (sware_cache(index)->level == 0)
		return false;
	buffer = sware_descend_to_edge(index, 1, true);
	page = BufferGetPage(buffer);
	is_parent = has_last_downlink(page, append->rightmost);
	append->parentRoom = PageGetExactFreeSpace(page);
	sware_release_buffer(buffer);
	return is_parent;
}

/*
 * Begin a leaf with the entry that the packing has kept back, which comes
 * behind the tuple `before`.  Returns false if the parent would have no room
 * for its downlink, or if there are too many leaves.
 */
static bool
begin_leaf(Append *append, SwarePacking *packing, IndexTuple before)
{
	NewLeaf    *leaf = &append->leaves[append->count];
	Size		space;

	if (append->count == MAX_APPENDED_LEAVES)
		return false;
	leaf->pivot =
		sware_form_pivot(append->index, before, &packing->last.tuple);
	space = append->parentSpace + sware_item_space(leaf->pivot) +
		SWARE_PIVOT_FIELD_SIZE;
	if (space > append->parentRoom)
		return false;
	append->parentSpace = space;
	append->count++;
	leaf->page = palloc(BLCKSZ);
	sware_pack_page(packing, leaf->page, 0, 0);
	return true;
}

/*
 * Pack the start of a run into new leaves, no more of them than the parent has
 * room for downlinks.  Returns the number of entries taken.
 */
static int
pack_leaves(Append *append, IndexTuple *entries, int count)
{
	SwarePacking packing = {.index = append->index};

	packing.merges = sware_option_deduplicate(append->index) &&
		sware_cache(append->index)->allEqualImage;
	packing.fill =
		SWARE_PAGE_CAPACITY * sware_leaf_fill(append->index, entries[0]) / 100;
	(void) sware_pack(&packing, entries[0]);
	if (!begin_leaf(append, &packing, append->largest))
		return 0;
	for (int i = 1; i <= count; i++)
	{
		sware_prefetch_entry(entries, i, count);
		while (!sware_pack(&packing, i < count ? entries[i] : NULL))
		{
			if (!begin_leaf(append, &packing, sware_last_packed(&packing)))
				return i - packing.tidCount;
		}
	}
	return count;
}

/*
 * Write the new leaves.  A leaf has the link to the next one, so the next one
 * is allocated and locked before the leaf is written and released.
 */
static void
write_leaves(Append *append)
{
	SwareExtent extent = {.needed = append->count};

	append->leaves[0].buffer =
		sware_allocate_of_extent(append->index, &extent,
								 &append->leaves[0].link);
	for (int i = 0; i < append->count; i++)
	{
		NewLeaf    *leaf = &append->leaves[i];
		SwarePageOpaque opaque = SwarePageGetOpaque(leaf->page);

		opaque->incarnation = leaf->link.incarnation;
		opaque->left = i == 0 ? append->rightmost : leaf[-1].link;
		if (i < append->count - 1)
		{
			NewLeaf    *next = leaf + 1;

			next->buffer =
				sware_allocate_of_extent(append->index, &extent, &next->link);
			opaque->right = next->link;
			sware_set_high_key(leaf->page, next->pivot);
		}
		sware_wal_fill_page(append->index, leaf->buffer, leaf->page);
		sware_release_buffer(leaf->buffer);
	}
}

/*
 * Lock the rightmost page of level 1 exclusively and return it; InvalidBuffer
 * if it has not got the downlink of the old rightmost leaf, or no room for
 * those of the new leaves.
 */
static Buffer
lock_parent(Append *append)
{
	Relation	index = append->index;
	Buffer		buffer;
	SwareLink	link;
	Page		page;

	/* the cached root may be the leaf that we have locked */
	sware_cache_refresh(index);
	buffer = sware_descend_to_edge(index, 1, true);
	link = sware_page_link(buffer);
	sware_release_buffer(buffer);
	buffer = sware_read_linked(index, link, 1, BUFFER_LOCK_EXCLUSIVE);
	if (!BufferIsValid(buffer))
		return InvalidBuffer;

	page = BufferGetPage(buffer);
	if (sware_page_is_rightmost(page) &&
		has_last_downlink(page, append->rightmost) &&
		PageGetExactFreeSpace(page) >= append->parentSpace)
		return buffer;
	sware_release_buffer(buffer);
	return InvalidBuffer;
}

/*
 * Link the new leaves: give the old rightmost leaf its high key and right
 * link, and the parent the downlinks.
 */
static void
link_leaves(Append *append, Buffer buffer, Buffer parent)
{
	SwareWal   *wal = sware_wal_begin(append->index);
	Page		page = sware_wal_change(wal, buffer);

	sware_set_high_key(page, append->leaves[0].pivot);
	SwarePageGetOpaque(page)->right = append->leaves[0].link;

	page = sware_wal_change(wal, parent);
	for (int i = 0; i < append->count; i++)
	{
		NewLeaf    *leaf = &append->leaves[i];

		sware_add_item(page, sware_form_downlink(leaf->pivot, leaf->link),
					   OffsetNumberNext(PageGetMaxOffsetNumber(page)));
	}
	sware_wal_finish(wal);
}

/*
 * Link the new leaves, if what look_at_right_edge has found still holds.
 * Returns whether it did.
 */
static bool
try_to_link(Append *append)
{
	Relation	index = append->index;
	Buffer		buffer = sware_read_linked(index, append->rightmost, 0,
										   BUFFER_LOCK_EXCLUSIVE);
	Buffer		parent = InvalidBuffer;
	Page		page;

	if (!BufferIsValid(buffer))
		return false;
	page = BufferGetPage(buffer);
	if (sware_page_is_rightmost(page) &&
		is_above_leaf(index, page, sware_page_tuple(append->leaves[0].page,
													SWARE_FIRST_DATA)) &&
		PageGetExactFreeSpace(page) >=
		MAXALIGN(IndexTupleSize(append->leaves[0].pivot)) &&
		sware_compare_pivot(index, append->leaves[0].pivot,
							largest_tuple(page)) > 0)
		parent = lock_parent(append);

	if (BufferIsValid(parent))
	{
		link_leaves(append, buffer, parent);
		sware_release_buffer(parent);
	}
	sware_release_buffer(buffer);
	return BufferIsValid(parent);
}

/* Delete the new leaves, which could not be linked. */
static void
discard_leaves(Append *append)
{
	for (int i = 0; i < append->count; i++)
	{
		BlockNumber block = append->leaves[i].link.block;

		sware_delete_unlinked(append->index,
							  sware_read_buffer(append->index, block,
												BUFFER_LOCK_EXCLUSIVE));
		sware_record_free_page(append->index, block);
	}
}

/*
 * Return how many entries of a run are not above all entries of the rightmost
 * leaf, and so not above the whole tree.  The leaf is locked.
 */
int
sware_entries_within_leaf(Relation index, Page page, IndexTuple *entries,
						  int count)
{
	SwareSearchKey largest;

	/* often none of them is */
	if (sware_page_data_count(page) == 0 ||
		is_above_leaf(index, page, entries[0]))
		return 0;
	sware_search_key_prepare(&largest, index);
	sware_search_key_set_entry(&largest, largest_tuple(page));
	largest.tid = *sware_leaf_tuple_max_tid(largest_tuple(page));
	return sware_search_array(&largest, entries, 0, count, true);
}

/* Return how many entries of a run are not above the whole tree. */
int
sware_entries_within_tree(Relation index, IndexTuple *entries, int count)
{
	Buffer		buffer = sware_descend_to_edge(index, 0, true);
	int			result = sware_entries_within_leaf(index, BufferGetPage(buffer),
												   entries, count);

	sware_release_buffer(buffer);
	return result;
}

/*
 * Of entries in any order, move those to the front that belong to the rightmost
 * leaf or above it.  Returns their number.  Does not look at the leaf's left
 * sibling, so it may miss some.
 */
int
sware_tree_entries_at_edge(Relation index, IndexTuple *entries, int count)
{
	Buffer		buffer = sware_descend_to_edge(index, 0, true);
	Page		page = BufferGetPage(buffer);
	bool		is_only_leaf = sware_page_is_leftmost(page);
	IndexTuple	first = sware_page_data_count(page) == 0 ? NULL :
		CopyIndexTuple(sware_page_tuple(page, SWARE_FIRST_DATA));
	SwareSearchKey key;
	int			result = 0;

	sware_release_buffer(buffer);
	if (SWARE_FAULT_SETTING(buffer))
		return 0;
	if (is_only_leaf)
		return count;
	if (first == NULL)
		return 0;
	sware_search_key_prepare(&key, index);
	for (int i = 0; i < count; i++)
	{
		IndexTuple	entry = entries[i];

		sware_search_key_set_entry(&key, entry);
		if (sware_compare_key(&key, first) > 0)
		{
			entries[i] = entries[result];
			entries[result++] = entry;
		}
	}
	return result;
}

/*
 * Append the start of a run to the tree, as whole leaves.  Returns the number
 * of entries appended, which is 0 if the run is not above the whole tree, or
 * if an append is not possible now.
 *
 * The caller holds no content locks.
 */
int
sware_tree_append_run(Relation index, IndexTuple *entries, int count)
{
	MemoryContext caller = sware_enter_context("sware append");
	Append	   *append = palloc(sizeof(Append));
	int			taken = 0;

	append->index = index;
	append->count = 0;
	append->parentSpace = 0;
	if (look_at_right_edge(append, entries[0]))
		taken = pack_leaves(append, entries, count);

	/* While VACUUM has the lock, let the caller insert entries as usual. */
	if (append->count > 0 &&
		!ConditionalLockPage(index, SWARE_METAPAGE, ShareLock))
		taken = 0;
	else if (append->count > 0)
	{
		write_leaves(append);
		SWARE_FAULT_POINT("append-written");
		if (!try_to_link(append))
		{
			discard_leaves(append);
			taken = 0;
		}
		UnlockPage(index, SWARE_METAPAGE, ShareLock);
	}

	sware_leave_context(caller);
	return taken;
}
