/*-------------------------------------------------------------------------
 *
 * zonetable.h
 *	  The table of zones in shared memory, which has one element for each
 *	  index with zones, and when readers sort pages for it.  Only the files of
 *	  this room include this.
 *
 * The descriptions of an index's sorted zones, and behind them its unsorted
 * pages, are its *listing*, in an allocation of the pool.  A listing never
 * changes: a new one takes its place.
 *
 * Each index has a *grant*, the number of chunks that its zones may take; all
 * grants add up to no more than the pool has.  A page counts as one chunk.  In
 * a sorted zone it takes about two thirds of one, which leaves room for the
 * copies that merging makes.  Ten pages of page runs count as one chunk, of
 * which they take about half.  A backend that adds to a buffer, or reads it,
 * tells how many pages the buffer has, and learns how many it may have:
 *
 *	 - An index gets free chunks until it has its fair share, which is the pool
 *	   divided by the number of indexes in the table.
 *	 - An index that has more than its fair share leaves an eighth of the pool
 *	   free, where other indexes find room.  While these grow up to their fair
 *	   share, it shrinks.
 *	 - If there is no room, indexes that were not used for 10 seconds lose their
 *	   zones, the one that was used longest ago first.  No others do.
 *
 * An index that is not in the table may have SWARE_PAGES_WITHOUT_ZONES.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ZONETABLE_H
#define SWARE_ZONETABLE_H

#include "port/atomics.h"
#include "storage/lwlock.h"

#include "base/compat.h"
#include "zones/zones.h"

/* What the table says of an index. */
typedef struct SwareIndexZones
{
	SwareFile	file;			/* hash key */

	/*
	 * These are read and set without a lock.  A backend that does so may mean
	 * another index, which was here before.
	 */
	pg_atomic_uint64 stamp;		/* new with each listing; 0: there is none */
	pg_atomic_uint64 lastUse;	/* when it was used last */
	pg_atomic_uint64 nextBuild; /* no sorted zone is built before this time */

	/* set with the partition's lock held, at least shared */
	pg_atomic_uint32 granted;	/* chunks */
	pg_atomic_uint32 runPages;	/* sealed pages that are those of page runs,
								 * as was told last */

	/* the same, by the session alone that has the index's flush lock */
	SwareSweepState sweep;

	/* guarded by the partition's lock */
	uint64		indexIncarnation;	/* what the listing was made for: ... */
	uint64		version;		/* ... version of the directory, */
	XLogRecPtr	lsn;			/* ... LSN of the metapage */
	int			sortedCount;
	int			pageCount;
	SwareAllocation listing;	/* SwareSortedZone[], SwareUnsortedPage[] */
} SwareIndexZones;

/* this number of pages of page runs counts as one chunk */
#define SWARE_RUN_PAGES_PER_CHUNK	10

/* How many chunks do the zones of pages count as? */
static inline int
sware_zone_chunks(int pages, int run_pages)
{
	return pages - run_pages +
		(run_pages + SWARE_RUN_PAGES_PER_CHUNK - 1) / SWARE_RUN_PAGES_PER_CHUNK;
}

/* What became of a view that was to be published. */
typedef enum SwarePublishResult
{
	SWARE_ZONES_PUBLISHED,
	SWARE_ZONES_CHANGED,		/* another backend has published meanwhile */
	SWARE_ZONES_NO_ROOM
} SwarePublishResult;

/* Do two structs speak of the same version of the same index's directory? */
#define sware_is_of_state(thing, state) \
	((thing)->indexIncarnation == (state)->indexIncarnation && \
	 (thing)->version == (state)->version && (thing)->lsn == (state)->lsn)

extern bool sware_zones_copy(SwareZoneView *view,
							 const SwareBufferState *state);
extern SwarePublishResult sware_zones_publish(SwareZoneView *view,
											  const SwareBufferState *state);
extern int	sware_zones_ask(Relation index, int pages, int *run_pages);
extern bool sware_zones_allocate(Size length, SwareAllocation *allocation);
extern void sware_zones_mark_used(SwareIndexZones *zones);
extern void sware_zone_view_reserve(SwareZoneView *view, int sorted, int pages);

/* Are the zones that a view was copied from still the same? */
static inline bool
sware_zones_are_same(const SwareZoneView *view)
{
	return pg_atomic_read_u64(&view->zones->stamp) == view->stamp;
}

/* zonebuilder.c */
extern bool sware_examine_page(Relation index, SwareUnsortedPage *page,
							   uint32 *behind);

/* zonesort.c: when readers sort pages for all backends, and which */

/* May some backend build a sorted zone of an index now? */
extern bool sware_zones_build_is_possible(SwareIndexZones *zones);

/*
 * Build a sorted zone, if a view has too many unsorted pages, or an outline,
 * and no other backend does.  Returns whether the listing of the index has
 * changed.  Reads pages, and calls comparators and hash functions, which may
 * raise errors; the caller holds no locks.
 */
extern bool sware_zones_sort_if_crowded(SwareZoneView *view);

#endif							/* SWARE_ZONETABLE_H */
