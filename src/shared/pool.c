/*-------------------------------------------------------------------------
 *
 * pool.c
 *	  The pool: shared memory in chunks.  See pool.h.
 *
 * The pool's lock guards only the list of free chunks.  It is the innermost
 * lock: callers may hold other lightweight locks, and a backend that holds this
 * one takes no other.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/options.h"
#include "base/sharedmemory.h"
#include "shared/pool.h"

/* the list of an allocation's chunks takes at most half of the first one */
#define MAX_CHUNKS	(SWARE_CHUNK_SIZE / 2 / sizeof(uint32))

typedef struct PoolHead
{
	pg_atomic_uint64 lastStamp; /* all stamps up to this one have been used */
	uint32		freeCount;		/* guarded by the lock */
} PoolHead;

uint32		sware_pool_chunk_count;

/* where things are in shared memory */
static PoolHead *head = NULL;
static pg_atomic_uint64 *stamps;	/* of the allocations that begin with each
									 * chunk; 0: none */
static uint32 *free_chunks;		/* freeCount numbers; guarded by the lock */
char	   *sware_pool_chunks;
static LWLock *lock;

/*
 * The pool, whose lock is given: see base/sharedmemory.h.  There is none if the
 * memory is only requested.
 */
void
sware_share_pool(LWLock *pool_lock)
{
	uint32		count = (Size) sware_shared_memory * 1024 / SWARE_CHUNK_SIZE;
	bool		is_new;

	lock = pool_lock;
	sware_pool_chunk_count = count;
	sware_pool_chunks = sware_share("sware pool",
									(Size) count * SWARE_CHUNK_SIZE, &is_new);
	stamps = sware_share("sware stamps", count * sizeof(pg_atomic_uint64),
						 &is_new);
	free_chunks = sware_share("sware free chunks", count * sizeof(uint32),
							  &is_new);
	head = sware_share("sware pool head", sizeof(PoolHead), &is_new);
	if (!is_new)
		return;
	pg_atomic_init_u64(&head->lastStamp, 0);
	head->freeCount = count;
	for (uint32 i = 0; i < count; i++)
	{
		pg_atomic_init_u64(&stamps[i], 0);
		free_chunks[i] = count - 1 - i;
	}
}

/* How many chunks are free?  Takes the pool's lock, shared. */
int
sware_pool_free_count(void)
{
	int			count;

	LWLockAcquire(lock, LW_SHARED);
	count = head->freeCount;
	LWLockRelease(lock);
	return count;
}

/* Returns a number above zero that has never been returned before. */
uint64
sware_new_stamp(void)
{
	return pg_atomic_add_fetch_u64(&head->lastStamp, 1);
}

/* How many bytes does an allocation of this number of chunks have? */
Size
sware_pool_bytes(uint32 chunk_count)
{
	return chunk_count * (Size) SWARE_CHUNK_SIZE -
		sware_allocation_start(chunk_count);
}

/*
 * Allocate at least `length` bytes, which are not zeroed and have no stamp.
 * Returns false if there is no room, or if the length is more than an
 * allocation can have.  The caller must free the allocation, or put it where
 * other backends find it, before anything can fail or be interrupted.  Takes
 * the pool's lock for a moment.
 */
bool
sware_pool_allocate(Size length, SwareAllocation *allocation)
{
	Size		count = length / SWARE_CHUNK_SIZE + 1;
	uint32	   *taken;

	if (count > MAX_CHUNKS)
		return false;
	while (count * SWARE_CHUNK_SIZE < sware_allocation_start(count) + length)
		count++;
	if (count > MAX_CHUNKS)
		return false;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	if (head->freeCount < count)
	{
		LWLockRelease(lock);
		return false;
	}
	head->freeCount -= count;
	taken = free_chunks + head->freeCount;
	allocation->place = taken[0];
	allocation->chunks = count;
	memcpy(sware_pool_chunk(allocation->place), taken, count * sizeof(uint32));
	LWLockRelease(lock);
	return true;
}

/*
 * Free an allocation, if it has chunks.  Other backends do not find it any
 * more, or are kept from using it by a lock of the caller's.  Takes the pool's
 * lock for a moment.
 */
void
sware_pool_free(const SwareAllocation *allocation)
{
	if (allocation->chunks == 0)
		return;

	/* readers without a lock must know before the memory is written to */
	pg_atomic_write_u64(&stamps[allocation->place], 0);
	pg_memory_barrier();

	LWLockAcquire(lock, LW_EXCLUSIVE);
	Assert(head->freeCount + allocation->chunks <= sware_pool_chunk_count);
	memcpy(free_chunks + head->freeCount, sware_pool_chunk(allocation->place),
		   allocation->chunks * sizeof(uint32));
	head->freeCount += allocation->chunks;
	LWLockRelease(lock);
}

/* How many bytes are there from an address to the end of its chunk? */
static inline Size
bytes_behind(const char *address)
{
	return SWARE_CHUNK_SIZE - (address - sware_pool_chunks) % SWARE_CHUNK_SIZE;
}

/*
 * Write to an allocation; zeros if `bytes` is NULL.  No other backend uses it
 * yet, or a lock keeps them out.
 */
void
sware_pool_write(const SwareAllocation *allocation, Size offset,
				 const void *bytes, Size length)
{
	while (length > 0)
	{
		char	   *address = sware_pool_address(allocation, offset);
		Size		part = Min(length, bytes_behind(address));

		if (bytes == NULL)
			memset(address, 0, part);
		else
		{
			memcpy(address, bytes, part);
			bytes = (const char *) bytes + part;
		}
		offset += part;
		length -= part;
	}
}

/*
 * Copy bytes of an allocation.  Returns false if it is gone.  True does not
 * mean that it is there: the caller then checks the stamp, unless it holds a
 * lock that keeps the allocation from being freed.
 */
bool
sware_pool_read(const SwareAllocation *allocation, Size offset, void *bytes,
				Size length)
{
	while (length > 0)
	{
		const char *address = sware_pool_peek(allocation, offset);
		Size		part;

		if (address == NULL)
			return false;
		part = Min(length, bytes_behind(address));
		memcpy(bytes, address, part);
		bytes = (char *) bytes + part;
		offset += part;
		length -= part;
	}
	return true;
}

/*
 * Give a stamp to an allocation, all of which has been written: readers without
 * a lock may read it from now on.  Includes the write barrier.
 */
void
sware_pool_set_stamp(const SwareAllocation *allocation, uint64 stamp)
{
	pg_write_barrier();
	pg_atomic_write_u64(&stamps[allocation->place], stamp);
}

/*
 * Does an allocation still have a stamp?  If so, what was read before this call
 * was part of it.  Includes the read barrier.
 */
bool
sware_pool_has_stamp(const SwareAllocation *allocation, uint64 stamp)
{
	pg_read_barrier();
	return pg_atomic_read_u64(&stamps[allocation->place]) == stamp;
}
