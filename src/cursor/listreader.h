/*-------------------------------------------------------------------------
 *
 * listreader.h
 *	  Reading a list of entries in the order of a scan: a sorted zone, or a
 *	  staged run.
 *
 * The entries have numbers in index order.  A few of them are copied at a time.
 * A list can go while it is read, since its memory is used for something else.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_LISTREADER_H
#define SWARE_LISTREADER_H

#include "keys/searchkey.h"
#include "staging/staging.h"
#include "zones/sortedzone.h"

/* a copy of an entry */
typedef struct SwareListCopy
{
	IndexTuple	entry;			/* the copy, without a mark */
	bool		isMarked;		/* does the entry have one in the list? */
	uint32		number;			/* of the entry in the list */
} SwareListCopy;

typedef struct SwareListReader
{
	Relation	index;
	const SwareSortedZone *zone;	/* the list; or NULL: it is a staged run */
	SwareStagedRun run;
	uint64		stamp;			/* the run is valid as long as this is
								 * staging's */
	int64		begin;			/* number of the first entry that counts */
	int64		end;			/* number behind the last that counts */
	int64		passedOver;		/* marked entries that do not count, since
								 * they are all at the end where the scan
								 * begins */
	Size		entrySize;		/* in bytes, of the largest entry */
	bool		forward;
	bool		leavesOutMarked;
	int			leftOut;		/* the number of marked entries left out */
	int			most;			/* the number of entries to copy next */
	int64		position;		/* of the entries copied last, counted from
								 * `begin` or, if the scan goes backward, from
								 * `end` */
	int			copied;			/* how many these were; 0: none are left */

	/*
	 * The entries that count, in the scan's order: in a sorted zone, those
	 * whose pages have not retired; without the marked ones if these are left
	 * out.  The last one always counts, as it tells whether a range has
	 * ended.
	 */
	int			count;
	SwareListCopy copies[SWARE_MAX_COPIED];

	union
	{
		/* functions may read a little behind an entry, see bufferbatch.c */
		char		bytes[BLCKSZ + NAMEDATALEN];
		double		forAlignment;
	}			memory;
	SwareRunWindow window;		/* if the zone is that of a run */
} SwareListReader;

/* A staged run is valid as long as staging has this stamp. */
extern void sware_list_reader_init_zone(SwareListReader *reader, Relation index,
										const SwareSortedZone *zone,
										bool forward, bool leaves_out_marked);
extern void sware_list_reader_init_run(SwareListReader *reader, Relation index,
									   const SwareStagedRun *run, uint64 stamp,
									   bool forward);

/*
 * Go on behind the first entry copied last, and not before `place`.  Returns
 * false if the list is gone.  Calls comparators.
 */
extern bool sware_list_reader_seek(SwareListReader *reader,
								   const SwareSearchKey *place);

/* Copy the next entries.  Returns false if the list is gone. */
extern bool sware_list_reader_copy(SwareListReader *reader);

#endif							/* SWARE_LISTREADER_H */
