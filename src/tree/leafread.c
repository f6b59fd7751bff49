/*-------------------------------------------------------------------------
 *
 * leafread.c
 *	  Reading a leaf into the position of a tree cursor.
 *
 * The items that qualify are those from the border of arrival on, in the
 * direction of the scan, of all stretches of the range that have a part on the
 * leaf.  Both ends of the position get their continuation.
 *
 * If the cursor reads a few entries of a leaf only, the others are what comes
 * next at that side, in the same leaf.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "keys/abbreviation.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "tree/treepages.h"
#include "tree/treescan.h"

/*
 * To read the first tuples of a leaf, and the others later, costs about as much
 * as to read this number of tuples more.
 */
#define COST_OF_PART	48

/*
 * A cursor that skips entries has succeeded if it has skipped this number of
 * them.  After a failure it looks at PATIENCE entries in a row in vain before
 * it tries again.
 */
#define MANY_SKIPPED	16
#define PATIENCE		32

/* As many tuples of a stretch that has few are looked at one by one. */
#define FEW_IN_STRETCH	3

/* A place in a view: of the tuple `i` and the TIDs of it before the place. */
typedef struct LeafPlace
{
	int			i;				/* the view's count: behind all tuples */
	int			tids;			/* more than 0 only within a posting list */
} LeafPlace;

/* The place before the tuple `i`. */
static inline LeafPlace
place_before(int i)
{
	LeafPlace	place = {i, 0};

	return place;
}

/* The index behind the last tuple that lies before a place, or that has it. */
static inline int
index_behind(LeafPlace place)
{
	return place.i + (place.tids > 0 ? 1 : 0);
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
static pg_noinline int
search_view(const SwareLeafView *view, const SwareSearchKey *key, int from,
			int to)
{
	return sware_search(key, tuple_at, view, from, to, false);
}

/*
 * The same, searched from the gap before the tuple `from` to an end of the
 * view; without columns, the place is beyond that.  With `has_few`, only a few
 * of these tuples are likely to lie before the place, in the direction.
 */
static pg_noinline int
search_view_on(const SwareLeafView *view, const SwareSearchKey *key, int from,
			   bool forward, bool has_few)
{
	int			low = forward ? from : 0;
	int			high = forward ? view->count : from;

	/* does the place lie beyond all of them? */
	if (key->columnCount == 0 ||
		(!has_few && low < high &&
		 (sware_compare_key(key, sware_view_tuple(view, forward ? high - 1 :
												  low)) > 0) == forward))
		return forward ? high : low;
	for (int i = 0; has_few && i < FEW_IN_STRETCH && low < high; i++)
	{
		int			next = forward ? low : high - 1;

		if ((sware_compare_key(key, sware_view_tuple(view, next)) > 0) !=
			forward)
			return forward ? low : high;
		low += forward ? 1 : 0;
		high -= forward ? 0 : 1;
	}
	return search_view(view, key, low, high);
}

/*
 * How many TIDs of the view's tuple `i`, which does not lie before a place, lie
 * before it?  Some do only if the tuple is a posting list whose range has the
 * place.
 */
static int
tids_before(const SwareLeafView *view, const SwareSearchKey *key, int i)
{
	ItemPointerData tid = key->tid;
	IndexTuple	tuple;
	ItemPointer tids;
	int			count = 0;

	if (likely(!key->hasTid) || i == view->count)
		return 0;
	tuple = sware_view_tuple(view, i);
	if (!sware_tuple_is_posting(tuple) || sware_compare_key(key, tuple) != 0)
		return 0;
	tids = sware_posting_tids(tuple);
	while (ItemPointerCompare(&tids[count], &tid) < 0)
		count++;
	return count;
}

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

	if (unlikely(offset + MAXALIGN(size) > BLCKSZ))
		report_overlap(cursor);
	sware_copy_first_entry((IndexTuple) &position->tuples.data[offset], tuple);
	position->tuplesUsed += MAXALIGN(size);
	return (uint16) offset;
}

/*
 * Put the TIDs of a view's tuple that lie between two places, and qualify, with
 * the position's items: behind them or, when going backward, before them.
 */
static void
put_tids(SwareTreeCursor *cursor, const SwareLeafView *view, int i,
		 LeafPlace from, LeafPlace until, bool forward)
{
	SwarePosition *position = &cursor->position;
	IndexTuple	tuple = sware_view_tuple(view, i);
	int			skip = i == from.i ? from.tids : 0;
	int			count = (i == until.i ? until.tids :
						 sware_leaf_tuple_tid_count(tuple)) - skip;
	int			to;

	if (unlikely(count <= 0))
		return;
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
	for (int j = to; j < to + count; j++)
		position->pageOffsets[j] = sware_view_offset(i);
	if (cursor->wantTuples)
	{
		uint16		copy = copy_tuple(cursor, tuple);

		for (int j = to; j < to + count; j++)
			position->tupleOffsets[j] = copy;
	}
}

/*
 * Return the next of a view's tuples begin..end-1, from `i` on in a direction,
 * that is not marked; what lies beyond them if there is none.  Queues and rows
 * that are updated all the time leave hundreds of marked ones.
 */
static inline int
next_unmarked(const SwareLeafView *view, int i, int begin, int end, int step)
{
	ItemId		item = PageGetItemId(view->page, sware_view_offset(i));

	for (; i >= begin && i < end && ItemIdIsDead(item); item += step)
		i += step;
	return i;
}

/*
 * How many tuples of a view are to be passed over, from the tuple `i` on in the
 * direction, since they do not satisfy the conditions?  None if this one does,
 * and more than one if those behind it cannot either; INT_MAX if nothing of
 * the range can from there on.  Calls comparators and operators' functions.
 */
static pg_noinline int
count_to_skip(SwareTreeCursor *cursor, const SwareLeafView *view, int i,
			  bool forward)
{
	int			items = cursor->position.last - cursor->position.first + 1;
	int			behind = forward ? i + 1 : i;
	int			skipped = 0;
	SwareSearchKey place;

	if (sware_scan_keys_satisfy(&cursor->keys, sware_view_tuple(view, i),
								cursor->keys.stretchConditions))
		return 0;
	if (cursor->keys.skip == NULL)
		return 1;
	if (items != cursor->itemsAtFailure)
		cursor->failures = 0;	/* one has qualified since the last failure */
	cursor->itemsAtFailure = items;
	if (++cursor->failures < cursor->skipPatience)
		return 1;
	cursor->failures = 0;
	switch (sware_skip_from_tuple(&cursor->keys, sware_view_tuple(view, i),
								  forward, &place))
	{
		case SWARE_SKIP_NONE:
			return INT_MAX;
		case SWARE_SKIP_HERE:
			break;
		case SWARE_SKIP_AHEAD:
			skipped = abs(search_view_on(view, &place, behind, forward,
										 false) - behind);
			break;
	}
	cursor->skipPatience = skipped >= MANY_SKIPPED ? 1 : PATIENCE;
	return skipped + 1;
}

/*
 * Add what qualifies between two places in a stretch to the position's items,
 * in a direction.  Stops when the position has `limit` items, or those of a
 * posting list more, but not before the first tuple.  Returns the place where
 * it has stopped at the limit; otherwise the second place, even if it has found
 * out before that nothing more can qualify.
 */
static LeafPlace
add_tids(SwareTreeCursor *cursor, const SwareLeafView *view,
		 LeafPlace from, LeafPlace until, int limit, bool forward)
{
	int			begin = from.i;
	int			end = index_behind(until);
	SwarePosition *position = &cursor->position;
	bool		uses_marks = cursor->usesMarks;
	bool		wants_tuples = cursor->wantTuples;
	bool		has_conditions =
		cursor->keys.conditionCount > cursor->keys.stretchConditions;
	int			start = forward ? begin : end - 1;
	int			step = forward ? 1 : -1;
	int			to = forward ? position->last + 1 : position->first - 1;

	for (int i = start; i >= begin && i < end; i += step)
	{
		OffsetNumber offset;
		IndexTuple	tuple;
		Size		size;

		if (position->last - position->first >= limit - 1 && i != start)
			return place_before(forward ? i : i + 1);

		if (likely(uses_marks))
			i = next_unmarked(view, i, begin, end, step);
		if (i < begin || i >= end)
			break;
		offset = sware_view_offset(i);
		tuple = sware_view_entry(view, offset);
		if (unlikely(has_conditions))
		{
			int			count = count_to_skip(cursor, view, i, forward);

			if (count == INT_MAX)
				break;
			if (count > 0)
			{
				i += (count - 1) * step;
				continue;
			}
		}
		size = MAXALIGN(IndexTupleSize(tuple));
		if (unlikely(sware_tuple_is_posting(tuple) ||
					 (unsigned) to >= SWARE_MAX_TIDS_PER_PAGE ||
					 position->tuplesUsed + size > BLCKSZ))
		{
			put_tids(cursor, view, i, from, until, forward);
			to = forward ? position->last + 1 : position->first - 1;
			continue;
		}

		/* what put_tids does, for most tuples */
		position->tids[to] = tuple->t_tid;
		position->pageOffsets[to] = offset;
		if (wants_tuples)
		{
			sware_copy_tuple(position->tuples.data + position->tuplesUsed,
							 tuple);
			position->tupleOffsets[to] = position->tuplesUsed;
			position->tuplesUsed += size;
		}
		if (forward)
			position->last = to;
		else
			position->first = to;
		to += step;
	}
	return forward ? until : from;
}

/*
 * Add what lies between two places in a stretch.  If enough has been read
 * before the second one in the direction, returns true, and sets that place to
 * where the rest begins.
 */
static bool
add_stretch(SwareTreeCursor *cursor, const SwareLeafView *view, LeafPlace near,
			LeafPlace *far, bool forward)
{
	SwarePosition *position = &cursor->position;
	LeafPlace	from = forward ? near : *far;
	LeafPlace	to = forward ? *far : near;
	LeafPlace	stopped;
	bool		is_part;
	int			limit = INT_MAX;

	if (cursor->readAtMost < SWARE_READ_ALL &&
		to.i - from.i > 2 * cursor->readAtMost + COST_OF_PART)
		limit = cursor->readAtMost;
	stopped = add_tids(cursor, view, from, to, limit, forward);
	is_part = position->last - position->first >= limit - 1 &&
		(stopped.i != far->i || stopped.tids != far->tids);
	*far = stopped;
	return is_part;
}

/*
 * Find the part of a stretch that comes first on the leaf, from *near to the
 * end of the range, `edge`, in the direction: it lies between *near and *far.
 * Returns false if there is none.  Calls comparators.
 */
static bool
find_stretch(SwareTreeCursor *cursor, const SwareLeafView *view,
			 LeafPlace *near, LeafPlace edge, LeafPlace *far, bool forward)
{
	/* are the entries of a stretch equal, and so likely to be few? */
	bool		has_few = cursor->keys.stretchColumns ==
		IndexRelationGetNumberOfKeyAttributes(view->index);
	SwareSearchKey place;

	for (;;)
	{
		int			i = forward ? near->i : index_behind(*near) - 1;
		int			behind = forward ? i + 1 : i;

		if (forward ? i >= index_behind(edge) : i < edge.i)
			return false;
		switch (sware_find_stretch(&cursor->keys, sware_view_tuple(view, i),
								   forward, &place))
		{
			case SWARE_SKIP_NONE:
				return false;
			case SWARE_SKIP_HERE:
				*far = place_before(search_view_on(view, &place, behind,
												   forward, has_few));
				if (forward ? far->i >= index_behind(edge) : far->i <= edge.i)
					*far = edge;
				return true;
			case SWARE_SKIP_AHEAD:
				*near = place_before(search_view_on(view, &place, behind,
													forward, false));
				break;
		}
	}
}

/*
 * Set the continuation on the side from which the cursor has come to the page.
 * If the border of arrival has a tuple, this is the rest of the range.
 *
 * A cursor that turns around and follows the link to the sibling begins at the
 * border.  If this page has entries beyond the border, too, they would be
 * missed, so the link must not be followed.  Neither must it if leaves have
 * been skipped: the border is beyond those, too.
 */
static void
continue_where_entered(SwareTreeCursor *cursor, SwareContinuation *side,
					   bool entries_beyond)
{
	side->more = cursor->arrival.hasTuple;
	side->linked = side->more && sware_link_is_valid(side->sibling) &&
		!entries_beyond && (cursor->arrivesByLink || !cursor->arrivesAhead);
	sware_swap_borders(&side->border, &cursor->arrival);
}

/* Set what comes beyond a tuple, or beyond a pivot at an end of the leaf. */
static void
continue_range(SwareTreeCursor *cursor, SwareContinuation *side,
			   IndexTuple tuple)
{
	side->more = side->linked = true;
	sware_set_tuple_border(&side->border, cursor->context, tuple);
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
								cursor->position.left.border.saved.tuple);
	return sware_compare_key(&key, high_key) >= 0;
}

/*
 * Set what comes to the right of a leaf at whose end the range goes on or has
 * ended.
 */
static void
continue_right(SwareTreeCursor *cursor, const SwareLeafView *view)
{
	SwareContinuation *right = &cursor->position.right;
	IndexTuple	high_key;

	if (sware_page_is_rightmost(view->page))
		return;
	high_key = sware_checked_pivot(view->index, view->block, view->page,
								   SWARE_HIGH_KEY);
	if (cursor->position.left.border.hasTuple &&
		unlikely(is_too_far_left(cursor, high_key)))
	{
		/* the link has led too far left: seek from the root */
		right->more = true;
		sware_copy_border(&right->border, cursor->context,
						  &cursor->position.left.border);
	}
	else if (sware_scan_keys_go_beyond(&cursor->keys, high_key, true))
		continue_range(cursor, right, high_key);
}

/*
 * The same to the left.  `is_in_vain` says that the leaf has no entry below the
 * place where the cursor has arrived.
 */
static void
continue_left(SwareTreeCursor *cursor, const SwareLeafView *view,
			  bool is_in_vain)
{
	SwareContinuation *left = &cursor->position.left;

	if (sware_page_is_leftmost(view->page))
		return;
	if (!is_in_vain)
	{
		continue_range(cursor, left, sware_view_tuple(view, 0));
		return;
	}

	/*
	 * Continue at the border of arrival, and by the link: if a descent has
	 * led here, another one would lead here again.  But if a link has, the
	 * place may be far ahead, unless the leaf is empty.
	 */
	left->more = left->linked = true;
	if (!cursor->arrivesByLink || view->count == 0)
		cursor->linksToFollow = Max(cursor->linksToFollow, 1);
	sware_copy_border(&left->border, cursor->context,
					  &cursor->position.right.border);
}

void
sware_read_leaf(SwareTreeCursor *cursor, Buffer buffer, bool forward)
{
	SwarePosition *position = &cursor->position;
	SwareScanKeys *keys = &cursor->keys;
	SwareContinuation *side = forward ? &position->right : &position->left;
	bool		at_tuple = cursor->arrival.hasTuple;
	bool		has_stretches = sware_scan_keys_have_stretches(keys);
	const SwareSearchKey *end = forward ? &keys->high : &keys->low;
	const SwareSearchKey *arrival;
	SwareLeafView view;
	LeafPlace	near;			/* where the cursor is */
	LeafPlace	far;			/* where the stretch there ends */
	LeafPlace	edge;			/* where the range does, or the leaf */
	bool		is_in_vain;		/* does nothing on the leaf lie beyond the
								 * border of arrival? */

	position->first = forward ? 0 : SWARE_MAX_TIDS_PER_PAGE;
	position->last = position->first - 1;

	arrival = unlikely(at_tuple || cursor->arrivesAhead) ? &cursor->arrivalKey :
		forward ? &keys->low : &keys->high;
	sware_view_init(&view, cursor->scan->indexRelation, buffer);

	near.i = forward ? 0 : view.count;
	if (at_tuple || arrival->columnCount > 0)
		near.i = search_view(&view, arrival, 0, view.count);
	near.tids = tids_before(&view, arrival, near.i);
	is_in_vain = forward ? near.i == view.count : near.i + near.tids == 0;

	/*
	 * A link that leads to a leaf in vain is a reason to skip leaves.  Going
	 * backward, a descent that does so has led to the same leaf again, as a
	 * rule.
	 */
	if (unlikely(is_in_vain) && cursor->arrivesAhead &&
		(forward || cursor->arrivesByLink))
		cursor->linksToFollow = 0;
	continue_where_entered(cursor, forward ? &position->left :
						   &position->right,
						   forward ? near.i + near.tids > 0 :
						   near.i < view.count);

	edge.i = search_view_on(&view, end, near.i, forward,
							keys->hasOnlyEqualities);
	edge.tids = tids_before(&view, end, edge.i);

	side->more = side->linked = false;
	do
	{
		far = edge;
		if (has_stretches &&
			!find_stretch(cursor, &view, &near, edge, &far, forward))
			break;
		if (add_stretch(cursor, &view, near, &far, forward))
		{
			/* the others are in the same leaf, beyond this place */
			side->sibling = position->page;
			continue_range(cursor, side, sware_view_tuple(&view, far.i));
			return;
		}
		near = far;
	} while (far.i != edge.i || far.tids != edge.tids);

	/* does the page end before the range does, or where it does? */
	if (forward && edge.i == view.count)
		continue_right(cursor, &view);
	else if (!forward && edge.i + edge.tids == 0)
		continue_left(cursor, &view, is_in_vain);
}
