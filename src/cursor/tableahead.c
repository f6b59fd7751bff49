/*-------------------------------------------------------------------------
 *
 * tableahead.c
 *	  Asks the kernel for pages of the table before the executor reads them.
 *	  See tableahead.h.
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
#include "cursor/tableahead.h"
#include "shared/statistics.h"

/* the most rows between two looks of a scan that asks for nothing */
#define MAX_REST	256

/* If so many more pages are in shared buffers than not, it asks for less. */
#define MANY_IN_VAIN	4

/*
 * The rows of a scan's leaf or, if there are no TIDs, of its batch.  They have
 * numbers from 0 on in the scan's direction.
 */
typedef struct Rows
{
	const ItemPointerData *tids;	/* that of the first one */
	int			step;			/* from one to the next */
	const SwareBufferedEntry *entries;
	int			current;		/* the row that is about to be returned */
	int			count;
} Rows;

static inline BlockNumber
block_of(const Rows *rows, int row)
{
	const ItemPointerData *tid = rows->tids ? &rows->tids[row * rows->step] :
		&rows->entries[row].item.entry->t_tid;

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

/*
 * Ask for pages of the rows from asked->end on, until the scan's distance is
 * reached, the rows end, or many pages are found in shared buffers.  Sets
 * *found to the number of these, and returns that of the others.
 *
 * The page that follows the last one in the file is not asked for: the kernel
 * reads ahead by itself where a file is read in order, and in larger pieces.
 */
static int
ask(SwareTableAhead *ahead, SwareRowsAsked *asked, IndexScanDesc scan,
	const Rows *rows, int *found)
{
	Relation	table = scan->heapRelation;
	BlockNumber last = block_of(rows, asked->end - 1);
	Buffer		map = InvalidBuffer;
	int			missing = 0;

	*found = 0;
	for (; asked->end < rows->count && asked->pages < ahead->distance &&
		 *found < missing + MANY_IN_VAIN;
		 asked->end++)
	{
		BlockNumber block = block_of(rows, asked->end);
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
		asked->pages++;
		if (BufferIsValid(PrefetchBuffer(table, MAIN_FORKNUM,
										 block).recent_buffer))
			(*found)++;
		else
			missing++;
	}
	if (BufferIsValid(map))
		ReleaseBuffer(map);
	return missing;
}

/*
 * Ask for pages of rows, and set when to do so the next time: when half of
 * these rows have been returned, and with the first one of the next leaf or
 * batch.
 */
static void
ask_for_rows(SwareTableAhead *ahead, SwareRowsAsked *asked, IndexScanDesc scan,
			 const Rows *rows)
{
	int			current = rows->current;
	int			missing;
	int			found;

	if (ahead->distance == 0)
	{
		if (ahead->blocksRead == sware_blocks_read() || !may_ask(ahead, scan))
		{
			rest(ahead, asked);
			return;
		}
		memset(ahead->recent, 0xff, sizeof(ahead->recent));
		ahead->distance = 1;
	}

	/* the pages are evenly spread over the rows, as far as known */
	if (asked->last < current && current < asked->end &&
		asked->end <= rows->count)
		asked->pages = asked->pages * (asked->end - current) /
			(asked->end - asked->last);
	else
	{
		/* this is another leaf or batch, or the scan has gone elsewhere */
		asked->end = current + 1;
		asked->pages = 0;
	}
	asked->last = current;
	missing = ask(ahead, asked, scan, rows, &found);
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
	else if (missing == 0 && (found > 0 || asked->end == rows->count))
		ahead->distance /= 2;
	if (ahead->distance == 0)
		rest(ahead, asked);
	else if (asked->end == rows->count)
		asked->patience = rows->count - current;
	else
		asked->patience = Max(1, (asked->end - current) / 2);
}

void
sware_ask_for_leaf_rows(SwareTableAhead *ahead, IndexScanDesc scan,
						const SwarePosition *position, bool forward)
{
	int			first = forward ? position->first : position->last;
	int			step = forward ? 1 : -1;
	Rows		rows = {.tids = &position->tids[first],.step = step};

	rows.current = (position->current - first) * step;
	rows.count = position->last - position->first + 1;
	ask_for_rows(ahead, &ahead->leaf, scan, &rows);
}

void
sware_ask_for_batch_rows(SwareTableAhead *ahead, IndexScanDesc scan,
						 const SwareBufferBatch *batch)
{
	Rows		rows = {.entries = batch->entries};

	rows.current = batch->current;
	rows.count = batch->count;
	ask_for_rows(ahead, &ahead->batch, scan, &rows);
}
