/*-------------------------------------------------------------------------
 *
 * opclass.c
 *	  Validation of operator classes.
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
 * Does an operator class store values of its input type, so that its operators
 * and functions can take them?  The server does not check that, since the
 * handler sets amstorage, for one class only: type name is stored as cstring,
 * which saves its padding.
 */
static bool
has_valid_storage(Form_pg_opclass opclass)
{
	if (!OidIsValid(opclass->opckeytype) ||
		opclass->opckeytype == opclass->opcintype ||
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

/* Strategies and support functions are btree's. */
bool
sware_validate(Oid opclass_oid)
{
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass_oid));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclass_oid);
	result = has_valid_storage((Form_pg_opclass) GETSTRUCT(tuple));
	ReleaseSysCache(tuple);

	/* both report everything that is wrong */
	return btvalidate(opclass_oid) && result;
}
