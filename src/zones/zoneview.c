/*-------------------------------------------------------------------------
 *
 * zoneview.c
 *	  A reader's view of what shared memory knows about the pages of a buffer.
 *	  See zones.h.
 *
 * A view is a copy of an index's listing (zonetable.c).  A reader that has
 * brought it up to date with the directory publishes it for other backends.  If
 * too many pages are unsorted then, it sorts some of them (zonesort.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/memory.h"
#include "base/options.h"
#include "pages/pageaccess.h"
#include "zones/zonetable.h"

/* attempts to publish a view, while other backends publish theirs */
#define MAX_ATTEMPTS			3

/* a reader that has examined so many pages builds no zone as well */
#define MANY_EXAMINED			32

/*
 * A view, which is refreshed for each batch, builds a zone, or notes that it is
 * in use, once in so many.
 */
#define REFRESHES_PER_BUILD		8

void
sware_zone_view_init(SwareZoneView *view, Relation index, MemoryContext context)
{
	memset(view, 0, sizeof(SwareZoneView));
	view->index = index;
	view->context = context;
}

/* Make room for this number of sorted zones, and of unsorted pages, in all. */
void
sware_zone_view_reserve(SwareZoneView *view, int sorted, int pages)
{
	if (sorted > view->sortedAllocated)
	{
		view->sorted = sware_resize(view->sorted,
									sorted * sizeof(SwareSortedZone),
									view->context);
		view->sortedAllocated = sorted;
	}
	if (pages > view->pagesAllocated)
	{
		view->pages = sware_resize(view->pages,
								   pages * sizeof(SwareUnsortedPage),
								   view->context);
		view->pagesAllocated = pages;
	}
}

/*
 * Does what a view knows of listed pages speak of these, or of those of a
 * dropped database (zones.h)?  The newest one that it knows decides: does it
 * still have its seal?  Locks that page for a moment.
 */
static bool
is_same_history(const SwareZoneView *view)
{
	int			page = view->pageCount - 1;
	SwareLink	link;
	uint64		seal;
	Buffer		buffer;
	bool		result;

	while (page >= 0 && !view->pages[page].isKnown)
		page--;
	if (page >= 0)
	{
		link = view->pages[page].page;
		seal = view->pages[page].seal;
	}
	if (view->sortedCount > 0)
	{
		const SwareSortedZone *zone = &view->sorted[view->sortedCount - 1];

		if (page < 0 || (int32) (zone->lastSequence -
								 view->pages[page].sequence) > 0)
		{
			seal = zone->lastSeal;
			if (!sware_sorted_zone_read(zone,
										(zone->pages - 1) * sizeof(SwareLink),
										&link, sizeof(SwareLink)))
				return false;
		}
	}
	else if (page < 0)
		return true;
	buffer = sware_read_buffer_page(view->index, link, BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buffer))
		return false;
	result = sware_buffer_page_is_sealed(BufferGetPage(buffer)) &&
		SwarePageGetOpaque(BufferGetPage(buffer))->seal == seal;
	sware_release_buffer(buffer);
	return result;
}

/*
 * Keep the sorted zones of a view that still have pages which are listed, and
 * set is_sorted for these pages.  Zones with copies are kept only if they have
 * all their pages.  Those of page runs retire in the order of sealing, so those
 * to keep are the last; if one between them is not listed, or another page is
 * listed there (a page run reserves its sequence numbers before all of it is
 * listed), those before it count as retired here.
 */
static void
keep_listed_zones(SwareZoneView *view, const SwareListedPage *listed, int count,
				  bool *is_sorted)
{
	SwareLink	links[SWARE_MAX_ZONE_PAGES];
	int			end = 0;		/* listed pages up to the end of a zone */
	int			kept = 0;

	for (int i = 0; i < view->sortedCount; i++)
	{
		SwareSortedZone zone = view->sorted[i];
		int			live = 0;

		while (end < count &&
			   (int32) (listed[end].sequence - zone.lastSequence) <= 0)
			end++;
		if (end == 0 || listed[end - 1].sequence != zone.lastSequence ||
			!sware_sorted_zone_read(&zone, 0, links,
									zone.pages * sizeof(SwareLink)))
			continue;
		while (live < Min(sware_live_pages(&zone), end) &&
			   sware_links_equal(links[zone.pages - 1 - live],
								 listed[end - 1 - live].page))
			live++;
		if (live == 0)
			continue;
		if (live < sware_live_pages(&zone) &&
			!(zone.isOfRun && sware_run_retire(&zone, zone.pages - live)))
			continue;
		zone.firstSequence = listed[end - live].sequence;
		memset(is_sorted + end - live, true, live);
		view->sorted[kept++] = zone;
	}
	view->sortedCount = kept;
}

/*
 * Set a view's unsorted pages: those listed pages that are in no sorted zone.
 * What is known of them is kept.
 */
static void
list_unsorted(SwareZoneView *view, const SwareListedPage *listed, int count,
			  const bool *is_sorted)
{
	SwareUnsortedPage *pages;
	int			unsorted = 0;
	int			known = 0;
	int			found = 0;

	for (int i = 0; i < count; i++)
		unsorted += !is_sorted[i];
	pages =
		MemoryContextAllocExtended(CurrentMemoryContext,
								   Max(unsorted, 1) * sizeof(SwareUnsortedPage),
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (int i = 0; i < count; i++)
	{
		SwareUnsortedPage *page = &pages[found];

		if (is_sorted[i])
			continue;
		while (known < view->pageCount &&
			   (int32) (view->pages[known].sequence - listed[i].sequence) < 0)
			known++;
		if (known < view->pageCount &&
			view->pages[known].sequence == listed[i].sequence &&
			sware_links_equal(view->pages[known].page, listed[i].page))
			*page = view->pages[known];
		if (!page->isKnown)
		{
			page->smallest = PG_INT64_MIN;
			page->largest = PG_INT64_MAX;
		}
		page->page = listed[i].page;
		page->sequence = listed[i].sequence;
		found++;
	}
	sware_zone_view_reserve(view, 0, found);
	if (found > 0)
		memcpy(view->pages, pages, found * sizeof(SwareUnsortedPage));
	view->pageCount = found;
	pfree(pages);
}

/*
 * Read those unsorted pages of which nothing is known.  Returns how many.  If
 * one is gone, the scan that reads it finds out.
 */
static int
examine_pages(SwareZoneView *view)
{
	int			examined = 0;

	for (int i = 0; i < view->pageCount; i++)
	{
		if (view->pages[i].isKnown)
			continue;
		(void) sware_examine_page(view->index, &view->pages[i], NULL);
		examined++;
	}
	return examined;
}

/*
 * Let a view show the listed pages, and keep what it knows of them.  Sets
 * is_sorted for pages of its sorted zones.
 */
static void
show_listed(SwareZoneView *view, const SwareListedPage *listed, int count,
			bool *is_sorted)
{
	memset(is_sorted, false, count);
	keep_listed_zones(view, listed, count, is_sorted);
	list_unsorted(view, listed, count, is_sorted);
}

/* How many of the pages of a view are those of page runs? */
static int
count_run_pages(const SwareZoneView *view)
{
	int			count = 0;

	for (int i = 0; i < view->sortedCount; i++)
	{
		if (view->sorted[i].isOfRun)
			count += sware_live_pages(&view->sorted[i]);
	}
	return Min(count, view->state.sealedPages);
}

/*
 * Can a view be reused as it is?  Not if it is of another state or listing, or
 * if pages should be sorted, and may be now.
 */
static bool
is_unchanged(SwareZoneView *view, const SwareBufferState *state)
{
	if (!view->isComplete || !sware_is_of_state(&view->state, state))
		return false;
	if (view->zones == NULL)
		return true;
	if (!sware_zones_are_same(view))
		return false;
	if (!view->mayBuild)
		return true;
	sware_zones_mark_used(view->zones);
	return !view->isCrowded || !sware_zones_build_is_possible(view->zones);
}

/*
 * Note how many chunks the zones of a view's pages want, of which so many are
 * those of page runs, and find out how many they may take, if that has not been
 * enough, or may have changed.
 */
static void
ask_for_chunks(SwareZoneView *view, int run_pages, bool changed)
{
	view->chunksWanted = sware_zone_chunks(view->state.sealedPages, run_pages);
	if (changed || view->chunksGranted < view->chunksWanted)
		view->chunksGranted = sware_zones_ask(view->index,
											  view->state.sealedPages,
											  &run_pages);
}

/*
 * Copy outlines to the pool, and put them among the zones of a view, which are
 * in the order of sealing.  Returns false if the pool has no room for all of
 * them; outlines->count then says how many are there.  The caller must publish
 * the view, or free them, before anything can fail or be interrupted.  Takes
 * locks as sware_zones_allocate does.
 */
static bool
store_outlines(SwareOutlines *outlines, SwareZoneView *view)
{
	sware_zone_view_reserve(view, view->sortedCount + outlines->count, 0);
	for (int i = 0; i < outlines->count; i++)
	{
		SwareSortedZone *zone = &outlines->images[i].zone;
		int			place = view->sortedCount;

		if (!sware_sorted_zone_store(zone, &outlines->images[i]))
		{
			outlines->count = i;
			return false;
		}
		for (; place > 0 && (int32) (view->sorted[place - 1].firstSequence -
									 zone->firstSequence) > 0; place--)
			view->sorted[place] = view->sorted[place - 1];
		view->sorted[place] = *zone;
		view->sortedCount++;
	}
	return true;
}

/*
 * Bring a view that is not current up to date by reading the directory, and
 * publish it, if the index has a place in the table.  If it has none, the view
 * gets no zonemaps and no outlines of page runs.  Returns false if the state is
 * not current any more.  Takes memory from the current context, which the
 * caller soon deletes.  Locks metapage, directory and buffer pages, one at a
 * time.
 */
static bool
update(SwareZoneView *view, const SwareBufferState *state,
	   SwarePublishResult *published)
{
	SwareListedPage *listed;
	int			count =
		sware_buffer_list_pages(view->index, SWARE_SLOT_SEALED, &listed);
	bool	   *is_sorted = palloc(Max(count, 1));
	int			run_pages = 0;
	int			made;
	SwareOutlines outlines;
	SwareBufferState now;

	(void) sware_buffer_read_state(view->index, &now);
	if (!sware_is_of_state(&now, state))
		return false;
	show_listed(view, listed, count, is_sorted);
	if (!is_same_history(view))
	{
		view->sortedCount = view->pageCount = 0;
		show_listed(view, listed, count, is_sorted);
	}

	*published = SWARE_ZONES_NO_ROOM;
	for (int i = 0; i < count; i++)
		run_pages += listed[i].isSorted;
	view->chunksGranted = 0;
	if (sware_zones_are_available())
		ask_for_chunks(view, run_pages, true);
	if (view->chunksGranted == 0)
	{
		view->chunksWanted = state->sealedPages;
		view->isComplete = view->sortedCount == 0;
		return true;
	}
	sware_outlines_make(view->index, listed, count, is_sorted, &outlines);
	made = outlines.count;
	if (made > 0)
		list_unsorted(view, listed, count, is_sorted);

	/* whoever has read so much leaves it to the next ones to build zones */
	if (examine_pages(view) >= MANY_EXAMINED || made > 0)
		view->mayBuild = false;

	/* until it is published, nothing here can fail or be interrupted */
	if (store_outlines(&outlines, view))
		*published = sware_zones_publish(view, state);
	if (*published != SWARE_ZONES_PUBLISHED)
	{
		/*
		 * Without the outlines, the view can be used now.  But its sorted
		 * zones, which other backends may free, make it useless next time,
		 * when there may also be room for outlines.
		 */
		for (int i = 0; i < outlines.count; i++)
			sware_pool_free(&outlines.images[i].zone.allocation);
		show_listed(view, listed, count, is_sorted);
		view->isComplete = view->sortedCount == 0 && made == 0;
	}
	return true;
}

bool
sware_zone_view_refresh(SwareZoneView *view, const SwareBufferState *state)
{
	SwarePublishResult published = SWARE_ZONES_CHANGED;

	view->mayBuild = view->refreshes++ % REFRESHES_PER_BUILD == 0;
	if (is_unchanged(view, state))
		return true;

	view->isCrowded = false;
	view->isComplete = state->sealedPages == 0;
	if (view->isComplete)
	{
		view->state = *state;
		view->zones = NULL;
		view->sortedCount = view->pageCount = view->chunksWanted = 0;
		return true;
	}
	for (int i = 0; i < MAX_ATTEMPTS && published == SWARE_ZONES_CHANGED; i++)
	{
		bool		is_current;

		view->isComplete = false;
		is_current = sware_zones_copy(view, state);
		view->state = *state;
		if (is_current)
		{
			ask_for_chunks(view, count_run_pages(view), false);
			published = SWARE_ZONES_PUBLISHED;
		}
		else
		{
			MemoryContext caller = sware_enter_context("sware buffer directory");

			is_current = update(view, state, &published);
			sware_leave_context(caller);
		}
		if (!is_current)
		{
			view->zones = NULL;
			return false;
		}
	}
	if (published != SWARE_ZONES_PUBLISHED)
	{
		view->zones = NULL;
		return true;
	}

	/* a view that has sorted something uses it at once */
	if (sware_zones_sort_if_crowded(view))
	{
		if (!sware_zones_copy(view, state))
		{
			view->zones = NULL;
			return false;
		}
		view->state = *state;
	}
	view->isComplete = true;
	return true;
}
