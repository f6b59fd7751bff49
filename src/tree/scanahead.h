/*-------------------------------------------------------------------------
 *
 * scanahead.h
 *	  Decides when a scan asks for leaves ahead (readahead.h).
 *
 * Most scans read one leaf or two, or find their leaves in shared buffers, and
 * must not pay for what does not help them.  So a scan asks for leaves when it
 * follows a link, from one leaf to the next, after a link has led it to a leaf
 * that was not in shared buffers.  It asks for 1, 2, 4 ... leaves ahead, up to
 * effective_io_concurrency of the index's tablespace, and for none beyond the
 * end of its range.  It stops when a search leads it elsewhere, when it turns
 * around, and when the leaves are in shared buffers after all.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SCANAHEAD_H
#define SWARE_SCANAHEAD_H

#include "keys/scankeys.h"
#include "layout/page.h"
#include "tree/readahead.h"

typedef struct SwareScanAhead
{
	SwareReadahead *readahead;	/* allocated when it is needed */
	bool		isActive;		/* is it in use for this range, in this
								 * direction? */
	bool		forward;
	int64		range;
	bool		isCold;			/* was the last leaf that a link has led to
								 * read into shared buffers for it? */
	int64		blocksRead;		/* how many blocks had been read before */
} SwareScanAhead;

extern void sware_scan_ahead_of_link(SwareScanAhead *ahead,
									 SwareScanKeys *keys, int64 range,
									 IndexTuple border, bool forward,
									 BlockNumber leaf, int most,
									 MemoryContext context);

static inline void
sware_scan_ahead_init(SwareScanAhead *ahead)
{
	ahead->readahead = NULL;
	ahead->isActive = ahead->isCold = false;
}

/* Stop: the scan goes on elsewhere.  It may begin again. */
static inline void
sware_scan_ahead_stop(SwareScanAhead *ahead)
{
	ahead->isActive = false;
}

/* Does the scan ask for leaves now, or should it begin? */
static inline bool
sware_scan_ahead_is_due(const SwareScanAhead *ahead)
{
	return ahead->isActive || ahead->isCold;
}

/* The scan is about to lock a leaf that a link leads to. */
static inline void
sware_scan_ahead_before_leaf(SwareScanAhead *ahead)
{
	ahead->blocksRead = sware_blocks_read();
}

/* It has locked the leaf. */
static inline void
sware_scan_ahead_after_leaf(SwareScanAhead *ahead)
{
	ahead->isCold = sware_blocks_read() != ahead->blocksRead;
}

#endif							/* SWARE_SCANAHEAD_H */
