/*-------------------------------------------------------------------------
 *
 * expectedleaf.c
 *	  The leaf at which the next key is expected.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

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

/* Is a place on a leaf, which is locked, and not just before its first item? */
static bool
has_place(const SwareSearchKey *key, Page page)
{
	return sware_page_last_sorted(page) >= SWARE_FIRST_DATA &&
		sware_compare_key(key, sware_page_tuple(page, SWARE_FIRST_DATA)) > 0 &&
		(sware_page_is_rightmost(page) ||
		 sware_compare_key(key, sware_page_high_key(page)) < 0);
}

/*
 * Return the expected leaf, pinned and locked, if a place is on it; otherwise
 * InvalidBuffer.  A leaf that is locked exclusively has no
 * incomplete split, and a downlink.
 */
Buffer
sware_expected_leaf(const SwareSearchKey *key, int lockmode)
{
	Relation	index = key->index;
	bool		is_writer = lockmode == BUFFER_LOCK_EXCLUSIVE;
	SwareExpectedLeaf leaf = sware_cache(index)->leaf;
	SwareSearchColumn first;
	Buffer		buffer;
	Page		page;

	if (!sware_link_is_valid(leaf.link) || (is_writer && !leaf.hasDownlink))
		return InvalidBuffer;
	if (sware_search_column_set(&first, key, 0) &&
		(first.value < leaf.lowest || first.value > leaf.highest))
		return InvalidBuffer;

	buffer = sware_read_linked(index, leaf.link, 0, lockmode);
	if (BufferIsValid(buffer))
	{
		page = BufferGetPage(buffer);
		if (has_place(key, page) &&
			(!is_writer ||
			 (SwarePageGetOpaque(page)->flags & SWARE_INCOMPLETE_SPLIT) == 0))
		{
			leaf.strays = 0;
			sware_cache_set_leaf(index, &leaf);
			return buffer;
		}
		sware_release_buffer(buffer);
	}
	leaf.link.block = InvalidBlockNumber;
	sware_cache_set_leaf(index, &leaf);
	return InvalidBuffer;
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
	SwareExpectedLeaf leaf = sware_cache(index)->leaf;
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
		(leaf.hasDownlink || !is_writer) && ++leaf.strays < MAX_STRAYS)
	{
		sware_cache_set_leaf(index, &leaf);
		return;
	}

	leaf.link = sware_page_link(buffer);
	leaf.hasDownlink = is_writer;
	leaf.strays = 0;
	leaf.lowest = PG_INT64_MIN;
	leaf.highest = PG_INT64_MAX;
	if (has_numbers && sware_page_last_sorted(page) >= SWARE_FIRST_DATA)
		leaf.lowest = sware_tuple_number(key, &first,
										 sware_page_tuple(page, SWARE_FIRST_DATA));
	if (has_numbers && !sware_page_is_rightmost(page))
		leaf.highest = sware_tuple_number(key, &first,
										  sware_page_high_key(page));
	sware_cache_set_leaf(index, &leaf);
}
