/*-------------------------------------------------------------------------
 *
 * sware_files.c
 *	  Exchanges, copies and drops files as C code of other extensions does, for
 *	  tests: no utility command tells that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/heap.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "commands/tablecmds.h"
#include "fmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(sware_exchange_files);
PG_FUNCTION_INFO_V1(sware_drop);
PG_FUNCTION_INFO_V1(sware_move);
PG_FUNCTION_INFO_V1(sware_truncate_in_place);

/*
 * Lock a relation, and the table if it is an index; return a copy of its tuple
 * of pg_class.
 */
static HeapTuple
copy_of(Oid relation)
{
	Oid			table = IndexGetRelation(relation, true);
	HeapTuple	result;

	if (OidIsValid(table))
		LockRelationOid(table, AccessExclusiveLock);
	LockRelationOid(relation, AccessExclusiveLock);
	result = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(relation));
	if (!HeapTupleIsValid(result))
		elog(ERROR, "there is no relation %u", relation);
	return result;
}

Datum
sware_exchange_files(PG_FUNCTION_ARGS)
{
	HeapTuple	one = copy_of(PG_GETARG_OID(0));
	HeapTuple	other = copy_of(PG_GETARG_OID(1));
	Form_pg_class form_one = (Form_pg_class) GETSTRUCT(one);
	Form_pg_class form_other = (Form_pg_class) GETSTRUCT(other);
	FormData_pg_class saved = *form_one;
	Relation	pg_class = table_open(RelationRelationId, RowExclusiveLock);

	form_one->relfilenode = form_other->relfilenode;
	form_one->reltablespace = form_other->reltablespace;
	form_other->relfilenode = saved.relfilenode;
	form_other->reltablespace = saved.reltablespace;
	CatalogTupleUpdate(pg_class, &one->t_self, one);
	CatalogTupleUpdate(pg_class, &other->t_self, other);
	table_close(pg_class, RowExclusiveLock);
	if (PG_GETARG_BOOL(2))
		CommandCounterIncrement();
	PG_RETURN_VOID();
}

Datum
sware_drop(PG_FUNCTION_ARGS)
{
	ObjectAddress object;

	ObjectAddressSet(object, RelationRelationId, PG_GETARG_OID(0));
	performDeletion(&object, DROP_CASCADE, PERFORM_DELETION_INTERNAL);
	CommandCounterIncrement();
	PG_RETURN_VOID();
}

Datum
sware_move(PG_FUNCTION_ARGS)
{
	AlterTableCmd *command = makeNode(AlterTableCmd);

	command->subtype = AT_SetTableSpace;
	command->name = text_to_cstring(PG_GETARG_TEXT_PP(1));
	AlterTableInternal(PG_GETARG_OID(0), list_make1(command), false);
	CommandCounterIncrement();
	PG_RETURN_VOID();
}

Datum
sware_truncate_in_place(PG_FUNCTION_ARGS)
{
	heap_truncate(list_make1_oid(PG_GETARG_OID(0)));
	PG_RETURN_VOID();
}
