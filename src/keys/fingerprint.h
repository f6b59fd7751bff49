/*-------------------------------------------------------------------------
 *
 * fingerprint.h
 *	  Hashes of values of an index's columns, fingerprints of its keys, and
 *	  Bloom filters of hashes.
 *
 * A fingerprint is a number that equal keys share, under the index's own
 * equality and collations.  Different keys share one as rarely as two random
 * numbers of 64 bits are equal, if the hash functions of the columns are good.
 * In an index with one integer column, the key is its own fingerprint: no other
 * key shares it, and keys that lie close together have fingerprints that do
 * (takenkeys/stagedkeys.h makes use of that).
 *
 * Of hash functions only the one that goes with the index's own equality, and
 * the column's own collation, may be used: values that are equal there have the
 * same hash.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_FINGERPRINT_H
#define SWARE_FINGERPRINT_H

#include "fmgr.h"
#include "utils/rel.h"

/* Spread a number's bits over all others (the finalizer of splitmix64). */
static inline uint64
sware_mix(uint64 number)
{
	number = (number ^ (number >> 30)) * UINT64CONST(0xBF58476D1CE4E5B9);
	number = (number ^ (number >> 27)) * UINT64CONST(0x94D049BB133111EB);
	return number ^ (number >> 31);
}

typedef struct SwareFingerprint
{
	uint64		value;
	bool		tells;			/* false if a column has no hash function: so
								 * many keys share the fingerprint that it is
								 * of use for nothing but a lock */
} SwareFingerprint;

/*
 * Returns the fingerprint of a key.  Hash functions run, which may raise
 * errors, and leave detoasted values in the current memory context.
 */
extern SwareFingerprint sware_fingerprint(Relation index, const Datum *values,
										  const bool *isnull);

extern bool sware_has_null_key(Relation index, const bool *isnull);

/*
 * Return the function that hashes the values of a key column (from 0 on) to 64
 * bits; NULL if there is none, or if entries of the index may not wait
 * (trust.c): nbtree hashes no keys, so nobody's function is called for that.
 * May read catalogs, so no lightweight lock may be held.
 */
extern FmgrInfo *sware_hash_function(Relation index, int column);

/*
 * A number that changes when a column gets another hash function than it had.
 * Two hashes can be compared if this was the same after each of them was made.
 */
extern uint64 sware_hash_methods(void);

/*
 * Hash a value of a key column (from 0 on) that is not null.  May raise
 * errors.
 */
static inline uint64
sware_hash_value(Relation index, int column, FmgrInfo *function, Datum value)
{
	return DatumGetUInt64(FunctionCall2Coll(function,
											index->rd_indcollation[column],
											value, UInt64GetDatum(0)));
}

/*
 * Blocked Bloom filters: bits that tell which hashes are not there.  A filter
 * consists of lines as long as a cache line.  All bits of a hash are in the
 * same line, so that a probe looks at one.
 */
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

/* Where in a filter the line begins that has a hash's bits, in bytes. */
static inline Size
sware_filter_line(SwareFilterHash hash, uint32 lines)
{
	return ((hash.line * lines) >> 32) * SWARE_FILTER_LINE_BYTES;
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

#endif							/* SWARE_FINGERPRINT_H */
