/*-------------------------------------------------------------------------
 *
 * expectedleaf.c
 *	  The leaf at which the next key is expected.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/faultpoint.h"
#include "keys/numbersearch.h"
#include "keys/trust.h"
#include "layout/page.h"
#include "pages/cache.h"
#include "pages/pageaccess.h"
#include "tree/expectedleaf.h"

/*
 * After this number of keys in a row that belong elsewhere, keys are expected
 * at the leaf of the last one.
 */
#define MAX_STRAYS		4

/*
 * Where keys arrive in no order, that is never true.  So a writer that could
 * give its entries to the buffer waits for twice as many strays each time, up
 * to this number: each time costs a descent, and perhaps a read.
 */
#define MAX_PATIENCE	1024

/* How a place lies to the range of keys that a leaf is known to have. */
typedef enum Position
{
	WITHIN,
	BEFORE,						/* or just before the first item */
	BEHIND
} Position;

/* Where is a place, as seen from a leaf, which is locked? */
static Position
position_to_leaf(const SwareSearchKey *key, Page page)
{
	/* where an empty leaf is, only a descent tells */
	if (sware_page_data_count(page) == 0)
		return BEHIND;
	if (sware_compare_key(key, sware_page_tuple(page, SWARE_FIRST_DATA)) <= 0)
		return BEFORE;
	if (!sware_page_is_rightmost(page) &&
		sware_compare_key(key, sware_page_high_key(page)) >= 0)
		return BEHIND;
	return WITHIN;
}

/* Can a place be on an expected leaf, as far as numbers tell? */
static bool
may_be_there(const SwareSearchKey *key, const SwareExpectedLeaf *leaf)
{
	SwareSearchColumn first;

	return sware_link_is_valid(leaf->link) &&
		(!sware_search_column_set(&first, key, 0) ||
		 (first.value >= leaf->lowest && first.value <= leaf->highest));
}

/* Return what is expected of a reader's or a writer's next key. */
static SwareExpectedLeaf
get_leaf(Relation index, bool is_writer)
{
	SwareCache *cache = sware_cache(index);

	return is_writer ? cache->writersLeaf : cache->readersLeaf;
}

/*
 * Use a locked leaf if a place is on it, and, for a writer, no split of it is
 * incomplete.  Otherwise release it, forget that keys are expected there, and
 * return false.
 */
static bool
use_leaf(const SwareSearchKey *key, Buffer buffer, bool is_writer)
{
	Relation	index = key->index;
	Page		page = BufferGetPage(buffer);
	Position	position = position_to_leaf(key, page);
	SwareExpectedLeaf leaf;

	if (position == WITHIN && is_writer &&
		(SwarePageGetOpaque(page)->flags & SWARE_INCOMPLETE_SPLIT) != 0)
		position = BEHIND;
	leaf = get_leaf(index, is_writer);
	leaf.strays = 0;
	if (position != WITHIN)
	{
		sware_release_buffer(buffer);
		leaf.link.block = InvalidBlockNumber;
		/* a leaf that was split is followed at once */
		if (position == BEHIND)
			leaf.strays = leaf.patience;
	}
	else
		leaf.patience = MAX_STRAYS;
	sware_cache_set_leaf(index, is_writer, &leaf);
	return position == WITHIN;
}

/* Forget the expected leaf, which is not in the tree any more. */
static void
forget_leaf(Relation index, bool is_writer)
{
	SwareExpectedLeaf leaf = get_leaf(index, is_writer);

	leaf.link.block = InvalidBlockNumber;
	leaf.strays = leaf.patience;
	sware_cache_set_leaf(index, is_writer, &leaf);
}

/*
 * Return the expected leaf, pinned and locked, if a place is on it; otherwise
 * InvalidBuffer.  If `is_busy` is not NULL, this does not wait for the lock,
 * but sets *is_busy to whether another session has it.
 */
static Buffer
look_at_leaf(const SwareSearchKey *key, int lockmode, bool *is_busy)
{
	bool		is_writer = lockmode == BUFFER_LOCK_EXCLUSIVE;
	SwareExpectedLeaf leaf = get_leaf(key->index, is_writer);
	Buffer		buffer;

	if (is_busy)
		*is_busy = false;
	if (!may_be_there(key, &leaf))
		return InvalidBuffer;
	buffer = is_busy ? sware_try_linked_leaf(key->index, leaf.link, is_busy) :
		sware_read_linked(key->index, leaf.link, 0, lockmode);
	if (BufferIsValid(buffer))
		return use_leaf(key, buffer, is_writer) ? buffer : InvalidBuffer;
	if (!is_busy || !*is_busy)
		forget_leaf(key->index, is_writer);
	return InvalidBuffer;
}

/*
 * Return the expected leaf, pinned and locked, if a place is on it; otherwise
 * InvalidBuffer.  A leaf that is locked exclusively has no incomplete split,
 * and a downlink.
 */
Buffer
sware_expected_leaf(const SwareSearchKey *key, int lockmode)
{
	return look_at_leaf(key, lockmode, NULL);
}

/*
 * Tell where the place of an entry is expected.  If that is the expected leaf,
 * *buffer is set to it, pinned and locked exclusively, without an incomplete
 * split, and with a downlink.  Does not wait for other sessions.
 */
SwareExpectation
sware_try_expected_leaf(const SwareSearchKey *key, Buffer *buffer)
{
	Relation	index = key->index;
	SwareExpectedLeaf leaf;
	bool		is_busy;

	if (SWARE_FAULT_SETTING(buffer))
		return SWARE_AT_OTHER_LEAF;
	*buffer = look_at_leaf(key, BUFFER_LOCK_EXCLUSIVE, &is_busy);
	if (BufferIsValid(*buffer))
		return SWARE_AT_EXPECTED_LEAF;
	if (is_busy)
		return SWARE_AT_BUSY_LEAF;

	leaf = get_leaf(index, true);
	if (leaf.strays < leaf.patience)
	{
		leaf.strays++;
		sware_cache_set_leaf(index, true, &leaf);
		return SWARE_AT_OTHER_LEAF;
	}
	leaf.link.block = InvalidBlockNumber;
	leaf.strays = 0;
	leaf.patience = Min(Max(leaf.patience * 2, MAX_STRAYS), MAX_PATIENCE);
	sware_cache_set_leaf(index, true, &leaf);
	return SWARE_AT_UNKNOWN_LEAF;
}

/*
 * Note the leaf of a place, which is locked and was found by a descent, a
 * writer's or a reader's: keys may be expected there from now on.
 */
void
sware_note_leaf(const SwareSearchKey *key, Buffer buffer, bool is_writer)
{
	Relation	index = key->index;
	Page		page = BufferGetPage(buffer);
	SwareExpectedLeaf leaf = get_leaf(index, is_writer);
	SwareSearchColumn first;
	bool		has_numbers = sware_search_column_set(&first, key, 0);
	bool		is_next;

	/*
	 * Without numbers, each key that belongs elsewhere costs a look.  A key
	 * that may not wait is compared as in nbtree.
	 */
	if ((!has_numbers || !sware_may_wait(index)) &&
		!sware_page_is_rightmost(page))
		return;

	is_next = sware_link_is_valid(leaf.link) &&
		sware_links_equal(SwarePageGetOpaque(page)->left, leaf.link);
	if (sware_link_is_valid(leaf.link) && !is_next &&
		(is_writer || ++leaf.strays < MAX_STRAYS))
	{
		sware_cache_set_leaf(index, is_writer, &leaf);
		return;
	}

	leaf.link = sware_page_link(buffer);
	leaf.strays = 0;
	leaf.lowest = PG_INT64_MIN;
	leaf.highest = PG_INT64_MAX;
	if (has_numbers && sware_page_data_count(page) > 0)
		leaf.lowest = sware_tuple_number(key, &first,
										 sware_page_tuple(page, SWARE_FIRST_DATA));
	if (has_numbers && !sware_page_is_rightmost(page))
		leaf.highest = sware_tuple_number(key, &first,
										  sware_page_high_key(page));
	sware_cache_set_leaf(index, is_writer, &leaf);
}
