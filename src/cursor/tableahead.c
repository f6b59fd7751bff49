/*-------------------------------------------------------------------------
 *
 * tableahead.c
 *	  Asks the kernel for pages of the table before the executor reads them.
 *
 * docs/architecture.md tells which rows come next, how far ahead their pages
 * are asked for, and why most scans pay nothing for that.  Where leaves and
 * batches are merged, either has its own distance to go.  In an index-only scan
 * the rows of all-visible pages are left out.  There are no scouts
 * (tree/treescan.h) in parallel scans, whose intervals end soon, nor where they
 * would call functions that may fail or execute anybody's code (keys/trust.c).
 *
 * What is asked for is a hint, and nothing stays pinned.  But a page must be
 * one that the table has: the server raises an error for one beyond the last
 * segment of the file.  As long as the scan has the table open, its lock keeps
 * the table from getting shorter.  An entry of a damaged index may have any
 * TID, so block numbers are compared with the length of the table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "access/visibilitymap.h"
#include "utils/rel.h"
#include "utils/spccache.h"

#include "base/compat.h"
#include "base/options.h"
#include "cursor/mergescan.h"
#include "keys/entry.h"
#include "shared/statistics.h"

/* the most rows between two looks of a scan that asks for nothing */
#define MAX_REST	256

/* If so many more pages are in shared buffers than not, it asks for less. */
#define MANY_IN_VAIN	4

/*
 * A scout that has looked at so many rows in vain waits until the scan has come
 * further; to read a leaf counts as LEAF_COST rows.
 */
#define MOST_FRUITLESS	32
#define LEAF_COST		8

/* If more rows of its leaf had nothing to ask for, a scan sends no scout. */
#define MOST_IN_ORDER	16

/*
 * The rows of a scan's leaf or of its batch, while pages of them are asked for.
 * They have numbers from 0 on in the scan's direction.
 */
typedef struct Rows
{
	SwareTreeCursor *tree;		/* NULL: those of a batch */
	bool		forward;
	const SwareBufferBatch *batch;
	int			current;		/* the row that is about to be returned */
	int			count;
	bool		isEnd;			/* is there none to ask for before all of
								 * these have been returned? */
	int			fruitless;		/* counts what a scout looks at in vain */
} Rows;

static inline BlockNumber
block_of(const Rows *rows, int row)
{
	const ItemPointerData *tid;

	if (rows->tree)
	{
		const SwarePosition *position = &rows->tree->position;

		tid = &position->tids[rows->forward ? position->first + row :
							  position->last - row];
	}
	else
		tid = &rows->batch->entries[row].item.entry->t_tid;
	return ItemPointerGetBlockNumberNoCheck(tid);
}

/*
 * May pages of the scan's table be asked for?  Only for a scan that has a
 * table, which is a heap: the TIDs of others need not be places in a file.
 * The planner looks at few rows.
 */
static bool
may_ask(SwareTableAhead *ahead, IndexScanDesc scan)
{
	Relation	table = scan->heapRelation;

	if (!sware_prefetch || !sware_kernel_can_be_asked() || table == NULL ||
		table->rd_tableam != GetHeapamTableAmRoutine() ||
		sware_scan_is_for_planner(scan))
		return false;
	ahead->limit = get_tablespace_io_concurrency(table->rd_rel->reltablespace);
	return ahead->limit > 0;
}

/* Ask for nothing until some rows have passed. */
static void
rest(SwareTableAhead *ahead, SwareRowsAsked *asked)
{
	asked->patience = ahead->rest;
	ahead->rest = Min(2 * ahead->rest, MAX_REST);
	ahead->blocksRead = sware_blocks_read();
}

/* Does the table have a block?  If not, the TID is damaged. */
static inline bool
is_in_table(SwareTableAhead *ahead, Relation table, BlockNumber block)
{
	if (block >= ahead->tableBlocks)
		ahead->tableBlocks = RelationGetNumberOfBlocks(table);
	return block < ahead->tableBlocks;
}

/* May a scout call the functions of the scan's keys? */
static bool
may_scout(IndexScanDesc scan)
{
	if (!sware_may_wait(scan->indexRelation))
		return false;
	for (int i = 0; i < scan->numberOfKeys; i++)
	{
		Oid			function = scan->keyData[i].sk_func.fn_oid;

		if (OidIsValid(function) && !sware_is_trusted(function))
			return false;
	}
	return true;
}

/*
 * Send the scout ahead from the scan's leaf.  Returns false if it may not go,
 * or nothing comes behind that.
 */
static bool
begin_scouting(SwareRowScout *scout, const Rows *rows)
{
	const SwareTreeCursor *tree = rows->tree;

	if (tree == NULL || tree->keys.interval ||
		!(rows->forward ? tree->position.right.more : tree->position.left.more) ||
		!may_scout(tree->scan))
		return false;
	if (scout->cursor == NULL)
		scout->cursor = sware_tree_scout_make(tree);
	if (!scout->isCurrent)
		sware_tree_scout_restart(scout->cursor);
	sware_tree_scout_begin(scout->cursor, tree, rows->forward);
	scout->isCurrent = scout->isActive = true;
	scout->next = 0;
	return true;
}

/*
 * Find the page of the next row that was not asked for: on the scan's leaf, in
 * its batch, or by the scout.  Returns false if there is none for now.
 */
static bool
next_block(SwareTableAhead *ahead, SwareRowsAsked *asked, Rows *rows,
		   BlockNumber *block)
{
	SwareRowScout *scout = &ahead->scout;
	SwarePosition *position;
	int			row = rows->current + 1 + asked->rows;
	bool		scouts = rows->tree && scout->isActive;

	if (!scouts && row < rows->count)
	{
		asked->rows++;
		*block = block_of(rows, row);
		return true;
	}
	if (!scouts &&
		((asked->pages == 0 && asked->rows > MOST_IN_ORDER) ||
		 !begin_scouting(scout, rows)))
	{
		rows->isEnd = true;
		return false;
	}
	position = &scout->cursor->position;
	while (scout->next < position->first || scout->next > position->last)
	{
		if (rows->fruitless > MOST_FRUITLESS)
			return false;
		rows->fruitless += LEAF_COST;

		/* leaves that are not in shared buffers had better be asked for */
		if (sware_readahead_is_due(&rows->tree->ahead) ||
			!sware_tree_scout_next_leaf(scout->cursor, rows->tree,
										rows->forward))
		{
			rows->isEnd = true;
			return false;
		}
		scout->next = rows->forward ? position->first : position->last;
	}
	if (++rows->fruitless > MOST_FRUITLESS)
		return false;
	*block = ItemPointerGetBlockNumberNoCheck(&position->tids[scout->next]);
	scout->next += rows->forward ? 1 : -1;
	asked->rows++;
	return true;
}

/*
 * Ask for pages of the rows that were not asked for, until the scan's distance
 * is reached, the rows end, or many pages are found in shared buffers.  Sets
 * *found to the number of these, and returns that of the others.
 *
 * The page that follows the last one in the file is not asked for: the kernel
 * reads ahead by itself where a file is read in order, and in larger pieces.
 */
static int
ask(SwareTableAhead *ahead, SwareRowsAsked *asked, IndexScanDesc scan,
	Rows *rows, int *found)
{
	Relation	table = scan->heapRelation;
	BlockNumber last = asked->lastBlock;
	Buffer		map = InvalidBuffer;
	BlockNumber block;
	int			missing = 0;

	*found = 0;
	while (asked->pages < ahead->distance && *found < missing + MANY_IN_VAIN &&
		   next_block(ahead, asked, rows, &block))
	{
		BlockNumber *recent = &ahead->recent[block % SWARE_ASKED_BLOCKS];
		bool		is_next = block == last || block == last + 1;

		if (is_next)
			last = block;
		if (is_next || *recent == block || !is_in_table(ahead, table, block))
			continue;
		*recent = block;
		if (scan->xs_want_itup && VM_ALL_VISIBLE(table, block, &map))
			continue;
		last = block;
		rows->fruitless = 0;
		asked->pages++;
		if (BufferIsValid(PrefetchBuffer(table, MAIN_FORKNUM,
										 block).recent_buffer))
			(*found)++;
		else
			missing++;
	}
	asked->lastBlock = last;
	if (BufferIsValid(map))
		ReleaseBuffer(map);
	return missing;
}

/*
 * Ask for pages of rows, and set when to do so the next time: when half of
 * these rows have been returned, and with the first one of the next batch.
 */
void
sware_ask_for_rows(SwareTableAhead *ahead, IndexScanDesc scan,
				   SwareTreeCursor *tree, const SwareBufferBatch *batch,
				   bool forward)
{
	SwareRowsAsked *asked = tree ? &ahead->leaf : &ahead->batch;
	Rows		rows = {.tree = tree,.batch = batch,.forward = forward};
	int			missing;
	int			found;

	if (tree)
	{
		const SwarePosition *position = &tree->position;

		rows.current = forward ? position->current - position->first :
			position->last - position->current;
		rows.count = position->last - position->first + 1;
	}
	else
	{
		rows.current = batch->current;
		rows.count = batch->count;
	}
	if (ahead->distance == 0)
	{
		if (ahead->blocksRead == sware_blocks_read() || !may_ask(ahead, scan))
		{
			rest(ahead, asked);
			return;
		}
		memset(ahead->recent, 0xff, sizeof(ahead->recent));
		ahead->distance = 1;
		asked->rows = 0;
	}

	/* the pages are evenly spread over the rows, as far as known */
	if (asked->rows > asked->waited && ahead->forward == rows.forward)
	{
		asked->pages = asked->pages * (asked->rows - asked->waited) /
			asked->rows;
		asked->rows -= asked->waited;
	}
	else
	{
		/* all have been returned, or the scan has turned around */
		asked->rows = asked->pages = 0;
		asked->lastBlock = block_of(&rows, rows.current);
		if (rows.tree)
			ahead->scout.isActive = false;
	}
	ahead->forward = rows.forward;
	missing = ask(ahead, asked, scan, &rows, &found);
	if (missing + found > 0)
	{
		ahead->asked += missing + found;
		sware_count(scan->indexRelation, SWARE_STAT_TABLE_PREFETCHES,
					missing + found);
	}

	if (missing > found)
	{
		ahead->distance = Min(2 * ahead->distance, ahead->limit);
		ahead->rest = SWARE_AHEAD_REST;
	}
	else if (missing == 0 && (found > 0 || asked->pages < ahead->distance))
		ahead->distance /= 2;
	if (ahead->distance == 0)
		rest(ahead, asked);
	else if (rows.isEnd)
		asked->patience = asked->rows + 1;
	else
		asked->patience = Max(1, asked->rows / 2);
	asked->waited = asked->patience;
}

void
sware_table_ahead_end(SwareTableAhead *ahead)
{
	if (ahead->scout.cursor == NULL)
		return;
	sware_tree_cursor_end(ahead->scout.cursor);
	pfree(ahead->scout.cursor);
}
