/*-------------------------------------------------------------------------
 *
 * taking.c
 *	  Taking those entries of pages, sorted zones and staging into a buffer
 *	  cursor's batch that are wanted.
 *
 * A *list* is a sorted zone, or a staged run.  Its entries have numbers in the
 * order of the index.  A few of them are copied at a time, in the order of the
 * scan.  A list can go while it is read, since its memory is used for something
 * else.
 *
 * Comparators and conditions are evaluated, so callers hold no locks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/snapmgr.h"

#include "cursor/buffercursor.h"
#include "layout/tuple.h"
#include "shared/statistics.h"

/* so many entries of a list are copied at once, at first and at most */
#define FIRST_COPIED		4
#define MOST_COPIED			64

/*
 * A list's entries are skipped if their keys tell that they cannot qualify
 * (skip.c).  To seek in a list costs as much as to look at MANY_SKIPPED
 * entries.  After an attempt that has skipped fewer, this looks at twice as
 * many entries before it tries again, and at MAX_PATIENCE at most.
 */
#define MANY_SKIPPED	32
#define MAX_PATIENCE	128

/*
 * A scan leaves up to this number of newest entries unsorted: it looks at their
 * abbreviations, or calls comparators if there are none.
 */
#define MOST_NEWEST				32
#define MOST_NEWEST_COMPARED	8

/* the source of entries that are in staging */
static const SwareEntrySource staging_source = {
	.page = {InvalidBlockNumber, 0}
};

typedef struct ListReader
{
	SwareBufferCursor *cursor;
	bool		forward;
	const SwareSortedZone *zone;	/* the list; or NULL: it is a staged run */
	SwareStagedRun run;
	uint64		stamp;			/* the run is valid as long as this is
								 * staging's */
	int64		begin;			/* number of the first entry that counts */
	int64		end;			/* number behind the last that counts */
	bool		leavesOut;		/* are marked entries left out? */
	Size		entrySize;		/* in bytes, of the largest entry */
	int			most;			/* the number of entries to copy next */
	int64		position;		/* of the next entry, counted from `begin` or,
								 * if the scan goes backward, from `end` */
	SwareWindow window;
} ListReader;

static void
init(ListReader *reader, SwareBufferCursor *cursor)
{
	reader->cursor = cursor;
	reader->forward = cursor->filter.order.forward;
	reader->zone = NULL;
	reader->leavesOut = false;
	reader->most = FIRST_COPIED;
	reader->position = 0;
	sware_window_init(&reader->window);
}

/*
 * Go on with the next entry that is not before `place`.  Returns false if the
 * list is gone.  Calls comparators.
 */
static bool
seek(ListReader *reader, const SwareSearchKey *place)
{
	Relation	index = reader->cursor->filter.order.index;

	reader->most = FIRST_COPIED;
	if (place->columnCount > 0)
	{
		int64		number = reader->zone ?
			sware_sorted_zone_search(index, reader->zone, place,
									 &reader->window) :
			sware_staged_run_search(index, &reader->run, reader->stamp, place);

		if (number < 0)
			return false;
		reader->position = Max(reader->position,
							   reader->forward ? number - reader->begin :
							   reader->end - number);
	}
	return true;
}

/* Copy entries of the staged run.  Returns false if it is gone. */
static bool
copy_from_run(ListReader *reader, uint32 first, uint32 count)
{
	SwareWindow *window = &reader->window;
	Size		offset = 0;

	if (reader->stamp != sware_staging_stamp())
		return false;
	window->first = first;
	window->count = count;
	for (uint32 i = 0; i < count; i++)
	{
		IndexTuple	entry = reader->run.items[first + i].entry;

		sware_copy_tuple(window->copy.bytes + offset, entry);
		window->offsets[i] = offset;
		offset += MAXALIGN(IndexTupleSize(entry));
	}
	return true;
}

/*
 * Go to the next entry: *entry is its copy, or NULL if none is left.  Returns
 * false if the list is gone.
 */
static inline bool
next_entry(ListReader *reader, uint32 *number, IndexTuple *entry)
{
	int64		left = reader->end - reader->begin - reader->position;

	*entry = NULL;
	if (left <= 0)
		return true;
	*number = reader->forward ? reader->begin + reader->position :
		reader->end - reader->position - 1;
	if (!sware_window_has(&reader->window, *number))
	{
		uint32		count = Min(Min(reader->most, left),
								(int64) (BLCKSZ / reader->entrySize));
		uint32		first = reader->forward ? *number : *number + 1 - count;

		reader->most = Min(2 * reader->most, MOST_COPIED);
		if (!(reader->zone ?
			  sware_sorted_zone_get(reader->cursor->filter.order.index,
									reader->zone, first, first + count,
									reader->forward, &reader->window) :
			  copy_from_run(reader, first, count)))
			return false;
	}
	*entry = sware_window_entry(&reader->window, *number);
	reader->position++;
	return true;
}

/* Take an entry if it is wanted.  The source of *found has been set. */
static inline void
take_if_wanted(SwareBufferCursor *cursor, IndexTuple entry,
			   SwareBufferedEntry *found)
{
	SwareScanFilter *filter = &cursor->filter;

	found->item = sware_scan_order_item(&filter->order, entry);
	if (found->item.abbreviation <= filter->last &&
		sware_batch_wants(&cursor->batch, &found->item) &&
		sware_scan_filter_side(filter, &found->item) == SWARE_IN_RANGE &&
		sware_scan_filter_is_behind_place(filter, &found->item) &&
		sware_scan_keys_satisfy(filter->keys, entry))
		(void) sware_batch_add(&cursor->batch, found, false);
}

void
sware_take_candidates(SwareBufferCursor *cursor,
					  const SwareCandidates *candidates)
{
	SwareBufferedEntry found = {.source.page = candidates->page};
	IndexTuple	entry = (IndexTuple) candidates->memory.bytes;

	for (int i = 0; i < candidates->count; i++)
	{
		found.source.number = candidates->offsets[i];
		take_if_wanted(cursor, entry, &found);
		entry = (IndexTuple)
			((char *) entry + MAXALIGN(IndexTupleSize(entry)));
	}
}

/*
 * Let a reader go on where the next entry of the ranges can satisfy the
 * conditions, behind one that does not.  Sets *patience to the number of such
 * entries in a row after which to try again.  Returns false if the list is
 * gone.  Calls comparators.
 */
static bool
skip_entries(SwareScanFilter *filter, ListReader *reader, IndexTuple entry,
			 uint32 number, int *patience)
{
	SwareScanKeys *keys = filter->keys;
	bool		forward = filter->order.forward;
	int64		next_range = keys->range + (forward ? 1 : -1);
	int64		skipped;
	SwareSearchKey place;
	SwareEntryCopy copy;		/* the search may fill the window anew */

	sware_copy_tuple(&copy, entry);
	switch (sware_skip_from_tuple(keys, &copy.tuple, forward, &place))
	{
		case SWARE_SKIP_HERE:
			*patience = Min(2 * *patience, MAX_PATIENCE);
			return true;
		case SWARE_SKIP_NONE:
			if (next_range < 0 || next_range == keys->rangeCount)
			{
				reader->position = reader->end - reader->begin;
				return true;
			}
			sware_scan_keys_set_range(keys, next_range);
			if (!seek(reader, sware_scan_filter_range_begin(filter)))
				return false;
			break;
		case SWARE_SKIP_AHEAD:
			if (!seek(reader, &place))
				return false;
			break;
	}
	skipped = forward ? reader->begin + reader->position - number :
		number - (reader->end - reader->position - 1);
	*patience = skipped >= MANY_SKIPPED ? 1 : Min(2 * *patience, MAX_PATIENCE);
	return true;
}

/*
 * Take the wanted entries of a list, which is without duplicates, and count
 * them in *taken: `most` of them, and those that have the abbreviation of the
 * last one.  The reader has been initialised; `source` is that of the entries.
 * Returns false if the list is gone.
 */
static bool
take_from_list(SwareBufferCursor *cursor, ListReader *reader,
			   SwareEntrySource source, int most, int *taken)
{
	SwareScanFilter *filter = &cursor->filter;
	SwareScanKeys *keys = filter->keys;
	bool		forward = filter->order.forward;
	bool		needs_page = !IsMVCCSnapshot(cursor->scan->xs_snapshot);
	SwareBufferedEntry found = {.source = source};
	int64		previous = 0;	/* abbreviation of the last one taken */
	bool		follows = false;
	int			patience = 1;
	int			failures = 0;

	CHECK_FOR_INTERRUPTS();
	*taken = 0;
	sware_scan_keys_set_range(keys, forward ? 0 : keys->rangeCount - 1);
	if (!seek(reader, filter->hasPlace ? &filter->place :
			  sware_scan_filter_range_begin(filter)))
		return false;

	for (;;)
	{
		IndexTuple	entry;
		bool		is_marked;
		SwareRangeSide side;

		if (!next_entry(reader, &found.source.number, &entry))
			return false;
		if (entry == NULL)
			return true;
		is_marked = filter->usesMarks && sware_entry_is_marked(entry);
		if (is_marked &&
			sware_window_has(&reader->window,
							 found.source.number + (forward ? 1 : -1)))
		{
			/* but the last one tells whether a range has ended */
			reader->leavesOut = true;
			continue;
		}
		sware_clear_mark(entry);
		found.item = sware_scan_order_item(&filter->order, entry);
		if (found.item.abbreviation > filter->last ||
			!sware_batch_wants(&cursor->batch, &found.item))
			return true;
		if (*taken >= most && found.item.abbreviation > previous)
		{
			filter->last = previous;
			cursor->batch.hasMore = true;
			return true;
		}
		side = sware_scan_filter_side(filter, &found.item);
		if (side == SWARE_BEHIND_RANGES)
			return true;
		if (side == SWARE_BEFORE_RANGE)
		{
			if (!seek(reader, sware_scan_filter_range_begin(filter)))
				return false;
			continue;
		}
		if (is_marked)
		{
			reader->leavesOut = true;
			continue;
		}
		if (!sware_scan_keys_satisfy(keys, entry))
		{
			if (keys->skip && ++failures >= patience)
			{
				failures = 0;
				if (!skip_entries(filter, reader, entry, found.source.number,
								  &patience))
					return false;
			}
			continue;
		}
		failures = 0;
		if (needs_page &&
			!sware_sorted_zone_copy_page(reader->zone, found.source.number,
										 &found.source.page))
			return false;

		previous = found.item.abbreviation;
		follows = sware_batch_add(&cursor->batch, &found, follows);
		if (++*taken > cursor->batch.limit)
		{
			/* all later ones of this list are worse */
			cursor->batch.hasMore = true;
			return true;
		}
	}
}

bool
sware_take_zone(SwareBufferCursor *cursor, const SwareSortedZone *zone,
				int most, SwareLink *strange)
{
	SwareScanFilter *filter = &cursor->filter;
	SwareEntrySource source = {.page = {InvalidBlockNumber, 0},
	.zone = zone - cursor->view.zones.sorted + 1};
	int			taken;
	ListReader	reader;

	cursor->reads.zones++;
	init(&reader, cursor);
	reader.zone = zone;
	reader.entrySize = zone->largestEntry;
	sware_sorted_zone_interval(zone, filter->usesMarks, &reader.begin,
							   &reader.end);
	reader.leavesOut =
		reader.end - reader.begin < (int64) zone->entries - zone->firstEntry;
	if (!take_from_list(cursor, &reader, source, most, &taken))
	{
		*strange = reader.window.strange;
		return false;
	}

	/* Behind a place there may be no entries although the value exists. */
	if (taken == 0 && !reader.leavesOut && !filter->hasPlace &&
		filter->hasHash && sware_sorted_zone_has_filter(zone, filter->hash))
		sware_count(filter->order.index, SWARE_STAT_BLOOM_FALSE_POSITIVES, 1);
	return true;
}

/* Take the wanted entries of a staged run.  Returns false if it is gone. */
static bool
take_from_run(SwareBufferCursor *cursor, const SwareStagedRun *run,
			  uint64 stamp)
{
	SwareScanFilter *filter = &cursor->filter;
	ListReader	reader;
	int64		first;
	int			taken;

	if (!sware_scan_filter_wants_some(filter, run->items[0].abbreviation,
									  run->items[run->count - 1].abbreviation,
									  &first))
		return true;
	init(&reader, cursor);
	reader.run = *run;
	reader.stamp = stamp;
	reader.begin = 0;
	reader.end = run->count;
	reader.entrySize = run->entrySize;
	return take_from_list(cursor, &reader, staging_source, PG_INT32_MAX,
						  &taken);
}

/*
 * Take the wanted ones of a staging's newest entries, which begin at a place of
 * its chain.  Returns false if staging has changed since it had this stamp.
 */
static bool
take_newest(SwareBufferCursor *cursor, SwareStaging *staging,
			SwareChainPlace place, uint64 stamp)
{
	const SwareScanFilter *filter = &cursor->filter;
	TupleDesc	descriptor = RelationGetDescr(filter->order.index);
	const SwareEntryChain *chain = &staging->entries;
	SwareChainPlace end = sware_chain_end(chain);	/* functions may add more */
	SwareBufferedEntry found = {.source = staging_source};
	SwareEntryCopy copy;

	while (place.bin != end.bin || place.used != end.used)
	{
		IndexTuple	entry = sware_chain_next(chain, &place);
		int64		abbreviation =
			sware_abbreviate(&filter->order.column, descriptor, entry);

		if (abbreviation < filter->first || abbreviation > filter->last)
			continue;
		sware_copy_tuple(&copy, entry);
		take_if_wanted(cursor, &copy.tuple, &found);
		if (stamp != sware_staging_stamp())
			return false;
	}
	return true;
}

bool
sware_take_staged(SwareBufferCursor *cursor)
{
	const SwareScanOrder *order = &cursor->filter.order;
	SwareStaging *staging = sware_find_staging(order->index);
	const SwareStagedRuns *runs;
	uint64		stamp;

	if (staging == NULL)
		return true;
	runs = sware_staged_runs(staging, order->index,
							 sware_has_abbreviations(&order->column) ?
							 MOST_NEWEST : MOST_NEWEST_COMPARED);
	if (runs == NULL)
		return false;
	stamp = sware_staging_stamp();
	for (int i = 0; i < runs->count; i++)
	{
		if (!take_from_run(cursor, &runs->runs[i], stamp) ||
			stamp != sware_staging_stamp())
			return false;
	}
	return take_newest(cursor, staging, sware_newest_begin(runs), stamp);
}
