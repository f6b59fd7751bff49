/*-------------------------------------------------------------------------
 *
 * zones.h
 *	  What shared memory knows about the pages of buffers, so that scans need
 *	  not read them all: zonemaps and sorted zones.
 *
 * The pages alone are authoritative: the first backend that needs zones makes
 * them of the pages, on a standby too.  The zones of an index belong to one
 * version of its directory.  A reader that finds another one in the metapage
 * (index incarnation, directory version or LSN) brings them up to date.  Only
 * sealed pages, which take no more entries, have zones.
 *
 *	 sealed pages, in the order of sealing
 *	 +-----------------------+-----------------------+---+---+---+   +------+
 *	 | sorted zone           | sorted zone           | p | p | p |   | open |
 *	 +-----------------------+-----------------------+---+---+---+   +------+
 *	  entries of several pages, in order,			  unsorted		  tails
 *	  with a Bloom filter							  pages, with
 *													  zonemaps
 *
 * Sorted zones of the parts of a page run (layout/page.h), which is in order,
 * have no copies of its entries (sortedzone.h).  Others are the query-sorted
 * blocks of the SWARE paper ("Indexing for Near-Sorted Data"): a reader that
 * finds too many unsorted pages makes a sorted zone of them, which all backends
 * use.  Older ones that are not much larger are merged into it, so there are
 * few, and a search, which has to look into each, stays cheap.
 *
 * Unsorted pages retire oldest first, and those of a page run from its first
 * one on.  The sorted zone of a page run stays when some of its pages have
 * retired; readers skip their entries.  One with copies goes with the first of
 * its pages, and its others are unsorted again.
 *
 * On a standby, a database can be dropped, and another one be made whose files
 * have the same numbers and, if both come from one template, the same index
 * incarnation.  Shared memory is not told of that.  So a reader checks the seal
 * of the newest known page that is still listed, a random number that no other
 * page has.  If it is unchanged, everything older belongs to this database, or
 * is the same there, but for marks of dead entries; so sorted zones that are
 * made in recovery have none.
 * (The page's LSN would not do: with checksums, marks change it.)
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ZONES_H
#define SWARE_ZONES_H

#include "storage/itemptr.h"
#include "utils/rel.h"

#include "zones/sortedzone.h"

/* A sealed page that is in no sorted zone. */
typedef struct SwareUnsortedPage
{
	SwareLink	page;
	uint32		sequence;		/* order of sealing; compare by difference */
	bool		isKnown;		/* has the page been read for what follows? */
	int64		smallest;		/* the zonemap: the smallest and the largest */
	int64		largest;		/* abbreviation of the first column, or as far
								 * as numbers go */
	uint64		seal;			/* of the page */
} SwareUnsortedPage;

/*
 * All sealed pages of a buffer at one version of its directory: each is in one
 * of the sorted zones, or among the unsorted pages.  Both are in the order of
 * sealing.
 */
typedef struct SwareZoneView
{
	Relation	index;
	MemoryContext context;		/* of the arrays; lives as long as the view */
	SwareBufferState state;		/* the state that the view was made for */
	int			sortedCount;
	SwareSortedZone *sorted;
	int			pageCount;
	SwareUnsortedPage *pages;
	int			sortedAllocated;
	int			pagesAllocated;

	int			chunksGranted;	/* for zones, at least (zonetable.h) */
	int			chunksWanted;	/* for zones of all these pages */

	/* for the files of this room only */
	bool		isComplete;		/* good as long as the state is the same */
	struct SwareIndexZones *zones;	/* what was copied; NULL: nothing was */
	uint64		stamp;			/* its stamp when it was copied */
	bool		isCrowded;		/* too many pages are unsorted, or a page run
								 * has an outline only */
	uint32		refreshes;		/* how often it was refreshed */
	bool		mayBuild;		/* may it build a zone this time? */
} SwareZoneView;

/* Is there a pool?  If the library was not preloaded, views only list pages. */
extern bool sware_zones_are_available(void);

/* The pool and the table of zones: see base/sharedmemory.h. */
extern void sware_share_zones(void);

/* the most pages of a buffer of which each scan has to read all */
#define SWARE_PAGES_WITHOUT_ZONES	4

/*
 * Tell that the buffer of an index has, or is about to have, this number of
 * sealed pages, and that this number of them are those of page runs
 * (SWARE_SAME_RUN_PAGES: as many as was told last).  Returns how many sealed
 * pages it may have, with so many of page runs: as many as shared memory can
 * have zones for, beside the zones of other indexes that are in use; without a
 * pool, SWARE_PAGES_WITHOUT_ZONES.  Takes lightweight locks for a moment; the
 * caller holds none of this room's.
 */
extern int	sware_zones_request_pages(Relation index, int pages, int run_pages);

#define SWARE_SAME_RUN_PAGES	(-1)

/*
 * How many sealed pages may an index have that is in the table, if all are
 * those of page runs?  Locks as above.
 */
extern int	sware_zones_most_run_pages(Relation index);

/* The sweep that an index's flushers are making (buffer/buffersteps.h). */
typedef struct SwareSweepState
{
	bool		hasPlace;		/* is there one, before its end? */
	uint32		end;			/* the sequence number of its last page */
	uint32		place;			/* the sequence number of the page with whose
								 * first entry it goes on */
	uint64		seal;			/* of that page, which no other one has */
	double		pagesOfLeaf;	/* how many pages of entries came to a leaf in
								 * the last piece; 0: not known */
} SwareSweepState;

/*
 * Read the sweep of an index, or set it.  It is lost when the index's zones
 * are, and if there is no pool; sware_zones_sweep returns whether the index has
 * zones, which keep what is set.  The caller has the flush lock.  Take a
 * lightweight lock, shared, for a moment; the caller holds none of this room's.
 */
extern bool sware_zones_sweep(Relation index, SwareSweepState *sweep);
extern void sware_zones_set_sweep(Relation index, const SwareSweepState *sweep);

/* Initialise a view, which knows nothing yet. */
extern void sware_zone_view_init(SwareZoneView *view, Relation index,
								 MemoryContext context);

/*
 * Make a view show the pages that were sealed in a state.  Returns false if the
 * directory has changed since; the caller then reads the state again.  Without
 * the pool all pages are unsorted and have no zonemaps.  May read pages, and
 * call comparators and hash functions, which may raise errors.  The caller
 * holds no lightweight or content locks, before and afterwards.
 */
extern bool sware_zone_view_refresh(SwareZoneView *view,
									const SwareBufferState *state);

/*
 * Mark those entries that were read from sorted zones that have copies of them,
 * and set the pages of all that were read from sorted zones of the view: no
 * link if the zone is gone.  Takes a lightweight lock for a moment; the caller
 * holds none of this room's.
 */
extern void sware_zones_mark_entries(const SwareZoneView *view,
									 SwareDeadEntry *entries, int count);

/*
 * Forget what is known of the indexes of a database that has been dropped.
 * Takes all locks of the table, exclusively.
 */
extern void sware_zones_forget_database(Oid database);

/*
 * For tests: the pool's chunks, the free ones, and those that zones use.  While
 * nothing is built, and no keys are registered, the latter two add up to all.
 */
extern void sware_zones_count_chunks(int *all, int *unused, int *used);

#endif							/* SWARE_ZONES_H */
