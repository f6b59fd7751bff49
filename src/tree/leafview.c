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
 * The same for the upper end of a range, searched from `from` to the view's
 * end.  As a rule the range has either all these tuples or only a few.
 */
int
sware_view_search_end(const SwareLeafView *view, const SwareSearchKey *key,
					  int from)
{
	int			to = view->count;

	if (from == to || key->columnCount == 0 ||
		sware_compare_key(key, sware_view_tuple(view, to - 1)) > 0)
		return to;

	to--;
	for (int step = 1; from < to; step *= 2)
	{
		int			probe = Min(from + step, to) - 1;

		if (sware_compare_key(key, sware_view_tuple(view, probe)) <= 0)
			return sware_view_search(view, key, from, probe);
		from = probe + 1;
	}
	return from;
}

/*
 * The same for the lower end of a range, searched from the view's beginning
 * to `to`.
 */
int
sware_view_search_begin(const SwareLeafView *view, const SwareSearchKey *key,
						int to)
{
	int			from = 0;

	if (to == 0 || key->columnCount == 0 ||
		sware_compare_key(key, sware_view_tuple(view, 0)) <= 0)
		return 0;

	from++;
	for (int step = 1; from < to; step *= 2)
	{
		int			probe = Max(to - step, from);

		if (sware_compare_key(key, sware_view_tuple(view, probe)) > 0)
			return sware_view_search(view, key, probe + 1, to);
		to = probe;
	}
	return from;
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
