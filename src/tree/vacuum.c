/*-------------------------------------------------------------------------
 *
 * vacuum.c
 *	  Removing entries whose heap tuples are gone, and empty pages.
 *
 * Two passes.  The logical pass visits every leaf from left to right, under
 * a cleanup lock, whether it has dead entries or not: splits move entries
 * only to the right, so none escapes, and a scan that returned an entry and
 * still holds its pin keeps VACUUM from releasing the entry's TID.  The
 * physical pass finds pages that nobody links to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/indexfsm.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"

#include "compat.h"
#include "tree/cache.h"
#include "tree/tree.h"
#include "wal/wal.h"

typedef struct VacuumState
{
	IndexVacuumInfo *info;
	IndexBulkDeleteResult *stats;
	IndexBulkDeleteCallback callback;	/* NULL: count only */
	void	   *callbackState;
	MemoryContext pageContext;	/* reset after each page */
} VacuumState;

/*
 * What remains of an entry or posting list: the tuple itself, a smaller one,
 * or NULL.
 */
static IndexTuple
without_dead_tids(VacuumState *state, IndexTuple tuple)
{
	ItemPointer tids = sware_leaf_tuple_tids(tuple);
	int			count = sware_leaf_tuple_tid_count(tuple);
	ItemPointer live = palloc(count * sizeof(ItemPointerData));
	int			live_count = 0;

	for (int i = 0; i < count; i++)
	{
		if (!state->callback(&tids[i], state->callbackState))
			live[live_count++] = tids[i];
	}
	state->stats->tuples_removed += count - live_count;
	state->stats->num_index_tuples += live_count;
	if (live_count == count)
		return tuple;
	return live_count == 0 ? NULL : sware_form_posting(tuple, live, live_count);
}

/*
 * Remove dead entries from a leaf, on which the caller has a cleanup lock.
 * A leaf that changes is rewritten, append area folded in.
 */
static void
vacuum_leaf(VacuumState *state, Buffer buffer)
{
	Relation	index = state->info->index;
	Page		page = BufferGetPage(buffer);
	SwareItems *items = palloc(sizeof(SwareItems));
	bool		is_changed = false;
	int			count = 0;
	IndexTuple	high_key = sware_page_is_rightmost(page) ? NULL :
		sware_page_high_key(page);
	SwareWal   *wal;

	sware_collect_items(index, page, items);
	for (int i = 0; i < items->count; i++)
	{
		IndexTuple	tuple = without_dead_tids(state, items->tuples[i]);

		is_changed |= tuple != items->tuples[i];
		if (tuple)
			items->tuples[count++] = tuple;
	}
	if (!is_changed)
		return;

	wal = sware_wal_begin(index);
	sware_write_items(sware_wal_change(wal, buffer), high_key, items->tuples, count);
	sware_wal_finish(wal);
}

/* The leftmost leaf, neither pinned nor locked. */
static SwareLink
leftmost_leaf(Relation index)
{
	Buffer		buffer = sware_descend_to_edge(index, 0, false);
	SwareLink	link = sware_page_link(buffer);

	sware_release_buffer(buffer);
	return link;
}

/*
 * The logical pass.  Removes the entries that the callback says are dead, and
 * deletes pages that are empty.  Adds to `stats`.
 */
void
sware_tree_bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
					   IndexBulkDeleteCallback callback, void *callback_state)
{
	Relation	index = info->index;
	SwareLink	link = leftmost_leaf(index);
	VacuumState state = {info, stats, callback, callback_state, NULL};
	MemoryContext caller = CurrentMemoryContext;

	state.pageContext = AllocSetContextCreate(caller, "sware vacuum",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(state.pageContext);
	stats->estimated_count = false;
	stats->num_index_tuples = 0;

	while (sware_link_is_valid(link))
	{
		Buffer		buffer;
		Page		page;
		SwareLink	current = link;
		bool		is_empty;

		sware_vacuum_delay_point();
		buffer = ReadBufferExtended(index, MAIN_FORKNUM, link.block, RBM_NORMAL,
									info->strategy);
		LockBufferForCleanup(buffer);
		page = BufferGetPage(buffer);
		sware_check_page(index, link.block, page);

		/* only this process deletes pages, and it has not come here yet */
		if (!sware_links_equal(sware_page_link(buffer), link) ||
			SwarePageGetOpaque(page)->kind != SWARE_KIND_LEAF ||
			!sware_page_is_live(page))
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("link to block %u leads to a page that is not the leaf meant in index \"%s\"",
							link.block, RelationGetRelationName(index))));

		vacuum_leaf(&state, buffer);
		link = SwarePageGetOpaque(page)->right;
		is_empty = sware_page_data_count(page) == 0;
		sware_release_buffer(buffer);

		if (is_empty)
			stats->pages_newly_deleted += sware_delete_page(index, current, 0);
		MemoryContextReset(state.pageContext);
	}

	MemoryContextSwitchTo(caller);
	MemoryContextDelete(state.pageContext);
}

/* A set of blocks, one bit each. */
typedef struct BlockSet
{
	BlockNumber blocks;			/* below this number */
	uint8	   *bits;
} BlockSet;

static BlockSet *
make_block_set(BlockNumber blocks)
{
	BlockSet   *set = palloc(sizeof(BlockSet));

	set->blocks = blocks;
	set->bits = MemoryContextAllocExtended(CurrentMemoryContext, blocks / 8 + 1,
										   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	return set;
}

static void
add_block(BlockSet *set, BlockNumber block)
{
	if (block < set->blocks)
		set->bits[block / 8] |= 1 << (block % 8);
}

static bool
has_block(const BlockSet *set, BlockNumber block)
{
	return (set->bits[block / 8] & (1 << (block % 8))) != 0;
}

/* Add the blocks that the downlinks just above the leaves lead to. */
static void
add_linked_leaves(Relation index, BlockSet *set)
{
	SwareLink	link;
	Buffer		buffer;
	int			level;

	/* an index of one page has no downlinks */
	sware_cache_refresh_root(index);
	link = sware_get_root(index, &level);
	if (level == 0)
	{
		add_block(set, link.block);
		return;
	}

	buffer = sware_descend_to_edge(index, 1, false);
	for (;;)
	{
		Page		page = BufferGetPage(buffer);

		for (OffsetNumber offset = SWARE_FIRST_DATA;
			 offset <= PageGetMaxOffsetNumber(page);
			 offset++)
			add_block(set, sware_pivot_link(sware_page_tuple(page, offset)).block);
		link = SwarePageGetOpaque(page)->right;
		sware_release_buffer(buffer);
		sware_vacuum_delay_point();

		/* pages not found any more only cost a closer look later */
		if (!sware_link_is_valid(link))
			return;
		buffer = sware_read_linked(index, link, 1, BUFFER_LOCK_SHARE);
		if (!BufferIsValid(buffer))
			return;
	}
}

/* Does the left sibling that a page names link to it? */
static bool
is_linked_by_left_sibling(Relation index, BlockNumber block, Page copy)
{
	SwareLink	left = SwarePageGetOpaque(copy)->left;
	Buffer		buffer;
	bool		result;

	if (!sware_link_is_valid(left))
		return false;
	buffer = sware_read_linked(index, left, 0, BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buffer))
		return false;
	result = SwarePageGetOpaque(BufferGetPage(buffer))->right.block == block;
	sware_release_buffer(buffer);
	return result;
}

/*
 * Does a search for a leaf's first entry lead to another page, though the
 * leaf is still what it was?  Then nobody links to it.  `copy` is the leaf's
 * content, taken earlier.  Nothing is locked.
 */
static bool
is_unreachable(Relation index, BlockNumber block, Page copy)
{
	SwareSearchKey key;
	Buffer		buffer;
	bool		is_unchanged;

	/* only bulk appends leave unlinked leaves behind, and none is empty */
	if (sware_page_last_sorted(copy) < SWARE_FIRST_DATA ||
		is_linked_by_left_sibling(index, block, copy))
		return false;

	sware_search_key_from_entry(&key, index, sware_page_tuple(copy, SWARE_FIRST_DATA));
	buffer = sware_descend(&key, 0, BUFFER_LOCK_SHARE, NULL);
	if (BufferGetBlockNumber(buffer) == block)
	{
		sware_release_buffer(buffer);
		return false;
	}
	sware_release_buffer(buffer);

	buffer = sware_read_buffer(index, block, BUFFER_LOCK_SHARE);
	is_unchanged = memcmp(BufferGetPage(buffer), copy, BLCKSZ) == 0;
	sware_release_buffer(buffer);
	return is_unchanged;
}

/* Make a page that nobody links to a deleted one. */
static void
delete_unreachable(Relation index, BlockNumber block)
{
	Buffer		buffer = sware_read_buffer(index, block, BUFFER_LOCK_EXCLUSIVE);
	SwareWal   *wal = sware_wal_begin(index);

	sware_mark_deleted(sware_wal_change(wal, buffer));
	sware_wal_finish(wal);
	sware_release_buffer(buffer);
}

/*
 * Look at one block of the physical pass; true if it is free.  `linked` are
 * the leaves that need no closer look; NULL if none is to be looked at.
 */
static bool
examine_block(VacuumState *state, BlockNumber block, const BlockSet *linked)
{
	Relation	index = state->info->index;
	Buffer		buffer;
	Page		page;
	PGAlignedBlock copy;
	bool		is_suspicious;
	bool		was_emptied;
	SwareLink	link;
	int			level;

	buffer = ReadBufferExtended(index, MAIN_FORKNUM, block, RBM_NORMAL,
								state->info->strategy);
	sware_lock_buffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	if (PageIsNew(page))
	{
		sware_release_buffer(buffer);
		return true;
	}
	sware_check_page(index, block, page);
	if (!sware_page_is_live(page))
	{
		state->stats->pages_deleted++;
		sware_release_buffer(buffer);
		return true;
	}
	link = sware_page_link(buffer);
	level = SwarePageGetOpaque(page)->level;
	is_suspicious = linked != NULL && !has_block(linked, block) &&
		SwarePageGetOpaque(page)->kind == SWARE_KIND_LEAF;
	was_emptied = SwarePageGetOpaque(page)->kind == SWARE_KIND_INTERNAL &&
		sware_page_data_count(page) == 0;
	if (is_suspicious)
		memcpy(copy.data, page, BLCKSZ);
	sware_release_buffer(buffer);

	/* one that could not be deleted at once, or a crash came in between */
	if (was_emptied)
	{
		int			deleted = sware_delete_page(index, link, level);

		state->stats->pages_newly_deleted += deleted;
		state->stats->pages_deleted += deleted > 0 ? 1 : 0;
		return deleted > 0;
	}

	if (!is_suspicious || !is_unreachable(index, block, copy.data))
		return false;
	delete_unreachable(index, block);
	state->stats->pages_deleted++;
	state->stats->pages_newly_deleted++;
	return true;
}

/*
 * The physical pass.  Puts free pages into the free space map: deleted ones,
 * those that a crash left without content, and those that an interrupted
 * bulk append left unlinked.  Does nothing if there was no logical pass
 * (there is nothing new to be found then), but for the size.
 */
void
sware_tree_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	Relation	index = info->index;
	VacuumState state = {info, stats, NULL, NULL, NULL};
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext cleanup;
	BlockSet   *linked = NULL;
	bool		find_unreachable;
	BlockNumber blocks;

	/* see sware_allocate_buffer for the lock */
	if (!RELATION_IS_LOCAL(index))
		LockRelationForExtension(index, ExclusiveLock);
	blocks = RelationGetNumberOfBlocks(index);
	if (!RELATION_IS_LOCAL(index))
		UnlockRelationForExtension(index, ExclusiveLock);
	stats->num_pages = blocks;
	if (stats->estimated_count)
		return;

	cleanup = AllocSetContextCreate(caller, "sware cleanup", ALLOCSET_DEFAULT_SIZES);
	state.pageContext = AllocSetContextCreate(cleanup, "sware vacuum",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(cleanup);

	/* a bulk append that is under way has pages that are not linked yet */
	find_unreachable = ConditionalLockPage(index, SWARE_METAPAGE, ExclusiveLock);
	if (find_unreachable)
	{
		linked = make_block_set(blocks);
		add_linked_leaves(index, linked);
	}

	stats->pages_deleted = 0;
	stats->pages_free = 0;
	MemoryContextSwitchTo(state.pageContext);
	for (BlockNumber block = SWARE_METAPAGE + 1; block < blocks; block++)
	{
		sware_vacuum_delay_point();
		if (examine_block(&state, block, linked))
		{
			RecordFreeIndexPage(index, block);
			stats->pages_free++;
		}
		MemoryContextReset(state.pageContext);
	}
	MemoryContextSwitchTo(caller);

	if (find_unreachable)
		UnlockPage(index, SWARE_METAPAGE, ExclusiveLock);
	MemoryContextDelete(cleanup);
	IndexFreeSpaceMapVacuum(index);
}
