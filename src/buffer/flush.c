/*-------------------------------------------------------------------------
 *
 * flush.c
 *	  Moving entries from the buffer to the tree.
 *
 * One session at a time flushes an index, under the flush lock, a heavyweight
 * lock.  It copies the entries of sealed pages, sorts them, sends them to the
 * tree, and then retires the pages.  If it dies in between, entries are in both
 * places; the next flush sends them again, and the tree skips these.
 *
 * A small buffer is flushed page by page, the oldest first.  The pages of a
 * large one are sorted first: their entries go to sorted pages (sortedpages.c),
 * and from there to the tree in the order of their keys (sweep.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/table.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/lmgr.h"

#include "base/compat.h"
#include "base/faultpoint.h"
#include "base/identity.h"
#include "base/memory.h"
#include "base/pause.h"
#include "buffer/buffer.h"
#include "buffer/buffersteps.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "locks/changes.h"
#include "pages/bufferpages.h"
#include "pages/cache.h"
#include "pages/pageaccess.h"
#include "shared/flushrequests.h"
#include "shared/statistics.h"
#include "tree/tree.h"
#include "wal/wal.h"

/* the most pages of a piece, which bound how long an insert can take */
#define MAX_PIECE_PAGES			32
#define RUNS_OF_PIECE			4

/* so many retired pages are freed after a piece of a buffer that is bypassed */
#define MAX_FREED_PAGES			64

/*
 * How far a sweep goes on at once: as many pages as had entries for
 * SWEPT_LEAVES leaves in the piece before, FIRST_SWEPT_PAGES if that is not
 * known; but no more than USUAL_SWEPT_PAGES, or one page for
 * LISTED_PAGES_PER_SWEPT sealed ones, all of which are listed each time.  As
 * other sessions may bring more pages meanwhile, there is one page at least for
 * EXCESS_PER_SWEPT of those beyond the quota, however many leaves that is, up
 * to MAX_SWEPT_PAGES.
 */
#define FIRST_SWEPT_PAGES		2
#define USUAL_SWEPT_PAGES		3
#define MAX_SWEPT_PAGES			8
#define SWEPT_LEAVES			32
#define LISTED_PAGES_PER_SWEPT	4096
#define EXCESS_PER_SWEPT		8

/*
 * The most pages that a flush of everything moves at once, if
 * maintenance_work_mem allows: each page takes so many bytes, for a copy, for
 * pointers, and for sorting.  That also bounds how many are sorted together.
 */
#define MAX_BATCH_PAGES			512
#define MEMORY_PER_PAGE			((Size) 4 * BLCKSZ)

/*
 * How often, and for how many milliseconds, an inserter waits for another
 * session's flush if the buffer is far beyond its quota
 */
#define MAX_WAITS				8
#define WAIT_TIME				1

/*
 * A flush worker pauses unless the buffer has more times its quota, or may not
 * have all of that: it must not fall behind, and sessions that wait for it do
 * not need the processor.
 */
#define PAUSE_LIMIT				1.1

/* of these waits; without preloading it has no name */
static uint32 wait_event = PG_WAIT_EXTENSION;

void
sware_flushes_attach(void)
{
	wait_event = sware_new_wait_event("SwareFlush");
}

/* Is a page of a piece to retire, and listed on this directory page? */
static inline bool
is_to_retire(const SwareListedPage *page, int directory_page)
{
	return page->state == SWARE_SLOT_RETIRED &&
		sware_page_of_slot(page->slot) == directory_page;
}

/*
 * Mark the slots of those pages of a piece as retired in the directory that
 * have no entries left: these are in the tree, or on sorted pages that are
 * listed.  Unless `next_slot` is negative, inserts go on from this slot, whose
 * page and those that were sealed after it they can reuse.  Writes one record
 * for each directory page.  Returns the number of pages.  The caller has the
 * flush lock, and holds no content locks.
 */
static int
retire(Relation index, const SwarePiece *piece, int next_slot)
{
	SwareLink  *links;
	int			link_count = sware_buffer_directory(index, &links);
	int			total = 0;

	sware_pause_if_due();
	for (int i = 0; i < link_count; i++)
	{
		Buffer		directory = InvalidBuffer;
		Buffer		meta_buffer;
		SwareWal   *wal;
		Page		page;
		SwareMetaPage meta;
		int			retired = 0;

		for (int j = 0; j < piece->count; j++)
			retired += is_to_retire(&piece->pages[j], i);
		if (retired == 0)
			continue;

		directory =
			sware_read_directory_page(index, links[i], BUFFER_LOCK_EXCLUSIVE);
		meta_buffer =
			sware_read_buffer(index, SWARE_METAPAGE, BUFFER_LOCK_EXCLUSIVE);
		wal = sware_wal_begin(index);
		page = sware_wal_change(wal, directory);
		for (int j = 0; j < piece->count; j++)
		{
			const SwareListedPage *listed = &piece->pages[j];
			SwareSlot  *slot = sware_slot(page, listed->slot);

			if (!is_to_retire(listed, i))
				continue;
			Assert(slot->state == SWARE_SLOT_SEALED);
			Assert(sware_links_equal(slot->page, listed->page));
			slot->state = SWARE_SLOT_RETIRED;
		}
		meta = SwarePageGetMeta(sware_wal_change(wal, meta_buffer));
		meta->sealedPages -= retired;
		if (next_slot >= 0)
			meta->nextSlot = next_slot;
		meta->bufferGeneration++;
		meta->directoryVersion++;
		sware_wal_finish(wal);
		sware_release_buffer(meta_buffer);
		sware_release_buffer(directory);
		total += retired;
		SWARE_FAULT_POINT("flush-retiring");
	}
	pfree(links);
	return total;
}

/* What has become of a piece. */
typedef struct Moved
{
	int64		entries;		/* that it had */
	int			retired;		/* pages that had no others */
	int			visits;			/* of leaves */
} Moved;

/*
 * Move the entries of a piece to the tree, drop those of dead rows, and retire
 * the pages that have no others.  The caller has the flush lock, and holds no
 * content locks.
 */
static Moved
flush_piece(Relation index, Relation heap, const SwarePiece *piece)
{
	MemoryContext caller = sware_enter_context("sware flush");
	SwareFlushed flushed;
	SwareInserted done;
	Moved		moved;

	sware_copy_piece(index, heap, piece, &flushed);
	SWARE_FAULT_POINT("flush-sorted");
	done = sware_tree_insert_run(index, heap, flushed.entries, flushed.count,
								 flushed.hasVersions);
	SWARE_FAULT_POINT("flush-inserted");
	moved.retired = retire(index, piece, -1);
	SWARE_FAULT_POINT("flush-retired");

	sware_count_late_flushed(index, flushed.count, done.late,
							 (double) moved.retired / piece->sealed);
	sware_count(index, SWARE_STAT_ENTRIES_DROPPED, flushed.dropped);
	sware_count(index, SWARE_STAT_FLUSHES, 1);
	sware_count(index, SWARE_STAT_FLUSHED_PAGES, moved.retired);
	sware_count(index, SWARE_STAT_FLUSHED_ENTRIES, flushed.count);
	moved.entries = flushed.count + flushed.dropped;
	moved.visits = done.visits;
	sware_leave_context(caller);
	return moved;
}

/*
 * Move the entries of unsorted pages to sorted pages, drop those of dead rows,
 * and retire the pages.  Returns false if the directory has no room for the
 * sorted pages.  The caller has the flush lock, and holds no content locks.
 */
static bool
sort_pages(Relation index, Relation heap, SwareListedPage *pages, int count)
{
	MemoryContext caller = sware_enter_context("sware page sort");
	SwarePiece	piece = {
		.pages = pages,
		.count = count,
		.asArrived = true
	};
	SwareFlushed flushed;
	bool		done;

	sware_copy_piece(index, heap, &piece, &flushed);
	done = sware_write_sorted_pages(index, flushed.entries, flushed.count,
									flushed.hasVersions);
	if (done)
	{
		SWARE_FAULT_POINT("sorted-listed");
		(void) retire(index, &piece, pages[0].slot);
		sware_count(index, SWARE_STAT_SORTED_PAGES, count);
		sware_count(index, SWARE_STAT_SORTED_ENTRIES, flushed.count);
		sware_count(index, SWARE_STAT_ENTRIES_DROPPED, flushed.dropped);
	}
	sware_leave_context(caller);
	return done;
}

/* The number of pages that maintenance_work_mem allows, `most` at most. */
static int
pages_at_once(int most)
{
	Size		allowed = maintenance_work_mem * (Size) 1024 / MEMORY_PER_PAGE;

	return (int) Min(Max(allowed, (Size) 1), (Size) most);
}

/*
 * Is this session flushing the index already?  That is so if a comparison
 * function that the flush called executes SQL of its own.  A session can take a
 * heavyweight lock twice, so the flush lock would not stop it.  Pages that an
 * inner flush had retired, and that were reused, would be retired again by the
 * outer one.
 */
static bool
is_flushing(Relation index)
{
	return sware_is_changing(RelationGetRelid(index), SWARE_FLUSHES);
}

/*
 * Flush the next piece of a sweep of all page runs.  Adds the number of its
 * entries to *moved.  Returns whether the sweep goes on.  It ends with its last
 * piece, and where it finds that entries are in another order than the one that
 * keys have now: then a page has retired before the one in front of it, or none
 * has.
 */
static bool
sweep_on(Relation index, Relation heap, SwareSweepState *state, int64 *moved)
{
	MemoryContext caller = sware_enter_context("sware sweep of everything");
	SwareListedPage *pages;
	int			count =
		sware_buffer_list_pages(index, SWARE_SLOT_SEALED, &pages);
	SwarePiece	piece = {.sealed = count};
	SwareSealedPages sealed;
	Moved		done = {0};
	bool		in_order;

	CHECK_FOR_INTERRUPTS();
	sware_tell_sealed_pages(index, pages, count, &sealed);
	in_order = sealed.runCount > 0;
	for (int i = 0; i < sealed.runCount; i++)
	{
		const SwarePageRun *run = &sealed.runs[i];

		/* a crash may have left the last ones of a run unlisted */
		in_order &= pages[run->first + run->count - 1].sequence -
			pages[run->first].sequence + 1 == (uint32) run->count;
	}
	if (in_order)
	{
		/* new pages outnumber the runs: of two of a run, one retires */
		sware_sweep_take_piece(index, &sealed, state,
							   pages_at_once(MAX_BATCH_PAGES) +
							   sealed.runCount, &piece);
		done = flush_piece(index, heap, &piece);
		sware_buffer_free_retired(index, PG_INT32_MAX);
	}
	*moved += done.entries;
	sware_leave_context(caller);
	return done.retired > 0 && state->hasPlace;
}

/*
 * Flush all sealed pages: the page runs in one sweep, which visits each leaf
 * about once, and then what is left.  Returns the number of entries that were
 * moved.  The caller has the flush lock, and holds no content locks.
 */
static int64
flush_sealed(Relation index)
{
	MemoryContext caller = sware_enter_context("sware flush of everything");
	Relation	heap = table_open(index->rd_index->indrelid, NoLock);
	SwareSweepState state = {0};
	int			at_once = pages_at_once(MAX_BATCH_PAGES);
	int64		moved = 0;
	SwareListedPage *pages;
	int			count;

	while (sweep_on(index, heap, &state, &moved))
		continue;

	/* VACUUM needs all pages to retire, also those that a sweep has left */
	count = sware_buffer_list_pages(index, SWARE_SLOT_SEALED, &pages);
	for (int i = 0; i < count; i += at_once)
	{
		SwarePiece	piece = {
			.pages = pages + i,
			.count = Min(at_once, count - i),
			.sealed = count - i,
			.asArrived = true
		};

		CHECK_FOR_INTERRUPTS();
		moved += flush_piece(index, heap, &piece).entries;

		/* inserts that go on meanwhile can reuse the pages at once */
		sware_buffer_free_retired(index, PG_INT32_MAX);
	}
	table_close(heap, NoLock);
	sware_leave_context(caller);
	return moved;
}

/*
 * Seal all open pages.  Returns false if the buffer has no pages.  The caller
 * has the flush lock, and holds no content locks.
 */
static bool
seal_tails(Relation index)
{
	SwareBufferState state;

	if (!sware_buffer_read_state(index, &state))
		return false;
	for (int i = 0; i < state.tailCount; i++)
		sware_seal_tail(index, state.tails[i]);
	return true;
}

/*
 * Flush everything that is in the buffer now.  Waits for another flusher.
 * Returns the number of entries that were moved.  Calls comparators, which may
 * raise errors.  The caller holds no locks on pages.
 */
int64
sware_buffer_flush_all(Relation index)
{
	SwareWork	work;
	int64		moved = 0;

	if (is_flushing(index))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("index \"%s\" is being flushed by this session",
						RelationGetRelationName(index))));

	/* entries that another session is moving must be in the tree afterwards */
	LockPage(index, SWARE_FLUSH_LOCK_PAGE, ExclusiveLock);
	sware_begin_change(index, SWARE_FLUSHES);
	sware_work_begin(&work, index, SWARE_VACUUM);
	if (seal_tails(index))
	{
		SWARE_FAULT_POINT("flush-sealed");

		moved = flush_sealed(index);
		(void) sware_zones_request_pages(index, 0, 0);
	}
	sware_end_change();
	UnlockPage(index, SWARE_FLUSH_LOCK_PAGE, ExclusiveLock);
	(void) sware_work_end(&work, SWARE_FLUSH_WORK);
	return moved;
}

/*
 * How many bytes of entries may a run have that is to wait in the buffer for
 * others?  A flush should move several such runs together.
 */
Size
sware_buffer_run_limit(Relation index)
{
	int			piece = Min(MAX_PIECE_PAGES,
							sware_buffer_usual_quota(index) / 4);

	return (Size) (piece / RUNS_OF_PIECE) * BLCKSZ;
}

/*
 * Begin to flush a piece of the buffer, unless another session is flushing, or
 * this is a parallel worker.  Returns whether the caller has the flush lock.
 * Until end_flush, the session is the index's owner: others have inserted the
 * entries, before functions may have got another owner.
 */
static bool
try_to_begin(Relation index, SwareIdentity *caller)
{
	if (IsParallelWorker() || is_flushing(index) ||
		!ConditionalLockPage(index, SWARE_FLUSH_LOCK_PAGE, ExclusiveLock))
		return false;
	sware_begin_change(index, SWARE_FLUSHES);
	sware_become_owner(index, caller);
	return true;
}

/*
 * The same for an inserter, who leaves the flush to the flush worker if there
 * is or will be one, unless the buffer is far beyond its quota and the worker
 * is busy with other indexes.  To sort the pages of a large buffer takes longer
 * than to start a worker, so one is started for that even if requests are rare.
 *
 * If the worker or another session is flushing a buffer that is far beyond its
 * quota, this one waits for a moment rather than bring entries faster than they
 * are flushed: a buffer that is full sends them to the tree one by one.  If it
 * is full already, an inserter comes here with each row, and does not wait.
 * The wait is bounded, as a flush of everything takes long, and as the deadlock
 * detector does not see it.
 */
static bool
begin_in_turn(Relation index, SwareIdentity *caller)
{
	int			quota = sware_buffer_quota(index);
	SwareStart	start = quota >= SWARE_LARGE_QUOTA ? SWARE_START_AT_ONCE :
		SWARE_START_IF_FREQUENT;
	int			most = 0;

	for (int waits = 0;; waits++)
	{
		SwareRequested requested = sware_request_flush(index, start);
		SwareBufferState state;
		bool		is_full;

		if (requested == SWARE_REQUEST_REFUSED && try_to_begin(index, caller))
			return true;

		/* a comparator that inserts may be called with content locks */
		if (waits == MAX_WAITS || IsParallelWorker() || is_flushing(index) ||
			InterruptHoldoffCount > 0)
			return false;
		sware_buffer_read_state(index, &state);
		if (most == 0)
			most = Min(quota * SWARE_HARD_LIMIT,
					   sware_zones_request_pages(index, state.sealedPages + 1,
												 SWARE_SAME_RUN_PAGES));
		is_full = state.sealedPages >= most;
		if (!is_full && state.sealedPages <= quota * SWARE_OWED_LIMIT)
			return false;
		if (requested == SWARE_REQUEST_NOTED && try_to_begin(index, caller))
			return true;
		if (is_full)
			return false;
		SWARE_FAULT_POINT("flush-waiting");
		(void) WaitLatch(MyLatch,
						 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 WAIT_TIME, wait_event);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

static void
end_flush(Relation index, const SwareIdentity *caller)
{
	sware_become_again(caller);
	sware_end_change();
	UnlockPage(index, SWARE_FLUSH_LOCK_PAGE, ExclusiveLock);
}

/*
 * Go on with a sweep of page runs.  `excess` is the number of pages beyond the
 * quota.  Returns the number of pages that have retired, which may be 0.
 */
static int
flush_swept(Relation index, Relation heap, const SwareSealedPages *sealed,
			int excess)
{
	SwareSweepState state;
	bool		keeps_place = sware_zones_sweep(index, &state);
	int			listed = sealed->count / LISTED_PAGES_PER_SWEPT;
	double		usual = SWEPT_LEAVES * state.pagesOfLeaf;
	int			pages = usual == 0 ? FIRST_SWEPT_PAGES :
		(int) Min(usual, Max(USUAL_SWEPT_PAGES, listed));
	int			least = Min(Max(excess / EXCESS_PER_SWEPT, 1),
							Max(MAX_SWEPT_PAGES, listed));
	SwarePiece	piece = {.sealed = sealed->count};
	double		entries = 0;	/* of all pages, moved or not */
	Moved		moved;

	/* with two pages of one run, one retires: so there is progress */
	sware_sweep_take_piece(index, sealed, &state, Max(pages, least) +
						   (keeps_place ? 0 : sealed->runCount), &piece);
	moved = flush_piece(index, heap, &piece);
	for (int i = 0; i < piece.count; i++)
		entries += piece.pages[i].entries;
	state.pagesOfLeaf = moved.visits == 0 ? 0 :
		moved.entries * piece.count / (moved.visits * entries);
	sware_zones_set_sweep(index, &state);
	return moved.retired;
}

/*
 * Do one of the following with sealed pages, which are given in the order of
 * sealing: sort unsorted ones, if there are enough of them; flush a piece of
 * the page runs; or flush the oldest pages; or nothing.  Tells shared memory
 * how many pages there are afterwards.  The caller has the flush lock.
 */
static void
relieve(Relation index, Relation heap, SwareListedPage *pages, int count)
{
	int			quota = sware_buffer_quota(index);
	int			to_sort = sware_pages_to_sort(index, quota);
	int			sorted;
	int			retired = 0;
	SwareSealedPages sealed;

	sware_pause_point();
	sware_tell_sealed_pages(index, pages, count, &sealed);
	sorted = Min(sealed.unsortedCount, pages_at_once(to_sort));

	/*
	 * If errors have left entries on unsorted and on sorted pages, again and
	 * again, the sorted ones are swept, so that their number is bounded.
	 */
	if (to_sort > 0 && sealed.unsortedCount >= to_sort &&
		count + sorted <= quota * SWARE_HARD_LIMIT &&
		sort_pages(index, heap, sealed.unsorted, sorted))
		sealed.sortedCount += sorted;
	else
	{
		int			most = Min(quota,
							   sware_zones_request_pages(index, count,
														 sealed.sortedCount));

		sware_pauses &= most == quota && count <= most * PAUSE_LIMIT;
		if (count >= most && sealed.runCount > 0)
		{
			retired = flush_swept(index, heap, &sealed, count - most);
			sealed.sortedCount -= retired;
		}
		else if (count >= most)
		{
			SwarePiece	oldest = {
				.pages = pages,
				.sealed = count,
				.asArrived = true
			};

			/* a quarter of what it may have, or all that it has beyond that */
			oldest.count = Min(Max(Min(Max(most / 4, count - most),
									   MAX_PIECE_PAGES), 1), count);
			retired = flush_piece(index, heap, &oldest).retired;
		}
	}
	(void) sware_zones_request_pages(index, count - retired,
									 sealed.sortedCount);
}

/*
 * Flush a piece of the buffer: a bounded number of its pages.  Does nothing if
 * another session is flushing, or if an inserter leaves it to the flush worker,
 * and waits some milliseconds for either at most; or if this is a parallel
 * worker, or if the buffer may stay as it is.
 * Returns whether it has done something.  Calls comparators, which may raise
 * errors.  The caller holds no locks on pages.
 */
bool
sware_buffer_flush_piece(Relation index, SwareDoer doer)
{
	SwareIdentity caller;
	SwareWork	work;
	MemoryContext outer;
	SwareListedPage *pages;
	int			count;
	bool		has_sealed;

	if (doer == SWARE_INSERTER ? !begin_in_turn(index, &caller) :
		!try_to_begin(index, &caller))
		return false;
	sware_work_begin(&work, index, doer);
	outer = sware_enter_context("sware flush of a piece");
	has_sealed = sware_buffer_is_bypassed(index) && seal_tails(index);
	count = sware_buffer_list_pages(index, SWARE_SLOT_SEALED, &pages);
	sware_pauses = doer == SWARE_FLUSH_WORKER &&
		count <= sware_buffer_quota(index) * PAUSE_LIMIT;
	if (count > 0)
	{
		Relation	heap = table_open(index->rd_index->indrelid, NoLock);

		relieve(index, heap, pages, count);
		table_close(heap, NoLock);
	}
	/* inserts that bypass the buffer reuse no page of it */
	if (has_sealed)
		(void) sware_buffer_free_retired(index, MAX_FREED_PAGES);
	sware_leave_context(outer);
	end_flush(index, &caller);
	return sware_work_end(&work, SWARE_FLUSH_WORK);
}

/* The same, if this session owes it since it published entries. */
void
sware_buffer_flush_owed(Relation index)
{
	SwareCache *cache = index->rd_amcache;

	if (cache == NULL || !cache->owesFlush)
		return;
	cache->owesFlush = false;
	(void) sware_buffer_flush_piece(index, SWARE_INSERTER);
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
