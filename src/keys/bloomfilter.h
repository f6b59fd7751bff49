/*-------------------------------------------------------------------------
 *
 * bloomfilter.h
 *	  Blocked Bloom filters: bits that tell which hashes are not there.
 *
 * A filter consists of lines as long as a cache line.  All bits of a hash are
 * in the same line, so that a probe looks at one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BLOOMFILTER_H
#define SWARE_BLOOMFILTER_H

#include "keys/bytehash.h"

#define SWARE_FILTER_LINE_BYTES	64
#define SWARE_FILTER_LINE_BITS	(SWARE_FILTER_LINE_BYTES * BITS_PER_BYTE)

/* Each probe takes nine bits of a number of 64 random bits. */
#define SWARE_FILTER_MAX_PROBES	7

/* The number of the line that has a hash's bits. */
static inline uint32
sware_filter_line(uint32 hash, uint32 lines)
{
	return ((sware_mix(hash + UINT64CONST(0x9E3779B97F4A7C15)) >> 32) *
			lines) >> 32;
}

/* Set a hash's bits in its line. */
static inline void
sware_filter_add(uint8 *line, uint32 hash, int probes)
{
	uint64		bits = sware_mix(hash + UINT64CONST(0x3C6EF372FE94F82A));

	for (int i = 0; i < probes; i++, bits >>= 9)
		line[(bits & 511) / BITS_PER_BYTE] |= 1 << (bits % BITS_PER_BYTE);
}

/* Are all of a hash's bits set in its line? */
static inline bool
sware_filter_has(const uint8 *line, uint32 hash, int probes)
{
	uint64		bits = sware_mix(hash + UINT64CONST(0x3C6EF372FE94F82A));

	for (int i = 0; i < probes; i++, bits >>= 9)
	{
		if ((line[(bits & 511) / BITS_PER_BYTE] &
			 (1 << (bits % BITS_PER_BYTE))) == 0)
			return false;
	}
	return true;
}

/*
 * What many filters are asked for: one hash.  Each filter has its own number of
 * lines and of probes.
 */
typedef struct SwareFilterQuestion
{
	uint64		line;			/* tells the number of its line */
	uint8		bytes[SWARE_FILTER_MAX_PROBES]; /* where in the line its bits
												 * are */
	uint8		masks[SWARE_FILTER_MAX_PROBES];
} SwareFilterQuestion;

static inline void
sware_filter_question_set(SwareFilterQuestion *question, uint32 hash)
{
	uint64		bits = sware_mix(hash + UINT64CONST(0x3C6EF372FE94F82A));

	question->line =
		sware_mix(hash + UINT64CONST(0x9E3779B97F4A7C15)) >> 32;
	for (int i = 0; i < SWARE_FILTER_MAX_PROBES; i++, bits >>= 9)
	{
		question->bytes[i] = (bits & 511) / BITS_PER_BYTE;
		question->masks[i] = 1 << (bits % BITS_PER_BYTE);
	}
}

/* The number of its line. */
static inline uint32
sware_filter_question_line(const SwareFilterQuestion *question, uint32 lines)
{
	return (question->line * lines) >> 32;
}

/* Are all of its bits set in its line? */
static inline bool
sware_filter_question_has(const SwareFilterQuestion *question,
						  const uint8 *line, int probes)
{
	for (int i = 0; i < probes; i++)
	{
		if ((line[question->bytes[i]] & question->masks[i]) == 0)
			return false;
	}
	return true;
}

#endif							/* SWARE_BLOOMFILTER_H */
