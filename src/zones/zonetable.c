/*-------------------------------------------------------------------------
 *
 * zonetable.c
 *	  The table of zones in shared memory.  See zonetable.h.
 *
 * The table is a hash table in partitions, each with a lock.  A backend that
 * holds such a lock reads nothing from disk, allocates no private memory,
 * compares no keys, and waits for nothing but the pool's lock.  So it prepares
 * a new listing without a lock, and checks under the exclusive one, by the
 * stamp, that the listing that it started from is still there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "base/options.h"
#include "base/sharedmemory.h"
#include "takenkeys/stagedkeys.h"
#include "zones/zonetable.h"

#define PARTITIONS			16

/* limits of the number of indexes in the table */
#define MIN_ENTRIES			32
#define MAX_ENTRIES			65536

/* an index that was not used for this time gives way to others; microseconds */
#define IDLE_AFTER			(10 * USECS_PER_SEC)

typedef struct ZoneTable
{
	pg_atomic_uint32 entries;	/* indexes in the table */
	pg_atomic_uint32 granted;	/* chunks, to all of these */
	pg_atomic_uint64 nextIdle;	/* no index becomes idle before this time */
} ZoneTable;

static ZoneTable *table = NULL;
static HTAB *all_zones;			/* of SwareIndexZones */
static LWLockPadded *locks;		/* one for each partition, and the pool's */

bool
sware_zones_are_available(void)
{
	return table != NULL;
}

/* for how many indexes the table has room */
static int
entry_limit(void)
{
	int			chunks = sware_shared_memory / (SWARE_CHUNK_SIZE / 1024);

	return Min(MAX_ENTRIES,
			   Max(MIN_ENTRIES, chunks / SWARE_PAGES_WITHOUT_ZONES));
}

void
sware_share_zones(void)
{
	HASHCTL		control = {.keysize = sizeof(SwareFile),
	.entrysize = sizeof(SwareIndexZones),.num_partitions = PARTITIONS};
	bool		is_new;

	locks = sware_share_locks("SwareZones", PARTITIONS + 1);
	all_zones = sware_share_hash("sware zones of indexes", entry_limit(),
								 &control, HASH_PARTITION);
	table = sware_share("sware zones", sizeof(ZoneTable), &is_new);
	sware_share_pool(locks ? &locks[PARTITIONS].lock : NULL);
	if (is_new)
	{
		pg_atomic_init_u32(&table->entries, 0);
		pg_atomic_init_u32(&table->granted, 0);
		pg_atomic_init_u64(&table->nextIdle, 0);
	}
}

static LWLock *
lock_of_hash(uint32 hash)
{
	return &locks[hash % PARTITIONS].lock;
}

/* Lock all partitions, in the one order that there is. */
static void
lock_all(LWLockMode mode)
{
	for (int i = 0; i < PARTITIONS; i++)
		LWLockAcquire(&locks[i].lock, mode);
}

static void
unlock_all(void)
{
	for (int i = PARTITIONS - 1; i >= 0; i--)
		LWLockRelease(&locks[i].lock);
}

/*
 * Find the zones of an index, and lock its partition.  Returns NULL, with
 * nothing locked, if there are none.
 */
static SwareIndexZones *
lock_zones(const SwareFile *file, LWLockMode mode, LWLock **lock)
{
	SwareIndexZones *zones;
	uint32		hash;

	if (!sware_zones_are_available())
		return NULL;
	hash = get_hash_value(all_zones, file);
	*lock = lock_of_hash(hash);
	LWLockAcquire(*lock, mode);
	zones = hash_search_with_hash_value(all_zones, file, hash, HASH_FIND, NULL);
	if (zones == NULL)
		LWLockRelease(*lock);
	return zones;
}

/* Note that an index's zones are in use; no lock is needed. */
void
sware_zones_mark_used(SwareIndexZones *zones)
{
	pg_atomic_write_u64(&zones->lastUse, GetCurrentTimestamp());
}

/* Has an index not been used for a while? */
static bool
is_idle(SwareIndexZones *zones, TimestampTz now)
{
	TimestampTz unused =
		now - (TimestampTz) pg_atomic_read_u64(&zones->lastUse);

	/* the clock may have been set back */
	return unused > IDLE_AFTER || unused < -IDLE_AFTER;
}

/*
 * Set an index's grant, and the sum of all grants.  Both change atomically, so
 * several backends may do this at once.  The caller holds the lock, at least
 * shared, so that the index stays in the table.
 */
static void
set_granted(SwareIndexZones *zones, uint32 chunks)
{
	uint32		before = pg_atomic_exchange_u32(&zones->granted, chunks);

	pg_atomic_fetch_add_u32(&table->granted, (int32) (chunks - before));
}

/*
 * Free an index's listing, and its sorted zones, except for those that a view
 * has.  The caller holds the lock exclusively.
 */
static void
free_listing(SwareIndexZones *zones, const SwareZoneView *view)
{
	for (int i = 0; i < zones->sortedCount; i++)
	{
		SwareSortedZone zone;
		bool		is_kept = false;

		(void) sware_pool_read(&zones->listing, i * sizeof(zone), &zone,
							   sizeof(zone));
		for (int j = 0; view != NULL && j < view->sortedCount && !is_kept; j++)
			is_kept = view->sorted[j].stamp == zone.stamp;
		if (!is_kept)
			sware_pool_free(&zone.allocation);
	}
	sware_pool_free(&zones->listing);
	zones->listing.chunks = 0;
	zones->sortedCount = zones->pageCount = 0;
}

/* Remove an index from the table.  The caller holds the lock exclusively. */
static void
forget_zones(SwareIndexZones *zones)
{
	pg_atomic_write_u64(&zones->stamp, 0);
	free_listing(zones, NULL);
	set_granted(zones, 0);
	(void) hash_search(all_zones, &zones->file, HASH_REMOVE, NULL);
	pg_atomic_fetch_sub_u32(&table->entries, 1);
}

/*
 * Remove the index that was used longest ago from the table, if it is idle.
 * Returns false if no index is idle, and then notes when one can be, so that
 * the next calls need not look.  The caller holds no lock; takes those of all
 * partitions, shared, and then one, exclusively.
 */
static bool
remove_idle(void)
{
	TimestampTz now = GetCurrentTimestamp();
	HASH_SEQ_STATUS status;
	SwareIndexZones *zones;
	TimestampTz stalest_use = now;
	SwareFile	stalest = {0};
	bool		found = false;
	LWLock	   *lock;

	/* a time too far ahead was noted before the clock was set back */
	if (pg_atomic_read_u64(&table->nextIdle) - (uint64) now < IDLE_AFTER)
		return false;

	lock_all(LW_SHARED);
	hash_seq_init(&status, all_zones);
	while ((zones = hash_seq_search(&status)) != NULL)
	{
		TimestampTz use = pg_atomic_read_u64(&zones->lastUse);

		if (use < stalest_use)
			stalest_use = use;
		else if (found)
			continue;
		if (is_idle(zones, now))
		{
			stalest = zones->file;
			found = true;
		}
	}
	unlock_all();
	if (!found)
	{
		pg_atomic_write_u64(&table->nextIdle, stalest_use + IDLE_AFTER);
		return false;
	}

	zones = lock_zones(&stalest, LW_EXCLUSIVE, &lock);
	if (zones == NULL)
		return true;
	if (is_idle(zones, now))
		forget_zones(zones);
	LWLockRelease(lock);
	return true;
}

/*
 * Allocate memory of the pool; if it has no room, that of indexes that are
 * idle.  Returns false if that is not enough.  The caller holds no lock; takes
 * those of partitions and of the pool.
 */
bool
sware_zones_allocate(Size length, SwareAllocation *allocation)
{
	while (!sware_pool_allocate(length, allocation))
	{
		if (!remove_idle())
			return false;
	}
	return true;
}

void
sware_zones_forget_database(Oid database)
{
	HASH_SEQ_STATUS status;
	SwareIndexZones *zones;

	if (!sware_zones_are_available())
		return;
	lock_all(LW_EXCLUSIVE);
	hash_seq_init(&status, all_zones);
	while ((zones = hash_seq_search(&status)) != NULL)
	{
		if (SwareFileDatabase(zones->file) == database)
			forget_zones(zones);
	}
	unlock_all();
}

void
sware_zones_count_chunks(int *all, int *unused, int *used)
{
	HASH_SEQ_STATUS status;
	SwareIndexZones *zones;

	*all = *unused = *used = 0;
	if (!sware_zones_are_available())
		return;
	lock_all(LW_SHARED);
	*all = sware_pool_chunk_count;
	*unused = sware_pool_free_count();
	hash_seq_init(&status, all_zones);
	while ((zones = hash_seq_search(&status)) != NULL)
	{
		*used += zones->listing.chunks;
		for (int i = 0; i < zones->sortedCount; i++)
		{
			SwareSortedZone zone;

			(void) sware_pool_read(&zones->listing, i * sizeof(zone), &zone,
								   sizeof(zone));
			*used += zone.allocation.chunks;
		}
	}
	unlock_all();
}

/*
 * How many chunks can be granted, if the table has this number of indexes?  As
 * many as the pool has, less those that registered keys use now (half of the
 * pool at most), and less one chunk for the listing of each index.
 */
static int
chunk_capacity(uint32 entries)
{
	int			chunks =
		(int) sware_pool_chunk_count - (int) sware_key_sets_chunk_count();

	return Max(0, chunks - (int) entries);
}

/*
 * How many chunks may the zones of an index take?  The caller holds the lock,
 * at least shared.
 */
static int
most_chunks(SwareIndexZones *zones)
{
	uint32		entries = pg_atomic_read_u32(&table->entries);
	int			capacity = chunk_capacity(entries);
	int			others = pg_atomic_read_u32(&table->granted) -
		pg_atomic_read_u32(&zones->granted);
	int			fair = Min(capacity / (int) Max(entries, 1), capacity - others);

	/* beyond its fair share, it leaves some to others */
	int			most = Max(fair, capacity - capacity / 8 - others);

	return Max(most, SWARE_PAGES_WITHOUT_ZONES);
}

/*
 * May an index whose zones need this number of chunks be added to the table?
 * Only if the pool has so many for each index, the new one included, that they
 * are worth it.  So few pages that they are read fast without zones are added
 * only if there is more room.
 */
static bool
may_add_entry(int chunks)
{
	int			entries = pg_atomic_read_u32(&table->entries) + 1;
	int			share = chunks > SWARE_PAGES_WITHOUT_ZONES ?
		SWARE_PAGES_WITHOUT_ZONES : 16;

	return chunks > 0 && chunk_capacity(entries) >= entries * share;
}

/*
 * Add an index whose zones need this number of chunks to the table, unless
 * another backend has done so.  Returns false if there is no room for it.
 */
static bool
add_entry(Relation index, int chunks)
{
	SwareFile	file = SwareRelationLocator(index);
	uint32		hash = get_hash_value(all_zones, &file);
	SwareIndexZones *zones;
	bool		found;

	while (!may_add_entry(chunks))
	{
		if (chunks <= SWARE_PAGES_WITHOUT_ZONES || !remove_idle())
			return false;
	}
	LWLockAcquire(lock_of_hash(hash), LW_EXCLUSIVE);
	zones = hash_search_with_hash_value(all_zones, &file, hash, HASH_ENTER_NULL,
										&found);
	if (zones != NULL && !found)
	{
		pg_atomic_init_u64(&zones->stamp, 0);
		pg_atomic_init_u64(&zones->lastUse, GetCurrentTimestamp());
		pg_atomic_init_u64(&zones->nextBuild, 0);
		pg_atomic_init_u32(&zones->granted, 0);
		pg_atomic_init_u32(&zones->runPages, 0);
		memset(&zones->sweep, 0, sizeof(SwareSweepState));
		zones->sortedCount = zones->pageCount = 0;
		zones->listing.chunks = 0;
		pg_atomic_fetch_add_u32(&table->entries, 1);
	}
	LWLockRelease(lock_of_hash(hash));
	return zones != NULL;
}

/*
 * Tell how many sealed pages an index has, as for sware_zones_request_pages,
 * and return how many chunks their zones may take.  SWARE_SAME_RUN_PAGES is
 * replaced by the number that was told last.  Adds the index to the table if it
 * is not there; returns 0 if it cannot be added.  There is a pool.
 */
int
sware_zones_ask(Relation index, int pages, int *run_pages)
{
	int			chunks = sware_zone_chunks(pages, Max(*run_pages, 0));
	int			most;

	do
	{
		LWLock	   *lock;
		SwareIndexZones *zones =
			lock_zones(&SwareRelationLocator(index), LW_SHARED, &lock);

		while (zones == NULL)
		{
			if (!add_entry(index, chunks))
				return 0;
			zones = lock_zones(&SwareRelationLocator(index), LW_SHARED, &lock);
		}
		if (*run_pages == SWARE_SAME_RUN_PAGES)
			*run_pages = Min(pages,
							 (int) pg_atomic_read_u32(&zones->runPages));
		pg_atomic_write_u32(&zones->runPages, *run_pages);
		chunks = sware_zone_chunks(pages, *run_pages);
		sware_zones_mark_used(zones);
		most = most_chunks(zones);
		set_granted(zones, Min(chunks, most));
		LWLockRelease(lock);
	} while (most < chunks && remove_idle());
	return most;
}

int
sware_zones_request_pages(Relation index, int pages, int run_pages)
{
	int			most = sware_zones_are_available() ?
		sware_zones_ask(index, pages, &run_pages) : 0;

	if (most == 0)
		return SWARE_PAGES_WITHOUT_ZONES;
	return most + run_pages - sware_zone_chunks(run_pages, run_pages);
}

int
sware_zones_most_run_pages(Relation index)
{
	LWLock	   *lock;
	SwareIndexZones *zones =
		lock_zones(&SwareRelationLocator(index), LW_SHARED, &lock);
	int			most = SWARE_PAGES_WITHOUT_ZONES;

	if (zones == NULL)
		return most;
	most = most_chunks(zones) * SWARE_RUN_PAGES_PER_CHUNK;
	LWLockRelease(lock);
	return most;
}

bool
sware_zones_sweep(Relation index, SwareSweepState *sweep)
{
	LWLock	   *lock;
	SwareIndexZones *zones =
		lock_zones(&SwareRelationLocator(index), LW_SHARED, &lock);

	memset(sweep, 0, sizeof(SwareSweepState));
	if (zones == NULL)
		return false;
	*sweep = zones->sweep;
	LWLockRelease(lock);
	return true;
}

void
sware_zones_set_sweep(Relation index, const SwareSweepState *sweep)
{
	LWLock	   *lock;
	SwareIndexZones *zones =
		lock_zones(&SwareRelationLocator(index), LW_SHARED, &lock);

	if (zones == NULL)
		return;
	zones->sweep = *sweep;
	LWLockRelease(lock);
}

/*
 * Copy an index's listing to a view, and return whether it is of a state.  A
 * listing of another incarnation of the index, or of a later version of the
 * directory, is not copied.  If `state` is NULL, any listing will do.
 * view->state then says what the listing is of.  Takes the partition's lock,
 * shared; the caller holds none.
 */
bool
sware_zones_copy(SwareZoneView *view, const SwareBufferState *state)
{
	for (;;)
	{
		LWLock	   *lock;
		SwareIndexZones *zones =
			lock_zones(&SwareRelationLocator(view->index), LW_SHARED, &lock);
		int			sorted;
		int			pages;

		view->sortedCount = view->pageCount = 0;
		view->zones = NULL;
		view->stamp = 0;
		if (zones == NULL)
			return false;
		view->stamp = pg_atomic_read_u64(&zones->stamp);
		if (view->stamp == 0 ||
			(state && (zones->indexIncarnation != state->indexIncarnation ||
					   zones->version > state->version ||
					   zones->lsn > state->lsn)))
		{
			LWLockRelease(lock);
			return false;
		}
		sorted = zones->sortedCount;
		pages = zones->pageCount;
		if (sorted <= view->sortedAllocated && pages <= view->pagesAllocated)
		{
			Size		length = sorted * sizeof(SwareSortedZone);
			bool		is_current =
				state == NULL || sware_is_of_state(zones, state);

			(void) sware_pool_read(&zones->listing, 0, view->sorted, length);
			(void) sware_pool_read(&zones->listing, length, view->pages,
								   pages * sizeof(SwareUnsortedPage));
			view->sortedCount = sorted;
			view->pageCount = pages;
			view->zones = zones;
			view->chunksGranted =
				Max(SWARE_PAGES_WITHOUT_ZONES,
					pg_atomic_read_u32(&zones->granted));
			view->state.indexIncarnation = zones->indexIncarnation;
			view->state.version = zones->version;
			view->state.lsn = zones->lsn;
			sware_zones_mark_used(zones);
			LWLockRelease(lock);
			return is_current;
		}
		LWLockRelease(lock);
		sware_zone_view_reserve(view, sorted, pages);
	}
}

void
sware_zones_mark_entries(const SwareZoneView *view, SwareDeadEntry *entries,
						 int count)
{
	LWLock	   *lock;

	/*
	 * A backend that frees a sorted zone of the index has the lock
	 * exclusively. If the index has none, those of the view are gone.
	 */
	SwareIndexZones *zones =
		lock_zones(&SwareRelationLocator(view->index), LW_SHARED, &lock);

	for (int i = 0; i < count; i++)
	{
		SwareEntrySource *source = &entries[i].source;

		if (source->zone == 0)
			continue;
		Assert((int) source->zone <= view->sortedCount);
		if (!sware_sorted_zone_mark(&view->sorted[source->zone - 1],
									source->number, &source->page))
			source->page.block = InvalidBlockNumber;
	}
	if (zones != NULL)
		LWLockRelease(lock);
}

/*
 * Make a view, which shows a state, the listing of its index.  Frees the old
 * listing, and the sorted zones that the view does not have.  Does nothing if
 * the listing that the view was copied from has been replaced or removed
 * (SWARE_ZONES_CHANGED), or if the pool has no room, or if the index is not in
 * the table, which sware_zones_ask would have added it to (both
 * SWARE_ZONES_NO_ROOM).  Takes the partition's lock, exclusively; the caller
 * holds none.
 */
SwarePublishResult
sware_zones_publish(SwareZoneView *view, const SwareBufferState *state)
{
	Size		sorted = view->sortedCount * sizeof(SwareSortedZone);
	Size		pages = view->pageCount * sizeof(SwareUnsortedPage);
	SwareAllocation listing;
	LWLock	   *lock;
	SwareIndexZones *zones;

	if (!sware_zones_allocate(sorted + pages, &listing))
		return SWARE_ZONES_NO_ROOM;
	sware_pool_write(&listing, 0, view->sorted, sorted);
	sware_pool_write(&listing, sorted, view->pages, pages);

	zones = lock_zones(&SwareRelationLocator(view->index), LW_EXCLUSIVE, &lock);
	if (zones == NULL || pg_atomic_read_u64(&zones->stamp) != view->stamp)
	{
		if (zones != NULL)
			LWLockRelease(lock);
		sware_pool_free(&listing);
		return zones == NULL && view->stamp == 0 ? SWARE_ZONES_NO_ROOM :
			SWARE_ZONES_CHANGED;
	}

	/*
	 * The stamp changes first.  By it backends notice, without the lock, that
	 * their views show a listing that is no longer the index's
	 * (sware_zones_are_same).
	 */
	view->stamp = sware_new_stamp();
	pg_atomic_write_u64(&zones->stamp, view->stamp);
	free_listing(zones, view);
	zones->indexIncarnation = state->indexIncarnation;
	zones->version = state->version;
	zones->lsn = state->lsn;
	zones->listing = listing;
	zones->sortedCount = view->sortedCount;
	zones->pageCount = view->pageCount;
	view->zones = zones;
	LWLockRelease(lock);
	return SWARE_ZONES_PUBLISHED;
}
