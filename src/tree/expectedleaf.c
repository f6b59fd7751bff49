/*-------------------------------------------------------------------------
 *
 * expectedleaf.c
 *	  The leaves at which the next key is expected: a writer remembers them,
 *	  and goes there without a descent.
 *
 * While keys arrive in order this is the rightmost leaf, or the one where they
 * go on if some came early.  They may come in order in several places, as in
 * an index on (state, time).  Copies of a leaf's first item and high key, or
 * their numbers, tell which keys belong elsewhere.  (The idea is that of the
 * predicted ordered leaf of the paper on QuIT.)
 *
 * What is remembered may be out of date.  So a leaf is used only if the entry
 * lies behind its first item and before its high key now.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/faultpoint.h"
#include "keys/abbreviation.h"
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

/* The limit where other keys do come to expected leaves. */
#define MAX_PATIENCE_OF_SOME	64

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

/* How a place lies to the range of keys that a leaf is known to have. */
typedef enum Position
{
	WITHIN,
	BEFORE,						/* or just before the first item */
	BEHIND
} Position;

/* Where is a place, as seen from a locked leaf? */
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

/*
 * Compare a place with a key that is remembered, in a copy: a comparator may
 * free the cache.  Returns `missing` if it is not remembered.
 */
static int
compare_to_copy(const SwareSearchKey *key, const SwareKeyCopy *kept,
				int missing)
{
	SwareKeyCopy copy;

	if (kept->tuple.t_info == 0)
		return missing;
	copy = *kept;
	return sware_compare_key(key, &copy.tuple);
}

/*
 * Where is a place, as far as is known of a remembered leaf?  WITHIN means that
 * the leaf has to be looked at.  `first` is the first column with its number,
 * or NULL.
 */
static Position
position_to_remembered(const SwareSearchKey *key,
					   const SwareSearchColumn *first,
					   const SwareExpectedLeaf *leaf)
{
	int64		highest = leaf->highest;
	SwareKeyCopy high_key;

	if (first && first->value < leaf->lowest)
		return BEFORE;
	if (first && first->value > highest)
		return BEHIND;
	if (first && first->value > leaf->lowest && first->value < highest)
		return WITHIN;

	high_key = leaf->highKey;
	if ((!first || first->value == leaf->lowest) &&
		compare_to_copy(key, &leaf->first, 1) <= 0)
		return BEFORE;
	if ((!first || first->value == highest) &&
		compare_to_copy(key, &high_key, -1) >= 0)
		return BEHIND;
	return WITHIN;
}

/*
 * Which remembered leaf has to be looked at for a place?  Returns -1 if none.
 * The caller holds no content locks.
 */
static int
choose_leaf(const SwareSearchKey *key)
{
	SwareSearchColumn first;
	bool		has_number = false;
	bool		is_set = false;

	for (int slot = 0; slot < SWARE_EXPECTED_LEAVES; slot++)
	{
		SwareExpectedLeaf *leaf = &sware_cache(key->index)->leaves[slot];

		if (!sware_link_is_valid(leaf->link))
			continue;
		if (!is_set)
			has_number = sware_search_column_set(&first, key);
		is_set = true;
		if (position_to_remembered(key, has_number ? &first : NULL, leaf) ==
			WITHIN)
			return slot;
	}
	return -1;
}

/* Copy a tuple of a leaf, without a posting list's TIDs, unless it is large. */
static void
copy_key(SwareKeyCopy *copy, IndexTuple tuple)
{
	copy->tuple.t_info = 0;
	if (sware_leaf_tuple_key_size(tuple) <= SWARE_MAX_KEY_COPY)
		sware_copy_first_entry(&copy->tuple, tuple);
}

/*
 * Remember a locked leaf in *leaf.  Of keys that may not wait nothing is copied
 * that they would be compared with.  Returns false if nothing is known of the
 * leaf's range, so that each key that belongs elsewhere would cost a look at
 * it.  (Where all keys have the same number, and none is copied, it does; but
 * without the leaf, keys that come in order there would wait.)
 */
static bool
remember(const SwareSearchKey *key, Buffer buffer, SwareExpectedLeaf *leaf)
{
	Page		page = BufferGetPage(buffer);
	IndexTuple	item = sware_page_data_count(page) == 0 ? NULL :
		sware_page_tuple(page, SWARE_FIRST_DATA);
	IndexTuple	high_key = sware_page_is_rightmost(page) ? NULL :
		sware_page_high_key(page);
	SwareSearchColumn first;
	bool		has_numbers = sware_search_column_set(&first, key);

	leaf->link = sware_page_link(buffer);
	leaf->lowest = PG_INT64_MIN;
	leaf->highest = PG_INT64_MAX;
	leaf->first.tuple.t_info = leaf->highKey.tuple.t_info = 0;
	if (has_numbers && item)
		leaf->lowest = sware_tuple_number(key, &first, item);
	if (has_numbers && high_key)
		leaf->highest = sware_tuple_number(key, &first, high_key);
	if (!sware_may_wait(key->index))
		return high_key == NULL;
	if (item)
		copy_key(&leaf->first, item);
	if (high_key)
		copy_key(&leaf->highKey, high_key);
	return high_key == NULL || has_numbers ||
		(leaf->first.tuple.t_info != 0 && leaf->highKey.tuple.t_info != 0);
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

	if (!leaf->isProved)
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
 * otherwise InvalidBuffer.  It has no incomplete split, and a downlink.  If
 * `is_busy` is not NULL, this does not wait for the lock, but sets *is_busy to
 * whether another session has it.
 */
static Buffer
expected_leaf(const SwareSearchKey *key, bool *is_busy)
{
	Relation	index = key->index;
	int			slot = choose_leaf(key);
	Position	position = BEHIND;
	SwareCache *cache;
	SwareLink	link;
	Buffer		buffer;

	if (is_busy)
		*is_busy = false;
	if (slot < 0)
		return InvalidBuffer;
	link = sware_cache(index)->leaves[slot].link;
	if (!sware_link_is_valid(link))
		return InvalidBuffer;	/* a comparator has had the cache reset */
	buffer = is_busy ? sware_try_linked_leaf(index, link, is_busy) :
		sware_read_linked(index, link, 0, BUFFER_LOCK_EXCLUSIVE);
	if (BufferIsValid(buffer))
	{
		Page		page = BufferGetPage(buffer);

		position = position_to_leaf(key, page);
		if (position == WITHIN &&
			(SwarePageGetOpaque(page)->flags & SWARE_INCOMPLETE_SPLIT) == 0)
		{
			note_use(index, slot);
			return buffer;
		}
		sware_release_buffer(buffer);
	}
	else if (is_busy && *is_busy)
		return InvalidBuffer;

	/* a leaf that was split, or is not in the tree any more */
	cache = sware_cache(index);
	cache->leaves[slot].link.block = InvalidBlockNumber;
	/* let another one be looked for at once */
	if (position != BEFORE)
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
 * Return an expected leaf, as expected_leaf does without waiting for other
 * sessions.  If it returns InvalidBuffer, *seek says that the key should go to
 * the tree all the same.
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
	if (cache->leafUses != strays->uses)
		strays->patience = Min(strays->patience, MAX_PATIENCE_OF_SOME);
	if (strays->count < strays->patience)
	{
		strays->count++;
		*seek = is_rare_miss(strays, MISS_OF_STRAY);
		return InvalidBuffer;
	}
	make_place(cache);
	strays->count = 0;
	strays->patience = Min(Max(strays->patience * 2, MAX_STRAYS), MAX_PATIENCE);
	strays->uses = cache->leafUses;
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
 * may come there.
 */
static void
note_leaf(const SwareSearchKey *key, Buffer buffer)
{
	SwareCache *cache = sware_cache(key->index);
	SwareExpectedLeaf noted;
	int			slot = place_to_remember(cache, buffer);

	if (slot < 0 || !remember(key, buffer, &noted))
		return;
	cache = sware_cache(key->index);
	noted.isProved = false;
	noted.lastUse = cache->leafUses;
	cache->leaves[slot] = noted;
}

/*
 * Return the leaf whose key range has a place, for a writer, pinned and
 * exclusively locked, and without an incomplete split.  It is the one at which
 * keys are expected if the place is there, and *stack NULL; otherwise it is
 * found by a descent, and *stack is set to the ancestors on the way.
 */
Buffer
sware_find_leaf(const SwareSearchKey *key, SwareStack **stack)
{
	Buffer		buffer = expected_leaf(key, NULL);

	*stack = NULL;
	if (BufferIsValid(buffer))
		return buffer;
	buffer = sware_descend(key, 0, BUFFER_LOCK_EXCLUSIVE, stack);
	note_leaf(key, buffer);
	return buffer;
}
