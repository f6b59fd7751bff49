/*-------------------------------------------------------------------------
 *
 * pool.h
 *	  Memory shared by all backends, in chunks, for what readers keep of
 *	  shared buffers.
 *
 * What is kept is a *segment*: a string of bytes in one or more chunks, which
 * may be anywhere.  Its first chunk begins with the list of all of them, so
 * any byte is found at once:
 *
 *	 first chunk				   second chunk			   third chunk
 *	 +----------+--------------+   +-------------------+   +--------+-----+
 *	 | chunks	| bytes 0..	   |   | bytes ..		   |   | bytes	|	  |
 *	 +----------+--------------+   +-------------------+   +--------+-----+
 *
 * Segments that readers may look at without a lock have a *stamp*, which is
 * never used again.  The stamp goes before the memory does.  Who has read
 * something, and then finds the stamp still there, has read what was written;
 * who does not may have read anything.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_POOL_H
#define SWARE_POOL_H

#include "port/atomics.h"
#include "storage/lwlock.h"

#define SWARE_CHUNK_SIZE		16384

/* what is at a multiple of this in a segment crosses no cache line */
#define SWARE_SEGMENT_ALIGNMENT	64

typedef struct SwareSegment
{
	uint32		place;			/* the number of the first chunk */
	uint32		chunks;			/* 0: no segment */
} SwareSegment;

extern Size sware_pool_memory(int kilobytes);
extern void sware_pool_attach(void *memory, int kilobytes, bool initialize, LWLock *lock);
extern int	sware_pool_chunk_count(void);
extern int	sware_pool_free_count(void);

extern uint64 sware_new_stamp(void);
extern Size sware_segment_bytes(uint32 chunk_count);
extern bool sware_segment_allocate(Size length, SwareSegment *segment);
extern void sware_segment_free(const SwareSegment *segment);
extern void sware_segment_write(const SwareSegment *segment, Size offset,
								const void *bytes, Size length);
extern bool sware_segment_read(const SwareSegment *segment, Size offset,
							   void *bytes, Size length);
extern void *sware_segment_address(const SwareSegment *segment, Size offset);
extern void sware_segment_clear(const SwareSegment *segment);
extern void sware_segment_set_stamp(const SwareSegment *segment, uint64 stamp);
extern bool sware_segment_has_stamp(const SwareSegment *segment, uint64 stamp);

#endif							/* SWARE_POOL_H */
