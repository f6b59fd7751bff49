/*-------------------------------------------------------------------------
 *
 * listreader.c
 *	  Reading a list of entries in the order of a scan.  See listreader.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "cursor/listreader.h"
#include "layout/tuple.h"

/* the number of entries that are copied at once, at first */
#define FIRST_COPIED		4

static void
init(SwareListReader *reader, Relation index, bool forward)
{
	reader->index = index;
	reader->zone = NULL;
	reader->entrySize = MAXALIGN(SWARE_MAX_ENTRY_SIZE);
	reader->forward = forward;
	reader->leavesOutMarked = false;
	reader->leftOut = 0;
	reader->passedOver = 0;
	reader->most = FIRST_COPIED;
	reader->position = 0;
	reader->copied = 0;
	sware_run_window_init(&reader->window);
}

void
sware_list_reader_init_zone(SwareListReader *reader, Relation index,
							const SwareSortedZone *zone, bool forward,
							bool leaves_out_marked)
{
	init(reader, index, forward);
	reader->zone = zone;
	sware_sorted_zone_interval(zone, leaves_out_marked, &reader->begin,
							   &reader->end);
	if (reader->begin == reader->end)
		reader->passedOver = (int64) zone->entries - zone->firstEntry;
	else
		reader->passedOver = forward ? reader->begin - zone->firstEntry :
			zone->entries - reader->end;
	reader->leavesOutMarked = leaves_out_marked;
	reader->entrySize = zone->largestEntry;
}

void
sware_list_reader_init_run(SwareListReader *reader, Relation index,
						   const SwareStagedRun *run, uint64 stamp,
						   bool forward)
{
	init(reader, index, forward);
	reader->run = *run;
	reader->stamp = stamp;
	reader->begin = 0;
	reader->end = run->count;
	reader->entrySize = run->entrySize;
}

bool
sware_list_reader_seek(SwareListReader *reader, const SwareSearchKey *place)
{
	int64		position = -reader->passedOver; /* where the list begins */

	if (reader->copied > 0)
		reader->position++;
	reader->copied = 0;
	reader->most = FIRST_COPIED;
	if (place->columnCount > 0)
	{
		int64		number = reader->zone ?
			sware_sorted_zone_search(reader->index, reader->zone, place,
									 &reader->window) :
			sware_staged_run_search(reader->index, &reader->run, reader->stamp,
									place);

		if (number < 0)
			return false;
		position = reader->forward ? number - reader->begin :
			reader->end - number;
	}
	if (position < 0)
		reader->leftOut += Min(-position, reader->passedOver);
	reader->position = Max(reader->position, position);
	return true;
}

/*
 * Copy `copied` entries of the sorted zone to memory, the first of which has
 * this number, and leave out those of retired pages; of a page run, none is
 * before the first entry that counts.  Returns false if the zone is gone.
 */
static bool
copy_from_zone(SwareListReader *reader, int64 first)
{
	const SwareSortedZone *zone = reader->zone;
	char	   *memory = reader->memory.bytes;
	uint16		origins[SWARE_MAX_COPIED];
	bool		has_retired = zone->retiredPages > 0 && !zone->isOfRun;
	int			last = reader->forward ? reader->copied - 1 : 0;

	if (!sware_sorted_zone_copy_tuples(reader->index, zone, first,
									   reader->copied, memory,
									   &reader->window))
		return false;
	if (has_retired &&
		!sware_sorted_zone_copy_origins(zone, first, reader->copied, origins))
		return false;

	for (int i = 0; i < reader->copied; i++)
	{
		IndexTuple	entry = (IndexTuple) memory;
		bool		is_marked = sware_entry_is_marked(entry);

		memory += MAXALIGN(IndexTupleSize(entry));
		if (has_retired && origins[i] < zone->retiredPages)
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

/* The same for a staged run, all of whose entries count. */
static bool
copy_from_run(SwareListReader *reader, int64 first)
{
	char	   *memory = reader->memory.bytes;

	if (reader->stamp != sware_staging_stamp())
		return false;
	for (int i = 0; i < reader->copied; i++)
	{
		IndexTuple	entry = reader->run.items[first + i].entry;

		sware_copy_tuple(memory, entry);
		reader->copies[i].entry = (IndexTuple) memory;
		reader->copies[i].isMarked = false;
		reader->copies[i].number = first + i;
		memory += MAXALIGN(IndexTupleSize(entry));
	}
	reader->count = reader->copied;
	return true;
}

bool
sware_list_reader_copy(SwareListReader *reader)
{
	int64		left;
	int64		first;

	reader->position += reader->copied;
	left = reader->end - reader->begin - reader->position;
	reader->copied = Max(Min(Min(reader->most, left),
							 (int64) (BLCKSZ / reader->entrySize)), 0);
	reader->count = 0;
	if (reader->copied == 0)
		return true;
	reader->most = Min(2 * reader->most, SWARE_MAX_COPIED);

	first = reader->forward ? reader->begin + reader->position :
		reader->end - reader->position - reader->copied;
	if (!(reader->zone ? copy_from_zone(reader, first) :
		  copy_from_run(reader, first)))
		return false;
	for (int i = 0, j = reader->count - 1; !reader->forward && i < j; i++, j--)
	{
		SwareListCopy copy = reader->copies[i];

		reader->copies[i] = reader->copies[j];
		reader->copies[j] = copy;
	}
	return true;
}
