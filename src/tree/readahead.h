/*-------------------------------------------------------------------------
 *
 * readahead.h
 *	  Asks the kernel for leaves before they are read.
 *
 * The pages of level 1 say which leaves follow, and which ones the entries of a
 * run belong to.  VACUUM asks from its first leaf on; a scan when it follows a
 * link after a link has led it to a leaf that was not in shared buffers; a run
 * after two leaves, one after the other, had to be read.  A scan asks for none
 * beyond the end of its stretch or, between two stretches, beyond the place
 * where the next one begins; restricted to an interval, for none beyond that.
 * It stops when a search leads it elsewhere, and when it turns around; scans
 * and runs stop when the leaves are in shared buffers after all.
 *
 * No page is pinned ahead: VACUUM takes a cleanup lock on each leaf, which any
 * pin would delay, and a second pin of its own forbid.  What is asked for is a
 * hint: leaves may be split, deleted or reused meanwhile.
 *
 * The functions that ask must be called without content locks.  They may report
 * a damaged page of level 1, as descents do.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_READAHEAD_H
#define SWARE_READAHEAD_H

#include "access/itup.h"
#include "utils/rel.h"

#include "keys/scankeys.h"
#include "pages/pageaccess.h"
#include "tree/border.h"

typedef struct SwareReadahead
{
	Relation	index;
	MemoryContext context;		/* of the list and the origin */
	struct SwareLeafList *list; /* allocated when it is needed */
	SwareSavedEntry origin;		/* of a scan: a copy of the tuple from which
								 * it began, which has values of the list's
								 * end */
	bool		isActive;		/* does it ask for leaves now? */
	bool		forward;
	int			distance;		/* how many leaves are asked for ahead;
								 * doubled with each one that is visited */
	int			limit;			/* to which the distance grows */
	int			inVain;			/* how many requests in a row were for leaves
								 * in shared buffers */
	BlockNumber last;			/* the leaf before the next one to ask for */
	IndexTuple *next;			/* of a run: the first entry whose leaf has
								 * not been asked for */
	int			pending;		/* of a run: how many leaves were asked for
								 * and not visited, about */
	int			coldLeaves;		/* how many leaves in a row had to be read */
	int64		blocksRead;		/* how many blocks this session had read
								 * before it went to the present leaf */
} SwareReadahead;

extern void sware_readahead_of_all(SwareReadahead *ahead);
extern void sware_readahead_of_run(SwareReadahead *ahead,
								   IndexTuple *entries, int count);
extern void sware_readahead_of_link(SwareReadahead *ahead, SwareScanKeys *keys,
									const SwareBorder *border, bool forward,
									BlockNumber leaf, int most);
extern void sware_readahead_visit(SwareReadahead *ahead, BlockNumber leaf,
								  int most);
extern void sware_readahead_end(SwareReadahead *ahead);

/*
 * Ask for the leaf of a key.  The caller holds no content locks.  Calls
 * comparators.
 */
extern void sware_readahead_of_key(const SwareSearchKey *key);

/* Prepare; the context lives until sware_readahead_end. */
static inline void
sware_readahead_init(SwareReadahead *ahead, Relation index,
					 MemoryContext context)
{
	ahead->index = index;
	ahead->context = context;
	ahead->list = NULL;
	memset(&ahead->origin, 0, sizeof(SwareSavedEntry));
	ahead->isActive = false;
	ahead->coldLeaves = 0;
}

/* Stop: a scan goes on elsewhere.  It may begin again. */
static inline void
sware_readahead_stop(SwareReadahead *ahead)
{
	ahead->isActive = false;
}

/* Does a scan ask for leaves now, or should it begin? */
static inline bool
sware_readahead_is_due(const SwareReadahead *ahead)
{
	return ahead->isActive || ahead->coldLeaves > 0;
}

/* The caller is about to read a leaf, which may be among those asked for. */
static inline void
sware_readahead_before_leaf(SwareReadahead *ahead)
{
	ahead->blocksRead = sware_blocks_read();
}

/* It has read the leaf. */
static inline void
sware_readahead_after_leaf(SwareReadahead *ahead)
{
	if (ahead->blocksRead != sware_blocks_read())
		ahead->coldLeaves++;
	else
		ahead->coldLeaves = 0;
}

#endif							/* SWARE_READAHEAD_H */
