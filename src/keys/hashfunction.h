/*-------------------------------------------------------------------------
 *
 * hashfunction.h
 *	  Which functions hash the values of an index's columns.
 *
 * Only the function that goes with the index's own equality, and the column's
 * own collation, may be used: values that are equal there have the same hash.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_HASHFUNCTION_H
#define SWARE_HASHFUNCTION_H

#include "fmgr.h"
#include "utils/rel.h"

/*
 * Return the function that hashes the values of a key column (from 0 on) to 64
 * bits; NULL if there is none, or if entries of the index may not wait
 * (trust.h): nbtree hashes no keys, so nobody's function is called for that.
 * May read catalogs, so no lightweight lock may be held.
 */
extern FmgrInfo *sware_hash_function(Relation index, int column);

/*
 * Are texts equal in a collation only if all their bytes are?  May read
 * catalogs, so no lightweight lock may be held.
 */
extern bool sware_is_deterministic(Oid collation);

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

#endif							/* SWARE_HASHFUNCTION_H */
