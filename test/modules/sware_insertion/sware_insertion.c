/*-------------------------------------------------------------------------
 *
 * sware_insertion.c
 *	  Inserts rows into an index with any kind of check, for tests.
 *
 * The server asks for some of them only on behalf of constraints, which are
 * reserved for nbtree.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(sware_insert_row);

static IndexUniqueCheck
check_of_name(const char *name)
{
	if (strcmp(name, "no") == 0)
		return UNIQUE_CHECK_NO;
	if (strcmp(name, "yes") == 0)
		return UNIQUE_CHECK_YES;
	if (strcmp(name, "partial") == 0)
		return UNIQUE_CHECK_PARTIAL;
	if (strcmp(name, "existing") == 0)
		return UNIQUE_CHECK_EXISTING;
	elog(ERROR, "there is no check \"%s\"", name);
}

Datum
sware_insert_row(PG_FUNCTION_ARGS)
{
	Oid			index_oid = PG_GETARG_OID(0);
	ItemPointer tid = (ItemPointer) PG_GETARG_POINTER(1);
	IndexUniqueCheck check =
		check_of_name(text_to_cstring(PG_GETARG_TEXT_PP(2)));
	Relation	heap =
		table_open(IndexGetRelation(index_oid, false), RowExclusiveLock);
	Relation	index = index_open(index_oid, RowExclusiveLock);
	IndexInfo  *info = BuildIndexInfo(index);
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	EState	   *estate = CreateExecutorState();
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	bool		is_unique;

	if (!table_tuple_fetch_row_version(heap, tid, SnapshotAny, slot))
		elog(ERROR, "there is no row");
	GetPerTupleExprContext(estate)->ecxt_scantuple = slot;
	FormIndexDatum(info, slot, estate, values, isnull);
	is_unique =
		index_insert(index, values, isnull, tid, heap, check, false, info);

	FreeExecutorState(estate);
	ExecDropSingleTupleTableSlot(slot);
	index_close(index, NoLock);
	table_close(heap, NoLock);
	PG_RETURN_BOOL(is_unique);
}
