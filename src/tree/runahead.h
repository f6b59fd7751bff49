/*-------------------------------------------------------------------------
 *
 * runahead.h
 *	  Asks for the leaves that a run goes to before it gets there
 *	  (readahead.h).
 *
 * The leaves of a run are known beforehand: the pages of level 1 say which leaf
 * each of its entries belongs to.  If they are not in shared buffers, the run
 * would wait for one read after the other.  So it asks for leaves when two of
 * them, one after the other, had to be read; and it stops when they are in
 * shared buffers after all.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_RUNAHEAD_H
#define SWARE_RUNAHEAD_H

#include "access/itup.h"
#include "utils/rel.h"

#include "tree/readahead.h"

typedef struct SwareRunAhead
{
	Relation	index;
	SwareReadahead *readahead;	/* NULL: it does not ask */
	int			coldLeaves;		/* how many leaves in a row had to be read */
	int64		blocksRead;		/* how many blocks this session had read
								 * before it went to the present leaf */
} SwareRunAhead;

/* A run begins, or ends. */
extern void sware_run_ahead_init(SwareRunAhead *ahead, Relation index);
extern void sware_run_ahead_end(SwareRunAhead *ahead);

/* The run is about to go to the next leaf. */
extern void sware_run_ahead_before_leaf(SwareRunAhead *ahead);

/*
 * The run has been to a leaf.  These entries, in order, are left.  What this
 * allocates is in the current memory context, which must live until the end.
 * The caller holds no content locks.  Runs comparators.
 */
extern void sware_run_ahead_after_leaf(SwareRunAhead *ahead, BlockNumber leaf,
									   IndexTuple *entries, int count);

#endif							/* SWARE_RUNAHEAD_H */
