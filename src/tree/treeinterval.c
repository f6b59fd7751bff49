/*-------------------------------------------------------------------------
 *
 * treeinterval.c
 *	  Where intervals of a parallel scan end in the tree: finds places that are
 *	  a few leaves apart.
 *
 * Any place is correct as the end of an interval: a participant of a parallel
 * scan asks which entries lie in its interval, not on which pages they are.
 * The pivots just above the leaves are good places, since an interval then
 * begins and ends with a leaf.  One content lock is held at a time, so other
 * sessions may change the tree meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "keys/searchkey.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "tree/tree.h"
#include "tree/treepages.h"

/*
 * Find a pivot that lies about `leaves` leaves, or fewer, beyond a place in
 * the direction.  If the place has no columns, begin at the tree's first leaf
 * in the direction.  When going backward, the place is `below`.  `pivot` has
 * room for SWARE_MAX_PIVOT_SIZE bytes.
 *
 * Returns false if the tree ends there, or if no such pivot is found since
 * other sessions change the tree: then the rest counts as one interval.
 */
bool
sware_tree_interval_end(const SwareSearchKey *place, bool forward, int leaves,
						IndexTuple pivot)
{
	Relation	index = place->index;
	Buffer		buffer;
	Page		page;
	OffsetNumber last;
	OffsetNumber offset;

	Assert(place->columnCount == 0 || place->below == !forward);
	if (!sware_tree_has_downlinks(index))
		return false;

	buffer = place->columnCount == 0 ?
		sware_descend_to_edge(index, 1, !forward) :
		sware_descend(place, 1, BUFFER_LOCK_SHARE, NULL);
	page = BufferGetPage(buffer);
	last = PageGetMaxOffsetNumber(page);
	offset = forward ? SWARE_FIRST_DATA : last;
	if (place->columnCount > 0 && last >= SWARE_FIRST_DATA)
		offset = sware_search_internal(place, BufferGetBlockNumber(buffer),
									   page);

	if (forward && offset + leaves <= last)
		offset += leaves;
	else if (forward && !sware_page_has_high_key(page))
		offset = offset < last ? last : InvalidOffsetNumber;
	else if (forward)
		offset = SWARE_HIGH_KEY;
	else if (offset >= SWARE_FIRST_DATA + leaves)
		offset -= leaves - 1;
	else
	{
		/* the first downlink has no key, so no interval ends there */
		SwareLink	link = sware_page_link(buffer);
		SwareLink	left = SwarePageGetOpaque(page)->left;

		sware_release_buffer(buffer);
		buffer = sware_step_left(index, left, link, 1);
		if (!BufferIsValid(buffer))
			return false;
		page = BufferGetPage(buffer);
		offset = sware_page_has_high_key(page) ? SWARE_HIGH_KEY :
			InvalidOffsetNumber;
	}

	if (offset != InvalidOffsetNumber)
	{
		BlockNumber block = BufferGetBlockNumber(buffer);
		IndexTuple	found = sware_checked_pivot(index, block, page, offset);

		if (IndexTupleSize(found) > SWARE_MAX_PIVOT_SIZE ||
			sware_tuple_count(found) == 0)
			sware_report_item(index, block, page, offset);
		memcpy(pivot, found, IndexTupleSize(found));
	}
	sware_release_buffer(buffer);
	return offset != InvalidOffsetNumber;
}
