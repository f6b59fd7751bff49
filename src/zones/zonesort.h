/*-------------------------------------------------------------------------
 *
 * zonesort.h
 *	  When readers sort pages, and which, so that all backends profit.  Only
 *	  the files of this room include this.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ZONESORT_H
#define SWARE_ZONESORT_H

#include "zones/zonetable.h"

/*
 * Count that the unsorted pages of a view are about to be read.  Returns true
 * once in 32 calls: then the caller checks whether they should be sorted.
 */
extern bool sware_zones_count_reads(const SwareZoneView *view);

/* May some backend build a sorted zone of an index now? */
extern bool sware_zones_build_is_possible(SwareIndexZones *zones);

/*
 * Build a sorted zone, if a view has too many unsorted pages, or a sorted zone
 * with too many retired ones, and no other backend does.  Returns whether the
 * listing of the index has changed.  Reads pages, and calls comparators and
 * hash functions, which may raise errors; the caller holds no locks.
 */
extern bool sware_zones_sort_if_crowded(SwareZoneView *view);

#endif							/* SWARE_ZONESORT_H */
