/*-------------------------------------------------------------------------
 *
 * leafview.h
 *	  A leaf as scans look at it: its tuples in index order.
 *
 * A view points into its page; whoever uses it holds a content lock on that,
 * or owns a copy.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_LEAFVIEW_H
#define SWARE_LEAFVIEW_H

#include "tree/tree.h"

/*
 * The tuples of a leaf in index order, append area merged in.  Index 0 is
 * the first.  With an append area and only one range to read, tuples that
 * lie outside of it may be missing.
 */
typedef struct SwareLeafView
{
	Page		page;
	int			count;
	bool		merged;			/* offsets in `offsets`? else without gaps */
	bool		missingBelow;	/* has the page tuples below those seen here? */
	bool		missingAbove;
	OffsetNumber offsets[SWARE_MAX_ITEMS_PER_PAGE];
} SwareLeafView;

/* the tuple at a place of the view, 0 <= i < count */
static inline IndexTuple
sware_view_tuple(const SwareLeafView *view, int i)
{
	return sware_page_tuple(view->page, view->merged ? view->offsets[i] :
							(OffsetNumber) (SWARE_FIRST_DATA + i));
}

extern void sware_view_init(SwareLeafView *view, Relation index, Page page,
							const SwareSearchKey *low, const SwareSearchKey *high);
extern int	sware_view_search(const SwareLeafView *view, const SwareSearchKey *key,
							  int from, int to);
extern int	sware_view_search_end(const SwareLeafView *view, const SwareSearchKey *key,
								  int from);
extern int	sware_view_search_begin(const SwareLeafView *view, const SwareSearchKey *key,
									int to);

#endif							/* SWARE_LEAFVIEW_H */
