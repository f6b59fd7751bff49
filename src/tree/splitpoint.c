/*-------------------------------------------------------------------------
 *
 * splitpoint.c
 *	  Chooses where to split a page, and how full leaves at the right end of the
 *	  tree are made.
 *
 * What counts, in this order: both halves must fit on a page; free space
 * should be where the next entries are expected; the pivot should be short,
 * and if possible without a TID, so that a key's duplicates stay together.
 *
 * The share of late entries, for which leaves at the right end leave room, is
 * learnt from the statistics of the index in shared memory.  So none is known
 * after a restart, nor, without preloading, that of other sessions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/nbtree.h"

#include "base/options.h"
#include "keys/entry.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "shared/statistics.h"
#include "tree/treepages.h"

/*
 * how full an internal page is left, in percent, if the level grows at its
 * right end
 */
#define INTERNAL_FILLFACTOR		90

/*
 * How full a leaf with a single key is left, in percent, if the key's TIDs
 * arrive in order: no entries will come between these, whatever the fill factor
 * is.
 */
#define SINGLE_KEY_FILLFACTOR	98

/* how full the rightmost leaf is left, in percent, if a late key splits it */
#define LATE_KEY_FILLFACTOR		80

/* so many bytes of entries behind a place are few, in percent of a page */
#define FEW_BEHIND				15

/* how far from the target a split point may be, in percent of a page */
#define TOLERANCE				6

/*
 * The bounds of a forecast, in percent.  The greatest one is for indexes that
 * get hardly any late entries.  Where there are some, more may follow: their
 * share grows until the right end has moved on as far as entries come late.
 */
#define LEAST_FILL		70
#define USUAL_FILL		95
#define GREATEST_FILL	97

/* a smaller share of late entries than this is hardly any */
#define HARDLY_ANY		0.001

/* a share that was learnt from fewer entries than this does not count */
#define ENOUGH_ENTRIES	10000
#define MANY_ENTRIES	65536

/*
 * Late entries do not come evenly.  A leaf has room for as many as come by
 * chance, and this number of standard deviations more.  A split costs a page,
 * so it is better avoided than that the last percent of a leaf is used.
 */
#define DEVIATIONS		2.5

typedef struct SplitContext
{
	Relation	index;
	bool		isLeaf;
	bool		isEven;			/* are both halves expected to grow? */
	SwareItems *items;
	Size		total;			/* bytes that all items take */
	Size		rightRoom;
} SplitContext;

/*
 * Is a TID the next one after another, as for rows that were inserted one
 * after the other?
 */
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
 * How many key columns tell two tuples of a leaf apart?  A pivot between them
 * must keep so many; one more than there are means that it needs a TID.  Keys
 * that may not wait are not compared for that: how they are stored tells nearly
 * as much.
 */
static int
columns_needed(const SplitContext *split, IndexTuple left, IndexTuple right)
{
	Relation	index = split->index;
	int			columns;

	if (!sware_may_wait(index))
		return _bt_keep_natts_fast(index, left, right);
	(void) sware_compare_columns(index, left, right, &columns);
	return columns;
}

/*
 * The fill in percent that leaves room for a share of late entries, and for the
 * high key behind an entry.
 */
static int
forecast(double late, IndexTuple entry)
{
	Size		size =
		MAXALIGN(sware_leaf_tuple_key_size(entry)) + sizeof(ItemIdData);
	double		entries = (double) SWARE_PAGE_CAPACITY / size;
	double		room = late + DEVIATIONS * sqrt(late / entries) +
		(double) sware_pivot_space(entry) / SWARE_PAGE_CAPACITY;

	return (int) floor(100 * (1 - room));
}

int
sware_leaf_fill(Relation index, IndexTuple entry)
{
	int			otherwise = sware_options_of(index)->fillfactor;
	double		entries;
	double		late;
	int			fill;

	if (!sware_options_of(index)->forecastFill)
		return otherwise;
	entries = sware_late_share(index, &late);
	if (entries < ENOUGH_ENTRIES)
		return otherwise;
	if (late < HARDLY_ANY)
		return entries < MANY_ENTRIES ? otherwise : GREATEST_FILL;

	/* room does not help where leaves would be split nevertheless */
	fill = forecast(late, entry);
	return fill < LEAST_FILL ? otherwise : Min(fill, USUAL_FILL);
}

/*
 * Do keys seem to arrive in order at the place of the new entry?  They do if
 * its row lies next to that of the entry before it.  But the rows of several
 * groups, in which the first column is the same, may take turns.  So keys also
 * seem to do so if the new entry comes last in its group, and the group ends
 * the leaf or has half of its items.
 */
static bool
goes_on_here(const SplitContext *split, int new_item)
{
	const SwareItems *items = split->items;
	int			keys = IndexRelationGetNumberOfKeyAttributes(split->index);
	IndexTuple	before;
	IndexTuple	added;
	int			columns;

	if (new_item <= 0)
		return false;
	before = items->tuples[new_item - 1];
	added = items->tuples[new_item];
	if (follows_closely(sware_leaf_tuple_max_tid(before),
						sware_leaf_tuple_tids(added)))
		return true;
	columns = columns_needed(split, before, added);
	if (columns == 1 || columns > keys)
		return false;
	if (new_item == items->count - 1)
		return true;
	return new_item > items->count / 2 &&
		columns_needed(split, items->tuples[new_item - items->count / 2],
					   added) > 1 &&
		columns_needed(split, added, items->tuples[new_item + 1]) == 1;
}

/* How many bytes of items should the left half get?  Sets isEven. */
static Size
left_target(SplitContext *split, Page page, int new_item)
{
	const SwareItems *items = split->items;
	bool		is_last = new_item == items->count - 1;
	bool		is_rightmost = sware_page_is_rightmost(page);
	Size		capacity = SWARE_PAGE_CAPACITY;

	split->isEven = false;
	if (!split->isLeaf)
	{
		if (is_rightmost && is_last)
			return capacity * INTERNAL_FILLFACTOR / 100;
		split->isEven = true;
		return split->total / 2;
	}

	/* duplicates of one key that arrive in TID order */
	if (is_last &&
		columns_needed(split, items->tuples[0], items->tuples[new_item]) >
		IndexRelationGetNumberOfKeyAttributes(split->index))
		return capacity * SINGLE_KEY_FILLFACTOR / 100;

	/* keys that arrive in order at the right end of the tree */
	if (is_rightmost && is_last)
		return capacity *
			sware_leaf_fill(split->index, items->tuples[new_item]) / 100;

	/*
	 * Keys arrive in order in this place, although there are larger keys
	 * already.  The next key belongs behind this one, so split here.  But
	 * keys in order may soon pass a few entries behind this one, and would
	 * leave these on a page of their own.  So these few, this entry and the
	 * next ones share the right page.
	 */
	if (goes_on_here(split, new_item))
	{
		IndexTuple	added = items->tuples[new_item];
		Size		space = sware_items_space(items->tuples, new_item + 1);

		if (!is_last && split->total - space < capacity * FEW_BEHIND / 100)
			space -= sware_item_space(added);
		return Min(space,
				   capacity * sware_leaf_fill(split->index, added) / 100);
	}

	if (is_rightmost)
		return capacity * LATE_KEY_FILLFACTOR / 100;
	split->isEven = true;
	return split->total / 2;
}

/*
 * Return the bytes that the pivot before a tuple takes, at most.  The exact
 * size is known only when the pivot is made.
 */
Size
sware_pivot_space(IndexTuple first_right)
{
	Size		size = sware_tuple_is_pivot(first_right) ?
		IndexTupleSize(first_right) :
		sware_leaf_tuple_key_size(first_right) + SWARE_PIVOT_FIELD_SIZE;

	return MAXALIGN(size) + sizeof(ItemIdData);
}

/*
 * Return the cost of a pivot: the columns that it keeps, and one more for a
 * TID.
 */
static int
pivot_cost(const SplitContext *split, int first_right)
{
	IndexTuple	right = split->items->tuples[first_right];

	if (!split->isLeaf)
		return sware_tuple_count(right) + (sware_pivot_has_tid(right) ? 1 : 0);
	return columns_needed(split, split->items->tuples[first_right - 1], right);
}

/*
 * Return the best split point at which both halves fit, and the space on the
 * left differs from the target by no more than `tolerance`: one with the
 * cheapest pivot, and among these the closest.  Returns 0 if there is none.
 */
static int
best_split_point(const SplitContext *split, Size target, Size tolerance,
				 int *cost)
{
	IndexTuple *tuples = split->items->tuples;
	Size		left = 0;
	int			best = 0;
	Size		best_distance = 0;

	*cost = 0;
	for (int i = 1; i < split->items->count; i++)
	{
		Size		right;
		Size		distance;
		int			this_cost;

		left += sware_item_space(tuples[i - 1]);
		right = split->total - left;
		/* the first downlink of the right page keeps only its link */
		if (!split->isLeaf)
			right -= IndexTupleSize(tuples[i]) - SWARE_MINUS_INFINITY_SIZE;
		distance = left > target ? left - target : target - left;
		if (distance > tolerance ||
			left + sware_pivot_space(tuples[i]) > SWARE_PAGE_CAPACITY ||
			right > split->rightRoom)
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

/*
 * Cut the posting list in which `target` bytes of items end in two, so that a
 * split is possible there.  A list can take a sixth of a page.
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
	items->tuples[i] = _bt_form_posting(list, tids, fitting);
	items->tuples[i + 1] =
		_bt_form_posting(list, tids + fitting,
						 sware_tuple_count(list) - fitting);
	items->count++;
	split->total += sware_item_space(items->tuples[i]) +
		sware_item_space(items->tuples[i + 1]);
}

/*
 * Choose a split point near the target, or farther away if both halves fit only
 * there.
 */
static int
choose_split_point(const SplitContext *split, Size target, int *cost)
{
	Size		tolerance = SWARE_PAGE_CAPACITY * TOLERANCE / 100;
	int			best;

	while ((best = best_split_point(split, target, tolerance, cost)) == 0)
	{
		if (tolerance > split->total)
			elog(ERROR, "found no way to split a page of index \"%s\"",
				 RelationGetRelationName(split->index));
		tolerance *= 2;
	}
	return best;
}

/*
 * Choose how many of `items` stay on the left of a split of `page`.  The
 * items are those of the page and new ones; `new_item` is the last one that
 * was added, or -1.  A posting list may be cut in two.  The caller holds an
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
	split.total = sware_items_space(items->tuples, items->count);
	split.rightRoom = SWARE_PAGE_CAPACITY -
		(sware_page_has_high_key(page) ?
		 sware_item_space(sware_page_high_key(page)) : sizeof(ItemIdData));

	target = left_target(&split, page, new_item);
	best = choose_split_point(&split, target, &cost);
	if (!split.isLeaf || cost <= key_columns)
		return best;

	/*
	 * The split point is within the duplicates of a key.  If both halves will
	 * grow, a boundary between two keys farther away is better; otherwise a
	 * split closer to the target.
	 */
	if (split.isEven)
	{
		int			anywhere = best_split_point(&split, split.total / 2,
												split.total * 4 / 10, &cost);

		return anywhere != 0 && cost <= key_columns ? anywhere : best;
	}
	cut_posting_list(&split, target);
	return choose_split_point(&split, target, &cost);
}
