/*-------------------------------------------------------------------------
 *
 * expectedleaf.c
 *	  The leaves at which the next key is expected: a writer remembers them,
 *	  and goes there without a descent.
 *
 * Copies of a leaf's first item and high key tell which keys belong elsewhere.
 * (The idea is that of the predicted ordered leaf of the paper "QuIT your
 * B+-tree for the Quick Insertion Tree", section IV.)  What is remembered may
 * be out of date.  So a leaf is used only if the entry lies behind its first
 * item and before its high key now.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/faultpoint.h"
#include "keys/entry.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/cache.h"
#include "pages/pageaccess.h"
#include "tree/treepages.h"

/*
 * When this number of keys have belonged elsewhere (*strays*), look for the
 * leaf of the next one: more keys may come there.
 */
#define MAX_STRAYS		4

/*
 * Where keys arrive in no order, looking is in vain, and costs a descent and
 * perhaps a read.  So a writer that could give its entries to the buffer waits
 * for twice as many strays each time, up to this number, and for half as many
 * if a key comes to a leaf that was found so.
 */
#define MAX_PATIENCE	1024

/*
 * Each look-up pays for a buffer that has entries, however few.  So the entry
 * of a key that is at no expected leaf, or at one that another session has
 * locked, goes to the tree all the same while such misses are rare: each adds
 * to a sum (*missed*), a key at an expected leaf takes 1 away, and up to this
 * sum they are rare.
 */
#define RARE_MISSES		512

/* What a leaf adds that is locked: to wait for it is cheap. */
#define MISS_OF_BUSY	16

/* What a stray adds: the descent may have to read a page. */
#define MISS_OF_STRAY	64

/*
 * Which remembered leaf has to be looked at for a place?  Returns -1 if none.
 * The caller holds no content locks.
 */
static int
choose_leaf(const SwareSearchKey *key)
{
	for (int slot = 0; slot < SWARE_EXPECTED_LEAVES; slot++)
	{
		/* a copy, since a comparator may free the cache */
		SwareExpectedLeaf leaf = sware_cache(key->index)->leaves[slot];

		if (sware_link_is_valid(leaf.link) &&
			(leaf.first.tuple.t_info == 0 ||
			 sware_compare_key(key, &leaf.first.tuple) > 0) &&
			(leaf.highKey.tuple.t_info == 0 ||
			 sware_compare_key(key, &leaf.highKey.tuple) < 0))
			return slot;
	}
	return -1;
}

/* Copy the key of a leaf's first item, or its high key, unless it is large. */
static void
copy_key(Relation index, SwareKeyCopy *copy, IndexTuple tuple)
{
	int			columns = IndexRelationGetNumberOfKeyAttributes(index);

	if (!sware_tuple_is_special(tuple) &&
		IndexRelationGetNumberOfAttributes(index) > columns)
		tuple = index_truncate_tuple(RelationGetDescr(index), tuple, columns);
	if (sware_leaf_tuple_key_size(tuple) <= SWARE_MAX_KEY_COPY)
		sware_copy_first_entry(&copy->tuple, tuple);
}

/*
 * Note that a key has been at a leaf.  If the leaf was found because of strays,
 * looking for it was right.
 */
static void
note_use(Relation index, int slot)
{
	SwareCache *cache = sware_cache(index);
	SwareExpectedLeaf *leaf = &cache->leaves[slot];
	SwareStrays *strays = &cache->strays;

	if (unlikely(!leaf->isProved))
	{
		strays->count = 0;
		strays->patience = Max(strays->patience / 2, MAX_STRAYS);
	}
	leaf->isProved = true;
	leaf->lastUse = ++cache->leafUses;
	strays->missed = Max(strays->missed - 1, 0);
}

/* Note a miss, which adds this to the sum.  Are misses rare? */
static bool
is_rare_miss(SwareStrays *strays, int added)
{
	strays->missed = Min(strays->missed + added, RARE_MISSES + added);
	return strays->missed <= RARE_MISSES && !SWARE_FAULT_SETTING(misses);
}

/*
 * Return an expected leaf, pinned and exclusively locked, if a place is on it;
 * otherwise InvalidBuffer.  It has no incomplete split, and a downlink.  This
 * does not wait for the lock, but sets *is_busy to whether another session has
 * it.
 */
static Buffer
expected_leaf(const SwareSearchKey *key, bool *is_busy)
{
	Relation	index = key->index;
	int			slot = choose_leaf(key);
	SwareCache *cache;
	SwareLink	link;
	Buffer		buffer;

	*is_busy = false;
	if (unlikely(slot < 0))
		return InvalidBuffer;
	link = sware_cache(index)->leaves[slot].link;
	if (!sware_link_is_valid(link))
		return InvalidBuffer;	/* a comparator has had the cache reset */
	buffer = sware_try_linked_leaf(index, link, is_busy);
	if (BufferIsValid(buffer))
	{
		Page		page = BufferGetPage(buffer);
		bool		is_empty = sware_page_data_count(page) == 0;
		bool		is_before = !is_empty &&
			sware_compare_key(key, sware_page_tuple(page,
													SWARE_FIRST_DATA)) <= 0;

		/* where an empty leaf is, only a descent tells */
		if (!is_empty && !is_before &&
			(sware_page_is_rightmost(page) ||
			 sware_compare_key(key, sware_page_high_key(page)) < 0) &&
			(SwarePageGetOpaque(page)->flags & SWARE_INCOMPLETE_SPLIT) == 0)
		{
			note_use(index, slot);
			return buffer;
		}
		sware_release_buffer(buffer);
		if (is_before)
			return InvalidBuffer;	/* it stays: its first item is not known */
	}
	else if (*is_busy)
		return InvalidBuffer;

	/*
	 * a leaf that was split, or is not in the tree any more: let another one
	 * be looked for at once
	 */
	cache = sware_cache(index);
	cache->leaves[slot].link.block = InvalidBlockNumber;
	cache->strays.count = cache->strays.patience;
	return InvalidBuffer;
}

/* Make the least used place free for the next leaf. */
static void
make_place(SwareCache *cache)
{
	int			oldest = 0;

	for (int slot = 0; slot < SWARE_EXPECTED_LEAVES; slot++)
	{
		if (!sware_link_is_valid(cache->leaves[slot].link))
			return;
		if (cache->leaves[slot].lastUse < cache->leaves[oldest].lastUse)
			oldest = slot;
	}
	cache->leaves[oldest].link.block = InvalidBlockNumber;
}

/*
 * Return an expected leaf, as expected_leaf does.  If it returns InvalidBuffer,
 * *seek says that the key should go to the tree all the same.
 */
Buffer
sware_try_expected_leaf(const SwareSearchKey *key, bool *seek)
{
	bool		is_busy;
	Buffer		buffer;
	SwareCache *cache;
	SwareStrays *strays;

	*seek = false;
	if (SWARE_FAULT_SETTING(buffer))
		return InvalidBuffer;
	buffer = expected_leaf(key, &is_busy);
	if (BufferIsValid(buffer))
		return buffer;

	cache = sware_cache(key->index);
	strays = &cache->strays;
	if (is_busy)
	{
		*seek = is_rare_miss(strays, MISS_OF_BUSY);
		return InvalidBuffer;
	}
	if (strays->count < strays->patience)
	{
		strays->count++;
		*seek = is_rare_miss(strays, MISS_OF_STRAY);
		return InvalidBuffer;
	}
	make_place(cache);
	strays->count = 0;
	strays->patience = Min(Max(strays->patience * 2, MAX_STRAYS), MAX_PATIENCE);
	*seek = true;
	return InvalidBuffer;
}

/*
 * In which place among the expected leaves is a locked leaf to be remembered?
 * In its own if it is remembered already; in a free one; or in that of its left
 * sibling, where keys have gone on.  Returns -1 if the leaf is not to be
 * remembered.
 */
static int
place_to_remember(SwareCache *cache, Buffer buffer)
{
	SwareLink	link = sware_page_link(buffer);
	SwareLink	left = SwarePageGetOpaque(BufferGetPage(buffer))->left;
	int			unused = -1;
	int			next = -1;

	for (int slot = SWARE_EXPECTED_LEAVES - 1; slot >= 0; slot--)
	{
		if (!sware_link_is_valid(cache->leaves[slot].link))
			unused = slot;
		else if (sware_links_equal(link, cache->leaves[slot].link))
			return slot;
		else if (sware_links_equal(left, cache->leaves[slot].link))
			next = slot;
	}
	return unused >= 0 ? unused : next;
}

/*
 * Note that a writer's descent has led to this leaf, which is locked: more keys
 * may come there.  Of keys that may not wait nothing is copied that they would
 * be compared with.  If too little is known of the leaf's range, each key that
 * belongs elsewhere would cost a look at it, which only the rightmost leaf is
 * worth.
 */
static void
note_leaf(Relation index, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);
	bool		is_rightmost = sware_page_is_rightmost(page);
	bool		may_copy = sware_may_wait(index);
	SwareCache *cache = sware_cache(index);
	int			slot = place_to_remember(cache, buffer);
	SwareExpectedLeaf leaf = {.link = sware_page_link(buffer)};

	if (slot < 0)
		return;
	if (may_copy && sware_page_data_count(page) > 0)
		copy_key(index, &leaf.first, sware_page_tuple(page, SWARE_FIRST_DATA));
	if (may_copy && !is_rightmost)
		copy_key(index, &leaf.highKey, sware_page_high_key(page));
	if (is_rightmost ||
		(leaf.first.tuple.t_info != 0 && leaf.highKey.tuple.t_info != 0))
	{
		leaf.lastUse = cache->leafUses;
		cache->leaves[slot] = leaf;
	}
}

/*
 * Return the leaf whose key range has a place, for a writer, pinned and
 * exclusively locked, and without an incomplete split.  It is the one at which
 * keys are expected if the place is there and no other session has it locked,
 * and *stack NULL; otherwise it is found by a descent, and *stack is set to the
 * ancestors on the way.
 */
Buffer
sware_find_leaf(const SwareSearchKey *key, SwareStack **stack)
{
	bool		is_busy;
	Buffer		buffer = expected_leaf(key, &is_busy);

	*stack = NULL;
	if (BufferIsValid(buffer))
		return buffer;
	buffer = sware_descend(key, 0, BUFFER_LOCK_EXCLUSIVE, stack);
	note_leaf(key->index, buffer);
	return buffer;
}
