/*-------------------------------------------------------------------------
 *
 * sweep.h
 *	  Sweeps: flushing sorted pages in the order of their entries.
 *
 * A sweep merges page runs.  A piece of it is the pages that come next: of all
 * runs, the page whose first entry is the smallest, and so on.  Whole pages are
 * flushed, so all pages of a piece retire, and each run retires from its first
 * page on.  A leaf gets what all runs have for it, once in a sweep, except for
 * leaves where a piece ends.
 *
 * The runs of a sweep are those that there are when it begins.  Runs that are
 * written meanwhile wait for the next one: they would begin at the smallest key
 * again.  Where the sweep ends is kept in shared memory.  It may be lost; then
 * another sweep begins with all runs.
 *
 * The caller of these functions has the flush lock, and holds no locks on
 * pages.  They copy pages one at a time, and raise an error if a page is not
 * the one that its slot lists.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SWEEP_H
#define SWARE_SWEEP_H

#include "utils/rel.h"

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

/* How many runs does a sweep have? */
extern int	sware_sweep_runs(const SwareSweep *sweep);

/*
 * Take the next pages of a sweep, `most` at most.  Returns their number, which
 * is 0 at the end.  Calls comparators.
 */
extern int	sware_sweep_take(SwareSweep *sweep, SwareListedPage *pages,
							 int most);

#endif							/* SWARE_SWEEP_H */
