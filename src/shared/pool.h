/*-------------------------------------------------------------------------
 *
 * pool.h
 *	  The pool: shared memory in chunks of 16 kB, for zones and registered keys.
 *
 * An *allocation* is a string of bytes in one or more chunks, which may be
 * anywhere in the pool.  Its first chunk begins with a list of all its chunks,
 * so any byte is found at once:
 *
 *	 first chunk				   second chunk			   third chunk
 *	 +----------+--------------+   +-------------------+   +--------+-----+
 *	 | chunks	| bytes 0..	   |   | bytes ..		   |   | bytes	|	  |
 *	 +----------+--------------+   +-------------------+   +--------+-----+
 *
 * An allocation that is read without a lock has a *stamp*, a number that no
 * other allocation ever has.  The stamp is taken away before the memory is
 * freed.  A reader copies bytes first, and checks the stamp afterwards: if it
 * is still there, the copy has what was written; if not, it may have anything.
 *
 * No function here raises an error.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_POOL_H
#define SWARE_POOL_H

#include "port/atomics.h"
#include "storage/lwlock.h"

#define SWARE_CHUNK_SIZE		16384	/* bytes */

/* an offset that is a multiple of this is the start of a cache line */
#define SWARE_POOL_ALIGNMENT	64

typedef struct SwareAllocation
{
	uint32		place;			/* the number of the first chunk */
	uint32		chunks;			/* their number; 0: no allocation */
} SwareAllocation;

extern Size sware_pool_memory(int kilobytes);
extern void sware_pool_attach(void *memory, int kilobytes, bool initialize,
							  LWLock *lock);
extern int	sware_pool_chunk_count(void);
extern int	sware_pool_free_count(void);

extern uint64 sware_new_stamp(void);
extern Size sware_pool_bytes(uint32 chunk_count);
extern bool sware_pool_allocate(Size length, SwareAllocation *allocation);
extern void sware_pool_free(const SwareAllocation *allocation);
extern void sware_pool_write(const SwareAllocation *allocation, Size offset,
							 const void *bytes, Size length);
extern bool sware_pool_read(const SwareAllocation *allocation, Size offset,
							void *bytes, Size length);
extern void sware_pool_clear(const SwareAllocation *allocation);
extern void sware_pool_set_stamp(const SwareAllocation *allocation,
								 uint64 stamp);
extern bool sware_pool_has_stamp(const SwareAllocation *allocation,
								 uint64 stamp);

/* where the chunks are in shared memory */
extern char *sware_pool_chunks;

/* where the bytes of an allocation begin in its first chunk */
static inline Size
sware_allocation_start(uint32 count)
{
	return TYPEALIGN(SWARE_POOL_ALIGNMENT, count * sizeof(uint32));
}

/*
 * Returns the number of the chunk that has a byte of an allocation, and sets
 * *within to the byte's place there.  If the allocation may be freed meanwhile,
 * the number may be anything.
 */
static inline uint32
sware_pool_chunk(const SwareAllocation *allocation, Size offset, uint32 *within)
{
	Size		position = sware_allocation_start(allocation->chunks) + offset;
	const char *first = sware_pool_chunks +
		(Size) allocation->place * SWARE_CHUNK_SIZE;

	*within = position % SWARE_CHUNK_SIZE;
	return ((const volatile uint32 *) first)[position / SWARE_CHUNK_SIZE];
}

/*
 * Returns the address of a byte of an allocation, which the caller keeps from
 * being freed.  The bytes up to the next multiple of SWARE_POOL_ALIGNMENT
 * follow it; later ones may be elsewhere.
 */
static inline void *
sware_pool_address(const SwareAllocation *allocation, Size offset)
{
	uint32		within;
	uint32		number = sware_pool_chunk(allocation, offset, &within);

	return sware_pool_chunks + (Size) number * SWARE_CHUNK_SIZE + within;
}

/*
 * The same for an allocation that may be freed meanwhile; NULL if that shows.
 * `chunk_count` is the pool's.
 */
static inline const void *
sware_pool_peek(const SwareAllocation *allocation, Size offset,
				uint32 chunk_count)
{
	uint32		within;
	uint32		number = sware_pool_chunk(allocation, offset, &within);

	return unlikely(number >= chunk_count) ? NULL :
		sware_pool_chunks + (Size) number * SWARE_CHUNK_SIZE + within;
}

#endif							/* SWARE_POOL_H */
