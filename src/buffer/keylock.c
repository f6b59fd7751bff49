/*-------------------------------------------------------------------------
 *
 * keylock.c
 *	  Fingerprints of the keys of a unique index, and locks on keys.  See
 *	  keylock.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/hash.h"
#include "access/nbtree.h"
#include "access/stratnum.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "parser/parse_coerce.h"
#include "storage/lmgr.h"
#include "utils/catcache.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "buffer/keylock.h"
#include "tree/tree.h"

/* The key locks of an index are those of pages below the flush lock's. */
#define FIRST_KEY_LOCK_PAGE		(MaxBlockNumber - SWARE_KEY_STRIPES)

/* what a null, and a value that cannot be hashed, add to a fingerprint */
#define HASH_OF_NULL			UINT64CONST(0x9AE16A3B2F90404F)
#define HASH_OF_ANYTHING		UINT64CONST(0xC949C7DEFEBF6CA7)

/* how the values of a column are hashed, if they are; remembered by the backend */
typedef struct HashKey
{
	Oid			family;
	Oid			inputType;
	Oid			columnType;
} HashKey;

typedef struct HashMethod
{
	HashKey		key;
	bool		isValid;		/* catalogs have not changed since */
	RegProcedure procedure;		/* InvalidOid if there is none */
	FmgrInfo	function;
} HashMethod;

static HTAB *hash_methods = NULL;

/* how often another function than before has been found for a column */
static uint64 methods_changed = 0;

static void
forget_hash_methods(Datum argument, int cache, uint32 hash)
{
	HASH_SEQ_STATUS status;
	HashMethod *method;

	hash_seq_init(&status, hash_methods);
	while ((method = hash_seq_search(&status)) != NULL)
		method->isValid = false;
}

/*
 * The extended function of a hash operator family that an operator is the
 * equality of; InvalidOid if there is none.
 */
static RegProcedure
extended_hash_function(Oid equality)
{
	CatCList   *members = SearchSysCacheList1(AMOPOPID, ObjectIdGetDatum(equality));
	RegProcedure function = InvalidOid;

	for (int i = 0; i < members->n_members && !OidIsValid(function); i++)
	{
		Form_pg_amop member = (Form_pg_amop) GETSTRUCT(&members->members[i]->tuple);

		if (member->amopmethod == HASH_AM_OID &&
			member->amopstrategy == HTEqualStrategyNumber &&
			member->amoplefttype == member->amoprighttype)
			function = get_opfamily_proc(member->amopfamily, member->amoplefttype,
										 member->amoplefttype, HASHEXTENDED_PROC);
	}
	ReleaseSysCacheList(members);
	return function;
}

/*
 * The function that goes with the equality of an operator class; InvalidOid if
 * there is none.
 */
static RegProcedure
look_up_hash_function(const HashKey *key)
{
	Oid			equality = get_opfamily_member(key->family, key->inputType,
											   key->inputType, BTEqualStrategyNumber);

	if (!OidIsValid(equality))
		return InvalidOid;

	/* containers rely on hash functions of what they contain, if they exist */
	if ((IsPolymorphicType(key->inputType) || key->inputType == RECORDOID) &&
		!OidIsValid(lookup_type_cache(key->columnType,
									  TYPECACHE_HASH_EXTENDED_PROC)->hash_extended_proc))
		return InvalidOid;
	return extended_hash_function(equality);
}

/* How a column (from 0 on) is hashed; looked up unless it is known. */
static HashMethod *
find_hash_method(Relation index, int column)
{
	HashKey		key = {
		.family = index->rd_opfamily[column],
		.inputType = index->rd_opcintype[column],
		.columnType = TupleDescAttr(RelationGetDescr(index), column)->atttypid,
	};
	HashMethod *method;
	RegProcedure function;

	if (hash_methods == NULL)
	{
		HASHCTL		control = {.keysize = sizeof(HashKey),.entrysize = sizeof(HashMethod)};

		hash_methods = hash_create("sware key hash functions", 16, &control,
								   HASH_ELEM | HASH_BLOBS);
		CacheRegisterSyscacheCallback(AMOPOPID, forget_hash_methods, (Datum) 0);
		CacheRegisterSyscacheCallback(AMPROCNUM, forget_hash_methods, (Datum) 0);
		CacheRegisterSyscacheCallback(TYPEOID, forget_hash_methods, (Datum) 0);
	}
	method = hash_search(hash_methods, &key, HASH_FIND, NULL);
	if (method != NULL && method->isValid)
		return method;

	/* whatever fails here leaves no entry behind */
	function = look_up_hash_function(&key);
	if (method == NULL)
	{
		method = hash_search(hash_methods, &key, HASH_ENTER, NULL);
		method->isValid = false;
		method->procedure = function;
	}
	if (method->procedure != function)
		methods_changed++;
	method->procedure = function;
	if (OidIsValid(function))
		fmgr_info_cxt(function, &method->function, CacheMemoryContext);
	method->isValid = true;
	return method;
}

uint64
sware_hash_methods(void)
{
	return methods_changed;
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
			HashMethod *method = find_hash_method(index, i);

			if (OidIsValid(method->procedure))
				hash = DatumGetUInt64(FunctionCall2Coll(&method->function,
														index->rd_indcollation[i],
														values[i], UInt64GetDatum(0)));
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
