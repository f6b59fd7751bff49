/*-------------------------------------------------------------------------
 *
 * stagedsource.c
 *	  What is staged for an index, as a source of a buffer cursor's batches.
 *	  See stagedsource.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "cursor/stagedsource.h"
#include "layout/tuple.h"
#include "staging/stagedruns.h"

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
	const SwareEntryChain *chain = sware_staged_chain(staging);
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
