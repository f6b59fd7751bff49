/*-------------------------------------------------------------------------
 *
 * taking.c
 *	  Taking those entries of pages, lists and staging into a buffer cursor's
 *	  batch that are wanted; or, if the cursor has a visitor, handing them to
 *	  that.
 *
 * Comparators and conditions are evaluated, so callers hold no locks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/snapmgr.h"

#include "cursor/buffercursor.h"
#include "keys/skip.h"
#include "layout/tuple.h"
#include "staging/staging.h"

/*
 * A list's entries are skipped if their keys tell that they cannot qualify
 * (skip.h).  To seek in a list costs as much as to look at MANY_SKIPPED
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

/* Take a wanted entry; `follows` and result are as for sware_batch_add. */
static inline bool
take(SwareBufferCursor *cursor, const SwareBufferedEntry *found, bool follows)
{
	SwareVisitor *visitor = cursor->visitor;

	if (visitor == NULL)
		return sware_batch_add(&cursor->batch, found, follows);
	visitor->visit(&found->item.entry->t_tid, visitor->state);
	visitor->visited++;
	return false;
}

void
sware_take_candidates(SwareBufferCursor *cursor,
					  const SwareCandidates *candidates)
{
	SwareScanFilter *filter = &cursor->filter;
	SwareBufferedEntry found = {.source.page = candidates->page};
	IndexTuple	entry = (IndexTuple) candidates->memory.bytes;

	for (int i = 0; i < candidates->count; i++)
	{
		Size		size = MAXALIGN(IndexTupleSize(entry));

		found.item = sware_scan_order_item(&filter->order, entry);
		if (candidates->page.block != InvalidBlockNumber)
			found.source.number = candidates->offsets[i];
		entry = (IndexTuple) ((char *) entry + size);
		if (found.item.abbreviation <= filter->last &&
			sware_batch_wants(&cursor->batch, &found.item) &&
			sware_scan_filter_side(filter, &found.item) == SWARE_IN_RANGE &&
			sware_scan_filter_is_behind_place(filter, &found.item) &&
			sware_scan_filter_satisfies(filter, &found.item))
			(void) take(cursor, &found, false);
	}
}

/* What came of an attempt to skip entries of a list. */
typedef enum Skipped
{
	SKIPPED_NONE,				/* the next entry may qualify */
	SKIPPED_SOME,				/* the reader goes on further behind */
	SKIPPED_ALL,				/* none of the others qualifies */
	SKIPPED_GONE				/* the list is gone */
} Skipped;

/*
 * Let a reader go on where the next entry of the ranges can satisfy the
 * conditions, behind one that does not.  Tries this after *patience such
 * entries in a row.  Calls comparators.
 */
static Skipped
skip_entries(SwareScanFilter *filter, SwareListReader *reader,
			 const SwareListCopy *copy, int *patience)
{
	SwareScanKeys *keys = filter->keys;
	bool		forward = filter->order.forward;
	int64		next_range = keys->range + (forward ? 1 : -1);
	int64		skipped;
	SwareSearchKey place;

	switch (sware_skip_from_tuple(keys, copy->entry, forward, &place))
	{
		case SWARE_SKIP_HERE:
			*patience = Min(2 * *patience, MAX_PATIENCE);
			return SKIPPED_NONE;
		case SWARE_SKIP_NONE:
			if (next_range < 0 || next_range == keys->rangeCount)
				return SKIPPED_ALL;
			sware_scan_keys_set_range(keys, next_range);
			if (!sware_list_reader_seek(reader,
										sware_scan_filter_range_begin(filter)))
				return SKIPPED_GONE;
			break;
		case SWARE_SKIP_AHEAD:
			if (!sware_list_reader_seek(reader, &place))
				return SKIPPED_GONE;
			break;
	}
	skipped = forward ? reader->begin + reader->position - copy->number :
		copy->number - (reader->end - reader->position - 1);
	*patience = skipped >= MANY_SKIPPED ? 1 : Min(2 * *patience, MAX_PATIENCE);
	return SKIPPED_SOME;
}

bool
sware_take_from_list(SwareBufferCursor *cursor, SwareListReader *reader,
					 SwareEntrySource source, int *taken)
{
	SwareScanFilter *filter = &cursor->filter;
	SwareScanKeys *keys = filter->keys;
	bool		forward = filter->order.forward;
	bool		needs_page = cursor->visitor == NULL &&
		!IsMVCCSnapshot(cursor->scan->xs_snapshot);
	SwareBufferedEntry found = {.source = source};
	bool		follows = false;
	int			patience = 1;
	int			failures = 0;

	CHECK_FOR_INTERRUPTS();
	*taken = 0;
	sware_scan_keys_set_range(keys, forward ? 0 : keys->rangeCount - 1);
	if (!sware_list_reader_seek(reader, filter->hasPlace ? &filter->place :
								sware_scan_filter_range_begin(filter)))
		return false;

	for (;;)
	{
		if (!sware_list_reader_copy(reader))
			return false;
		cursor->leftOut += reader->leftOut;
		reader->leftOut = 0;
		if (reader->copied == 0)
			return true;
		for (int i = 0; i < reader->count; i++)
		{
			const SwareListCopy *copy = &reader->copies[i];
			SwareRangeSide side;

			found.item = sware_scan_order_item(&filter->order, copy->entry);
			found.source.number = copy->number;
			if (found.item.abbreviation > filter->last ||
				!sware_batch_wants(&cursor->batch, &found.item))
				return true;
			side = sware_scan_filter_side(filter, &found.item);
			if (side == SWARE_BEHIND_RANGES)
				return true;
			if (side == SWARE_BEFORE_RANGE)
			{
				if (!sware_list_reader_seek(reader,
											sware_scan_filter_range_begin(filter)))
					return false;
				break;
			}
			if (filter->usesMarks && copy->isMarked)
			{
				cursor->leftOut++;
				continue;
			}
			if (!sware_scan_filter_satisfies(filter, &found.item))
			{
				Skipped		skipped = SKIPPED_NONE;

				if (keys->skip && ++failures >= patience)
				{
					failures = 0;
					skipped = skip_entries(filter, reader, copy, &patience);
				}
				if (skipped == SKIPPED_NONE)
					continue;
				if (skipped == SKIPPED_SOME)
					break;
				return skipped == SKIPPED_ALL;
			}
			failures = 0;
			if (needs_page &&
				!sware_sorted_zone_copy_page(reader->zone, copy->number,
											 &found.source.page))
				return false;

			follows = take(cursor, &found, follows);
			if (++*taken > cursor->batch.limit)
			{
				/* all later ones of this list are worse */
				cursor->batch.hasMore = true;
				return true;
			}
		}
	}
}

/* Take the wanted entries of a staged run.  Returns false if it is gone. */
static bool
take_from_run(SwareBufferCursor *cursor, const SwareStagedRun *run,
			  uint64 stamp)
{
	SwareScanFilter *filter = &cursor->filter;
	SwareListReader reader;
	int64		first;
	int			taken;

	if (!sware_scan_filter_wants_some(filter, run->items[0].abbreviation,
									  run->items[run->count - 1].abbreviation,
									  &first))
		return true;
	sware_list_reader_init_run(&reader, filter->order.index, run, stamp,
							   filter->order.forward);
	return sware_take_from_list(cursor, &reader, staging_source, &taken);
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
	SwareCandidates candidates;

	candidates.page = staging_source.page;
	candidates.count = 0;
	candidates.used = 0;
	while (place.bin != end.bin || place.used != end.used)
	{
		IndexTuple	entry = sware_chain_next(chain, &place);
		int64		abbreviation =
			sware_abbreviate(&filter->order.column, descriptor, entry);
		Size		size = IndexTupleSize(entry);

		if (abbreviation < filter->first || abbreviation > filter->last)
			continue;
		if (candidates.used + size > BLCKSZ)
		{
			sware_take_candidates(cursor, &candidates);
			candidates.count = 0;
			candidates.used = 0;
			if (stamp != sware_staging_stamp())
				return false;
		}
		sware_copy_tuple(candidates.memory.bytes + candidates.used, entry);
		candidates.used += size;
		candidates.count++;
	}
	sware_take_candidates(cursor, &candidates);
	return stamp == sware_staging_stamp();
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
	return take_newest(cursor, staging, runs->end, stamp);
}
