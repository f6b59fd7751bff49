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

/* Where an allocation is. */
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
extern void *sware_pool_address(const SwareAllocation *allocation, Size offset);
extern void sware_pool_clear(const SwareAllocation *allocation);
extern void sware_pool_set_stamp(const SwareAllocation *allocation,
								 uint64 stamp);
extern bool sware_pool_has_stamp(const SwareAllocation *allocation,
								 uint64 stamp);

#endif							/* SWARE_POOL_H */
