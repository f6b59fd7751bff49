/*-------------------------------------------------------------------------
 *
 * zoneview.c
 *	  A reader's view of what shared memory knows about the pages of a buffer.
 *	  See zones.h.
 *
 * A view is a copy of an index's listing (zonetable.c), brought up to date with
 * the index's directory.  A reader that has brought it up to date publishes it
 * for other backends.  If too many pages are unsorted then, it sorts some of
 * them (zonesort.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "keys/abbreviation.h"
#include "keys/bloomfilter.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "pages/bufferpages.h"
#include "pages/pageaccess.h"
#include "zones/sortedzone.h"
#include "zones/zonesort.h"
#include "zones/zonetable.h"

/* attempts to publish a view, while other backends publish theirs */
#define MAX_ATTEMPTS			3

/* the filters of this number of sorted zones are asked together */
#define MAX_ASKED_TOGETHER		64

/* a view that does not change marks its zones as used once per 32 uses */
#define USES_PER_MARK			32

void
sware_zone_view_init(SwareZoneView *view, Relation index, MemoryContext context)
{
	memset(view, 0, sizeof(SwareZoneView));
	view->index = index;
	view->context = context;
}

/*
 * Make sure that a view's arrays have room for this number of sorted zones, and
 * of unsorted pages, in all.
 */
void
sware_zone_view_reserve(SwareZoneView *view, int sorted, int pages)
{
	if (sorted > view->sortedAllocated)
	{
		int			count = Max(sorted, 8);

		view->sorted = view->sorted == NULL ?
			MemoryContextAlloc(view->context, count * sizeof(SwareSortedZone)) :
			repalloc(view->sorted, count * sizeof(SwareSortedZone));
		view->sortedAllocated = count;
	}
	if (pages > view->pagesAllocated)
	{
		int			count = Max(pages, 16);

		view->pages =
			view->pages == NULL ?
			MemoryContextAllocHuge(view->context,
								   count * sizeof(SwareUnsortedPage)) :
			repalloc_huge(view->pages, count * sizeof(SwareUnsortedPage));
		view->pagesAllocated = count;
	}
}

/*
 * Find the position of the first listed page whose sequence number is not below
 * the given one.
 */
static int
find_listed(const SwareListedPage *listed, int count, uint32 sequence)
{
	int			low = 0;
	int			high = count;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if ((int32) (listed[middle].sequence - sequence) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
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
 * whose file numbers are in use again?  The seal of the newest listed page that
 * the view knows decides; see zones.h.  Locks that page for a moment.
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
 * set is_sorted for these pages.  The pages of a zone retire in the order of
 * sealing, as a rule, so those to keep are its last; if one between them is not
 * listed, or another page is listed there (a page run reserves its sequence
 * numbers before all of it is listed), those before it count as retired here,
 * and become unsorted pages.
 */
static void
keep_listed_zones(SwareZoneView *view, const SwareListedPage *listed, int count,
				  bool *is_sorted)
{
	SwareLink	links[SWARE_MAX_ZONE_PAGES];
	int			kept = 0;

	for (int i = 0; i < view->sortedCount; i++)
	{
		SwareSortedZone zone = view->sorted[i];
		int			end = find_listed(listed, count, zone.lastSequence + 1);
		uint32		live = 0;

		if (end == 0 || listed[end - 1].sequence != zone.lastSequence ||
			!sware_sorted_zone_copy_links(&zone, links))
			continue;
		while (live < zone.pages - zone.retiredPages && live < (uint32) end &&
			   sware_links_equal(links[zone.pages - 1 - live],
								 listed[end - 1 - live].page))
			live++;
		if (live == 0)
			continue;
		if (live < zone.pages - zone.retiredPages &&
			!sware_sorted_zone_retire(&zone, zone.pages - live))
			continue;
		zone.firstSequence = listed[end - live].sequence;
		memset(is_sorted + end - live, true, live);
		view->sorted[kept++] = zone;
	}
	view->sortedCount = kept;
}

/*
 * Set a view's unsorted pages: those listed pages that are in no sorted zone.
 * They keep the zonemaps that the view has of them.
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
 * Read an unsorted page, and set what is to be known of it: with a zonemap if
 * the first column of the index has abbreviations, which it is made of.  If the
 * page is gone, the scan that reads it finds out.  Locks it for a moment.
 */
static void
examine_page(Relation index, SwareUnsortedPage *page)
{
	TupleDesc	descriptor = RelationGetDescr(index);
	SwareKeyColumn column;
	PGAlignedBlock copy;

	if (!sware_copy_buffer_page(index, page->page, copy.data))
		return;
	sware_key_column_init(&column, index, 1, (Datum) 0, true);
	page->isOfRun = sware_buffer_page_is_sorted(copy.data);
	if (page->isOfRun)
		page->runEnd = sware_page_run_end(copy.data, page->sequence);
	page->seal = SwarePageGetOpaque(copy.data)->seal;
	page->isKnown = true;
	if (!sware_has_abbreviations(&column))
		return;
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
	page->hasZonemap = true;
}

/* Read those unsorted pages of which nothing is known. */
static void
examine_pages(SwareZoneView *view)
{
	for (int i = 0; i < view->pageCount; i++)
	{
		if (view->pages[i].isKnown)
			continue;
		CHECK_FOR_INTERRUPTS();
		examine_page(view->index, &view->pages[i]);
	}
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
	for (int i = 0; i < view->pageCount; i++)
		count += view->pages[i].isOfRun;
	return Min(count, view->state.sealedPages);
}

/*
 * Bring a view up to date by reading the directory; the view may be empty.
 * Returns false if the state is not current any more.  Locks metapage,
 * directory and buffer pages, one at a time.
 */
static bool
read_directory(SwareZoneView *view, const SwareBufferState *state,
			   bool examine)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "sware buffer directory",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	SwareListedPage *listed;
	int			count =
		sware_buffer_list_pages(view->index, SWARE_SLOT_SEALED, &listed);
	SwareBufferState now;
	bool		is_current;

	(void) sware_buffer_read_state(view->index, &now);
	is_current = sware_is_of_state(&now, state);
	if (is_current)
	{
		bool	   *is_sorted = palloc0(Max(count, 1));

		if (!is_same_history(view, listed, count))
			view->sortedCount = view->pageCount = 0;
		keep_listed_zones(view, listed, count, is_sorted);
		list_unsorted(view, listed, count, is_sorted);
		if (examine)
			examine_pages(view);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return is_current;
}

/*
 * Can a view be reused as it is?  Not if it is of another state, or if
 * other backends have changed the listing, or if it is time to check whether
 * pages should be sorted.
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
	return !sware_zones_count_reads(view) &&
		(!view->isCrowded || !sware_zones_build_is_possible(view->zones));
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
	view->chunksGranted = 0;
	view->chunksWanted = state->sealedPages;
	view->isComplete = state->sealedPages == 0 ||
		read_directory(view, state, false);
	return view->isComplete;
}

bool
sware_zone_view_refresh(SwareZoneView *view, const SwareBufferState *state)
{
	SwarePublishResult published = SWARE_ZONES_CHANGED;

	if (is_unchanged(view, state))
		return true;

	view->isCrowded = view->isComplete = false;
	view->chunksGranted = 0;
	if (state->sealedPages == 0 || !sware_zones_are_available())
		return read_for_itself(view, state);

	for (int i = 0; i < MAX_ATTEMPTS && published == SWARE_ZONES_CHANGED; i++)
	{
		SwareZonesKnown known = sware_zones_copy(view, state);
		int			run_pages = state->sealedPages;

		/*
		 * The pages may be those of page runs.  To find out, they are read,
		 * which would be in vain without a place in the table.
		 */
		if (known == SWARE_ZONES_UNKNOWN &&
			sware_zones_ask(view->index, run_pages, &run_pages, false) == 0)
			return read_for_itself(view, state);
		view->state = *state;
		if (known != SWARE_ZONES_CURRENT && !read_directory(view, state, true))
		{
			view->zones = NULL;
			return false;
		}
		run_pages = count_run_pages(view);
		view->chunksWanted = sware_zone_chunks(state->sealedPages, run_pages);
		if (known != SWARE_ZONES_CURRENT ||
			view->chunksGranted < view->chunksWanted)
			view->chunksGranted = sware_zones_ask(view->index,
												  state->sealedPages,
												  &run_pages, true);
		if (view->chunksGranted == 0)
			return read_for_itself(view, state);
		published = known == SWARE_ZONES_CURRENT ? SWARE_ZONES_PUBLISHED :
			sware_zones_publish(view, state);
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
	(void) sware_zones_count_reads(view);
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

void
sware_zones_update_listing(Relation index)
{
	SwareBufferState state;
	SwareZoneView view;

	if (!sware_zones_are_available())
		return;
	sware_zone_view_init(&view, index, CurrentMemoryContext);
	if (sware_zones_copy(&view, NULL) != SWARE_ZONES_UNKNOWN &&
		sware_buffer_read_state(index, &state))
		(void) sware_zone_view_refresh(&view, &state);
	if (view.sorted)
		pfree(view.sorted);
	if (view.pages)
		pfree(view.pages);
}

/* Where is the line of a zone's filter that tells of a hash?  NULL: nowhere. */
static inline const uint8 *
filter_line(const SwareSortedZone *zone, const SwareFilterQuestion *question,
			uint32 chunk_count)
{
	return sware_pool_peek(&zone->allocation, zone->filterStart +
						   (Size) sware_filter_question_line(question,
															 zone->filterLines) *
						   SWARE_FILTER_LINE_BYTES, chunk_count);
}

/*
 * There may be many filters, and of each one cache line is looked at.  So all
 * of these are asked for before the first of them is needed.  The zones are
 * there as long as the listing is, which is looked at afterwards.
 */
int
sware_zone_view_ask_filters(const SwareZoneView *view, uint64 hash, int *zones,
							int count, int *asked)
{
	SwareFilterQuestion question;
	uint32		chunk_count = sware_pool_chunk_count();
	int			kept = 0;

	*asked = 0;
	sware_filter_question_set(&question, (uint32) hash);
	for (int begin = 0; begin < count; begin += MAX_ASKED_TOGETHER)
	{
		int			part = Min(count - begin, MAX_ASKED_TOGETHER);
		const uint8 *lines[MAX_ASKED_TOGETHER];
		bool		may_have[MAX_ASKED_TOGETHER];
		bool		is_certain;

		for (int i = 0; i < part; i++)
		{
			const SwareSortedZone *zone = &view->sorted[zones[begin + i]];

			lines[i] = NULL;
			if (!sware_sorted_zone_has_filter(zone, hash))
				continue;
			++*asked;
			lines[i] = filter_line(zone, &question, chunk_count);
			if (lines[i])
				__builtin_prefetch(lines[i]);
		}
		for (int i = 0; i < part; i++)
			may_have[i] = lines[i] == NULL ||
				sware_filter_question_has(&question, lines[i],
										  view->sorted[zones[begin + i]]
										  .filterProbes);
		pg_read_barrier();
		is_certain = view->zones != NULL && sware_zones_are_same(view);
		for (int i = 0; i < part; i++)
		{
			int			zone = zones[begin + i];

			if (may_have[i] ||
				(!is_certain &&
				 sware_sorted_zone_may_contain(&view->sorted[zone], hash)))
				zones[kept++] = zone;
		}
	}
	return kept;
}
