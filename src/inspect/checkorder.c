/*-------------------------------------------------------------------------
 *
 * checkorder.c
 *	  Checking the order on a leaf, and of a page and its right sibling.
 *
 * All pages are private copies that have passed validation (validate.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "inspect/check.h"
#include "keys/searchkey.h"
#include "keys/trust.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"

/* Make a search key for the place of a leaf tuple's last TID. */
static void
key_of_last_tid(SwareSearchKey *key, SwareCheck *check, IndexTuple tuple)
{
	sware_search_key_from_entry(key, check->index, tuple);
	sware_search_key_set_tid(key, sware_leaf_tuple_max_tid(tuple));
}

/*
 * Check that the tuples of check->block, a leaf, are in order, and below the
 * high key.
 */
void
sware_check_leaf_order(SwareCheck *check, Page page)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);

	for (OffsetNumber offset = SWARE_FIRST_DATA; offset <= last; offset++)
	{
		SwareSearchKey key;

		key_of_last_tid(&key, check, sware_page_tuple(page, offset));
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
	sware_search_key_from_entry(&key, check->index, tuple);
	return sware_compare_key(&key, high_key) >= 0;
}

/*
 * Returns the last pivot of a page that is not rightmost: its high key or, if
 * it has given that up, its last downlink.  NULL if it has neither.
 */
IndexTuple
sware_check_last_pivot(Page page)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);

	if (sware_page_has_high_key(page))
		return sware_page_high_key(page);
	return last >= SWARE_FIRST_DATA ? sware_page_tuple(page, last) : NULL;
}

/*
 * Returns what is wrong with the order of two siblings, as a sentence; NULL if
 * nothing is.  Each page is known to be in order, so it is enough to compare
 * the left one's last pivot with the right one's high key, and with its first
 * tuple.
 */
const char *
sware_siblings_disorder(SwareCheck *check, Page left, Page right)
{
	IndexTuple	high_key = sware_check_last_pivot(left);
	OffsetNumber last = PageGetMaxOffsetNumber(right);
	OffsetNumber first = SWARE_FIRST_DATA;

	if (high_key == NULL)
		return NULL;
	if (sware_page_has_high_key(right) &&
		!is_right_of(check, high_key, sware_page_high_key(right)))
		return "The high key is not above that of the left sibling.";

	/* the first downlink is minus infinity */
	if (!sware_page_is_leaf(right))
		first++;
	if (first <= last &&
		!is_right_of(check, high_key, sware_page_tuple(right, first)))
		return "The first item is below the high key of the left sibling.";
	return NULL;
}
