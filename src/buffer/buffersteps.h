/*-------------------------------------------------------------------------
 *
 * buffersteps.h
 *	  What the files of this room share: opening, sealing and freeing pages;
 *	  and what is flushed or sorted together, pieces, sorted pages and sweeps.
 *
 * Sorted pages are sealed buffer pages that were written together, in the order
 * of their entries: a page run (layout/page.h).  A sweep merges page runs.  A
 * piece of it is the entries that come next, from the *place* of the sweep up
 * to the first entry of a page, which is its next place.  The last page of each
 * run in a piece has entries beyond it, as a rule: it is a page of the next
 * piece, too, and retires when all its entries are in the tree.
 *
 * The runs of a sweep are those that there are when it begins: later ones would
 * make it begin at the smallest key again.  Where the sweep is, and where it
 * ends, is kept in shared memory.  If it is lost, or its page has retired,
 * another sweep begins with all runs, and the tree skips the entries that it
 * has.  A flush of everything makes a sweep of its own.
 *
 * The caller has the flush lock, and holds no locks on pages.  The functions
 * lock one page at a time, call comparators without locks, and raise an error
 * if a page is not the one that its slot lists.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BUFFERSTEPS_H
#define SWARE_BUFFERSTEPS_H

#include "access/itup.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "base/faultpoint.h"
#include "pages/bufferpages.h"
#include "zones/zones.h"

/* tails.c; a tail is an open page */

/* how many slots a directory may have */
static inline int
sware_directory_limit(void)
{
	if (SWARE_FAULT_SETTING(directory_slots) > 0)
		return SWARE_FAULT_SETTING(directory_slots);
	return sware_first_slot(SWARE_MAX_DIRECTORY_PAGES);
}

/* how many of them may be on a directory page */
static inline int
sware_directory_page_limit(int directory_page)
{
	return Min(SWARE_SLOTS_PER_PAGE,
			   sware_directory_limit() - sware_first_slot(directory_page));
}

extern Buffer sware_open_tail(Relation index);
extern Buffer sware_replace_tail(Relation index, Buffer full,
								 uint32 *sequence);
extern void sware_seal_tail(Relation index, SwareLink tail);
extern void sware_add_directory_page(Relation index, int pages);

/* piece.c */

/* What is to be flushed together: all entries of sealed pages, or some. */
typedef struct SwarePiece
{
	SwareListedPage *pages;		/* those with no other entries get the state
								 * SWARE_SLOT_RETIRED when they are copied */
	int			count;
	int			sealed;			/* how many pages the buffer has */
	bool		asArrived;		/* are the entries in the order of arrival,
								 * which is measured?  Else each page has its
								 * own in that of their keys, or all are
								 * marked */

	/*
	 * Of entries in the order of their keys, only from..to; NULL: no limit.
	 * What is before `from` is left out of those pages only that are marked
	 * as resumed: the others have nothing before it.
	 */
	IndexTuple	from;
	IndexTuple	to;				/* not included */
} SwarePiece;

/* What was flushed. */
typedef struct SwareFlushed
{
	IndexTuple *entries;		/* in order, without duplicates */
	int			count;
	bool		hasVersions;	/* may rows among them be versions of others
								 * with the same key? */
	int			dropped;		/* entries of dead rows that were left out */
} SwareFlushed;

/*
 * Copy the entries of a piece, in order, without duplicates and without those
 * of rows that are dead to everybody, to the current memory context.  Locks
 * one page at a time; calls comparators without locks.  The caller has the
 * flush lock, and holds no content locks.
 */
extern void sware_copy_piece(Relation index, Relation heap,
							 const SwarePiece *piece, SwareFlushed *flushed);

/* sortedpages.c */

/*
 * The smallest quota, in pages, of a buffer that gets sorted pages.  A smaller
 * one would have few page runs, and could be flushed as a whole instead.
 */
#define SWARE_LARGE_QUOTA		(2 * 1024 * 1024 / BLCKSZ)

/*
 * Unsorted pages are sorted when they are this part of the quota.  So a full
 * buffer has about as many page runs.
 */
#define SWARE_RUNS_PER_QUOTA	32

/*
 * Limits of the number of unsorted pages that are sorted together.  Their page
 * run may have a page more, and should not need a zone more.
 */
#define SWARE_MIN_TO_SORT		63
#define SWARE_MAX_TO_SORT		255

/*
 * Returns how many unsorted pages an index's buffer, which has this quota, must
 * have before they are sorted; 0 if they never are.
 */
static inline int
sware_pages_to_sort(Relation index, int quota)
{
	int			most;

	if (SWARE_FAULT_SETTING(pages_to_sort) != 0)
		return quota > 0 ? SWARE_FAULT_SETTING(pages_to_sort) : 0;
	if (quota < SWARE_LARGE_QUOTA)
		return 0;
	most = sware_zones_most_run_pages(index);
	return Min(Max(Min(quota, most) / SWARE_RUNS_PER_QUOTA - 1,
				   SWARE_MIN_TO_SORT), SWARE_MAX_TO_SORT);
}

/*
 * Write entries, which are in order and without duplicates or marks, to new
 * sorted pages, and list these in the directory.  Returns false if the
 * directory has no room for all of them; it may list some then, if others have
 * taken the room meanwhile.  In this case, and if it is interrupted by an error
 * or a crash, entries that were listed are in the buffer twice, and pages that
 * were not are found by VACUUM.
 *
 * The caller has the flush lock, and holds no content locks.  Calls no
 * comparators.  Raises an error if there is no disk space.
 */
extern bool sware_write_sorted_pages(Relation index, IndexTuple *entries,
									 int count, bool has_versions);

/* sweep.c */

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

/*
 * Take the next piece of a sweep: `most` pages, and those that the piece before
 * has left entries on, a page of each run at most.  `state` says where that has
 * ended, and then where this one does; if it has no place, or its page is not
 * listed any more, a sweep of all runs begins.  There is a run at least.  When
 * the piece is in the tree, and the pages have retired whose state says so, the
 * next piece can be taken, of pages that have been listed anew.
 */
extern void sware_sweep_take_piece(Relation index,
								   const SwareSealedPages *sealed,
								   SwareSweepState *state, int most,
								   SwarePiece *piece);

#endif							/* SWARE_BUFFERSTEPS_H */
