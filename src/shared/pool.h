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

extern void sware_share_pool(LWLock *pool_lock);
extern int	sware_pool_free_count(void);

extern uint64 sware_new_stamp(void);
extern Size sware_pool_bytes(uint32 chunk_count);
extern bool sware_pool_allocate(Size length, SwareAllocation *allocation);
extern void sware_pool_free(const SwareAllocation *allocation);
extern void sware_pool_write(const SwareAllocation *allocation, Size offset,
							 const void *bytes, Size length);
extern bool sware_pool_read(const SwareAllocation *allocation, Size offset,
							void *bytes, Size length);
extern void sware_pool_set_stamp(const SwareAllocation *allocation,
								 uint64 stamp);
extern bool sware_pool_has_stamp(const SwareAllocation *allocation,
								 uint64 stamp);

/* the number of chunks, and where they are in shared memory */
extern uint32 sware_pool_chunk_count;
extern char *sware_pool_chunks;

static inline char *
sware_pool_chunk(uint32 number)
{
	return sware_pool_chunks + (Size) number * SWARE_CHUNK_SIZE;
}

/* where the bytes of an allocation begin in its first chunk */
static inline Size
sware_allocation_start(uint32 count)
{
	return TYPEALIGN(SWARE_POOL_ALIGNMENT, count * sizeof(uint32));
}

/*
 * Returns the address of a byte of an allocation; NULL if its list of chunks
 * shows that it has been freed, which it may have been all the same if not.
 * The bytes up to the next multiple of SWARE_POOL_ALIGNMENT follow it; later
 * ones may be elsewhere.
 */
static inline const char *
sware_pool_peek(const SwareAllocation *allocation, Size offset)
{
	Size		position = sware_allocation_start(allocation->chunks) + offset;
	const volatile uint32 *list =
		(const volatile uint32 *) sware_pool_chunk(allocation->place);
	uint32		number;

	if (unlikely(position / SWARE_CHUNK_SIZE >= allocation->chunks))
		return NULL;
	number = list[position / SWARE_CHUNK_SIZE];
	return unlikely(number >= sware_pool_chunk_count) ? NULL :
		sware_pool_chunk(number) + position % SWARE_CHUNK_SIZE;
}

/* The same for an allocation that the caller keeps from being freed. */
static inline void *
sware_pool_address(const SwareAllocation *allocation, Size offset)
{
	const char *address = sware_pool_peek(allocation, offset);

	Assert(address != NULL);
	return unconstify(char *, address);
}

#endif							/* SWARE_POOL_H */
