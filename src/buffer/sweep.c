/*-------------------------------------------------------------------------
 *
 * sweep.c
 *	  Choosing the sorted pages that are flushed next.  See buffersteps.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/binaryheap.h"

#include "base/memory.h"
#include "base/pause.h"
#include "buffer/buffersteps.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"

/* A page run of a sweep. */
typedef struct SweptRun
{
	int			next;			/* the page to take next, in the list */
	const SwareListedPage *taken;	/* the one before it, in the present
									 * piece; NULL if it is not of that */
	int			end;			/* the page behind the run's last one */
	bool		resumes;		/* may entries of the next page have been
								 * flushed? */
	IndexTuple	first;			/* first entry of the next page; the memory is
								 * allocated */
	uint64		seal;			/* of the next page */
} SweptRun;

struct SwareSweep
{
	Relation	index;
	const SwareListedPage *pages;
	int			pageCount;
	int			runCount;
	SweptRun   *runs;
	binaryheap *heap;			/* of runs that have pages left */
	SwareSweepState state;
	bool		keepsPlace;		/* does shared memory keep the place? */
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
		Buffer		buffer;
		SwarePageRun *run;

		if (!pages[i].isSorted)
		{
			sealed->unsorted[sealed->unsortedCount++] = pages[i++];
			continue;
		}
		sware_pause_point();
		if (sealed->runCount == allocated)
			sware_grow(sealed->runs, allocated, 16, CurrentMemoryContext);
		run = &sealed->runs[sealed->runCount++];
		run->first = i;
		buffer = sware_read_listed_page(index, &pages[i]);
		run->lastSequence =
			sware_page_run_end(BufferGetPage(buffer), pages[i].sequence);
		sware_release_buffer(buffer);
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
	const SwareListedPage *listed = &sweep->pages[run->next];
	Buffer		buffer = sware_read_listed_page(sweep->index, listed);
	Page		page = BufferGetPage(buffer);
	Size		offset = SWARE_BUFFER_START;
	IndexTuple	entry;

	if (sware_buffer_page_end(page) == SWARE_BUFFER_START)
		sware_report_corruption(sweep->index, listed->page.block,
								"The sorted page in slot %d of the buffer's directory has no entries.",
								listed->slot);
	entry = sware_buffer_entry(sweep->index, listed->page.block, page,
							   &offset);
	if (run->first)
		pfree(run->first);
	run->first = CopyIndexTuple(entry);
	run->seal = SwarePageGetOpaque(page)->seal;
	sware_release_buffer(buffer);
	sware_clear_mark(run->first);
}

/* binaryheap comparator: the run with the smallest entry comes first */
static int
compare_runs(Datum a, Datum b, void *arg)
{
	const SweptRun *first = (const SweptRun *) DatumGetPointer(a);
	const SweptRun *second = (const SweptRun *) DatumGetPointer(b);

	return sware_compare_entries((Relation) arg, second->first, first->first);
}

/*
 * Find the entry with which the sweep goes on that shared memory tells of.
 * Returns NULL if there is none, or its page is listed no more: then another
 * sweep begins.  The seal tells the page: sequence numbers begin at 0 again if
 * the index is emptied in the same file.
 */
static IndexTuple
find_place(SwareSweep *sweep)
{
	for (int i = 0; sweep->state.hasPlace && i < sweep->pageCount; i++)
	{
		SweptRun	found = {.next = i};

		if (!sweep->pages[i].isSorted ||
			sweep->pages[i].sequence != sweep->state.place)
			continue;
		read_first(sweep, &found);
		return found.seal == sweep->state.seal ? found.first : NULL;
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
	sweep->pageCount = sealed->count;
	sweep->place = NULL;
	sweep->keepsPlace = sware_zones_sweep(index, &sweep->state) || all;
	if (!all)
		sweep->place = find_place(sweep);
	/* the runs are in the order of their sequence numbers */
	if (sweep->place == NULL)
		sweep->state.end = runs[count - 1].lastSequence;

	sweep->runCount = 0;
	sweep->runs = palloc(count * sizeof(SweptRun));
	sweep->heap = binaryheap_allocate(count, compare_runs, index);
	for (int i = 0; i < count &&
		 (int32) (runs[i].lastSequence - sweep->state.end) <= 0; i++)
	{
		SweptRun   *run = &sweep->runs[sweep->runCount++];

		run->taken = NULL;
		run->resumes = true;
		run->next = runs[i].first;
		run->end = runs[i].first + runs[i].count;
		run->first = NULL;
		read_first(sweep, run);
		binaryheap_add_unordered(sweep->heap, PointerGetDatum(run));
	}
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
	sware_pause_point();
	*page = sweep->pages[run->next++];
	page->isResumed = run->resumes;
	run->resumes = false;
	run->taken = page;
	if (run->next == run->end)
	{
		(void) binaryheap_remove_first(sweep->heap);
		return;
	}
	read_first(sweep, run);
	binaryheap_replace_first(sweep->heap, PointerGetDatum(run));
}

bool
sware_sweep_take_piece(SwareSweep *sweep, int most, SwarePiece *piece)
{
	SwareListedPage *pages =
		palloc((most + sweep->runCount) * sizeof(SwareListedPage));
	SweptRun   *run;
	int			count = 0;
	int			again = 0;		/* pages that begin no later than the place,
								 * so that the piece before had them, as a
								 * rule */

	/* with two pages of one run, one retires: so there is progress */
	if (!sweep->keepsPlace && sweep->place == NULL)
		most += sweep->runCount;
	while ((run = first_run(sweep)) != NULL)
	{
		if (sweep->place && again < sweep->runCount &&
			sware_compare_entries(sweep->index, run->first, sweep->place) <= 0)
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

double
sware_sweep_pages_of(const SwareSweep *sweep, int leaves)
{
	return leaves * sweep->state.pagesOfLeaf;
}

void
sware_sweep_piece_is_done(SwareSweep *sweep, const SwarePiece *piece,
						  int64 moved, int visits)
{
	double		entries = 0;	/* of all pages, moved or not */

	for (int i = 0; i < piece->count; i++)
		entries += piece->pages[i].entries;
	sweep->state.pagesOfLeaf =
		visits == 0 ? 0 : moved * piece->count / (visits * entries);
	sware_zones_set_sweep(sweep->index, &sweep->state);
	binaryheap_reset(sweep->heap);
	for (int i = 0; i < sweep->runCount; i++)
	{
		SweptRun   *run = &sweep->runs[i];

		if (run->taken && run->taken->state != SWARE_SLOT_RETIRED)
		{
			run->next--;
			run->resumes = true;
			read_first(sweep, run);
		}
		run->taken = NULL;
		if (run->next < run->end)
			binaryheap_add_unordered(sweep->heap, PointerGetDatum(run));
	}
	binaryheap_build(sweep->heap);
}
