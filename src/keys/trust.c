/*-------------------------------------------------------------------------
 *
 * trust.c
 *	  May the entries of an index wait, so that they are compared later?
 *
 * An entry that waits, in private memory or in the buffer, is compared by a
 * COMMIT or by whoever flushes, and not in the INSERT.  Nobody can notice that
 * if no comparison can fail, and none executes code of anybody but a superuser.
 * A function is *trusted* if it is written in C, or built in, and belongs to a
 * superuser.  Entries of all other indexes are stored in the tree at once
 * (docs/architecture.md).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_language_d.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "base/faultpoint.h"
#include "keys/entry.h"
#include "pages/cache.h"

bool
sware_is_trusted(Oid function)
{
	HeapTuple	tuple;
	Form_pg_proc form;
	bool		result;

	if (SWARE_FAULT_SETTING(trust))
		return true;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	result = (form->prolang == INTERNALlanguageId ||
			  form->prolang == ClanguageId) &&
		superuser_arg(form->proowner);
	ReleaseSysCache(tuple);
	return result;
}

/*
 * May values of a type be elements of arrays and ranges?  The functions that
 * compare these look the elements' function up by their type, and raise an
 * error if there is none.  So only built-in scalar types may.
 */
static bool
is_sound_element(Oid type)
{
	Oid			compare =
		lookup_type_cache(type, TYPECACHE_CMP_PROC)->cmp_proc;

	return type < FirstNormalObjectId && get_typtype(type) == TYPTYPE_BASE &&
		!OidIsValid(get_element_type(type)) &&
		OidIsValid(compare) && sware_is_trusted(compare);
}

/* Does a range type order its elements by a function that is trusted? */
static bool
is_sound_range(TypeCacheEntry *range)
{
	return is_sound_element(range->rngelemtype->type_id) &&
		sware_is_trusted(range->rng_cmp_proc_finfo.fn_oid);
}

/*
 * Do values of a type contain nothing whose comparison may fail, or executes
 * functions that are not trusted?  Records may contain anything.
 */
static bool
is_sound_type(Oid type)
{
	Oid			base = getBaseType(type);
	Oid			element = get_element_type(base);

	if (OidIsValid(element))
		return is_sound_element(element);
	switch (get_typtype(base))
	{
		case TYPTYPE_BASE:
		case TYPTYPE_ENUM:
			return true;
		case TYPTYPE_RANGE:
			return is_sound_range(lookup_type_cache(base,
													TYPECACHE_RANGE_INFO));
		case TYPTYPE_MULTIRANGE:
			return is_sound_range(lookup_type_cache(base,
													TYPECACHE_MULTIRANGE_INFO)
								  ->rngtype);
		default:
			return false;
	}
}

/* Are all support functions of a key column (from 0 on) trusted? */
static bool
has_trusted_functions(Relation index, int column)
{
	for (int i = 1; i <= index->rd_indam->amsupport; i++)
	{
		RegProcedure function = index_getprocid(index, column + 1, i);

		if (RegProcedureIsValid(function) && !sware_is_trusted(function))
			return false;
	}
	return true;
}

/* The type that the functions of a key column (from 0 on) get. */
static Oid
compared_type(Relation index, int column)
{
	Oid			type = index->rd_opcintype[column];

	return IsPolymorphicType(type) ?
		TupleDescAttr(RelationGetDescr(index), column)->atttypid : type;
}

bool
sware_keys_may_wait(Relation index)
{
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		if (!has_trusted_functions(index, i) ||
			!is_sound_type(compared_type(index, i)))
			return false;
	}
	return true;
}

bool
sware_may_wait(Relation index)
{
	SwareWaiting waiting = sware_cache(index)->waiting;

	if (unlikely(waiting == SWARE_WAITING_IS_UNKNOWN))
	{
		waiting = sware_keys_may_wait(index) ?
			SWARE_MAY_WAIT : SWARE_MAY_NOT_WAIT;
		sware_cache(index)->waiting = waiting;
	}
	return waiting == SWARE_MAY_WAIT;
}
