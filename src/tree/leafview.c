/*-------------------------------------------------------------------------
 *
 * leafview.c
 *	  A view of a leaf, for scans.  See leafview.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "keys/numbersearch.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "pages/pageaccess.h"
#include "tree/leafview.h"

/*
 * Return the number of TIDs of a leaf whose page header has been checked.
 * Raises an error if there are more than SWARE_MAX_TIDS_PER_PAGE.
 */
int
sware_leaf_tid_count(Relation index, BlockNumber block, Page page)
{
	SwareLeafView view;
	int			count = 0;

	view.index = index;
	view.block = block;
	view.page = page;
	for (OffsetNumber offset = SWARE_FIRST_DATA;
		 offset <= PageGetMaxOffsetNumber(page); offset++)
	{
		count += sware_leaf_tuple_tid_count(sware_view_entry(&view, offset));
		if (unlikely(count > SWARE_MAX_TIDS_PER_PAGE))
			sware_report_corruption(index, block, "Items overlap.");
	}
	return count;
}

/* The tuple of a view with an index. */
static inline IndexTuple
tuple_at(const void *source, int i)
{
	return sware_view_tuple(source, i);
}

/*
 * Return the index of the first of the view's tuples from..to-1 that is not
 * before a place; `to` if there is none.
 */
int
sware_view_search(const SwareLeafView *view, const SwareSearchKey *key,
				  int from, int to)
{
	return sware_search(key, tuple_at, view, from, to, false);
}

/*
 * The same for the other end of a range, searched from the gap before the
 * tuple `from` to an end of the view.  As a rule the range has either all these
 * tuples or only a few; with `has_few` only the latter is likely.
 */
int
sware_view_search_on(const SwareLeafView *view, const SwareSearchKey *key,
					 int from, bool forward, bool has_few)
{
	int			low = forward ? from : 0;
	int			high = forward ? view->count : from;

	if (low == high || key->columnCount == 0)
		return forward ? high : low;
	if (!has_few && forward)
	{
		if (sware_compare_key(key, sware_view_tuple(view, high - 1)) > 0)
			return high;
		high--;
	}
	else if (!has_few)
	{
		if (sware_compare_key(key, sware_view_tuple(view, low)) <= 0)
			return low;
		low++;
	}

	for (int step = 1, previous = 0; low < high;)
	{
		int			next = step + previous;
		int			probe = forward ? Min(low + step, high) - 1 :
			Max(high - step, low);
		bool		is_behind =
			sware_compare_key(key, sware_view_tuple(view, probe)) > 0;

		if (is_behind)
			low = probe + 1;
		else
			high = probe;
		if (is_behind != forward)
			return sware_view_search(view, key, low, high);
		previous = step;
		step = next;
	}
	return low;
}

/* Make a view of a leaf whose page header has been checked. */
void
sware_view_init(SwareLeafView *view, Relation index, Buffer buffer)
{
	view->index = index;
	view->block = BufferGetBlockNumber(buffer);
	view->page = BufferGetPage(buffer);
	view->count = sware_page_data_count(view->page);
}
