/*-------------------------------------------------------------------------
 *
 * zones.c
 *	  What shared memory knows about the pages of shared buffers.  zones.h
 *	  tells what that is.
 *
 * A table has the zones of so many indexes; blocks and lists of unsorted pages
 * are in the pool.  The table is divided into partitions, each with a lock.
 * What the zones of an index say changes under the partition's exclusive lock,
 * and gets a new stamp then.  Under these locks nothing is read from disk,
 * allocated, compared or waited for, except the pool's lock.
 *
 * Whoever changes something prepares it without lock, and then looks whether
 * what it was prepared from is still there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "am/options.h"
#include "buffer/abbreviation.h"
#include "buffer/sortedblock.h"
#include "buffer/zones.h"
#include "compat.h"

#define PARTITIONS				16
#define MIN_ZONES				64	/* indexes; all multiples of PARTITIONS */
#define MAX_ZONES				512

#define MAX_BLOCKS				96	/* of an index */
#define MIN_BLOCK_PAGES			16	/* blocks become as large, if they can */
#define BLOCKS_PER_QUOTA		2
#define MERGED_SIZE				2	/* a block is merged with so much less */
#define MAX_UNSORTED_PAGES		16	/* or what the threshold says */

/* so often is it tried to publish what others publish too */
#define MAX_ATTEMPTS			3

/*
 * Who builds a block does so alone, unless it takes longer than this; that is
 * also how long others wait when a builder failed.
 */
#define BUILD_LEASE				(5 * USECS_PER_SEC)

/*
 * Sorting a page costs about as much as reading it so many times.  When so much
 * has been spent on reading unsorted pages, they are sorted, few as they are.
 */
#define READS_PER_SORT			64
/* every so many reads by a backend are counted, as so many */
#define READS_PER_COUNT			32

/* when there was no room for a block, nobody builds another for so long */
#define NO_ROOM_PAUSE			USECS_PER_SEC

/* the zones of an index */
typedef struct IndexZones
{
	/* these are read, and some set, without lock */
	pg_atomic_uint64 stamp;		/* new with each change; 0: not in use */
	pg_atomic_uint64 nextBuild; /* nobody builds a block before */
	pg_atomic_uint32 isUsed;	/* since the last search for idle zones */
	pg_atomic_uint32 pagesRead; /* unsorted ones, since the last block was built */

	/* guarded by the partition's lock */
	SwareFile	file;
	uint64		indexIncarnation;
	uint64		version;		/* of the directory; and the metapage's LSN */
	XLogRecPtr	lsn;
	int			pageCount;
	SwareSegment pages;			/* SwareUnsortedPage[pageCount] */
	int			blockCount;
	SwareSortedBlock blocks[MAX_BLOCKS];
} IndexZones;

typedef struct ZoneTable
{
	pg_atomic_uint32 hand;		/* where the search for idle zones goes on */
	int			zonesPerPartition;
} ZoneTable;

typedef enum CopyResult
{
	NOTHING_KNOWN,
	OUTDATED,
	CURRENT
} CopyResult;

typedef enum PublishResult
{
	PUBLISHED,
	CHANGED_MEANWHILE,
	NO_ROOM
} PublishResult;

int			sware_buffer_pool_size = 0;

/* where things are in shared memory */
static ZoneTable *table = NULL;
static uint32 *hashes;			/* of the files; guarded like the zones */
static IndexZones *all_zones;
static LWLockPadded *locks;		/* of the partitions, and of the pool */

bool
sware_zones_are_available(void)
{
	return table != NULL;
}

/* for how many indexes there is room */
static int
zone_count(void)
{
	int			count = sware_buffer_pool_size / (SWARE_CHUNK_SIZE / 1024) / 8;

	count = Min(MAX_ZONES, Max(MIN_ZONES, count));
	return count / PARTITIONS * PARTITIONS;
}

static Size
table_memory(void)
{
	return CACHELINEALIGN(sizeof(ZoneTable)) +
		CACHELINEALIGN(zone_count() * sizeof(uint32)) +
		CACHELINEALIGN(zone_count() * sizeof(IndexZones));
}

static Size
memory_size(void)
{
	return add_size(table_memory(), sware_pool_memory(sware_buffer_pool_size));
}

void
sware_zones_request_memory(void)
{
	RequestAddinShmemSpace(memory_size());
	RequestNamedLWLockTranche("sware_zones", PARTITIONS + 1);
}

void
sware_zones_attach(void)
{
	int			count = zone_count();
	bool		found;
	char	   *memory = ShmemInitStruct("sware zones", memory_size(), &found);

	locks = GetNamedLWLockTranche("sware_zones");
	sware_pool_attach(memory + table_memory(), sware_buffer_pool_size, !found,
					  &locks[PARTITIONS].lock);
	table = (ZoneTable *) memory;
	memory += CACHELINEALIGN(sizeof(ZoneTable));
	hashes = (uint32 *) memory;
	memory += CACHELINEALIGN(count * sizeof(uint32));
	all_zones = (IndexZones *) memory;
	if (!found)
	{
		pg_atomic_init_u32(&table->hand, 0);
		table->zonesPerPartition = count / PARTITIONS;
		memset(hashes, 0, count * sizeof(uint32));
		memset(all_zones, 0, count * sizeof(IndexZones));
		for (int i = 0; i < count; i++)
		{
			pg_atomic_init_u64(&all_zones[i].stamp, 0);
			pg_atomic_init_u64(&all_zones[i].nextBuild, 0);
			pg_atomic_init_u32(&all_zones[i].isUsed, 0);
			pg_atomic_init_u32(&all_zones[i].pagesRead, 0);
		}
	}
}

static uint32
hash_file(SwareFile file)
{
	return hash_bytes((const unsigned char *) &file, sizeof(SwareFile));
}

/* the lock of the partition that a hash belongs to */
static LWLock *
lock_of_hash(uint32 hash)
{
	return &locks[hash % PARTITIONS].lock;
}

/* the lock of the partition that some zones belong to */
static LWLock *
lock_of_zones(const IndexZones *zones)
{
	return &locks[(zones - all_zones) / table->zonesPerPartition].lock;
}

static bool
is_in_use(IndexZones *zones)
{
	return pg_atomic_read_u64(&zones->stamp) != 0;
}

/* The zones of a file; NULL if there are none.  The caller has the lock. */
static IndexZones *
find_zones(SwareFile file, uint32 hash)
{
	int			first = hash % PARTITIONS * table->zonesPerPartition;

	for (int i = first; i < first + table->zonesPerPartition; i++)
	{
		if (hashes[i] == hash && is_in_use(&all_zones[i]) &&
			memcmp(&all_zones[i].file, &file, sizeof(SwareFile)) == 0)
			return &all_zones[i];
	}
	return NULL;
}

/* Let views see that the zones have changed.  The caller has the lock, exclusively. */
static uint64
set_new_stamp(IndexZones *zones)
{
	uint64		stamp = sware_new_stamp();

	pg_atomic_write_u64(&zones->stamp, stamp);
	return stamp;
}

/* Forget an index.  The caller has the lock, exclusively. */
static void
forget_zones(IndexZones *zones)
{
	for (int i = 0; i < zones->blockCount; i++)
		sware_segment_free(&zones->blocks[i].segment);
	sware_segment_free(&zones->pages);
	zones->blockCount = 0;
	zones->pageCount = 0;
	zones->pages.chunks = 0;
	pg_atomic_write_u64(&zones->stamp, 0);
}

/*
 * Zones for another index, which are not in use.  If all are, those of an index
 * that was not used lately are given up, if there is one.  The caller has the
 * lock, exclusively.
 */
static IndexZones *
take_zones(uint32 hash)
{
	int			first = hash % PARTITIONS * table->zonesPerPartition;
	IndexZones *taken = NULL;

	for (int i = first; i < first + table->zonesPerPartition; i++)
	{
		IndexZones *zones = &all_zones[i];

		if (!is_in_use(zones))
			return zones;
		if (taken == NULL && pg_atomic_read_u32(&zones->isUsed) == 0)
			taken = zones;
		pg_atomic_write_u32(&zones->isUsed, 0);
	}
	if (taken == NULL)
		taken = &all_zones[first + pg_atomic_fetch_add_u32(&table->hand, 1) %
						   table->zonesPerPartition];
	forget_zones(taken);
	return taken;
}

/*
 * Forget an index to make room in the pool: the next that has not been used
 * since the last search came by, or just the next.  Not the one with a given
 * number.  False if there is none.  The caller has no lock.
 */
static bool
evict(bool only_idle, int except)
{
	int			count = table->zonesPerPartition * PARTITIONS;

	for (int i = 0; i < count; i++)
	{
		int			number = pg_atomic_fetch_add_u32(&table->hand, 1) % count;
		IndexZones *zones = &all_zones[number];
		bool		done;

		if (number == except || !is_in_use(zones))
			continue;
		if (only_idle && pg_atomic_exchange_u32(&zones->isUsed, 0) != 0)
			continue;
		LWLockAcquire(lock_of_zones(zones), LW_EXCLUSIVE);
		done = is_in_use(zones);
		if (done)
			forget_zones(zones);
		LWLockRelease(lock_of_zones(zones));
		if (done)
			return true;
	}
	return false;
}

void
sware_zones_forget_database(Oid database)
{
	if (!sware_zones_are_available())
		return;
	for (int i = 0; i < table->zonesPerPartition * PARTITIONS; i++)
	{
		IndexZones *zones = &all_zones[i];

		LWLockAcquire(lock_of_zones(zones), LW_EXCLUSIVE);
		if (is_in_use(zones) && SwareFileDatabase(zones->file) == database)
			forget_zones(zones);
		LWLockRelease(lock_of_zones(zones));
	}
}

void
sware_zones_count_chunks(int *all, int *unused, int *used)
{
	*all = *unused = *used = 0;
	if (!sware_zones_are_available())
		return;
	*all = sware_pool_chunk_count();
	*unused = sware_pool_free_count();
	for (int i = 0; i < table->zonesPerPartition * PARTITIONS; i++)
	{
		IndexZones *zones = &all_zones[i];

		LWLockAcquire(lock_of_zones(zones), LW_SHARED);
		if (is_in_use(zones))
		{
			*used += zones->pages.chunks;
			for (int j = 0; j < zones->blockCount; j++)
				*used += zones->blocks[j].segment.chunks;
		}
		LWLockRelease(lock_of_zones(zones));
	}
}

void
sware_zone_view_init(SwareZoneView *view, Relation index, MemoryContext context)
{
	memset(view, 0, sizeof(SwareZoneView));
	view->index = index;
	view->context = context;
	view->place = -1;
}

/* Make room in a view's arrays, what is there included. */
static void
reserve(SwareZoneView *view, int blocks, int pages)
{
	if (blocks > view->blocksAllocated)
	{
		int			count = Max(blocks, 8);

		view->blocks = view->blocks == NULL ?
			MemoryContextAlloc(view->context, count * sizeof(SwareSortedBlock)) :
			repalloc(view->blocks, count * sizeof(SwareSortedBlock));
		view->blocksAllocated = count;
	}
	if (pages > view->pagesAllocated)
	{
		int			count = Max(pages, 16);

		view->pages = view->pages == NULL ?
			MemoryContextAllocHuge(view->context, count * sizeof(SwareUnsortedPage)) :
			repalloc_huge(view->pages, count * sizeof(SwareUnsortedPage));
		view->pagesAllocated = count;
	}
}

/* Is a view, or are zones, of the state's pages? */
#define is_of_state(thing, state) \
	((thing)->indexIncarnation == (state)->indexIncarnation && \
	 (thing)->version == (state)->version && (thing)->lsn == (state)->lsn)

static void
copy_under_lock(SwareZoneView *view, IndexZones *zones)
{
	view->blockCount = zones->blockCount;
	if (zones->blockCount > 0)
		memcpy(view->blocks, zones->blocks, zones->blockCount * sizeof(SwareSortedBlock));
	view->pageCount = zones->pageCount;
	(void) sware_segment_read(&zones->pages, 0, view->pages,
							  zones->pageCount * sizeof(SwareUnsortedPage));
	view->place = zones - all_zones;
	view->stamp = pg_atomic_read_u64(&zones->stamp);
	if (pg_atomic_read_u32(&zones->isUsed) == 0)
		pg_atomic_write_u32(&zones->isUsed, 1);
}

/*
 * Copy what is known of an index to a view.  Zones of another incarnation, or
 * of a later version, are not known.  Takes the lock, shared.
 */
static CopyResult
copy_zones(SwareZoneView *view, const SwareBufferState *state)
{
	SwareFile	file = SwareRelationLocator(view->index);
	uint32		hash = hash_file(file);

	for (;;)
	{
		CopyResult	result = NOTHING_KNOWN;
		int			blocks = 0;
		int			pages = 0;
		IndexZones *zones;

		view->blockCount = view->pageCount = 0;
		view->place = -1;
		view->stamp = 0;

		LWLockAcquire(lock_of_hash(hash), LW_SHARED);
		zones = find_zones(file, hash);
		if (zones != NULL)
		{
			blocks = zones->blockCount;
			pages = zones->pageCount;
			view->stamp = pg_atomic_read_u64(&zones->stamp);
			if (zones->indexIncarnation == state->indexIncarnation &&
				zones->version <= state->version && zones->lsn <= state->lsn)
				result = is_of_state(zones, state) ? CURRENT : OUTDATED;
		}
		if (result != NOTHING_KNOWN &&
			blocks <= view->blocksAllocated && pages <= view->pagesAllocated)
		{
			copy_under_lock(view, zones);
			LWLockRelease(lock_of_hash(hash));
			return result;
		}
		LWLockRelease(lock_of_hash(hash));
		if (result == NOTHING_KNOWN)
			return result;
		reserve(view, blocks, pages);
	}
}

/* The first of the listed pages that was not sealed before a sequence number. */
static int
find_listed(const SwareListedPage *listed, int count, uint32 sequence)
{
	int			low = 0;
	int			high = count;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if ((int32) (listed[middle].sequence - sequence) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Is a page that is known by its LSN still what it was?  Locks it for a moment. */
static bool
has_lsn(Relation index, SwareLink page, XLogRecPtr lsn)
{
	Buffer		buffer = sware_read_buffer_page(index, page, BUFFER_LOCK_SHARE);
	bool		result;

	if (!BufferIsValid(buffer))
		return false;
	result = PageGetLSN(BufferGetPage(buffer)) == lsn;
	sware_release_buffer(buffer);
	return result;
}

/*
 * Are the listed pages those that a view knows, and later ones?  Or is it of a
 * database that was dropped, whose files another one has got?  The newest
 * listed page that is known tells, see zones.h.  Locks it for a moment.
 */
static bool
is_same_history(const SwareZoneView *view, const SwareListedPage *listed, int count)
{
	int			block = view->blockCount - 1;
	int			page = view->pageCount - 1;

	for (int i = count - 1; i >= 0; i--)
	{
		while (block >= 0 &&
			   (int32) (view->blocks[block].lastSequence - listed[i].sequence) > 0)
			block--;
		while (page >= 0 &&
			   (!view->pages[page].hasZonemap ||
				(int32) (view->pages[page].sequence - listed[i].sequence) > 0))
			page--;
		if (block >= 0 && view->blocks[block].lastSequence == listed[i].sequence)
			return has_lsn(view->index, listed[i].page, view->blocks[block].lastLsn);
		if (page >= 0 && view->pages[page].sequence == listed[i].sequence)
			return has_lsn(view->index, listed[i].page, view->pages[page].lsn);
	}
	return true;
}

/*
 * Keep the blocks whose last pages are listed, and mark these.  Pages before one
 * that is not have retired, or are to be found outside the block.  Its other
 * pages are neighbours for ever: a page that is sealed later comes behind them.
 */
static void
keep_listed_blocks(SwareZoneView *view, const SwareListedPage *listed, int count,
				   bool *is_sorted)
{
	SwareLink	links[SWARE_MAX_BLOCK_PAGES];
	int			kept = 0;

	for (int i = 0; i < view->blockCount; i++)
	{
		SwareSortedBlock block = view->blocks[i];
		int			end = find_listed(listed, count, block.lastSequence + 1);
		uint32		live = 0;

		if (end == 0 || listed[end - 1].sequence != block.lastSequence ||
			!sware_block_copy_links(&block, links))
			continue;
		while (live < block.pages - block.retiredPages && live < (uint32) end &&
			   sware_links_equal(links[block.pages - 1 - live],
								 listed[end - 1 - live].page))
			live++;
		if (live == 0)
			continue;
		if (live < block.pages - block.retiredPages &&
			!sware_block_retire(&block, block.pages - live))
			continue;
		block.firstSequence = listed[end - live].sequence;
		memset(is_sorted + end - live, true, live);
		view->blocks[kept++] = block;
	}
	view->blockCount = kept;
}

/* The listed pages that are in no block, with the zonemaps that the view knew. */
static void
list_unsorted(SwareZoneView *view, const SwareListedPage *listed, int count,
			  const bool *is_sorted)
{
	SwareUnsortedPage *pages;
	int			known = 0;
	int			found = 0;

	pages = MemoryContextAllocExtended(CurrentMemoryContext,
									   Max(count, 1) * sizeof(SwareUnsortedPage),
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (int i = 0; i < count; i++)
	{
		SwareUnsortedPage *page = &pages[found];

		if (is_sorted[i])
			continue;
		while (known < view->pageCount &&
			   (int32) (view->pages[known].sequence - listed[i].sequence) < 0)
			known++;
		if (known < view->pageCount &&
			view->pages[known].sequence == listed[i].sequence &&
			sware_links_equal(view->pages[known].page, listed[i].page))
			*page = view->pages[known];
		page->page = listed[i].page;
		page->sequence = listed[i].sequence;
		found++;
	}
	reserve(view, 0, found);
	if (found > 0)
		memcpy(view->pages, pages, found * sizeof(SwareUnsortedPage));
	view->pageCount = found;
	pfree(pages);
}

/* Look at pages without zonemap, if the first column makes zonemaps possible. */
static void
make_zonemaps(SwareZoneView *view)
{
	SwareKeyColumn column;

	sware_key_column_init(&column, view->index, 1, (Datum) 0, true);
	if (!sware_has_abbreviations(&column))
		return;
	for (int i = 0; i < view->pageCount; i++)
	{
		if (view->pages[i].hasZonemap)
			continue;
		CHECK_FOR_INTERRUPTS();

		/* if the page is gone, whoever looks for entries there finds out */
		(void) sware_page_make_zonemap(view->index, &view->pages[i]);
	}
}

/*
 * Bring a view, which may know nothing, up to date.  False if the state is
 * not current.  Locks metapage, directory and buffer pages, one at a time.
 */
static bool
read_directory(SwareZoneView *view, const SwareBufferState *state, bool with_zonemaps)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "sware buffer directory",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	SwareListedPage *listed;
	int			count = sware_buffer_list_pages(view->index, SWARE_SLOT_SEALED, &listed);
	SwareBufferState now;
	bool		is_current;

	(void) sware_buffer_read_state(view->index, &now);
	is_current = is_of_state(&now, state);
	if (is_current)
	{
		bool	   *is_sorted = palloc0(Max(count, 1));

		if (!is_same_history(view, listed, count))
			view->blockCount = view->pageCount = 0;
		keep_listed_blocks(view, listed, count, is_sorted);
		list_unsorted(view, listed, count, is_sorted);
		if (with_zonemaps)
			make_zonemaps(view);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return is_current;
}

/* Free the zones' blocks that a view has not kept.  The caller has the lock. */
static void
free_other_blocks(IndexZones *zones, const SwareZoneView *view)
{
	int			kept = 0;

	for (int i = 0; i < zones->blockCount; i++)
	{
		/* what is kept is in the same order */
		if (kept < view->blockCount && view->blocks[kept].stamp == zones->blocks[i].stamp)
			kept++;
		else
			sware_segment_free(&zones->blocks[i].segment);
	}
	Assert(kept == view->blockCount);
}

/*
 * Let others have a view that has been brought up to date, unless the zones
 * that it was copied from have changed.  Takes the lock, exclusively.
 */
static PublishResult
publish_view(SwareZoneView *view, const SwareBufferState *state)
{
	SwareFile	file = SwareRelationLocator(view->index);
	uint32		hash = hash_file(file);
	Size		length = view->pageCount * sizeof(SwareUnsortedPage);
	SwareSegment pages = {0};
	IndexZones *zones;

	if (length > 0)
	{
		while (!sware_segment_allocate(length, &pages))
		{
			if (!evict(true, view->place) && !evict(false, view->place))
				return NO_ROOM;
		}
		sware_segment_write(&pages, 0, view->pages, length);
	}

	LWLockAcquire(lock_of_hash(hash), LW_EXCLUSIVE);
	zones = find_zones(file, hash);
	if ((zones != NULL ? pg_atomic_read_u64(&zones->stamp) : 0) != view->stamp)
	{
		LWLockRelease(lock_of_hash(hash));
		sware_segment_free(&pages);
		return CHANGED_MEANWHILE;
	}
	if (zones == NULL)
	{
		zones = take_zones(hash);
		hashes[zones - all_zones] = hash;
		zones->file = file;
		pg_atomic_write_u64(&zones->nextBuild, 0);
		pg_atomic_write_u32(&zones->pagesRead, 0);
	}
	free_other_blocks(zones, view);
	sware_segment_free(&zones->pages);
	zones->indexIncarnation = state->indexIncarnation;
	zones->version = state->version;
	zones->lsn = state->lsn;
	zones->pages = pages;
	zones->pageCount = view->pageCount;
	zones->blockCount = view->blockCount;
	if (view->blockCount > 0)
		memcpy(zones->blocks, view->blocks, view->blockCount * sizeof(SwareSortedBlock));
	pg_atomic_write_u32(&zones->isUsed, 1);
	view->place = zones - all_zones;
	view->stamp = set_new_stamp(zones);
	LWLockRelease(lock_of_hash(hash));
	return PUBLISHED;
}

/* What of a view a block can be made of: blocks, and unsorted pages behind. */
typedef struct Run
{
	int			firstBlock;
	int			blockCount;
	int			firstPage;
	int			pageCount;
	int			pages;			/* of the blocks, too */
} Run;

static inline int
live_pages(const SwareSortedBlock *block)
{
	return block->pages - block->retiredPages;
}

/* How many pages may a block of a view have? */
static int
block_limit(const SwareZoneView *view)
{
	int			quota = sware_buffer_quota(view->index);
	int			limit = Max(quota, view->state.sealedPages) / BLOCKS_PER_QUOTA;

	limit = Max(limit, MIN_BLOCK_PAGES);
	limit = Min(limit, SWARE_MAX_BLOCK_PAGES);

	/* a block must leave room for others, and for what will replace it */
	return Min(limit, Max(1, sware_pool_chunk_count() / 8));
}

/* How many unsorted pages of a view are before a block? */
static int
pages_before(const SwareZoneView *view, int block)
{
	int			count = 0;

	while (count < view->pageCount &&
		   (int32) (view->pages[count].sequence - view->blocks[block].firstSequence) < 0)
		count++;
	return count;
}

/*
 * What of a view could be sorted, if anything: the longest run of pages without
 * a block between them, with blocks before that are not much larger than what
 * they are merged with.  So an entry is merged a few times only, and there are
 * as many blocks as the larger ones can be halved.
 */
static bool
choose_run(const SwareZoneView *view, Run *run)
{
	int			limit = block_limit(view);
	int			start = 0;

	run->pageCount = 0;
	for (int i = 0; i <= view->blockCount; i++)
	{
		int			end = i < view->blockCount ? pages_before(view, i) : view->pageCount;

		if (end - start > run->pageCount)
		{
			run->firstBlock = i;
			run->firstPage = start;
			run->pageCount = end - start;
		}
		start = end;
	}
	run->pageCount = Min(run->pageCount, limit);
	run->pages = run->pageCount;
	run->blockCount = 0;
	while (run->pageCount > 0 && run->firstBlock > 0)
	{
		int			pages = live_pages(&view->blocks[run->firstBlock - 1]);

		if (pages > MERGED_SIZE * run->pages || pages + run->pages > limit ||
			(run->blockCount > 0 &&
			 pages_before(view, run->firstBlock - 1) != run->firstPage))
			break;
		run->firstBlock--;
		run->blockCount++;
		run->pages += pages;
	}
	return run->pageCount > 0 && (run->blockCount > 0 || view->blockCount < MAX_BLOCKS);
}

/* Has a block of a view more retired pages than others?  It can be made smaller. */
static bool
choose_block(const SwareZoneView *view, Run *run)
{
	for (int i = 0; i < view->blockCount; i++)
	{
		int			pages = live_pages(&view->blocks[i]);

		if (pages < (int) view->blocks[i].retiredPages)
		{
			*run = (Run) {.firstBlock = i,.blockCount = 1,.pages = pages};
			return true;
		}
	}
	return false;
}

/*
 * Is so much unsorted, or read so often, that a run of it is to be sorted?  Or
 * has so much of a block retired?
 */
static bool
is_crowded(const SwareZoneView *view, Run *run)
{
	int			threshold = sware_sort_threshold(view->index);
	int64		allowed = (int64) view->state.sealedPages * threshold / 100;

	if (threshold == 100)
		return false;
	allowed = Max(1, Min(allowed, MAX_UNSORTED_PAGES));
	if (choose_run(view, run) &&
		(view->pageCount > allowed ||
		 pg_atomic_read_u32(&all_zones[view->place].pagesRead) / READS_PER_SORT >
		 (uint32) run->pages))
		return true;
	return choose_block(view, run);
}

/*
 * Count that a view's unsorted pages are about to be read.  Returns whether it
 * is time to look whether they should be sorted.
 */
static inline bool
count_reads(const SwareZoneView *view)
{
	static uint32 uncounted = 0;

	if (view->pageCount == 0 || ++uncounted < READS_PER_COUNT)
		return false;
	uncounted = 0;
	pg_atomic_fetch_add_u32(&all_zones[view->place].pagesRead,
							view->pageCount * READS_PER_COUNT);
	return true;
}

/* May a block be built now? */
static bool
build_is_possible(IndexZones *zones)
{
	return (uint64) GetCurrentTimestamp() >= pg_atomic_read_u64(&zones->nextBuild);
}

/* May this backend build a block now?  Then nobody else does for a while. */
static bool
lease_build(IndexZones *zones)
{
	uint64		next = pg_atomic_read_u64(&zones->nextBuild);
	uint64		now = GetCurrentTimestamp();

	return now >= next &&
		pg_atomic_compare_exchange_u64(&zones->nextBuild, &next, now + BUILD_LEASE);
}

/*
 * The number of the first of `count` unsorted pages among the zones' pages; -1
 * if they are not all there.  The caller has the lock.
 */
static int
find_unsorted(const IndexZones *zones, const SwareUnsortedPage *pages, int count)
{
	int			first = count == 0 ? 0 : -1;
	int			same = 0;

	for (int i = 0; i < zones->pageCount && same < count; i++)
	{
		SwareUnsortedPage page;

		(void) sware_segment_read(&zones->pages, i * sizeof(page), &page, sizeof(page));
		if (sware_links_equal(page.page, pages[same].page))
		{
			if (same++ == 0)
				first = i;
		}
		else if (same > 0)
			return -1;
	}
	return same == count ? first : -1;
}

/* Take pages out of the zones' list.  The caller has the lock, exclusively. */
static void
remove_unsorted(IndexZones *zones, int first, int count)
{
	for (int i = first + count; i < zones->pageCount; i++)
	{
		SwareUnsortedPage page;

		(void) sware_segment_read(&zones->pages, i * sizeof(page), &page, sizeof(page));
		sware_segment_write(&zones->pages, (i - count) * sizeof(page), &page, sizeof(page));
	}
	zones->pageCount -= count;
}

/*
 * The number of the first of a run's blocks among the zones' blocks; -1 if they
 * are not all there.  Only the first may have got more retired pages: then the
 * new block, which was made without knowing, gets them.  The caller has the lock.
 */
static int
find_blocks(const IndexZones *zones, const SwareZoneView *view, const Run *run,
			SwareSortedBlock *block)
{
	const SwareSortedBlock *merged = &view->blocks[run->firstBlock];
	int			first = 0;

	while (first < zones->blockCount &&
		   (int32) (zones->blocks[first].lastSequence - block->firstSequence) < 0)
		first++;
	if (run->blockCount == 0)
		return first;
	if (first + run->blockCount > zones->blockCount)
		return -1;
	for (int i = 0; i < run->blockCount; i++)
	{
		const SwareSortedBlock *other = &zones->blocks[first + i];

		if (other->stamp != merged[i].stamp ||
			(i > 0 && other->retiredPages != merged[i].retiredPages))
			return -1;
	}
	block->retiredPages = zones->blocks[first].retiredPages - merged->retiredPages;
	block->firstSequence = zones->blocks[first].firstSequence;
	return first;
}

/*
 * Put a block that is in the pool into the zones, in place of the pages and
 * blocks that it was made of; false if these are not there any more.  Takes the
 * lock, exclusively.
 */
static bool
publish_block(const SwareZoneView *view, const Run *run, SwareSortedBlock *block)
{
	SwareFile	file = SwareRelationLocator(view->index);
	uint32		hash = hash_file(file);
	IndexZones *zones;
	int			first_page = -1;
	int			place = -1;

	LWLockAcquire(lock_of_hash(hash), LW_EXCLUSIVE);
	zones = find_zones(file, hash);
	if (zones != NULL && zones->indexIncarnation == view->state.indexIncarnation)
		first_page = find_unsorted(zones, view->pages + run->firstPage, run->pageCount);
	if (first_page >= 0)
		place = find_blocks(zones, view, run, block);
	if (place >= 0 && zones->blockCount - run->blockCount == MAX_BLOCKS)
		place = -1;
	if (place >= 0)
	{
		for (int i = 0; i < run->blockCount; i++)
			sware_segment_free(&zones->blocks[place + i].segment);
		memmove(&zones->blocks[place + 1], &zones->blocks[place + run->blockCount],
				(zones->blockCount - place - run->blockCount) * sizeof(SwareSortedBlock));
		zones->blockCount += 1 - run->blockCount;
		zones->blocks[place] = *block;
		remove_unsorted(zones, first_page, run->pageCount);
		pg_atomic_write_u32(&zones->pagesRead, 0);
		(void) set_new_stamp(zones);
	}
	LWLockRelease(lock_of_hash(hash));
	return place >= 0;
}

/*
 * Sort a run of a view for everybody; false if nothing came of it.  Locks pages,
 * one at a time; comparators and hash functions run without locks.
 */
static bool
sort_run(const SwareZoneView *view, const Run *run, bool *no_room)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "sware sorted block",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	const SwareSortedBlock *blocks = view->blocks + run->firstBlock;
	const SwareUnsortedPage *pages = view->pages + run->firstPage;
	SwareLink	links[SWARE_MAX_BLOCK_PAGES];
	SwareBlockImage image;
	bool		done;

	*no_room = false;
	for (int i = 0; i < run->pageCount; i++)
		links[i] = pages[i].page;
	done = sware_block_build(view->index, blocks, run->blockCount, links, run->pageCount,
							 &image);
	if (done)
	{
		image.block.firstSequence = run->blockCount > 0 ? blocks[0].firstSequence :
			pages[0].sequence;
		image.block.lastSequence = run->pageCount > 0 ?
			pages[run->pageCount - 1].sequence :
			blocks[run->blockCount - 1].lastSequence;
		do
		{
			/* while it belongs to nobody, nothing fails and nothing interrupts */
			*no_room = !sware_block_store(&image);
		} while (*no_room && evict(true, view->place));
		done = !*no_room && publish_block(view, run, &image.block);
		if (!done && !*no_room)
			sware_segment_free(&image.block.segment);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return done;
}

/*
 * Sort something, if too much is unsorted and nobody else does.  Returns
 * whether the zones are different now.
 */
static bool
sort_if_crowded(SwareZoneView *view)
{
	IndexZones *zones = &all_zones[view->place];
	Run			run;
	bool		no_room;
	bool		done;

	view->isCrowded = is_crowded(view, &run);
	if (!view->isCrowded || !lease_build(zones))
		return false;
	done = sort_run(view, &run, &no_room);
	pg_atomic_write_u64(&zones->nextBuild,
						no_room ? GetCurrentTimestamp() + NO_ROOM_PAUSE : 0);
	return done;
}

/* Is a view a copy of what is known, and of this state? */
static inline bool
is_unchanged(const SwareZoneView *view, const SwareBufferState *state)
{
	return view->place >= 0 && is_of_state(&view->state, state) &&
		pg_atomic_read_u64(&all_zones[view->place].stamp) == view->stamp;
}

bool
sware_zone_view_refresh(SwareZoneView *view, const SwareBufferState *state)
{
	PublishResult published = CHANGED_MEANWHILE;

	if (is_unchanged(view, state))
	{
		view->state = *state;
		if (!count_reads(view) &&
			(!view->isCrowded || !build_is_possible(&all_zones[view->place])))
			return true;
	}

	view->isCrowded = false;
	if (state->sealedPages == 0 || !sware_zones_are_available())
	{
		view->blockCount = view->pageCount = 0;
		view->place = -1;
		view->state = *state;
		return state->sealedPages == 0 || read_directory(view, state, false);
	}

	for (int i = 0; i < MAX_ATTEMPTS && published == CHANGED_MEANWHILE; i++)
	{
		CopyResult	result = copy_zones(view, state);

		view->state = *state;
		if (result == CURRENT)
			published = PUBLISHED;
		else if (read_directory(view, state, true))
			published = publish_view(view, state);
		else
		{
			view->place = -1;
			return false;
		}
	}
	if (published != PUBLISHED)
	{
		view->place = -1;
		return true;
	}

	/* what has been sorted is there for this view, too */
	(void) count_reads(view);
	if (sort_if_crowded(view) && copy_zones(view, state) != CURRENT)
	{
		view->place = -1;
		return false;
	}
	return true;
}
