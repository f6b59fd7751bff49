/*-------------------------------------------------------------------------
 *
 * mergescan.h
 *	  A scan of the buffer and the tree together.
 *
 * Two cursors are merged in (key, TID) order; an entry that both have is
 * returned once.  Entries move from staging to the buffer, and from either to
 * the tree, and never back.  So a scan misses none if it reads staging before
 * the buffer (buffercursor.h), and the buffer before the tree:
 *
 *	- a batch of the buffer is read before the tree's leaf is sought;
 *	- nothing of the tree is returned from beyond the batch's end before the
 *	  next batch has been read;
 *	- all batches are read under the generations of the first one.  If entries
 *	  have left staging or pages have retired since, entries may have gone to
 *	  pages already read: both cursors seek again, buffer first, beyond the
 *	  entry returned last.
 *
 * If the first batch is empty, or it is known without a look that the buffer
 * is, only the tree is scanned, which costs as much as without a buffer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_MERGESCAN_H
#define SWARE_MERGESCAN_H

#include "access/genam.h"
#include "access/relscan.h"
#include "access/sdir.h"

#include "cursor/buffercursor.h"
#include "records/recordcache.h"

/* tableahead.c: asking for pages of the table */

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
 * The scan is about to return the row that it is on, of the leaf or, if `tree`
 * is NULL, of the batch, with which `patience` has come to 0.  Asks for pages
 * of the rows that follow, if that may help, and sets it anew.  The caller
 * holds no content lock.  Pins a page of the visibility map for a moment only.
 */
extern void sware_ask_for_rows(SwareTableAhead *ahead, IndexScanDesc scan,
							   SwareTreeCursor *tree,
							   const SwareBufferBatch *batch, bool forward);

/* Free what was allocated. */
extern void sware_table_ahead_end(SwareTableAhead *ahead);

typedef enum SwareScanMode
{
	SWARE_SCAN_UNDECIDED,		/* nothing has been read yet */
	SWARE_SCAN_TREE,			/* nothing in the buffer qualifies, so only
								 * the tree is read */
	SWARE_SCAN_MERGE
} SwareScanMode;

/* What a scan for one key has of the record cache (scan/scan.c). */
typedef struct SwareScanRecord
{
	bool		isAsked;		/* has the cache been asked, or passed over,
								 * since the scan was restarted? */
	bool		mayInstall;		/* it had nothing, and may get what is found */
	SwareRecordKey key;
	int			count;			/* TIDs of the record; 0: there is none */
	int			current;		/* the one returned last; -1, count: ends */
	int			marked;			/* that was current when the scan was marked */
	ItemPointerData tids[SWARE_RECORD_TIDS];
} SwareScanRecord;

typedef struct SwareScan
{
	IndexScanDesc scan;
	MemoryContext context;		/* lives as long as the scan */
	SwareScanMode mode;
	bool		seesLaterRows;	/* may its snapshot see rows that this backend
								 * is going to insert? (buffercursor.h) */
	SwareVisibility visibility; /* of the rows that the scan looks at */
	SwareTableAhead ahead;		/* the pages of rows that come next */

	/* The rest is for merging. */
	SwareCursorState state;
	ScanDirection sought;		/* in which both cursors are just beyond the
								 * entry returned last, if in any */
	bool		treeIsDone;		/* is there no leaf beyond the present one? */
	int			itemsBefore;	/* items of the leaf to return before the
								 * head; -1: not known */
	bool		headIsInLeaf;	/* does the item behind these equal it? */
	IndexTuple	last;			/* the entry returned last, in the batch or
								 * saved; NULL: the tree cursor is on it */
	SwareSavedEntry saved;
	Buffer		bufferPin;		/* pin that keeps VACUUM from the TID of the
								 * buffered entry returned last, or
								 * InvalidBuffer */
	SwareLink	pinnedPage;		/* its page */

	struct SwareClaim *claim;	/* of a parallel scan: its interval
								 * (parallelscan.c); made when needed */

	SwareScanRecord record;

	SwareScanMode markMode;
	SwareCursorState markState;
	SwareSavedEntry marked;

	bool		usesBuffer;		/* has `buffer` been set up? */
	SwareBufferCursor buffer;	/* the large ones come last */
	SwareTreeCursor tree;
} SwareScan;

/*
 * sware_scan_restart takes the keys from the descriptor; before they change, a
 * scan must be rewound.
 */
extern IndexScanDesc sware_scan_begin(Relation index, int key_count,
									  SwareBeforePage before_page);
extern void sware_scan_rewind(SwareScan *scan);
extern void sware_scan_restart(IndexScanDesc descriptor);

/* The scan's cursor over the buffer, which is set up when it is first used. */
extern SwareBufferCursor *sware_scan_buffer(SwareScan *scan);
extern bool sware_scan_next(IndexScanDesc descriptor, ScanDirection direction);
extern void sware_scan_end(SwareScan *scan);

/*
 * Return the largest entry of buffer and tree whose first column is not null,
 * as a copy in the current memory context; NULL if there is none.  Reads pages
 * and calls comparators; the caller holds no lock on a page.
 */
extern IndexTuple sware_largest_entry(Relation index);

/*
 * Does the planner look for extreme values of a column?  Its snapshot is of a
 * kind of its own, which has recently dead rows, too.
 */
static inline bool
sware_scan_is_for_planner(IndexScanDesc scan)
{
	return scan->xs_snapshot != NULL &&
		scan->xs_snapshot->snapshot_type == SNAPSHOT_NON_VACUUMABLE;
}

/* Has a scan begun, and gone beyond its last entry, or its first one? */
static inline bool
sware_scan_is_at_end(const SwareScan *scan)
{
	return scan->mode != SWARE_SCAN_UNDECIDED &&
		(scan->mode == SWARE_SCAN_MERGE ? scan->state :
		 scan->tree.state) != SWARE_CURSOR_ON_ITEM;
}

/*
 * Count a scan, for the decision whether entries wait in the buffer.  Many are
 * counted at once: that costs a look-up less.  If nothing is to wait there any
 * longer, the flush worker is asked to flush what does, as no insert may come
 * that would.  The caller holds no content locks.
 */
extern void sware_count_scan(Relation index);
extern void sware_merge_relieve_buffer(SwareScan *scan);
extern void sware_merge_mark(SwareScan *scan);
extern void sware_merge_restore(SwareScan *scan);

#endif							/* SWARE_MERGESCAN_H */
