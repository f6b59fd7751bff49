/*-------------------------------------------------------------------------
 *
 * treescan.c
 *	  The tree cursor.  See treescan.h.
 *
 * The cursor holds one content lock at most.  On a standby, redo takes all
 * locks of a record and keeps them, so a reader that held one lock while it
 * waited for another could deadlock with redo.
 *
 * What happens to a leaf after it has been read cannot mislead the cursor.  If
 * the leaf is split, entries that have been read already move right, to pages
 * that the remembered right link skips.  If the page that a link names is
 * deleted or reused, its incarnation has changed.  When a link does not lead
 * to the page that it means, the cursor seeks its border from the root.
 *
 * From leaf to leaf, the border moves only in the direction of the scan,
 * whatever is on the leaves.  So no entry is returned twice, even if damaged
 * links form a circle.  A circle of leaves without qualifying entries ends
 * with an error.
 *
 * If entries of the ranges can be skipped (skip.h), the cursor does so within a
 * leaf, and between leaves, where it seeks the place that lies ahead from the
 * root instead of following a link.  That is worth while only if it leaves out
 * leaves.  If it has led to the very next leaf, the cursor follows some links
 * before it seeks a place again, more of them each time.  So where every leaf
 * has something of interest, a scan costs little more than one that reads all
 * leaves.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "keys/searchkey.h"
#include "keys/skip.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/corruption.h"
#include "pages/pageaccess.h"
#include "shared/statistics.h"
#include "tree/descent.h"
#include "tree/leafview.h"
#include "tree/treescan.h"

/*
 * After this number of leaves in a row without a qualifying entry it is
 * checked whether the index has that many at all.
 */
#define MAX_FRUITLESS_LEAVES	10000

/*
 * Many scans end after a few rows.  So if a leaf has more than MANY_TUPLES for
 * a scan, it first reads FEW_TUPLES of them only.
 */
#define MANY_TUPLES		128
#define FEW_TUPLES		24

/*
 * A cursor that skips entries takes it for a success if this number of entries
 * need not be looked at.  After a failure it looks at twice as many in vain
 * before it tries again, and at MAX_PATIENCE at most.  Likewise, it follows up
 * to MAX_LINKS links before it seeks a place from the root again.
 */
#define MANY_SKIPPED	16
#define MAX_PATIENCE	32
#define MAX_LINKS		31

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
		position->pageOffsets[to + j] = sware_view_offset(view, i);
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

/*
 * Add the TIDs of the view's tuples begin..end-1, without the first `skip`
 * TIDs of the first one, to the position's items, going forward.
 */
static void
add_all_tids(SwareTreeCursor *cursor, const SwareLeafView *view, int begin,
			 int skip, int end)
{
	SwarePosition *position = &cursor->position;
	bool		uses_marks = cursor->usesMarks;
	bool		wants_tuples = cursor->wantTuples;
	bool		has_conditions = cursor->keys.conditionCount > 0;

	for (int i = begin; i < end; i++)
	{
		OffsetNumber offset = sware_view_offset(view, i);
		IndexTuple	tuple;
		Size		size;

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
}

/* Let the cursor skip as if it had neither succeeded nor failed before. */
static inline void
reset_luck(SwareSkipLuck *luck)
{
	luck->patience = 1;
	luck->linksToFollow = luck->linksAfterFailure = 0;
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

/* Set a border to an end of a range. */
static inline void
set_range_border(SwareBorder *border, int64 range)
{
	border->range = range;
	border->hasTuple = false;
}

/*
 * Set a border to the place of an entry, of the first entry of a posting
 * list, or of a pivot.
 */
static void
set_tuple_border(SwareTreeCursor *cursor, SwareBorder *border, int64 range,
				 IndexTuple tuple)
{
	bool		is_posting = sware_tuple_is_posting(tuple);
	Size		size = is_posting ? sware_posting_offset(tuple) :
		IndexTupleSize(tuple);

	if (border->size < size)
	{
		if (border->tuple)
			pfree(border->tuple);
		/* round up, so that keys of varying length seldom need more memory */
		border->size = TYPEALIGN(128, size);
		border->tuple = MemoryContextAlloc(cursor->context, border->size);
	}
	memcpy(border->tuple, tuple, size);
	if (is_posting)
	{
		border->tuple->t_info &= ~(INDEX_SIZE_MASK | SWARE_SPECIAL_TUPLE);
		border->tuple->t_info |= size;
		border->tuple->t_tid = sware_posting_tids(tuple)[0];
	}
	border->range = range;
	border->hasTuple = true;
}

/* Exchange two borders, which is cheaper than to copy their tuples. */
static inline void
swap_borders(SwareBorder *a, SwareBorder *b)
{
	SwareBorder other = *a;

	*a = *b;
	*b = other;
}

static void
copy_border(SwareTreeCursor *cursor, SwareBorder *to, const SwareBorder *from)
{
	if (from->hasTuple)
		set_tuple_border(cursor, to, from->range, from->tuple);
	else
		set_range_border(to, from->range);
}

static void
copy_continuation(SwareTreeCursor *cursor, SwareContinuation *to,
				  const SwareContinuation *from)
{
	to->more = from->more;
	to->linked = from->linked;
	to->sibling = from->sibling;
	copy_border(cursor, &to->border, &from->border);
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
		swap_borders(&side->border, arrival);
	}
	else
	{
		int64		range = arrival->range + (forward ? -1 : 1);

		side->more = range >= 0 && range < cursor->keys.rangeCount;
		side->linked = false;
		set_range_border(&side->border, range);
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
		set_range_border(&side->border, range);
		return;
	}

	side->more = side->linked = true;
	set_tuple_border(cursor, &side->border, range, tuple);
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

/* Read a leaf forward, from the border of arrival on. */
static void
read_forward(SwareTreeCursor *cursor, Buffer buffer)
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
	if (keys->rangeCount == 1)
		sware_view_init(&view, cursor->scan->indexRelation, buffer, arrival,
						&keys->high);
	else
		sware_view_init(&view, cursor->scan->indexRelation, buffer, NULL, NULL);

	begin = at_tuple || arrival->columnCount > 0 ?
		sware_view_search(&view, arrival, 0, view.count) : 0;
	if (begin < view.count)
		skip = tids_before(arrival, sware_view_tuple(&view, begin));
	else if (cursor->arrivesAhead)
		cursor->skipLuck.linksToFollow = 0; /* this leaf was read in vain */
	continue_where_entered(cursor, &position->left, true,
						   begin > 0 || skip > 0 || view.missingBelow);

	right->more = right->linked = false;
	for (;;)
	{
		int			end = sware_view_search_end(&view, &keys->high, begin);
		int			none_from = end;

		if (unlikely(cursor->readsFew && end - begin > MANY_TUPLES))
		{
			/* the others are in the same leaf, from this tuple on */
			end = begin + FEW_TUPLES;
			add_all_tids(cursor, &view, begin, skip, end);
			right->more = right->linked = true;
			right->sibling = position->page;
			set_tuple_border(cursor, &right->border, range,
							 sware_view_tuple(&view, end));
			return;
		}
		if (unlikely(keys->skip != NULL))
			none_from = add_skipping_forward(cursor, &view, begin, skip, end);
		else
			add_all_tids(cursor, &view, begin, skip, end);

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

		if (view.missingAbove)
			return;				/* there is only this range, and it ends here */
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
		copy_border(cursor, &right->border, &position->left.border);
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
		set_range_border(&right->border, range);
}

/* Read a leaf backward, from the border of arrival on. */
static void
read_backward(SwareTreeCursor *cursor, Buffer buffer)
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
	if (keys->rangeCount == 1)
		sware_view_init(&view, cursor->scan->indexRelation, buffer, &keys->low,
						arrival);
	else
		sware_view_init(&view, cursor->scan->indexRelation, buffer, NULL, NULL);

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
						   end < view.count || view.missingAbove);
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
		bool		is_part = cursor->readsFew && end - begin > MANY_TUPLES;

		/* the range may begin within a posting list */
		if (is_part)
			begin = end - FEW_TUPLES;
		else if (begin < end)
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
			}
		}

		if (is_part)
		{
			/* the others are in the same leaf, below this tuple */
			left->more = left->linked = true;
			left->sibling = position->page;
			set_tuple_border(cursor, &left->border, range,
							 sware_view_tuple(&view, begin));
			return;
		}
		if (view.missingBelow || skip > 0)
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
		copy_border(cursor, &left->border, &position->right.border);
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
		set_range_border(&left->border, range);
	}
}

/*
 * Return the place of the border of arrival, or the one further on at which
 * the first entry in the direction can qualify, for a descent in the direction.
 */
static SwareSearchKey *
arrival_place(SwareTreeCursor *cursor, bool forward)
{
	SwareScanKeys *keys = &cursor->keys;
	SwareBorder *arrival = &cursor->arrival;

	if (keys->skip || !arrival->hasTuple)
		sware_scan_keys_set_range(keys, arrival->range);
	cursor->arrivesAhead = false;
	if (keys->skip)
	{
		SwareSkip	result = arrival->hasTuple ?
			sware_skip_from_tuple(keys, arrival->tuple, forward,
								  &cursor->arrivalKey) :
			sware_skip_from_begin(keys, forward, &cursor->arrivalKey);

		cursor->arrivesAhead = result == SWARE_SKIP_AHEAD;
		if (cursor->arrivesAhead)
			return &cursor->arrivalKey;
	}
	if (!arrival->hasTuple)
		return forward ? &keys->low : &keys->high;
	sware_search_key_from_tuple(&cursor->arrivalKey,
								cursor->scan->indexRelation, arrival->tuple);
	return &cursor->arrivalKey;
}

/*
 * Find the leaf with the entries next to the border of arrival, by a descent
 * from the root.  Returns it pinned and share-locked; or InvalidBuffer if the
 * tree is known to be empty.
 */
static Buffer
seek(SwareTreeCursor *cursor, SwareSearchKey *place, bool forward)
{
	Buffer		buffer;

	/* the intervals of a parallel scan do not count as scans */
	if (cursor->keys.interval == NULL)
		pgstat_count_index_scan(cursor->scan->indexRelation);
	sware_count_index_search(cursor->scan);

	if (sware_tree_is_empty(cursor->scan->indexRelation))
		return InvalidBuffer;
	if (!cursor->arrival.hasTuple && place->columnCount == 0)
		return sware_seek_edge_leaf(cursor->scan->indexRelation, !forward);

	place->below = !forward;
	buffer = sware_seek_leaf(place);
	place->below = false;
	return buffer;
}

/*
 * Read a leaf, pinned and share-locked, into the position.  Releases the lock,
 * and the pin if it is not needed.
 *
 * As long as the leaf is pinned, VACUUM cannot get the cleanup lock that it
 * takes on every leaf.  So it does not finish, and TIDs of this position are
 * not reused.  With an MVCC snapshot a scan that reads the table needs no pin:
 * the row that a reused TID leads to is invisible to it.
 */
static void
read_leaf(SwareTreeCursor *cursor, Buffer buffer, bool forward)
{
	SwarePosition *position = &cursor->position;
	Page		page = BufferGetPage(buffer);
	SwarePageOpaque opaque = SwarePageGetOpaque(page);

	/*
	 * It is enough to test leaves, and not pages that descents pass.  What an
	 * old snapshot may miss was removed from a leaf, by VACUUM or to make
	 * room, which raised that leaf's LSN.  If the leaf was deleted
	 * afterwards, its range went to its right sibling, whose LSN was raised
	 * when its left link was changed.  A split raises the LSNs of both
	 * halves.  So a scan that reads the range now reads a leaf with a higher
	 * LSN.
	 */
	sware_test_for_old_snapshot(cursor->scan->xs_snapshot,
								cursor->scan->indexRelation, page);

	cursor->replacements++;
	position->page = sware_page_link(buffer);
	position->lsn = BufferGetLSNAtomic(buffer);
	position->left.sibling = opaque->left;
	position->right.sibling = opaque->right;
	position->tuplesUsed = 0;
	if (forward)
		read_forward(cursor, buffer);
	else
		read_backward(cursor, buffer);
	cursor->readsFew = false;

	if (cursor->keepPin && position->first <= position->last)
	{
		sware_unlock_buffer(buffer);
		position->buffer = buffer;
	}
	else
		sware_release_buffer(buffer);
}

/* Unpin the position's leaf, if it is pinned. */
static void
unpin(SwarePosition *position)
{
	if (BufferIsValid(position->buffer))
	{
		ReleaseBuffer(position->buffer);
		position->buffer = InvalidBuffer;
	}
}

/*
 * Share-lock the position's leaf, which is logged and not pinned, if nothing
 * has changed on it since it was read but marks of dead entries.  Otherwise
 * returns InvalidBuffer.
 *
 * Every change raises the page's LSN, on a standby, too, where redo makes it.
 * So does whatever deletes the page and uses it again; it also raises the
 * incarnation, so the link would not lead there.  Marks are hints: they may
 * leave the LSN as it is, or (with checksums) raise it, which only costs the
 * caller something.
 */
static Buffer
lock_unchanged_leaf(SwareTreeCursor *cursor)
{
	SwarePosition *position = &cursor->position;
	Buffer		buffer = sware_read_linked(cursor->scan->indexRelation,
										   position->page, 0,
										   BUFFER_LOCK_SHARE);

	if (BufferIsValid(buffer) && BufferGetLSNAtomic(buffer) != position->lsn)
	{
		sware_release_buffer(buffer);
		return InvalidBuffer;
	}
	return buffer;
}

/*
 * Is the position's leaf, which is logged and not pinned, what it was when it
 * was read, but for marks of dead entries?  If so, its entries have been there
 * all the time.  Locks the leaf for a moment; the caller holds no lock.
 */
bool
sware_tree_cursor_leaf_is_unchanged(SwareTreeCursor *cursor)
{
	Buffer		buffer = lock_unchanged_leaf(cursor);

	if (!BufferIsValid(buffer))
		return false;
	sware_release_buffer(buffer);
	return true;
}

/* Has a part of the leaf been read, and is the rest at this side? */
static inline bool
is_same_leaf(const SwarePosition *position, const SwareContinuation *side)
{
	return sware_links_equal(position->page, side->sibling);
}

/*
 * Share-lock the position's leaf, to read on.  A part of the entries may have
 * gone to another leaf by a split.  Going forward, the leaf's high key tells.
 * Going backward, returns InvalidBuffer then, or if that is not known.
 */
static Buffer
read_same_leaf(SwareTreeCursor *cursor, bool forward)
{
	Relation	index = cursor->scan->indexRelation;

	if (forward)
		return sware_read_linked(index, cursor->position.page, 0,
								 BUFFER_LOCK_SHARE);
	return RelationNeedsWAL(index) ? lock_unchanged_leaf(cursor) :
		InvalidBuffer;
}

/*
 * Share-lock the position's leaf, to mark entries.  Returns InvalidBuffer if
 * none may be marked.  If the leaf is not pinned, VACUUM may have removed an
 * entry and let its TID be reused, for a row with the same key; if the leaf is
 * unchanged, this has not happened.  Pages that are not logged have no LSN,
 * and are kept pinned therefore.
 */
static Buffer
lock_leaf_to_mark(SwareTreeCursor *cursor)
{
	SwarePosition *position = &cursor->position;

	if (BufferIsValid(position->buffer))
	{
		sware_lock_buffer(position->buffer, BUFFER_LOCK_SHARE);
		if (sware_links_equal(sware_page_link(position->buffer),
							  position->page))
			return position->buffer;

		/* an empty leaf can be deleted and reused although it is pinned */
		sware_unlock_buffer(position->buffer);
		return InvalidBuffer;
	}
	if (!RelationNeedsWAL(cursor->scan->indexRelation))
		return InvalidBuffer;
	return lock_unchanged_leaf(cursor);
}

/*
 * Are the TIDs of the tuple at an offset of the leaf the same as those of the
 * position's items from `item` on, and all noted as dead?  If the page has
 * changed, there may be another tuple.
 */
static bool
is_all_dead(SwareTreeCursor *cursor, Page page, OffsetNumber offset, int item)
{
	SwarePosition *position = &cursor->position;
	IndexTuple	tuple;
	int			count;

	if (offset > PageGetMaxOffsetNumber(page))
		return false;
	tuple = sware_page_tuple(page, offset);
	count = sware_leaf_tuple_tid_count(tuple);
	if (count > position->last - item + 1)
		return false;
	for (int i = 0; i < count; i++)
	{
		if (!cursor->dead[item + i] ||
			!ItemPointerEquals(&sware_leaf_tuple_tids(tuple)[i],
							   &position->tids[item + i]))
			return false;
	}
	return true;
}

/*
 * Mark the items that have been noted as dead.  Must be called before the
 * position changes or loses its pin.
 */
static void
mark_dead_items(SwareTreeCursor *cursor)
{
	SwarePosition *position = &cursor->position;
	int			marked = 0;
	Buffer		buffer;
	Page		page;

	if (likely(cursor->firstDead > cursor->lastDead))
		return;
	buffer = lock_leaf_to_mark(cursor);
	if (BufferIsValid(buffer))
	{
		page = BufferGetPage(buffer);
		for (int item = cursor->firstDead; item <= cursor->lastDead; item++)
		{
			OffsetNumber offset = position->pageOffsets[item];

			/* a posting list is reached by its first TID */
			if (!cursor->dead[item] ||
				!is_all_dead(cursor, page, offset, item) ||
				ItemIdIsDead(PageGetItemId(page, offset)))
				continue;
			ItemIdMarkDead(PageGetItemId(page, offset));
			marked += sware_leaf_tuple_tid_count(sware_page_tuple(page,
																  offset));
		}
		if (marked > 0)
			MarkBufferDirtyHint(buffer, true);
		if (BufferIsValid(position->buffer))
			sware_unlock_buffer(buffer);
		else
			sware_release_buffer(buffer);
	}
	memset(&cursor->dead[cursor->firstDead], 0,
		   cursor->lastDead - cursor->firstDead + 1);
	cursor->firstDead = SWARE_MAX_TIDS_PER_PAGE;
	cursor->lastDead = -1;
	if (marked > 0)
		sware_count_marked(cursor->scan->indexRelation, marked);
}

/*
 * Note that the row of the item that the cursor is on is dead to everybody.
 * Does nothing in a scan that does not use marks.
 */
void
sware_tree_cursor_note_dead(SwareTreeCursor *cursor)
{
	int			item = cursor->position.current;

	Assert(cursor->state == SWARE_CURSOR_ON_ITEM);
	if (!cursor->usesMarks)
		return;
	if (cursor->dead == NULL)
		cursor->dead =
			MemoryContextAllocZero(cursor->context,
								   SWARE_MAX_TIDS_PER_PAGE * sizeof(bool));
	cursor->dead[item] = true;
	cursor->firstDead = Min(cursor->firstDead, item);
	cursor->lastDead = Max(cursor->lastDead, item);
}

/*
 * Initialise a position without pin or memory.  The items are left undefined.
 */
static void
init_position(SwarePosition *position)
{
	memset(position, 0, offsetof(SwarePosition, tids));
}

/* Release a position's pin and memory. */
static void
free_position(SwarePosition *position)
{
	unpin(position);
	if (position->left.border.tuple)
		pfree(position->left.border.tuple);
	if (position->right.border.tuple)
		pfree(position->right.border.tuple);
	if (position->tuples)
		pfree(position->tuples);
}

/*
 * Allocate memory for the position's tuples if it needs some.  A value of the
 * type "name" is stored in fewer bytes than its readers may copy, so there
 * are bytes to spare behind the last tuple.
 */
static void
make_room_for_tuples(SwareTreeCursor *cursor, SwarePosition *position)
{
	if (cursor->wantTuples && position->tuples == NULL)
		position->tuples =
			MemoryContextAlloc(cursor->context, BLCKSZ + NAMEDATALEN);
}

/* Copy a position.  The copy has its own pin. */
static void
copy_position(SwareTreeCursor *cursor, SwarePosition *to,
			  const SwarePosition *from)
{
	unpin(to);
	to->buffer = from->buffer;
	if (BufferIsValid(to->buffer))
		IncrBufferRefCount(to->buffer);
	to->page = from->page;
	to->lsn = from->lsn;
	copy_continuation(cursor, &to->left, &from->left);
	copy_continuation(cursor, &to->right, &from->right);
	to->first = from->first;
	to->last = from->last;
	to->current = from->current;
	memcpy(&to->tids[to->first], &from->tids[to->first],
		   (to->last - to->first + 1) * sizeof(ItemPointerData));
	memcpy(&to->pageOffsets[to->first], &from->pageOffsets[to->first],
		   (to->last - to->first + 1) * sizeof(OffsetNumber));
	if (cursor->wantTuples)
	{
		make_room_for_tuples(cursor, to);
		memcpy(&to->tupleOffsets[to->first], &from->tupleOffsets[to->first],
			   (to->last - to->first + 1) * sizeof(uint16));
		memcpy(to->tuples, from->tuples, from->tuplesUsed);
		to->tuplesUsed = from->tuplesUsed;
	}
}

/*
 * Count a leaf without a qualifying entry.  Raises an error if there have
 * been more than the index can have, since links then form a circle.  A leaf
 * may be read twice, once by a link and once by a search for the next range,
 * and a few times more if other sessions change the tree.
 */
static void
count_fruitless_leaf(SwareTreeCursor *cursor, int64 *leaves)
{
	Relation	index = cursor->scan->indexRelation;

	if (++*leaves % MAX_FRUITLESS_LEAVES == 0 &&
		*leaves / 4 > RelationGetNumberOfBlocks(index))
		sware_report_corruption(index, cursor->position.page.block,
								"Links lead from leaf to leaf without end.");
}

/*
 * Note where a descent to a place ahead has led, from the position's leaf: if
 * only to its sibling, links are followed for a while.
 */
static void
note_descent(SwareTreeCursor *cursor, Buffer buffer,
			 const SwareContinuation *side)
{
	SwareSkipLuck *luck = &cursor->skipLuck;
	SwareLink	page = sware_page_link(buffer);

	if (!sware_links_equal(page, side->sibling) &&
		!sware_links_equal(page, cursor->position.page))
		luck->linksAfterFailure = 0;
	else
		luck->linksAfterFailure = Min(2 * luck->linksAfterFailure + 1,
									  MAX_LINKS);
	luck->linksToFollow = luck->linksAfterFailure;
}

/*
 * Follow the link to the sibling on one side, where the border of arrival is.
 * Returns the leaf, pinned and share-locked; or InvalidBuffer if the link does
 * not lead to the leaf that it means.
 */
static Buffer
follow_link(SwareTreeCursor *cursor, const SwareContinuation *side,
			bool forward)
{
	Relation	index = cursor->scan->indexRelation;
	SwareScanAhead *ahead = &cursor->ahead;
	Buffer		buffer;

	if (unlikely(sware_scan_ahead_is_due(ahead)) && cursor->arrival.hasTuple)
		sware_scan_ahead_of_link(ahead, &cursor->keys, cursor->arrival.range,
								 cursor->arrival.tuple, forward,
								 side->sibling.block,
								 cursor->arrivesAhead ?
								 cursor->skipLuck.linksToFollow :
								 MAX_IO_CONCURRENCY,
								 cursor->context);
	sware_scan_ahead_before_leaf(ahead);
	if (forward)
		buffer = sware_read_linked(index, side->sibling, 0, BUFFER_LOCK_SHARE);
	else
		buffer = sware_step_left(index, side->sibling, cursor->position.page,
								 0);
	sware_scan_ahead_after_leaf(ahead);
	return buffer;
}

/* Note that the tree has no entries. */
static void
leave_tree(SwarePosition *position, SwareContinuation *side)
{
	position->first = 0;
	position->last = -1;
	side->more = false;
}

/*
 * Go to the next leaf with qualifying entries beyond one end of the position,
 * and stay before its first item in the direction.  Returns false, with
 * nothing pinned, if there is none.
 */
static bool
go_on(SwareTreeCursor *cursor, bool forward)
{
	SwarePosition *position = &cursor->position;
	SwareContinuation *side = forward ? &position->right : &position->left;
	int64		fruitless = 0;

	mark_dead_items(cursor);
	if (unlikely(cursor->markItem >= 0))
	{
		position->current = cursor->markItem;
		copy_position(cursor, cursor->marked, position);
		cursor->markItem = -1;
	}

	do
	{
		Buffer		buffer = InvalidBuffer;
		SwareSearchKey *place;

		CHECK_FOR_INTERRUPTS();
		count_fruitless_leaf(cursor, &fruitless);
		unpin(position);
		if (!side->more)
		{
			cursor->state = forward ? SWARE_CURSOR_AFTER_LAST :
				SWARE_CURSOR_BEFORE_FIRST;
			return false;
		}

		swap_borders(&cursor->arrival, &side->border);
		place = arrival_place(cursor, forward);
		if (side->linked && is_same_leaf(position, side))
			buffer = read_same_leaf(cursor, forward);
		else if (side->linked)
			buffer = follow_link(cursor, side, forward);
		cursor->arrivesByLink = BufferIsValid(buffer);
		if (!BufferIsValid(buffer))
		{
			sware_scan_ahead_stop(&cursor->ahead);
			buffer = seek(cursor, place, forward);
			if (cursor->arrivesAhead && cursor->arrival.hasTuple &&
				BufferIsValid(buffer))
				note_descent(cursor, buffer, side);
		}
		if (BufferIsValid(buffer))
			read_leaf(cursor, buffer, forward);
		else
			leave_tree(position, side);
	} while (position->first > position->last);

	cursor->state = SWARE_CURSOR_ON_ITEM;
	position->current = forward ? position->first - 1 : position->last + 1;
	return true;
}

/*
 * May a scan leave out marked entries, and mark others?  Not in recovery, nor
 * in a transaction that began in recovery, since its snapshot may need rows
 * that were dead to everybody on the primary.  A parallel worker has a
 * transaction of its own, but its leader's snapshot, so the snapshot decides.
 */
bool
sware_scan_uses_marks(IndexScanDesc scan)
{
	return scan->ignore_killed_tuples &&
		!(IsMVCCSnapshot(scan->xs_snapshot) &&
		  scan->xs_snapshot->takenDuringRecovery);
}

/* Find out what the scan needs besides TIDs. */
static void
learn_what_is_wanted(SwareTreeCursor *cursor)
{
	IndexScanDesc scan = cursor->scan;

	cursor->wantTuples = scan->xs_want_itup || cursor->isMerged;
	cursor->usesMarks = sware_scan_uses_marks(scan);

	/* the intervals of a parallel scan are read to their ends */
	if (cursor->keys.interval || cursor->keys.skip)
		cursor->readsFew = false;

	/*
	 * Pages that are not logged have no LSN; see lock_leaf_to_mark.  For an
	 * index-only scan a pin is of no use in recovery, since redo of generic
	 * records takes no cleanup lock.  So the caller examines the rows of
	 * leaves that are not pinned, in recovery and after it
	 * (cursor/visibility.h).  The planner, whose snapshot is not MVCC, asks
	 * an index on a standby, too, from 18 on: its pin protects nothing
	 * either, so its estimate may come from an entry whose row is gone, which
	 * does no harm.
	 */
	cursor->keepPin = !IsMVCCSnapshot(scan->xs_snapshot) ||
		!RelationNeedsWAL(scan->indexRelation) ||
		(scan->xs_want_itup && !RecoveryInProgress());
	make_room_for_tuples(cursor, &cursor->position);
}

/*
 * Begin at one end of all ranges, and stay before the first item in the
 * direction.  Returns false if there is none.
 */
static bool
begin(SwareTreeCursor *cursor, bool forward)
{
	SwareContinuation *side = forward ? &cursor->position.right :
		&cursor->position.left;

	learn_what_is_wanted(cursor);
	side->more = cursor->keys.rangeCount > 0;
	side->linked = false;
	set_range_border(&side->border, forward ? 0 : cursor->keys.rangeCount - 1);
	return go_on(cursor, forward);
}

/*
 * Make a cursor for an index scan.
 */
void
sware_tree_cursor_init(SwareTreeCursor *cursor, IndexScanDesc scan,
					   SwareBeforePage before_page)
{
	cursor->scan = scan;
	cursor->beforePage = before_page;
	cursor->context = CurrentMemoryContext;
	sware_scan_keys_init(&cursor->keys, scan->indexRelation,
						 scan->numberOfKeys);
	cursor->isMerged = cursor->wantTuples = cursor->keepPin = false;
	cursor->readsFew = true;
	cursor->replacements = 0;
	cursor->usesMarks = false;
	cursor->dead = NULL;
	cursor->firstDead = SWARE_MAX_TIDS_PER_PAGE;
	cursor->lastDead = -1;
	cursor->state = SWARE_CURSOR_UNPOSITIONED;
	cursor->markState = SWARE_CURSOR_UNPOSITIONED;
	cursor->markItem = -1;
	cursor->marked = NULL;
	memset(&cursor->arrival, 0, sizeof(SwareBorder));
	cursor->arrivesAhead = cursor->arrivesByLink = false;
	reset_luck(&cursor->skipLuck);
	sware_scan_ahead_init(&cursor->ahead);
	init_position(&cursor->position);
}

/*
 * Forget the cursor's position and its mark.  Afterwards the scan keys may be
 * changed.
 */
void
sware_tree_cursor_rewind(SwareTreeCursor *cursor)
{
	mark_dead_items(cursor);
	unpin(&cursor->position);
	if (cursor->marked)
		unpin(cursor->marked);
	cursor->isMerged = false;
	cursor->readsFew = true;
	reset_luck(&cursor->skipLuck);
	sware_scan_ahead_stop(&cursor->ahead);
	cursor->state = SWARE_CURSOR_UNPOSITIONED;
	cursor->markState = SWARE_CURSOR_UNPOSITIONED;
	cursor->markItem = -1;
}

/* Release all pins and memory. */
void
sware_tree_cursor_end(SwareTreeCursor *cursor)
{
	mark_dead_items(cursor);
	if (cursor->dead)
		pfree(cursor->dead);
	free_position(&cursor->position);
	if (cursor->marked)
	{
		free_position(cursor->marked);
		pfree(cursor->marked);
	}
	if (cursor->arrival.tuple)
		pfree(cursor->arrival.tuple);
	sware_readahead_end(cursor->ahead.readahead);
	sware_scan_keys_free(&cursor->keys);
}

/*
 * Go to the next leaf with qualifying entries in the direction, from the
 * present position or, if there is none, from the end.  The position then has
 * the leaf's entries, and the cursor is before the first of them in the
 * direction.  Of the first leaf, if there are many, it has a few, and the rest
 * of them counts as another leaf.  Returns false if there is no such leaf.
 */
bool
sware_tree_cursor_next_page(SwareTreeCursor *cursor, ScanDirection direction)
{
	bool		forward = ScanDirectionIsForward(direction);

	if (cursor->beforePage)
		cursor->beforePage(cursor->scan);

	switch (cursor->state)
	{
		case SWARE_CURSOR_ON_ITEM:
			return go_on(cursor, forward);
		case SWARE_CURSOR_UNPOSITIONED:
			return begin(cursor, forward);
		case SWARE_CURSOR_BEFORE_FIRST:
			return forward && begin(cursor, forward);
		case SWARE_CURSOR_AFTER_LAST:
			return !forward && begin(cursor, forward);
	}
	pg_unreachable();
}

/*
 * Go to the next item in the direction.  Returns false if there is none; then
 * the cursor may turn around.
 */
bool
sware_tree_cursor_next(SwareTreeCursor *cursor, ScanDirection direction)
{
	SwarePosition *position = &cursor->position;

	if (ScanDirectionIsForward(direction))
	{
		if (cursor->state == SWARE_CURSOR_ON_ITEM &&
			position->current < position->last)
		{
			position->current++;
			return true;
		}
	}
	else if (cursor->state == SWARE_CURSOR_ON_ITEM &&
			 position->current > position->first)
	{
		position->current--;
		return true;
	}

	if (!sware_tree_cursor_next_page(cursor, direction))
		return false;
	position->current += ScanDirectionIsForward(direction) ? 1 : -1;
	return true;
}

/*
 * Go to the first leaf with qualifying entries in the direction, from the
 * place of `entry`, which must qualify, or from the end if that is NULL.  An
 * entry at the place itself is found again when going forward, and not when
 * going backward.  Afterwards the cursor is before the first of the leaf's
 * entries in the direction.  Returns false if there is no such leaf.  The
 * cursor must not have a mark.
 */
bool
sware_tree_cursor_seek(SwareTreeCursor *cursor, IndexTuple entry,
					   ScanDirection direction)
{
	bool		forward = ScanDirectionIsForward(direction);
	SwareContinuation *side = forward ? &cursor->position.right :
		&cursor->position.left;

	Assert(cursor->markState == SWARE_CURSOR_UNPOSITIONED);
	if (entry == NULL)
		return begin(cursor, forward);

	learn_what_is_wanted(cursor);
	side->more = true;
	side->linked = false;
	set_tuple_border(cursor, &side->border,
					 sware_scan_keys_first_range_above(&cursor->keys, 0, entry),
					 entry);
	return go_on(cursor, forward);
}

/* Set the cursor's mark to where it is (ammarkpos). */
void
sware_tree_cursor_mark(SwareTreeCursor *cursor)
{
	if (cursor->marked == NULL)
	{
		cursor->marked =
			MemoryContextAlloc(cursor->context, sizeof(SwarePosition));
		init_position(cursor->marked);
	}
	unpin(cursor->marked);
	cursor->markState = cursor->state;
	cursor->markItem =
		cursor->state == SWARE_CURSOR_ON_ITEM ? cursor->position.current : -1;
}

/* Go back to the cursor's mark (amrestrpos). */
void
sware_tree_cursor_restore(SwareTreeCursor *cursor)
{
	if (cursor->markItem >= 0)
	{
		cursor->position.current = cursor->markItem;
		return;
	}
	mark_dead_items(cursor);
	unpin(&cursor->position);
	cursor->state = cursor->markState;
	if (cursor->state == SWARE_CURSOR_ON_ITEM)
	{
		copy_position(cursor, &cursor->position, cursor->marked);
		cursor->replacements++;
	}
}
