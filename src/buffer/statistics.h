/*-------------------------------------------------------------------------
 *
 * statistics.h
 *	  What has happened to an index since counting began.
 *
 * Counters are collected in private memory and added to those in shared
 * memory now and then, at the ends of transactions.  Shared memory is there
 * if the library is preloaded; otherwise a backend knows only of what it did
 * itself.  It has room for so many indexes, and forgets those that had no
 * news for longest.  Nothing here survives a restart.
 *
 * Counting neither fails nor takes part in transactions: work that is rolled
 * back was done all the same.
 *
 * Sortedness is that of entries as they arrive, of those that are sorted
 * together:
 *	- an entry is out of order if it had to be set aside so that the others
 *	  are in order; of two neighbours that contradict each other one counts;
 *	- its displacement is the distance between the place where it arrived and
 *	  the one it got, in entries.
 * K is the share of entries out of order, L the largest displacement as a share
 * of the entries sorted together, both in percent.  Both are averages over all
 * sorts, weighted by their entries, in which older ones fade.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_STATISTICS_H
#define SWARE_STATISTICS_H

#include "datatype/timestamp.h"
#include "utils/rel.h"

typedef struct SwareCounters
{
	int64		buffered;		/* entries that went into the shared buffer */
	int64		appended;		/* entries that went into the tree in whole
								 * leaves */
	int64		inserted;		/* entries that were merged into leaves */
	int64		flushes;
	int64		flushedEntries;
	int64		flushedPages;
	int64		flushTime;		/* in microseconds */
	int64		bloomProbes;
	int64		bloomFalsePositives;
} SwareCounters;

typedef struct SwareStatistics
{
	SwareCounters counters;
	bool		hasSortedness;	/* has anything been sorted? */
	double		k;				/* in percent */
	double		l;
	TimestampTz since;			/* when counting began; 0: nothing counted */
} SwareStatistics;

/* As those of zones.h, but the pool does not matter. */
extern void sware_statistics_request_memory(void);
extern void sware_statistics_attach(void);

/* These only add to private memory, and need nothing but an open index. */
extern void sware_count_buffered(Relation index, int64 entries);
extern void sware_count_tree_run(Relation index, int64 appended, int64 inserted);
extern void sware_count_flush(Relation index, int64 entries, int64 pages,
							  int64 microseconds);
extern void sware_count_bloom(Relation index, int64 probes, int64 false_positives);
extern void sware_note_sortedness(Relation index, int64 entries, int64 out_of_order,
								  int64 largest_displacement);

/*
 * Estimates of K and L, in percent; false (and zeroes) if nothing is known.
 * Takes a lightweight lock, shared, for a moment.
 */
extern bool sware_estimates(Relation index, double *k, double *l);

/* What is known of an index, what this backend did included. */
extern void sware_statistics_read(Oid index, SwareStatistics *statistics);

#endif							/* SWARE_STATISTICS_H */
