/*-------------------------------------------------------------------------
 *
 * zonereader.h
 *	  Reading a sorted zone in the order of a scan.
 *
 * Its entries count from 0 on, from the first that counts or, if the scan goes
 * backward, from the last.  A few of them are copied at a time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ZONEREADER_H
#define SWARE_ZONEREADER_H

#include "keys/searchkey.h"
#include "zones/sortedzone.h"

/* the number of entries that are copied at once, at most */
#define SWARE_MAX_COPIED	64

/* a copy of an entry */
typedef struct SwareZoneCopy
{
	IndexTuple	entry;			/* the copy, without a mark */
	bool		isMarked;		/* does the entry have one in the zone? */
	uint32		number;			/* of the entry in the zone */
} SwareZoneCopy;

typedef struct SwareZoneReader
{
	Relation	index;
	const SwareSortedZone *zone;
	bool		forward;
	bool		leavesOutMarked;
	int			leftOut;		/* the number of marked entries left out */
	int			most;			/* the number of entries to copy next */
	int64		position;		/* of the entries copied last */
	int			copied;			/* how many these were; 0: none are left */

	/*
	 * Those of them whose pages have not retired, in the scan's order;
	 * without the marked ones if these are left out, but for the last, which
	 * tells whether a range has ended.
	 */
	int			count;
	SwareZoneCopy copies[SWARE_MAX_COPIED];

	union
	{
		/* functions may read a little behind an entry, see bufferbatch.c */
		char		bytes[BLCKSZ + NAMEDATALEN];
		double		forAlignment;
	}			memory;
} SwareZoneReader;

extern void sware_zone_reader_init(SwareZoneReader *reader, Relation index,
								   const SwareSortedZone *zone, bool forward,
								   bool leaves_out_marked);

/*
 * Go on behind the first entry copied last, and not before `place`.  Returns
 * false if the zone is gone.  Runs comparators.
 */
extern bool sware_zone_reader_seek(SwareZoneReader *reader,
								   const SwareSearchKey *place);

/* Copy the next entries.  Returns false if the zone is gone. */
extern bool sware_zone_reader_copy(SwareZoneReader *reader);

#endif							/* SWARE_ZONEREADER_H */
