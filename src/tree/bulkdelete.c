/*-------------------------------------------------------------------------
 *
 * bulkdelete.c
 *	  VACUUM: removes entries whose heap tuples are gone, and pages that are
 *	  empty or unlinked.
 *
 * The logical pass visits every leaf from left to right, and takes a cleanup
 * lock on each, whether it has dead entries or not.  Splits move entries only
 * to the right, so the pass misses none.  A scan that still has a pin on the
 * leaf of an entry that it has returned makes the pass wait, and so keeps
 * VACUUM from releasing the entry's TID.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/progress.h"
#include "pgstat.h"
#include "storage/freespace.h"
#include "storage/indexfsm.h"
#include "storage/lmgr.h"
#include "tree/treepages.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "base/faultpoint.h"
#include "base/memory.h"
#include "keys/entry.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/bufferpages.h"
#include "pages/cache.h"
#include "pages/pageaccess.h"
#include "shared/statistics.h"
#include "tree/readahead.h"
#include "tree/tree.h"
#include "wal/wal.h"

typedef struct VacuumState
{
	IndexVacuumInfo *info;
	IndexBulkDeleteResult *stats;
	IndexBulkDeleteCallback callback;	/* NULL if entries are only to be
										 * counted */
	void	   *callbackState;
	SwareBlockSet *linked;		/* pages that the physical pass leaves out, as
								 * the tree, or a slot, leads to them */
} VacuumState;

/*
 * Remove the entries of a leaf that the callback says are dead.  The caller
 * has a cleanup lock on the leaf.
 */
static void
vacuum_leaf(VacuumState *state, Buffer buffer)
{
	Relation	index = state->info->index;
	SwareLeafView view;
	SwareTidPlace gone[SWARE_MAX_TIDS_PER_PAGE];
	int			gone_count = 0;
	int			all = 0;

	sware_view_init(&view, index, buffer);
	for (int i = 0; i < view.count; i++)
	{
		IndexTuple	tuple = sware_view_tuple(&view, i);
		ItemPointer tids = sware_leaf_tuple_tids(tuple);
		int			count = sware_leaf_tuple_tid_count(tuple);

		all += count;
		if (unlikely(all > SWARE_MAX_TIDS_PER_PAGE))
			sware_report_corruption(index, view.block, "Items overlap.");
		for (int j = 0; j < count; j++)
		{
			if (state->callback(&tids[j], state->callbackState))
			{
				gone[gone_count].offset = sware_view_offset(i);
				gone[gone_count++].number = j;
			}
		}
	}
	state->stats->tuples_removed += gone_count;
	state->stats->num_index_tuples += all - gone_count;
	if (gone_count > 0)
		sware_wal_remove_tids(index, buffer, gone, gone_count);
}

/*
 * The logical pass.  Removes the entries that the callback says are dead,
 * deletes pages that are empty, and adds the numbers of these to `stats`.
 */
void
sware_tree_bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
					   IndexBulkDeleteCallback callback, void *callback_state)
{
	Relation	index = info->index;
	Buffer		buffer = sware_descend_to_edge(index, 0, false);
	SwareLink	link = sware_page_link(buffer);
	VacuumState state = {info, stats, callback, callback_state, NULL};
	MemoryContext caller = CurrentMemoryContext;
	SwareReadahead ahead;
	int64		steps = 0;
	int64		blocks = RelationGetNumberOfBlocks(index);
	int64		visited = 0;

	sware_release_buffer(buffer);
	sware_readahead_init(&ahead, index, caller);
	sware_readahead_of_all(&ahead);
	(void) sware_enter_context("sware vacuum");
	stats->estimated_count = false;
	stats->num_index_tuples = 0;
	if (info->report_progress)
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, blocks);

	while (sware_link_is_valid(link))
	{
		Page		page;
		SwareLink	current = link;
		bool		is_empty;
		int			deleted = 0;

		sware_vacuum_delay_point();
		sware_readahead_visit(&ahead, link.block, MAX_IO_CONCURRENCY);
		buffer = ReadBufferExtended(index, MAIN_FORKNUM, link.block, RBM_NORMAL,
									info->strategy);
		LockBufferForCleanup(buffer);
		page = BufferGetPage(buffer);
		sware_check_page(index, link.block, page);

		/*
		 * only this process deletes pages, and it has not yet come to this
		 * one
		 */
		if (!sware_links_equal(sware_page_link(buffer), link) ||
			SwarePageGetOpaque(page)->kind != SWARE_KIND_LEAF ||
			!sware_page_is_live(page))
			sware_report_corruption(index, link.block,
									"It is not the leaf that a link to it means.");

		vacuum_leaf(&state, buffer);
		link = SwarePageGetOpaque(page)->right;
		is_empty = sware_page_data_count(page) == 0;
		sware_release_buffer(buffer);

		if (is_empty)
			deleted = sware_delete_page(index, current, 0);
		stats->pages_newly_deleted += deleted;

		/*
		 * a page that was deleted and reused is visited again; the others are
		 * different pages, or links form a circle
		 */
		if (deleted == 0)
			sware_count_step(index, current.block, &steps);
		if (info->report_progress)
			pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
										 Min(++visited, blocks));
		MemoryContextReset(CurrentMemoryContext);
	}

	/* the other pages were not visited, as they are no leaves */
	if (info->report_progress)
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, blocks);

	sware_leave_context(caller);
	sware_readahead_end(&ahead);
}

/*
 * Add the internal pages of a level that have downlinks, and the leaves that
 * those of level 1 lead to.  Stops where the level changes meanwhile: a page
 * that is missed only gets a closer look later.
 */
static void
add_level(Relation index, int level, SwareBlockSet *set)
{
	Buffer		buffer = sware_descend_to_edge(index, level, false);
	int64		steps = 0;

	while (BufferIsValid(buffer))
	{
		Page		page = BufferGetPage(buffer);
		SwareLink	right = SwarePageGetOpaque(page)->right;

		if (sware_page_data_count(page) > 0)
			sware_block_set_add(set, BufferGetBlockNumber(buffer));
		for (OffsetNumber offset = SWARE_FIRST_DATA;
			 level == 1 && offset <= PageGetMaxOffsetNumber(page);
			 offset++)
			sware_block_set_add(set,
								sware_pivot_link(sware_page_tuple(page,
																  offset)).block);
		sware_release_buffer(buffer);
		sware_vacuum_delay_point();

		if (!sware_link_is_valid(right))
			return;
		sware_count_step(index, right.block, &steps);
		buffer = sware_read_linked(index, right, level, BUFFER_LOCK_SHARE);
	}
}

/*
 * Does the left sibling of a page, as named by its left link, link to the
 * page?
 */
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
 * Does no page link to a leaf?  `copy` is its content, taken earlier.  True
 * if a search for a place in its range leads to another page, although the
 * leaf has not changed.  The caller holds no content locks.
 */
static bool
is_unreachable(Relation index, BlockNumber block, Page copy)
{
	SwareSearchKey place;
	Buffer		buffer;
	bool		is_unchanged;

	if (is_linked_by_left_sibling(index, block, copy))
		return false;
	if (sware_page_data_count(copy) > 0)
	{
		sware_search_key_prepare(&place, index);
		sware_search_key_set_entry(&place,
								   sware_page_tuple(copy, SWARE_FIRST_DATA));
	}
	else if (sware_page_has_high_key(copy))
	{
		/* the place just below it */
		sware_search_key_from_tuple(&place, index, sware_page_high_key(copy));
		place.below = true;
	}
	else
		return false;

	buffer = sware_descend(&place, 0, BUFFER_LOCK_SHARE, NULL);
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

/*
 * Delete a leaf if an interrupted bulk append or move has left it unlinked, and
 * return whether it was.  `copy` is the leaf's content.  The caller holds no
 * content locks.
 *
 * An append in progress has unlinked leaves, too, and holds the lock: then the
 * leaf is left to the next VACUUM.  Once this process has the lock, each
 * appended leaf is linked or given back.  It keeps the lock for one leaf only,
 * since nobody can append meanwhile.
 */
static bool
reclaim_leaf(Relation index, BlockNumber block, Page copy)
{
	bool		is_leaked;

	if (!ConditionalLockPage(index, SWARE_METAPAGE, ExclusiveLock))
		return false;
	is_leaked = is_unreachable(index, block, copy);
	if (is_leaked)
		sware_delete_unlinked(index,
							  sware_read_buffer(index, block,
												BUFFER_LOCK_EXCLUSIVE));
	UnlockPage(index, SWARE_METAPAGE, ExclusiveLock);
	return is_leaked;
}

/* Let the physical pass leave out the pages that slots list now. */
static void
add_listed(VacuumState *state)
{
	SwareListedPage *listed;
	int			count = sware_buffer_list_pages(state->info->index,
												SWARE_SLOT_FREE, &listed);

	for (int i = 0; i < count; i++)
		sware_block_set_add(state->linked, listed[i].page.block);
}

/*
 * Delete a sorted page of the buffer if a crash or an error came before a slot
 * listed it, and return whether it was deleted.  Waits for a flusher, which may
 * be about to list it.  The caller holds no content locks.
 *
 * One list of the slots serves for all sorted pages, as those that are listed
 * are left out afterwards.  A page that leaves its slot meanwhile, and is
 * sorted and not listed once more, is left to the next VACUUM.
 */
static bool
reclaim_sorted_page(VacuumState *state, SwareLink link)
{
	Relation	index = state->info->index;
	Buffer		buffer = InvalidBuffer;

	/* as a rule it is listed, and there is nothing to wait for */
	add_listed(state);
	if (sware_block_set_has(state->linked, link.block))
		return false;

	/* it may have been listed before the lock was free, or become another */
	LockPage(index, SWARE_FLUSH_LOCK_PAGE, ExclusiveLock);
	add_listed(state);
	if (!sware_block_set_has(state->linked, link.block))
		buffer = sware_read_buffer_page(index, link, BUFFER_LOCK_EXCLUSIVE);
	if (BufferIsValid(buffer))
		sware_delete_unlinked(index, buffer);
	UnlockPage(index, SWARE_FLUSH_LOCK_PAGE, ExclusiveLock);
	return BufferIsValid(buffer);
}

/*
 * Examine one block in the physical pass, and return whether it is free.  The
 * tree was found not to lead to it.
 */
static bool
examine_block(VacuumState *state, BlockNumber block)
{
	Relation	index = state->info->index;
	Buffer		buffer = ReadBufferExtended(index, MAIN_FORKNUM, block,
											RBM_NORMAL, state->info->strategy);
	PGAlignedBlock copy;
	Page		page = copy.data;
	SwarePageOpaque opaque;
	SwareLink	link;
	int			deleted = 0;

	sware_lock_buffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(page, BufferGetPage(buffer), BLCKSZ);
	sware_release_buffer(buffer);
	if (PageIsNew(page))
		return true;
	sware_check_page(index, block, page);
	if (!sware_page_is_live(page))
	{
		state->stats->pages_deleted++;
		return true;
	}

	opaque = SwarePageGetOpaque(page);
	link.block = block;
	link.incarnation = opaque->incarnation;
	if (opaque->kind == SWARE_KIND_LEAF)
		deleted = reclaim_leaf(index, block, page) ? 1 : 0;
	else if (opaque->kind == SWARE_KIND_BUFFER &&
			 sware_buffer_page_is_sorted(page))
		deleted = reclaim_sorted_page(state, link) ? 1 : 0;
	/* it could not be deleted when it became empty, or a crash left it */
	else if (opaque->kind == SWARE_KIND_INTERNAL &&
			 sware_page_data_count(page) == 0)
		deleted = sware_delete_page(index, link, opaque->level);

	state->stats->pages_newly_deleted += deleted;
	state->stats->pages_deleted += deleted > 0 ? 1 : 0;
	return deleted > 0;
}

/*
 * The physical pass.  Puts free pages into the free space map: deleted ones,
 * those that a crash or an error left without content, and those that an
 * interrupted bulk append or move left unlinked, or that were sorted but not
 * listed.  Of pages that the tree leads to, only the internal ones are read.
 *
 * If there were no dead rows, it passes over pages that are in the map already,
 * which may be most of the file, except after the start of the server: changes
 * of the map are not logged, so after a crash it may list pages that are not
 * free.  Pages that are being allocated may get into the map: allocations look
 * at each page, and do not trust the map.  Adds free pages to `free_pages`,
 * unless that is NULL.
 */
void
sware_tree_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
				   SwareBlockSet *free_pages)
{
	Relation	index = info->index;
	VacuumState state = {.info = info,.stats = stats};
	MemoryContext caller;
	MemoryContext cleanup;
	BlockNumber blocks = RelationGetNumberOfBlocks(index);
	bool		trusts_map =
		stats->estimated_count && sware_map_is_checked(index);

	caller = sware_enter_context("sware cleanup");
	state.linked = sware_block_set_make(blocks);
	sware_cache_refresh(index);
	sware_block_set_add(state.linked, sware_cache(index)->root.block);
	for (int level = sware_cache(index)->level; level > 0; level--)
		add_level(index, level, state.linked);
	SWARE_FAULT_POINT("vacuum-linked");

	stats->num_pages = blocks;
	stats->pages_deleted = 0;
	stats->pages_free = 0;
	cleanup = sware_enter_context("sware vacuum");
	for (BlockNumber block = SWARE_METAPAGE + 1; block < blocks; block++)
	{
		bool		is_free = true;

		if (sware_block_set_has(state.linked, block))
			continue;
		sware_vacuum_delay_point();
		if (trusts_map && GetRecordedFreeSpace(index, block) > 0)
			stats->pages_deleted++;
		else if (examine_block(&state, block))
			RecordFreeIndexPage(index, block);
		else
			is_free = false;
		if (is_free)
			stats->pages_free++;
		if (is_free && free_pages)
			sware_block_set_add(free_pages, block);
		MemoryContextReset(CurrentMemoryContext);
	}
	sware_leave_context(cleanup);
	sware_leave_context(caller);

	if (!trusts_map)
		sware_count(index, SWARE_STAT_MAP_CHECKS, 1);
	IndexFreeSpaceMapVacuum(index);
}
