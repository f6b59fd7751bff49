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

#include "base/options.h"
#include "keys/entry.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "tree/pagewrite.h"
#include "tree/split.h"

/* internal pages are left this full (in %) where they grow at the right */
#define INTERNAL_FILLFACTOR		90

/*
 * Pages full of one key are left this full (in %) where its TIDs arrive in
 * order, whatever the fill factor: nothing will come between them.
 */
#define SINGLE_KEY_FILLFACTOR	98

/* split points this far (in % of a page) from the best one still count */
#define TOLERANCE				6

typedef struct SplitContext
{
	Relation	index;
	bool		isLeaf;
	bool		isEven;			/* both halves will grow */
	SwareItems *items;
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

/* Do all items have the same key? */
static bool
has_single_key(const SplitContext *split)
{
	const SwareItems *items = split->items;

	return sware_pivot_columns_needed(split->index, items->tuples[0],
									  items->tuples[items->count - 1]) >
		IndexRelationGetNumberOfKeyAttributes(split->index);
}

/*
 * How much of a page's capacity should the left half take, in bytes?  Sets
 * isEven.
 */
static Size
left_target(SplitContext *split, Page page, int new_item)
{
	const SwareItems *items = split->items;
	bool		is_last = new_item == items->count - 1;
	bool		is_rightmost = sware_page_is_rightmost(page);
	Size		capacity = SWARE_PAGE_CAPACITY;
	Size		space = 0;

	split->isEven = false;
	if (!split->isLeaf)
	{
		if (is_rightmost && is_last)
			return capacity * INTERNAL_FILLFACTOR / 100;
		split->isEven = true;
		return split->total / 2;
	}

	/* one key's duplicates, which arrive in TID order */
	if (is_last && has_single_key(split))
		return capacity * SINGLE_KEY_FILLFACTOR / 100;

	/* keys that arrive in order at the right edge */
	if (is_rightmost && is_last)
		return capacity * sware_fillfactor(split->index) / 100;

	if (new_item > 0)
	{
		IndexTuple	before = items->tuples[new_item - 1];
		IndexTuple	added = items->tuples[new_item];

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
	split->isEven = true;
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
		sware_leaf_tuple_key_size(first_right) + SWARE_SUFFIX_SIZE;

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
									  split->items->tuples[first_right - 1],
									  right);
}

/*
 * The space on the right of a split before the item `first`; that on its left
 * is `left`.
 */
static inline Size
right_space(const SplitContext *split, int first, Size left)
{
	Size		space = split->total - left;

	/* of the first downlink, nothing but the link remains */
	if (!split->isLeaf)
		space -= IndexTupleSize(split->items->tuples[first]) -
			SWARE_MINUS_INFINITY_SIZE;
	return space;
}

/*
 * The next split point behind another (at first, 0) at which both halves fit; 0
 * if there is none.  `left` is the space of the items before the former, and
 * becomes that of those before the latter.
 */
static inline int
next_split_point(const SplitContext *split, int point, Size *left)
{
	IndexTuple *tuples = split->items->tuples;

	while (++point < split->items->count)
	{
		*left += sware_item_space(tuples[point - 1]);
		if (*left + sware_pivot_space(tuples[point]) <= split->leftRoom &&
			right_space(split, point, *left) <= split->rightRoom)
			return point;
	}
	return 0;
}

static inline Size
distance(Size a, Size b)
{
	return a > b ? a - b : b - a;
}

/*
 * The best split point whose left side differs from the target by no more
 * than `tolerance`: one with the cheapest pivot, and among these the closest.
 * Returns 0 if none is possible.
 */
static int
best_split_point(const SplitContext *split, Size target, Size tolerance,
				 int *cost)
{
	Size		left = 0;
	int			best = 0;
	Size		best_left = 0;

	*cost = 0;
	for (int i = next_split_point(split, 0, &left); i != 0;
		 i = next_split_point(split, i, &left))
	{
		int			this_cost;

		if (distance(left, target) > tolerance)
			continue;
		this_cost = pivot_cost(split, i);
		if (best == 0 || this_cost < *cost ||
			(this_cost == *cost &&
			 distance(left, target) < distance(best_left, target)))
		{
			best = i;
			best_left = left;
			*cost = this_cost;
		}
	}
	return best;
}

/*
 * The space of the items before the possible split point that is closest to the
 * target, which itself may lie out of reach.
 */
static Size
reachable_target(const SplitContext *split, Size target)
{
	Size		left = 0;
	Size		closest = 0;

	for (int i = next_split_point(split, 0, &left); i != 0;
		 i = next_split_point(split, i, &left))
	{
		if (closest == 0 || distance(left, target) < distance(closest, target))
			closest = left;
	}
	if (closest == 0)
		elog(ERROR, "found no way to split a page of index \"%s\"",
			 RelationGetRelationName(split->index));
	return closest;
}

/*
 * Cut the posting list that `target` bytes of items end in, so that a split
 * is possible there.  A list can be a sixth of a page.
 */
static void
cut_posting_list(SplitContext *split, Size target)
{
	SwareItems *items = split->items;
	Size		left = 0;
	int			i = 0;
	IndexTuple	list;
	ItemPointer tids;
	int64		fitting;

	while (i < items->count - 1 &&
		   left + sware_item_space(items->tuples[i]) <= target)
		left += sware_item_space(items->tuples[i++]);

	list = items->tuples[i];
	if (!sware_tuple_is_posting(list) ||
		items->count == (int) lengthof(items->tuples))
		return;
	fitting = ((int64) target - (int64) left - (int64) sizeof(ItemIdData) -
			   (int64) sware_leaf_tuple_key_size(list)) /
		(int64) sizeof(ItemPointerData);
	fitting = Min(fitting, sware_tuple_count(list) - 2);
	if (fitting < 2)
		return;

	tids = sware_posting_tids(list);
	split->total -= sware_item_space(list);
	memmove(&items->tuples[i + 2], &items->tuples[i + 1],
			(items->count - i - 1) * sizeof(IndexTuple));
	items->tuples[i] = sware_form_posting(list, tids, fitting);
	items->tuples[i + 1] =
		sware_form_posting(list, tids + fitting,
						   sware_tuple_count(list) - fitting);
	items->count++;
	split->total += sware_item_space(items->tuples[i]) +
		sware_item_space(items->tuples[i + 1]);
}

/* Choose the closest split point, or a better one in its neighbourhood. */
static int
choose_split_point(const SplitContext *split, Size target, int *cost)
{
	return best_split_point(split, reachable_target(split, target),
							SWARE_PAGE_CAPACITY * TOLERANCE / 100, cost);
}

/*
 * Choose how many of `items` stay on the left of a split of `page`.  The
 * items are those of the page and new ones, of which `new_item` is the last
 * that was added; a posting list may be cut in two.  The caller holds an
 * exclusive lock on the page.
 */
int
sware_find_split_point(Relation index, Page page, SwareItems *items,
					   int new_item)
{
	SplitContext split;
	int			key_columns = IndexRelationGetNumberOfKeyAttributes(index);
	Size		target;
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
		(sware_page_has_high_key(page) ?
		 sware_item_space(sware_page_high_key(page)) : sizeof(ItemIdData));

	target = left_target(&split, page, new_item);
	best = choose_split_point(&split, target, &cost);
	if (!split.isLeaf || cost <= key_columns)
		return best;

	/* within a key: there rather exactly, or at the boundary of two keys */
	if (split.isEven)
	{
		int			anywhere = best_split_point(&split, split.total / 2,
												split.total * 4 / 10, &cost);

		return anywhere != 0 && cost <= key_columns ? anywhere : best;
	}
	cut_posting_list(&split, target);
	return choose_split_point(&split, target, &cost);
}
