/*-------------------------------------------------------------------------
 *
 * stagedruns.c
 *	  Searching what is staged for an index, where it is.  See stagedruns.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/faultpoint.h"
#include "layout/tuple.h"
#include "staging/stagedruns.h"
#include "staging/staginginternal.h"

/*
 * A new staged run is merged with the one before it, unless that is at least
 * this number of times larger.  So an entry is merged about once for each
 * factor of four that the staging grows by, and a search looks into about as
 * many staged runs.
 */
#define RATIO			4

uint64		sware_staged_runs_made = 0;

const SwareEntryChain *
sware_staged_chain(const SwareStaging *staging)
{
	return &staging->entries;
}

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

/*
 * Forget the staged runs of all entries but the first `count`, which end at a
 * place of the chain.  Raises no errors.
 */
void
sware_forget_staged_runs(SwareStaging *staging, int64 count,
						 SwareChainPlace end)
{
	SwareStagedRuns *runs = &staging->runs;
	int			kept = runs->count;

	if (runs->covered <= count)
		return;
	while (kept > 0 && runs->runs[kept - 1].first >= count)
		kept--;
	free_runs(runs, kept);
	Assert(kept == 0 || runs->runs[kept - 1].first +
		   runs->runs[kept - 1].count == count);
	runs->covered = count;
	runs->end = end;
}

/*
 * The number of entries up to the first beginning of a segment behind the
 * `count`-th entry, or of all entries if no segment begins there.
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
 * Can comparing entries run SQL?  Integers are compared without functions.
 */
static inline bool
may_run_functions(const SwareComparator *comparator)
{
	return comparator->columnCount > 1 ||
		!sware_is_integer(comparator->first.comparison);
}

/*
 * Return a copy of the items of a staged run, whose entries can be compared: if
 * comparators run functions, the entries are copies, too.
 */
static SwareSortItem *
copy_items(const SwareComparator *comparator, const SwareStagedRun *run)
{
	SwareSortItem *items = run->items;
	int64		count = run->count;
	SwareSortItem *copy = MemoryContextAllocHuge(CurrentMemoryContext,
												 run_size(run));
	Size		bytes = NAMEDATALEN;	/* see bufferbatch.c */
	char	   *room;

	memcpy(copy, items, run_size(run));
	if (!may_run_functions(comparator))
		return copy;

	/* before each copy of an entry is a pointer to the original */
	for (int64 i = 0; i < count; i++)
		bytes += MAXALIGN(sizeof(IndexTuple)) +
			MAXALIGN(IndexTupleSize(items[i].entry));
	room = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	for (int64 i = 0; i < count; i++)
	{
		room += MAXALIGN(sizeof(IndexTuple));
		((IndexTuple *) room)[-1] = items[i].entry;
		copy[i].entry = (IndexTuple) room;
		sware_copy_tuple(room, items[i].entry);
		room += MAXALIGN(IndexTupleSize(items[i].entry));
	}
	return copy;
}

/* Let items that copy_items has made point to the originals again. */
static void
restore_items(const SwareComparator *comparator, SwareStagedRun *run)
{
	for (int64 i = 0; may_run_functions(comparator) && i < run->count; i++)
		run->items[i].entry = ((IndexTuple *) run->items[i].entry)[-1];
}

/*
 * Make a staged run of the `count` newest entries that arrived first, up to a
 * place of the chain.  Its items are to be sorted.
 */
static SwareStagedRun
newest_run(const SwareStaging *staging, const SwareComparator *comparator,
		   int64 count, SwareChainPlace *end)
{
	SwareStagedRun run = {.first = staging->runs.covered,.count = count};

	run.items = MemoryContextAllocHuge(CurrentMemoryContext, run_size(&run));
	*end = staging->runs.end;
	for (int64 i = 0; i < count; i++)
	{
		IndexTuple	entry = sware_chain_next(&staging->entries, end);

		run.items[i] = sware_make_item(comparator, entry);
		run.entrySize = Max(run.entrySize, IndexTupleSize(entry));
	}
	run.items = copy_items(comparator, &run);
	return run;
}

/*
 * How many of the staged runs stay as they are when one of `count` entries,
 * which begins where a segment does if `is_segment`, is added?
 */
static int
count_unmerged(const SwareStaging *staging, int64 count)
{
	const SwareStagedRuns *runs = &staging->runs;
	int64		begin = runs->covered;
	int			unmerged = runs->count;

	while (unmerged > 0 && next_segment(staging, begin - 1) != begin &&
		   runs->runs[unmerged - 1].count < count * RATIO)
	{
		unmerged--;
		count += runs->runs[unmerged].count;
		begin = runs->runs[unmerged].first;
	}
	return unmerged;
}

/*
 * Let a staged run, whose entries are up to `end`, take the place of those from
 * number `unmerged` on.
 */
static void
install(SwareStaging *staging, int unmerged, SwareStagedRun run,
		SwareChainPlace end)
{
	SwareStagedRuns *runs = &staging->runs;
	SwareSortItem *items = run.items;

	if (runs->allocated == unmerged)
	{
		int			allocated = Max(2 * runs->allocated, 4);
		Size		size = allocated * sizeof(SwareStagedRun);

		runs->runs = runs->runs ? repalloc(runs->runs, size) :
			MemoryContextAlloc(sware_chain_context(), size);
		runs->allocated = allocated;
	}
	run.items = MemoryContextAllocHuge(sware_chain_context(), run_size(&run));
	memcpy(run.items, items, run_size(&run));

	free_runs(runs, unmerged);
	runs->runs[runs->count++] = run;
	runs->covered = run.first + run.count;
	runs->end = end;
	sware_staged_bytes += run_size(&run);
	sware_staged_runs_made++;
}

/*
 * Make a staged run of the `count` newest entries that arrived first, and merge
 * it with those before it that are not much larger.  Returns false, with
 * nothing changed, if staging has changed in the meantime.
 */
static bool
add_run(SwareStaging *staging, SwareComparator *comparator, int64 count)
{
	uint64		stamp = sware_staging_stamp();
	int			unmerged = count_unmerged(staging, count);
	int			older_count = staging->runs.count - unmerged;
	SwareStagedRun *older = palloc(older_count * sizeof(SwareStagedRun));
	SwareChainPlace end;
	SwareStagedRun run = newest_run(staging, comparator, count, &end);

	for (int i = 0; i < older_count; i++)
	{
		older[i] = staging->runs.runs[unmerged + i];
		older[i].items = copy_items(comparator, &older[i]);
	}

	/* from here on, functions run, which may change `staging` */
	run.items = sware_sort_items(comparator, run.items, run.count);
	for (int i = older_count - 1; i >= 0; i--)
	{
		run.items = sware_merge_items(comparator, older[i].items,
									  older[i].count, run.items, run.count);
		run.first = older[i].first;
		run.count += older[i].count;
		run.entrySize = Max(run.entrySize, older[i].entrySize);
	}
	if (stamp != sware_staging_stamp())
		return false;
	restore_items(comparator, &run);
	install(staging, unmerged, run, end);
	return true;
}

const SwareStagedRuns *
sware_staged_runs(SwareStaging *staging, Relation index, int most_newest)
{
	int64		target = staging->count;
	bool		is_done = true;
	MemoryContext context;
	MemoryContext caller;
	SwareComparator *comparator;

	if (target - staging->runs.covered <= most_newest)
		return &staging->runs;
	context = AllocSetContextCreate(CurrentMemoryContext, "sware staged runs",
									ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(context);
	comparator = sware_make_comparator(index);
	while (is_done && staging->runs.covered < target)
	{
		int64		covered = staging->runs.covered;

		is_done = add_run(staging, comparator,
						  next_segment(staging, covered) - covered);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	SWARE_FAULT_POINT("staged-runs-made");
	return is_done ? &staging->runs : NULL;
}

/* A copy of an entry; functions may read a little behind it. */
typedef union EntryCopy
{
	IndexTupleData tuple;
	char		bytes[MAXALIGN(SWARE_MAX_ENTRY_SIZE) + NAMEDATALEN];
	double		forAlignment;
} EntryCopy;

int64
sware_staged_run_search(Relation index, const SwareStagedRun *run,
						uint64 stamp, const SwareSearchKey *place)
{
	SwareKeyColumn column;
	int64		abbreviation = 0;
	int64		low = 0;
	int64		high = run->count;

	if (stamp != sware_staging_stamp())
		return -1;
	if (place->columnCount == 0)
		return place->after ? high : 0;
	sware_key_column_init(&column, index, 1, (Datum) 0, true);
	if (!sware_abbreviate_end(&column, place, &abbreviation))
		column.comparison = SWARE_COMPARE_FUNCTION;
	while (low < high)
	{
		int64		middle = low + (high - low) / 2;
		const SwareSortItem *item = &run->items[middle];
		int			order;

		if (sware_has_abbreviations(&column) &&
			item->abbreviation != abbreviation)
			order = abbreviation < item->abbreviation ? -1 : 1;
		else
		{
			EntryCopy	copy;

			sware_copy_tuple(&copy, item->entry);
			order = sware_compare_key(place, &copy.tuple);
			if (stamp != sware_staging_stamp())
				return -1;
		}
		if (order > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
