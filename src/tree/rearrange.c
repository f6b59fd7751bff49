/*-------------------------------------------------------------------------
 *
 * rearrange.c
 *	  Stores entries of a run in a leaf that has no room for them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/options.h"
#include "keys/entry.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/cache.h"
#include "pages/pageaccess.h"
#include "shared/statistics.h"
#include "tree/treepages.h"
#include "wal/wal.h"

/*
 * How full the left half of a split is made, in percent, if a run fills it.
 * Where runs meet entries that are there already, more will follow.
 */
#define LEFT_HALF_FILL	90

/*
 * a left half is full if this number of bytes are left when its duplicates have
 * been merged
 */
#define STILL_FULL		(SWARE_PAGE_CAPACITY * 3 / 4)

/* The items of a leaf, into which a run is merged. */
typedef struct Merge
{
	SwareItems	items;
	Size		space;			/* what they take */
	IndexTuple	last;			/* the item that was inserted last */
	int			leftCount;		/* how many items a left half has that the run
								 * fills; 0 if it fills none */
	IndexTuple	bound;			/* if the left half is full, the next key of
								 * the run or of the leaf; else NULL */
} Merge;

static void
insert_item(SwareItems *items, int position, IndexTuple tuple)
{
	memmove(&items->tuples[position + 1], &items->tuples[position],
			(items->count - position) * sizeof(IndexTuple));
	items->tuples[position] = tuple;
	items->count++;
}

static Size
items_space(const SwareItems *items, int count)
{
	Size		space = 0;

	for (int i = 0; i < count; i++)
		space += sware_item_space(items->tuples[i]);
	return space;
}

/* Return the index of the first item that is not before a place. */
static inline int
item_position(const SwareSearchKey *key, const SwareItems *items)
{
	return sware_search_array(key, items->tuples, 0, items->count, false);
}

/*
 * Return the index of the item that is a tuple, or has its TID in a posting
 * list; -1 if there is none.  Compares no keys: an entry is not compared with
 * itself, as its comparison may fail.
 */
static int
position_of(const SwareItems *items, IndexTuple tuple)
{
	for (int i = 0; i < items->count; i++)
	{
		if (items->tuples[i] == tuple ||
			(sware_tuple_is_posting(items->tuples[i]) &&
			 !sware_tuple_is_posting(tuple) &&
			 sware_posting_contains(items->tuples[i], &tuple->t_tid)))
			return i;
	}
	return -1;
}

/*
 * Insert an entry into the items of a leaf, unless they have it already.
 * `position` is that of the first item that is not before the entry.  Returns
 * the index of the item that was inserted, or -1.
 */
static int
merge_entry(SwareSearchKey *key, SwareItems *items, IndexTuple entry,
			int position)
{
	if (position < items->count &&
		sware_compare_key(key, items->tuples[position]) == 0)
	{
		IndexTuple	list = items->tuples[position];
		IndexTuple	evicted;

		if (!sware_tuple_is_posting(list) ||
			sware_posting_contains(list, &entry->t_tid))
			return -1;
		items->tuples[position] =
			sware_posting_insert(list, &entry->t_tid, &evicted);
		insert_item(items, ++position, evicted);
		return position;
	}
	insert_item(items, position, entry);
	return position;
}

/*
 * Merge the start of a run into the items of a leaf, until they take more than
 * its room: one entry too many at most, so that two pages have room for all.
 * Returns the number of entries merged.
 */
static int
merge_beyond_room(SwareSearchKey *key, Merge *merge, IndexTuple *entries,
				  int count, Size room)
{
	SwareItems *items = &merge->items;
	int			merged = 0;

	while (merged < count && merge->space <= room)
	{
		IndexTuple	entry = entries[merged++];
		int			position;

		sware_search_key_set_entry(key, entry);
		position = merge_entry(key, items, entry, item_position(key, items));
		if (position >= 0)
		{
			merge->last = items->tuples[position];
			merge->space += sware_item_space(merge->last);
		}
	}
	return merged;
}

/*
 * The space of a pivot behind an entry of a run, before the run's next entry or
 * before an item.
 */
static Size
next_pivot_space(IndexTuple *entries, int number, int count, IndexTuple item)
{
	Size		space = sware_pivot_space(item);

	return number + 1 == count ? space :
		Max(space, sware_pivot_space(entries[number + 1]));
}

/*
 * Merge more of a run into the items of a leaf that will be split, as long as
 * they fill a left half of their own.  So a split behind the last one is
 * possible: the right half has only items of the leaf then.  Stops at a TID
 * within the range of a posting list: the TID that it changes places with may
 * be too much for the right half.  Returns the number of entries merged.
 */
static int
merge_into_left_half(SwareSearchKey *key, Merge *merge, IndexTuple *entries,
					 int count)
{
	SwareItems *items = &merge->items;
	Size		limit = SWARE_PAGE_CAPACITY * LEFT_HALF_FILL / 100;
	Size		space = 0;		/* of the items before `counted` */
	int			counted = 0;
	int			merged;

	for (merged = 0; merged < count; merged++)
	{
		IndexTuple	entry = entries[merged];
		Size		size = sware_item_space(entry);
		int			place;
		int			behind;		/* where the item behind the entry is */
		bool		is_there;

		sware_search_key_set_entry(key, entry);
		place = item_position(key, items);
		while (counted < place)
			space += sware_item_space(items->tuples[counted++]);
		is_there = place < items->count &&
			sware_compare_key(key, items->tuples[place]) == 0;
		behind = is_there ? place + 1 : place;
		if (behind == items->count ||
			(is_there && sware_tuple_is_posting(items->tuples[place])) ||
			space + size + next_pivot_space(entries, merged, count,
											items->tuples[behind]) >
			SWARE_PAGE_CAPACITY)
			return merged;
		if (space + size > limit)
			break;

		if (!is_there)
			insert_item(items, place, entry);
		merge->last = items->tuples[place];
		merge->leftCount = place + 1;
	}
	if (merged > 0 && merged < count)
	{
		IndexTuple	item = items->tuples[merge->leftCount];
		IndexTuple	next = entries[merged];

		merge->bound =
			sware_compare_entries(key->index, next, item) < 0 ? next : item;
	}
	return merged;
}

/*
 * Merge the duplicates among items into posting lists, but none of the first
 * `left_count` with others: a split between them stays possible.  Returns how
 * many of the items these are afterwards.
 */
static int
deduplicate_halves(Relation index, SwareItems *items, int left_count)
{
	IndexTuple *right = items->tuples + left_count;
	int			right_count =
		sware_deduplicate(index, right, items->count - left_count);

	left_count = sware_deduplicate(index, items->tuples, left_count);
	memmove(items->tuples + left_count, right,
			right_count * sizeof(IndexTuple));
	items->count = left_count + right_count;
	return left_count;
}

/*
 * Do the entries of a run lie here and there among the items of a leaf, into
 * which `stored` of them have been merged?  They do if most items between the
 * first one and the run's next one are not of the run.  What comes before the
 * first one does not matter: an earlier run may have brought it.
 */
static bool
lie_here_and_there(SwareSearchKey *key, const SwareItems *items,
				   IndexTuple *entries, int count, int stored)
{
	int			first;

	if (stored == 1)
		return false;
	sware_search_key_set_entry(key, entries[0]);
	first = item_position(key, items);
	sware_search_key_set_entry(key, entries[Min(stored, count - 1)]);
	return stored * 2 < item_position(key, items) - first;
}

/*
 * Store at least one entry of a run in an exclusively locked leaf that has no
 * room for all of them, by merging duplicates or by a split.  Returns the
 * number of entries stored.  Releases the leaf.
 */
int
sware_rearrange(SwareSearchKey *key, Buffer buffer,
				IndexTuple *entries, int count, SwareStack *stack)
{
	Relation	index = key->index;
	Page		page = BufferGetPage(buffer);
	Merge	   *merge = palloc(sizeof(Merge));
	SwareItems *items = &merge->items;
	IndexTuple	high_key = sware_page_is_rightmost(page) ? NULL :
		sware_page_high_key(page);
	Size		room = SWARE_PAGE_CAPACITY -
		(high_key ? sware_item_space(high_key) : sizeof(ItemIdData));
	bool		is_scattered;	/* do the new entries lie here and there? */
	bool		rewrite;
	int			stored;

	sware_collect_items(page, items);
	merge->space = items_space(items, items->count);
	merge->last = entries[0];
	merge->leftCount = 0;
	merge->bound = NULL;
	stored = merge_beyond_room(key, merge, entries, count, room);
	if (merge->space > room)
		stored += merge_into_left_half(key, merge, entries + stored,
									   count - stored);

	is_scattered = lie_here_and_there(key, items, entries, count, stored);
	if (is_scattered)
		merge->bound = NULL;

	rewrite = merge->space <= room;
	if (!rewrite &&
		sware_option_deduplicate(index) && sware_cache(index)->allEqualImage)
	{
		merge->leftCount = deduplicate_halves(index, items, merge->leftCount);
		if (items_space(items, merge->leftCount) < STILL_FULL)
			merge->bound = NULL;

		/*
		 * if merging gains very little, the leaf is full again soon: split it
		 */
		rewrite = items_space(items, items->count) <= room - room / 32;
	}

	if (rewrite)
	{
		SwareWal   *wal = sware_wal_begin(index);

		sware_write_items(sware_wal_change(wal, buffer), high_key,
						  items->tuples, items->count);
		sware_wal_finish(wal);
		sware_release_buffer(buffer);
	}
	else
	{
		int			last = merge->bound ? merge->leftCount - 1 :
			position_of(items, merge->last);

		sware_count(index, SWARE_STAT_LEAF_SPLITS, 1);
		sware_split(index, buffer, items, is_scattered ? -1 : last,
					merge->bound, InvalidBuffer);
		sware_insert_downlink(index, buffer, stack);
	}
	return stored;
}
