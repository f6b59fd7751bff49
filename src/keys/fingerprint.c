/*-------------------------------------------------------------------------
 *
 * fingerprint.c
 *	  Hashes of values of an index's columns, and fingerprints of its keys.  See
 *	  fingerprint.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/hash.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/stratnum.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/pg_locale.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "keys/entry.h"
#include "keys/fingerprint.h"
#include "keys/searchkey.h"

/* stand for the hash of a null, and of any value that cannot be hashed */
#define HASH_OF_NULL			UINT64CONST(0x9AE16A3B2F90404F)
#define HASH_OF_ANYTHING		UINT64CONST(0xC949C7DEFEBF6CA7)

/* identifies a column, and the type of its values */
typedef struct HashKey
{
	Oid			family;
	Oid			inputType;
	Oid			columnType;
} HashKey;

typedef struct HashMethod
{
	HashKey		key;
	uint64		invalidation;	/* value of `invalidations` when `current` was
								 * found; 0 if it has not been searched for */
	FmgrInfo   *current;		/* NULL if the column has none.  It is never
								 * freed, since it may be in progress when
								 * another one replaces it */
} HashMethod;

static HTAB *hash_methods = NULL;

/* changes of catalogs that were noticed, from 1 on */
static uint64 invalidations = 1;

/* how often a column has got another function than it had */
static uint64 methods_changed = 0;

static void
forget_hash_methods(Datum argument, int cache, uint32 hash)
{
	invalidations++;
}

/* The extended hash function that goes with an equality, or InvalidOid. */
static RegProcedure
extended_hash_function(Oid equality)
{
	CatCList   *members =
		SearchSysCacheList1(AMOPOPID, ObjectIdGetDatum(equality));
	RegProcedure function = InvalidOid;

	for (int i = 0; i < members->n_members && !OidIsValid(function); i++)
	{
		Form_pg_amop member =
			(Form_pg_amop) GETSTRUCT(&members->members[i]->tuple);

		if (member->amopmethod == HASH_AM_OID &&
			member->amopstrategy == HTEqualStrategyNumber &&
			member->amoplefttype == member->amoprighttype)
		{
			function =
				get_opfamily_proc(member->amopfamily, member->amoplefttype,
								  member->amoplefttype, HASHEXTENDED_PROC);
			if (!sware_is_trusted(function))
				function = InvalidOid;
		}
	}
	ReleaseSysCacheList(members);
	return function;
}

/* The hash function for an operator class's equality, or InvalidOid. */
static RegProcedure
look_up_hash_function(const HashKey *key)
{
	Oid			equality = get_opfamily_member(key->family, key->inputType,
											   key->inputType,
											   BTEqualStrategyNumber);

	if (!OidIsValid(equality))
		return InvalidOid;

	/* those of arrays and ranges need the elements' functions */
	if (IsPolymorphicType(key->inputType) &&
		!OidIsValid(lookup_type_cache(key->columnType,
									  TYPECACHE_HASH_EXTENDED_PROC)
					->hash_extended_proc))
		return InvalidOid;
	return extended_hash_function(equality);
}

/* Find the function that a column has now. */
static void
find_hash_method(HashMethod *method)
{
	/* A change while catalogs are read leads to another search next time. */
	uint64		invalidation = invalidations;
	RegProcedure procedure = look_up_hash_function(&method->key);
	FmgrInfo   *function = method->current;

	if (!OidIsValid(procedure))
		function = NULL;
	else if (function == NULL || function->fn_oid != procedure)
	{
		function = MemoryContextAlloc(CacheMemoryContext, sizeof(FmgrInfo));
		fmgr_info_cxt(procedure, function, CacheMemoryContext);
	}
	if (method->invalidation > 0 && function != method->current)
		methods_changed++;
	method->current = function;
	method->invalidation = invalidation;
}

/* Reads catalogs unless the function is known. */
FmgrInfo *
sware_hash_function(Relation index, int column)
{
	HashKey		key = {
		.family = index->rd_opfamily[column],
		.inputType = index->rd_opcintype[column],
		.columnType = TupleDescAttr(RelationGetDescr(index), column)->atttypid,
	};
	HashMethod *method;
	bool		found;

	if (!sware_may_wait(index))
		return NULL;
	if (hash_methods == NULL)
	{
		HASHCTL		control = {.keysize = sizeof(HashKey),
		.entrysize = sizeof(HashMethod)};

		hash_methods = hash_create("sware hash functions", 16, &control,
								   HASH_ELEM | HASH_BLOBS);
		CacheRegisterSyscacheCallback(AMOPOPID, forget_hash_methods, (Datum) 0);
		CacheRegisterSyscacheCallback(AMPROCNUM, forget_hash_methods,
									  (Datum) 0);
		CacheRegisterSyscacheCallback(TYPEOID, forget_hash_methods, (Datum) 0);
	}
	method = hash_search(hash_methods, &key, HASH_ENTER, &found);
	if (!found)
	{
		method->invalidation = 0;
		method->current = NULL;
	}
	if (unlikely(method->invalidation != invalidations))
		find_hash_method(method);
	return method->current;
}

/* Are texts equal in a collation only if all their bytes are? */
static bool
is_deterministic(Oid collation)
{
	pg_locale_t locale;

	if (!OidIsValid(collation))
		return false;
	locale = pg_newlocale_from_collation(collation);
	return locale == NULL || locale->deterministic;
}

uint64
sware_hash_methods(void)
{
	return methods_changed;
}

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

/* The hash of the bytes of a uuid or a varlena. */
static uint64
hash_of_bytes(SwareComparison comparison, Datum value)
{
	SwareBytes	bytes = sware_bytes_of(comparison, value);
	struct varlena *plain;
	uint64		hash;

	if (likely(bytes.data != NULL))
		return hash_bytes_extended((const unsigned char *) bytes.data,
								   bytes.size, 0);

	/* who hashes many values may keep the memory context */
	plain = detoast_attr((struct varlena *) DatumGetPointer(value));
	hash = hash_of_bytes(comparison, PointerGetDatum(plain));
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
	if (sware_is_bytes(comparison) ||
		(order->fn_oid == F_BTTEXTCMP && is_deterministic(collation)))
		return hash_of_bytes(comparison, value);
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
