/*-------------------------------------------------------------------------
 *
 * checkorder.c
 *	  Is a leaf in order, and is a page in order with its right sibling?
 *
 * All pages are validated private copies.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "inspect/check.h"
#include "inspect/validate.h"
#include "tree/tree.h"

/* The place of the last TID of a leaf tuple. */
static void
key_of_last_tid(SwareSearchKey *key, SwareCheck *check, IndexTuple tuple)
{
	sware_search_key_from_entry(key, check->index, tuple);
	sware_search_key_set_tid(key, sware_leaf_tuple_max_tid(tuple));
}

/* Does a pivot lie below another one? */
bool
sware_pivot_is_below(SwareCheck *check, IndexTuple a, IndexTuple b)
{
	SwareSearchKey key;

	sware_search_key_from_pivot(&key, check->index, a);
	return sware_compare_key(&key, b) < 0;
}

/*
 * Check that the tuples first..last of a leaf are in order and below the
 * high key.
 */
static void
check_leaf_part(SwareCheck *check, Page page, OffsetNumber first, OffsetNumber last)
{
	for (OffsetNumber offset = first; offset <= last; offset++)
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
 * Check that nothing in the append area is in the sorted part as well, or
 * within the range of one of its posting lists.  Both are in order.
 */
static void
check_append_area(SwareCheck *check, Page page)
{
	OffsetNumber last_sorted = sware_page_last_sorted(page);

	for (OffsetNumber offset = last_sorted + 1;
		 offset <= PageGetMaxOffsetNumber(page); offset++)
	{
		IndexTuple	tuple = sware_page_tuple(page, offset);
		SwareSearchKey key;
		OffsetNumber place;

		if (sware_tuple_is_posting(tuple))
			sware_report_corruption(check->index, check->block,
									"Item %u is a posting list in the append area.",
									offset);
		sware_search_key_from_entry(&key, check->index, tuple);
		place = sware_search_leaf(&key, page, SWARE_FIRST_DATA, last_sorted);
		if (place <= last_sorted &&
			sware_compare_key(&key, sware_page_tuple(page, place)) == 0)
			sware_report_corruption(check->index, check->block,
									"Item %u of the append area is equal to item %u, or within it.",
									offset, place);
	}
}

/* Check the order of the items of check->block, a leaf. */
void
sware_check_leaf_order(SwareCheck *check, Page page)
{
	OffsetNumber last_sorted = sware_page_last_sorted(page);

	check_leaf_part(check, page, SWARE_FIRST_DATA, last_sorted);
	check_leaf_part(check, page, last_sorted + 1, PageGetMaxOffsetNumber(page));
	check_append_area(check, page);
}

/* Is a tuple of the right sibling where the left one's high key allows it? */
static bool
is_right_of(SwareCheck *check, IndexTuple high_key, IndexTuple tuple)
{
	SwareSearchKey key;

	if (sware_tuple_is_pivot(tuple))
		return sware_pivot_is_below(check, high_key, tuple);
	sware_search_key_from_entry(&key, check->index, tuple);
	return sware_compare_key(&key, high_key) >= 0;
}

/*
 * What is wrong with the order of two neighbours, NULL if nothing.  It is
 * enough to look at where the parts of the right one begin: a pivot and its
 * first tuples.
 */
const char *
sware_siblings_disorder(SwareCheck *check, Page left, Page right)
{
	IndexTuple	high_key = sware_page_high_key(left);
	OffsetNumber last = PageGetMaxOffsetNumber(right);
	OffsetNumber first = SWARE_FIRST_DATA;
	OffsetNumber first_appended = sware_page_last_sorted(right) + 1;

	if (!sware_page_is_rightmost(right) &&
		!is_right_of(check, high_key, sware_page_high_key(right)))
		return "The high key is not above that of the left sibling.";

	/* the first downlink is minus infinity */
	if (!sware_page_is_leaf(right))
		first++;
	if ((first <= last && !is_right_of(check, high_key, sware_page_tuple(right, first))) ||
		(first_appended <= last &&
		 !is_right_of(check, high_key, sware_page_tuple(right, first_appended))))
		return "The first item is below the high key of the left sibling.";
	return NULL;
}
