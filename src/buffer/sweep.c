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
	int			end;			/* the page behind the run's last one */
	bool		resumes;		/* may entries of the next page have been
								 * flushed? */
	IndexTuple	first;			/* first entry of the next page, a copy */
	uint64		seal;			/* of the next page */
} SweptRun;

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
read_first(Relation index, const SwareSealedPages *sealed, SweptRun *run)
{
	const SwareListedPage *listed = &sealed->pages[run->next];
	Buffer		buffer = sware_read_listed_page(index, listed);
	Page		page = BufferGetPage(buffer);
	Size		offset = SWARE_BUFFER_START;

	if (sware_buffer_page_end(page) == SWARE_BUFFER_START)
		sware_report_corruption(index, listed->page.block,
								"The sorted page in slot %d of the buffer's directory has no entries.",
								listed->slot);
	run->first = CopyIndexTuple(sware_buffer_entry(index, listed->page.block,
												   page, &offset));
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
 * Find the entry with which a sweep goes on.  Returns NULL if there is none, or
 * its page is listed no more: then another sweep begins.  The seal tells the
 * page: sequence numbers begin at 0 again if the index is emptied in the same
 * file.
 */
static IndexTuple
find_place(Relation index, const SwareSealedPages *sealed,
		   const SwareSweepState *state)
{
	for (int i = 0; state->hasPlace && i < sealed->count; i++)
	{
		SweptRun	found = {.next = i};

		if (!sealed->pages[i].isSorted ||
			sealed->pages[i].sequence != state->place)
			continue;
		read_first(index, sealed, &found);
		return found.seal == state->seal ? found.first : NULL;
	}
	return NULL;
}

/* Make a heap of the runs that there were when the sweep began. */
static binaryheap *
begin_runs(Relation index, const SwareSealedPages *sealed, uint32 end)
{
	binaryheap *heap =
		binaryheap_allocate(sealed->runCount, compare_runs, index);

	/* they are in the order of their sequence numbers */
	for (int i = 0; i < sealed->runCount &&
		 (int32) (sealed->runs[i].lastSequence - end) <= 0; i++)
	{
		SweptRun   *run = palloc(sizeof(SweptRun));

		run->resumes = true;
		run->next = sealed->runs[i].first;
		run->end = run->next + sealed->runs[i].count;
		read_first(index, sealed, run);
		binaryheap_add_unordered(heap, PointerGetDatum(run));
	}
	binaryheap_build(heap);
	return heap;
}

void
sware_sweep_take_piece(Relation index, const SwareSealedPages *sealed,
					   SwareSweepState *state, int most, SwarePiece *piece)
{
	IndexTuple	place = find_place(index, sealed, state);
	binaryheap *heap;
	int			again = 0;		/* pages that begin no later than the place,
								 * so that the piece before had them, as a
								 * rule */

	if (place == NULL)
		state->end = sealed->runs[sealed->runCount - 1].lastSequence;
	heap = begin_runs(index, sealed, state->end);
	piece->pages = palloc((most + sealed->runCount) * sizeof(SwareListedPage));
	piece->count = 0;
	piece->from = place;
	piece->to = NULL;
	state->hasPlace = false;
	while (!binaryheap_empty(heap))
	{
		SweptRun   *run = (SweptRun *) DatumGetPointer(binaryheap_first(heap));
		SwareListedPage *page = &piece->pages[piece->count];
		int			order = place == NULL ? 1 :
			sware_compare_entries(index, run->first, place);

		if (order <= 0 && again < sealed->runCount)
			again++;
		else if (piece->count - again == most)
		{
			/* here the next piece begins */
			piece->to = run->first;
			state->hasPlace = true;
			state->place = sealed->pages[run->next].sequence;
			state->seal = run->seal;
			break;
		}
		sware_pause_point();
		piece->count++;
		*page = sealed->pages[run->next++];

		/*
		 * Of a page that the piece before had, some entries have been moved.
		 * No other page may count as one: where entries are in another order
		 * than keys, some would be taken for moved.
		 */
		page->isResumed = run->resumes && order < 0;
		run->resumes = false;
		if (run->next == run->end)
			(void) binaryheap_remove_first(heap);
		else
		{
			read_first(index, sealed, run);
			binaryheap_replace_first(heap, PointerGetDatum(run));
		}
	}
}
