/*-------------------------------------------------------------------------
 *
 * zonesort.c
 *	  When readers sort pages, and which.
 *
 * Unsorted pages that are neighbours in the order of sealing, and those of
 * sorted zones before them, become one new sorted zone.  So do the first pages
 * of an outline, which keeps the others.  The backend builds the zone without
 * locks, which may take a while.  Then it takes the index's current listing,
 * and puts the new zone in the place of what it was made of, if all of that is
 * still there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "base/memory.h"
#include "base/options.h"
#include "pages/pageaccess.h"
#include "shared/statistics.h"
#include "zones/zonetable.h"

/* a zone has this part of the quota's pages at most, within these limits */
#define ZONES_PER_QUOTA			2
#define MIN_ZONE_PAGES			16
#define MAX_ZONE_PAGES			32

/* that of a page run has this number of pages, or this part of all */
#define RUN_PAGES_AT_ONCE		64
#define MOST_RUN_ZONES			256

/* a zone is merged with newer pages if it has at most so many times as many */
#define MERGED_SIZE				2

/* more unsorted pages are sorted, even if sort_threshold allows more */
#define MAX_UNSORTED_PAGES		16

/* attempts to publish a new zone, while other backends publish theirs */
#define MAX_ATTEMPTS			3

/*
 * For this time, in microseconds, no other backend builds a sorted zone of the
 * same index.  If the builder fails, or takes longer, another one begins then.
 */
#define BUILD_LEASE				(5 * USECS_PER_SEC)

/* when the pool has no room, no backend builds a zone for this time */
#define NO_ROOM_PAUSE			USECS_PER_SEC

/*
 * What a new sorted zone is made of: sorted zones of a view, and unsorted pages
 * behind them.
 */
typedef struct Parts
{
	int			firstSorted;
	int			sortedCount;
	int			firstPage;
	int			pageCount;
	int			pages;			/* all that have not retired */
	bool		areOfOutline;	/* are they the first ones of an outline,
								 * which is the only sorted zone then? */
} Parts;

/*
 * How many pages may a new sorted zone have?  One statement reads and sorts
 * them all.
 */
static int
zone_limit(const SwareZoneView *view)
{
	int			quota = Min(sware_index_buffer_size(view->index) / BLCKSZ,
							(Size) view->chunksGranted);
	int			limit = Max(quota, view->state.sealedPages) / ZONES_PER_QUOTA;

	limit = Min(Max(limit, MIN_ZONE_PAGES), MAX_ZONE_PAGES);

	/* it must leave room in the pool for others, and for its successor */
	return Min(limit, Max(1, (int) sware_pool_chunk_count / 8));
}

/*
 * For how many pages of page runs does the index have a grant left?  Outlines,
 * which take little, do not count.
 */
static int64
run_pages_left(const SwareZoneView *view)
{
	int64		left = (int64) view->chunksGranted * SWARE_RUN_PAGES_PER_CHUNK;

	for (int i = 0; i < view->sortedCount; i++)
	{
		const SwareSortedZone *zone = &view->sorted[i];

		if (!zone->isOutline)
			left -= sware_live_pages(zone) *
				(zone->isOfRun ? 1 : SWARE_RUN_PAGES_PER_CHUNK);
	}
	return left;
}

/* Find the longest list of unsorted pages with no sorted zone between them. */
static void
find_list(const SwareZoneView *view, Parts *parts)
{
	int			zone = 0;
	int			start = 0;

	memset(parts, 0, sizeof(Parts));
	for (int i = 0; i < view->pageCount; i++)
	{
		const SwareUnsortedPage *page = &view->pages[i];
		int			before = zone;

		while (zone < view->sortedCount &&
			   (int32) (view->sorted[zone].firstSequence - page->sequence) < 0)
			zone++;
		if (zone != before)
			start = i;
		if (i + 1 - start > parts->pageCount)
		{
			parts->firstSorted = zone;
			parts->firstPage = start;
			parts->pageCount = i + 1 - start;
		}
	}
}

/*
 * Select what could be sorted, and return whether there is anything: a list of
 * unsorted pages, and sorted zones before them as long as each is at most
 * MERGED_SIZE times as large as what it is merged with.  So an entry is merged
 * a few times only, and the number of sorted zones grows with the logarithm of
 * the number of pages.  No more is selected than the index has a grant for.
 */
static bool
select_list(const SwareZoneView *view, Parts *parts)
{
	int			limit = zone_limit(view);

	find_list(view, parts);
	parts->pageCount = Min(parts->pageCount, limit);
	parts->pageCount = Min(parts->pageCount, run_pages_left(view) /
						   SWARE_RUN_PAGES_PER_CHUNK);
	parts->pages = parts->pageCount;
	while (parts->pageCount > 0 && parts->firstSorted > 0)
	{
		const SwareSortedZone *zone = &view->sorted[parts->firstSorted - 1];
		int			pages = sware_live_pages(zone);

		if (zone->isOfRun || pages > MERGED_SIZE * parts->pages ||
			pages + parts->pages > limit ||
			(parts->firstPage > 0 &&
			 (int32) (view->pages[parts->firstPage - 1].sequence -
					  zone->firstSequence) > 0))
			break;
		parts->firstSorted--;
		parts->sortedCount++;
		parts->pages += pages;
	}
	return parts->pageCount > 0;
}

/*
 * Select the first pages of the first outline, if there is one: they get a
 * zone, unless the index has no grant for that.
 */
static bool
select_outline(const SwareZoneView *view, Parts *parts)
{
	int			most = Max(RUN_PAGES_AT_ONCE,
						   view->state.sealedPages / MOST_RUN_ZONES);

	for (int i = 0; i < view->sortedCount; i++)
	{
		const SwareSortedZone *zone = &view->sorted[i];

		if (!zone->isOutline)
			continue;
		memset(parts, 0, sizeof(Parts));
		parts->firstSorted = i;
		parts->sortedCount = 1;
		parts->areOfOutline = true;
		parts->pages = Min(sware_live_pages(zone),
						   Min(most, SWARE_MAX_ZONE_PAGES));
		return parts->pages <= run_pages_left(view);
	}
	return false;
}

/*
 * Should some pages be sorted, since there are too many of them, or is there an
 * outline?  Then this is selected: unsorted pages, each of which look-ups read,
 * first.
 */
static bool
is_crowded(const SwareZoneView *view, Parts *parts)
{
	int			threshold = sware_options_of(view->index)->sortThreshold;
	int64		allowed = (int64) view->state.sealedPages * threshold / 100;

	allowed = Max(1, Min(allowed, MAX_UNSORTED_PAGES));
	if (threshold < 100 && view->pageCount > allowed &&
		select_list(view, parts))
		return true;
	return select_outline(view, parts);
}

bool
sware_zones_build_is_possible(SwareIndexZones *zones)
{
	return (uint64) GetCurrentTimestamp() >=
		pg_atomic_read_u64(&zones->nextBuild);
}

/* The same; and if so, no other backend may for BUILD_LEASE. */
static bool
lease_build(SwareIndexZones *zones)
{
	uint64		next = pg_atomic_read_u64(&zones->nextBuild);
	uint64		now = GetCurrentTimestamp();

	return now >= next &&
		pg_atomic_compare_exchange_u64(&zones->nextBuild, &next,
									   now + BUILD_LEASE);
}

/*
 * Let an outline lose its first pages, after `before` others: a new zone has
 * them.  Returns false if all of them have retired meanwhile, or it is gone.
 */
static bool
cut_outline(SwareSortedZone *outline, uint32 before,
			const SwareSortedZone *zone)
{
	uint32		lost = before + zone->pages;

	if (outline->retiredPages >= lost ||
		!sware_run_retire(outline, lost))
		return false;
	outline->firstSequence = zone->lastSequence + 1;
	outline->smallest = zone->largest;
	return true;
}

/*
 * In a newer view, put a new zone in the place of what it was made of.  Returns
 * false if that is not all there.  Only an outline may have got more retired
 * pages meanwhile: these are marked in the new zone, which has their entries.
 * The newer view has room for one more zone.
 */
static bool
replace_parts(SwareZoneView *now, const SwareZoneView *view, const Parts *parts,
			  SwareSortedZone *zone)
{
	const SwareUnsortedPage *pages = &view->pages[parts->firstPage];
	const SwareSortedZone *merged = &view->sorted[parts->firstSorted];
	int			replaced = parts->sortedCount;
	int			page = 0;
	int			place = 0;

	while (parts->pageCount > 0 && page < now->pageCount &&
		   (int32) (now->pages[page].sequence - pages->sequence) < 0)
		page++;
	while (place < now->sortedCount &&
		   (int32) (now->sorted[place].lastSequence - zone->firstSequence) < 0)
		place++;
	if (page + parts->pageCount > now->pageCount ||
		place + replaced > now->sortedCount)
		return false;
	for (int i = 0; i < parts->pageCount; i++)
	{
		if (!sware_links_equal(now->pages[page + i].page, pages[i].page))
			return false;
	}
	for (int i = 0; i < replaced; i++)
	{
		if (now->sorted[place + i].stamp != merged[i].stamp)
			return false;
	}
	if (replaced > 0)
	{
		zone->retiredPages =
			now->sorted[place].retiredPages - merged->retiredPages;
		zone->firstSequence = now->sorted[place].firstSequence;
	}
	if (zone->isOfRun && zone->retiredPages > 0 &&
		!sware_run_retire(zone, zone->retiredPages))
		return false;
	if (parts->areOfOutline &&
		parts->pages < sware_live_pages(merged))
	{
		if (!cut_outline(&now->sorted[place], merged->retiredPages, zone))
			return false;
		replaced = 0;
	}
	memmove(&now->sorted[place + 1], &now->sorted[place + replaced],
			(now->sortedCount - place - replaced) * sizeof(SwareSortedZone));
	now->sorted[place] = *zone;
	now->sortedCount += 1 - replaced;
	if (parts->pageCount > 0)
		memmove(&now->pages[page], &now->pages[page + parts->pageCount],
				(now->pageCount - page - parts->pageCount) *
				sizeof(SwareUnsortedPage));
	now->pageCount -= parts->pageCount;
	return true;
}

/*
 * Store a new zone in the pool, and publish the index's current listing with it
 * in the place of what it was made of.  The result is SWARE_ZONES_CHANGED if
 * that is no longer there.
 */
static SwarePublishResult
publish_zone(const SwareZoneView *view, const Parts *parts,
			 SwareZoneImage *image)
{
	SwareZoneView now;
	SwarePublishResult result = SWARE_ZONES_CHANGED;

	sware_zone_view_init(&now, view->index, CurrentMemoryContext);
	for (int i = 0; i < MAX_ATTEMPTS && result == SWARE_ZONES_CHANGED; i++)
	{
		SwareSortedZone zone = image->zone;

		if (!sware_zones_copy(&now, NULL) ||
			now.state.indexIncarnation != view->state.indexIncarnation)
			break;
		sware_zone_view_reserve(&now, now.sortedCount + 1, 0);

		/* until it is published, nothing here can fail or be interrupted */
		if (!sware_sorted_zone_store(&zone, image))
			return SWARE_ZONES_NO_ROOM;
		if (!replace_parts(&now, view, parts, &zone))
		{
			sware_pool_free(&zone.allocation);
			break;
		}
		result = sware_zones_publish(&now, &now.state);
		if (result != SWARE_ZONES_PUBLISHED)
			sware_pool_free(&zone.allocation);
	}
	return result;
}

/* Build the sorted zone of what was selected.  Sets its sequence numbers. */
static bool
build(const SwareZoneView *view, const Parts *parts, SwareZoneImage *image)
{
	const SwareSortedZone *sorted = view->sorted + parts->firstSorted;
	const SwareUnsortedPage *pages = view->pages + parts->firstPage;
	SwareSortedZone *zone = &image->zone;
	SwareLink	links[SWARE_MAX_ZONE_PAGES];
	int			count = 0;

	memset(image, 0, sizeof(SwareZoneImage));
	zone->isOfRun = parts->areOfOutline;
	zone->pages = parts->pages;
	zone->firstSequence = parts->sortedCount > 0 ? sorted->firstSequence :
		pages->sequence;
	for (int i = 0; i < parts->sortedCount; i++)
	{
		int			live = Min(sware_live_pages(&sorted[i]), parts->pages);

		if (!sware_sorted_zone_read(&sorted[i], sorted[i].retiredPages *
									sizeof(SwareLink), links + count,
									live * sizeof(SwareLink)))
			return false;
		count += live;
		zone->lastSequence = sorted[i].lastSequence;
	}
	for (int i = 0; i < parts->pageCount; i++)
	{
		links[count++] = pages[i].page;
		zone->lastSequence = pages[i].sequence;
	}
	if (parts->areOfOutline)
		zone->lastSequence = zone->firstSequence + parts->pages - 1;
	Assert(count == parts->pages);
	return sware_sorted_zone_build(view->index, links, image);
}

/*
 * Build a new sorted zone of what was selected, and publish it.  The result is
 * SWARE_ZONES_CHANGED if that has gone.  Locks pages, one at a time;
 * comparators and hash functions are called without locks.
 */
static SwarePublishResult
sort_parts(const SwareZoneView *view, const Parts *parts)
{
	MemoryContext caller = sware_enter_context("sware sorted zone");
	SwareZoneImage image;
	SwarePublishResult result = SWARE_ZONES_CHANGED;

	if (build(view, parts, &image))
	{
		result = publish_zone(view, parts, &image);
		sware_count(view->index, SWARE_STAT_ZONE_PAGES, parts->pages);
		sware_count(view->index, SWARE_STAT_ZONE_ENTRIES, image.zone.entries);
	}
	sware_leave_context(caller);
	return result;
}

bool
sware_zones_sort_if_crowded(SwareZoneView *view)
{
	SwareIndexZones *zones = view->zones;
	Parts		parts;
	SwareWork	work;
	SwarePublishResult result;

	view->isCrowded = is_crowded(view, &parts);
	if (!view->isCrowded || !view->mayBuild || !lease_build(zones))
		return false;
	sware_work_begin(&work, view->index, SWARE_READER);
	result = sort_parts(view, &parts);
	pg_atomic_write_u64(&zones->nextBuild, result == SWARE_ZONES_NO_ROOM ?
						GetCurrentTimestamp() + NO_ROOM_PAUSE : 0);
	(void) sware_work_end(&work, SWARE_ZONE_WORK);
	return result == SWARE_ZONES_PUBLISHED;
}
