/*-------------------------------------------------------------------------
 *
 * tableahead.h
 *	  Asks the kernel for pages of the table before the executor reads them.
 *
 * A scan has the TIDs of the rows that come next: those of the leaf or of the
 * batch that it has copied, and behind the end of a leaf those that a scout
 * finds (tree/treescan.h).  docs/architecture.md tells how far ahead it asks for
 * their pages, and why most scans pay nothing for that.  Where leaves and
 * batches are merged, either has its own distance to go.  In an index-only scan
 * the rows of all-visible pages are left out.  There are no scouts in parallel
 * scans, whose intervals end soon, nor where they would call functions that may
 * fail or execute anybody's code (keys/trust.h).
 *
 * What is asked for is a hint, and nothing stays pinned.  But a page must be
 * one that the table has: the server raises an error for one beyond the last
 * segment of the file.  As long as the scan has the table open, its lock keeps
 * the table from getting shorter.  An entry of a damaged index may have any
 * TID, so block numbers are compared with the length of the table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_TABLEAHEAD_H
#define SWARE_TABLEAHEAD_H

#include "access/relscan.h"
#include "storage/block.h"

#include "cursor/buffercursor.h"

/* A scan has returned its first rows with this one. */
#define SWARE_FIRST_ROWS	12

/*
 * A scan that asks for nothing looks after this number of rows whether pages
 * are being read, and then after twice as many each time, up to a limit.
 */
#define SWARE_AHEAD_REST	16

/* blocks that are remembered as asked for */
#define SWARE_ASKED_BLOCKS	16

/* how far a scan has asked for rows of the tree, or of the buffer */
typedef struct SwareRowsAsked
{
	uint32		patience;		/* with this row from here on, the next ones
								 * are asked for; 0: never */
	int			waited;			/* what that was after the last time */
	int			rows;			/* so many rows beyond the one of that time
								 * have been asked for */
	int			pages;			/* of which so many pages were asked for */
	BlockNumber lastBlock;		/* that of the last one, or the one before */
} SwareRowsAsked;

/* how far a scan's scout has come */
typedef struct SwareRowScout
{
	SwareTreeCursor *cursor;	/* NULL until one is needed */
	bool		isAllowed;		/* may it be used, if there is one? */
	bool		isCurrent;		/* has it the scan's keys? */
	bool		isActive;		/* does it know the rows that are to be asked
								 * for next? */
	int			next;			/* the item of its position with the next one */
} SwareRowScout;

typedef struct SwareTableAhead
{
	SwareRowsAsked leaf;
	SwareRowsAsked batch;
	int			distance;		/* so many pages are asked for ahead; 0: none */
	int			limit;			/* to which the distance grows */
	int			rest;			/* how many rows pass before the next look, if
								 * the distance is 0 */
	int64		blocksRead;		/* how many blocks this session had read at
								 * the last look */
	int64		asked;			/* how many pages the scan has asked for */
	SwareRowScout scout;
	bool		forward;		/* the direction of the last time */
	BlockNumber tableBlocks;	/* the length of the table, at least */
	BlockNumber recent[SWARE_ASKED_BLOCKS]; /* by the last bits of the number */
} SwareTableAhead;

/*
 * Prepare for the first rows of a scan, or of one that is restarted:
 * `read_to_end` says that it has returned all its rows before.
 */
static inline void
sware_table_ahead_restart(SwareTableAhead *ahead, bool read_to_end)
{
	ahead->leaf.rows = ahead->batch.rows = 0;
	ahead->scout.isCurrent = ahead->scout.isActive = false;
	if (!read_to_end)
	{
		ahead->leaf.patience = ahead->batch.patience = SWARE_FIRST_ROWS;
		ahead->distance = 0;
		ahead->rest = SWARE_AHEAD_REST;
		ahead->blocksRead = sware_blocks_read();
	}
	else if (ahead->distance > 0)
		ahead->leaf.patience = ahead->batch.patience = 1;
}

/*
 * The scan is about to return the row that it is on, of the leaf or of the
 * batch, with which `patience` has come to 0.  Asks for pages of the rows that
 * follow, if that may help, and sets it anew.  The caller holds no content
 * lock.  Pins a page of the visibility map for a moment only.
 */
extern void sware_ask_for_leaf_rows(SwareTableAhead *ahead, IndexScanDesc scan,
									SwareTreeCursor *tree, bool forward);
extern void sware_ask_for_batch_rows(SwareTableAhead *ahead, IndexScanDesc scan,
									 const SwareBufferBatch *batch);

/* Free what was allocated. */
extern void sware_table_ahead_end(SwareTableAhead *ahead);

#endif							/* SWARE_TABLEAHEAD_H */
