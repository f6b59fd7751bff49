/*-------------------------------------------------------------------------
 *
 * sweep.h
 *	  Sweeps: flushing sorted pages in the order of their entries.
 *
 * A sweep merges page runs.  A piece of it is the entries that come next, from
 * the *place* of the sweep up to the first entry of a page, which is its next
 * place.  So it can be small, and yet a leaf gets what all runs have for it,
 * once in a sweep.  The last page of each run in a piece has entries beyond it,
 * as a rule: it is a page of the next piece, too, and retires when all its
 * entries are in the tree.
 *
 * The runs of a sweep are those that there are when it begins: later ones would
 * make it begin at the smallest key again.  Where the sweep is, and where it
 * ends, is kept in shared memory.  If it is lost, or its page has retired,
 * another sweep begins with all runs, and the tree skips the entries that it
 * has.
 *
 * The caller has the flush lock, and holds no locks on pages.  The functions
 * copy pages one at a time, call comparators, and raise an error if a page is
 * not the one that its slot lists.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SWEEP_H
#define SWARE_SWEEP_H

#include "utils/rel.h"

#include "buffer/piece.h"
#include "pages/bufferpages.h"

/* What is left of a page run: pages that follow one another in a list. */
typedef struct SwarePageRun
{
	int			first;			/* number of the first page in the list */
	int			count;
	uint32		lastSequence;	/* of the run's last page, listed or not */
} SwarePageRun;

/* The sealed pages of a buffer: page runs, and unsorted pages. */
typedef struct SwareSealedPages
{
	const SwareListedPage *pages;	/* all, in the order of sealing */
	int			count;
	SwareListedPage *unsorted;	/* in the order of sealing */
	int			unsortedCount;
	int			sortedCount;	/* pages of all runs */
	SwarePageRun *runs;			/* in the order of sealing */
	int			runCount;
} SwareSealedPages;

/*
 * Tell apart all sealed pages, which are given in the order of sealing.  Reads
 * one page of each page run.
 */
extern void sware_tell_sealed_pages(Relation index,
									const SwareListedPage *pages, int count,
									SwareSealedPages *sealed);

typedef struct SwareSweep SwareSweep;

/*
 * Go on with the sweep of an index, or begin a new one; with `all`, sweep all
 * runs, whatever the present sweep is.  There is a run at least.  `sealed`
 * lives as long as the result.
 */
extern SwareSweep *sware_sweep_begin(Relation index,
									 const SwareSealedPages *sealed, bool all);

/*
 * Take the next piece, which has `most` pages that the one before had not, but
 * a page of each run more if the sweep begins and shared memory has kept no
 * place of this index so far: it may not keep this one, either.  Returns false
 * if the sweep is at its end.
 */
extern bool sware_sweep_take_piece(SwareSweep *sweep, int most,
								   SwarePiece *piece);

/*
 * Note that the piece taken is in the tree, and the pages have retired whose
 * state says so.  Then the next piece can be taken.
 */
extern void sware_sweep_piece_is_done(SwareSweep *sweep);

#endif							/* SWARE_SWEEP_H */
