/*-------------------------------------------------------------------------
 *
 * bufferview.c
 *	  What of the buffer a batch is read from: the pages that it has under one
 *	  generation, and what is known of them.
 *
 * The parts that may have wanted entries, beside the open pages, are the
 * *sources* of a batch.  Sorted zones come before pages, and either in the
 * order of their first entries, so that most need not be read: enough better
 * entries have been found before.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/memory.h"
#include "cursor/buffercursor.h"
#include "shared/statistics.h"

/* so many entries a page of which that is not known is taken to have */
#define USUAL_ENTRIES		256

/* the most pages of a source that are asked for before it is read */
#define MOST_PAGES_ASKED	8

bool
sware_buffer_view_refresh(SwareBufferView *view)
{
	int			wanted;

	if (!sware_zone_view_refresh(&view->zones, &view->state))
		return false;
	view->sourceCount = 0;
	wanted = view->zones.sortedCount + view->zones.pageCount;
	if (view->sourcesAllocated >= wanted)
		return true;
	wanted = Max(wanted, 2 * view->sourcesAllocated);
	view->sources = sware_resize(view->sources,
								 wanted * sizeof(SwareBufferSource),
								 view->zones.context);
	view->sourcesAllocated = wanted;
	return true;
}

#define ST_SORT			sort_sources
#define ST_ELEMENT_TYPE SwareBufferSource
#define ST_COMPARE(a, b) \
	((a)->isZone != (b)->isZone ? (a)->isZone ? -1 : 1 : \
	 (a)->first < (b)->first ? -1 : (a)->first > (b)->first)
#define ST_SCOPE		static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Add a source to the list, which is not in order then. */
static inline void
add_source(SwareBufferView *view, int64 first, bool is_zone, int number,
		   double rate)
{
	SwareBufferSource *source = &view->sources[view->sourceCount++];

	source->first = first;
	source->isZone = is_zone;
	source->number = number;
	source->rate = rate;
	view->rate += rate;
}

/* The rate of a source with so many entries, between these abbreviations. */
static inline double
rate(const SwareScanFilter *filter, int entries, int64 smallest, int64 largest)
{
	bool		forward = filter->order.forward;
	int64		first = Max(filter->first, forward ? smallest : ~largest);
	int64		last = Min(filter->last, forward ? largest : ~smallest);

	if (filter->first == filter->last)
		return 0;
	return entries * ((double) last - (double) first + 1) /
		((double) largest - (double) smallest + 1);
}

/*
 * Add those sorted zones that may have wanted entries; with `asks`, as far as
 * their filters tell, too.  Returns false if these told of zones that may have
 * been freed meanwhile.
 */
static bool
add_zones(SwareBufferView *view, SwareScanFilter *filter, bool asks)
{
	int			asked = 0;

	for (int i = 0; i < view->zones.sortedCount; i++)
	{
		const SwareSortedZone *zone = &view->zones.sorted[i];
		int64		first;

		if (!sware_scan_filter_wants_some(filter, zone->smallest,
										  zone->largest, &first))
			continue;
		if (asks && sware_scan_filter_has_hash(filter) &&
			sware_sorted_zone_has_filter(zone, filter->hash))
		{
			asked++;
			if (sware_sorted_zone_lacks(zone, filter->hash))
				continue;
		}
		add_source(view, first, true, i,
				   rate(filter, zone->entries - zone->firstEntry,
						zone->smallest, zone->largest));
	}
	if (asked > 0)
		sware_count(filter->order.index, SWARE_STAT_BLOOM_PROBES, asked);
	return asked == 0 || sware_zone_view_is_listed(&view->zones);
}

void
sware_buffer_view_list_sealed(SwareBufferView *view, SwareScanFilter *filter)
{
	int64		first;

	view->rate = 0;
	if (!add_zones(view, filter, true))
	{
		view->sourceCount = 0;
		view->rate = 0;
		(void) add_zones(view, filter, false);
	}
	for (int i = 0; i < view->zones.pageCount; i++)
	{
		SwareUnsortedPage *page = &view->zones.pages[i];

		if (sware_scan_filter_wants_some(filter, page->smallest, page->largest,
										 &first))
			add_source(view, first, false, i,
					   rate(filter, USUAL_ENTRIES, page->smallest,
							page->largest));
	}
	sort_sources(view->sources, view->sourceCount);
}

void
sware_buffer_view_ask(const SwareBufferView *view,
					  const SwareScanFilter *filter, SwarePagesAhead *ahead,
					  int number, int wanted)
{
	bool		forward = filter->order.forward;
	int			end = Min(view->sourceCount, number + 1 + ahead->distance);

	for (ahead->asked = Max(ahead->asked, number + 1); ahead->asked < end;
		 ahead->asked++)
	{
		SwareBufferSource source = view->sources[ahead->asked];
		const SwareSortedZone *zone = &view->zones.sorted[source.number];
		SwareLink	links[MOST_PAGES_ASKED];
		int			most;
		int			count;

		if (source.first > filter->last)
			break;				/* it will not be read, nor those behind it */
		if (!source.isZone || !zone->isOfRun)
			continue;
		most = 1 + wanted / (zone->entries / zone->pages + 1);
		count = sware_run_guess_links(zone,
									  forward ? filter->first : ~filter->last,
									  forward ? filter->last : ~filter->first,
									  forward, links,
									  Min(most, MOST_PAGES_ASKED));
		for (int i = 0; i < count; i++)
			sware_ask_for_page(ahead, links[i]);
	}
}
