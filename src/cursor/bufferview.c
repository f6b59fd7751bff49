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

/* so many entries of a sorted zone at least are wanted: fewer tell nothing */
#define FEWEST_WANTED		4

/* the most pages of a source that are asked for before it is read */
#define MOST_PAGES_ASKED	8

/* Initialise a view, which knows nothing. */
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
		pfree(view->sources);
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
		add_source(view, first, true, i);
	}
	if (asked > 0)
		sware_count(filter->order.index, SWARE_STAT_BLOOM_PROBES, asked);
	return asked == 0 || sware_zone_view_is_listed(&view->zones);
}

void
sware_buffer_view_list_sealed(SwareBufferView *view, SwareScanFilter *filter)
{
	int64		first;

	if (!add_zones(view, filter, true))
	{
		view->sourceCount = 0;
		(void) add_zones(view, filter, false);
	}
	for (int i = 0; i < view->zones.pageCount; i++)
	{
		SwareUnsortedPage *page = &view->zones.pages[i];

		if (sware_scan_filter_wants_some(filter, page->smallest, page->largest,
										 &first))
			add_source(view, first, false, i);
	}
	sort_sources(view->sources, view->sourceCount);
}

/*
 * Guess which entries of a sorted zone are wanted, by their abbreviations.  Of
 * a zone that lies before or behind all that are wanted, the nearest entry is
 * guessed.  Returns false if none seems to be wanted, or the zone is gone.
 */
static inline bool
guess_entries(const SwareScanFilter *filter, const SwareSortedZone *zone,
			  uint32 *first, uint32 *last)
{
	bool		forward = filter->order.forward;

	return sware_sorted_zone_guess(zone,
								   forward ? filter->first : ~filter->last,
								   forward ? filter->last : ~filter->first,
								   first, last);
}

/*
 * How many entries of a sorted zone are wanted if its abbreviations are evenly
 * spread?  Their sum need not be right, but tells which zone has most.
 */
static inline double
rate_zone(const SwareScanFilter *filter, const SwareSortedZone *zone)
{
	bool		forward = filter->order.forward;
	int64		first = Max(filter->first, forward ? zone->smallest :
							~zone->largest);
	int64		last = Min(filter->last, forward ? zone->largest :
						   ~zone->smallest);

	return (zone->entries - zone->firstEntry) *
		((double) last - (double) first + 1) /
		((double) zone->largest - (double) zone->smallest + 1);
}

bool
sware_buffer_view_want_fewer(const SwareBufferView *view,
							 SwareScanFilter *filter, int64 wanted)
{
	bool		forward = filter->order.forward;
	const SwareSortedZone *zone = NULL;
	double		total = 0;
	double		most = 0;
	uint32		begin;
	uint32		end;
	int64		count;
	int64		value;

	if (!filter->canNarrow || filter->first == filter->last)
		return false;
	for (int i = 0; i < view->sourceCount; i++)
	{
		const SwareBufferSource *source = &view->sources[i];
		double		rate;

		if (!source->isZone)
			continue;
		rate = rate_zone(filter, &view->zones.sorted[source->number]);
		total += rate;
		if (rate > most)
		{
			most = rate;
			zone = &view->zones.sorted[source->number];
		}
	}
	if (zone == NULL || !guess_entries(filter, zone, &begin, &end))
		return false;

	/* of this zone; a quarter more than needed, so that the batch is full */
	count = Max(wanted * 1.25 * most / total, FEWEST_WANTED);
	if (end - begin <= 2 * count ||
		!sware_sorted_zone_guess_value(zone, forward ? begin + count :
									   end - count, &value))
		return false;
	if (!forward)
		value = ~value;
	if (value < filter->first || value >= filter->last)
		return false;
	filter->last = value;
	return true;
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
		uint32		first;
		uint32		last;

		if (source.first > filter->last)
			break;				/* it will not be read, nor those behind it */
		if (!source.isZone || !zone->isOfRun)
			continue;
		most = 1 + wanted / (zone->entries / zone->pages + 1);
		if (!guess_entries(filter, zone, &first, &last))
			continue;
		count = sware_run_copy_links(zone, first, last, forward, links,
									 Min(most, MOST_PAGES_ASKED));
		for (int i = 0; i < count; i++)
			sware_ask_for_page(ahead, links[i]);
	}
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
