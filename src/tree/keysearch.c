/*-------------------------------------------------------------------------
 *
 * keysearch.c
 *	  Checks whether the tree has a key, before an entry with that key is
 *	  inserted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "keys/searchkey.h"
#include "layout/page.h"
#include "pages/pageaccess.h"
#include "tree/descent.h"
#include "tree/tree.h"

/*
 * Has a leaf an item between two places?  Items that are marked as dead to
 * everybody do not count.
 */
static bool
has_item_between(const SwareSearchKey *low, const SwareSearchKey *high,
				 Page page)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	OffsetNumber offset =
		sware_search_leaf(low, page, SWARE_FIRST_DATA, last);

	for (; offset <= last; offset++)
	{
		if (sware_compare_key(high, sware_page_tuple(page, offset)) <= 0)
			return false;
		if (!ItemIdIsDead(PageGetItemId(page, offset)))
			return true;
	}
	return false;
}

/*
 * May the tree have entries with a key?  `low` and `high` are the places
 * before and behind all of them.  Only the leaf of `low` is examined.  If the
 * key's entries may be on the next leaf, the result is true, so a caller that
 * gets true must look for them itself.  The caller holds no content locks.
 */
bool
sware_tree_may_have(const SwareSearchKey *low, const SwareSearchKey *high)
{
	Buffer		buffer;
	Page		page;
	bool		result;

	buffer = sware_seek_leaf(low);
	page = BufferGetPage(buffer);
	result = has_item_between(low, high, page) ||
		(!sware_page_is_rightmost(page) &&
		 sware_compare_key(high, sware_page_high_key(page)) > 0);
	sware_release_buffer(buffer);
	return result;
}
