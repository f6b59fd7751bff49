/*-------------------------------------------------------------------------
 *
 * bytehash.h
 *	  Hashes of strings of bytes, and of numbers.
 *
 * Two strings have the same hash as rarely as two random numbers of 64 bits
 * are equal, whatever they look like.  Nobody who chooses strings on purpose is
 * kept from finding some that share a hash.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BYTEHASH_H
#define SWARE_BYTEHASH_H

/* Spread a number's bits over all others (the finalizer of splitmix64). */
static inline uint64
sware_mix(uint64 number)
{
	number = (number ^ (number >> 30)) * UINT64CONST(0xBF58476D1CE4E5B9);
	number = (number ^ (number >> 27)) * UINT64CONST(0x94D049BB133111EB);
	return number ^ (number >> 31);
}

/*
 * Hash a string of bytes.  Its words of 8 bytes are mixed with their places,
 * and added up; the last word may overlap the one before it.
 */
static inline uint64
sware_hash_bytes(const char *bytes, Size size)
{
	const uint64 step = UINT64CONST(0x9E3779B97F4A7C15);
	const char *last = bytes + size - sizeof(uint64);
	uint64		place = step;
	uint64		hash = sware_mix(size);
	uint64		word = 0;

	if (size < sizeof(uint64))
	{
		memcpy(&word, bytes, size);
		return hash + sware_mix(word + place);
	}
	for (; bytes < last; bytes += sizeof(uint64), place += step)
	{
		memcpy(&word, bytes, sizeof(uint64));
		hash += sware_mix(word + place);
	}
	memcpy(&word, last, sizeof(uint64));
	return hash + sware_mix(word + place);
}

#endif							/* SWARE_BYTEHASH_H */
