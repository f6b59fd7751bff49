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
#include "pages/corruption.h"
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

/* The entry or posting list at an offset of a view's page. */
static inline IndexTuple
entry_at(const void *source, int offset)
{
	return sware_view_entry(source, offset);
}

/*
 * Return the first of the offsets first..end-1 whose tuple is not before a
 * place; `end` if there is none.  All of them must be in the sorted part, or
 * all in the append area.
 */
static OffsetNumber
search_page(const SwareLeafView *view, const SwareSearchKey *key,
			OffsetNumber first, OffsetNumber end)
{
	return sware_search(key, entry_at, view, first, end, false);
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
	if (!view->merged)
		return search_page(view, key, SWARE_FIRST_DATA + from,
						   SWARE_FIRST_DATA + to) - SWARE_FIRST_DATA;
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

/*
 * Merge the offsets first..end-1, which are in the sorted part, with
 * first_added..end_added-1, which are in the append area.
 */
static void
view_merge(SwareLeafView *view, OffsetNumber first, OffsetNumber end,
		   OffsetNumber first_added, OffsetNumber end_added)
{
	view->merged = true;
	view->count = 0;
	for (OffsetNumber added = first_added; added < end_added; added++)
	{
		SwareSearchKey key;
		OffsetNumber place;

		sware_search_key_from_entry(&key, view->index,
									sware_view_entry(view, added));
		place = search_page(view, &key, first, end);
		while (first < place)
			view->offsets[view->count++] = first++;
		view->offsets[view->count++] = added;
	}
	while (first < end)
		view->offsets[view->count++] = first++;
}

/*
 * Make a view of a leaf whose page header has been checked.  `low` and
 * `high`, unless NULL, are the places between which tuples are wanted.
 */
void
sware_view_init(SwareLeafView *view, Relation index, Buffer buffer,
				const SwareSearchKey *low, const SwareSearchKey *high)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber first = SWARE_FIRST_DATA;
	OffsetNumber end = sware_page_last_sorted(page) + 1;
	OffsetNumber first_added = end;
	OffsetNumber end_added = PageGetMaxOffsetNumber(page) + 1;

	view->index = index;
	view->block = BufferGetBlockNumber(buffer);
	view->page = page;
	view->merged = false;
	view->missingBelow = view->missingAbove = false;
	view->count = sware_page_data_count(page);
	if (SwarePageGetOpaque(page)->appendItems == 0)
		return;

	/* merging costs comparisons, so leave out tuples that are not wanted */
	if (low && low->columnCount > 0)
	{
		OffsetNumber wanted = search_page(view, low, first, end);
		OffsetNumber wanted_added =
			search_page(view, low, first_added, end_added);

		view->missingBelow = wanted > first || wanted_added > first_added;
		first = wanted;
		first_added = wanted_added;
	}
	if (high && high->columnCount > 0)
	{
		OffsetNumber wanted = search_page(view, high, first, end);
		OffsetNumber wanted_added =
			search_page(view, high, first_added, end_added);

		/* a part of a posting list may be below `high` */
		if (high->hasTid && wanted < end)
			wanted++;
		view->missingAbove = wanted < end || wanted_added < end_added;
		end = wanted;
		end_added = wanted_added;
	}
	view_merge(view, first, end, first_added, end_added);
}
