/*-------------------------------------------------------------------------
 *
 * flush.c
 *	  Moving entries from the buffer to the tree.
 *
 * One session at a time flushes an index, under the flush lock, a heavyweight
 * lock.  It copies the entries of sealed pages, sorts them, sends them to the
 * tree, and then retires the pages.  If it dies in between, entries are in
 * both places; the next flush sends them again, and the tree skips those that
 * it has.
 *
 * Whole pages are flushed, the oldest first, so that each page that was read
 * can retire.  A backend that opens a page and finds the quota exceeded
 * flushes a piece of the buffer, and never waits for another flusher.  VACUUM
 * and sware_flush seal the open pages too, and flush everything.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/table.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/freespace.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "base/faultpoint.h"
#include "buffer/buffer.h"
#include "buffer/dropdead.h"
#include "buffer/tails.h"
#include "keys/searchkey.h"
#include "keys/sorter.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "locks/changes.h"
#include "pages/bufferpages.h"
#include "pages/pageaccess.h"
#include "shared/statistics.h"
#include "tree/tree.h"
#include "wal/wal.h"
#include "zones/zones.h"

/* the flush lock of an index is a lock on this page number, which none has */
#define FLUSH_LOCK_PAGE			MaxBlockNumber

/*
 * The most pages of a piece, which bound how long an insert can take.  Entries
 * arrive scrambled if more than SCRAMBLED_K percent of them are out of order,
 * and one was displaced by more than SCRAMBLED_L percent of the entries sorted
 * with it (by the estimates of K and L, statistics.h).  Then a small piece
 * would have only an entry or two for each leaf that it changes, so a piece is
 * larger.
 */
#define MAX_PIECE_PAGES			32
#define MAX_SCRAMBLED_PIECE_PAGES	256
#define RUNS_OF_PIECE			4
#define SCRAMBLED_K				50
#define SCRAMBLED_L				50

/*
 * A flush of everything moves this number of pages at once, or as many as
 * maintenance_work_mem allows.  For each page it needs this number of bytes,
 * for a copy, for pointers, and for sorting.
 */
#define MAX_BATCH_PAGES			512
#define MEMORY_PER_PAGE			((Size) 4 * BLCKSZ)

/* What is flushed together. */
typedef struct Flushed
{
	IndexTuple *entries;		/* in order, without duplicates */
	int			count;
	bool		hasVersions;	/* may rows among them be versions of others
								 * with the same key? */
	int			dropped;		/* entries of dead rows that were left out */
} Flushed;

/*
 * Copy the entries of sealed pages, in order, without duplicates and without
 * those of rows that are dead to everybody, to the current memory context.
 * Locks one page at a time; runs comparators without locks.
 */
static void
sorted_entries(Relation index, Relation heap, const SwareListedPage *pages,
			   int page_count, Flushed *flushed)
{
	int64		count = 0;
	int			distinct = 0;
	IndexTuple *entries;

	for (int i = 0; i < page_count; i++)
		count += pages[i].entries;
	entries = MemoryContextAllocHuge(CurrentMemoryContext,
									 Max(count, 1) * sizeof(IndexTuple));

	count = 0;
	flushed->hasVersions = false;
	for (int i = 0; i < page_count; i++)
	{
		Page		copy = palloc(BLCKSZ);
		BlockNumber block = pages[i].page.block;
		int			on_page = 0;

		if (!sware_copy_buffer_page(index, pages[i].page, copy))
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("index \"%s\" contains corrupted buffer directory",
							RelationGetRelationName(index)),
					 errdetail("Slot %d lists block %u, which is another page now.",
							   pages[i].slot, block),
					 errhint("Please REINDEX it.")));

		flushed->hasVersions |=
			(SwarePageGetOpaque(copy)->flags & SWARE_HAS_VERSIONS) != 0;
		for (Size offset = SWARE_BUFFER_START;
			 offset < sware_buffer_page_end(copy);)
		{
			IndexTuple	entry = sware_buffer_entry(index, block, copy, &offset);

			if (on_page++ < pages[i].entries)
				entries[count++] = entry;
		}
		if (on_page != pages[i].entries)
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("index \"%s\" contains corrupted page at block %u",
							RelationGetRelationName(index), block),
					 errdetail("The buffer page has %d entries, but its slot says %u.",
							   on_page, pages[i].entries),
					 errhint("Please REINDEX it.")));
	}

	flushed->dropped = sware_drop_dead(index, heap, entries, count);
	count -= flushed->dropped;
	for (int64 i = 0; i < count; i++)
		sware_clear_mark(entries[i]);
	if (count > 1)
		sware_sort_arrivals(index, entries, 0, count);
	for (int64 i = 0; i < count; i++)
	{
		if (distinct == 0 ||
			!sware_entries_are_equal(index, entries[distinct - 1], entries[i]))
			entries[distinct++] = entries[i];
	}
	flushed->entries = entries;
	flushed->count = distinct;
}

/*
 * Mark the slots of pages as retired in the directory: their entries are in the
 * tree.  Writes one record for each directory page.  The caller has the flush
 * lock, and holds no content locks.
 */
static void
retire(Relation index, const SwareListedPage *pages, int count)
{
	SwareLink  *links;
	int			link_count = sware_buffer_directory(index, &links);

	for (int i = 0; i < link_count; i++)
	{
		Buffer		directory = InvalidBuffer;
		Buffer		meta_buffer;
		SwareWal   *wal;
		SwareSlot  *slots;
		SwareMetaPage meta;
		int			retired = 0;

		for (int j = 0; j < count && retired == 0; j++)
			retired += pages[j].slot / SWARE_SLOTS_PER_PAGE == i;
		if (retired == 0)
			continue;

		directory =
			sware_read_directory_page(index, links[i], BUFFER_LOCK_EXCLUSIVE);
		meta_buffer =
			sware_read_buffer(index, SWARE_METAPAGE, BUFFER_LOCK_EXCLUSIVE);
		wal = sware_wal_begin(index);
		slots = SwarePageGetSlots(sware_wal_change(wal, directory));
		retired = 0;
		for (int j = 0; j < count; j++)
		{
			SwareSlot  *slot = &slots[pages[j].slot % SWARE_SLOTS_PER_PAGE];

			if (pages[j].slot / SWARE_SLOTS_PER_PAGE != i)
				continue;
			Assert(slot->state == SWARE_SLOT_SEALED);
			Assert(sware_links_equal(slot->page, pages[j].page));
			slot->state = SWARE_SLOT_RETIRED;
			retired++;
		}
		meta = SwarePageGetMeta(sware_wal_change(wal, meta_buffer));
		meta->sealedPages -= retired;
		meta->bufferGeneration++;
		meta->directoryVersion++;
		sware_wal_finish(wal);
		sware_release_buffer(meta_buffer);
		sware_release_buffer(directory);
		SWARE_FAULT_POINT("flush-retiring");
	}
	pfree(links);
}

/*
 * Move the entries of sealed pages to the tree, drop those of dead rows, and
 * retire the pages.  Returns the number of entries.  The caller has the flush
 * lock, and holds no content locks.
 */
static int64
flush_pages(Relation index, Relation heap, const SwareListedPage *pages,
			int count)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "sware flush",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Flushed		flushed;
	int			appended;
	instr_time	start;
	instr_time	time;

	INSTR_TIME_SET_CURRENT(start);
	sorted_entries(index, heap, pages, count, &flushed);
	SWARE_FAULT_POINT("flush-sorted");
	appended = sware_tree_insert_run(index, heap, flushed.entries,
									 flushed.count, flushed.hasVersions);
	SWARE_FAULT_POINT("flush-inserted");
	retire(index, pages, count);
	SWARE_FAULT_POINT("flush-retired");

	INSTR_TIME_SET_CURRENT(time);
	INSTR_TIME_SUBTRACT(time, start);
	sware_count_tree_run(index, appended, flushed.count - appended);
	sware_count_dropped(index, flushed.dropped);
	sware_count_flush(index, flushed.count, count,
					  INSTR_TIME_GET_MICROSEC(time));
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return flushed.count + flushed.dropped;
}

/* The table of an index, on which the caller has a lock. */
static Relation
open_table(Relation index)
{
	return table_open(index->rd_index->indrelid, NoLock);
}

/*
 * Is this session flushing the index already?  That is so if a comparison
 * function that the flush called runs SQL of its own.  A session can take a
 * heavyweight lock twice, so the flush lock would not stop it.  Pages that an
 * inner flush had retired, and that were reused, would be retired once
 * more by the outer one.
 */
static bool
is_flushing(Relation index)
{
	return sware_is_changing(RelationGetRelid(index), SWARE_FLUSHES);
}

/*
 * Flush everything that is in the buffer now.  Waits for another flusher.
 * Returns the number of entries that were moved.  Runs comparators, which may
 * raise errors.  The caller holds no locks on pages.
 */
int64
sware_buffer_flush_all(Relation index)
{
	SwareBufferState state;
	SwareListedPage *pages;
	int			count;
	int			at_once =
		Min(maintenance_work_mem * (Size) 1024 / MEMORY_PER_PAGE,
			MAX_BATCH_PAGES);
	int64		moved = 0;
	Relation	heap;

	if (is_flushing(index))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("index \"%s\" is being flushed by this session",
						RelationGetRelationName(index))));

	/* entries that another session is moving must be in the tree afterwards */
	LockPage(index, FLUSH_LOCK_PAGE, ExclusiveLock);
	sware_begin_change(index, SWARE_FLUSHES);
	if (sware_buffer_read_state(index, &state))
	{
		for (int i = 0; i < state.tailCount; i++)
			sware_seal_tail(index, state.tails[i]);
		SWARE_FAULT_POINT("flush-sealed");

		heap = open_table(index);
		count = sware_buffer_list_pages(index, SWARE_SLOT_SEALED, &pages);
		for (int i = 0; i < count; i += at_once)
		{
			CHECK_FOR_INTERRUPTS();
			moved +=
				flush_pages(index, heap, pages + i, Min(at_once, count - i));

			/* inserts that go on meanwhile can reuse the pages at once */
			sware_buffer_free_retired(index);
		}
		table_close(heap, NoLock);
		(void) sware_zones_request_pages(index, 0);
		if (pages)
			pfree(pages);
	}
	sware_end_change();
	UnlockPage(index, FLUSH_LOCK_PAGE, ExclusiveLock);
	return moved;
}

/*
 * Says how many of the oldest of all sealed pages of the buffer, which are
 * given in the order of sealing, are to be flushed.
 */
typedef int (*PieceSize) (Relation index, const SwareListedPage *pages,
						  int count);

/*
 * How many pages does a piece have, if the buffer has this number of sealed
 * pages?  A quarter of what the buffer may have (its quota, or the number of
 * pages that can have zones if that is less), or all that it has beyond that if
 * that is more; but no more than a limit, and one at least.
 */
static int
piece_size(Relation index, const SwareListedPage *pages, int count)
{
	int			quota =
		Min(sware_buffer_quota(index), sware_zones_request_pages(index, count));
	int			limit = MAX_PIECE_PAGES;
	double		k;
	double		l;

	if (sware_estimates(index, &k, &l) && k > SCRAMBLED_K && l > SCRAMBLED_L)
		limit = MAX_SCRAMBLED_PIECE_PAGES;
	return Min(Max(Min(Max(quota / 4, count - quota), limit), 1), count);
}

/*
 * How many bytes of entries may a run have that is to wait in the buffer for
 * others?  A flush should move several such runs together.
 */
Size
sware_buffer_run_limit(Relation index)
{
	int			piece = Min(MAX_PIECE_PAGES, sware_buffer_quota(index) / 4);

	return (Size) (piece / RUNS_OF_PIECE) * BLCKSZ;
}

/* The pages before the first one with an entry that is not marked. */
static int
dead_piece_size(Relation index, const SwareListedPage *pages, int count)
{
	int			size = 0;

	while (size < Min(count, MAX_SCRAMBLED_PIECE_PAGES) &&
		   sware_buffer_page_is_dead(index, pages[size].page))
		size++;
	return size;
}

/*
 * Flush the oldest pages of the buffer, unless another session is flushing, or
 * this is a parallel worker.  Runs comparators, which may raise errors.  The
 * caller holds no locks on pages.
 */
static void
flush_oldest(Relation index, PieceSize size_of_piece)
{
	SwareListedPage *pages;
	int			count;

	if (IsParallelWorker() || is_flushing(index) ||
		!ConditionalLockPage(index, FLUSH_LOCK_PAGE, ExclusiveLock))
		return;
	sware_begin_change(index, SWARE_FLUSHES);
	count = sware_buffer_list_pages(index, SWARE_SLOT_SEALED, &pages);
	if (count > 0)
	{
		int			piece = size_of_piece(index, pages, count);

		if (piece > 0)
		{
			Relation	heap = open_table(index);

			flush_pages(index, heap, pages, piece);
			table_close(heap, NoLock);
			(void) sware_zones_request_pages(index, count - piece);
		}
		pfree(pages);
	}
	sware_end_change();
	UnlockPage(index, FLUSH_LOCK_PAGE, ExclusiveLock);
}

/* Flush a piece of the buffer: a bounded number of its oldest pages. */
void
sware_buffer_flush_piece(Relation index)
{
	flush_oldest(index, piece_size);
}

/*
 * Flush the oldest pages as long as all their entries are marked.  As a rule
 * none of these gets to the tree: the table confirms that their rows are dead.
 */
void
sware_buffer_flush_dead(Relation index)
{
	flush_oldest(index, dead_piece_size);
}

/*
 * Wait until no backend has a pin on any page that is retired now.  Until
 * then, a scan with such a pin may return one of the page's entries.  VACUUM
 * calls this before it removes dead rows' entries, whose TIDs are given to
 * other rows afterwards.  The caller must not have the flush lock, since the
 * deadlock detector does not see waits for pins.
 */
void
sware_buffer_wait_for_readers(Relation index, BufferAccessStrategy strategy)
{
	SwareListedPage *pages;
	int			count =
		sware_buffer_list_pages(index, SWARE_SLOT_RETIRED, &pages);

	Assert(!is_flushing(index));
	for (int i = 0; i < count; i++)
	{
		Buffer		buffer;

		sware_vacuum_delay_point();
		buffer = ReadBufferExtended(index, MAIN_FORKNUM, pages[i].page.block,
									RBM_NORMAL, strategy);
		LockBufferForCleanup(buffer);
		sware_release_buffer(buffer);
	}
	if (pages)
		pfree(pages);
}

/*
 * Free the retired pages that no backend has a pin on.  The caller holds no
 * locks on pages.
 */
void
sware_buffer_free_retired(Relation index)
{
	SwareLink  *links;
	SwareListedPage *pages;
	int			count =
		sware_buffer_list_pages(index, SWARE_SLOT_RETIRED, &pages);
	BlockNumber first = InvalidBlockNumber; /* the first page freed */
	BlockNumber last = 0;		/* the last one */

	sware_buffer_directory(index, &links);
	for (int i = 0; i < count; i++)
	{
		BlockNumber block = pages[i].page.block;

		CHECK_FOR_INTERRUPTS();
		SWARE_FAULT_POINT("retired-freeing");
		if (!sware_free_retired_page(index, pages[i].page,
									 links[pages[i].slot /
										   SWARE_SLOTS_PER_PAGE],
									 pages[i].slot % SWARE_SLOTS_PER_PAGE))
			continue;
		first = Min(first, block);
		last = Max(last, block);
	}
	if (first != InvalidBlockNumber)
		FreeSpaceMapVacuumRange(index, first, last + 1);
	pfree(links);
	if (pages)
		pfree(pages);
}
