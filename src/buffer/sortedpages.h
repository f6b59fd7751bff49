/*-------------------------------------------------------------------------
 *
 * sortedpages.h
 *	  Sorted pages: sealed buffer pages that were written together, in the
 *	  order of their entries.  They are a page run (layout/page.h).
 *
 * A large buffer keeps most of its entries in sorted pages.  So a flush can
 * take those of a range of keys together (sweep.h), although they arrived at
 * different times, and brings many entries to each leaf that it changes.  And
 * readers find them without a zone that has copies.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SORTEDPAGES_H
#define SWARE_SORTEDPAGES_H

#include "access/itup.h"
#include "utils/rel.h"

#include "base/faultpoint.h"

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

/* limits of the number of unsorted pages that are sorted together */
#define SWARE_MIN_TO_SORT		64
#define SWARE_MAX_TO_SORT		256

/*
 * Returns how many unsorted pages a buffer with this quota must have before
 * they are sorted, if it may have `most` pages now; 0 if they never are.
 */
static inline int
sware_pages_to_sort(int quota, int most)
{
	if (SWARE_FAULT_SETTING(pages_to_sort) != 0)
		return quota > 0 ? SWARE_FAULT_SETTING(pages_to_sort) : 0;
	if (quota < SWARE_LARGE_QUOTA)
		return 0;
	return Min(Max(Min(quota, most) / SWARE_RUNS_PER_QUOTA, SWARE_MIN_TO_SORT),
			   SWARE_MAX_TO_SORT);
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

#endif							/* SWARE_SORTEDPAGES_H */
