/*-------------------------------------------------------------------------
 *
 * treeinterval.c
 *	  Where intervals of a parallel scan end in the tree: finds places that are
 *	  a few leaves apart.
 *
 * Any place is correct as the end of an interval: a participant of a parallel
 * scan asks which entries lie in its interval, not on which pages they are.
 * The pivots just above the leaves are good places, since an interval then
 * begins and ends with a leaf.  Other sessions may change the tree while this
 * is looking for a place.
 *
 * One content lock is held at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "keys/searchkey.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "tree/tree.h"
#include "tree/treepages.h"

/*
 * How often to try a step to the left while other sessions change the tree;
 * then the rest of the tree counts as one interval.
 */
#define MAX_ATTEMPTS	10

/*
 * Return the page of level 1 that has the downlink for a place, or the first
 * such page in the direction if the place has no columns.  The page is pinned
 * and share-locked.
 */
static Buffer
read_parent(const SwareSearchKey *place, bool forward)
{
	if (place->columnCount == 0)
		return sware_descend_to_edge(place->index, 1, !forward);
	return sware_descend(place, 1, BUFFER_LOCK_SHARE, NULL);
}

/*
 * Copy the pivot at an offset of a locked page, which is released.  Returns
 * false if the offset is invalid.
 */
static bool
take_pivot(Relation index, Buffer buffer, OffsetNumber offset, IndexTuple to)
{
	if (offset != InvalidOffsetNumber)
	{
		BlockNumber block = BufferGetBlockNumber(buffer);
		Page		page = BufferGetPage(buffer);
		IndexTuple	pivot = sware_checked_pivot(index, block, page, offset);

		if (IndexTupleSize(pivot) > SWARE_MAX_PIVOT_SIZE ||
			sware_tuple_count(pivot) == 0)
			sware_report_item(index, block, page, offset);
		memcpy(to, pivot, IndexTupleSize(pivot));
	}
	sware_release_buffer(buffer);
	return offset != InvalidOffsetNumber;
}

/* Find the pivot above the next `leaves` leaves, or fewer. */
static bool
find_above(const SwareSearchKey *place, int leaves, IndexTuple pivot)
{
	Buffer		buffer = read_parent(place, true);
	Page		page = BufferGetPage(buffer);
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	OffsetNumber offset = SWARE_FIRST_DATA;

	if (place->columnCount > 0 && last >= SWARE_FIRST_DATA)
		offset =
			sware_search_internal(place, BufferGetBlockNumber(buffer), page);
	if (offset + leaves <= last)
		offset += leaves;
	else if (sware_page_has_high_key(page))
		offset = SWARE_HIGH_KEY;
	else
		offset = offset < last ? last : InvalidOffsetNumber;
	return take_pivot(place->index, buffer, offset, pivot);
}

/* Find the pivot below the next `leaves` leaves, or fewer. */
static bool
find_below(const SwareSearchKey *place, int leaves, IndexTuple pivot)
{
	for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++)
	{
		Buffer		buffer = read_parent(place, false);
		Page		page = BufferGetPage(buffer);
		OffsetNumber offset = PageGetMaxOffsetNumber(page);
		SwareLink	sibling = SwarePageGetOpaque(page)->left;
		SwareLink	link = sware_page_link(buffer);

		if (place->columnCount > 0 && offset >= SWARE_FIRST_DATA)
			offset = sware_search_internal(place, BufferGetBlockNumber(buffer),
										   page);

		/* the first downlink has no key, so no interval ends there */
		if (offset >= SWARE_FIRST_DATA + leaves)
			return take_pivot(place->index, buffer, offset - leaves + 1, pivot);
		sware_release_buffer(buffer);
		if (!sware_link_is_valid(sibling))
			return false;

		CHECK_FOR_INTERRUPTS();
		buffer = sware_step_left(place->index, sibling, link, 1);
		if (BufferIsValid(buffer))
			return take_pivot(place->index, buffer,
							  sware_page_has_high_key(BufferGetPage(buffer)) ?
							  SWARE_HIGH_KEY : InvalidOffsetNumber, pivot);
	}
	return false;
}

/*
 * Find a pivot that lies about `leaves` leaves, or fewer, beyond a place in
 * the direction.  If the place has no columns, begin at the tree's first leaf
 * in the direction.  When going backward, the place is `below`.  `pivot` has
 * room for SWARE_MAX_PIVOT_SIZE bytes.
 *
 * Returns false if the tree ends there, or if no such pivot is found.
 */
bool
sware_tree_interval_end(const SwareSearchKey *place, bool forward, int leaves,
						IndexTuple pivot)
{
	Assert(place->columnCount == 0 || place->below == !forward);
	if (!sware_tree_has_downlinks(place->index))
		return false;
	return forward ? find_above(place, leaves, pivot) :
		find_below(place, leaves, pivot);
}
