/*-------------------------------------------------------------------------
 *
 * fingerprint.c
 *	  Fingerprints of the keys of an index.  See fingerprint.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "common/hashfn.h"
#include "utils/fmgroids.h"
#include "utils/uuid.h"

#include "keys/bytehash.h"
#include "keys/hashfunction.h"
#include "keys/searchkey.h"
#include "keys/fingerprint.h"

/* stand for the hash of a null, and of any value that cannot be hashed */
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

/*
 * Add a column's hash, which may be a plain integer, to the fingerprint of the
 * columns before it.  Both are mixed thoroughly: if the values of columns
 * depend on each other, they must not cancel each other out.
 */
static inline uint64
add_hash(uint64 fingerprint, uint64 hash)
{
	return sware_mix(fingerprint +
					 sware_mix(hash + UINT64CONST(0x9E3779B97F4A7C15)));
}

/*
 * Hash the bytes of a varlena.  One that is compressed, or stored elsewhere,
 * is detoasted in the current memory context.
 */
static uint64
hash_of_varlena(Datum value)
{
	struct varlena *plain = PG_DETOAST_DATUM_PACKED(value);
	uint64		hash =
		sware_hash_bytes(VARDATA_ANY(plain), VARSIZE_ANY_EXHDR(plain));

	/* who hashes many values may keep the memory context */
	if (plain != (struct varlena *) DatumGetPointer(value))
		pfree(plain);
	return hash;
}

/*
 * Hash a value of a key column (from 0 on) that is not null.  Where equal
 * values have the same bytes, these are hashed; else the hash function of the
 * column's equality is called.  Sets *tells to false if there is none.
 */
static uint64
hash_of_value(Relation index, int column, Datum value, bool *tells)
{
	FmgrInfo   *order = index_getprocinfo(index, column + 1, BTORDER_PROC);
	Oid			collation = index->rd_indcollation[column];
	SwareComparison comparison = sware_comparison_kind(order, collation);
	FmgrInfo   *function;

	if (sware_is_integer(comparison))
		return (uint64) sware_integer_value(comparison, value);
	if (comparison == SWARE_COMPARE_UUID)
		return sware_hash_bytes((const char *) DatumGetUUIDP(value)->data,
								UUID_LEN);
	if (comparison == SWARE_COMPARE_BYTES ||
		(order->fn_oid == F_BTTEXTCMP && sware_is_deterministic(collation)))
		return hash_of_varlena(value);
	function = sware_hash_function(index, column);
	if (function != NULL)
		return sware_hash_value(index, column, function, value);
	*tells = false;
	return HASH_OF_ANYTHING;
}

SwareFingerprint
sware_fingerprint(Relation index, const Datum *values, const bool *isnull)
{
	int			columns = IndexRelationGetNumberOfKeyAttributes(index);
	SwareFingerprint fingerprint = {.value = 0,.tells = true};

	for (int i = 0; i < columns; i++)
	{
		uint64		hash = isnull[i] ? HASH_OF_NULL :
			hash_of_value(index, i, values[i], &fingerprint.tells);

		fingerprint.value = columns == 1 ? hash :
			add_hash(fingerprint.value, hash);
	}
	return fingerprint;
}
