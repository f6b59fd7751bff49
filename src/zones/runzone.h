/*-------------------------------------------------------------------------
 *
 * runzone.h
 *	  Reading the entries of a run, with what its sorted zone knows of them.
 *	  Only the files of this room include this.
 *
 * sortedzone.h draws the zone, and says when it "is gone": also if one of the
 * run's pages is another page now.  The functions lock one page at a time, for
 * a moment, and call no comparator meanwhile.  They raise an error if a page is
 * damaged (ERRCODE_INDEX_CORRUPTED).
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_RUNZONE_H
#define SWARE_RUNZONE_H

#include "zones/sortedzone.h"

/*
 * Bring the numbers *low and *high, between which a search looks for a place,
 * so close together that the entries from *low to *high - 1 are on one page,
 * and get these into the window.  Leaves out entries of retired pages.  Returns
 * false if the zone is gone.  Calls comparators.
 */
extern bool sware_run_narrow(Relation index, const SwareSortedZone *zone,
							 const SwareSearchKey *place, uint32 *low,
							 uint32 *high, SwareRunWindow *window);

/* sware_sorted_zone_copy_tuples for a run. */
extern bool sware_run_copy_tuples(Relation index, const SwareSortedZone *zone,
								  uint32 first, uint32 count, char *into,
								  SwareRunWindow *window);

/* sware_sorted_zone_copy_page for a run. */
extern bool sware_run_copy_page(const SwareSortedZone *zone, uint32 number,
								SwareLink *page);

/* sware_sorted_zone_retire for a run. */
extern bool sware_run_retire(SwareSortedZone *zone, uint32 pages);

/* The entry of a window that has this number in the run. */
static inline IndexTuple
sware_run_window_entry(SwareRunWindow *window, uint32 number)
{
	Assert(number - window->first < window->count);
	return (IndexTuple) (window->copy.bytes +
						 window->offsets[number - window->first]);
}

#endif							/* SWARE_RUNZONE_H */
