/*-------------------------------------------------------------------------
 *
 * statistics.h
 *	  Statistics of indexes: what backends have done with them since counting
 *	  began.
 *
 * A backend counts in private memory.  At the end of a transaction, at most
 * once in 100 ms, it adds its counters to those in shared memory.  Without
 * shared_preload_libraries there is no shared memory, and a backend knows only
 * what it has done itself.  Shared memory has room for 2048 indexes; the index
 * whose counters have not changed for longest is forgotten first.  A restart
 * resets everything.
 *
 * Counting is not transactional: work that is rolled back counts, too.
 *
 * Sortedness is measured whenever entries are sorted, in the order in which
 * they arrived:
 *	- An entry is out of order if it has to be taken out so that the others are
 *	  in order.  Of two neighbours in the wrong order, one counts.
 *	- The displacement of an entry is the distance, in entries, between its
 *	  places before and after the sort.
 * K is the share of entries that are out of order, and L the largest
 * displacement as a share of the entries of the sort, both in percent; they
 * are measures of the paper "Indexing for Near-Sorted Data".  sware_sortedness
 * and bench/lib/sortedness.py measure the same.  The estimates are averages
 * over all sorts, weighted by their numbers of entries; older sorts lose
 * weight.
 *
 * An entry is late if it comes to a leaf that has a right sibling, in too
 * little company to begin a leaf of its own.  The share of late entries is that
 * of all that the tree got; older ones lose weight.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_STATISTICS_H
#define SWARE_STATISTICS_H

#include "datatype/timestamp.h"
#include "utils/rel.h"

/* How often something was done with an index. */
typedef struct SwareCounters
{
	int64		buffered;		/* entries that went into the buffer */
	int64		appended;		/* entries that went into the tree in whole
								 * leaves */
	int64		inserted;		/* entries that were merged into leaves */
	int64		marked;			/* entries of dead rows that were marked, on
								 * leaves and buffer pages */
	int64		deleted;		/* TIDs of dead rows that made room on leaves */
	int64		dropped;		/* entries of dead rows that flushes left out */
	int64		flushes;
	int64		flushedEntries; /* that flushes moved from the buffer */
	int64		flushedPages;	/* buffer pages that flushes retired */
	int64		flushTime;		/* of all flushes and of sorting pages, in
								 * microseconds */
	int64		sortedPages;	/* buffer pages that became sorted ones */
	int64		leafVisits;		/* how often a leaf got entries of a run, or
								 * one entry */
	int64		leafSplits;
	int64		leafMoves;		/* leaves that VACUUM moved to other blocks */
	int64		mapChecks;		/* VACUUMs that have read all pages that the
								 * free space map lists */
	int64		bloomProbes;	/* sorted zones whose filter was asked */
	int64		bloomFalsePositives;	/* of these: it said yes, but the key
										 * was not there */
} SwareCounters;

typedef struct SwareStatistics
{
	SwareCounters counters;
	bool		hasSortedness;	/* has anything been sorted? */
	double		k;				/* in percent */
	double		l;				/* in percent */
	bool		hasArrivals;	/* has the tree got anything? */
	double		late;			/* share of late entries, in percent */
	TimestampTz since;			/* when counting began; 0: nothing counted */
} SwareStatistics;

/* Request shared memory and a lock for statistics, in shmem_request_hook. */
extern void sware_statistics_request_memory(void);

/*
 * Find that shared memory, or initialise it if no process has done so, in
 * shmem_startup_hook.  The caller holds AddinShmemInitLock.
 */
extern void sware_statistics_attach(void);

/*
 * These add to this backend's counters.  They take no locks; the index is open.
 * An error is raised only if there is no memory for the counters.
 */
extern void sware_count_buffered(Relation index, int64 entries);
extern void sware_count_tree_run(Relation index, int64 appended,
								 int64 inserted);
extern void sware_count_tree_entry(Relation index, bool is_late);
extern void sware_count_marked(Relation index, int64 entries);
extern void sware_count_deleted(Relation index, int64 entries);
extern void sware_count_dropped(Relation index, int64 entries);
extern void sware_count_flush(Relation index, int64 entries, int64 pages,
							  int64 microseconds);
extern void sware_count_sorted_pages(Relation index, int64 pages,
									 int64 microseconds);
extern void sware_count_leaf_visits(Relation index, int64 visits);
extern void sware_count_leaf_split(Relation index);
extern void sware_count_leaf_move(Relation index);
extern void sware_count_map_check(Relation index);

/*
 * Count entries that the tree got, or that have been found to be late when the
 * buffer got them.  Of these it is told as well that they are there, so that
 * they do not count again.
 */
extern void sware_count_arrivals(Relation index, int64 entries, int64 late);
extern void sware_count_late_buffered(Relation index, int64 entries);
extern void sware_count_bloom(Relation index, int64 probes,
							  int64 false_positives);
extern void sware_note_sortedness(Relation index, int64 entries,
								  int64 out_of_order,
								  int64 largest_displacement);

/*
 * Count entries that a flush has moved to the tree, from a share of the
 * buffer's pages, from 0 to 1.  Late ones count only if they have not counted
 * when the buffer got them.  Takes a lightweight lock, shared, for a moment.
 */
extern void sware_count_late_flushed(Relation index, int64 entries, int64 late,
									 double share);

/*
 * Set *k and *l to the estimates of K and L, in percent.  Returns false, and
 * sets both to 0, if nothing has been sorted.  Takes a lightweight lock,
 * shared, for a moment.
 */
extern bool sware_estimates(Relation index, double *k, double *l);

/*
 * Has a VACUUM read all pages that the index's free space map lists, since the
 * server started and as far as known?  Takes a lightweight lock, shared, for a
 * moment.
 */
extern bool sware_map_is_checked(Relation index);

/*
 * Set *late to the share of late entries, from 0 to 1.  Returns the number of
 * entries that it was learnt from; 0 if that is not known.  Takes a lightweight
 * lock, shared, for a moment; the caller may hold content locks.
 */
extern double sware_late_share(Relation index, double *late);

/*
 * Get the statistics of an index, including what this backend has counted and
 * not yet added to shared memory.  The index need not be open.  Takes a
 * lightweight lock, shared, for a moment.
 */
extern void sware_statistics_read(Oid index, SwareStatistics *statistics);

#endif							/* SWARE_STATISTICS_H */
