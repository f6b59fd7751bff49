/*-------------------------------------------------------------------------
 *
 * mergescan.h
 *	  A scan of the shared buffer and the tree together.
 *
 * Two cursors are merged in (key, TID) order; an entry that both have is
 * returned once.  Entries move from the buffer to the tree and never back, so
 * whoever looks at the buffer first misses none (buffer before tree):
 *
 *	- a chunk of the buffer is read before the tree's leaf is sought;
 *	- nothing of the tree is returned from beyond the chunk's end before the
 *	  next chunk has been read;
 *	- that is read under the generation of the first one.  If pages have
 *	  retired since, their entries may have gone to leaves already read: both
 *	  cursors are sought again, buffer first, from what was returned last.
 *
 * When nothing in the buffer qualifies at first, the tree alone is scanned, at
 * the tree's own cost.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_MERGESCAN_H
#define SWARE_MERGESCAN_H

#include "access/relscan.h"
#include "access/sdir.h"
#include "executor/tuptable.h"

#include "buffer/buffercursor.h"
#include "tree/treescan.h"

typedef enum SwareScanMode
{
	SWARE_SCAN_UNDECIDED,		/* nothing has been read */
	SWARE_SCAN_TREE,			/* nothing in the buffer qualifies */
	SWARE_SCAN_MERGE
} SwareScanMode;

/* an entry that the scan keeps a copy of */
typedef struct SwareSavedEntry
{
	IndexTuple	tuple;			/* memory of `size` bytes, or NULL */
	Size		size;
} SwareSavedEntry;

/* which entry was returned last: of the leaf, of the chunk, or the copy */
typedef enum SwareLastReturned
{
	SWARE_LAST_IN_LEAF,
	SWARE_LAST_IN_CHUNK,
	SWARE_LAST_SAVED
} SwareLastReturned;

typedef struct SwareScan
{
	IndexScanDesc scan;
	MemoryContext context;		/* lives as long as the scan */
	void		(*beforePage) (Relation index); /* called before the index is read,
												 * if not NULL */
	SwareScanMode mode;

	/* the rest is for merging */
	SwareCursorState state;
	bool		isSought;		/* are both cursors just beyond what was
								 * returned last, in this direction? */
	bool		forward;
	bool		treeIsDone;		/* no leaf beyond the present one */
	bool		boundaryIsKnown;
	int			boundary;		/* first item of the leaf, in the direction, that
								 * is not before the chunk's next entry */
	bool		headIsAtBoundary;	/* they are equal */
	SwareLastReturned lastReturned;
	SwareSavedEntry last;
	Buffer		bufferPin;		/* holds off VACUUM from the buffered entry
								 * returned last, or InvalidBuffer */
	TupleTableSlot *slot;		/* for looking at the heap; made when needed */

	struct SwareClaim *claim;	/* of a parallel scan: the interval (parallelscan.c);
								 * made when needed */

	SwareScanMode markMode;
	SwareCursorState markState;
	SwareSavedEntry marked;

	SwareBufferCursor buffer;
	SwareTreeCursor tree;		/* last, because it is large */
} SwareScan;

extern void sware_merge_init(SwareScan *scan);
extern void sware_merge_rewind(SwareScan *scan);
extern void sware_merge_end(SwareScan *scan);
extern void sware_merge_begin(SwareScan *scan, ScanDirection direction);
extern bool sware_merge_next(SwareScan *scan, ScanDirection direction);
extern void sware_merge_mark(SwareScan *scan);
extern void sware_merge_restore(SwareScan *scan);

#endif							/* SWARE_MERGESCAN_H */
