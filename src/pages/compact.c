/*-------------------------------------------------------------------------
 *
 * compact.c
 *	  Gaps between the items of a page, and how they become free space.  See
 *	  compact.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/itup.h"

#include "layout/page.h"
#include "pages/compact.h"

/* an item, by its line pointer, or a gap */
typedef struct Extent
{
	LocationIndex start;
	LocationIndex size;			/* MAXALIGNed */
	OffsetNumber offset;		/* of the item */
} Extent;

/* The items of a page by where they lie, and the gaps between them. */
typedef struct Layout
{
	int			itemCount;
	Extent		items[SWARE_MAX_ITEMS_PER_PAGE];	/* lowest first */
	int			gapCount;
	Extent		gaps[SWARE_MAX_ITEMS_PER_PAGE + 1]; /* lowest first */
} Layout;

static int
compare_extents(const void *a, const void *b)
{
	return (int) ((const Extent *) a)->start -
		(int) ((const Extent *) b)->start;
}

/* Find out where the items of a page lie. */
static void
find_items(Page page, Layout *layout)
{
	layout->itemCount = 0;

	/* as a rule, the last item is the lowest, so there is nothing to sort */
	for (OffsetNumber offset = PageGetMaxOffsetNumber(page);
		 offset >= SWARE_HIGH_KEY; offset--)
	{
		ItemId		line_pointer = PageGetItemId(page, offset);
		Extent	   *item = &layout->items[layout->itemCount];

		if (!ItemIdHasStorage(line_pointer))
			continue;
		item->start = ItemIdGetOffset(line_pointer);
		item->size = MAXALIGN(ItemIdGetLength(line_pointer));
		item->offset = offset;
		layout->itemCount++;
	}
	qsort(layout->items, layout->itemCount, sizeof(Extent), compare_extents);
}

/* Find out where the gaps are, and how many bytes they have. */
static Size
find_gaps(Page page, Layout *layout)
{
	LocationIndex end = ((PageHeader) page)->pd_upper;
	Size		total = 0;

	layout->gapCount = 0;
	for (int i = 0; i <= layout->itemCount; i++)
	{
		LocationIndex start = i < layout->itemCount ? layout->items[i].start :
			((PageHeader) page)->pd_special;

		if (start > end)
		{
			Extent	   *gap = &layout->gaps[layout->gapCount++];

			gap->start = end;
			gap->size = start - end;
			gap->offset = InvalidOffsetNumber;
			total += gap->size;
		}
		if (i < layout->itemCount)
			end = layout->items[i].start + layout->items[i].size;
	}
	return total;
}

Size
sware_gap_space(Page page)
{
	PageHeader	header = (PageHeader) page;
	Size		used = 0;

	for (OffsetNumber offset = SWARE_HIGH_KEY;
		 offset <= PageGetMaxOffsetNumber(page); offset++)
	{
		ItemId		line_pointer = PageGetItemId(page, offset);

		if (ItemIdHasStorage(line_pointer))
			used += MAXALIGN(ItemIdGetLength(line_pointer));
	}
	/* on a damaged page, items may overlap */
	return Max((Size) (header->pd_special - header->pd_upper), used) - used;
}

/* Is there room for an item between line pointers and items? */
static inline bool
has_room(Page page, Size size)
{
	PageHeader	header = (PageHeader) page;

	return header->pd_lower + size <= header->pd_upper;
}

/*
 * Move the item at the edge of the hole into the highest gap that has room for
 * it; false if none has.
 */
static bool
move_into_gap(Page page, Layout *layout, int first_item)
{
	Extent	   *item = &layout->items[first_item];

	for (int i = layout->gapCount - 1; i >= 0; i--)
	{
		Extent	   *gap = &layout->gaps[i];
		ItemId		line_pointer;

		if (gap->start < item->start)
			return false;
		if (gap->size < item->size)
			continue;
		gap->size -= item->size;
		line_pointer = PageGetItemId(page, item->offset);
		memcpy((char *) page + gap->start + gap->size,
			   (char *) page + item->start, item->size);
		line_pointer->lp_off = gap->start + gap->size;
		return true;
	}
	return false;
}

/* Does each item end before the next one, the last before the special space? */
static bool
are_apart(const Layout *layout, LocationIndex special)
{
	for (int i = 0; i < layout->itemCount; i++)
	{
		const Extent *item = &layout->items[i];
		bool		is_last = i + 1 == layout->itemCount;

		if (item->start + item->size > (is_last ? special : item[1].start))
			return false;
	}
	return true;
}

void
sware_close_gaps(Page page)
{
	PageHeader	header = (PageHeader) page;
	Layout		layout;

	find_items(page, &layout);
	if (!are_apart(&layout, header->pd_special))
		return;
	header->pd_upper = header->pd_special;
	for (int i = layout.itemCount - 1; i >= 0; i--)
	{
		Extent	   *item = &layout.items[i];

		header->pd_upper -= item->size;
		memmove((char *) page + header->pd_upper, (char *) page + item->start,
				item->size);
		PageGetItemId(page, item->offset)->lp_off = header->pd_upper;
	}
}

bool
sware_compact_page(Page page, Size size, Size wanted)
{
	PageHeader	header = (PageHeader) page;
	Layout		layout;
	int			moved = 0;

	find_items(page, &layout);
	if (header->pd_lower + size > header->pd_upper + find_gaps(page, &layout))
		return false;

	/* what lies at the edge already may be a gap */
	header->pd_upper = layout.itemCount > 0 ? layout.items[0].start :
		header->pd_special;
	while (!has_room(page, wanted) && moved < layout.itemCount &&
		   move_into_gap(page, &layout, moved))
	{
		moved++;
		header->pd_upper = moved < layout.itemCount ?
			layout.items[moved].start : header->pd_special;
	}

	/* an item that was moved may lie below the next one in the array */
	if (moved > 0)
	{
		find_items(page, &layout);
		header->pd_upper = layout.items[0].start;
	}

	/* items of different sizes may leave gaps that none of them fits */
	if (!has_room(page, size))
		sware_close_gaps(page);
	return has_room(page, size);
}
