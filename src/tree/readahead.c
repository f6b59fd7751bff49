/*-------------------------------------------------------------------------
 *
 * readahead.c
 *	  Asks the kernel for leaves before they are read.  See readahead.h.
 *
 * The leaves that follow are copied from one page of level 1 after the other,
 * each of which is locked for that moment only.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufmgr.h"

#include "base/faultpoint.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "pages/pageitem.h"
#include "tree/descent.h"
#include "tree/readahead.h"

/*
 * A leaf that follows another one this closely is not asked for: the kernel
 * reads ahead by itself where a file is read in order, and does so in larger
 * pieces.  It does not where a file is read from its end to its beginning.
 */
#define NEAR_AHEAD		16

/* After this number of requests in vain, in a row, there is no use in more. */
#define MANY_IN_VAIN	8

struct SwareReadahead
{
	Relation	index;
	bool		forward;
	SwareSearchKey end;			/* no leaf beyond this place is wanted; no
								 * columns: all leaves are */
	IndexTuple *wanted;			/* unless NULL: only leaves that one of these
								 * entries belongs to are wanted, which are in
								 * order; those of listed leaves are left out */
	int			wantedCount;
	int			distance;		/* how many leaves are asked for ahead */
	int			limit;			/* to which the distance grows */
	SwareLink	parent;			/* the page of level 1 that was listed last */
	SwareLink	next;			/* the one that follows; invalid at the end */
	BlockNumber fileBlocks;		/* of the index, when it was listed last */
	int			inVain;			/* how many requests in a row were for leaves
								 * in shared buffers */
	int			listed;			/* how many leaves are in the list */
	int			visited;		/* those before this one have been visited */
	int			asked;			/* those before this one have been asked for */
	BlockNumber last;			/* the leaf before the next one to ask for */
	BlockNumber leaves[MAX_IO_CONCURRENCY + SWARE_MAX_ITEMS_PER_PAGE];
};

/* Make one in the current memory context; sware_readahead_end frees it. */
SwareReadahead *
sware_readahead_make(Relation index)
{
	SwareReadahead *ahead = palloc(sizeof(SwareReadahead));

	ahead->index = index;
	ahead->wanted = NULL;
	ahead->wantedCount = 0;
	return ahead;
}

/*
 * Ask only for leaves that one of these entries belongs to, which are in order,
 * and remain.  Called before sware_readahead_begin, for going forward without
 * an end.
 */
void
sware_readahead_want(SwareReadahead *ahead, IndexTuple *entries, int count)
{
	ahead->wanted = entries;
	ahead->wantedCount = count;
}

/*
 * Is a leaf of a locked page of level 1 wanted?  Leaves out the entries that
 * belong to it.
 */
static bool
is_wanted(SwareReadahead *ahead, Buffer buffer, OffsetNumber offset)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber next = OffsetNumberNext(offset);
	SwareSearchKey end;
	int			low = 0;
	int			high = 1;

	if (ahead->wanted == NULL)
		return true;
	if (next > PageGetMaxOffsetNumber(page))
		next = SWARE_HIGH_KEY;
	if (next == SWARE_HIGH_KEY && !sware_page_has_high_key(page))
		return ahead->wantedCount > 0;

	sware_search_key_from_pivot(&end, ahead->index,
								sware_checked_pivot(ahead->index,
													BufferGetBlockNumber(buffer),
													page, next));
	/* the first entry that is not below the end is between these two */
	while (high <= ahead->wantedCount &&
		   sware_compare_key(&end, ahead->wanted[high - 1]) > 0)
	{
		low = high;
		high *= 2;
	}
	high = Min(high - 1, ahead->wantedCount);
	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (sware_compare_key(&end, ahead->wanted[middle]) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	ahead->wanted += low;
	ahead->wantedCount -= low;
	return low > 0;
}

/* Does nothing that is wanted lie beyond a locked page of level 1? */
static bool
ends_within(const SwareReadahead *ahead, Buffer buffer, OffsetNumber end)
{
	Page		page = BufferGetPage(buffer);

	if (!ahead->forward)
		return end > SWARE_FIRST_DATA;
	if (end < PageGetMaxOffsetNumber(page))
		return true;
	return sware_page_has_high_key(page) &&
		sware_compare_key(&ahead->end,
						  sware_checked_pivot(ahead->index,
											  BufferGetBlockNumber(buffer),
											  page, SWARE_HIGH_KEY)) < 0;
}

/* Does a locked page of level 1 end before what is wanted, going backward? */
static bool
ends_before(const SwareReadahead *ahead, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);

	return !ahead->forward && ahead->end.columnCount > 0 &&
		sware_page_has_high_key(page) &&
		sware_compare_key(&ahead->end,
						  sware_checked_pivot(ahead->index,
											  BufferGetBlockNumber(buffer),
											  page, SWARE_HIGH_KEY)) >= 0;
}

/*
 * Add the leaves of a page of level 1 to the list, those up to the end.  The
 * page is locked, and is released.  `place`, unless NULL, is where to begin.
 */
static void
list_leaves(SwareReadahead *ahead, Buffer buffer, const SwareSearchKey *place)
{
	BlockNumber block = BufferGetBlockNumber(buffer);
	Page		page = BufferGetPage(buffer);
	SwarePageOpaque opaque = SwarePageGetOpaque(page);
	OffsetNumber first = SWARE_FIRST_DATA;
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	bool		is_end = ends_before(ahead, buffer);

	if (sware_page_data_count(page) > 0 && !is_end)
	{
		OffsetNumber *begin = ahead->forward ? &first : &last;
		OffsetNumber *end = ahead->forward ? &last : &first;

		if (place)
			*begin = sware_search_internal(place, block, page);
		if (ahead->end.columnCount > 0)
		{
			*end = sware_search_internal(&ahead->end, block, page);
			is_end = ends_within(ahead, buffer, *end);
		}
		for (int i = 0; i <= last - first; i++)
		{
			OffsetNumber offset = ahead->forward ? first + i : last - i;

			if (is_wanted(ahead, buffer, offset))
				ahead->leaves[ahead->listed++] =
					sware_checked_downlink(ahead->index, block, page,
										   offset).block;
		}
		is_end |= ahead->wanted != NULL && ahead->wantedCount == 0;
	}
	ahead->parent = sware_page_link(buffer);
	ahead->next = ahead->forward ? opaque->right : opaque->left;
	if (is_end)
		ahead->next.block = InvalidBlockNumber;
	sware_release_buffer(buffer);
	ahead->fileBlocks = RelationGetNumberOfBlocks(ahead->index);
}

/*
 * Begin at the leaf that the place is in, or at the leftmost leaf if that is
 * NULL, and go up to the leaf that the end is in, or to the last leaf if the
 * end has no columns.  The values of the end, which is copied, must remain.
 * Going backward, the place must be `below`.
 *
 * Returns false, and must be called again, if the tree has one leaf only.
 */
bool
sware_readahead_begin(SwareReadahead *ahead, const SwareSearchKey *place,
					  const SwareSearchKey *end, bool forward)
{
	Assert(place == NULL ? forward : place->below == !forward);
	if (!sware_tree_has_downlinks(ahead->index))
		return false;

	ahead->forward = forward;
	if (end)
	{
		ahead->end = *end;
		ahead->end.below = forward;
	}
	else
		ahead->end.columnCount = 0;
	ahead->inVain = ahead->listed = ahead->visited = ahead->asked = 0;
	ahead->last = InvalidBlockNumber;
	SWARE_FAULT_POINT("readahead-lists");
	list_leaves(ahead, place ?
				sware_descend(place, 1, BUFFER_LOCK_SHARE, NULL) :
				sware_descend_to_edge(ahead->index, 1, false), place);
	return true;
}

/*
 * Set how many leaves are asked for ahead at first, and at most.  With each
 * leaf that is visited, the number is doubled.
 */
void
sware_readahead_set_distance(SwareReadahead *ahead, int distance, int limit)
{
	ahead->distance = distance;
	ahead->limit = limit;
}

/*
 * Add the leaves of the next page of level 1 to the list, or, if not all leaves
 * are wanted, those of the page that has the next one.  If there is no such
 * page, since it has been deleted or reused or is not found, the list ends
 * here.
 */
static void
list_more_leaves(SwareReadahead *ahead)
{
	int			wanted = ahead->wantedCount;
	SwareSearchKey place;
	Buffer		buffer;

	SWARE_FAULT_POINT("readahead-lists");
	if (ahead->wanted)
	{
		sware_search_key_prepare(&place, ahead->index);
		sware_search_key_set_entry(&place, ahead->wanted[0]);
		buffer = sware_descend(&place, 1, BUFFER_LOCK_SHARE, NULL);
	}
	else if (ahead->forward)
		buffer = sware_read_linked(ahead->index, ahead->next, 1,
								   BUFFER_LOCK_SHARE);
	else
		buffer = sware_step_left(ahead->index, ahead->next, ahead->parent, 1);
	if (!BufferIsValid(buffer))
	{
		ahead->next.block = InvalidBlockNumber;
		return;
	}
	ahead->listed -= ahead->visited;
	ahead->asked -= ahead->visited;
	memmove(ahead->leaves, ahead->leaves + ahead->visited,
			ahead->listed * sizeof(BlockNumber));
	ahead->visited = 0;
	list_leaves(ahead, buffer, ahead->wanted ? &place : NULL);
	if (ahead->wanted && ahead->wantedCount == wanted)
		ahead->next.block = InvalidBlockNumber;
}

/*
 * Ask for a leaf, unless the kernel will read it without being asked, or the
 * file does not have it since the downlink is damaged.
 */
static void
ask_for(SwareReadahead *ahead, BlockNumber leaf)
{
	bool		is_near = ahead->forward && leaf > ahead->last &&
		leaf - ahead->last <= NEAR_AHEAD;

	if (!is_near && leaf < ahead->fileBlocks)
	{
		PrefetchBufferResult result;

		SWARE_FAULT_POINT("readahead-asks");
		result = PrefetchBuffer(ahead->index, MAIN_FORKNUM, leaf);
		ahead->inVain = result.initiated_io ? 0 : ahead->inVain + 1;
	}
	ahead->last = leaf;
}

/*
 * The caller is about to read a leaf: ask for some that follow, for `most` at
 * most.
 *
 * The leaf is not in the list if it is new.  If it is not the next one there,
 * those before it were not visited since they have been deleted.
 */
void
sware_readahead_visit(SwareReadahead *ahead, BlockNumber leaf, int most)
{
	/*
	 * This leaf may be the first one of a page, so it has to be listed, too.
	 * One page has enough leaves, but perhaps few that are wanted.
	 */
	while (ahead->listed - ahead->visited <= ahead->distance &&
		   sware_link_is_valid(ahead->next))
	{
		list_more_leaves(ahead);
		if (ahead->wanted == NULL)
			break;
	}

	for (int i = ahead->visited; i < ahead->listed; i++)
	{
		if (ahead->leaves[i] == leaf)
		{
			ahead->visited = i + 1;
			break;
		}
	}
	ahead->asked = Max(ahead->asked, ahead->visited);
	if (ahead->asked == ahead->visited)
		ahead->last = leaf;

	while (ahead->asked < ahead->listed &&
		   ahead->asked - ahead->visited < Min(ahead->distance, most))
		ask_for(ahead, ahead->leaves[ahead->asked++]);
	ahead->distance = Min(2 * ahead->distance, ahead->limit);
}

/* Were the leaves that were asked for in shared buffers, again and again? */
bool
sware_readahead_is_useless(const SwareReadahead *ahead)
{
	return ahead->inVain >= MANY_IN_VAIN;
}

/* Free what sware_readahead_make has returned, if it is not NULL. */
void
sware_readahead_end(SwareReadahead *ahead)
{
	if (ahead != NULL)
		pfree(ahead);
}
