/*-------------------------------------------------------------------------
 *
 * treescan.h
 *	  The tree cursor: goes through a scan's qualifying entries in order,
 *	  forward and backward.
 *
 * The cursor reads one leaf at a time: under the leaf's share lock it copies
 * everything that qualifies into a *position*, and returns it from there.
 * A position covers an interval of the order of entries, and knows how to
 * go on beyond either end of it.  It does not matter which way the leaf was
 * reached, so the direction may change at any time.
 *
 * The caller may say of entries that were returned that their rows are dead to
 * everybody.  They are marked on the leaf when the cursor leaves it, and later
 * scans leave marked ones out.  Scans of transactions that began in recovery do
 * neither.
 *
 * Entries of the same leaf never come from two visits: each end of the
 * interval is a *fence*, and the next leaf is read from the fence on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_TREESCAN_H
#define SWARE_TREESCAN_H

#include "access/genam.h"
#include "access/relscan.h"
#include "access/sdir.h"

#include "keys/scankeys.h"
#include "keys/searchkey.h"
#include "layout/page.h"

/*
 * A place between entries.  Without a tuple: an end of the range, the lower
 * one when going forward from here, the upper one when going backward.  With
 * a tuple: the place of that entry or pivot, which lies within the range.
 */
typedef struct SwareFence
{
	int64		range;
	bool		hasTuple;
	IndexTuple	tuple;			/* a buffer of `size` bytes, or NULL */
	Size		size;
} SwareFence;

/* how to go on beyond one end of a position */
typedef struct SwareContinuation
{
	bool		more;			/* may there be anything? */
	bool		linked;			/* yes, from the fence on in the sibling */
	SwareLink	sibling;
	SwareFence	fence;
} SwareContinuation;

/* the qualifying entries of a leaf */
typedef struct SwarePosition
{
	Buffer		buffer;			/* the leaf if it is kept pinned */
	SwareLink	page;
	XLogRecPtr	lsn;			/* of the leaf when it was read */
	SwareContinuation left;
	SwareContinuation right;
	int			first;			/* items first..last, in index order */
	int			last;
	int			current;		/* the item last returned */
	Size		tuplesUsed;		/* bytes used in `tuples` */
	char	   *tuples;			/* copies, one per entry or posting list */
	ItemPointerData tids[SWARE_MAX_TIDS_PER_PAGE];
	OffsetNumber pageOffsets[SWARE_MAX_TIDS_PER_PAGE];	/* on the leaf */
	uint16		tupleOffsets[SWARE_MAX_TIDS_PER_PAGE];	/* in `tuples` */
} SwarePosition;

typedef enum SwareCursorState
{
	SWARE_CURSOR_UNPOSITIONED,
	SWARE_CURSOR_BEFORE_FIRST,
	SWARE_CURSOR_ON_ITEM,
	SWARE_CURSOR_AFTER_LAST
} SwareCursorState;

/* what a scan wants to be called before it reads on; no locks are held */
typedef void (*SwareBeforePage) (IndexScanDesc scan);

typedef struct SwareTreeCursor
{
	IndexScanDesc scan;
	MemoryContext context;		/* lives as long as the scan */
	SwareBeforePage beforePage; /* or NULL */
	SwareScanKeys keys;

	bool		isMerged;		/* the caller compares tuples; reset by a
								 * rewind */
	bool		wantTuples;		/* copy tuples: for that, or an index-only
								 * scan */
	bool		keepPin;		/* hold off VACUUM while items are returned */
	bool		usesMarks;		/* leave marked entries out, and mark others */

	/*
	 * items of the position that are to be marked as dead, none if `dead` is
	 * NULL
	 */
	bool	   *dead;			/* SWARE_MAX_TIDS_PER_PAGE of them */
	int			firstDead;
	int			lastDead;		/* below firstDead: none */

	SwareCursorState state;
	SwareFence	arrival;		/* where the leaf being read is entered */
	SwareSearchKey arrivalKey;	/* its place */

	/*
	 * The mark.  While the cursor is still on the page that was marked, only
	 * the item is remembered; `marked` is filled when it leaves the page.
	 */
	SwareCursorState markState;
	int			markItem;		/* -1: see `marked` */
	SwarePosition *marked;		/* allocated when needed */

	SwarePosition position;		/* last, because it is large */
} SwareTreeCursor;

extern void sware_tree_cursor_init(SwareTreeCursor *cursor, IndexScanDesc scan,
								   SwareBeforePage before_page);
extern void sware_tree_cursor_rewind(SwareTreeCursor *cursor);
extern void sware_tree_cursor_end(SwareTreeCursor *cursor);
extern bool sware_tree_cursor_next(SwareTreeCursor *cursor,
								   ScanDirection direction);
extern bool sware_tree_cursor_next_page(SwareTreeCursor *cursor,
										ScanDirection direction);
extern bool sware_tree_cursor_seek(SwareTreeCursor *cursor, IndexTuple entry,
								   ScanDirection direction);
extern void sware_tree_cursor_note_dead(SwareTreeCursor *cursor);
extern bool sware_scan_uses_marks(IndexScanDesc scan);
extern void sware_tree_cursor_mark(SwareTreeCursor *cursor);
extern void sware_tree_cursor_restore(SwareTreeCursor *cursor);

/* the TID of the item that the cursor is on */
static inline ItemPointer
sware_tree_cursor_tid(SwareTreeCursor *cursor)
{
	return &cursor->position.tids[cursor->position.current];
}

/*
 * The tuple of the item that the cursor is on.  Entries of a posting list
 * share one, so its TID says nothing.
 */
static inline IndexTuple
sware_tree_cursor_tuple(SwareTreeCursor *cursor)
{
	return (IndexTuple) (cursor->position.tuples +
						 cursor->position
						 .tupleOffsets[cursor->position.current]);
}

#endif							/* SWARE_TREESCAN_H */
