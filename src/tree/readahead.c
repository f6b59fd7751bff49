/*-------------------------------------------------------------------------
 *
 * readahead.c
 *	  Asks the kernel for leaves before they are read.  See readahead.h.
 *
 * Of VACUUM, and of a scan, the leaves that follow are copied from one page of
 * level 1 after the other, each of which is locked for that moment only.  Of a
 * run, whose entries may belong to few leaves of many pages, each leaf is found
 * by a descent to level 1.
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
	SwareSearchKey end;			/* no leaf beyond this place is wanted; no
								 * columns: all leaves are */
	SwareLink	parent;			/* the page of level 1 that was listed last */
	SwareLink	next;			/* the one that follows; invalid at the end */
	int			listed;			/* how many leaves are in the list */
	int			visited;		/* those before this one have been visited */
	int			asked;			/* those before this one have been asked for */
	BlockNumber leaves[MAX_IO_CONCURRENCY + SWARE_MAX_ITEMS_PER_PAGE];
} SwareLeafList;

/*
 * Add the leaves of a page of level 1 to the list, those up to the end.  The
 * page is locked, and is released.  `place`, unless NULL, is where to begin.
 */
static void
list_leaves(SwareReadahead *ahead, Buffer buffer, const SwareSearchKey *place)
{
	SwareLeafList *list = ahead->list;
	bool		forward = ahead->forward;
	BlockNumber block = BufferGetBlockNumber(buffer);
	Page		page = BufferGetPage(buffer);
	SwarePageOpaque opaque = SwarePageGetOpaque(page);
	OffsetNumber first = SWARE_FIRST_DATA;
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	OffsetNumber begin = forward ? first : last;
	bool		is_end = false;

	if (place && first <= last)
		begin = sware_search_internal(place, block, page);
	if (list->end.columnCount > 0 && first <= last)
	{
		OffsetNumber end = sware_search_internal(&list->end, block, page);
		bool		is_right =	/* is the end to the right of the page? */
			sware_page_has_high_key(page) ?
			sware_compare_key(&list->end,
							  sware_checked_pivot(ahead->index, block, page,
												  SWARE_HIGH_KEY)) >= 0 :
			forward && end == last;

		is_end = forward ? !is_right : is_right || end > first;
		if (forward)
			last = end;
		else
			first = is_right ? last + 1 : end;
	}
	for (int offset = begin; offset >= first && offset <= last;
		 offset += forward ? 1 : -1)
		list->leaves[list->listed++] =
			sware_checked_downlink(ahead->index, block, page, offset).block;

	list->parent = sware_page_link(buffer);
	list->next = forward ? opaque->right : opaque->left;
	if (is_end)
		list->next.block = InvalidBlockNumber;
	sware_release_buffer(buffer);
}

/*
 * Ask for leaves from now on: from the leaf of a place, or the leftmost one if
 * that is NULL, to the leaf of the end, or the last one if `end` is NULL or has
 * no columns.  The values of the end, which is copied, must remain.  Going
 * backward, the place must be `below`.  Does nothing if no leaf may be asked
 * for, or if the tree has one leaf only.
 */
static void
begin(SwareReadahead *ahead, const SwareSearchKey *place,
	  const SwareSearchKey *end)
{
	SwareLeafList *list;

	Assert(place == NULL ? ahead->forward : place->below == !ahead->forward);
	if (ahead->limit <= 0 || !sware_tree_has_downlinks(ahead->index))
		return;

	if (ahead->list == NULL)
		ahead->list = MemoryContextAlloc(ahead->context, sizeof(SwareLeafList));
	list = ahead->list;
	list->end.columnCount = 0;
	if (end)
	{
		list->end = *end;
		list->end.below = ahead->forward;
	}
	list->listed = list->visited = list->asked = 0;
	ahead->inVain = 0;
	ahead->last = InvalidBlockNumber;
	SWARE_FAULT_POINT("readahead-lists");
	list_leaves(ahead, place ?
				sware_descend(place, 1, BUFFER_LOCK_SHARE, NULL) :
				sware_descend_to_edge(ahead->index, 1, false), place);
	ahead->isActive = true;
}

/*
 * Add the leaves of the next page of level 1 to the list.  If there is no such
 * page, since it has been deleted or reused or is not found, the list ends
 * here.
 */
static void
list_more_leaves(SwareReadahead *ahead)
{
	SwareLeafList *list = ahead->list;
	Buffer		buffer;

	SWARE_FAULT_POINT("readahead-lists");
	buffer = ahead->forward ?
		sware_read_linked(ahead->index, list->next, 1, BUFFER_LOCK_SHARE) :
		sware_step_left(ahead->index, list->next, list->parent, 1);
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
	list_leaves(ahead, buffer, NULL);
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

	if (!is_near && leaf < RelationGetNumberOfBlocks(ahead->index))
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
	SwareLeafList *list = ahead->list;

	if (!ahead->isActive)
		return;

	/* this leaf may be the first one of a page, so it is listed, too */
	if (list->listed - list->visited <= ahead->distance &&
		sware_link_is_valid(list->next))
		list_more_leaves(ahead);

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
		ahead->last = leaf;

	while (list->asked < list->listed &&
		   list->asked - list->visited < Min(ahead->distance, most))
		ask_for(ahead, list->leaves[list->asked++]);
	ahead->distance = Min(2 * ahead->distance, ahead->limit);
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
	begin(ahead, NULL, NULL);
}

/*
 * Return the leaf of a place, or InvalidBlockNumber if it is not found.
 * *count, of entries in order that begin there, becomes the number of those
 * that belong to the leaf, as far as its parent tells.
 */
static BlockNumber
find_leaf(const SwareSearchKey *place, IndexTuple *entries, int *count)
{
	Relation	index = place->index;
	Buffer		buffer = sware_descend(place, 1, BUFFER_LOCK_SHARE, NULL);
	BlockNumber block = BufferGetBlockNumber(buffer);
	Page		page = BufferGetPage(buffer);
	BlockNumber leaf = InvalidBlockNumber;
	int			most = Min(*count, SWARE_MAX_ITEMS_PER_PAGE);

	*count = 1;
	if (sware_page_data_count(page) > 0)
	{
		OffsetNumber offset = sware_search_internal(place, block, page);
		OffsetNumber next = OffsetNumberNext(offset);
		SwareSearchKey end;

		leaf = sware_pivot_link(sware_checked_pivot(index, block, page,
													offset)).block;
		if (next > PageGetMaxOffsetNumber(page))
			next = SWARE_HIGH_KEY;
		if (most > 1 &&
			(next > SWARE_HIGH_KEY || sware_page_has_high_key(page)))
		{
			sware_search_key_from_tuple(&end, index,
										sware_checked_pivot(index, block, page,
															next));
			*count = sware_search_array(&end, entries, 1, most, false);
		}
	}
	sware_release_buffer(buffer);
	return leaf;
}

/*
 * A run has been to a leaf, and these entries, in order, are left: ask for
 * leaves of theirs.  Calls comparators.
 */
void
sware_readahead_of_run(SwareReadahead *ahead, IndexTuple *entries, int count)
{
	IndexTuple *end = entries + count;
	SwareSearchKey place;

	if (!ahead->isActive)
	{
		if (ahead->coldLeaves < COLD_LEAVES || count < ENTRIES_LEFT ||
			!sware_tree_has_downlinks(ahead->index))
			return;
		set_maintenance_distance(ahead);
		ahead->isActive = true;
		ahead->inVain = 0;
		ahead->last = InvalidBlockNumber;
		ahead->next = entries;
		ahead->pending = 0;
	}
	ahead->coldLeaves = 0;
	ahead->pending = Max(ahead->pending - 1, 0);
	ahead->next = Max(ahead->next, entries);
	if (ahead->next == entries)
		ahead->pending = 0;
	sware_search_key_prepare(&place, ahead->index);
	while (ahead->pending < ahead->limit && ahead->next < end)
	{
		int			here = end - ahead->next;

		sware_search_key_set_entry(&place, *ahead->next);
		ask_for(ahead, find_leaf(&place, ahead->next, &here));
		ahead->next += here;
		ahead->pending++;
	}
	ahead->isActive = ahead->inVain < MANY_IN_VAIN;
}

/*
 * A scan is about to follow a link to a leaf, from a border with a tuple, and
 * sware_readahead_is_due: ask for leaves behind that one, for `most` at most.
 *
 * A scan that has asked for leaves until now, in another stretch or in another
 * interval of a parallel scan, goes on with the distance that it has reached.
 */
void
sware_readahead_of_link(SwareReadahead *ahead, SwareScanKeys *keys,
						const SwareBorder *border, bool forward,
						BlockNumber leaf, int most)
{
	SwareLeafList *list = ahead->list;
	bool		goes_on = list && ahead->forward == forward &&
		(ahead->isActive || keys->interval);
	const SwareSearchKey *end = forward ? &keys->high : &keys->low;
	SwareSearchKey stretch_end;
	SwareSearchKey place;

	if (!ahead->isActive || ahead->forward != forward ||
		(list->visited == list->listed && !sware_link_is_valid(list->next)))
	{
		ahead->isActive = false;
		if (ahead->coldLeaves == 0 || most == 0)
			return;
		if (!goes_on)
			ahead->distance = 1;
		ahead->limit =
			get_tablespace_io_concurrency(ahead->index->rd_rel->reltablespace);
		ahead->forward = forward;
		sware_save_tuple(&ahead->origin, ahead->context, border->saved.tuple);
		if (sware_scan_keys_have_stretches(keys) && keys->interval == NULL &&
			sware_find_stretch(keys, ahead->origin.tuple, forward,
							   &stretch_end) != SWARE_SKIP_NONE)
			end = &stretch_end;
		sware_search_key_from_tuple(&place, ahead->index, ahead->origin.tuple);
		place.below = !forward;
		begin(ahead, &place, end);
	}
	sware_readahead_visit(ahead, leaf, most);
	ahead->isActive &= ahead->inVain < MANY_IN_VAIN;
}

void
sware_readahead_of_key(const SwareSearchKey *key)
{
	Relation	index = key->index;
	int			count = 0;
	BlockNumber leaf;

	if (sware_cache(index)->level == 0)
		return;
	leaf = find_leaf(key, NULL, &count);

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
	sware_free_saved_entry(&ahead->origin);
	ahead->isActive = false;
}
