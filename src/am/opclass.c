/*-------------------------------------------------------------------------
 *
 * opclass.c
 *	  Are operator classes fit for the access method?
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "am/callbacks.h"

/*
 * Is the type stored one whose values the class's operators and functions can
 * take?  The handler allows others, because of name, which is stored as cstring
 * to save its padding.
 */
static bool
has_valid_storage(Form_pg_opclass opclass)
{
	if (!OidIsValid(opclass->opckeytype) || opclass->opckeytype == opclass->opcintype ||
		(opclass->opcintype == NAMEOID && opclass->opckeytype == CSTRINGOID))
		return true;

	ereport(INFO,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("operator class \"%s\" of access method %s stores type %s, not its input type %s",
					NameStr(opclass->opcname), "sware",
					format_type_be(opclass->opckeytype),
					format_type_be(opclass->opcintype))));
	return false;
}

/*
 * The amvalidate callback.  Strategies and support functions are btree's.
 */
bool
sware_validate(Oid opclass_oid)
{
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass_oid));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclass_oid);
	result = has_valid_storage((Form_pg_opclass) GETSTRUCT(tuple));
	ReleaseSysCache(tuple);

	/* both tell all that is wrong */
	return btvalidate(opclass_oid) && result;
}
