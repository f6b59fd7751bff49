/*-------------------------------------------------------------------------
 *
 * bufferinsert.c
 *	  Adding entries to the buffer.
 *
 * A session adds entries to the open page that it used last.  If another
 * session has locked that page, it takes another one.  So sessions that insert
 * at the same time use different pages, and a single session fills one after
 * another.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/faultpoint.h"
#include "base/options.h"
#include "buffer/buffer.h"
#include "buffer/buffersteps.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/bufferpages.h"
#include "pages/pageaccess.h"
#include "shared/flushrequests.h"
#include "shared/statistics.h"
#include "pages/cache.h"
#include "wal/wal.h"

/*
 * A buffer must not fill its directory: then nothing could be sealed, and so
 * not flushed either.  Retired pages that wait for readers need room, too.
 */
#define MAX_QUOTA() \
	((Size) sware_directory_limit() / (SWARE_HARD_LIMIT + 1))

/* Entries begin to bypass the buffer when there are so many scans for each. */
#define MORE_SCANS				0.9

/* They go on to do so until there are fewer than this. */
#define FEWER_SCANS				0.6

/* Entries that share a record gain more by it: each counts for so many. */
#define WEIGHT_IN_COMPANY		2

/* A session keeps the answer for so many calls. */
#define ADDITIONS_PER_QUESTION	64

/*
 * Should entries go to the tree and not to the buffer?  A scan pays for the
 * entries that wait there, and an entry gains by those that are flushed with
 * it.  So they bypass the buffer while there are as many scans as entries, if
 * the index has room in memory: otherwise to wait saves reads and writes of
 * leaves.  The caller holds no content locks.
 */
bool
sware_buffer_is_bypassed(Relation index)
{
	SwareCache *cache = sware_cache(index);

	if (SWARE_FAULT_SETTING(buffer))
		return false;
	if (likely(cache->untilQuestion > 0))
	{
		cache->untilQuestion--;
		return cache->bypassesBuffer;
	}
	cache->untilQuestion = ADDITIONS_PER_QUESTION;
	cache->bypassesBuffer =
		sware_scans_prevail(index, MORE_SCANS, FEWER_SCANS) &&
		RelationGetNumberOfBlocks(index) <= (BlockNumber) NBuffers / 2;
	return cache->bypassesBuffer;
}

/*
 * Returns the quota of an index's buffer if entries do not bypass it: how many
 * sealed pages it may have before a flush.  It is 0 if entries are not to be
 * buffered, as for a temporary index, which has one user.
 */
int
sware_buffer_usual_quota(Relation index)
{
	Size		pages = sware_index_buffer_size(index) / BLCKSZ;

	if (index->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return 0;
	if (!sware_zones_are_available())
		pages = Min(pages, SWARE_PAGES_WITHOUT_ZONES / SWARE_HARD_LIMIT);
	return (int) Min(pages, MAX_QUOTA());
}

/* The quota now: 0 if entries bypass the buffer.  No content locks are held. */
int
sware_buffer_quota(Relation index)
{
	int			quota = sware_buffer_usual_quota(index);

	return quota == 0 || sware_buffer_is_bypassed(index) ? 0 : quota;
}

/*
 * Lock an open page exclusively.  Returns InvalidBuffer, with nothing pinned or
 * locked, if the page has been sealed, or, unless `wait`, if another backend
 * has locked it.
 */
static Buffer
lock_open_page(Relation index, SwareLink link, bool wait)
{
	Buffer		buffer = wait ?
		sware_read_buffer(index, link.block, BUFFER_LOCK_EXCLUSIVE) :
		sware_try_buffer(index, link.block);
	Page		page;

	if (!BufferIsValid(buffer))
		return buffer;
	page = BufferGetPage(buffer);
	if (sware_is_buffer_page(page, link) && !sware_buffer_page_is_sealed(page))
		return buffer;
	sware_release_buffer(buffer);
	return InvalidBuffer;
}

/*
 * Lock the open page that this session used last, exclusively, or if that is
 * busy or sealed, any other one.  If there is none, or all are busy, open one
 * more; if there may be no more, wait for one.
 */
static Buffer
lock_tail(Relation index)
{
	SwareLink	tail = sware_cache(index)->tail;
	Buffer		buffer = sware_link_is_valid(tail) ?
		lock_open_page(index, tail, false) : InvalidBuffer;

	while (!BufferIsValid(buffer))
	{
		SwareBufferState state;

		CHECK_FOR_INTERRUPTS();
		sware_buffer_read_state(index, &state);
		for (int i = 0; i < state.tailCount && !BufferIsValid(buffer); i++)
			buffer = lock_open_page(index, state.tails[i], false);
		if (!BufferIsValid(buffer))
			buffer = state.tailCount < SWARE_MAX_TAILS ?
				sware_open_tail(index) :
				lock_open_page(index,
							   state.tails[MyProcPid % state.tailCount], true);
	}
	sware_cache(index)->tail = sware_page_link(buffer);
	return buffer;
}

/*
 * Replace a full open page, which the caller has locked exclusively, by a new
 * one, and return that, locked exclusively; the full one is released.
 * Returns InvalidBuffer, with nothing locked, if the buffer may have no more
 * pages.  Sets *needs_flush if the buffer has reached its quota, or if it is
 * time to sort pages.
 */
static Buffer
replace_full(Relation index, Buffer full, int quota, bool *needs_flush)
{
	SwareBufferState state;
	Buffer		buffer;
	uint32		sequence;
	int			most;

	sware_buffer_read_state(index, &state);
	most = Min(quota * SWARE_HARD_LIMIT,
			   sware_zones_request_pages(index, state.sealedPages + 1,
										 SWARE_SAME_RUN_PAGES));
	*needs_flush |= state.sealedPages >= Min(quota, most);
	if (state.sealedPages >= most)
	{
		sware_release_buffer(full);
		return InvalidBuffer;
	}
	buffer = sware_replace_tail(index, full, &sequence);
	if (BufferIsValid(buffer))
	{
		int			to_sort = sware_pages_to_sort(index, quota);

		/* asked twice while as many pages are sealed as are sorted together */
		*needs_flush |= to_sort > 0 && sequence % Max(to_sort / 2, 1) == 0;
		sware_cache(index)->tail = sware_page_link(buffer);
	}
	return buffer;
}

/*
 * Add as many of the entries as have room to an open page, which the caller has
 * locked exclusively, in one record.  Returns their number.
 */
static int
append(Relation index, Buffer buffer, IndexTuple *entries, int count,
	   bool has_versions)
{
	PageHeader	page = (PageHeader) BufferGetPage(buffer);
	Size		room = page->pd_upper - page->pd_lower;
	PGAlignedBlock data;
	Size		used = 0;
	int			done;

	for (done = 0; done < count; done++)
	{
		Size		size = IndexTupleSize(entries[done]);

		if (used + MAXALIGN(size) > room)
			break;
		sware_copy_tuple(data.data + used, entries[done]);
		memset(data.data + used + size, 0, MAXALIGN(size) - size);
		used += MAXALIGN(size);
	}
	if (done > 0)
		sware_wal_append_data(index, buffer, data.data, used,
							  has_versions ? SWARE_HAS_VERSIONS : 0);
	return done;
}

/*
 * Add entries, in any order, to the buffer of an index.  Returns how many were
 * added, from the first on; the caller sends the others to the tree.
 * `has_versions` says that their rows may be versions of others with the same
 * key.  Sets *needs_flush to whether the buffer has grown beyond its quota, or
 * has many unsorted pages, or has some although entries bypass it, so that the
 * caller should flush a piece of it.
 *
 * The caller holds no content locks.  It has checked the size of the entries,
 * and that they may wait (keys/trust.c).
 */
int
sware_buffer_add(Relation index, IndexTuple *entries, int count,
				 bool has_versions, bool *needs_flush)
{
	int			quota = sware_buffer_quota(index);
	int			done = 0;
	Buffer		buffer;

	*needs_flush = false;
	sware_count_use(index, 0,
					count == 1 ? 1 : (int64) count * WEIGHT_IN_COMPANY);
	if (quota == 0)
	{
		SwareCache *cache = sware_cache(index);
		SwareBufferState state;

		/* what is there has no reason to wait any longer */
		*needs_flush = cache->bypassesBuffer &&
			cache->untilQuestion == ADDITIONS_PER_QUESTION &&
			sware_buffer_read_state(index, &state);
		return 0;
	}

	buffer = lock_tail(index);
	for (;;)
	{
		done += append(index, buffer, entries + done, count - done,
					   has_versions);
		if (done == count)
		{
			sware_release_buffer(buffer);
			break;
		}
		SWARE_FAULT_POINT("buffer-page-full");
		buffer = replace_full(index, buffer, quota, needs_flush);
		if (!BufferIsValid(buffer))
			break;
	}

	sware_count(index, SWARE_STAT_ENTRIES_BUFFERED, done);
	return done;
}

/*
 * Like sware_buffer_add, but leaves the flush to a worker, or to the session's
 * next insert, since a COMMIT is to publish, and no more.  But if the buffer is
 * far beyond its quota, or has no room for all of the entries, unless they
 * bypass it, a piece is flushed at once: sessions may end with their first
 * transaction.  The caller holds no key lock, either.
 */
int
sware_buffer_publish(Relation index, IndexTuple *entries, int count,
					 bool has_versions)
{
	bool		needs_flush;
	int			done = sware_buffer_add(index, entries, count, has_versions,
										&needs_flush);
	SwareBufferState state;
	int			quota;

	if (!needs_flush)
		return done;
	sware_buffer_read_state(index, &state);
	quota = sware_buffer_quota(index);
	if (quota > 0 &&
		(done < count || state.sealedPages > quota * SWARE_OWED_LIMIT))
		(void) sware_buffer_flush_piece(index, SWARE_INSERTER);
	else
		sware_cache(index)->owesFlush =
			sware_request_flush(index, SWARE_START_NEVER) ==
			SWARE_REQUEST_REFUSED;
	return done;
}
