/*-------------------------------------------------------------------------
 *
 * bufferview.c
 *	  What of the buffer a batch is read from.  See bufferview.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/memory.h"
#include "cursor/bufferview.h"
#include "shared/statistics.h"

/* Initialise a view, which knows nothing. */
void
sware_buffer_view_init(SwareBufferView *view, Relation index,
					   MemoryContext context)
{
	sware_zone_view_init(&view->zones, index, context);
	view->sources = NULL;
	view->candidates = NULL;
	view->sourceCount = view->sourcesAllocated = 0;
}

/* Free a view's memory. */
void
sware_buffer_view_end(SwareBufferView *view)
{
	if (view->zones.sorted)
		pfree(view->zones.sorted);
	if (view->zones.pages)
		pfree(view->zones.pages);
	if (view->sources)
		pfree(view->sources);
	if (view->candidates)
		pfree(view->candidates);
}

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
	view->candidates = sware_resize(view->candidates, wanted * sizeof(int),
									view->zones.context);
	view->sourcesAllocated = wanted;
	return true;
}

#define ST_SORT			sort_sources
#define ST_ELEMENT_TYPE SwareBufferSource
#define ST_COMPARE(a, b) \
	((a)->first < (b)->first ? -1 : (a)->first > (b)->first)
#define ST_SCOPE		static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Add a source to the list, which is not in order then. */
static inline void
add_source(SwareBufferView *view, int64 first, bool is_zone, int number)
{
	SwareBufferSource *source = &view->sources[view->sourceCount++];

	source->first = first;
	source->isZone = is_zone;
	source->number = number;
}

/* Add those sorted zones that may have wanted entries. */
static void
add_zones(SwareBufferView *view, SwareScanFilter *filter)
{
	SwareSortedZone *zones = view->zones.sorted;
	int			count = 0;
	int64		first;

	for (int i = 0; i < view->zones.sortedCount; i++)
	{
		if (sware_scan_filter_wants_some(filter, zones[i].smallest,
										 zones[i].largest, &first))
			view->candidates[count++] = i;
	}
	if (count > 0 && sware_scan_filter_has_hash(filter))
	{
		int			asked;

		count = sware_zone_view_ask_filters(&view->zones, filter->hash,
											view->candidates, count, &asked);
		if (asked > 0)
			sware_count(filter->order.index, SWARE_STAT_BLOOM_PROBES, asked);
	}
	for (int i = 0; i < count; i++)
	{
		int			zone = view->candidates[i];

		(void) sware_scan_filter_wants_some(filter, zones[zone].smallest,
											zones[zone].largest, &first);
		add_source(view, first, true, zone);
	}
}

void
sware_buffer_view_list_sealed(SwareBufferView *view, SwareScanFilter *filter)
{
	int64		first;

	add_zones(view, filter);
	for (int i = 0; i < view->zones.pageCount; i++)
	{
		SwareUnsortedPage *page = &view->zones.pages[i];

		if (sware_scan_filter_wants_some(filter, page->smallest, page->largest,
										 &first))
			add_source(view, first, false, i);
	}
	sort_sources(view->sources, view->sourceCount);
}

bool
sware_buffer_view_oldest_page(const SwareBufferView *view, SwareLink *oldest)
{
	const SwareZoneView *zones = &view->zones;
	const SwareSortedZone *zone = &zones->sorted[0];

	if (zones->pageCount > 0 &&
		(zones->sortedCount == 0 ||
		 (int32) (zones->pages[0].sequence - zone->firstSequence) < 0))
	{
		*oldest = zones->pages[0].page;
		return true;
	}
	return zones->sortedCount > 0 &&
		sware_sorted_zone_read(zone, zone->retiredPages * sizeof(SwareLink),
							   oldest, sizeof(SwareLink));
}
