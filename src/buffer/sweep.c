/*-------------------------------------------------------------------------
 *
 * sweep.c
 *	  Choosing the sorted pages that are flushed next.  See sweep.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/binaryheap.h"
#include "miscadmin.h"

#include "base/memory.h"
#include "buffer/sweep.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "zones/zones.h"

/* A page run of a sweep. */
typedef struct SweptRun
{
	int			next;			/* the page to take next, in the list */
	bool		isTaken;		/* is the one before it of the present piece? */
	int			end;			/* the page behind the run's last one */
	IndexTuple	first;			/* first entry of the next page; the memory is
								 * allocated */
	uint64		seal;			/* of the next page */
	Relation	index;
} SweptRun;

struct SwareSweep
{
	Relation	index;
	const SwareListedPage *pages;
	int			runCount;
	SweptRun   *runs;
	binaryheap *heap;			/* of runs that have pages left */
	SwareSweepState state;
	bool		keepsPlace;		/* has shared memory kept a place before? */
	IndexTuple	place;			/* where the sweep goes on; NULL: it begins */
};

void
sware_tell_sealed_pages(Relation index, const SwareListedPage *pages, int count,
						SwareSealedPages *sealed)
{
	int			allocated = 0;

	sealed->pages = pages;
	sealed->count = count;
	sealed->unsorted =
		MemoryContextAllocHuge(CurrentMemoryContext,
							   Max(count, 1) * sizeof(SwareListedPage));
	sealed->runs = NULL;
	sealed->unsortedCount = sealed->sortedCount = sealed->runCount = 0;
	for (int i = 0; i < count;)
	{
		PGAlignedBlock copy;
		SwarePageRun *run;

		if (!pages[i].isSorted)
		{
			sealed->unsorted[sealed->unsortedCount++] = pages[i++];
			continue;
		}
		CHECK_FOR_INTERRUPTS();
		sware_copy_listed_page(index, &pages[i], copy.data);
		if (sealed->runCount == allocated)
			sware_grow(sealed->runs, allocated, 16, CurrentMemoryContext);
		run = &sealed->runs[sealed->runCount++];
		run->first = i;
		run->lastSequence = pages[i].sequence +
			SwarePageGetOpaque(copy.data)->run.pagesBehind;
		while (i < count && pages[i].isSorted &&
			   (int32) (pages[i].sequence - run->lastSequence) <= 0)
			i++;
		run->count = i - run->first;
		sealed->sortedCount += run->count;
	}
}

/* Copy the first entry of the page that a run has next. */
static void
read_first(SwareSweep *sweep, SweptRun *run)
{
	PGAlignedBlock copy;
	const SwareListedPage *page = &sweep->pages[run->next];
	Size		offset = SWARE_BUFFER_START;
	IndexTuple	entry;

	sware_copy_listed_page(sweep->index, page, copy.data);
	if (sware_buffer_page_end(copy.data) == SWARE_BUFFER_START)
		sware_report_corruption(sweep->index, page->page.block,
								"The sorted page in slot %d of the buffer's directory has no entries.",
								page->slot);
	entry = sware_buffer_entry(sweep->index, page->page.block, copy.data,
							   &offset);
	if (run->first)
		pfree(run->first);
	run->first = CopyIndexTuple(entry);
	run->seal = SwarePageGetOpaque(copy.data)->seal;
	sware_clear_mark(run->first);
}

/* binaryheap comparator: the run with the smallest entry comes first */
static int
compare_runs(Datum a, Datum b, void *arg)
{
	const SweptRun *first = (const SweptRun *) DatumGetPointer(a);
	const SweptRun *second = (const SweptRun *) DatumGetPointer(b);

	return sware_compare_entries(first->index, second->first, first->first);
}

/* Add a run that has pages left. */
static void
add_run(SwareSweep *sweep, int first, int count)
{
	SweptRun   *run = &sweep->runs[sweep->runCount++];

	run->index = sweep->index;
	run->isTaken = false;
	run->next = first;
	run->end = first + count;
	run->first = NULL;
	read_first(sweep, run);
	binaryheap_add_unordered(sweep->heap, PointerGetDatum(run));
}

/* Is a run one of the sweep that ends with this sequence number? */
static bool
is_of_sweep(const SwarePageRun *run, uint32 end)
{
	return (int32) (run->lastSequence - end) <= 0;
}

/*
 * Find the entry with which the sweep goes on that shared memory tells of.
 * Returns NULL if there is none, or its page is listed no more: then another
 * sweep begins.  The seal tells the page: sequence numbers begin at 0 again if
 * the index is emptied in the same file.
 */
static IndexTuple
find_place(SwareSweep *sweep, const SwareSealedPages *sealed)
{
	const SwareSweepState *state = &sweep->state;

	for (int i = 0; state->hasPlace && i < sealed->runCount &&
		 is_of_sweep(&sealed->runs[i], state->end); i++)
	{
		const SwarePageRun *run = &sealed->runs[i];

		for (int page = run->first; page < run->first + run->count; page++)
		{
			SweptRun	found = {.index = sweep->index,.next = page};

			if (sealed->pages[page].sequence != state->place)
				continue;
			read_first(sweep, &found);
			return found.seal == state->seal ? found.first : NULL;
		}
	}
	return NULL;
}

SwareSweep *
sware_sweep_begin(Relation index, const SwareSealedPages *sealed, bool all)
{
	SwareSweep *sweep = palloc(sizeof(SwareSweep));
	const SwarePageRun *runs = sealed->runs;
	int			count = sealed->runCount;

	Assert(count > 0);
	sweep->index = index;
	sweep->pages = sealed->pages;
	sweep->place = NULL;
	if (!all)
	{
		sweep->keepsPlace = sware_zones_sweep(index, &sweep->state);
		sweep->place = find_place(sweep, sealed);
	}
	/* the runs are in the order of their sequence numbers */
	if (sweep->place == NULL)
		sweep->state.end = runs[count - 1].lastSequence;

	sweep->runCount = 0;
	sweep->runs = palloc(count * sizeof(SweptRun));
	sweep->heap = binaryheap_allocate(count, compare_runs, NULL);
	for (int i = 0; i < count && is_of_sweep(&runs[i], sweep->state.end); i++)
		add_run(sweep, runs[i].first, runs[i].count);
	binaryheap_build(sweep->heap);
	return sweep;
}

/* The run whose next page comes first; NULL if no run has any. */
static SweptRun *
first_run(SwareSweep *sweep)
{
	return binaryheap_empty(sweep->heap) ? NULL :
		(SweptRun *) DatumGetPointer(binaryheap_first(sweep->heap));
}

/* Take the next page of the run that comes first. */
static void
take_page(SwareSweep *sweep, SweptRun *run, SwareListedPage *page)
{
	CHECK_FOR_INTERRUPTS();
	*page = sweep->pages[run->next++];
	run->isTaken = true;
	if (run->next == run->end)
	{
		(void) binaryheap_remove_first(sweep->heap);
		return;
	}
	read_first(sweep, run);
	binaryheap_replace_first(sweep->heap, PointerGetDatum(run));
}

int
sware_sweep_take(SwareSweep *sweep, SwareListedPage *pages, int most)
{
	SweptRun   *run;
	int			count = 0;

	while (count < most && (run = first_run(sweep)) != NULL)
		take_page(sweep, run, &pages[count++]);
	return count;
}

bool
sware_sweep_take_piece(SwareSweep *sweep, int most, SwarePiece *piece)
{
	SwareListedPage *pages =
		palloc((most + sweep->runCount) * sizeof(SwareListedPage));
	SweptRun   *run;
	int			count = 0;
	int			again = 0;		/* pages that the piece before had, too */

	/* with two pages of one run, one retires: so there is progress */
	if (!sweep->keepsPlace && sweep->place == NULL)
		most += sweep->runCount;
	while ((run = first_run(sweep)) != NULL)
	{
		if (sweep->place && again < sweep->runCount &&
			sware_compare_entries(sweep->index, run->first, sweep->place) < 0)
			again++;
		else if (count - again == most)
			break;
		take_page(sweep, run, &pages[count++]);
	}
	piece->pages = pages;
	piece->count = count;
	piece->from = sweep->place;
	sweep->state.hasPlace = run != NULL;
	if (run)
	{
		sweep->state.place = sweep->pages[run->next].sequence;
		sweep->state.seal = run->seal;
	}
	sweep->place = run ? CopyIndexTuple(run->first) : NULL;
	piece->to = sweep->place;
	return count > 0;
}

static bool
is_listed(const SwareListedPage *pages, int count, int slot)
{
	for (int i = 0; i < count; i++)
	{
		if (pages[i].slot == slot)
			return true;
	}
	return false;
}

void
sware_sweep_piece_is_done(SwareSweep *sweep, const SwareListedPage *retired,
						  int count)
{
	sware_zones_set_sweep(sweep->index, &sweep->state);
	binaryheap_reset(sweep->heap);
	for (int i = 0; i < sweep->runCount; i++)
	{
		SweptRun   *run = &sweep->runs[i];

		if (run->isTaken &&
			!is_listed(retired, count, sweep->pages[run->next - 1].slot))
		{
			run->next--;
			read_first(sweep, run);
		}
		run->isTaken = false;
		if (run->next < run->end)
			binaryheap_add_unordered(sweep->heap, PointerGetDatum(run));
	}
	binaryheap_build(sweep->heap);
}
