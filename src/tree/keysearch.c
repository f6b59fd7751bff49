/*-------------------------------------------------------------------------
 *
 * keysearch.c
 *	  Looking whether the tree has a key, before another one is inserted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "tree/cache.h"
#include "tree/tree.h"

/*
 * The leaf that holds the first entry of a key, if there is any, pinned and
 * share-locked: the rightmost one, if that is known and fits, else by a descent.
 */
static Buffer
find_leaf(const SwareSearchKey *low)
{
	Relation	index = low->index;
	const SwareLink unknown = {InvalidBlockNumber, 0};
	SwareLink	rightmost = sware_cache(index)->rightmost;
	Buffer		buffer;

	if (sware_link_is_valid(rightmost))
	{
		buffer = sware_read_linked(index, rightmost, 0, BUFFER_LOCK_SHARE);
		if (BufferIsValid(buffer))
		{
			Page		page = BufferGetPage(buffer);

			if (sware_page_is_rightmost(page) &&
				sware_page_last_sorted(page) >= SWARE_FIRST_DATA &&
				sware_compare_key(low, sware_page_tuple(page, SWARE_FIRST_DATA)) > 0)
				return buffer;
			sware_release_buffer(buffer);
		}
		sware_cache_set_rightmost(index, unknown);
	}

	buffer = sware_descend(low, 0, BUFFER_LOCK_SHARE, NULL);
	if (sware_page_is_rightmost(BufferGetPage(buffer)))
		sware_cache_set_rightmost(index, sware_page_link(buffer));
	return buffer;
}

/* Is there an item between two places at offsets first..last, which are in order? */
static bool
has_item_between(const SwareSearchKey *low, const SwareSearchKey *high, Page page,
				 OffsetNumber first, OffsetNumber last)
{
	OffsetNumber offset = sware_search_leaf(low, page, first, last);

	return offset <= last && sware_compare_key(high, sware_page_tuple(page, offset)) > 0;
}

/*
 * May the tree have entries of a key, given by the places before and behind all
 * of them?  If so, others must look closer: they may be on the next leaf.
 * Locks pages, one at a time; the caller holds none.
 */
bool
sware_tree_may_have(const SwareSearchKey *low, const SwareSearchKey *high)
{
	Buffer		buffer = find_leaf(low);
	Page		page = BufferGetPage(buffer);
	OffsetNumber last_sorted = sware_page_last_sorted(page);
	bool		result;

	result = has_item_between(low, high, page, SWARE_FIRST_DATA, last_sorted) ||
		has_item_between(low, high, page, last_sorted + 1, PageGetMaxOffsetNumber(page)) ||
		(!sware_page_is_rightmost(page) &&
		 sware_compare_key(high, sware_page_high_key(page)) > 0);
	sware_release_buffer(buffer);
	return result;
}
