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

#include "keys/fingerprint.h"

#define SWARE_FILTER_LINE_BYTES	64
#define SWARE_FILTER_LINE_BITS	(SWARE_FILTER_LINE_BYTES * BITS_PER_BYTE)

/* Each probe takes nine bits of a number of 64 random bits. */
#define SWARE_FILTER_MAX_PROBES	7

/*
 * A hash that filters are asked for, or get.  Each filter has its own number of
 * lines and of probes.
 */
typedef struct SwareFilterHash
{
	uint64		line;			/* tells the number of its line */
	uint64		bits;			/* tell where in the line its bits are */
} SwareFilterHash;

static inline SwareFilterHash
sware_filter_hash(uint32 hash)
{
	SwareFilterHash result = {
		sware_mix(hash + UINT64CONST(0x9E3779B97F4A7C15)) >> 32,
		sware_mix(hash + UINT64CONST(0x3C6EF372FE94F82A))
	};

	return result;
}

/* The number of the line that has a hash's bits. */
static inline uint32
sware_filter_line(SwareFilterHash hash, uint32 lines)
{
	return (hash.line * lines) >> 32;
}

/* Set a hash's bits in its line. */
static inline void
sware_filter_add(uint8 *line, SwareFilterHash hash, int probes)
{
	for (int i = 0; i < probes; i++, hash.bits >>= 9)
		line[(hash.bits & 511) / BITS_PER_BYTE] |=
			1 << (hash.bits % BITS_PER_BYTE);
}

/* Are all of a hash's bits set in its line? */
static inline bool
sware_filter_has(const uint8 *line, SwareFilterHash hash, int probes)
{
	for (int i = 0; i < probes; i++, hash.bits >>= 9)
	{
		if ((line[(hash.bits & 511) / BITS_PER_BYTE] &
			 (1 << (hash.bits % BITS_PER_BYTE))) == 0)
			return false;
	}
	return true;
}

#endif							/* SWARE_BLOOMFILTER_H */
