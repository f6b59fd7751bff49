/*-------------------------------------------------------------------------
 *
 * bufferview.c
 *	  What of the buffer a batch is read from.  See bufferview.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "cursor/bufferview.h"
#include "shared/statistics.h"

/* Initialise a view, which knows nothing.  Memory is taken from `context`. */
void
sware_buffer_view_init(SwareBufferView *view, Relation index,
					   MemoryContext context)
{
	sware_zone_view_init(&view->zones, index, context);
	view->sources = NULL;
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
	{
		pfree(view->sources);
		pfree(view->candidates);
	}
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
	if (view->sources)
	{
		pfree(view->sources);
		pfree(view->candidates);
	}
	view->sourcesAllocated = Max(wanted, 2 * view->sourcesAllocated);
	view->sources = MemoryContextAllocHuge(view->zones.context,
										   view->sourcesAllocated *
										   sizeof(SwareBufferSource));
	view->candidates = MemoryContextAllocHuge(view->zones.context,
											  view->sourcesAllocated *
											  sizeof(int));
	return true;
}

/*
 * Add a source to the list, which is a binary heap that has the first source at
 * its top.
 */
static void
add_source(SwareBufferView *view, int64 first, bool is_zone, int number)
{
	SwareBufferSource *sources = view->sources;
	int			hole = view->sourceCount++;

	for (; hole > 0 && sources[(hole - 1) / 2].first > first;
		 hole = (hole - 1) / 2)
		sources[hole] = sources[(hole - 1) / 2];
	sources[hole].first = first;
	sources[hole].isZone = is_zone;
	sources[hole].number = number;
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
sware_buffer_view_add_sealed(SwareBufferView *view, SwareScanFilter *filter)
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
}

SwareBufferSource
sware_buffer_view_take(SwareBufferView *view)
{
	SwareBufferSource *sources = view->sources;
	SwareBufferSource top = sources[0];
	int			count = --view->sourceCount;
	SwareBufferSource moved = sources[count];
	int			hole = 0;

	for (int child = 1; child < count; child = 2 * hole + 1)
	{
		if (child + 1 < count &&
			sources[child + 1].first < sources[child].first)
			child++;
		if (sources[child].first >= moved.first)
			break;
		sources[hole] = sources[child];
		hole = child;
	}
	sources[hole] = moved;
	return top;
}

bool
sware_buffer_view_oldest_page(const SwareBufferView *view, SwareLink *oldest)
{
	const SwareZoneView *zones = &view->zones;
	SwareLink	links[SWARE_MAX_ZONE_PAGES];

	const SwareSortedZone *zone = &zones->sorted[0];

	if (zones->pageCount > 0 &&
		(zones->sortedCount == 0 ||
		 (int32) (zones->pages[0].sequence - zone->firstSequence) < 0))
	{
		*oldest = zones->pages[0].page;
		return true;
	}
	if (zones->sortedCount == 0 || !sware_sorted_zone_copy_links(zone, links))
		return false;
	*oldest = links[zone->retiredPages];
	return true;
}
