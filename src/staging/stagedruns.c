/*-------------------------------------------------------------------------
 *
 * stagedruns.c
 *	  Searching what is staged for an index, where it is.
 *
 * The first scan sorts pointers to the entries: the result is a *staged run*.
 * The entries that arrive later are the *newest* ones.  Scans look at them one
 * by one, until there are many; then the next scan makes another staged run of
 * them, and merges it with those before it that are not much larger.
 *
 * Invariants:
 *	- the staged runs have the first entries of the staging, each once;
 *	- none crosses the beginning of a segment (staging.h) that is there when it
 *	  is made.  So when a subtransaction aborts, those of earlier segments stay:
 *	  otherwise each of many that abort would have all of them sorted again.
 *
 * Comparison functions may execute SQL, which inserts into the index, publishes
 * what is staged for it, rolls back a part, or looks into it and makes staged
 * runs.  So they are called with copies of entries only, and afterwards the
 * stamp shows whether staging is still what it was.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/faultpoint.h"
#include "base/memory.h"
#include "keys/abbreviation.h"
#include "layout/tuple.h"
#include "sort/sorter.h"
#include "staging/staging.h"

/*
 * A new staged run is merged with the one before it, unless that is at least
 * this number of times larger.  So an entry is merged about once for each
 * factor of four that the staging grows by, and a search looks into about as
 * many staged runs.
 */
#define RATIO			4

uint64		sware_staged_runs_made = 0;

static inline Size
run_size(const SwareStagedRun *run)
{
	return run->count * sizeof(SwareSortItem);
}

/* Free the last staged runs, so that only the first `count` are left. */
static void
free_runs(SwareStagedRuns *runs, int count)
{
	while (runs->count > count)
	{
		SwareStagedRun *run = &runs->runs[--runs->count];

		sware_staged_bytes -= run_size(run);
		pfree(run->items);
	}
}

/* How many entries, from the first on, are in staged runs? */
static inline int64
count_covered(const SwareStagedRuns *runs)
{
	return runs->count == 0 ? 0 : runs->runs[runs->count - 1].first +
		runs->runs[runs->count - 1].count;
}

/*
 * Forget the staged runs that have other entries than the first `count` ones.
 * Raises no errors.
 */
void
sware_forget_staged_runs(SwareStaging *staging, int64 count)
{
	SwareStagedRuns *runs = &staging->runs;

	while (count_covered(runs) > count)
		free_runs(runs, runs->count - 1);
}

/*
 * The number of entries before the first segment that begins behind the
 * `count`-th entry, or of all entries if none does.
 */
static int64
next_segment(const SwareStaging *staging, int64 count)
{
	int64		next = staging->count;

	for (int i = staging->segmentCount - 1; i > 0; i--)
	{
		if (staging->segments[i].count <= count)
			break;
		next = staging->segments[i].count;
	}
	return next;
}

/*
 * Let pointers to staged entries point to copies, which can be given to
 * functions.  Before each copy is a pointer to the original.
 */
static void
copy_entries(IndexTuple *entries, int64 count)
{
	Size		bytes = NAMEDATALEN;	/* see bufferbatch.c */
	char	   *room;

	for (int64 i = 0; i < count; i++)
		bytes += MAXALIGN(sizeof(IndexTuple)) +
			MAXALIGN(IndexTupleSize(entries[i]));
	room = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	for (int64 i = 0; i < count; i++)
	{
		room += MAXALIGN(sizeof(IndexTuple));
		((IndexTuple *) room)[-1] = entries[i];
		sware_copy_tuple(room, entries[i]);
		entries[i] = (IndexTuple) room;
		room += MAXALIGN(IndexTupleSize(entries[i]));
	}
}

/*
 * Set pointers to the entries of the staged runs from number `unmerged` on, and
 * behind them to the newest ones that arrived first.  There is room for `count`
 * of them.  Returns the place of the chain where they end.
 */
static SwareChainPlace
collect_entries(const SwareStaging *staging, int unmerged, IndexTuple *entries,
				int64 count)
{
	const SwareStagedRuns *runs = &staging->runs;
	SwareChainPlace end = sware_newest_begin(runs);
	int64		number = 0;

	for (int i = unmerged; i < runs->count; i++)
	{
		for (int64 j = 0; j < runs->runs[i].count; j++)
			entries[number++] = runs->runs[i].items[j].entry;
	}
	while (number < count)
		entries[number++] = sware_chain_next(&staging->entries, &end);
	return end;
}

/* How many staged runs stay as they are when one of `count` entries comes? */
static int
count_unmerged(const SwareStaging *staging, int64 count)
{
	const SwareStagedRuns *runs = &staging->runs;
	int64		begin = count_covered(runs);
	int			unmerged = runs->count;

	while (unmerged > 0 && next_segment(staging, begin - 1) != begin &&
		   runs->runs[unmerged - 1].count < count * RATIO)
	{
		count += runs->runs[--unmerged].count;
		begin = runs->runs[unmerged].first;
	}
	return unmerged;
}

/* Let a staged run take the place of those from number `unmerged` on. */
static void
install(SwareStaging *staging, int unmerged, SwareStagedRun run)
{
	SwareStagedRuns *runs = &staging->runs;
	SwareSortItem *items = run.items;

	if (runs->allocated == unmerged)
		sware_grow(runs->runs, runs->allocated, 4, sware_chain_context());
	run.items = MemoryContextAllocHuge(sware_chain_context(), run_size(&run));
	memcpy(run.items, items, run_size(&run));

	free_runs(runs, unmerged);
	runs->runs[runs->count++] = run;
	sware_staged_bytes += run_size(&run);
	sware_staged_runs_made++;
}

/*
 * Make a staged run of the newest entries that are before the next segment,
 * merged with those before it that are not much larger.  Returns false, with
 * nothing changed, if staging has changed in the meantime.
 */
static bool
add_run(SwareStaging *staging, SwareComparator *comparator)
{
	uint64		stamp = sware_staging_stamp();
	int64		covered = count_covered(&staging->runs);
	int64		end = next_segment(staging, covered);
	int			unmerged = count_unmerged(staging, end - covered);
	const SwareStagedRun *older = staging->runs.runs + unmerged;
	int64		sorted = unmerged < staging->runs.count ? older->count : 0;

	/* integers are compared without functions, which could execute SQL */
	bool		copies = comparator->key.columnCount > 1 ||
		!sware_is_integer(comparator->key.columns[0].comparison);
	SwareStagedRun run = {.first = sorted > 0 ? older->first : covered};
	IndexTuple *entries;

	run.count = end - run.first;
	entries = MemoryContextAllocHuge(CurrentMemoryContext,
									 run.count * sizeof(IndexTuple));
	run.end = collect_entries(staging, unmerged, entries, run.count);
	if (copies)
		copy_entries(entries, run.count);

	/* here functions are called, which may change `staging` */
	sware_sort_entries(comparator->key.index, entries, sorted, run.count);
	if (stamp != sware_staging_stamp())
		return false;

	run.items = MemoryContextAllocHuge(CurrentMemoryContext, run_size(&run));
	for (int64 i = 0; i < run.count; i++)
	{
		if (copies)
			entries[i] = ((IndexTuple *) entries[i])[-1];
		run.items[i] = sware_make_item(comparator, entries[i]);
		run.entrySize = Max(run.entrySize, IndexTupleSize(entries[i]));
	}
	install(staging, unmerged, run);
	return true;
}

const SwareStagedRuns *
sware_staged_runs(SwareStaging *staging, Relation index, int most_newest)
{
	int64		target = staging->count;
	bool		is_done = true;
	MemoryContext caller;
	SwareComparator *comparator;

	if (target - count_covered(&staging->runs) <= most_newest)
		return &staging->runs;
	caller = sware_enter_context("sware staged runs");
	comparator = sware_make_comparator(index);
	while (is_done && count_covered(&staging->runs) < target)
		is_done = add_run(staging, comparator);
	sware_leave_context(caller);
	SWARE_FAULT_POINT("staged-runs-made");
	return is_done ? &staging->runs : NULL;
}

/* A staged run that is searched, and a copy of the entry looked at last. */
typedef struct SearchedRun
{
	const SwareStagedRun *run;
	uint64		stamp;
	bool		isGone;			/* has the stamp changed? */
	SwareEntryCopy copy;
} SearchedRun;

/*
 * Return a copy of the entry with this number; when the run is gone, that of
 * any entry: the search then ends in vain.
 */
static inline IndexTuple
staged_entry_at(const void *source, int number)
{
	SearchedRun *searched = (SearchedRun *) unconstify(void *, source);

	searched->isGone |= searched->stamp != sware_staging_stamp();
	if (!searched->isGone)
		sware_copy_tuple(&searched->copy, searched->run->items[number].entry);
	return &searched->copy.tuple;
}

int64
sware_staged_run_search(Relation index, const SwareStagedRun *run,
						uint64 stamp, const SwareSearchKey *place)
{
	int			found = place->after ? run->count : 0;
	SearchedRun searched;

	searched.run = run;
	searched.stamp = stamp;
	searched.isGone = false;
	if (place->columnCount > 0 && stamp == sware_staging_stamp())
		found = sware_search(place, staged_entry_at, &searched, 0, run->count,
							 false);
	return stamp == sware_staging_stamp() ? found : -1;
}
