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

#include "shared/pool.h"

/* the list of an allocation's chunks takes at most half of the first one */
#define MAX_CHUNKS	(SWARE_CHUNK_SIZE / 2 / sizeof(uint32))

typedef struct PoolHead
{
	pg_atomic_uint64 lastStamp; /* all stamps up to this one have been used */
	uint32		chunkCount;		/* never changes */
	uint32		freeCount;		/* guarded by the lock */
} PoolHead;

/* where things are in shared memory */
static PoolHead *head = NULL;
static pg_atomic_uint64 *stamps;	/* of the allocations that begin with each
									 * chunk; 0: none */
static uint32 *free_chunks;		/* freeCount numbers; guarded by the lock */
char	   *sware_pool_chunks;
static LWLock *lock;

static uint32
count_chunks(int kilobytes)
{
	return (Size) kilobytes * 1024 / SWARE_CHUNK_SIZE;
}

/* How many bytes of shared memory does a pool with chunks of this size take? */
Size
sware_pool_memory(int kilobytes)
{
	Size		count = count_chunks(kilobytes);

	return CACHELINEALIGN(sizeof(PoolHead)) +
		CACHELINEALIGN(count * sizeof(pg_atomic_uint64)) +
		CACHELINEALIGN(count * sizeof(uint32)) +
		count * SWARE_CHUNK_SIZE;
}

/*
 * Use the pool that is in this shared memory, and initialise it if no process
 * has done so.  The memory has sware_pool_memory bytes, and begins with a cache
 * line.  The caller holds AddinShmemInitLock.
 */
void
sware_pool_attach(void *memory, int kilobytes, bool initialize,
				  LWLock *pool_lock)
{
	char	   *next = memory;
	uint32		count = count_chunks(kilobytes);

	head = (PoolHead *) next;
	next += CACHELINEALIGN(sizeof(PoolHead));
	stamps = (pg_atomic_uint64 *) next;
	next += CACHELINEALIGN(count * sizeof(pg_atomic_uint64));
	free_chunks = (uint32 *) next;
	next += CACHELINEALIGN(count * sizeof(uint32));
	sware_pool_chunks = next;
	lock = pool_lock;

	if (!initialize)
		return;
	pg_atomic_init_u64(&head->lastStamp, 0);
	head->chunkCount = count;
	head->freeCount = count;
	for (uint32 i = 0; i < count; i++)
	{
		pg_atomic_init_u64(&stamps[i], 0);
		free_chunks[i] = count - 1 - i;
	}
}

/* How many chunks does the pool have? */
int
sware_pool_chunk_count(void)
{
	return head->chunkCount;
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

static inline char *
chunk_address(uint32 number)
{
	return sware_pool_chunks + (Size) number * SWARE_CHUNK_SIZE;
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
	memcpy(chunk_address(allocation->place), taken, count * sizeof(uint32));
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
	Assert(head->freeCount + allocation->chunks <= head->chunkCount);
	memcpy(free_chunks + head->freeCount, chunk_address(allocation->place),
		   allocation->chunks * sizeof(uint32));
	head->freeCount += allocation->chunks;
	LWLockRelease(lock);
}

/*
 * Find the address of a byte of an allocation.  Sets *available to the number
 * of bytes from there to the end of the chunk.  Returns NULL if the list of
 * chunks shows that the allocation is gone; it may be gone all the same if
 * not.
 */
static inline char *
find_byte(const SwareAllocation *allocation, Size offset, Size *available)
{
	Size		position = sware_allocation_start(allocation->chunks) + offset;

	*available = SWARE_CHUNK_SIZE - position % SWARE_CHUNK_SIZE;
	if (position / SWARE_CHUNK_SIZE >= allocation->chunks)
		return NULL;
	return unconstify(char *, (const char *)
					  sware_pool_peek(allocation, offset, head->chunkCount));
}

/* No other backend uses the allocation yet, or a lock keeps them out. */
void
sware_pool_write(const SwareAllocation *allocation, Size offset,
				 const void *bytes, Size length)
{
	while (length > 0)
	{
		Size		available;
		char	   *address = find_byte(allocation, offset, &available);
		Size		part;

		Assert(address != NULL);
		part = Min(length, available);
		memcpy(address, bytes, part);
		bytes = (const char *) bytes + part;
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
		Size		available;
		char	   *address = find_byte(allocation, offset, &available);
		Size		part;

		if (address == NULL)
			return false;
		part = Min(length, available);
		memcpy(bytes, address, part);
		bytes = (char *) bytes + part;
		offset += part;
		length -= part;
	}
	return true;
}

/* Set all bytes of an allocation that no other backend uses to zero. */
void
sware_pool_clear(const SwareAllocation *allocation)
{
	Size		length = sware_pool_bytes(allocation->chunks);

	for (Size offset = 0; offset < length;)
	{
		Size		available;
		char	   *address = find_byte(allocation, offset, &available);

		memset(address, 0, available);
		offset += available;
	}
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
