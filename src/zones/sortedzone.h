/*-------------------------------------------------------------------------
 *
 * sortedzone.h
 *	  Sorted zones: what shared memory has of several buffer pages whose
 *	  entries are in order.  zones.h says what they are for.
 *
 * A sorted zone of pages that are not sorted has copies of their entries.  It
 * is in one allocation of the pool:
 *
 *	 +-------+--------+--------+---------+---------+--------------------+
 *	 | links | fences | filter | origins | offsets | tuples             |
 *	 +-------+--------+--------+---------+---------+--------------------+
 *
 *	 links:	   of the buffer pages, in the order of sealing
 *	 fences:   the abbreviation of every 64th entry, beginning with the first;
 *			   a search looks at them first, and so touches little memory
 *	 filter:   a Bloom filter of the first column's values, in lines of 64
 *			   bytes; all bits of a value are in one line
 *	 origins:  for each entry, the number of its page among the links
 *	 offsets:  where each tuple begins, and where the last one ends; only if
 *			   the tuples are of different sizes
 *	 tuples:   the entries as on their pages, marked ones with their marks
 *
 * Such a zone does not change, but for marks (layout/tuple.h), which are set in
 * place.  It never leaves marked entries out: not every scan may skip them.
 *
 * The entries of sorted pages are in order where they are, from the first page
 * of a page run to the last.  The sorted zone of a page run has none of them,
 * and so takes a fifteenth of the memory:
 *
 *	 +-------+--------+--------+--------+---------+---------+
 *	 | links | fences | filter | starts | offsets | anchors |
 *	 +-------+--------+--------+--------+---------+---------+
 *
 *	 starts:   the number of each page's first entry, and behind them that of
 *			   all entries
 *	 offsets:  where on its page each entry begins that has a fence; only if
 *			   the entries are of different sizes
 *	 anchors:  a copy of each page's first entry, behind a list of where each
 *			   begins, and where the last one ends; none if they are large
 *
 * The pages of a page run that are in no zone yet get an *outline*, a zone that
 * has only what the directory tells: links and starts; and the smallest and
 * largest abbreviation.  So the first reader after a restart need not read
 * them all.  Zones that readers build then take pages away from it
 * (zonesort.c).
 *
 * Readers copy what they look at from the pages, in windows of some entries, or
 * of whole pages if there is an outline only.  Marks are on the pages only.
 * The pages retire from the first one on, so that all entries before a certain
 * number are those of retired pages; these are not read any more.
 *
 * A function that finds that a sorted zone "is gone" has noticed that its
 * memory was freed, or that a page of its page run is another one: the caller
 * then refreshes its view.  The functions take no locks, but those that read
 * the pages of a page run lock one page at a time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SORTEDZONE_H
#define SWARE_SORTEDZONE_H

#include "access/itup.h"
#include "utils/rel.h"

#include "keys/searchkey.h"
#include "layout/page.h"
#include "pages/bufferpages.h"
#include "shared/pool.h"

/* the most pages of one sorted zone; their entries fit into an allocation */
#define SWARE_MAX_ZONE_PAGES	1024

/* each fence is the key of the first of this number of entries */
#define SWARE_FENCE_DISTANCE	64

/* The description of a sorted zone: what it has, and where that is. */
typedef struct SwareSortedZone
{
	SwareAllocation allocation; /* its bytes */
	bool		isOfRun;		/* is it that of a page run? */
	bool		isOutline;		/* ... of which little has been read? */
	uint64		stamp;			/* of the allocation, as long as it is this
								 * zone's */

	/* the pages, which are neighbours in the order of sealing */
	uint32		pages;
	uint32		retiredPages;	/* of a run: how many of the first pages have
								 * retired, or, of an outline, have got
								 * another zone */
	uint32		firstSequence;	/* sequence number of the first other page */
	uint32		lastSequence;	/* and of the last page */
	uint64		lastSeal;		/* seal of the last page */

	uint32		entries;
	uint32		firstEntry;		/* of a run: those before it are of retired
								 * pages */
	uint16		entrySize;		/* in bytes; 0: they differ */
	uint16		largestEntry;	/* in bytes */
	int64		smallest;		/* abbreviation of the first entry, retired or
								 * not; of a run, that of the first entry of
								 * pages that have not retired, or less; of an
								 * outline, not above that entry's */
	int64		largest;		/* and of the last */

	/* the filter and the fences */
	uint16		filterProbes;	/* bits that are set for a value */
	uint32		filterLines;	/* 0: there is no Bloom filter */
	Oid			hashFunction;	/* that the filter was made with */
	uint32		fences;			/* 0: the first column has no abbreviations */

	/* where the parts begin, in bytes from the start of the allocation */
	uint32		fencesStart;
	uint32		filterStart;
	uint32		originsStart;	/* not of a page run */
	uint32		startsStart;	/* of a run */
	uint32		offsetsStart;
	uint32		tuplesStart;	/* of a run: of its anchors */
	uint32		anchorsStart;	/* of a run; 0: there are no anchors */
} SwareSortedZone;

/* How many pages of a zone have not retired? */
static inline int
sware_live_pages(const SwareSortedZone *zone)
{
	return zone->pages - zone->retiredPages;
}

/*
 * Copies of some entries of a sorted zone, or of a staged run, that follow each
 * other, with their marks.  A reader has one for one look, so that entries that
 * are read one after another are copied together.
 */
typedef struct SwareWindow
{
	uint32		first;			/* number of the first entry */
	uint32		count;			/* of entries; 0: there are none yet */
	SwareLink	strange;		/* a page that was another one; or no link */

	/* where each begins among the bytes */
	uint16		offsets[BLCKSZ / sizeof(IndexTupleData)];
	union
	{
		/* functions may read a little behind an entry, see bufferbatch.c */
		char		bytes[BLCKSZ + NAMEDATALEN];
		double		forAlignment;
	}			copy;
} SwareWindow;

static inline void
sware_window_init(SwareWindow *window)
{
	window->first = window->count = 0;
	window->strange.block = InvalidBlockNumber;
}

/* Does a window have the entry with this number? */
static inline bool
sware_window_has(const SwareWindow *window, uint32 number)
{
	return number - window->first < window->count;
}

static inline IndexTuple
sware_window_entry(SwareWindow *window, uint32 number)
{
	Assert(sware_window_has(window, number));
	return (IndexTuple) (window->copy.bytes +
						 window->offsets[number - window->first]);
}

/* Copy bytes of a sorted zone.  Returns false if the zone is gone. */
static inline bool
sware_sorted_zone_read(const SwareSortedZone *zone, Size offset, void *into,
					   Size length)
{
	return sware_pool_read(&zone->allocation, offset, into, length) &&
		sware_pool_has_stamp(&zone->allocation, zone->stamp);
}

/* A sorted zone in private memory, before it is copied to the pool. */
typedef struct SwareZoneImage
{
	SwareSortedZone zone;		/* allocation, stamp and sequence numbers are
								 * not set yet */
	Size		length;			/* in bytes */
	char	   *bytes;			/* what goes into the allocation */
} SwareZoneImage;

/* Images of new outlines, in the order of sealing. */
typedef struct SwareOutlines
{
	SwareZoneImage *images;
	int			count;
	int			allocated;
} SwareOutlines;

/* zonebuilder.c */
extern bool sware_sorted_zone_build(Relation index, const SwareLink *links,
									SwareZoneImage *image);
extern void sware_outlines_make(Relation index, const SwareListedPage *listed,
								int count, bool *is_sorted,
								SwareOutlines *outlines);
extern bool sware_sorted_zone_store(SwareSortedZone *zone,
									const SwareZoneImage *image);

/* sortedzone.c */
extern bool sware_sorted_zone_mark(const SwareSortedZone *zone, uint32 number,
								   SwareLink *page);

/*
 * Returns the number of the first entry of a sorted zone that is at or behind a
 * place: zone->entries if there is none, -1 if the zone is gone.  Of a run, it
 * is the first of pages that have not retired.  Calls comparators, which may
 * raise errors.  May lock a page for a moment.
 */
extern int64 sware_sorted_zone_search(Relation index,
									  const SwareSortedZone *zone,
									  const SwareSearchKey *place,
									  SwareWindow *window);

/*
 * Set *page to the buffer page that an entry of a sorted zone is on.  Returns
 * false if the zone is gone.
 */
extern bool sware_sorted_zone_copy_page(const SwareSortedZone *zone,
										uint32 number, SwareLink *page);

/*
 * Let so many of a page run's first pages count as retired.  Returns false if
 * no entries are left then, or the zone is gone.
 */
extern bool sware_run_retire(SwareSortedZone *zone, uint32 pages);

/*
 * Guess which page of a page run has the entries with an abbreviation or, if
 * that is below or above all of its entries, the nearest one, and copy the link
 * to it.  Returns false if the zone is gone.  The zone has abbreviations; no
 * page is read.
 */
extern bool sware_run_guess_link(const SwareSortedZone *zone, int64 value,
								 SwareLink *link);

/*
 * Get entries of a sorted zone into a window: from `first` to `end` - 1, which
 * fit into it, but of a page run only those on one page, that of the first one
 * or, if not `forward`, of the last one; and perhaps some around them.  Returns
 * false if the zone is gone.  May lock a page for a moment.
 */
extern bool sware_sorted_zone_get(Relation index, const SwareSortedZone *zone,
								  uint32 first, uint32 end, bool forward,
								  SwareWindow *window);

/*
 * Hash a value of the first column's own type, which is not null, for the
 * filters of an index's sorted zones.  Returns false if the column has no hash
 * function that goes with the index's equality.  Calls the hash function, which
 * may raise an error.
 */
extern bool sware_bloom_hash(Relation index, Datum value, uint64 *hash);

/*
 * Does a sorted zone have a filter that was made with the same hash function?
 */
static inline bool
sware_sorted_zone_has_filter(const SwareSortedZone *zone, uint64 hash)
{
	return zone->filterLines > 0 && zone->hashFunction == (Oid) (hash >> 32);
}

/*
 * Does such a filter tell that the zone has no entry with that hash?  It tells
 * nothing if the zone is gone.
 */
extern bool sware_sorted_zone_lacks(const SwareSortedZone *zone, uint64 hash);

#endif							/* SWARE_SORTEDZONE_H */
