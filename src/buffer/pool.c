/*-------------------------------------------------------------------------
 *
 * pool.c
 *	  Memory shared by all backends, in chunks, for what readers keep of
 *	  shared buffers.  pool.h tells how.
 *
 * Nothing here raises errors, except that a lock may not be had.  The lock
 * guards the list of free chunks only; callers may hold other lightweight
 * locks, this one is the innermost.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "buffer/pool.h"

/* the list of chunks takes at most half of the first */
#define MAX_CHUNKS	(SWARE_CHUNK_SIZE / 2 / sizeof(uint32))

typedef struct PoolHead
{
	pg_atomic_uint64 lastStamp;
	uint32		chunkCount;		/* never changes */
	uint32		freeCount;		/* guarded by the lock */
} PoolHead;

/* where things are in shared memory */
static PoolHead *head = NULL;
static pg_atomic_uint64 *stamps;	/* one for each chunk; 0: none */
static uint32 *free_chunks;		/* the first freeCount; guarded by the lock */
static char *chunks;
static LWLock *lock;

static uint32
count_chunks(int kilobytes)
{
	return (Size) kilobytes * 1024 / SWARE_CHUNK_SIZE;
}

/* how much shared memory a pool takes */
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
 * Make, or find, the pool in memory of sware_pool_memory bytes that begins
 * with a cache line.
 */
void
sware_pool_attach(void *memory, int kilobytes, bool initialize, LWLock *pool_lock)
{
	char	   *next = memory;
	uint32		count = count_chunks(kilobytes);

	head = (PoolHead *) next;
	next += CACHELINEALIGN(sizeof(PoolHead));
	stamps = (pg_atomic_uint64 *) next;
	next += CACHELINEALIGN(count * sizeof(pg_atomic_uint64));
	free_chunks = (uint32 *) next;
	next += CACHELINEALIGN(count * sizeof(uint32));
	chunks = next;
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

int
sware_pool_chunk_count(void)
{
	return head->chunkCount;
}

/* Takes the pool's lock, shared. */
int
sware_pool_free_count(void)
{
	int			count;

	LWLockAcquire(lock, LW_SHARED);
	count = head->freeCount;
	LWLockRelease(lock);
	return count;
}

/* A number that nobody else gets, above zero. */
uint64
sware_new_stamp(void)
{
	return pg_atomic_add_fetch_u64(&head->lastStamp, 1);
}

/* where the bytes of a segment begin in its first chunk */
static inline Size
segment_start(uint32 count)
{
	return TYPEALIGN(SWARE_SEGMENT_ALIGNMENT, count * sizeof(uint32));
}

static inline char *
chunk_address(uint32 number)
{
	return chunks + (Size) number * SWARE_CHUNK_SIZE;
}

/* How many bytes of a segment fill so many chunks? */
Size
sware_segment_bytes(uint32 chunk_count)
{
	return chunk_count * (Size) SWARE_CHUNK_SIZE - segment_start(chunk_count);
}

/*
 * Get a segment; false if there is no room, or if so much is not possible.
 * It must be freed, or put where others find it, before anything can fail or
 * be interrupted.
 */
bool
sware_segment_allocate(Size length, SwareSegment *segment)
{
	Size		count = length / SWARE_CHUNK_SIZE + 1;
	uint32	   *taken;

	if (count > MAX_CHUNKS)
		return false;
	while (count * SWARE_CHUNK_SIZE < segment_start(count) + length)
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
	segment->place = taken[0];
	segment->chunks = count;
	memcpy(chunk_address(segment->place), taken, count * sizeof(uint32));
	LWLockRelease(lock);
	return true;
}

/* Free a segment.  Nobody finds it any more, or the caller keeps all others out. */
void
sware_segment_free(const SwareSegment *segment)
{
	if (segment->chunks == 0)
		return;

	/* readers without a lock must know before the memory is written to */
	pg_atomic_write_u64(&stamps[segment->place], 0);
	pg_memory_barrier();

	LWLockAcquire(lock, LW_EXCLUSIVE);
	Assert(head->freeCount + segment->chunks <= head->chunkCount);
	memcpy(free_chunks + head->freeCount, chunk_address(segment->place),
		   segment->chunks * sizeof(uint32));
	head->freeCount += segment->chunks;
	LWLockRelease(lock);
}

/*
 * Where a byte of a segment is, and how many of those behind it are in the
 * same chunk.  NULL if the segment is gone, which may also go unnoticed.
 */
static inline char *
find_byte(const SwareSegment *segment, Size offset, Size *available)
{
	Size		position = segment_start(segment->chunks) + offset;
	uint32		which = position / SWARE_CHUNK_SIZE;
	uint32		within = position % SWARE_CHUNK_SIZE;
	uint32		number = segment->place;

	*available = SWARE_CHUNK_SIZE - within;
	if (which >= segment->chunks)
		return NULL;
	if (which > 0)
	{
		number = ((volatile uint32 *) chunk_address(segment->place))[which];
		if (number >= head->chunkCount)
			return NULL;
	}
	return chunk_address(number) + within;
}

/* Write to a segment that is the caller's, or that it keeps all others from. */
void
sware_segment_write(const SwareSegment *segment, Size offset,
					const void *bytes, Size length)
{
	while (length > 0)
	{
		Size		available;
		char	   *address = find_byte(segment, offset, &available);
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
 * Copy bytes of a segment.  False if the segment is gone; that true means
 * it is not needs a look at the stamp, or a lock.
 */
bool
sware_segment_read(const SwareSegment *segment, Size offset, void *bytes, Size length)
{
	while (length > 0)
	{
		Size		available;
		char	   *address = find_byte(segment, offset, &available);
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

/*
 * Where a byte of a segment is that nobody can free meanwhile.  The bytes up to
 * the next multiple of SWARE_SEGMENT_ALIGNMENT follow it.
 */
void *
sware_segment_address(const SwareSegment *segment, Size offset)
{
	Size		available;

	return find_byte(segment, offset, &available);
}

/* Set all bytes of a segment, which is the caller's, to zero. */
void
sware_segment_clear(const SwareSegment *segment)
{
	Size		length = sware_segment_bytes(segment->chunks);

	for (Size offset = 0; offset < length;)
	{
		Size		available;
		char	   *address = find_byte(segment, offset, &available);

		memset(address, 0, available);
		offset += available;
	}
}

/* Let readers without locks read a segment that has been written. */
void
sware_segment_set_stamp(const SwareSegment *segment, uint64 stamp)
{
	pg_write_barrier();
	pg_atomic_write_u64(&stamps[segment->place], stamp);
}

/* Was all that has been read before this part of the segment with a stamp? */
bool
sware_segment_has_stamp(const SwareSegment *segment, uint64 stamp)
{
	pg_read_barrier();
	return pg_atomic_read_u64(&stamps[segment->place]) == stamp;
}
