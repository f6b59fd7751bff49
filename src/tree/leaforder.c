/*-------------------------------------------------------------------------
 *
 * leaforder.c
 *	  VACUUM: brings leaves that are scattered over the file into the order of
 *	  their keys (page grouping: "TreeLine").
 *
 * A range of the index is read from the disk fast if its leaves lie one behind
 * another.  Leaves that come from splits lie anywhere.
 *
 * The leaves below a page of level 1 are a group, or those below several such
 * pages, if each has few.  It is scattered if its leaves lie in many pieces,
 * each of adjacent blocks in the order of keys.  Each leaf of a scattered
 * group gets a target: one of the blocks that such leaves have, or of the free
 * ones, in long series of adjacent blocks, from the file's beginning on.
 * The first of them is the target of the leaf with the lowest keys, and so
 * on.  So the file does not grow.  As long as the same groups are scattered,
 * the targets are the same, so that a VACUUM goes on where another one was
 * cancelled.
 *
 * Where a target is free, its leaf moves there, then the leaf whose target is
 * the block that became free, and so on.  The other leaves lie on each other's
 * targets, in circles: one of each moves to a spare page first.
 *
 * All leaves must be known at the same time: those of a part of the index have
 * few adjacent blocks.  What was found out about them and about free pages may
 * be out of date when it is used: sware_move_leaf looks at both again.  A leaf
 * that cannot be moved stays where it is until the next VACUUM.  So does the
 * leaf whose target that is; it is on the spare page then if it was the first
 * of a circle to move.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/autovacuum.h"
#include "storage/bufmgr.h"
#include "tree/treepages.h"
#include "utils/memutils.h"
#include "utils/spccache.h"

#include "base/compat.h"
#include "base/memory.h"
#include "layout/page.h"
#include "pages/pageaccess.h"
#include "shared/statistics.h"
#include "tree/tree.h"

/* A group is scattered if its pieces have fewer leaves than this on average. */
#define LEAVES_PER_PIECE	8

/* Leaves are moved if they come to lie in this many times fewer pieces. */
#define WORTHWHILE_GAIN		2

/* Series of this number of adjacent blocks are all long enough. */
#define LONG_SERIES		128

/* A group has this number of leaves at least, but for the last one. */
#define GROUP_LEAVES		64

/* leaves of scattered groups, and where they are to go */
typedef struct LeafOrder
{
	Relation	index;
	int64		count;			/* may be larger than `limit` */
	int64		limit;			/* how many leaves there is room for */
	int64		pieces;			/* in which the leaves lie */
	int64		groupStart;		/* the first leaf of the group that is being
								 * looked at */
	int			groupPieces;	/* that begin in it */
	int			distance;		/* how many leaves are asked for ahead */
	MemoryContext moveContext;	/* reset after each move */
	SwareLink  *leaves;			/* in the order of their keys */
	BlockNumber *targets;		/* leaf i is to go to targets[i]; in order */
	SwareBlockSet *freePages;
} LeafOrder;

/* memory that each leaf takes */
#define BYTES_PER_LEAF \
	((int64) (sizeof(SwareLink) + sizeof(BlockNumber)))

/*
 * Add the leaves of a page of level 1, which is locked.  Where there is no room
 * for them, they are only counted.  *last is the leaf before, and becomes the
 * last one of these.
 */
static void
add_leaves(LeafOrder *order, Buffer buffer, BlockNumber *last)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber end = PageGetMaxOffsetNumber(page);

	/* the rightmost leaf cannot be moved */
	if (sware_page_is_rightmost(page))
		end--;
	for (OffsetNumber offset = SWARE_FIRST_DATA; offset <= end; offset++)
	{
		SwareLink	leaf = sware_checked_downlink(order->index,
												  BufferGetBlockNumber(buffer),
												  page, offset);

		/* a piece begins where a block does not follow the one before */
		order->groupPieces += *last + 1 != leaf.block;
		*last = leaf.block;
		if (order->count < order->limit)
			order->leaves[order->count] = leaf;
		order->count++;
	}
}

/* End the group: take its leaves away again unless they are scattered. */
static void
end_group(LeafOrder *order)
{
	int64		leaves = order->count - order->groupStart;

	if (order->groupPieces * LEAVES_PER_PIECE > leaves)
		order->pieces += order->groupPieces;
	else
		order->count = order->groupStart;
	order->groupStart = order->count;
	order->groupPieces = 0;
}

/*
 * Find the next series of adjacent blocks of a set, from *end on.  Returns
 * false if there is none.  Sets *begin to its first block, and *end to the one
 * behind.
 */
static bool
next_series(const SwareBlockSet *set, BlockNumber *begin, BlockNumber *end)
{
	*begin = *end;
	while (*begin < set->blocks && !sware_block_set_has(set, *begin))
		(*begin)++;
	*end = *begin;
	while (sware_block_set_has(set, *end))
		(*end)++;
	return *begin < *end;
}

/*
 * Return the largest length, LONG_SERIES at most, so that the series that
 * are as long as this have `count` blocks.
 */
static int
sufficient_length(const SwareBlockSet *set, int64 count)
{
	int64		blocks[LONG_SERIES + 1] = {0};	/* by length of series */
	int			length = LONG_SERIES;
	BlockNumber begin;
	BlockNumber end = 0;

	while (next_series(set, &begin, &end))
		blocks[Min(end - begin, (BlockNumber) LONG_SERIES)] += end - begin;
	for (int64 found = blocks[length]; length > 1 && found < count;)
		found += blocks[--length];
	return length;
}

/* Return the set of blocks that leaves can have as targets. */
static SwareBlockSet *
make_candidates(const LeafOrder *order)
{
	SwareBlockSet *candidates =
		sware_block_set_make(RelationGetNumberOfBlocks(order->index));

	for (int64 i = 0; i < order->count; i++)
	{
		BlockNumber block = order->leaves[i].block;

		if (block == SWARE_METAPAGE || block >= candidates->blocks)
			sware_report_corruption(order->index, block,
									"A downlink to a leaf leads here.");
		if (sware_block_set_has(candidates, block))
			sware_report_corruption(order->index, block,
									"Two downlinks lead to the same leaf.");
		sware_block_set_add(candidates, block);
	}

	/* the file may have become longer since the free pages were found */
	for (BlockNumber i = 0; i <= order->freePages->blocks / 8; i++)
		candidates->bits[i] |= order->freePages->bits[i];
	return candidates;
}

/*
 * Choose the targets of the leaves, and return whether they would lie in many
 * fewer pieces there.
 */
static bool
choose_targets(LeafOrder *order)
{
	SwareBlockSet *candidates = make_candidates(order);
	int			length = sufficient_length(candidates, order->count);
	int64		count = 0;
	int64		pieces = 0;
	BlockNumber begin;
	BlockNumber end = 0;

	while (count < order->count && next_series(candidates, &begin, &end))
	{
		if (end - begin < (BlockNumber) length)
			continue;
		pieces++;
		for (BlockNumber block = begin;
			 block < end && count < order->count; block++)
			order->targets[count++] = block;
	}
	return pieces <= order->pieces / WORTHWHILE_GAIN;
}

/*
 * Return the number of the leaf whose target is a block; -1: none.  It follows
 * the leaf that lies there, when that moves away.
 */
static int64
leaf_for(const LeafOrder *order, BlockNumber block)
{
	BlockNumber *target = bsearch(&block, order->targets, order->count,
								  sizeof(BlockNumber), sware_compare_blocks);

	return target ? target - order->targets : -1;
}

/*
 * Move a leaf to a block, or to any one if that is InvalidBlockNumber, and
 * return whether that was possible.  Sets *left to the block that it has left.
 */
static bool
move(LeafOrder *order, int64 leaf, BlockNumber to, BlockNumber *left)
{
	BlockNumber block = order->leaves[leaf].block;
	MemoryContext caller;
	bool		is_moved;

	sware_vacuum_delay_point();
	caller = MemoryContextSwitchTo(order->moveContext);
	is_moved = sware_move_leaf(order->index, &order->leaves[leaf], to);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(order->moveContext);
	if (is_moved)
	{
		sware_count(order->index, SWARE_STAT_LEAF_MOVES, 1);
		*left = block;
	}
	return is_moved;
}

/* Ask the kernel for a leaf that will be moved, and for its siblings. */
static void
ask_for(const LeafOrder *order, int64 leaf)
{
	for (int64 i = Max(leaf - 1, 0); i <= Min(leaf + 1, order->count - 1); i++)
		PrefetchBuffer(order->index, MAIN_FORKNUM, order->leaves[i].block);
}

/*
 * Move a leaf to its target, which is a free block, then the leaf whose target
 * is the block that became free, and so on, as long as there is one.  Put the
 * block that is free in the end into the free space map, if a leaf has moved,
 * and return whether one has.
 */
static bool
fill(LeafOrder *order, BlockNumber free_block)
{
	int64		leaf = leaf_for(order, free_block);
	int64		ahead;			/* the leaf to ask for next; -1: none */
	int64		asked = 0;
	int64		moved = 0;

	ahead = order->distance > 0 ? leaf : -1;
	while (leaf >= 0)
	{
		for (; ahead >= 0 && asked - moved < order->distance; asked++)
		{
			ask_for(order, ahead);
			ahead = leaf_for(order, order->leaves[ahead].block);
		}
		if (!move(order, leaf, free_block, &free_block))
			break;
		moved++;
		leaf = leaf_for(order, free_block);
	}
	if (moved > 0)
		sware_record_free_page(order->index, free_block);
	return moved > 0;
}

/*
 * Does one of the leaves that follow a leaf lie on its target?  Adds the leaves
 * that it comes to to `seen`.  The answer is no for a leaf that is there
 * already: if it is on a circle, that has been found.
 */
static bool
begins_circle(const LeafOrder *order, int64 leaf, SwareBlockSet *seen)
{
	int64		next = leaf;

	if (sware_block_set_has(seen, leaf))
		return false;
	while (next >= 0 && !sware_block_set_has(seen, next))
	{
		sware_block_set_add(seen, next);
		next = leaf_for(order, order->leaves[next].block);
	}
	return next == leaf;
}

/*
 * Move each leaf to its target.  One whose target is in use goes to a spare
 * page only if it is on a circle.  Otherwise its target might stay in use, and
 * each VACUUM would move it to another spare page.
 */
static void
move_leaves(LeafOrder *order)
{
	SwareBlockSet *seen = sware_block_set_make(order->count);

	for (int64 i = 0; i < order->count; i++)
	{
		BlockNumber target = order->targets[i];
		BlockNumber left;

		if (order->leaves[i].block == target)
			continue;
		if (sware_block_set_has(order->freePages, target))
			(void) fill(order, target);
		/* to a spare page, then those that follow it, and then itself */
		else if (begins_circle(order, i, seen) &&
				 move(order, i, InvalidBlockNumber, &left) &&
				 !fill(order, left))
			sware_record_free_page(order->index, left);
	}
}

/* Find the leaves of scattered groups, by the pages of level 1. */
static void
find_scattered_leaves(LeafOrder *order)
{
	Buffer		buffer = sware_descend_to_edge(order->index, 1, false);
	BlockNumber last = InvalidBlockNumber;
	int64		steps = 0;

	while (BufferIsValid(buffer))
	{
		SwareLink	next = SwarePageGetOpaque(BufferGetPage(buffer))->right;

		add_leaves(order, buffer, &last);
		sware_release_buffer(buffer);
		sware_vacuum_delay_point();
		if (order->count - order->groupStart >= GROUP_LEAVES)
			end_group(order);
		if (!sware_link_is_valid(next))
			break;
		sware_count_step(order->index, next.block, &steps);
		buffer = sware_read_linked(order->index, next, 1, BUFFER_LOCK_SHARE);
	}
	end_group(order);
}

/*
 * Bring scattered leaves into the order of their keys, if that is worth while.
 * Warns if there is too little memory for that.  `free_pages` are the free
 * pages of the index, as VACUUM has found them.
 *
 * Only a backend that VACUUMs the index may call this.  The caller holds no
 * content locks.
 */
void
sware_tree_order_leaves(const IndexVacuumInfo *info,
						SwareBlockSet *free_pages)
{
	Relation	index = info->index;
	LeafOrder	order = {.index = index,.freePages = free_pages};
	int64		kilobytes = sware_is_autovacuum_worker() &&
		autovacuum_work_mem != -1 ? autovacuum_work_mem : maintenance_work_mem;
	MemoryContext caller;

	if (!sware_tree_has_downlinks(index))
		return;

	order.distance =
		get_tablespace_maintenance_io_concurrency(index->rd_rel->reltablespace);
	/* there will not be more than twice as many, by splits meanwhile */
	order.limit = Min(kilobytes * 1024 / BYTES_PER_LEAF,
					  2 * (int64) RelationGetNumberOfBlocks(index));
	caller = sware_enter_context("sware leaf order");
	order.moveContext = AllocSetContextCreate(CurrentMemoryContext,
											  "sware moves of leaves",
											  ALLOCSET_DEFAULT_SIZES);
	order.leaves = MemoryContextAllocHuge(CurrentMemoryContext,
										  order.limit * sizeof(SwareLink));
	order.targets = MemoryContextAllocHuge(CurrentMemoryContext,
										   order.limit * sizeof(BlockNumber));

	find_scattered_leaves(&order);
	if (order.count > order.limit)
		ereport(WARNING,
				(errmsg("index \"%s\" has more scattered leaf pages than there is memory to bring them into order",
						RelationGetRelationName(index)),
				 errdetail("%lld kB are needed.",
						   (long long) (order.count * BYTES_PER_LEAF / 1024 + 1)),
				 errhint("Consider increasing \"maintenance_work_mem\" (for autovacuum, \"autovacuum_work_mem\").")));
	else if (order.count > 0 && choose_targets(&order))
		move_leaves(&order);

	sware_leave_context(caller);
}
