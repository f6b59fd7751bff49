/*-------------------------------------------------------------------------
 *
 * bufferinterval.c
 *	  Where intervals of a parallel scan end if the buffer has many entries.
 *
 * The numbers of entries are estimates, and an interval may end at any entry:
 * it does no harm if the entry there has gone to the tree meanwhile, or was
 * counted twice.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "cursor/buffercursor.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "pages/bufferpages.h"

/* a part of a sorted zone */
typedef struct ZonePart
{
	SwareSortedZone *zone;
	int64		from;			/* number of its first entry */
	int64		to;				/* number of the entry behind its last one */
} ZonePart;

/*
 * Count the entries of all sorted zones between two places, and find the part
 * of a zone that has most of them.  Returns false if there are none, or a zone
 * is gone.
 */
static bool
find_largest_part(const SwareZoneView *view, const SwareSearchKey *begin,
				  const SwareSearchKey *end, int64 *total, ZonePart *largest)
{
	SwareRunWindow window;

	*total = 0;
	for (int i = 0; i < view->sortedCount; i++)
	{
		SwareSortedZone *zone = &view->sorted[i];
		ZonePart	part = {.zone = zone,.to = zone->entries};

		sware_run_window_init(&window);
		if (begin->columnCount > 0)
			part.from = sware_sorted_zone_search(view->index, zone, begin,
												 &window);
		if (end->columnCount > 0)
			part.to = sware_sorted_zone_search(view->index, zone, end, &window);
		if (part.from < 0 || part.to < 0)
			return false;
		part.from = Max(part.from, zone->firstEntry);
		part.to = Max(part.to, part.from);
		if (i == 0 || part.to - part.from > largest->to - largest->from)
			*largest = part;
		*total += part.to - part.from;
	}
	return *total > 0;
}

bool
sware_buffer_interval_end(SwareBufferCursor *cursor, bool forward,
						  const SwareSearchKey *place, IndexTuple end,
						  int entries, IndexTuple found)
{
	SwareScanKeys *keys = cursor->filter.keys;
	SwareBufferView *view = &cursor->view;
	SwareSearchKey begin_key = *place;
	SwareSearchKey end_key;
	PGAlignedBlock entry;
	SwareRunWindow window;
	ZonePart	part;
	int64		total;
	int64		distance;

	if (!sware_buffer_read_state(keys->index, &view->state) ||
		!sware_buffer_view_refresh(view))
		return false;

	if (end)
		sware_search_key_from_tuple(&end_key, keys->index, end);
	else
	{
		sware_scan_keys_set_range(keys, forward ? keys->rangeCount - 1 : 0);
		end_key = forward ? keys->high : keys->low;
	}
	if (!find_largest_part(&view->zones, forward ? &begin_key : &end_key,
						   forward ? &end_key : &begin_key, &total, &part) ||
		total < 2 * entries)
		return false;

	distance = (part.to - part.from) * (double) entries / total;
	sware_run_window_init(&window);
	if (!sware_sorted_zone_copy_tuples(keys->index, part.zone,
									   forward ? part.from + distance :
									   part.to - 1 - distance,
									   1, entry.data, &window))
		return false;
	sware_clear_mark((IndexTuple) entry.data);
	memcpy(found, entry.data, IndexTupleSize((IndexTuple) entry.data));
	return true;
}
