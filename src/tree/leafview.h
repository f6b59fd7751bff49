/*-------------------------------------------------------------------------
 *
 * leafview.h
 *	  A view of a leaf, for scans: its tuples in index order.
 *
 * A view points into its page.  Its user must hold a content lock on the page
 * as long as it uses the view.  The items and posting lists that it returns
 * are checked (sware_checked_item).
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_LEAFVIEW_H
#define SWARE_LEAFVIEW_H

#include "storage/bufmgr.h"

#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"

/* The tuples of a leaf, which have the indexes 0..count-1. */
typedef struct SwareLeafView
{
	Relation	index;
	BlockNumber block;
	Page		page;
	int			count;
} SwareLeafView;

/* Return the entry or posting list at an offset that the page has. */
static inline IndexTuple
sware_view_entry(const SwareLeafView *view, OffsetNumber offset)
{
	IndexTuple	tuple =
		sware_checked_item(view->index, view->block, view->page, offset);

	if (unlikely(sware_tuple_is_special(tuple) &&
				 !sware_is_sound_posting(tuple)))
		sware_report_item(view->index, view->block, view->page, offset);
	return tuple;
}

/* Return the high key of a page that is not the rightmost. */
static inline IndexTuple
sware_view_high_key(const SwareLeafView *view)
{
	return sware_checked_pivot(view->index, view->block, view->page,
							   SWARE_HIGH_KEY);
}

/* Return the offset of a view's tuple `i`, 0 <= i < count. */
static inline OffsetNumber
sware_view_offset(int i)
{
	return (OffsetNumber) (SWARE_FIRST_DATA + i);
}

static inline IndexTuple
sware_view_tuple(const SwareLeafView *view, int i)
{
	return sware_view_entry(view, sware_view_offset(i));
}

static inline bool
sware_view_is_marked(const SwareLeafView *view, int i)
{
	return ItemIdIsDead(PageGetItemId(view->page, sware_view_offset(i)));
}

/* Make a view of a leaf whose page header has been checked. */
static inline void
sware_view_init(SwareLeafView *view, Relation index, Buffer buffer)
{
	view->index = index;
	view->block = BufferGetBlockNumber(buffer);
	view->page = BufferGetPage(buffer);
	view->count = sware_page_data_count(view->page);
}

#endif							/* SWARE_LEAFVIEW_H */
