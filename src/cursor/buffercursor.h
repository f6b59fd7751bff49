/*-------------------------------------------------------------------------
 *
 * buffercursor.h
 *	  The buffer cursor: goes through a scan's qualifying entries in the
 *	  buffer, in order, forward or backward.
 *
 * It reads in *batches*.  A batch has the next qualifying entries behind a
 * place, up to a limit, from all buffer pages, in order and without duplicates.
 * What this session has staged for the index counts as a part of the buffer
 * (below).  A batch shows the buffer under one
 * generation: if a page retires while the batch is read, it is read again.
 * Batches are small at first, so that a scan for one entry does not pay for
 * many.
 *
 * Entries go from staging to the buffer or the tree, so a batch is read from
 * staging first.  If entries have left staging when the next batch is read,
 * which the staging generation shows, the scan seeks again: they may have gone
 * to pages that it has read.  An entry in the batch whose subtransaction has
 * aborted leads to no row that the snapshot sees: should its TID be another
 * row's by then, that row was inserted later.  Only scans with an MVCC snapshot
 * search staging.  For others, and for parallel scans, it is published.
 *
 * Rows that are inserted after the scan's snapshot was taken are invisible to
 * it, as a rule.  So it does not matter which of their entries it finds, and if
 * nothing is staged for the index when the scan begins, it need not look there
 * again.  There is an exception: a row carries the command id that its
 * *statement* began with.  So a function that the statement calls can open a
 * cursor with a later snapshot, which sees the rows that the statement inserts
 * afterwards, staged or not.  Such a scan seeks again whenever this backend has
 * inserted a row.
 *
 * A cursor has three parts: the filter (scanfilter.h) says which entries are
 * wanted, the view (bufferview.h) where they may be, and the batch
 * (bufferbatch.h) holds those that were found.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BUFFERCURSOR_H
#define SWARE_BUFFERCURSOR_H

#include "access/genam.h"
#include "access/relscan.h"
#include "utils/snapmgr.h"

#include "cursor/bufferbatch.h"
#include "cursor/bufferview.h"
#include "cursor/scanfilter.h"
#include "cursor/visibility.h"
#include "layout/page.h"
#include "staging/staging.h"
#include "tree/border.h"

/*
 * Entries that may be wanted, of a page or of staging, each in MAXALIGN(its
 * size) bytes, without marks.
 */
typedef struct SwareCandidates
{
	SwareLink	page;			/* no link in staging */
	int			count;
	Size		used;
	uint16		offsets[SWARE_MAX_PAGE_ENTRIES];	/* of each on the page, in
													 * bytes */
	union
	{
		char		bytes[BLCKSZ + NAMEDATALEN];	/* see bufferbatch.c */
		double		forAlignment;
	}			memory;
} SwareCandidates;

/* what a cursor has read */
typedef struct SwareBufferReads
{
	int64		stagedEntries;	/* entries of batches, from staging */
	int64		entries;		/* and from the buffer */
	int64		pages;			/* buffer pages, by themselves */
	int64		zones;			/* sorted zones */
} SwareBufferReads;

typedef struct SwareBufferCursor
{
	IndexScanDesc scan;
	MemoryContext context;		/* lives as long as the scan */
	SwareScanFilter filter;
	SwareBufferView view;
	SwareBufferBatch batch;
	bool		hasStaged;		/* is staging read, too? */
	uint64		stagingGeneration;	/* under which the batches were read */
	uint64		arrivals;		/* what sware_arrivals was before the first
								 * batch was read */
	SwareDeadEntries dead;		/* those to be marked */
	bool		wantsOneRow;	/* does the scan find one row at most?  Then
								 * it looks at the open pages first */
	bool		passedOver;		/* were entries left out because the snapshot
								 * does not see their rows? */
	bool		hasTheRow;		/* is its entry the only one of the batch? */
	SwareVisibility *visibility;	/* the scan's */
	bool		mapIsRead;		/* was the visibility map asked for the
								 * entries of the batch? */
	SwareSavedEntry last;		/* the last entry of the batch before */
	SwareBufferReads reads;
} SwareBufferCursor;

extern void sware_buffer_cursor_init(SwareBufferCursor *cursor,
									 IndexScanDesc scan, SwareScanKeys *keys,
									 SwareVisibility *visibility,
									 MemoryContext context);
extern void sware_buffer_cursor_rewind(SwareBufferCursor *cursor);
extern void sware_buffer_cursor_end(SwareBufferCursor *cursor);

/*
 * Read the first batch in a direction: of all entries (`after` NULL), or of
 * those behind `after`.  If the batch is empty, none qualifies.  Reads pages,
 * and calls comparators without any lock; the caller holds none.
 */
extern void sware_buffer_cursor_seek(SwareBufferCursor *cursor, bool forward,
									 IndexTuple after);

/*
 * Read the next batch; the last one had entries and is not the last batch.
 * Returns false if a generation has changed since the first batch was read:
 * then the caller must seek both cursors again.  Locks as for
 * sware_buffer_cursor_seek.
 */
extern bool sware_buffer_cursor_read_on(SwareBufferCursor *cursor);

/*
 * Note that the row of an entry of the batch is dead to everybody, if the scan
 * uses marks.  The entry is marked before the next batch is read.
 */
extern void sware_buffer_cursor_note_dead(SwareBufferCursor *cursor,
										  const SwareBufferedEntry *buffered);

/*
 * Is the row of the head of the batch visible to the scan's snapshot?  If it is
 * dead to everybody, this is noted.  For the first head of a batch, looks up
 * all of it in the visibility map (visibility.h).  Reads the row if the map has
 * not told.  The caller holds no lock.
 */
extern bool sware_buffer_cursor_sees_head(SwareBufferCursor *cursor);

/* Does a scan search staging where it is? */
static inline bool
sware_scan_searches_staging(IndexScanDesc scan)
{
	return scan->xs_snapshot != NULL && IsMVCCSnapshot(scan->xs_snapshot) &&
		scan->parallel_scan == NULL;
}

/* Does it search staging, and is anything staged for its index? */
static inline bool
sware_scan_has_staged(IndexScanDesc scan)
{
	return unlikely(sware_staged_indexes > 0) &&
		sware_scan_searches_staging(scan) &&
		sware_find_staging(scan->indexRelation) != NULL;
}

/* May the scan's snapshot see rows that statements in progress insert later? */
static inline bool
sware_scan_sees_later_rows(IndexScanDesc scan)
{
	return unlikely(sware_statement.earliestCommand != InvalidCommandId) &&
		sware_scan_searches_staging(scan) &&
		scan->xs_snapshot->curcid > sware_statement.earliestCommand;
}

/* taking.c */

/*
 * Take the wanted entries of staging into the cursor's batch, for which its
 * filter has begun.  Returns false if staging has changed in the meantime; then
 * some may be missing.  Calls comparators; the caller holds no locks.
 */
extern bool sware_take_staged(SwareBufferCursor *cursor);

/* Take those candidates that are wanted. */
extern void sware_take_candidates(SwareBufferCursor *cursor,
								  const SwareCandidates *candidates);

/*
 * Take the wanted entries of a sorted zone.  When it has given `most`, no entry
 * behind the last of these is wanted any more.  Returns false if the zone is
 * gone; *strange is the page that was found to be another one, if any.
 */
extern bool sware_take_zone(SwareBufferCursor *cursor,
							const SwareSortedZone *zone, int most,
							SwareLink *strange);

#endif							/* SWARE_BUFFERCURSOR_H */
