/*-------------------------------------------------------------------------
 *
 * hashfunction.c
 *	  Which functions hash the values of an index's columns.  See
 *	  hashfunction.h.
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
#include "parser/parse_coerce.h"
#include "utils/catcache.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "buffer/hashfunction.h"

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

		hash_methods = hash_create("sware hash functions", 16, &control,
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

FmgrInfo *
sware_hash_function(Relation index, int column)
{
	HashMethod *method = find_hash_method(index, column);

	return OidIsValid(method->procedure) ? &method->function : NULL;
}

uint64
sware_hash_methods(void)
{
	return methods_changed;
}
