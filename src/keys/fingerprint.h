/*-------------------------------------------------------------------------
 *
 * fingerprint.h
 *	  Fingerprints of the keys of an index.
 *
 * A fingerprint is a number that equal keys share, under the index's own
 * equality and collations.  Different keys share one as rarely as two random
 * numbers of 64 bits are equal, if the hash functions of the columns are good.
 * In an index with one integer column, the key is its own fingerprint: no other
 * key shares it, and keys that lie close together have fingerprints that do
 * (keyset.h makes use of that).
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_FINGERPRINT_H
#define SWARE_FINGERPRINT_H

#include "utils/rel.h"

/* The fingerprint of a key. */
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

#endif							/* SWARE_FINGERPRINT_H */
