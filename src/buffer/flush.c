/*-------------------------------------------------------------------------
 *
 * flush.c
 *	  Moving entries from the shared buffer to the tree.
 *
 * One session at a time flushes an index, under a heavyweight lock.  It seals
 * what it takes, sorts a private copy, sends that to the tree, and retires the
 * pages.  If it dies in between, entries are in both places; the next flush
 * sends them again, and the tree skips what it has.
 *
 * Whole pages are flushed, the oldest first, so a page that was flushed needs
 * no second look.  Who finds the buffer over its quota flushes a piece of it;
 * it never waits for another flusher.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/freespace.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"

#include "buffer/directory.h"
#include "buffer/sorter.h"
#include "buffer/statistics.h"
#include "compat.h"
#include "faultpoint.h"
#include "tree/tree.h"
#include "wal/wal.h"

/* The flush lock of an index is that of a page that no index has. */
#define FLUSH_LOCK_PAGE			MaxBlockNumber

/*
 * Pages of a piece, at most: they bound how long an insert can take.  If
 * entries arrive scrambled (estimated K and L are above these), a piece meets
 * each leaf with an entry or two, and is worth nothing unless it is large.
 */
#define MAX_PIECE_PAGES			32
#define MAX_SCRAMBLED_PIECE_PAGES	256
#define SCRAMBLED_K				50
#define SCRAMBLED_L				50

/*
 * A flush of everything goes in batches of so many pages, or as many as
 * maintenance_work_mem allows, with so much memory for each: copy, pointers,
 * sorting.
 */
#define MAX_BATCH_PAGES			512
#define MEMORY_PER_PAGE			((Size) 4 * BLCKSZ)

/*
 * All entries of sealed pages in order, without duplicates, in the current
 * memory context; returns their number.
 */
static int
sorted_entries(Relation index, const SwareListedPage *pages, int page_count,
			   IndexTuple **result)
{
	int64		count = 0;
	int			distinct = 0;
	IndexTuple *entries;

	for (int i = 0; i < page_count; i++)
		count += pages[i].entries;
	entries = MemoryContextAllocHuge(CurrentMemoryContext,
									 Max(count, 1) * sizeof(IndexTuple));

	count = 0;
	for (int i = 0; i < page_count; i++)
	{
		Page		copy = palloc(BLCKSZ);
		BlockNumber block = pages[i].page.block;
		int			on_page = 0;

		if (!sware_copy_buffer_page(index, pages[i].page, copy))
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("slot %d of the buffer directory of index \"%s\" lists block %u, which is not the buffer page meant",
							pages[i].slot, RelationGetRelationName(index), block),
					 errhint("Please REINDEX it.")));

		for (Size offset = SWARE_BUFFER_START; offset < sware_buffer_page_end(copy);)
		{
			IndexTuple	entry = sware_buffer_entry(index, block, copy, &offset);

			if (on_page++ < pages[i].entries)
				entries[count++] = entry;
		}
		if (on_page != pages[i].entries)
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("buffer page %u of index \"%s\" has %d entries, but its slot says %u",
							block, RelationGetRelationName(index), on_page,
							pages[i].entries),
					 errhint("Please REINDEX it.")));
	}

	if (count > 1)
		sware_sort_arrivals(index, entries, count);
	for (int64 i = 0; i < count; i++)
	{
		if (distinct == 0 ||
			sware_compare_entries(index, entries[distinct - 1], entries[i]) != 0)
			entries[distinct++] = entries[i];
	}
	*result = entries;
	return distinct;
}

/*
 * Say in the directory that the entries of pages are in the tree.  One record
 * for each directory page.
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

		directory = sware_read_directory_page(index, links[i], BUFFER_LOCK_EXCLUSIVE);
		meta_buffer = sware_read_buffer(index, SWARE_METAPAGE, BUFFER_LOCK_EXCLUSIVE);
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
 * Move the entries of sealed pages to the tree.  The caller has the flush
 * lock.  Returns the number of entries.
 */
static int64
flush_pages(Relation index, const SwareListedPage *pages, int count)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "sware flush",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	IndexTuple *entries;
	int			entry_count;
	int			appended;
	instr_time	start;
	instr_time	time;

	INSTR_TIME_SET_CURRENT(start);
	entry_count = sorted_entries(index, pages, count, &entries);
	SWARE_FAULT_POINT("flush-sorted");
	appended = sware_tree_insert_run(index, NULL, entries, entry_count);
	SWARE_FAULT_POINT("flush-inserted");
	retire(index, pages, count);
	SWARE_FAULT_POINT("flush-retired");

	INSTR_TIME_SET_CURRENT(time);
	INSTR_TIME_SUBTRACT(time, start);
	sware_count_tree_run(index, appended, entry_count - appended);
	sware_count_flush(index, entry_count, count, INSTR_TIME_GET_MICROSEC(time));
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return entry_count;
}

/*
 * Is this session flushing the index already?  A comparator has brought us
 * here; the lock alone would let us pass, and what we retired and used again
 * would be retired once more in the end.
 */
static bool
is_flushing(Relation index)
{
	LOCKTAG		tag;

	SET_LOCKTAG_PAGE(tag, index->rd_lockInfo.lockRelId.dbId,
					 index->rd_lockInfo.lockRelId.relId, FLUSH_LOCK_PAGE);
	return sware_lock_is_held_by_me(&tag, ExclusiveLock);
}

/*
 * Flush everything that is in the buffer now.  Waits for another flusher, and
 * takes locks on pages; the caller holds none.  Returns the number of entries
 * moved.
 */
int64
sware_buffer_flush_all(Relation index)
{
	SwareBufferState state;
	SwareListedPage *pages;
	int			count;
	int			at_once = Min(maintenance_work_mem * (Size) 1024 / MEMORY_PER_PAGE,
							  MAX_BATCH_PAGES);
	int64		moved = 0;

	if (is_flushing(index))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("index \"%s\" is being flushed by this session",
						RelationGetRelationName(index))));

	/* entries that somebody else is moving have to be in the tree, too */
	LockPage(index, FLUSH_LOCK_PAGE, ExclusiveLock);
	if (sware_buffer_read_state(index, &state))
	{
		for (int i = 0; i < state.tailCount; i++)
			sware_seal_tail(index, state.tails[i]);
		SWARE_FAULT_POINT("flush-sealed");

		count = sware_buffer_list_pages(index, SWARE_SLOT_SEALED, &pages);
		for (int i = 0; i < count; i += at_once)
		{
			CHECK_FOR_INTERRUPTS();
			moved += flush_pages(index, pages + i, Min(at_once, count - i));

			/* the next ones find room where these were */
			sware_buffer_free_retired(index);
		}
		if (pages)
			pfree(pages);
	}
	UnlockPage(index, FLUSH_LOCK_PAGE, ExclusiveLock);
	return moved;
}

/* How many pages is a piece? */
static int
piece_size(Relation index)
{
	int			limit = MAX_PIECE_PAGES;
	double		k;
	double		l;

	if (sware_estimates(index, &k, &l) && k > SCRAMBLED_K && l > SCRAMBLED_L)
		limit = MAX_SCRAMBLED_PIECE_PAGES;
	return Max(Min(sware_buffer_quota(index) / 4, limit), 1);
}

/*
 * Flush the oldest pages, a bounded number, unless somebody else is flushing.
 * The caller holds no locks on pages.
 */
void
sware_buffer_flush_piece(Relation index)
{
	SwareListedPage *pages;
	int			count;

	if (IsParallelWorker() || is_flushing(index) ||
		!ConditionalLockPage(index, FLUSH_LOCK_PAGE, ExclusiveLock))
		return;
	count = sware_buffer_list_pages(index, SWARE_SLOT_SEALED, &pages);
	if (count > 0)
	{
		flush_pages(index, pages, Min(count, piece_size(index)));
		pfree(pages);
	}
	UnlockPage(index, FLUSH_LOCK_PAGE, ExclusiveLock);
}

/*
 * Wait until nobody has a pin on any page that is retired now: until then, a
 * scan may be about to return one of its entries.  The caller does not have
 * the flush lock: who waits for a pin is invisible to the deadlock detector.
 */
void
sware_buffer_wait_for_readers(Relation index, BufferAccessStrategy strategy)
{
	SwareListedPage *pages;
	int			count = sware_buffer_list_pages(index, SWARE_SLOT_RETIRED, &pages);

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
 * Free the retired pages that nobody has a pin on.  The caller holds no locks
 * on pages.
 */
void
sware_buffer_free_retired(Relation index)
{
	SwareLink  *links;
	SwareListedPage *pages;
	int			count = sware_buffer_list_pages(index, SWARE_SLOT_RETIRED, &pages);
	BlockNumber first = InvalidBlockNumber; /* of those freed */
	BlockNumber last = 0;

	sware_buffer_directory(index, &links);
	for (int i = 0; i < count; i++)
	{
		BlockNumber block = pages[i].page.block;

		CHECK_FOR_INTERRUPTS();
		SWARE_FAULT_POINT("retired-freeing");
		if (!sware_free_retired_page(index, pages[i].page,
									 links[pages[i].slot / SWARE_SLOTS_PER_PAGE],
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
