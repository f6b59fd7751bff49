/*-------------------------------------------------------------------------
 *
 * splitpoint.c
 *	  Choosing where to split a page.
 *
 * Three things count, in this order: both halves must fit; space should be
 * left where the next entries will come; the pivot should be short, and if
 * possible without a TID, so that a key's duplicates stay together.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/options.h"
#include "tree/tree.h"

/* internal pages are left this full (in %) where they grow at the right */
#define INTERNAL_FILLFACTOR		90

/* split points this far (in % of a page) from the best one still count */
#define TOLERANCE				6

typedef struct SplitContext
{
	Relation	index;
	bool		isLeaf;
	const SwareItems *items;
	Size		total;			/* space of all items */
	Size		leftRoom;		/* less the left page's new high key */
	Size		rightRoom;
} SplitContext;

/* Is a TID just behind another one, as those of rows inserted in turn are? */
static bool
follows_closely(ItemPointer before, ItemPointer tid)
{
	BlockNumber block_before = ItemPointerGetBlockNumber(before);
	BlockNumber block = ItemPointerGetBlockNumber(tid);

	if (block == block_before)
		return ItemPointerGetOffsetNumber(tid) ==
			ItemPointerGetOffsetNumber(before) + 1;
	return block == block_before + 1 &&
		ItemPointerGetOffsetNumber(tid) == FirstOffsetNumber;
}

/*
 * How much of a page's capacity should the left half take, in bytes?
 */
static Size
left_target(const SplitContext *split, Page page, int new_item)
{
	const SwareItems *items = split->items;
	bool		is_last = new_item == items->count - 1;
	bool		is_rightmost = sware_page_is_rightmost(page);
	Size		capacity = SWARE_PAGE_CAPACITY;
	Size		space = 0;

	if (!split->isLeaf)
	{
		if (is_rightmost && is_last)
			return capacity * INTERNAL_FILLFACTOR / 100;
		return split->total / 2;
	}

	/* keys that arrive in order at the right edge */
	if (is_rightmost && is_last)
		return capacity * sware_fillfactor(split->index) / 100;

	if (new_item > 0)
	{
		IndexTuple	before = items->tuples[new_item - 1];
		IndexTuple	added = items->tuples[new_item];

		/* one key's duplicates, which arrive in TID order */
		if (is_last &&
			sware_pivot_columns_needed(split->index, items->tuples[0], added) >
			IndexRelationGetNumberOfKeyAttributes(split->index))
			return capacity * sware_fillfactor(split->index) / 100;

		/*
		 * Keys that arrive in order just here, among others that came early:
		 * the next one belongs behind this one, so that is where to split.
		 */
		if (follows_closely(sware_leaf_tuple_max_tid(before),
							sware_leaf_tuple_tids(added)))
		{
			for (int i = 0; i <= new_item; i++)
				space += sware_item_space(items->tuples[i]);
			return Min(space, capacity * sware_fillfactor(split->index) / 100);
		}
	}

	if (is_rightmost)
		return capacity * sware_split_ratio(split->index) / 100;
	return split->total / 2;
}

/*
 * Room of the pivot between two neighbours, at most; exactly known only once
 * it is made, so take the worst case.
 */
Size
sware_pivot_space(IndexTuple first_right)
{
	Size		size = sware_tuple_is_pivot(first_right) ?
		IndexTupleSize(first_right) :
		sware_leaf_tuple_key_size(first_right) + SWARE_TAIL_SIZE;

	return MAXALIGN(size) + sizeof(ItemIdData);
}

/* What keeping a pivot costs: columns of it, one more for the TID. */
static int
pivot_cost(const SplitContext *split, int first_right)
{
	IndexTuple	right = split->items->tuples[first_right];

	if (!split->isLeaf)
		return sware_tuple_count(right) + (sware_pivot_has_tid(right) ? 1 : 0);
	return sware_pivot_columns_needed(split->index,
									  split->items->tuples[first_right - 1], right);
}

/*
 * The best split point whose left side differs from the target by no more
 * than `tolerance`: one with the cheapest pivot, and among these the closest.
 * Returns 0 if none is possible.
 */
static int
best_split_point(const SplitContext *split, Size target, Size tolerance, int *cost)
{
	const SwareItems *items = split->items;
	Size		left = 0;
	int			best = 0;
	Size		best_distance = 0;

	*cost = 0;
	for (int i = 1; i < items->count; i++)
	{
		Size		distance;
		int			this_cost;

		left += sware_item_space(items->tuples[i - 1]);
		if (left + sware_pivot_space(items->tuples[i]) > split->leftRoom ||
			split->total - left > split->rightRoom)
			continue;
		distance = left > target ? left - target : target - left;
		if (distance > tolerance)
			continue;
		this_cost = pivot_cost(split, i);
		if (best == 0 || this_cost < *cost ||
			(this_cost == *cost && distance < best_distance))
		{
			best = i;
			best_distance = distance;
			*cost = this_cost;
		}
	}
	return best;
}

/* The possible split point closest to the target; 0 if none is possible. */
static int
closest_split_point(const SplitContext *split, Size target)
{
	const SwareItems *items = split->items;
	Size		left = 0;
	int			best = 0;
	Size		best_distance = 0;

	for (int i = 1; i < items->count; i++)
	{
		Size		distance;

		left += sware_item_space(items->tuples[i - 1]);
		if (left + sware_pivot_space(items->tuples[i]) > split->leftRoom ||
			split->total - left > split->rightRoom)
			continue;
		distance = left > target ? left - target : target - left;
		if (best == 0 || distance < best_distance)
		{
			best = i;
			best_distance = distance;
		}
	}
	return best;
}

/*
 * Choose how many of `items` stay on the left of a split of `page`.  The
 * items are those of the page and new ones, of which `new_item` is the last
 * that was added.  The caller holds an exclusive lock on the page.
 */
int
sware_find_split_point(Relation index, Page page, const SwareItems *items, int new_item)
{
	SplitContext split;
	int			key_columns = IndexRelationGetNumberOfKeyAttributes(index);
	Size		target;
	int			closest;
	int			best;
	int			cost;

	split.index = index;
	split.isLeaf = sware_page_is_leaf(page);
	split.items = items;
	split.total = 0;
	for (int i = 0; i < items->count; i++)
		split.total += sware_item_space(items->tuples[i]);
	split.leftRoom = SWARE_PAGE_CAPACITY;
	split.rightRoom = SWARE_PAGE_CAPACITY -
		(sware_page_is_rightmost(page) ? sizeof(ItemIdData) :
		 sware_item_space(sware_page_high_key(page)));

	target = left_target(&split, page, new_item);
	closest = closest_split_point(&split, target);
	if (closest == 0)
		elog(ERROR, "found no way to split a page of index \"%s\"",
			 RelationGetRelationName(index));

	/* the target itself may lie out of reach */
	target = 0;
	for (int i = 0; i < closest; i++)
		target += sware_item_space(items->tuples[i]);

	best = best_split_point(&split, target,
							SWARE_PAGE_CAPACITY * TOLERANCE / 100, &cost);
	if (split.isLeaf && cost > key_columns)
	{
		/* rather between two keys, if there are two that are no extremes */
		int			anywhere = best_split_point(&split, split.total / 2,
												split.total * 4 / 10, &cost);

		if (anywhere != 0 && cost <= key_columns)
			best = anywhere;
	}
	return best != 0 ? best : closest;
}
