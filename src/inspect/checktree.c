/*-------------------------------------------------------------------------
 *
 * checktree.c
 *	  Checking the tree: its pages, and the links between them.
 *
 * Each level is walked from left to right, from the root's level down to the
 * leaves.  Other sessions change the tree meanwhile, but these facts hold:
 *
 *	 - At any moment, a link on a live page leads to a live page of the
 *	   incarnation that is meant: one record deletes a page and changes the
 *	   links to it.  A deleted page stays deleted in this incarnation.
 *	 - Entries move to the right only.  High keys never become larger.  A page
 *	   that is not the rightmost of its level never becomes the rightmost, and
 *	   the rightmost gets a right sibling only when a new page is added.
 *	 - If a child loses or gets its downlink, the parent changes.  The same is
 *	   true of the children between two downlinks, except for splits, which
 *	   show in flags and right links.
 *	 - If the last page under a downlink is an empty internal page, its key
 *	   range has gone to the right, and pivots to its right may be below the
 *	   one that separates the two.  Searches are still correct, since the empty
 *	   page sends them to the right.  It stays empty until it is deleted, which
 *	   changes the parent.
 *
 * So if pages that were read one after the other contradict each other, that
 * is a fault if the first of them is the same before and after, byte by byte.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "inspect/inspect.h"
#include "keys/entry.h"
#include "keys/searchkey.h"
#include "layout/tuple.h"
#include "tree/treepages.h"

/* after so many readings of pages that keep changing, a rule is not checked */
#define MAX_ATTEMPTS	1000

typedef struct TreePage
{
	BlockNumber block;
	Page		page;
} TreePage;

/* Make room for a copy, in the current memory context. */
static TreePage *
make_tree_page(void)
{
	TreePage   *result = palloc(sizeof(TreePage));

	result->block = InvalidBlockNumber;
	result->page = palloc(BLCKSZ);
	return result;
}

static SwareLink
link_of(TreePage *page)
{
	SwareLink	link;

	link.block = page->block;
	link.incarnation = SwarePageGetOpaque(page->page)->incarnation;
	return link;
}

/*
 * Copy a block that something on the page `from` refers to.  Raises an error
 * if the index does not have that block; its file never shrinks.
 */
void
sware_check_copy_block(SwareCheck *check, BlockNumber from, BlockNumber block,
					   Page copy)
{
	CHECK_FOR_INTERRUPTS();
	if (block >= check->indexBlocks)
		check->indexBlocks = RelationGetNumberOfBlocks(check->index);
	if (block >= check->indexBlocks)
		sware_report_corruption(check->index, from,
								"It refers to block %u, but the index has %u blocks.",
								block, check->indexBlocks);
	sware_copy_page(check->index, block, check->strategy, copy);
}

/*
 * Copy the tree page that a link on the page `from` means, and check its
 * frame. Returns false if the block is not that page, which may be so since
 * another session has deleted it.
 */
static bool
copy_linked(SwareCheck *check, BlockNumber from, SwareLink link, int level,
			TreePage *copy)
{
	SwarePageOpaque opaque;

	sware_check_copy_block(check, from, link.block, copy->page);
	copy->block = link.block;
	check->block = link.block;
	sware_validate_frame(check->index, link.block, copy->page);
	if (link.block == SWARE_METAPAGE)
		return false;
	opaque = SwarePageGetOpaque(copy->page);
	return sware_page_is_live(copy->page) &&
		opaque->incarnation == link.incarnation &&
		sware_page_is_of_tree(copy->page) &&
		opaque->level == level;
}

/* Copy and check the metapage. */
void
sware_check_copy_metapage(SwareCheck *check, Page copy)
{
	SwareMetaPage meta = SwarePageGetMeta(copy);

	sware_check_copy_block(check, SWARE_METAPAGE, SWARE_METAPAGE, copy);
	sware_validate_frame(check->index, SWARE_METAPAGE, copy);
	if (meta->root.block == SWARE_METAPAGE || meta->level > PG_UINT16_MAX)
		sware_report_corruption(check->index, SWARE_METAPAGE,
								"The root is block %u on level %u.",
								meta->root.block, meta->level);
	check->root = meta->root;
	check->rootLevel = meta->level;
	check->allEqualImage = meta->allEqualImage;
}

/* Is a page still the same as its copy, byte by byte? */
static bool
is_unchanged(SwareCheck *check, TreePage *page)
{
	PGAlignedBlock now;

	sware_check_copy_block(check, page->block, page->block, now.data);
	return memcmp(now.data, page->page, BLCKSZ) == 0;
}

/*
 * Copy and check the page of a level that a key belongs on, or, if `key` is
 * NULL, the leftmost one.  The levels above have been checked.
 */
static void
seek(SwareCheck *check, const SwareSearchKey *key, int level, TreePage *result)
{
	for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++)
	{
		Buffer		buffer = key ?
			sware_descend(key, level, BUFFER_LOCK_SHARE, NULL) :
			sware_descend_to_edge(check->index, level, false);
		SwareLink	link = sware_page_link(buffer);

		sware_release_buffer(buffer);
		if (copy_linked(check, link.block, link, level, result))
		{
			sware_validate_page(check->index, result->block, result->page);
			return;
		}
	}
	sware_report_corruption(check->index, result->block,
							"Level %d cannot be reached from the root.", level);
}

/* Are two pivots the same but for their links?  Calls no comparator. */
static bool
are_equal_images(IndexTuple a, IndexTuple b)
{
	a = sware_form_high_key(a);
	b = sware_form_high_key(b);
	return IndexTupleSize(a) == IndexTupleSize(b) &&
		memcmp(a, b, IndexTupleSize(a)) == 0;
}

/*
 * Copy the child that a link on the page `from` leads to, or the last one of
 * its right siblings that have no downlink yet.  Sets *child to the last page
 * that was copied.  Like some functions below, returns what is wrong, as a
 * sentence; NULL if nothing is.
 */
static const char *
copy_last_child(SwareCheck *check, BlockNumber from, SwareLink link, int level,
				TreePage *child)
{
	BlockNumber steps = 0;

	for (;;)
	{
		if (!copy_linked(check, from, link, level, child))
			return "The page is not the one that a link to it means.";
		sware_validate_item(check->index, child->block, child->page,
							SWARE_HIGH_KEY);
		if ((SwarePageGetOpaque(child->page)->flags &
			 SWARE_INCOMPLETE_SPLIT) == 0)
			return NULL;
		if (steps++ > check->indexBlocks)
			return "Its right siblings form a circle.";
		link = SwarePageGetOpaque(child->page)->right;
		from = child->block;
	}
}

/*
 * Check the last child, as above, that a downlink or the metapage leads to.  It
 * must be the rightmost of its level, if at_right_edge.  Otherwise its high key
 * must be `bound`, which is the next downlink, or the parent's high key; NULL
 * if it is not known.  `child->block` is the page that has the link; sets
 * *child to the last page that was checked.
 */
static const char *
children_problem(SwareCheck *check, SwareLink link, int level,
				 bool at_right_edge, IndexTuple bound, TreePage *child)
{
	const char *problem = copy_last_child(check, child->block, link, level,
										  child);
	IndexTuple	high_key;

	if (problem)
		return problem;
	if (at_right_edge)
		return sware_page_is_rightmost(child->page) ? NULL :
			"It is the last child of the rightmost parent, but it has a right sibling.";
	if (sware_page_is_rightmost(child->page))
		return "It has no right sibling, but the parent has one, or a downlink to its right.";
	if (bound == NULL || !sware_page_has_high_key(child->page))
		return NULL;
	high_key = sware_page_high_key(child->page);
	if (are_equal_images(bound, high_key))
		return NULL;
	if (sware_compare_pivot(check->index, bound, high_key) != 0)
		return "Its high key is not equal to the parent's next downlink or high key.";
	return NULL;
}

/*
 * Find the first downlink on the pages to the right of an internal page.
 * Returns false if no link leads to one.
 */
static bool
next_cousin(SwareCheck *check, TreePage *parent, int level, SwareLink *cousin)
{
	TreePage   *next = make_tree_page();
	BlockNumber from = parent->block;
	SwareLink	link = SwarePageGetOpaque(parent->page)->right;
	BlockNumber steps = 0;

	for (;;)
	{
		if (!copy_linked(check, from, link, level, next) ||
			steps++ > check->indexBlocks)
			return false;
		if (sware_page_data_count(next->page) > 0)
			break;
		if (sware_page_is_rightmost(next->page))
			return false;
		from = next->block;
		link = SwarePageGetOpaque(next->page)->right;
	}

	sware_validate_item(check->index, next->block, next->page,
						SWARE_FIRST_DATA);
	*cousin = sware_pivot_link(sware_page_tuple(next->page, SWARE_FIRST_DATA));
	return true;
}

/*
 * Check that the right sibling of a parent's last child has a downlink: the
 * first one to the right of this parent.  The last child has been checked.  If
 * the two links differ, it is read once more, since its right link may have
 * changed meanwhile.
 */
static const char *
boundary_problem(SwareCheck *check, TreePage *parent, int level, SwareLink last,
				 IndexTuple bound, TreePage *child)
{
	for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++)
	{
		SwareLink	right = SwarePageGetOpaque(child->page)->right;
		SwareLink	cousin;
		bool		found = next_cousin(check, parent, level, &cousin);
		const char *problem;

		if (found && sware_links_equal(right, cousin))
			return NULL;
		child->block = parent->block;
		problem =
			children_problem(check, last, level - 1, false, bound, child);
		if (problem)
			return problem;
		if (found &&
			sware_links_equal(right, SwarePageGetOpaque(child->page)->right))
			return "Its right sibling has no downlink.";
		if (!is_unchanged(check, parent))
			return "The parent has changed meanwhile.";
	}
	return NULL;
}

/*
 * Is the last page under a downlink, on any level, an empty internal page,
 * whose range has gone to the right?  True also if that cannot be found out.
 */
static bool
gave_range_away(SwareCheck *check, BlockNumber from, SwareLink link, int level)
{
	TreePage   *page = make_tree_page();

	for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++)
	{
		BlockNumber above = from;
		SwareLink	next = link;
		int			current = level;

		while (current > 0 &&
			   copy_last_child(check, above, next, current, page) == NULL)
		{
			OffsetNumber last = PageGetMaxOffsetNumber(page->page);

			if (sware_page_data_count(page->page) == 0)
				return true;
			sware_validate_item(check->index, page->block, page->page, last);
			above = page->block;
			next = sware_pivot_link(sware_page_tuple(page->page, last));
			current--;
		}
		if (current == 0)
			return false;
	}
	return true;
}

/* `bound` is the next downlink or the page's high key. */
static const char *
downlink_disorder(SwareCheck *check, TreePage *parent, OffsetNumber offset,
				  IndexTuple bound)
{
	int			level = SwarePageGetOpaque(parent->page)->level;
	OffsetNumber before = offset - 1;

	/* the first downlink is minus infinity */
	if (offset == SWARE_FIRST_DATA || bound == NULL ||
		sware_compare_pivot(check->index,
							sware_page_tuple(parent->page, offset), bound) < 0)
		return NULL;
	if (gave_range_away(check, parent->block,
						sware_pivot_link(
										 sware_page_tuple(parent->page, before)),
						level - 1))
		return NULL;
	return "The downlink to it is not below the parent's next downlink or high key.";
}

/*
 * Check the children of a page.  If the page has changed meanwhile, *parent
 * becomes a newer copy of it, and all its children are checked again.
 */
static void
check_downlinks(SwareCheck *check, TreePage *parent)
{
	Page		page = parent->page;
	int			level = SwarePageGetOpaque(page)->level;
	SwareLink	self = link_of(parent);
	TreePage   *child = make_tree_page();
	TreePage   *fresh = make_tree_page();
	OffsetNumber offset = SWARE_FIRST_DATA;
	int			attempts = 0;

	while (offset <= PageGetMaxOffsetNumber(page))
	{
		SwareLink	link = sware_pivot_link(sware_page_tuple(page, offset));
		bool		is_last = offset == PageGetMaxOffsetNumber(page);
		bool		at_right_edge = is_last && sware_page_is_rightmost(page);
		IndexTuple	bound = NULL;
		const char *problem;

		if (!is_last)
			bound = sware_page_tuple(page, offset + 1);
		else if (sware_page_has_high_key(page))
			bound = sware_page_high_key(page);

		child->block = parent->block;
		problem = children_problem(check, link, level - 1, at_right_edge,
								   bound, child);
		if (problem == NULL && is_last && !at_right_edge)
			problem =
				boundary_problem(check, parent, level, link, bound, child);
		if (problem == NULL)
			problem = downlink_disorder(check, parent, offset, bound);
		if (problem == NULL || attempts++ > MAX_ATTEMPTS)
		{
			offset++;
			continue;
		}

		if (is_unchanged(check, parent))
			sware_report_corruption(check->index, child->block,
									"%s Found through item %u of block %u on level %d.",
									problem, offset, parent->block, level);

		if (!copy_linked(check, parent->block, self, level, fresh))
			return;
		sware_validate_page(check->index, parent->block, fresh->page);
		memcpy(page, fresh->page, BLCKSZ);

		offset = SWARE_FIRST_DATA;
	}
}

static void
check_root(SwareCheck *check)
{
	TreePage   *metapage = make_tree_page();
	TreePage   *root = make_tree_page();

	metapage->block = SWARE_METAPAGE;
	for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++)
	{
		const char *problem;

		sware_check_copy_metapage(check, metapage->page);
		root->block = SWARE_METAPAGE;
		problem = children_problem(check, check->root, check->rootLevel, true,
								   NULL, root);
		if (problem == NULL)
			break;
		if (is_unchanged(check, metapage))
			sware_report_corruption(check->index, root->block,
									"%s Found as root, on level %u.",
									problem, check->rootLevel);
	}

	if (check->allEqualImage && !_bt_allequalimage(check->index, false))
		sware_report_corruption(check->index, SWARE_METAPAGE,
								"Posting lists are allowed, but equal keys may differ.");
}

/*
 * Check the entries of a leaf.  They must be in order, and below the high key.
 */
static void
check_leaf(SwareCheck *check, Page page)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);

	for (OffsetNumber offset = SWARE_FIRST_DATA; offset <= last; offset++)
	{
		IndexTuple	tuple = sware_page_tuple(page, offset);
		SwareSearchKey key;		/* the place of its last TID */

		sware_search_key_prepare(&key, check->index);
		sware_search_key_set_entry(&key, tuple);
		key.tid = *sware_leaf_tuple_max_tid(tuple);
		if (offset < last &&
			sware_compare_key(&key, sware_page_tuple(page, offset + 1)) >= 0)
			sware_report_corruption(check->index, check->block,
									"Items %u and %u of the leaf are not in order.",
									offset, offset + 1);
		if (offset == last && !sware_page_is_rightmost(page) &&
			sware_compare_key(&key, sware_page_high_key(page)) >= 0)
			sware_report_corruption(check->index, check->block,
									"Item %u of the leaf is not below the high key.",
									offset);
		if (sware_tuple_is_posting(tuple) && !check->allEqualImage)
			sware_report_corruption(check->index, check->block,
									"Item %u is a posting list, but the metapage forbids them.",
									offset);
		sware_check_entries(check, tuple, offset,
							ItemIdIsDead(PageGetItemId(page, offset)));
	}
}

/*
 * Is a tuple of a page not below the high key of its left sibling?  As a rule
 * that has the tuple's own key, so it is not asked where a comparison of equal
 * keys may fail.
 */
static bool
is_right_of(SwareCheck *check, IndexTuple high_key, IndexTuple tuple)
{
	SwareSearchKey key;

	if (!sware_may_wait(check->index))
		return true;
	if (sware_tuple_is_pivot(tuple))
		return sware_compare_pivot(check->index, high_key, tuple) < 0;
	sware_search_key_from_tuple(&key, check->index, tuple);
	return sware_compare_key(&key, high_key) >= 0;
}

/*
 * Returns the last pivot of a page that is not rightmost: its high key or, if
 * it has given that up, its last downlink.  NULL if it has neither.
 */
static IndexTuple
last_pivot(Page page)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);

	if (sware_page_has_high_key(page))
		return sware_page_high_key(page);
	return last >= SWARE_FIRST_DATA ? sware_page_tuple(page, last) : NULL;
}

/*
 * Returns what is wrong with two siblings, as a sentence; NULL if nothing is.
 * Each page is known to be in order, so it is enough to compare the left one's
 * last pivot with the right one's high key, and with its first tuple.
 */
static const char *
siblings_problem(SwareCheck *check, TreePage *left, TreePage *right)
{
	int			level = SwarePageGetOpaque(left->page)->level;
	OffsetNumber last = PageGetMaxOffsetNumber(left->page);
	IndexTuple	high_key = last_pivot(left->page);
	const char *problem = NULL;

	/* the first downlink is minus infinity */
	OffsetNumber first = level > 0 ? SWARE_FIRST_DATA + 1 : SWARE_FIRST_DATA;

	if (!sware_links_equal(SwarePageGetOpaque(right->page)->left,
						   link_of(left)))
		return "The left link does not lead to the left sibling.";
	if (high_key == NULL)
		return NULL;
	if (sware_page_has_high_key(right->page) &&
		!is_right_of(check, high_key, sware_page_high_key(right->page)))
		problem = "The high key is not above that of the left sibling.";
	else if (first <= PageGetMaxOffsetNumber(right->page) &&
			 !is_right_of(check, high_key, sware_page_tuple(right->page, first)))
		problem = "The first item is below the high key of the left sibling.";
	if (problem && level > 0 &&
		(last < SWARE_FIRST_DATA ||
		 gave_range_away(check, left->block,
						 sware_pivot_link(sware_page_tuple(left->page, last)),
						 level - 1)))
		return NULL;
	return problem;
}

/*
 * Copy the right sibling of a page to *next, and check that it is one.  If the
 * current page has changed meanwhile, *current becomes a newer copy of it.  If
 * it has been deleted, *next becomes the page where its key range ended.
 */
static void
step_right(SwareCheck *check, int level, TreePage *current, TreePage *next)
{
	SwareLink	self = link_of(current);
	SwareSearchKey place;
	IndexTuple	pivot;

	for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++)
	{
		const char *problem = "The page is not the one that its left sibling means.";

		if (copy_linked(check, current->block,
						SwarePageGetOpaque(current->page)->right, level, next))
		{
			sware_validate_page(check->index, next->block, next->page);
			problem = siblings_problem(check, current, next);
		}
		if (problem == NULL)
			return;
		if (is_unchanged(check, current))
			sware_report_corruption(check->index, next->block,
									"%s Reached from block %u on level %d.",
									problem, current->block, level);

		/* `next` has room for the newer copy while that is checked */
		if (!copy_linked(check, current->block, self, level, next))
			break;
		sware_validate_page(check->index, next->block, next->page);
		if (sware_page_is_rightmost(next->page))
			sware_report_corruption(check->index, next->block,
									"The page has lost its right sibling.");
		memcpy(current->page, next->page, BLCKSZ);
	}

	/* the search may end further left, on a page that was visited before */
	check->steps = 0;
	pivot = last_pivot(current->page);
	if (pivot)
		sware_search_key_from_tuple(&place, check->index, pivot);
	seek(check, pivot ? &place : NULL, level, next);
}

static void
check_level(SwareCheck *check, int level)
{
	TreePage   *current = make_tree_page();
	TreePage   *next = make_tree_page();
	MemoryContext outer = CurrentMemoryContext;

	check->steps = 0;
	/* the leftmost page of a level stays leftmost until it is deleted */
	seek(check, NULL, level, current);
	if (!sware_page_is_leftmost(current->page))
		sware_report_corruption(
								check->index, current->block,
								"The leftmost page of level %d has block %u for a left sibling.",
								level, SwarePageGetOpaque(current->page)->left.block);

	for (;;)
	{
		TreePage   *swap = current;

		sware_block_set_add(check->visited, current->block);
		MemoryContextSwitchTo(check->pageContext);
		check->block = current->block;
		if (level > 0)
			check_downlinks(check, current);
		else
			check_leaf(check, current->page);
		if (sware_page_is_rightmost(current->page))
			break;
		step_right(check, level, current, next);
		sware_count_step(check->index, next->block, &check->steps);
		MemoryContextSwitchTo(outer);
		MemoryContextReset(check->pageContext);

		current = next;
		next = swap;
	}
	MemoryContextSwitchTo(outer);
	MemoryContextReset(check->pageContext);
}

/* Check the whole tree, and the frames of all other pages. */
void
sware_check_tree(SwareCheck *check)
{
	Page		page = palloc(BLCKSZ);

	check->visited =
		sware_block_set_make(RelationGetNumberOfBlocks(check->index));
	check_root(check);
	for (int level = check->rootLevel; level >= 0; level--)
		check_level(check, level);

	/* pages of the buffer, and unused, deleted or unlinked ones */
	check->indexBlocks = RelationGetNumberOfBlocks(check->index);
	for (BlockNumber block = SWARE_METAPAGE + 1; block < check->indexBlocks;
		 block++)
	{
		if (sware_block_set_has(check->visited, block))
			continue;
		sware_check_copy_block(check, block, block, page);
		if (!PageIsNew(page))
			sware_validate_frame(check->index, block, page);
	}
	pfree(page);
}
