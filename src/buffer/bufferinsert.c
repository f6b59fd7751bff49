/*-------------------------------------------------------------------------
 *
 * bufferinsert.c
 *	  Adding entries to the shared buffer.
 *
 * Each session keeps to an open page of its own as long as it meets nobody
 * there, and goes to another one if it does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "am/options.h"
#include "buffer/directory.h"
#include "buffer/statistics.h"
#include "buffer/zones.h"
#include "faultpoint.h"
#include "tree/cache.h"
#include "tree/tree.h"
#include "wal/wal.h"

/*
 * Pages that a buffer may have if each scan has to read all entries in them: so
 * few that a look-up stays cheap, though inserts gain little then.
 */
#define QUOTA_WITHOUT_ZONES		2

/* Inserts go to the tree when the buffer has so many times its quota. */
#define HARD_LIMIT				2

/*
 * A buffer must not fill its directory: then nothing could be sealed, and so
 * not flushed either.  Retired pages that wait for readers need room, too.
 */
#define MAX_QUOTA \
	(SWARE_MAX_DIRECTORY_PAGES * SWARE_SLOTS_PER_PAGE / (HARD_LIMIT + 1))

/*
 * How many pages an index's shared buffer is to have; zero if it has none.
 * What is temporary has one user, and needs none.
 */
int
sware_buffer_quota(Relation index)
{
	Size		pages = sware_index_buffer_size(index) / BLCKSZ;

	if (index->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return 0;
	if (!sware_zones_are_available())
		pages = Min(pages, QUOTA_WITHOUT_ZONES);
	return (int) Min(pages, MAX_QUOTA);
}

/* Has the open page, that the caller has locked, room for so many bytes? */
static inline bool
has_room(Page page, Size size)
{
	return (Size) (((PageHeader) page)->pd_upper - ((PageHeader) page)->pd_lower) >= size;
}

typedef enum LockResult
{
	LOCKED,
	BUSY,
	NOT_OPEN
} LockResult;

/* Try to lock an open page exclusively, waiting for it or not. */
static LockResult
lock_open_page(Relation index, SwareLink link, bool wait, Buffer *result)
{
	Buffer		buffer = ReadBuffer(index, link.block);
	Page		page = BufferGetPage(buffer);

	if (wait)
		sware_lock_buffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	else if (!ConditionalLockBuffer(buffer))
	{
		ReleaseBuffer(buffer);
		return BUSY;
	}
	sware_check_page(index, link.block, page);
	if (!sware_is_buffer_page(page, link) || sware_buffer_page_is_sealed(page))
	{
		sware_release_buffer(buffer);
		return NOT_OPEN;
	}
	*result = buffer;
	return LOCKED;
}

/*
 * Lock any open page, opening one if there is none or all are busy.
 */
static Buffer
lock_any_tail(Relation index)
{
	for (;;)
	{
		SwareBufferState state;
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		sware_buffer_read_state(index, &state);
		for (int i = 0; i < state.tailCount; i++)
		{
			if (lock_open_page(index, state.tails[i], false, &buffer) == LOCKED)
				return buffer;
		}
		if (state.tailCount < SWARE_MAX_TAILS)
		{
			buffer = sware_open_tail(index);
			if (BufferIsValid(buffer))
				return buffer;
		}
		else if (lock_open_page(index, state.tails[MyProcPid % state.tailCount], true,
								&buffer) == LOCKED)
			return buffer;
	}
}

/* Lock the open page used last, or else any. */
static Buffer
lock_tail(Relation index)
{
	SwareLink	tail = sware_cache(index)->tail;
	Buffer		buffer;

	if (!sware_link_is_valid(tail) ||
		lock_open_page(index, tail, false, &buffer) != LOCKED)
	{
		buffer = lock_any_tail(index);
		sware_cache_set_tail(index, sware_page_link(buffer));
	}
	return buffer;
}

/*
 * Replace a full open page, which the caller has locked, by another one, which
 * is locked in turn.  InvalidBuffer, with nothing locked, if the buffer is to
 * have no more pages.
 */
static Buffer
replace_full(Relation index, Buffer full, int quota, bool *over_quota)
{
	SwareBufferState state;
	Buffer		buffer;

	sware_buffer_read_state(index, &state);
	*over_quota = state.sealedPages >= quota;
	if (state.sealedPages >= quota * HARD_LIMIT)
	{
		sware_release_buffer(full);
		return InvalidBuffer;
	}
	buffer = sware_replace_tail(index, full);
	if (BufferIsValid(buffer))
		sware_cache_set_tail(index, sware_page_link(buffer));
	return buffer;
}

/*
 * Add as many of the entries to an open page as have room, in one record.
 * Returns their number.
 */
static int
append(Relation index, Buffer buffer, IndexTuple *entries, int count)
{
	Page		page = BufferGetPage(buffer);
	PGAlignedBlock data;
	Size		used = 0;
	int			done;

	for (done = 0; done < count; done++)
	{
		Size		size = IndexTupleSize(entries[done]);

		if (!has_room(page, used + MAXALIGN(size)))
			break;
		memcpy(data.data + used, entries[done], size);
		memset(data.data + used + size, 0, MAXALIGN(size) - size);
		used += MAXALIGN(size);
	}
	if (done > 0)
		sware_wal_append_data(index, buffer, data.data, used);
	return done;
}

/*
 * Call the comparators for each entry.  Some raise errors for some values;
 * these must not get into the buffer, where each flush would fail on them.
 */
static void
check_comparable(Relation index, IndexTuple *entries, int count)
{
	bool		calls_functions = false;

	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		SwareKeyColumn column;

		sware_key_column_init(&column, index, i + 1, (Datum) 0, true);
		calls_functions |= column.comparison == SWARE_COMPARE_FUNCTION;
	}
	for (int i = 0; calls_functions && i < count; i++)
	{
		int			column;

		(void) sware_compare_columns(index, entries[i], entries[i], &column);
	}
}

/*
 * Add entries, in any order, to the shared buffer of an index.  Returns how
 * many were added, from the first on; the others do not fit, and go to the
 * tree.  Tells whether the buffer has grown beyond its quota, so that a piece
 * of it should be flushed.
 *
 * The caller holds no content locks, and has checked the size of the entries.
 */
int
sware_buffer_add(Relation index, IndexTuple *entries, int count, bool *over_quota)
{
	int			quota = sware_buffer_quota(index);
	int			done = 0;
	Buffer		buffer;

	*over_quota = false;
	if (quota == 0)
		return 0;

	check_comparable(index, entries, count);
	buffer = lock_tail(index);
	for (;;)
	{
		done += append(index, buffer, entries + done, count - done);
		if (done == count)
		{
			sware_release_buffer(buffer);
			break;
		}
		SWARE_FAULT_POINT("buffer-page-full");
		buffer = replace_full(index, buffer, quota, over_quota);
		if (!BufferIsValid(buffer))
			break;
	}

	sware_count_buffered(index, done);
	return done;
}

/*
 * The same; when the buffer has grown beyond its quota, a piece of it is
 * flushed, unless somebody else is at it.  The caller holds no key lock.
 */
int
sware_buffer_insert(Relation index, IndexTuple *entries, int count)
{
	bool		over_quota;
	int			done = sware_buffer_add(index, entries, count, &over_quota);

	if (over_quota)
		sware_buffer_flush_piece(index);
	return done;
}
