/*-------------------------------------------------------------------------
 *
 * zonereader.c
 *	  Reading a sorted zone in the order of a scan.  See zonereader.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "cursor/zonereader.h"
#include "layout/tuple.h"

/* the number of entries that are copied at once, at first */
#define FIRST_COPIED		4

/* Initialise a reader, which will read from the first entry on. */
void
sware_zone_reader_init(SwareZoneReader *reader, Relation index,
					   const SwareSortedZone *zone, bool forward,
					   bool leaves_out_marked)
{
	reader->index = index;
	reader->zone = zone;
	reader->forward = forward;
	reader->leavesOutMarked = leaves_out_marked;
	reader->leftOut = 0;
	reader->most = FIRST_COPIED;
	reader->position = 0;
	reader->copied = 0;
}

bool
sware_zone_reader_seek(SwareZoneReader *reader, const SwareSearchKey *place)
{
	const SwareSortedZone *zone = reader->zone;
	int64		number;

	if (reader->copied > 0)
		reader->position++;
	reader->copied = 0;
	if (place->columnCount == 0)
		return true;			/* the place is where the zone begins */
	number = sware_sorted_zone_search(reader->index, zone, place);
	if (number < 0)
		return false;
	reader->position = Max(reader->position,
						   reader->forward ? number - zone->firstEntry :
						   zone->endEntry - number);
	return true;
}

/*
 * Copy `copied` entries to memory, the first of which has this number, and
 * leave out those of retired pages.  Returns false if the zone is gone.
 */
static bool
copy_from(SwareZoneReader *reader, uint32 first)
{
	const SwareSortedZone *zone = reader->zone;
	char	   *memory = reader->memory.bytes;
	bool		is_retired[SWARE_MAX_COPIED];
	int			last = reader->forward ? reader->copied - 1 : 0;

	if (!sware_sorted_zone_copy_tuples(zone, first, reader->copied, memory))
		return false;
	if (zone->retiredPages > 0 &&
		!sware_sorted_zone_find_retired(zone, first, reader->copied,
										is_retired))
		return false;

	for (int i = 0; i < reader->copied; i++)
	{
		IndexTuple	entry = (IndexTuple) memory;
		bool		is_marked = sware_entry_is_marked(entry);

		memory += MAXALIGN(IndexTupleSize(entry));
		if (zone->retiredPages > 0 && is_retired[i])
			continue;
		if (is_marked && reader->leavesOutMarked && i != last)
		{
			reader->leftOut++;
			continue;
		}
		reader->copies[reader->count].entry = entry;
		reader->copies[reader->count].isMarked = is_marked;
		reader->copies[reader->count].number = first + i;
		reader->count++;
		sware_clear_mark(entry);
	}
	return true;
}

bool
sware_zone_reader_copy(SwareZoneReader *reader)
{
	const SwareSortedZone *zone = reader->zone;
	Size		size = zone->entrySize > 0 ? zone->entrySize :
		MAXALIGN(SWARE_MAX_ENTRY_SIZE);
	int64		left;

	reader->position += reader->copied;
	left = (int64) zone->endEntry - zone->firstEntry - reader->position;
	reader->copied = Max(Min(Min(reader->most, left), (int64) (BLCKSZ / size)),
						 0);
	reader->count = 0;
	if (reader->copied == 0)
		return true;
	reader->most = Min(2 * reader->most, SWARE_MAX_COPIED);

	if (reader->forward)
		return copy_from(reader, zone->firstEntry + reader->position);
	if (!copy_from(reader, zone->endEntry - reader->position - reader->copied))
		return false;
	for (int i = 0, j = reader->count - 1; i < j; i++, j--)
	{
		SwareZoneCopy copy = reader->copies[i];

		reader->copies[i] = reader->copies[j];
		reader->copies[j] = copy;
	}
	return true;
}
