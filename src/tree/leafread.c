/*-------------------------------------------------------------------------
 *
 * leafread.c
 *	  Reading a leaf into the position of a tree cursor.  See leafread.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "keys/searchkey.h"
#include "keys/skip.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "tree/leafread.h"
#include "tree/leafview.h"

/* To read a few tuples, and then on, costs about as much as so many more. */
#define COST_OF_PART	48

/*
 * A cursor that skips entries takes it for a success if this number of entries
 * need not be looked at.  After a failure it looks at twice as many in vain
 * before it tries again, and at MAX_PATIENCE at most.
 */
#define MANY_SKIPPED	16
#define MAX_PATIENCE	32

/*
 * How many TIDs of a tuple that does not lie before a place lie before it?
 * Some do only if the tuple is a posting list whose range has the place.
 */
static int
tids_before(const SwareSearchKey *key, IndexTuple tuple)
{
	ItemPointerData tid = key->tid;
	ItemPointer tids;
	int			count = 0;

	if (likely(!key->hasTid || !sware_tuple_is_posting(tuple)) ||
		sware_compare_key(key, tuple) != 0)
		return 0;
	tids = sware_posting_tids(tuple);
	while (ItemPointerCompare(&tids[count], &tid) < 0)
		count++;
	return count;
}

/* Raise an error: a leaf has more items than fit on it. */
static void
report_overlap(SwareTreeCursor *cursor)
{
	sware_report_corruption(cursor->scan->indexRelation,
							cursor->position.page.block, "Items overlap.");
}

/*
 * Copy a tuple to the position, without its TIDs if it is a posting list.
 * Returns the offset of the copy.
 */
static uint16
copy_tuple(SwareTreeCursor *cursor, IndexTuple tuple)
{
	SwarePosition *position = &cursor->position;
	Size		offset = position->tuplesUsed;
	Size		size = sware_leaf_tuple_key_size(tuple);
	IndexTuple	copy = (IndexTuple) (position->tuples + offset);

	if (unlikely(offset + MAXALIGN(size) > BLCKSZ))
		report_overlap(cursor);
	memcpy(copy, tuple, size);
	if (sware_tuple_is_posting(tuple))
	{
		copy->t_info &= ~(INDEX_SIZE_MASK | SWARE_SPECIAL_TUPLE);
		copy->t_info |= size;
		copy->t_tid = sware_posting_tids(tuple)[0];
	}
	position->tuplesUsed += MAXALIGN(size);
	return (uint16) offset;
}

/*
 * Put the TIDs skip..end-1 of a view's tuple, which qualify, with the
 * position's items: behind them or, when going backward, before them.
 */
static void
put_tids(SwareTreeCursor *cursor, const SwareLeafView *view, int i, int skip,
		 int end, bool forward)
{
	SwarePosition *position = &cursor->position;
	IndexTuple	tuple = sware_view_tuple(view, i);
	int			count = end - skip;
	int			to;

	if (unlikely(count > (forward ?
						  SWARE_MAX_TIDS_PER_PAGE - 1 - position->last :
						  position->first)))
		report_overlap(cursor);
	if (forward)
	{
		to = position->last + 1;
		position->last += count;
	}
	else
		to = position->first -= count;

	if (count == 1)
		position->tids[to] = sware_leaf_tuple_tids(tuple)[skip];
	else
		memcpy(&position->tids[to], &sware_leaf_tuple_tids(tuple)[skip],
			   count * sizeof(ItemPointerData));
	for (int j = 0; j < count; j++)
		position->pageOffsets[to + j] = sware_view_offset(i);
	if (cursor->wantTuples)
	{
		uint16		offset = copy_tuple(cursor, tuple);

		for (int j = 0; j < count; j++)
			position->tupleOffsets[to + j] = offset;
	}
}

/* Do so unless the tuple is left out, or does not satisfy the conditions. */
static inline void
add_tids(SwareTreeCursor *cursor, const SwareLeafView *view, int i, int skip,
		 int end, bool forward)
{
	if (cursor->usesMarks && sware_view_is_marked(view, i))
		return;
	if (cursor->keys.conditionCount > 0 &&
		!sware_scan_keys_satisfy(&cursor->keys, sware_view_tuple(view, i)))
		return;
	put_tids(cursor, view, i, skip, end, forward);
}

/* Should a scan read a part of so many tuples, rather than all of them? */
static inline bool
is_part_enough(const SwareTreeCursor *cursor, int tuples)
{
	return cursor->readAtMost < SWARE_READ_ALL &&
		tuples > 2 * cursor->readAtMost + COST_OF_PART;
}

/*
 * Add the TIDs of the view's tuples begin..end-1, without the first `skip`
 * TIDs of the first one, to the position's items, going forward.  Stops when
 * it has added `limit` of them, or those of a posting list more.  Returns the
 * index of the tuple at which it has stopped, or `end`.
 */
static int
add_all_tids(SwareTreeCursor *cursor, const SwareLeafView *view, int begin,
			 int skip, int end, int limit)
{
	SwarePosition *position = &cursor->position;
	bool		uses_marks = cursor->usesMarks;
	bool		wants_tuples = cursor->wantTuples;
	bool		has_conditions = cursor->keys.conditionCount > 0;

	for (int i = begin; i < end; i++)
	{
		OffsetNumber offset = sware_view_offset(i);
		IndexTuple	tuple;
		Size		size;

		if (position->last >= limit - 1)
			return i;

		/* the tuples of marked items are not touched */
		if (uses_marks && ItemIdIsDead(PageGetItemId(view->page, offset)))
			continue;

		tuple = sware_view_entry(view, offset);
		size = MAXALIGN(IndexTupleSize(tuple));
		if (unlikely(has_conditions || sware_tuple_is_posting(tuple) ||
					 position->last >= SWARE_MAX_TIDS_PER_PAGE - 1 ||
					 position->tuplesUsed + size > BLCKSZ))
		{
			add_tids(cursor, view, i, i == begin ? skip : 0,
					 sware_leaf_tuple_tid_count(tuple), true);
			continue;
		}

		/* what add_tids does, for most tuples */
		position->last++;
		position->tids[position->last] = tuple->t_tid;
		position->pageOffsets[position->last] = offset;
		if (wants_tuples)
		{
			sware_copy_tuple(position->tuples + position->tuplesUsed, tuple);
			position->tupleOffsets[position->last] = position->tuplesUsed;
			position->tuplesUsed += size;
		}
	}
	return end;
}

/* Note how many tuples the cursor has skipped within a leaf. */
static inline void
note_skipped(SwareTreeCursor *cursor, int tuples)
{
	SwareSkipLuck *luck = &cursor->skipLuck;

	luck->patience = tuples >= MANY_SKIPPED ? 1 :
		Min(2 * luck->patience, MAX_PATIENCE);
}

/*
 * Like add_all_tids, but skip tuples that cannot qualify.  Returns `end`; or
 * the index of a tuple from which on none of the range can qualify.
 */
static int
add_skipping_forward(SwareTreeCursor *cursor, const SwareLeafView *view,
					 int begin, int skip, int end)
{
	SwareScanKeys *keys = &cursor->keys;
	bool		uses_marks = cursor->usesMarks;
	SwareSearchKey place;
	int			failures = 0;
	int			i = begin;

	while (i < end)
	{
		IndexTuple	tuple;
		int			next;

		if (uses_marks && sware_view_is_marked(view, i))
		{
			i++;
			continue;
		}
		tuple = sware_view_tuple(view, i);
		if (sware_scan_keys_satisfy(keys, tuple))
		{
			put_tids(cursor, view, i, i == begin ? skip : 0,
					 sware_leaf_tuple_tid_count(tuple), true);
			failures = 0;
			i++;
			continue;
		}
		i++;
		if (++failures < cursor->skipLuck.patience)
			continue;

		failures = 0;
		switch (sware_skip_from_tuple(keys, tuple, true, &place))
		{
			case SWARE_SKIP_NONE:
				return i - 1;
			case SWARE_SKIP_HERE:
				note_skipped(cursor, 0);
				break;
			case SWARE_SKIP_AHEAD:
				next = sware_view_search_end(view, &place, i);
				note_skipped(cursor, Min(next, end) - i);
				i = next;
				break;
		}
	}
	return end;
}

/*
 * The same going backward, from the tuple before `end` to `begin`, of which the
 * first `skip` TIDs do not count.  Returns `begin`; or the index behind a tuple
 * up to which none of the range can qualify.
 */
static int
add_skipping_backward(SwareTreeCursor *cursor, const SwareLeafView *view,
					  int begin, int skip, int end)
{
	SwareScanKeys *keys = &cursor->keys;
	bool		uses_marks = cursor->usesMarks;
	SwareSearchKey place;
	int			failures = 0;
	int			i = end - 1;

	while (i >= begin)
	{
		IndexTuple	tuple;
		int			next;

		if (uses_marks && sware_view_is_marked(view, i))
		{
			i--;
			continue;
		}
		tuple = sware_view_tuple(view, i);
		if (sware_scan_keys_satisfy(keys, tuple))
		{
			put_tids(cursor, view, i, i == begin ? skip : 0,
					 sware_leaf_tuple_tid_count(tuple), false);
			failures = 0;
			i--;
			continue;
		}
		i--;
		if (++failures < cursor->skipLuck.patience)
			continue;

		failures = 0;
		switch (sware_skip_from_tuple(keys, tuple, false, &place))
		{
			case SWARE_SKIP_NONE:
				return i + 2;
			case SWARE_SKIP_HERE:
				note_skipped(cursor, 0);
				break;
			case SWARE_SKIP_AHEAD:
				next = sware_view_search_begin(view, &place, i + 1) - 1;
				note_skipped(cursor, i - Max(next, begin - 1));
				i = next;
				break;
		}
	}
	return begin;
}

/*
 * Set the continuation on the side from which the cursor has come to the page.
 * If the border of arrival has a tuple, this is the rest of the range,
 * otherwise the neighbouring range.
 *
 * A cursor that turns around and follows the link to the sibling begins at the
 * border.  If this page has entries beyond the border, too, they would be
 * missed, so the link must not be followed.  Neither must it if leaves have
 * been skipped: the border is beyond those, too.
 */
static void
continue_where_entered(SwareTreeCursor *cursor, SwareContinuation *side,
					   bool forward, bool entries_beyond)
{
	SwareBorder *arrival = &cursor->arrival;

	if (arrival->hasTuple)
	{
		side->more = true;
		side->linked = sware_link_is_valid(side->sibling) && !entries_beyond &&
			(cursor->arrivesByLink || !cursor->arrivesAhead);
		sware_swap_borders(&side->border, arrival);
	}
	else
	{
		int64		range = arrival->range + (forward ? -1 : 1);

		side->more = range >= 0 && range < cursor->keys.rangeCount;
		side->linked = false;
		sware_set_range_border(&side->border, range);
	}
}

/*
 * Set what comes beyond an end of the leaf that lies within the current range:
 * the range goes on at a tuple or pivot.  With `must_link`, what comes next is
 * in the sibling, even if nothing there qualifies.
 */
static void
continue_range(SwareTreeCursor *cursor, SwareContinuation *side,
			   IndexTuple tuple, bool must_link, bool forward)
{
	SwareScanKeys *keys = &cursor->keys;
	SwareSkipLuck *luck = &cursor->skipLuck;
	int64		range = keys->range;
	SwareSearchKey place;
	SwareSkip	result = SWARE_SKIP_HERE;

	if (keys->skip)
		result = sware_skip_from_tuple(keys, tuple, forward, &place);
	if (result == SWARE_SKIP_NONE)
	{
		range += forward ? 1 : -1;
		side->more = range >= 0 && range < keys->rangeCount;
		side->linked = false;
		sware_set_range_border(&side->border, range);
		return;
	}

	side->more = side->linked = true;
	sware_set_tuple_border(&side->border, cursor->context, range, tuple);
	if (result == SWARE_SKIP_HERE || must_link)
		return;
	if (luck->linksToFollow > 0)
		luck->linksToFollow--;
	else
		side->linked = false;
}

/*
 * Is the leaf that is read, which has this high key, left of the border of
 * arrival?  That has a tuple, and is now the left border of the position.
 */
static bool
is_too_far_left(SwareTreeCursor *cursor, IndexTuple high_key)
{
	SwareSearchKey key;

	/* the place ahead may well be in another leaf */
	if (sware_compare_key(&cursor->arrivalKey, high_key) < 0)
		return false;
	if (!cursor->arrivesAhead)
		return true;
	sware_search_key_from_tuple(&key, cursor->scan->indexRelation,
								cursor->position.left.border.tuple);
	return sware_compare_key(&key, high_key) >= 0;
}

void
sware_read_leaf_forward(SwareTreeCursor *cursor, Buffer buffer)
{
	SwarePosition *position = &cursor->position;
	SwareScanKeys *keys = &cursor->keys;
	SwareContinuation *right = &position->right;
	int64		range = cursor->arrival.range;
	bool		at_tuple = cursor->arrival.hasTuple;
	const SwareSearchKey *arrival;
	SwareLeafView view;
	IndexTuple	high_key;
	int			begin;
	int			skip = 0;

	position->first = 0;
	position->last = -1;

	sware_scan_keys_set_range(keys, range);
	arrival = at_tuple || cursor->arrivesAhead ? &cursor->arrivalKey :
		&keys->low;
	sware_view_init(&view, cursor->scan->indexRelation, buffer);

	begin = at_tuple || arrival->columnCount > 0 ?
		sware_view_search(&view, arrival, 0, view.count) : 0;
	if (begin < view.count)
		skip = tids_before(arrival, sware_view_tuple(&view, begin));
	else if (cursor->arrivesAhead)
		cursor->skipLuck.linksToFollow = 0; /* this leaf was read in vain */
	continue_where_entered(cursor, &position->left, true,
						   begin > 0 || skip > 0);

	right->more = right->linked = false;
	for (;;)
	{
		int			end = sware_view_search_end(&view, &keys->high, begin);
		int			none_from = end;

		if (unlikely(keys->skip != NULL))
			none_from = add_skipping_forward(cursor, &view, begin, skip, end);
		else if (is_part_enough(cursor, end - begin))
		{
			int			stopped = add_all_tids(cursor, &view, begin, skip,
											   end, cursor->readAtMost);

			if (stopped < end)
			{
				/* the others are in the same leaf, from this tuple on */
				right->more = right->linked = true;
				right->sibling = position->page;
				sware_set_tuple_border(&right->border, cursor->context, range,
									   sware_view_tuple(&view, stopped));
				return;
			}
		}
		else
			(void) add_all_tids(cursor, &view, begin, skip, end, INT_MAX);

		/* the range may end within a posting list */
		if (none_from < end)
			end = none_from;
		else if (end < view.count)
		{
			int			keep =
				tids_before(&keys->high, sware_view_tuple(&view, end));

			if (end > begin)
				skip = 0;
			if (unlikely(keep > skip))
				add_tids(cursor, &view, end, skip, keep, true);
		}
		skip = 0;

		if (end == view.count)
			break;

		/* this range ends here; the next one that may hold something? */
		range = sware_scan_keys_first_range_above(keys, range + 1,
												  sware_view_tuple(&view, end));
		if (range == keys->rangeCount)
			return;
		sware_scan_keys_set_range(keys, range);
		begin = sware_view_search(&view, &keys->low, end, view.count);
	}

	/* the page ends before the range does, or where it does */
	if (sware_page_is_rightmost(BufferGetPage(buffer)))
		return;
	high_key = sware_view_high_key(&view);
	if (at_tuple && unlikely(is_too_far_left(cursor, high_key)))
	{
		/* the link has led too far left: seek from the root */
		right->more = true;
		sware_copy_border(&right->border, cursor->context,
						  &position->left.border);
		return;
	}
	range = sware_scan_keys_first_range_above(keys, range, high_key);
	if (range == keys->rangeCount)
		return;
	right->more = true;
	sware_scan_keys_set_range(keys, range);
	if (keys->low.columnCount == 0 ||
		sware_compare_key(&keys->low, high_key) <= 0)
		continue_range(cursor, right, high_key, false, true);
	else
		sware_set_range_border(&right->border, range);
}

void
sware_read_leaf_backward(SwareTreeCursor *cursor, Buffer buffer)
{
	SwarePosition *position = &cursor->position;
	SwareScanKeys *keys = &cursor->keys;
	SwareContinuation *left = &position->left;
	int64		range = cursor->arrival.range;
	bool		at_tuple = cursor->arrival.hasTuple;
	const SwareSearchKey *arrival;
	SwareLeafView view;
	bool		nothing_below;	/* has the page no entry below the border of
								 * arrival? */
	int			end;
	int			keep = 0;

	position->first = SWARE_MAX_TIDS_PER_PAGE;
	position->last = SWARE_MAX_TIDS_PER_PAGE - 1;

	sware_scan_keys_set_range(keys, range);
	arrival = at_tuple || cursor->arrivesAhead ? &cursor->arrivalKey :
		&keys->high;
	sware_view_init(&view, cursor->scan->indexRelation, buffer);

	end = at_tuple || arrival->columnCount > 0 ?
		sware_view_search(&view, arrival, 0, view.count) : view.count;
	if (end < view.count)
		keep = tids_before(arrival, sware_view_tuple(&view, end));
	nothing_below = end == 0 && keep == 0;

	/*
	 * A link that leads to a leaf in vain is a reason to skip leaves.  A
	 * descent that does so has led to the same leaf again, as a rule.
	 */
	if (nothing_below && cursor->arrivesAhead && cursor->arrivesByLink)
		cursor->skipLuck.linksToFollow = 0;
	continue_where_entered(cursor, &position->right, false,
						   end < view.count);
	left->more = left->linked = false;
	if (keep > 0)
	{
		IndexTuple	tuple = sware_view_tuple(&view, end);
		int			skip = tids_before(&keys->low, tuple);

		if (keep > skip)
			add_tids(cursor, &view, end, skip, keep, false);
		if (skip > 0)
			return;				/* the range begins within the posting list */
	}

	for (;;)
	{
		int			begin = sware_view_search_begin(&view, &keys->low, end);
		int			skip = 0;
		bool		is_part = is_part_enough(cursor, end - begin);
		int			stopped = begin;

		/* the range may begin within a posting list */
		if (begin < end)
			skip = tids_before(&keys->low, sware_view_tuple(&view, begin));

		if (unlikely(keys->skip != NULL))
		{
			int			none_below = add_skipping_backward(cursor, &view,
														   begin, skip, end);

			if (none_below > begin)
			{
				begin = none_below;
				skip = 0;
			}
		}
		else
		{
			for (int i = end - 1; i >= begin; i--)
			{
				IndexTuple	tuple = sware_view_tuple(&view, i);

				add_tids(cursor, &view, i, i == begin ? skip : 0,
						 sware_leaf_tuple_tid_count(tuple), false);
				if (is_part && position->last - position->first + 1 >=
					cursor->readAtMost)
				{
					stopped = i;
					break;
				}
			}
		}

		if (stopped > begin)
		{
			/* the others are in the same leaf, below this tuple */
			left->more = left->linked = true;
			left->sibling = position->page;
			sware_set_tuple_border(&left->border, cursor->context, range,
								   sware_view_tuple(&view, stopped));
			return;
		}
		if (skip > 0)
			return;				/* there is only this range left, and it
								 * begins here */
		if (begin == 0)
			break;

		/* this range begins here; the next one that may hold something? */
		range = sware_scan_keys_last_range_below(keys, range - 1,
												 sware_view_tuple(&view,
																  begin - 1));
		if (range < 0)
			return;
		sware_scan_keys_set_range(keys, range);
		end = sware_view_search(&view, &keys->high, 0, begin);
	}

	/* the range may begin on a page further left */
	if (sware_page_is_leftmost(BufferGetPage(buffer)))
		return;
	left->more = true;
	if (nothing_below && at_tuple)
	{
		/* continue at the border of arrival */
		left->linked = true;
		sware_copy_border(&left->border, cursor->context,
						  &position->right.border);
	}
	else if (view.count > 0 &&
			 (keys->high.columnCount == 0 ||
			  sware_compare_key(&keys->high, sware_view_tuple(&view, 0)) >= 0))
	{
		/*
		 * If a descent has led here although the page has nothing below the
		 * place, another one would lead here again.
		 */
		continue_range(cursor, left, sware_view_tuple(&view, 0), nothing_below,
					   false);
	}
	else
	{
		/*
		 * The range's upper end lies below all entries of this page.  If a
		 * descent to the upper end has led here, another one would lead here
		 * again.
		 */
		left->linked = !at_tuple && range == cursor->arrival.range;
		sware_set_range_border(&left->border, range);
	}
}
