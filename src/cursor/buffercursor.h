/*-------------------------------------------------------------------------
 *
 * buffercursor.h
 *	  The buffer cursor: goes through a scan's qualifying entries in the
 *	  buffer, in order, forward or backward.
 *
 * It reads in *batches*.  A batch has the next qualifying entries behind a
 * place, up to a limit, from all buffer pages, in order and without duplicates.
 * What this session has staged for the index counts as a part of the buffer,
 * and is read first (stagedsource.h).  A batch shows the buffer under one
 * generation: if a page retires while the batch is read, it is read again.
 * Batches are small at first, so that a scan for one entry does not pay for
 * many.
 *
 * A scan that finds one row at most (visibility.h) looks at the open pages
 * first.  If one of them has the row's entry, it is all of the batch, and of
 * the scan.
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

#include "cursor/bufferbatch.h"
#include "cursor/buffermarks.h"
#include "cursor/bufferview.h"
#include "cursor/listreader.h"
#include "cursor/scanfilter.h"
#include "cursor/visibility.h"
#include "layout/page.h"
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

/* what gets the entries, instead of a batch */
typedef struct SwareVisitor
{
	void		(*visit) (ItemPointer tid, void *state);
	void	   *state;
	int64		visited;		/* the number of calls */
} SwareVisitor;

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
	bool		hasStaged;		/* is staging read, too? (stagedsource.h) */
	uint64		stagingGeneration;	/* under which the batches were read */
	uint64		arrivals;		/* what sware_arrivals was before the first
								 * batch was read */
	int64		leftOut;		/* marked entries that the present batch was
								 * read without */
	SwareDeadEntries dead;		/* those to be marked */
	bool		wantsOneRow;	/* does the scan find one row at most? */
	bool		passedOver;		/* if so, were entries left out because the
								 * snapshot does not see their rows? */
	bool		hasTheRow;		/* if so, is its entry the only one of the
								 * batch? */
	SwareVisibility *visibility;	/* the scan's */
	bool		mapIsRead;		/* was the visibility map asked for the
								 * entries of the batch? */
	SwareVisitor *visitor;		/* NULL: none */
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
 * Note that the row of an entry of the batch is dead to everybody.  Does
 * nothing in a scan that does not use marks.  The entry is marked before the
 * next batch is read.
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

/*
 * Has a batch left out so many marked entries that pages with no others should
 * be flushed, and is the oldest sealed page one of these?  May lock that page
 * for a moment.
 */
extern bool sware_buffer_cursor_met_dead_pages(SwareBufferCursor *cursor);

/*
 * Call a function for the TIDs of all qualifying entries, in no order; some
 * may come several times.  There is no batch afterwards.  Locks as for
 * sware_buffer_cursor_seek.
 */
extern void sware_buffer_cursor_visit_all(SwareBufferCursor *cursor,
										  SwareVisitor *visitor);

/* taking.c */

/* Take those candidates that are wanted. */
extern void sware_take_candidates(SwareBufferCursor *cursor,
								  const SwareCandidates *candidates);

/*
 * Take the wanted entries of a list that is in order and without duplicates,
 * and count them in *taken.  The reader has been initialised; `source` is that
 * of the entries.  Returns false if the list is gone.
 */
extern bool sware_take_from_list(SwareBufferCursor *cursor,
								 SwareListReader *reader,
								 SwareEntrySource source, int *taken);

/* bufferinterval.c */

/*
 * Find an entry of the buffer that lies about `entries` entries beyond `place`,
 * in the direction of the scan.  It is copied to `found`, which has
 * SWARE_MAX_ENTRY_SIZE bytes, and may be the memory of `end`.
 *
 * Only entries before `end` count, or, if that is NULL, before the end of the
 * scan's last range; and only those of sorted zones, so that no buffer page has
 * to be read.  Returns false if fewer than twice as many entries are known to
 * be there.
 *
 * The cursor has been rewound.  Reads pages, and calls comparators; the caller
 * holds no lock on a page.
 */
extern bool sware_buffer_interval_end(SwareBufferCursor *cursor, bool forward,
									  const SwareSearchKey *place, IndexTuple end,
									  int entries, IndexTuple found);

#endif							/* SWARE_BUFFERCURSOR_H */
