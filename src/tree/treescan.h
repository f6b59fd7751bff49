/*-------------------------------------------------------------------------
 *
 * treescan.h
 *	  The tree cursor goes through a scan's qualifying entries in order,
 *	  forward and backward.
 *
 * The cursor reads one leaf at a time: it locks the leaf, copies everything
 * that qualifies into a *position*, unlocks the leaf, and returns the entries
 * from the position.  A position covers a part of the order of entries.  Each
 * end of that part is a *border*, and the next leaf is read from the border
 * on, so entries of one leaf are never returned by two visits.  It does not
 * matter how the cursor came to the leaf, so the direction may change at any
 * time.
 *
 * The caller may note that the rows of entries that were returned are dead to
 * everybody.  The cursor marks these entries when it leaves the leaf, and
 * later scans leave marked entries out.  Scans of transactions that began in
 * recovery do neither.
 *
 * A *scout* is a cursor of its own that goes ahead of a scan's cursor, to learn
 * which rows come next.  Nothing that it finds is returned: so it pins no leaf,
 * and what happens to a leaf that it has read does not matter.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_TREESCAN_H
#define SWARE_TREESCAN_H

#include "access/genam.h"
#include "access/relscan.h"
#include "access/sdir.h"
#include "storage/buf.h"

#include "keys/scankeys.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "tree/border.h"
#include "tree/readahead.h"

/* What comes beyond one end of a position. */
typedef struct SwareContinuation
{
	bool		more;			/* may there be qualifying entries? */
	bool		linked;			/* are those from the border on in the
								 * sibling?  Otherwise they must be sought
								 * from the root */
	SwareLink	sibling;		/* or the same leaf, if a part of it has been
								 * read */
	SwareBorder border;
} SwareContinuation;

/* The qualifying entries of a leaf. */
typedef struct SwarePosition
{
	Buffer		buffer;			/* the leaf, if it is kept pinned */
	SwareLink	page;
	XLogRecPtr	lsn;			/* its LSN when it was read */
	int			first;			/* items first..last, in index order */
	int			last;
	int			current;		/* the item last returned */
	Size		tuplesUsed;		/* bytes used in `tuples` */
	SwareContinuation left;
	SwareContinuation right;
	ItemPointerData tids[SWARE_MAX_TIDS_PER_PAGE];
	OffsetNumber pageOffsets[SWARE_MAX_TIDS_PER_PAGE];	/* each item's offset on
														 * the leaf */
	uint16		tupleOffsets[SWARE_MAX_TIDS_PER_PAGE];	/* in `tuples` */
	PGAlignedBlock tuples;		/* copies of entries and posting lists */
	char		spare[NAMEDATALEN]; /* a value of the type "name" is stored in
									 * fewer bytes than its readers may copy */
} SwarePosition;

/*
 * Many scans end after a few rows.  So of a leaf with many more, a scan first
 * reads SWARE_READ_FIRST, and then SWARE_READ_SECOND.
 */
#define SWARE_READ_FIRST	24
#define SWARE_READ_SECOND	96
#define SWARE_READ_ALL		INT_MAX

typedef enum SwareCursorState
{
	SWARE_CURSOR_UNPOSITIONED,
	SWARE_CURSOR_BEFORE_FIRST,
	SWARE_CURSOR_ON_ITEM,
	SWARE_CURSOR_AFTER_LAST
} SwareCursorState;

/*
 * A function that is called before another page is read.  The caller holds no
 * locks.
 */
typedef void (*SwareBeforePage) (IndexScanDesc scan);

typedef struct SwareTreeCursor
{
	IndexScanDesc scan;
	MemoryContext context;		/* lives as long as the scan */
	SwareBeforePage beforePage; /* or NULL */

	bool		isScout;		/* does it go ahead of another one? */
	bool		isMerged;		/* may the caller compare tuples?  Cleared by
								 * a rewind */
	bool		wantTuples;		/* are tuples copied, for the caller to
								 * compare or for an index-only scan? */
	bool		keepPin;		/* is the leaf kept pinned while its items are
								 * returned? */
	int			readAtMost;		/* so many entries are enough, of a leaf with
								 * many more */
	uint64		replacements;	/* how often the position has become another
								 * one */
	int64		leavesRead;		/* leaves, or parts of large ones */
	int64		entriesRead;	/* the entries that qualified there */
	bool		usesMarks;		/* are marked entries left out, and others
								 * marked? */

	/*
	 * The items of the position that are noted as dead; none if `dead` is
	 * NULL.
	 */
	bool	   *dead;			/* an element for each item */
	int			firstDead;
	int			lastDead;		/* less than firstDead if none is noted */
	int			notedDead;		/* how often one was noted */
	int			triedDead;		/* what that was when marking was tried */

	SwareCursorState state;
	SwareBorder arrival;		/* where the cursor comes to the leaf that it
								 * reads */
	bool		arrivesAhead;	/* is arrivalKey a place further on, before
								 * which nothing qualifies (skip.c)? */
	bool		arrivesByLink;	/* has a link led to the leaf? */

	/*
	 * A cursor that skips entries of a stretch need not: it may as well go on
	 * to the next entry, or follow the link to the next leaf.
	 */
	int			skipPatience;	/* this number of entries in a row are looked
								 * at in vain before some are skipped */
	int			failures;		/* entries looked at in vain, up to now */
	int			itemsAtFailure; /* items of the position at the latest */
	int			linksToFollow;	/* this number of leaves are reached by links
								 * before one is sought from the root again */
	SwareReadahead ahead;

	/*
	 * The cursor's mark (ammarkpos), which has nothing to do with marks of
	 * dead entries.  While the cursor is on the marked page, only the item's
	 * number is remembered.  The position is copied to `marked` when the
	 * cursor leaves the page.
	 */
	SwareCursorState markState;
	int			markItem;		/* -1 if the mark is in `marked` */
	SwarePosition *marked;		/* allocated when it is needed */

	/* The large parts come last. */
	SwareScanKeys keys;
	SwareSearchKey arrivalKey;	/* the place of `arrival`, unless that is an
								 * end of the range, or the place further on */
	SwarePosition position;
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
extern bool sware_tree_cursor_leaf_is_unchanged(SwareTreeCursor *cursor);
extern void sware_tree_cursor_mark(SwareTreeCursor *cursor);
extern void sware_tree_cursor_restore(SwareTreeCursor *cursor);

/*
 * A scout is made once for a scan, and ended as a cursor is.  It is restarted
 * when the scan keys have changed, which calls the functions of the keys.  It
 * begins where the cursor, which is on an item, goes on when it has returned
 * the last item of its position; then it goes from leaf to leaf, with
 * qualifying entries or without, until there is none.  It asks for no leaves
 * ahead: if it comes by a link to one that had to be read, the cursor does so
 * from now on.  The caller holds no lock.
 */
extern SwareTreeCursor *sware_tree_scout_make(const SwareTreeCursor *cursor);
extern void sware_tree_scout_restart(SwareTreeCursor *scout);
extern void sware_tree_scout_begin(SwareTreeCursor *scout,
								   const SwareTreeCursor *cursor, bool forward);
extern bool sware_tree_scout_next_leaf(SwareTreeCursor *scout,
									   SwareTreeCursor *cursor, bool forward);

/* Return the TID of the item that the cursor is on. */
static inline ItemPointer
sware_tree_cursor_tid(SwareTreeCursor *cursor)
{
	return &cursor->position.tids[cursor->position.current];
}

/*
 * Return the tuple of an item.  The entries of a posting list share one tuple,
 * so its TID must not be used.
 */
static inline IndexTuple
sware_position_tuple(SwarePosition *position, int item)
{
	return (IndexTuple) (position->tuples.data + position->tupleOffsets[item]);
}

/* Return the tuple of the item that the cursor is on. */
static inline IndexTuple
sware_tree_cursor_tuple(SwareTreeCursor *cursor)
{
	return sware_position_tuple(&cursor->position, cursor->position.current);
}

/* leafread.c */

/*
 * Read a leaf in a direction.  The caller has locked it, and has set in the
 * position what does not depend on its entries.  If the leaf is not one that
 * the border of arrival leads to, the position gets no items.
 */
extern void sware_read_leaf(SwareTreeCursor *cursor, Buffer buffer,
							bool forward);

/* leafmarks.c */

/*
 * Share-lock the position's leaf, which is logged and not pinned, if nothing
 * has changed on it since it was read but marks of dead entries.  Otherwise
 * returns InvalidBuffer.
 *
 * Every change raises the page's LSN, on a standby, too, where redo makes it.
 * So does whatever deletes the page and uses it again; it also raises the
 * incarnation, so the link would not lead there.  Marks are hints: they may
 * leave the LSN as it is, or (with checksums) raise it, which only costs the
 * caller something.
 */
extern Buffer sware_lock_unchanged_leaf(SwareTreeCursor *cursor);

/*
 * Mark the items that have been noted as dead.  Must be called before the
 * position changes or loses its pin.
 */
extern void sware_mark_dead_items(SwareTreeCursor *cursor);

#endif							/* SWARE_TREESCAN_H */
