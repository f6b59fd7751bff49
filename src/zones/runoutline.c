/*-------------------------------------------------------------------------
 *
 * runoutline.c
 *	  Making outlines of page runs.  See runoutline.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/memory.h"
#include "keys/abbreviation.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "zones/runoutline.h"
#include "zones/zonetable.h"

/*
 * Copy a listed page that is to be in an outline.  Returns false if it is not
 * there any more, or has no entries.
 */
static bool
copy_page(Relation index, const SwareListedPage *listed, Page copy)
{
	CHECK_FOR_INTERRUPTS();
	return listed->entries > 0 &&
		sware_copy_buffer_page(index, listed->page, copy) &&
		sware_buffer_page_is_sorted(copy) &&
		sware_buffer_page_end(copy) > SWARE_BUFFER_START;
}

/* The abbreviation of the first entry of a page, or of the last one. */
static int64
abbreviate_end(Relation index, const SwareListedPage *listed, Page page,
			   bool last)
{
	SwareKeyColumn column;
	IndexTuple	entry;
	Size		offset = SWARE_BUFFER_START;

	do
		entry = sware_buffer_entry(index, listed->page.block, page, &offset);
	while (last && offset < sware_buffer_page_end(page));
	sware_key_column_init(&column, index, 1, (Datum) 0, true);
	return sware_abbreviate(&column, RelationGetDescr(index), entry);
}

/* Set what an outline has: where its pages are, and how many entries. */
static void
fill_image(const SwareListedPage *listed, int count, SwareZoneImage *image)
{
	SwareSortedZone *zone = &image->zone;
	SwareLink  *links;
	uint32	   *starts;

	zone->isOfRun = zone->isOutline = true;
	zone->pages = count;
	zone->firstSequence = listed[0].sequence;
	zone->lastSequence = listed[count - 1].sequence;
	zone->largestEntry = MAXALIGN(SWARE_MAX_ENTRY_SIZE);
	zone->startsStart = count * sizeof(SwareLink);
	zone->endsStart = TYPEALIGN(sizeof(SwareMarkedEnds), zone->startsStart +
								(count + 1) * sizeof(uint32));
	image->length = zone->endsStart + sizeof(SwareMarkedEnds);
	image->bytes = palloc0(image->length);
	links = (SwareLink *) image->bytes;
	starts = (uint32 *) (image->bytes + zone->startsStart);
	for (int i = 0; i < count; i++)
	{
		links[i] = listed[i].page;
		starts[i] = zone->entries;
		zone->entries += listed[i].entries;
	}
	starts[count] = zone->entries;
	((SwareMarkedEnds *) (image->bytes + zone->endsStart))->end = zone->entries;
}

/*
 * How many of the listed pages, of which the first is a sorted one, are of its
 * run, follow each other, and are to be in outlines?
 */
static int
count_pages(const SwareListedPage *listed, const bool *is_sorted, int count,
			uint32 run_end)
{
	int			pages = 1;

	count = Min(count, SWARE_MAX_ZONE_PAGES);
	while (pages < count && listed[pages].isSorted && !is_sorted[pages] &&
		   listed[pages].entries > 0 &&
		   listed[pages].sequence == listed[pages - 1].sequence + 1 &&
		   (int32) (listed[pages].sequence - run_end) <= 0)
		pages++;
	return pages;
}

/*
 * Make the outline of the page run that a listed page is of, as far as its
 * pages follow that one.  Returns their number; 0 if a page that is read for it
 * is not there any more.
 */
static int
make_outline(Relation index, const SwareListedPage *listed,
			 const bool *is_sorted, int count, SwareZoneImage *image)
{
	const SwareListedPage *last;
	PGAlignedBlock copy;
	int64		smallest;

	if (!copy_page(index, listed, copy.data))
		return 0;
	smallest = abbreviate_end(index, listed, copy.data, false);
	count = count_pages(listed, is_sorted, count,
						sware_page_run_end(copy.data, listed->sequence));
	last = &listed[count - 1];
	if (count > 1 && !copy_page(index, last, copy.data))
		return 0;
	memset(image, 0, sizeof(SwareZoneImage));
	fill_image(listed, count, image);
	image->zone.lastSeal = SwarePageGetOpaque(copy.data)->seal;
	image->zone.smallest = smallest;
	image->zone.largest = abbreviate_end(index, last, copy.data, true);
	return count;
}

void
sware_outlines_make(Relation index, const SwareListedPage *listed, int count,
					bool *is_sorted, SwareOutlines *outlines)
{
	int			pages;

	memset(outlines, 0, sizeof(SwareOutlines));
	for (int i = 0; i < count; i += pages)
	{
		pages = 1;
		if (!listed[i].isSorted || is_sorted[i])
			continue;
		if (outlines->count == outlines->allocated)
			sware_grow(outlines->images, outlines->allocated, 32,
					   CurrentMemoryContext);
		pages = make_outline(index, listed + i, is_sorted + i, count - i,
							 &outlines->images[outlines->count]);
		if (pages == 0)
		{
			pages = 1;
			continue;
		}
		memset(is_sorted + i, true, pages);
		outlines->count++;
		outlines->pages += pages;
	}
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

bool
sware_outlines_store(SwareOutlines *outlines, SwareZoneView *view)
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
			sware_outlines_free(outlines);
			return false;
		}
	}
	for (int i = 0; i < outlines->count; i++)
		add_to_view(view, &outlines->images[i].zone);
	return true;
}

void
sware_outlines_free(SwareOutlines *outlines)
{
	for (int i = 0; i < outlines->count; i++)
		sware_pool_free(&outlines->images[i].zone.allocation);
}
