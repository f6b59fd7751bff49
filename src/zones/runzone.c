/*-------------------------------------------------------------------------
 *
 * runzone.c
 *	  Reading the entries of a run, with what its sorted zone knows of them.
 *	  See sortedzone.h.
 *
 * The entries of a run are numbered from page to page.  The zone knows where on
 * its page every 64th entry of the run begins, so a window begins and ends with
 * one of these, or with the page.  An outline does not know: a window has a
 * whole page.
 *
 * The functions lock one page at a time, for a moment, and call no comparator
 * meanwhile.  They raise an error if a page is damaged
 * (ERRCODE_INDEX_CORRUPTED).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/faultpoint.h"
#include "keys/abbreviation.h"
#include "layout/tuple.h"
#include "pages/bufferpages.h"
#include "pages/pageaccess.h"
#include "zones/sortedzone.h"

/*
 * A search in an outline guesses this number of pages, and then goes on by
 * halves.
 */
#define MAX_GUESSES		3

/* A page of a run. */
typedef struct RunPage
{
	uint32		number;			/* among the links */
	uint32		start;			/* number of its first entry */
	uint32		end;			/* number behind its last entry */
} RunPage;

/* Copy some of the numbers at which pages start. */
static inline bool
read_starts(const SwareSortedZone *zone, uint32 page, int count, uint32 *starts)
{
	return sware_pool_read(&zone->allocation,
						   zone->startsStart + (Size) page * sizeof(uint32),
						   starts, count * sizeof(uint32));
}

/* Find a page by its number.  Returns false if the zone is gone. */
static bool
find_page_by_number(const SwareSortedZone *zone, uint32 number, RunPage *page)
{
	uint32		starts[2];

	if (!read_starts(zone, number, 2, starts) ||
		!sware_pool_has_stamp(&zone->allocation, zone->stamp))
		return false;
	page->number = number;
	page->start = starts[0];
	page->end = starts[1];
	return true;
}

/* Find the page of an entry.  Returns false if the zone is gone. */
static bool
find_page(const SwareSortedZone *zone, uint32 number, RunPage *page)
{
	uint32		start;

	Assert(number < zone->entries);
	page->number = 0;
	for (uint32 end = zone->pages; end - page->number > 1;)
	{
		uint32		middle = page->number + (end - page->number) / 2;

		if (!read_starts(zone, middle, 1, &start))
			return false;
		if (start <= number)
			page->number = middle;
		else
			end = middle;
	}
	return find_page_by_number(zone, page->number, page);
}

/* Copy the link to a page, by its number. */
static inline bool
copy_link(const SwareSortedZone *zone, uint32 page, SwareLink *link)
{
	return sware_sorted_zone_read(zone, (Size) page * sizeof(SwareLink), link,
								  sizeof(SwareLink));
}

bool
sware_run_copy_page(const SwareSortedZone *zone, uint32 number, SwareLink *page)
{
	RunPage		found;

	return find_page(zone, number, &found) &&
		copy_link(zone, found.number, page);
}

/*
 * Find the offset on its page of an entry that is the first there, or has a
 * fence.  Returns false if the zone is gone.
 */
static bool
find_offset(const SwareSortedZone *zone, const RunPage *page, uint32 number,
			uint32 *offset)
{
	uint16		stored;

	if (zone->entrySize > 0 || number == page->start)
	{
		*offset = SWARE_BUFFER_START +
			(number - page->start) * zone->entrySize;
		return true;
	}
	Assert(number % SWARE_FENCE_DISTANCE == 0);
	if (!sware_sorted_zone_read(zone, zone->offsetsStart +
								number / SWARE_FENCE_DISTANCE * sizeof(uint16),
								&stored, sizeof(stored)))
		return false;
	*offset = stored;
	return true;
}

/*
 * Find out where in a window's bytes its entries are, which were copied from an
 * offset of a page.  Raises an error if they are not what the run has there.
 */
static void
find_entries(Relation index, const SwareSortedZone *zone, BlockNumber block,
			 SwareWindow *window, uint32 from, uint32 length)
{
	uint32		offset = 0;
	uint32		size = zone->entrySize;

	/* most runs have entries of one size */
	if (size > 0 && window->count * size == length)
	{
		bool		is_strange = false;

		for (uint32 i = 0; i < window->count; i++)
			window->offsets[i] = i * size;
		for (uint32 i = 0; i < length; i += size)
			is_strange |= size !=
				MAXALIGN(IndexTupleSize((IndexTuple) (window->copy.bytes + i)));
		if (!is_strange)
			return;
	}

	for (uint32 i = 0; i < window->count; i++)
	{
		IndexTuple	entry = (IndexTuple) (window->copy.bytes + offset);

		size = sizeof(IndexTupleData);
		if (offset + size <= length)
			size = MAXALIGN(IndexTupleSize(entry));
		if (size <= sizeof(IndexTupleData) || size > zone->largestEntry ||
			offset + size > length)
			sware_report_buffer_entry(index, block, from + offset);
		window->offsets[i] = offset;
		offset += size;
	}
	if (offset != length)
		sware_report_buffer_entry(index, block, from + offset);
}

/*
 * Get entries of a page into a window: those from `first` to `end` - 1 that are
 * on the page; and perhaps some more around.  Returns false if the zone is
 * gone.  Locks the page for a moment.
 */
static bool
fill_window(Relation index, const SwareSortedZone *zone, const RunPage *page,
			uint32 first, uint32 end, SwareWindow *window)
{
	bool		is_behind = first == window->first + window->count;
	bool		is_before = end == window->first;
	uint32		from;
	uint32		to;
	SwareLink	link;
	Buffer		buffer;
	Size		page_end;

	CHECK_FOR_INTERRUPTS();
	SWARE_FAULT_POINT("run-page-read");

	/* a reader that goes on gets twice as many as before */
	if (is_behind)
		end = Max(end, first + 2 * window->count);
	if (end > page->end || zone->isOutline)
		end = page->end;
	else
		end = Min(TYPEALIGN(SWARE_FENCE_DISTANCE, end), page->end);
	if (is_before || zone->isOutline)
		first = page->start;
	else
		first = Max(TYPEALIGN_DOWN(SWARE_FENCE_DISTANCE, first), page->start);

	if (!find_offset(zone, page, first, &from) ||
		(end < page->end && !find_offset(zone, page, end, &to)) ||
		!copy_link(zone, page->number, &link))
		return false;
	buffer = sware_read_buffer_page(index, link, BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buffer))
	{
		window->strange = link;
		return false;
	}
	page_end = sware_buffer_page_end(BufferGetPage(buffer));
	if (end == page->end)
		to = page_end;
	if (unlikely(from > to || to > page_end || page_end > BLCKSZ))
		sware_report_buffer_entry(index, link.block, from);
	memcpy(window->copy.bytes, (char *) BufferGetPage(buffer) + from,
		   to - from);
	sware_release_buffer(buffer);

	window->first = first;
	window->count = end - first;
	find_entries(index, zone, link.block, window, from, to - from);
	return true;
}

/* Copy an entry that a window has, without its mark. */
static inline void
copy_entry(SwareWindow *window, uint32 number, SwareEntryCopy *copy)
{
	sware_copy_tuple(copy, sware_window_entry(window, number));
	sware_clear_mark(&copy->tuple);
}

/*
 * Copy the first entry of a page: its anchor, or from the page, which the
 * window then has.  Returns false if the zone is gone.
 */
static bool
copy_start(Relation index, const SwareSortedZone *zone, const RunPage *page,
		   SwareWindow *window, SwareEntryCopy *copy)
{
	uint32		range[2];

	if (zone->anchorsStart == 0)
	{
		if (!sware_window_has(window, page->start) &&
			!fill_window(index, zone, page, page->start, page->start + 1,
						 window))
			return false;
		copy_entry(window, page->start, copy);
		return true;
	}
	if (!sware_sorted_zone_read(zone, zone->anchorsStart +
								(Size) page->number * sizeof(uint32),
								range, sizeof(range)) ||
		!sware_sorted_zone_read(zone, range[0], copy, range[1] - range[0]))
		return false;
	sware_clear_mark(&copy->tuple);
	return true;
}

/*
 * Looks at the page in the middle of those on which the place may be, until one
 * is left.  An outline knows no entries: each page that is looked at is read
 * into the window, and the first ones are guessed by the abbreviations around.
 */
bool
sware_run_narrow(Relation index, const SwareSortedZone *zone,
				 const SwareSearchKey *place, uint32 *low, uint32 *high,
				 SwareWindow *window)
{
	TupleDesc	descriptor = RelationGetDescr(index);
	int64		low_value = zone->smallest;
	int64		high_value = zone->largest;
	int64		value = 0;
	int			guesses = 0;
	SwareKeyColumn column;
	RunPage		first;			/* the place is not before its start */
	RunPage		last;

	*low = Max(*low, zone->firstEntry);
	*high = Max(*high, *low);
	if (*low == *high)
		return true;
	if (!find_page(zone, *low, &first) || !find_page(zone, *high - 1, &last))
		return false;
	if (zone->isOutline)
	{
		sware_key_column_init(&column, index, 1, (Datum) 0, true);
		if (sware_abbreviate_end(&column, place, &value))
			guesses = MAX_GUESSES;
	}
	while (first.number < last.number)
	{
		RunPage		middle;
		uint32		number =
			first.number + (last.number - first.number + 1) / 2;
		SwareEntryCopy entry;

		if (guesses-- > 0)
		{
			if (!find_page(zone, sware_interpolate(*low, *high - 1, low_value,
												   high_value, value),
						   &middle))
				return false;
			number = Max(middle.number, first.number + 1);
		}
		if (!find_page_by_number(zone, number, &middle) ||
			!copy_start(index, zone, &middle, window, &entry))
			return false;
		if (sware_compare_key(place, &entry.tuple) <= 0)
		{
			*high = middle.start;
			if (zone->isOutline)
				high_value = sware_abbreviate(&column, descriptor,
											  &entry.tuple);
			if (*low < *high && !find_page(zone, *high - 1, &last))
				return false;
			if (*low == *high)
				return true;
			continue;
		}
		first = middle;
		*low = middle.start + 1;
		if (!zone->isOutline)
			continue;
		copy_entry(window, middle.end - 1, &entry);
		if (sware_compare_key(place, &entry.tuple) <= 0)
		{
			last = middle;
			*high = middle.end - 1;
		}
		else
		{
			*low = middle.end;
			low_value = sware_abbreviate(&column, descriptor, &entry.tuple);
		}
	}
	return *low == *high ||
		(sware_window_has(window, *low) &&
		 sware_window_has(window, *high - 1)) ||
		fill_window(index, zone, &first, *low, *high, window);
}

bool
sware_run_get(Relation index, const SwareSortedZone *zone, uint32 first,
			  uint32 end, bool forward, SwareWindow *window)
{
	RunPage		page;

	return find_page(zone, forward ? first : end - 1, &page) &&
		fill_window(index, zone, &page, Max(first, page.start), end, window);
}

int
sware_run_copy_links(const SwareSortedZone *zone, uint32 first, uint32 last,
					 bool forward, SwareLink *links, int most)
{
	RunPage		low;
	RunPage		high;
	int			count = 0;

	if (!find_page(zone, first, &low) || !find_page(zone, last, &high))
		return 0;
	while (count < most && count <= (int) high.number - (int) low.number)
	{
		uint32		number = forward ? low.number + count : high.number - count;

		if (!copy_link(zone, number, &links[count++]))
			return 0;
	}
	return count;
}

bool
sware_run_retire(SwareSortedZone *zone, uint32 pages)
{
	uint32		start;

	if (!read_starts(zone, pages, 1, &start))
		return false;

	/* the last fence that is not behind the first entry that counts */
	if (zone->fences > 0 && start < zone->entries &&
		!sware_pool_read(&zone->allocation,
						 zone->fencesStart +
						 start / SWARE_FENCE_DISTANCE * sizeof(int64),
						 &zone->smallest, sizeof(int64)))
		return false;
	if (!sware_pool_has_stamp(&zone->allocation, zone->stamp))
		return false;
	zone->retiredPages = pages;
	zone->firstEntry = start;
	return start < zone->entries;
}
