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
 * whose counters have not changed for longest is forgotten first.  They are
 * kept over a clean restart of the server (statisticsfile.c), and lost in a
 * crash.
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
#include "portability/instr_time.h"
#include "utils/rel.h"

/*
 * What is counted.  sware_stats has a column for each, down to the line
 * below, with the same name but for the prefix, and in the same order.
 */
typedef enum SwareCounter
{
	SWARE_STAT_ENTRIES_BUFFERED,	/* they went into the buffer */
	SWARE_STAT_ENTRIES_APPENDED,	/* they went to the tree in whole leaves */
	SWARE_STAT_ENTRIES_INSERTED,	/* they were merged into leaves */
	SWARE_STAT_ENTRIES_MARKED,	/* of dead rows, on leaves and buffer pages */
	SWARE_STAT_ENTRIES_DELETED, /* TIDs of dead rows that made room on leaves */
	SWARE_STAT_ENTRIES_DROPPED, /* of dead rows, which flushes left out */
	SWARE_STAT_FLUSHES,
	SWARE_STAT_FLUSH_TIME,		/* of all flushes and of sorting pages, in
								 * microseconds */
	SWARE_STAT_FLUSHED_PAGES,	/* buffer pages that flushes retired */
	SWARE_STAT_FLUSHED_ENTRIES, /* that flushes moved from the buffer */
	SWARE_STAT_SORTED_PAGES,	/* buffer pages that became sorted ones */
	SWARE_STAT_LEAF_VISITS,		/* how often a leaf got entries of a run, or
								 * one entry */
	SWARE_STAT_LEAF_SPLITS,
	SWARE_STAT_LEAF_MOVES,		/* leaves that VACUUM moved to other blocks */
	SWARE_STAT_BLOOM_PROBES,	/* sorted zones whose filter was asked */
	SWARE_STAT_BLOOM_FALSE_POSITIVES,	/* of these: it said yes, but the key
										 * was not there */
	SWARE_STAT_TABLE_PREFETCHES,	/* pages of the table that scans asked for
									 * ahead */
	SWARE_STAT_INSERTER_PIECES, /* pieces of work (below), by who did them, in
								 * the order of SwareDoer */
	SWARE_STAT_READER_PIECES,
	SWARE_STAT_VACUUM_PIECES,
	SWARE_STAT_WORKER_PIECES,
	SWARE_STAT_INSERTER_MAX_TIME,	/* of the longest of these pieces, in
									 * microseconds, in the same order */
	SWARE_STAT_READER_MAX_TIME,
	SWARE_STAT_VACUUM_MAX_TIME,
	SWARE_STAT_WORKER_MAX_TIME,
	/* no columns below */
	SWARE_STAT_MAP_CHECKS,		/* VACUUMs that have read all pages that the
								 * free space map lists */
	SWARE_STAT_SORTED_ENTRIES,	/* they went to sorted pages */
	SWARE_STAT_ZONE_PAGES,		/* buffer pages of new sorted zones */
	SWARE_STAT_ZONE_ENTRIES,	/* entries of these */
} SwareCounter;

#define SWARE_COLUMN_COUNTERS	SWARE_STAT_MAP_CHECKS
#define SWARE_COUNTERS			(SWARE_STAT_ZONE_ENTRIES + 1)

/* Is a counter a maximum, and not a sum? */
static inline bool
sware_counter_is_maximum(int counter)
{
	return counter >= SWARE_STAT_INSERTER_MAX_TIME &&
		counter <= SWARE_STAT_WORKER_MAX_TIME;
}

/* Who does a piece of work (below)? */
typedef enum SwareDoer
{
	SWARE_INSERTER,				/* a session that stores entries */
	SWARE_READER,				/* a scan, or a look-up of a unique key */
	SWARE_VACUUM,				/* VACUUM or sware_flush */
	SWARE_FLUSH_WORKER
} SwareDoer;

/* sums over all sorts, in which earlier sorts lose weight */
typedef struct SwareSortedness
{
	double		entries;
	double		outOfOrder;
	double		displacement;	/* the largest one of each sort */
} SwareSortedness;

/* entries that the tree got; earlier ones lose weight */
typedef struct SwareArrivals
{
	double		count;			/* of all of them; none loses weight */
	double		entries;
	double		late;
	int64		buffered;		/* late entries that have been counted, and
								 * are in the buffer still, as far as known; a
								 * change of it in private memory */
} SwareArrivals;

/*
 * scans, and entries that came for the buffer, whether it took them or not,
 * some of which count twice; earlier ones lose weight
 */
typedef struct SwareUse
{
	double		scans;
	double		entries;
	int64		scansPrevail;	/* the latest answer of sware_scans_prevail, 0
								 * or 1; so there is no padding */
} SwareUse;

typedef struct SwareStatistics
{
	int64		counters[SWARE_COUNTERS];
	SwareSortedness sortedness;
	SwareArrivals arrivals;
	SwareUse	use;
	TimestampTz since;			/* when counting began; 0: nothing counted */
} SwareStatistics;

/* See base/sharedmemory.h. */
extern void sware_share_statistics(void);

/*
 * A transaction has ended: add what this backend has counted to shared memory,
 * if it is time to.  Raises no errors.
 */
extern void sware_statistics_transaction_ends(void);

/*
 * These add to what this backend has counted.  They take no locks; the index is
 * open.  An error is raised only if there is no memory for its account.
 */
extern void sware_count(Relation index, SwareCounter counter, int64 number);

/*
 * Count entries that the tree got, or late ones that the buffer got.
 * sware_count_late_buffered is told of the latter as well, so that they do not
 * count again when they are flushed.
 */
extern void sware_count_arrivals(Relation index, int64 entries, int64 late);
extern void sware_count_late_buffered(Relation index, int64 entries);
extern void sware_note_sortedness(Relation index, int64 entries,
								  int64 out_of_order,
								  int64 largest_displacement);

/* Count scans, and entries that have come for the buffer (SwareUse). */
extern void sware_count_use(Relation index, int64 scans, int64 entries);

/*
 * Count entries that a flush has moved to the tree, from a share of the
 * buffer's pages, from 0 to 1.  Late ones count only if they have not counted
 * when the buffer got them.  Takes a lightweight lock, shared, for a moment.
 */
extern void sware_count_late_flushed(Relation index, int64 entries, int64 late,
									 double share);

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
 * Have there been so many scans of late for each entry that has come for the
 * buffer: `more`, or `fewer` if the latest answer was yes?  All sessions get
 * the same answer, unless there is no shared memory.  Takes a lightweight lock,
 * shared, for a moment.  An error is raised only if there is no memory for this
 * backend's account.
 */
extern bool sware_scans_prevail(Relation index, double more, double fewer);

/*
 * Get the statistics of an index, including what this backend has counted and
 * not yet added to shared memory.  The index need not be open.  Takes a
 * lightweight lock, shared, for a moment.
 */
extern void sware_statistics_read(Oid index, SwareStatistics *sum);

/*
 * A piece of work is what a session does for an index in one go, beside what
 * its user has asked for: a flush of a part of the buffer, or the sorting of
 * pages in its place; the whole flush of VACUUM or sware_flush; the making of a
 * sorted zone; the publishing of more than a few staged entries.  It is
 * counted, with its time, and logged if it takes longer than
 * sware.log_min_flush_duration.  One piece may be done within another one: then
 * both are.
 */
typedef enum SwareWorkKind
{
	SWARE_FLUSH_WORK,
	SWARE_ZONE_WORK,
	SWARE_PUBLISH_WORK
} SwareWorkKind;

/* A piece of work that has begun. */
typedef struct SwareWork
{
	Relation	index;
	SwareDoer	doer;
	instr_time	start;
	int64		before[SWARE_COUNTERS]; /* what the session had counted */
} SwareWork;

/* Begin a piece of work; the caller keeps the index open until it ends. */
extern void sware_work_begin(SwareWork *work, Relation index,
							 SwareDoer doer);

/*
 * Count a piece of work that has ended, unless nothing was to be done, and log
 * it if it took long.  Returns whether it is counted.  Logging may raise an
 * error, for instance if the statement is cancelled; so the caller has finished
 * its changes, and has given up all locks that it took for them.  After an
 * error there is nothing to be called.
 */
extern bool sware_work_end(const SwareWork *work, SwareWorkKind kind);

/* statisticsfile.c, for statistics.c */
extern bool sware_server_is_shut_down(void);
extern void sware_statistics_file_write(const void *records, int count,
										Size size);
extern int	sware_statistics_file_read(void **records, int most, Size size);

#endif							/* SWARE_STATISTICS_H */
