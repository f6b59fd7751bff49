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
#include "keys/abbreviation.h"
#include "pages/pageaccess.h"
#include "zones/zonetable.h"

/* attempts to publish a view, while other backends publish theirs */
#define MAX_ATTEMPTS			3

/* so many unsorted pages are examined at once */
#define EXAMINED_PAGES			32

/* a view, which is refreshed for each batch, builds a zone once in so many */
#define REFRESHES_PER_BUILD		8

/* a view that does not change marks its zones as used once per 32 uses */
#define USES_PER_MARK			32

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

/* Does a buffer page still have this seal?  Locks it for a moment. */
static bool
has_seal(Relation index, SwareLink page, uint64 seal)
{
	Buffer		buffer = sware_read_buffer_page(index, page, BUFFER_LOCK_SHARE);
	bool		result;

	if (!BufferIsValid(buffer))
		return false;
	result = sware_buffer_page_is_sealed(BufferGetPage(buffer)) &&
		SwarePageGetOpaque(BufferGetPage(buffer))->seal == seal;
	sware_release_buffer(buffer);
	return result;
}

/*
 * Does a view speak of the listed pages, or of those of a dropped database
 * (zones.h)?  The seal of the newest listed page that the view knows decides.
 * Locks that page for a moment.
 */
static bool
is_same_history(const SwareZoneView *view, const SwareListedPage *listed,
				int count)
{
	int			zone = view->sortedCount - 1;
	int			page = view->pageCount - 1;

	for (int i = count - 1; i >= 0; i--)
	{
		while (zone >= 0 && (int32) (view->sorted[zone].lastSequence -
									 listed[i].sequence) > 0)
			zone--;
		while (page >= 0 &&
			   (!view->pages[page].isKnown ||
				(int32) (view->pages[page].sequence - listed[i].sequence) > 0))
			page--;
		if (zone >= 0 && view->sorted[zone].lastSequence == listed[i].sequence)
			return has_seal(view->index, listed[i].page,
							view->sorted[zone].lastSeal);
		if (page >= 0 && view->pages[page].sequence == listed[i].sequence)
			return has_seal(view->index, listed[i].page,
							view->pages[page].seal);
	}
	return true;
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
		uint32		live = 0;

		while (end < count &&
			   (int32) (listed[end].sequence - zone.lastSequence) <= 0)
			end++;
		if (end == 0 || listed[end - 1].sequence != zone.lastSequence ||
			!sware_sorted_zone_read(&zone, 0, links,
									zone.pages * sizeof(SwareLink)))
			continue;
		while (live < zone.pages - zone.retiredPages && live < (uint32) end &&
			   sware_links_equal(links[zone.pages - 1 - live],
								 listed[end - 1 - live].page))
			live++;
		if (live == 0)
			continue;
		if (live < zone.pages - zone.retiredPages &&
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
	int			known = 0;
	int			found = 0;

	pages =
		MemoryContextAllocExtended(CurrentMemoryContext,
								   Max(count, 1) * sizeof(SwareUnsortedPage),
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
 * Read an unsorted page, and set what is to be known of it.  If the page is
 * gone, the scan that reads it finds out.  Locks it for a moment.
 */
static void
examine_page(Relation index, SwareUnsortedPage *page)
{
	TupleDesc	descriptor = RelationGetDescr(index);
	SwareKeyColumn column;
	PGAlignedBlock copy;

	if (!sware_copy_buffer_page(index, page->page, copy.data))
		return;
	sware_key_column_init(&column, index, 1);
	page->seal = SwarePageGetOpaque(copy.data)->seal;
	page->isKnown = true;
	page->smallest = PG_INT64_MAX;
	page->largest = PG_INT64_MIN;
	for (Size offset = SWARE_BUFFER_START;
		 offset < sware_buffer_page_end(copy.data);)
	{
		IndexTuple	entry =
			sware_buffer_entry(index, page->page.block, copy.data, &offset);
		int64		abbreviation = sware_abbreviate(&column, descriptor, entry);

		page->smallest = Min(page->smallest, abbreviation);
		page->largest = Max(page->largest, abbreviation);
	}
}

/*
 * Read those unsorted pages of which nothing is known, but no more than
 * EXAMINED_PAGES: scans read the others anyway, until they are sorted.  Returns
 * how many were read.
 */
static int
examine_pages(SwareZoneView *view)
{
	int			examined = 0;

	for (int i = 0; i < view->pageCount && examined < EXAMINED_PAGES; i++)
	{
		if (view->pages[i].isKnown)
			continue;
		CHECK_FOR_INTERRUPTS();
		examine_page(view->index, &view->pages[i]);
		examined++;
	}
	return examined;
}

/* How many of the pages of a view are those of page runs? */
static int
count_run_pages(const SwareZoneView *view)
{
	int			count = 0;

	for (int i = 0; i < view->sortedCount; i++)
	{
		if (view->sorted[i].isOfRun)
			count += view->sorted[i].pages - view->sorted[i].retiredPages;
	}
	return Min(count, view->state.sealedPages);
}

/*
 * Bring a view up to date by reading the directory; the view may be empty.
 * Pages that are to be in outlines are not in the view.  If `outlines` is NULL,
 * there are to be none, and nothing is found out about unsorted pages, either.
 * Returns false if the state is not current any more.  Takes memory from the
 * current context, which the caller soon deletes.  Locks metapage, directory
 * and buffer pages, one at a time.
 */
static bool
read_directory(SwareZoneView *view, const SwareBufferState *state,
			   SwareOutlines *outlines)
{
	SwareListedPage *listed;
	int			count =
		sware_buffer_list_pages(view->index, SWARE_SLOT_SEALED, &listed);
	bool	   *is_sorted = palloc0(Max(count, 1));
	SwareBufferState now;

	(void) sware_buffer_read_state(view->index, &now);
	if (!sware_is_of_state(&now, state))
		return false;
	if (!is_same_history(view, listed, count))
		view->sortedCount = view->pageCount = 0;
	keep_listed_zones(view, listed, count, is_sorted);
	if (outlines)
		sware_outlines_make(view->index, listed, count, is_sorted, outlines);
	list_unsorted(view, listed, count, is_sorted);

	/* whoever has read so much leaves it to the next ones to build zones */
	if (outlines &&
		(examine_pages(view) == EXAMINED_PAGES || outlines->count > 0))
		view->mayBuild = false;
	return true;
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
	if (++view->uses % USES_PER_MARK == 0)
		sware_zones_mark_used(view->zones);
	return !view->isCrowded || !view->mayBuild ||
		!sware_zones_build_is_possible(view->zones);
}

/*
 * Make a view by reading the directory, without shared memory: a list of pages
 * without zonemaps.  Returns false if the state is not current any more.
 */
static bool
read_for_itself(SwareZoneView *view, const SwareBufferState *state)
{
	view->sortedCount = view->pageCount = 0;
	view->zones = NULL;
	view->stamp = 0;
	view->state = *state;
	view->isComplete = true;
	if (state->sealedPages > 0)
	{
		MemoryContext caller = sware_enter_context("sware buffer directory");

		view->isComplete = read_directory(view, state, NULL);
		sware_leave_context(caller);
	}
	return view->isComplete;
}

/*
 * Is there an unsorted page of which nothing is known, and which will not be
 * sorted before others are?
 */
static bool
has_unknown_page(const SwareZoneView *view)
{
	if (view->pageCount > EXAMINED_PAGES &&
		sware_options_of(view->index)->sortThreshold < 100)
		return false;
	for (int i = 0; i < view->pageCount; i++)
	{
		if (!view->pages[i].isKnown)
			return true;
	}
	return false;
}

/*
 * Tell how many pages a view has, beside those that are to be in outlines, and
 * find out how many chunks their zones may take, if that has not been enough,
 * or may have changed.
 */
static void
ask_for_chunks(SwareZoneView *view, int outlined, bool changed)
{
	int			run_pages = count_run_pages(view) + outlined;

	view->chunksWanted = sware_zone_chunks(view->state.sealedPages, run_pages);
	if (changed || view->chunksGranted < view->chunksWanted)
		view->chunksGranted = sware_zones_ask(view->index,
											  view->state.sealedPages,
											  &run_pages, true);
}

/* Free outlines in the pool that were not published. */
static void
free_outlines(SwareOutlines *outlines)
{
	for (int i = 0; i < outlines->count; i++)
		sware_pool_free(&outlines->images[i].zone.allocation);
}

/* Put a zone among those of a view, which are in the order of sealing. */
static void
add_to_view(SwareZoneView *view, const SwareSortedZone *zone)
{
	int			place = view->sortedCount++;

	for (; place > 0 && (int32) (view->sorted[place - 1].firstSequence -
								 zone->firstSequence) > 0; place--)
		view->sorted[place] = view->sorted[place - 1];
	view->sorted[place] = *zone;
}

/*
 * Copy outlines to the pool, and add them to the zones of a view.  Returns
 * false if the pool has no room for all of them; then none is there.  The
 * caller must publish the view, or free them by free_outlines, before anything
 * can fail or be interrupted.  Takes the pool's lock for a moment.
 */
static bool
store_outlines(SwareOutlines *outlines, SwareZoneView *view)
{
	sware_zone_view_reserve(view, view->sortedCount + outlines->count, 0);
	for (int i = 0; i < outlines->count; i++)
	{
		while (!sware_sorted_zone_store(&outlines->images[i].zone,
										&outlines->images[i]))
		{
			if (sware_zones_make_room())
				continue;
			outlines->count = i;
			free_outlines(outlines);
			return false;
		}
	}
	for (int i = 0; i < outlines->count; i++)
		add_to_view(view, &outlines->images[i].zone);
	return true;
}

/*
 * Bring a view that is not current up to date, and publish it.  Returns false
 * if the state is not current any more.  *is_whole is set to whether the view
 * has all pages: if it could not be published, it has no new outlines.
 */
static bool
update(SwareZoneView *view, const SwareBufferState *state,
	   SwarePublishResult *published, bool *is_whole)
{
	MemoryContext caller = sware_enter_context("sware buffer directory");
	SwareOutlines outlines;
	bool		is_current = read_directory(view, state, &outlines);

	*published = SWARE_ZONES_NO_ROOM;
	if (is_current)
	{
		ask_for_chunks(view, outlines.pages, true);

		/* from here on, nothing can fail or be interrupted */
		if (view->chunksGranted > 0 && store_outlines(&outlines, view))
		{
			*published = sware_zones_publish(view, state);
			if (*published != SWARE_ZONES_PUBLISHED)
				free_outlines(&outlines);
		}
		*is_whole = *published == SWARE_ZONES_PUBLISHED || outlines.pages == 0;
	}
	sware_leave_context(caller);
	return is_current;
}

bool
sware_zone_view_refresh(SwareZoneView *view, const SwareBufferState *state)
{
	SwarePublishResult published = SWARE_ZONES_CHANGED;
	bool		is_whole = true;

	view->mayBuild = view->refreshes++ % REFRESHES_PER_BUILD == 0;
	if (is_unchanged(view, state))
		return true;

	view->isCrowded = view->isComplete = false;
	view->chunksGranted = 0;
	view->chunksWanted = state->sealedPages;
	if (state->sealedPages == 0 || !sware_zones_are_available())
		return read_for_itself(view, state);

	for (int i = 0; i < MAX_ATTEMPTS && published == SWARE_ZONES_CHANGED; i++)
	{
		SwareZonesKnown known = sware_zones_copy(view, state);
		int			run_pages = known == SWARE_ZONES_UNKNOWN ?
			state->sealedPages : SWARE_SAME_RUN_PAGES;

		if (known == SWARE_ZONES_CURRENT && has_unknown_page(view))
			known = SWARE_ZONES_OUTDATED;

		/* to read pages would be in vain without a place in the table */
		if (known != SWARE_ZONES_CURRENT)
			view->chunksGranted =
				sware_zones_ask(view->index, state->sealedPages, &run_pages,
								false);
		view->state = *state;
		if (known == SWARE_ZONES_CURRENT)
		{
			ask_for_chunks(view, 0, false);
			published = SWARE_ZONES_PUBLISHED;
		}
		else if (view->chunksGranted > 0 &&
				 !update(view, state, &published, &is_whole))
		{
			view->zones = NULL;
			return false;
		}
		if (view->chunksGranted == 0)
		{
			view->chunksWanted = state->sealedPages;
			return read_for_itself(view, state);
		}
	}
	if (published != SWARE_ZONES_PUBLISHED && !is_whole)
	{
		bool		is_current = read_for_itself(view, state);

		view->isComplete = false;	/* next time there may be room */
		return is_current;
	}
	if (published != SWARE_ZONES_PUBLISHED)
	{
		/*
		 * The view can be used now.  But its sorted zones, which other
		 * backends may free, make it useless next time.
		 */
		view->zones = NULL;
		view->isComplete = view->sortedCount == 0;
		return true;
	}

	/* a view that has sorted something uses it at once */
	if (sware_zones_sort_if_crowded(view))
	{
		if (sware_zones_copy(view, state) != SWARE_ZONES_CURRENT)
		{
			view->zones = NULL;
			return false;
		}
		view->state = *state;
	}
	view->isComplete = true;
	return true;
}
