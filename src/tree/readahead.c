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
#include "tree/treepages.h"
#include "utils/memutils.h"
#include "utils/spccache.h"

#include "base/faultpoint.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/cache.h"
#include "pages/pageaccess.h"
#include "tree/readahead.h"

/*
 * A leaf that follows another one this closely is not asked for: the kernel
 * reads ahead by itself where a file is read in order, and does so in larger
 * pieces.  It does not where a file is read from its end to its beginning.
 */
#define NEAR_AHEAD		16

/* After this number of requests in vain, in a row, there is no use in more. */
#define MANY_IN_VAIN	8

/*
 * When a run has had to read this number of leaves in a row, it asks for those
 * of the next entries, if there are ENTRIES_LEFT of them.
 */
#define COLD_LEAVES		2

#define ENTRIES_LEFT	16

typedef struct SwareLeafList
{
	Relation	index;
	bool		forward;
	SwareSearchKey end;			/* no leaf beyond this place is wanted; no
								 * columns: all leaves are */
	IndexTuple *wanted;			/* unless NULL: only leaves that one of these
								 * entries belongs to are wanted, which are in
								 * order; those of listed leaves are left out */
	int			wantedCount;
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
} SwareLeafList;

/*
 * Is a leaf of a locked page of level 1 wanted?  Leaves out the entries that
 * belong to it.
 */
static bool
is_wanted(SwareLeafList *list, Buffer buffer, OffsetNumber offset)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber next = OffsetNumberNext(offset);
	SwareSearchKey end;
	int			low = 0;
	int			high = 1;

	if (list->wanted == NULL)
		return true;
	if (next > PageGetMaxOffsetNumber(page))
		next = SWARE_HIGH_KEY;
	if (next == SWARE_HIGH_KEY && !sware_page_has_high_key(page))
		return list->wantedCount > 0;

	sware_search_key_from_tuple(&end, list->index,
								sware_checked_pivot(list->index,
													BufferGetBlockNumber(buffer),
													page, next));
	/* find the first entry that is not below the end, between these two */
	while (high <= list->wantedCount &&
		   sware_compare_key(&end, list->wanted[high - 1]) > 0)
	{
		low = high;
		high *= 2;
	}
	low = sware_search_array(&end, list->wanted, low,
							 Min(high - 1, list->wantedCount), false);
	list->wanted += low;
	list->wantedCount -= low;
	return low > 0;
}

/* Does nothing that is wanted lie beyond a locked page of level 1? */
static bool
ends_within(const SwareLeafList *list, Buffer buffer, OffsetNumber end)
{
	Page		page = BufferGetPage(buffer);

	if (!list->forward)
		return end > SWARE_FIRST_DATA;
	if (end < PageGetMaxOffsetNumber(page))
		return true;
	return sware_page_has_high_key(page) &&
		sware_compare_key(&list->end,
						  sware_checked_pivot(list->index,
											  BufferGetBlockNumber(buffer),
											  page, SWARE_HIGH_KEY)) < 0;
}

/* Does a locked page of level 1 end before what is wanted, going backward? */
static bool
ends_before(const SwareLeafList *list, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);

	return !list->forward && list->end.columnCount > 0 &&
		sware_page_has_high_key(page) &&
		sware_compare_key(&list->end,
						  sware_checked_pivot(list->index,
											  BufferGetBlockNumber(buffer),
											  page, SWARE_HIGH_KEY)) >= 0;
}

/*
 * Add the leaves of a page of level 1 to the list, those up to the end.  The
 * page is locked, and is released.  `place`, unless NULL, is where to begin.
 */
static void
list_leaves(SwareLeafList *list, Buffer buffer, const SwareSearchKey *place)
{
	BlockNumber block = BufferGetBlockNumber(buffer);
	Page		page = BufferGetPage(buffer);
	SwarePageOpaque opaque = SwarePageGetOpaque(page);
	OffsetNumber first = SWARE_FIRST_DATA;
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	bool		is_end = ends_before(list, buffer);

	if (sware_page_data_count(page) > 0 && !is_end)
	{
		OffsetNumber *begin = list->forward ? &first : &last;
		OffsetNumber *end = list->forward ? &last : &first;

		if (place)
			*begin = sware_search_internal(place, block, page);
		if (list->end.columnCount > 0)
		{
			*end = sware_search_internal(&list->end, block, page);
			is_end = ends_within(list, buffer, *end);
		}
		for (int i = 0; i <= last - first; i++)
		{
			OffsetNumber offset = list->forward ? first + i : last - i;

			if (is_wanted(list, buffer, offset))
				list->leaves[list->listed++] =
					sware_checked_downlink(list->index, block, page,
										   offset).block;
		}
		is_end |= list->wanted != NULL && list->wantedCount == 0;
	}
	list->parent = sware_page_link(buffer);
	list->next = list->forward ? opaque->right : opaque->left;
	if (is_end)
		list->next.block = InvalidBlockNumber;
	sware_release_buffer(buffer);
	list->fileBlocks = RelationGetNumberOfBlocks(list->index);
}

/*
 * Ask for leaves from now on: from the leaf of a place, or the leftmost one if
 * that is NULL, to the leaf of the end, or the last one if `end` is NULL or has
 * no columns.  The values of the end, which is copied, must remain.  Going
 * backward, the place must be `below`.
 *
 * If there are entries, which are in order and remain, ask only for their
 * leaves, in forward direction and without an end.  Does nothing if no leaf may
 * be asked for, or if the tree has one leaf only.
 */
static void
begin(SwareReadahead *ahead, const SwareSearchKey *place,
	  const SwareSearchKey *end, IndexTuple *entries, int count)
{
	Relation	index = ahead->index;
	SwareLeafList *list;

	Assert(place == NULL ? ahead->forward : place->below == !ahead->forward);
	if (ahead->limit <= 0 || !sware_tree_has_downlinks(index))
		return;

	if (ahead->list == NULL)
		ahead->list = MemoryContextAlloc(ahead->context, sizeof(SwareLeafList));
	list = ahead->list;
	list->index = index;
	list->forward = ahead->forward;
	list->wanted = entries;
	list->wantedCount = count;
	list->end.columnCount = 0;
	if (end)
	{
		list->end = *end;
		list->end.below = ahead->forward;
	}
	list->inVain = list->listed = list->visited = list->asked = 0;
	list->last = InvalidBlockNumber;
	SWARE_FAULT_POINT("readahead-lists");
	list_leaves(list, place ?
				sware_descend(place, 1, BUFFER_LOCK_SHARE, NULL) :
				sware_descend_to_edge(index, 1, false), place);
	ahead->isActive = true;
}

/*
 * Add the leaves of the next page of level 1 to the list, or, if not all leaves
 * are wanted, those of the page that has the next one.  If there is no such
 * page, since it has been deleted or reused or is not found, the list ends
 * here.
 */
static void
list_more_leaves(SwareLeafList *list)
{
	int			wanted = list->wantedCount;
	SwareSearchKey place;
	Buffer		buffer;

	SWARE_FAULT_POINT("readahead-lists");
	if (list->wanted)
	{
		sware_search_key_prepare(&place, list->index);
		sware_search_key_set_entry(&place, list->wanted[0]);
		buffer = sware_descend(&place, 1, BUFFER_LOCK_SHARE, NULL);
	}
	else if (list->forward)
		buffer = sware_read_linked(list->index, list->next, 1,
								   BUFFER_LOCK_SHARE);
	else
		buffer = sware_step_left(list->index, list->next, list->parent, 1);
	if (!BufferIsValid(buffer))
	{
		list->next.block = InvalidBlockNumber;
		return;
	}
	list->listed -= list->visited;
	list->asked -= list->visited;
	memmove(list->leaves, list->leaves + list->visited,
			list->listed * sizeof(BlockNumber));
	list->visited = 0;
	list_leaves(list, buffer, list->wanted ? &place : NULL);
	if (list->wanted && list->wantedCount == wanted)
		list->next.block = InvalidBlockNumber;
}

/*
 * Ask for a leaf, unless the kernel will read it without being asked, or the
 * file does not have it since the downlink is damaged.
 */
static void
ask_for(SwareLeafList *list, BlockNumber leaf)
{
	bool		is_near = list->forward && leaf > list->last &&
		leaf - list->last <= NEAR_AHEAD;

	if (!is_near && leaf < list->fileBlocks)
	{
		PrefetchBufferResult result;

		SWARE_FAULT_POINT("readahead-asks");
		result = PrefetchBuffer(list->index, MAIN_FORKNUM, leaf);
		list->inVain = result.initiated_io ? 0 : list->inVain + 1;
	}
	list->last = leaf;
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
	SwareLeafList *list = ahead->list;

	if (!ahead->isActive)
		return;

	/*
	 * This leaf may be the first one of a page, so it has to be listed, too.
	 * One page has enough leaves, but perhaps few that are wanted.
	 */
	while (list->listed - list->visited <= ahead->distance &&
		   sware_link_is_valid(list->next))
	{
		list_more_leaves(list);
		if (list->wanted == NULL)
			break;
	}

	for (int i = list->visited; i < list->listed; i++)
	{
		if (list->leaves[i] == leaf)
		{
			list->visited = i + 1;
			break;
		}
	}
	list->asked = Max(list->asked, list->visited);
	if (list->asked == list->visited)
		list->last = leaf;

	while (list->asked < list->listed &&
		   list->asked - list->visited < Min(ahead->distance, most))
		ask_for(list, list->leaves[list->asked++]);
	ahead->distance = Min(2 * ahead->distance, ahead->limit);
}

/* The same, but stop if leaves are in shared buffers, again and again. */
static void
visit_or_stop(SwareReadahead *ahead, BlockNumber leaf, int most)
{
	sware_readahead_visit(ahead, leaf, most);
	if (ahead->isActive && ahead->list->inVain >= MANY_IN_VAIN)
		ahead->isActive = false;
}

/* Ask for as many leaves as maintenance may, from the beginning on. */
static void
set_maintenance_distance(SwareReadahead *ahead)
{
	Oid			tablespace = ahead->index->rd_rel->reltablespace;

	ahead->forward = true;
	ahead->distance = ahead->limit =
		get_tablespace_maintenance_io_concurrency(tablespace);
}

/* Ask for all leaves, from the leftmost one on, wherever they are. */
void
sware_readahead_of_all(SwareReadahead *ahead)
{
	set_maintenance_distance(ahead);
	begin(ahead, NULL, NULL, NULL, 0);
}

/*
 * A run has been to a leaf, and these entries, in order, are left: ask for
 * theirs.  Calls comparators.
 */
void
sware_readahead_of_run(SwareReadahead *ahead, BlockNumber leaf,
					   IndexTuple *entries, int count)
{
	SwareSearchKey place;

	if (!ahead->isActive)
	{
		if (ahead->coldLeaves < COLD_LEAVES || count < ENTRIES_LEFT)
			return;
		sware_search_key_prepare(&place, ahead->index);
		sware_search_key_set_entry(&place, entries[0]);
		set_maintenance_distance(ahead);
		begin(ahead, &place, NULL, entries, count);
	}
	ahead->coldLeaves = 0;
	visit_or_stop(ahead, leaf, MAX_IO_CONCURRENCY);
}

/*
 * A scan is about to follow a link to a leaf, from a border with a tuple, and
 * sware_readahead_is_due: ask for leaves behind that one, for `most` at most.
 *
 * A scan that has asked for leaves until now, in another range or in another
 * interval of a parallel scan, goes on with the distance that it has reached.
 */
void
sware_readahead_of_link(SwareReadahead *ahead, SwareScanKeys *keys,
						const SwareBorder *border, bool forward,
						BlockNumber leaf, int most)
{
	int64		range = border->range;
	bool		fits = ahead->forward == forward && ahead->range == range;
	bool		goes_on = ahead->list && ahead->forward == forward &&
		(ahead->isActive || keys->interval);
	SwareSearchKey place;

	if (!ahead->isActive || !fits)
	{
		ahead->isActive = false;
		if (ahead->coldLeaves == 0 || most == 0)
			return;
		if (!goes_on)
			ahead->distance = 1;
		ahead->limit =
			get_tablespace_io_concurrency(ahead->index->rd_rel->reltablespace);
		ahead->forward = forward;
		ahead->range = range;
		sware_scan_keys_set_range(keys, range);
		sware_search_key_from_tuple(&place, ahead->index, border->saved.tuple);
		place.below = !forward;
		begin(ahead, &place, forward ? &keys->high : &keys->low, NULL, 0);
	}
	visit_or_stop(ahead, leaf, most);
}

void
sware_readahead_of_key(const SwareSearchKey *key)
{
	Relation	index = key->index;
	BlockNumber leaf = InvalidBlockNumber;
	Buffer		buffer;
	Page		page;

	if (sware_cache(index)->level == 0)
		return;
	buffer = sware_descend(key, 1, BUFFER_LOCK_SHARE, NULL);
	page = BufferGetPage(buffer);
	if (sware_page_data_count(page) > 0)
	{
		BlockNumber block = BufferGetBlockNumber(buffer);
		OffsetNumber offset = sware_search_internal(key, block, page);

		leaf = sware_pivot_link(sware_checked_pivot(index, block, page,
													offset)).block;
	}
	sware_release_buffer(buffer);

	/* a link of a damaged page may lead beyond the end */
	if (leaf < RelationGetNumberOfBlocks(index))
	{
		SWARE_FAULT_POINT("readahead-of-key");
		(void) PrefetchBuffer(index, MAIN_FORKNUM, leaf);
	}
}

/* Free what was allocated. */
void
sware_readahead_end(SwareReadahead *ahead)
{
	if (ahead->list != NULL)
		pfree(ahead->list);
	ahead->list = NULL;
	ahead->isActive = false;
}
