/*-------------------------------------------------------------------------
 *
 * sortedpages.c
 *	  Writing sorted pages.  See buffersteps.h.
 *
 * First the retired pages are freed, for their slots and their blocks.  Then
 * the pages are written, several with each record.  As long as no slot lists
 * them, nobody but VACUUM finds them, and that asks for the flush lock before
 * it frees them.  Then they are listed, as many with each record as slots are
 * free on a directory page.
 *
 * Inserts seal pages meanwhile.  The first record that lists pages of a page
 * run reserves the sequence numbers of all, so none of these pages comes
 * between them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "common/pg_prng.h"

#include "base/faultpoint.h"
#include "base/pause.h"
#include "buffer/buffer.h"
#include "buffer/buffersteps.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/bufferpages.h"
#include "pages/pageaccess.h"
#include "wal/wal.h"

/*
 * A run of at least so many pages leaves its first page empty in part.  It may
 * need a page more then, 3 % at most.
 */
#define LONG_RUN_PAGES			32

/* The pages of a page run that is being written. */
typedef struct NewRun
{
	Relation	index;
	IndexTuple *entries;
	uint16		flags;			/* of each page */
	int			pageCount;
	int		   *starts;			/* where the entries of each page begin; the
								 * last element is the end of all */
	SwareLink  *links;			/* of the pages, once they are allocated */
	int			written;
	int			listed;
	uint32		firstSequence;	/* set when the first page is listed */
	SwareExtent extent;
} NewRun;

/*
 * Distribute the entries over pages.  The first page of a long run is left
 * empty in part, by chance, of which a hash is the source, as tests are to
 * repeat what they do: if all page runs began with a full page, their
 * pages would begin at the same quantiles of the keys, and a piece of a sweep,
 * which ends where a page begins, would have few entries, or those of all runs
 * up to the next quantile.
 */
static void
cut_into_pages(NewRun *run, int count)
{
	Size		size_of_all = 0;
	Size		used = 0;

	for (int i = 0; i < count; i++)
		size_of_all += MAXALIGN(IndexTupleSize(run->entries[i]));
	if (size_of_all >= LONG_RUN_PAGES * SWARE_PAGE_CAPACITY)
		used = hash_bytes((unsigned char *) &run->entries[0]->t_tid,
						  sizeof(ItemPointerData)) % SWARE_PAGE_CAPACITY;
	run->starts = MemoryContextAllocHuge(CurrentMemoryContext,
										 (count + 1) * sizeof(int));
	run->starts[0] = 0;
	for (int i = 0; i < count; i++)
	{
		Size		size = MAXALIGN(IndexTupleSize(run->entries[i]));

		if (used + size > SWARE_PAGE_CAPACITY &&
			i > run->starts[run->pageCount])
		{
			run->starts[++run->pageCount] = i;
			used = 0;
		}
		used += size;
	}
	run->starts[++run->pageCount] = count;
}

/* Fill a page with the entries of page `number` of the run. */
static void
fill_page(NewRun *run, int number, Page page)
{
	SwarePageOpaque opaque;
	PageHeader	header = (PageHeader) page;

	sware_init_page(page, SWARE_KIND_BUFFER, 0, run->links[number].incarnation);
	opaque = SwarePageGetOpaque(page);
	opaque->flags = run->flags;
	opaque->seal = pg_prng_uint64(&pg_global_prng_state);
	opaque->run.pagesBehind = run->pageCount - 1 - number;
	for (int i = run->starts[number]; i < run->starts[number + 1]; i++)
	{
		IndexTuple	entry = run->entries[i];
		Size		size = IndexTupleSize(entry);

		sware_copy_tuple((char *) page + header->pd_lower, entry);
		memset((char *) page + header->pd_lower + size, 0,
			   MAXALIGN(size) - size);
		header->pd_lower += MAXALIGN(size);
	}
}

/* Write the next pages of the run with one record. */
static void
write_some(NewRun *run)
{
	Buffer		buffers[SWARE_WAL_MAX_PAGES];
	int			count = Min(SWARE_WAL_MAX_PAGES, run->pageCount - run->written);
	SwareWal   *wal;

	for (int i = 0; i < count; i++)
		buffers[i] = sware_allocate_of_extent(run->index, &run->extent,
											  &run->links[run->written + i]);
	wal = sware_wal_begin(run->index);
	for (int i = 0; i < count; i++)
		fill_page(run, run->written + i, sware_wal_new_page(wal, buffers[i]));
	sware_wal_finish(wal);
	run->written += count;
	for (int i = 0; i < count; i++)
		sware_release_buffer(buffers[i]);
	SWARE_FAULT_POINT("sorted-page-written");
}

/*
 * The first slot from `slot` on that is free on a directory page, on which the
 * caller has a lock, or that can be added to it.
 */
static int
free_slot(Page page, int slot)
{
	while (slot < sware_slot_count(page) &&
		   sware_slot(page, slot)->state != SWARE_SLOT_FREE)
		slot++;
	return slot;
}

/*
 * List the next pages of the run in free slots of a directory page, of which
 * `page` is a copy to change.
 */
static void
fill_slots(NewRun *run, Page page, int number)
{
	int			end = sware_directory_page_limit(number);

	for (int i = free_slot(page, 0); i < end && run->listed < run->pageCount;
		 i = free_slot(page, i + 1))
	{
		SwareSlot  *slot = sware_slot(page, i);
		int			next = run->listed;

		if (i == sware_slot_count(page))
			sware_add_slot(page);
		slot->page = run->links[next];
		slot->sequence = run->firstSequence + next;
		slot->state = SWARE_SLOT_SEALED;
		slot->entries = run->starts[next + 1] - run->starts[next];
		slot->isSorted = true;
		run->listed++;
	}
}

/*
 * List as many of the other pages as a directory page has room for, with one
 * record.
 */
static void
list_some(NewRun *run, SwareLink directory, int number)
{
	Buffer		buffer = sware_read_directory_page(run->index, directory,
												   BUFFER_LOCK_EXCLUSIVE);
	int			before = run->listed;
	Buffer		meta_buffer;
	SwareMetaPage meta;
	SwareWal   *wal;

	if (free_slot(BufferGetPage(buffer), 0) >=
		sware_directory_page_limit(number))
	{
		sware_release_buffer(buffer);
		return;
	}
	meta_buffer =
		sware_read_buffer(run->index, SWARE_METAPAGE, BUFFER_LOCK_EXCLUSIVE);
	wal = sware_wal_begin(run->index);
	meta = SwarePageGetMeta(sware_wal_change(wal, meta_buffer));
	if (before == 0)
	{
		run->firstSequence = meta->nextSequence;
		meta->nextSequence += run->pageCount;
	}
	fill_slots(run, sware_wal_change(wal, buffer), number);
	meta->sealedPages += run->listed - before;
	meta->directoryVersion++;
	sware_wal_finish(wal);
	sware_release_buffer(meta_buffer);
	sware_release_buffer(buffer);
	SWARE_FAULT_POINT("sorted-page-listed");
}

/*
 * List the other pages, as far as the directory has room, to which a page is
 * added if it has none.  Returns false if it can have no more pages.
 */
static bool
list_pages(NewRun *run)
{
	SwareLink  *directory;
	int			count = sware_buffer_directory(run->index, &directory);
	int			before = run->listed;

	for (int i = 0; i < count && run->listed < run->pageCount; i++)
		list_some(run, directory[i], i);
	if (run->listed > before)
		return true;
	if (sware_first_slot(count) >= sware_directory_limit())
		return false;
	sware_add_directory_page(run->index, count);
	return true;
}

bool
sware_write_sorted_pages(Relation index, IndexTuple *entries, int count,
						 bool has_versions)
{
	NewRun		run = {.index = index,.entries = entries};
	SwareBufferState state;
	int			retired;

	if (count == 0)
		return true;
	run.flags = SWARE_SEALED | SWARE_SORTED |
		(has_versions ? SWARE_HAS_VERSIONS : 0);
	cut_into_pages(&run, count);

	/* as a rule as many are retired as were sorted the last time */
	retired = sware_buffer_free_retired(index, 2 * run.pageCount);
	sware_buffer_read_state(index, &state);
	if (state.sealedPages + retired + run.pageCount > sware_directory_limit())
		return false;
	run.links = palloc(run.pageCount * sizeof(SwareLink));
	run.extent.needed = run.pageCount;

	/*
	 * There is no check for interrupts from here on: an error would leave
	 * pages to VACUUM.
	 */
	while (run.written < run.pageCount)
	{
		write_some(&run);
		sware_pause_if_due();
	}
	SWARE_FAULT_POINT("sorted-written");
	while (run.listed < run.pageCount)
	{
		if (!list_pages(&run))
			return false;
	}
	return true;
}
