/*-------------------------------------------------------------------------
 *
 * keylock.c
 *	  Fingerprints of the keys of a unique index, and locks on keys.  See
 *	  keylock.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "common/hashfn.h"
#include "storage/lmgr.h"

#include "buffer/hashfunction.h"
#include "buffer/keylock.h"
#include "tree/tree.h"

/* The key locks of an index are those of pages below the flush lock's. */
#define FIRST_KEY_LOCK_PAGE		(MaxBlockNumber - SWARE_KEY_STRIPES)

/* what a null, and a value that cannot be hashed, add to a fingerprint */
#define HASH_OF_NULL			UINT64CONST(0x9AE16A3B2F90404F)
#define HASH_OF_ANYTHING		UINT64CONST(0xC949C7DEFEBF6CA7)

/* Is there a null among the key columns? */
bool
sware_has_null_key(Relation index, const bool *isnull)
{
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		if (isnull[i])
			return true;
	}
	return false;
}

/* Values that are compared as integers are equal if these are. */
static inline uint64
integer_value(SwareComparison comparison, Datum value)
{
	switch (comparison)
	{
		case SWARE_COMPARE_INT16:
			return (uint64) (int64) DatumGetInt16(value);
		case SWARE_COMPARE_INT32:
			return (uint64) (int64) DatumGetInt32(value);
		default:
			return (uint64) DatumGetInt64(value);
	}
}

/*
 * The fingerprint of a key.  A hash function may raise an error, and leak what
 * it has detoasted in the current memory context.
 */
SwareFingerprint
sware_fingerprint(Relation index, const Datum *values, const bool *isnull)
{
	int			columns = IndexRelationGetNumberOfKeyAttributes(index);
	SwareFingerprint fingerprint = {.value = 0,.isExact = false,.tells = true};

	for (int i = 0; i < columns; i++)
	{
		uint64		hash;
		SwareComparison comparison =
			sware_comparison_kind(index_getprocinfo(index, i + 1, BTORDER_PROC));

		if (isnull[i])
			hash = HASH_OF_NULL;
		else if (comparison != SWARE_COMPARE_FUNCTION)
		{
			hash = integer_value(comparison, values[i]);
			fingerprint.isExact = columns == 1;
		}
		else
		{
			FmgrInfo   *function = sware_hash_function(index, i);

			if (function != NULL)
				hash = sware_hash_value(index, i, function, values[i]);
			else
			{
				hash = HASH_OF_ANYTHING;
				fingerprint.tells = false;
			}
		}
		fingerprint.value = columns == 1 ? hash : hash_combine64(fingerprint.value, hash);
	}
	return fingerprint;
}

/* The page whose lock is that of a key; neighbours have different ones. */
static BlockNumber
lock_page(uint64 fingerprint)
{
	uint64		mixed = fingerprint * UINT64CONST(0x9E3779B97F4A7C15);

	return FIRST_KEY_LOCK_PAGE + (mixed >> 32) % SWARE_KEY_STRIPES;
}

/*
 * Lock a key.  What is temporary has one user, and needs no lock.  The lock is
 * given back at the end of the (sub)transaction, if not before.  The caller
 * holds no content locks, and no other key lock of the index.
 */
void
sware_lock_key(Relation index, uint64 fingerprint)
{
	if (index->rd_rel->relpersistence != RELPERSISTENCE_TEMP)
		LockPage(index, lock_page(fingerprint), ExclusiveLock);
}

void
sware_unlock_key(Relation index, uint64 fingerprint)
{
	if (index->rd_rel->relpersistence != RELPERSISTENCE_TEMP)
		UnlockPage(index, lock_page(fingerprint), ExclusiveLock);
}

void
sware_wait_for_key_lock(Relation index, uint64 fingerprint)
{
	LockPage(index, lock_page(fingerprint), ShareLock);
	UnlockPage(index, lock_page(fingerprint), ShareLock);
}
