/*-------------------------------------------------------------------------
 *
 * relation.c
 *	  Opening the index and the table that an SQL function looks into, and
 *	  returning what it has found.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/compat.h"
#include "inspect/inspect.h"

/*
 * Raise an error if a relation is not an index of this access method, or has no
 * pages that could be read here: a partitioned index has none, and those of
 * another session's temporary one are in its memory.
 */
void
sware_require_sware_index(Relation relation)
{
	const char *name = RelationGetRelationName(relation);

	if (relation->rd_rel->relam != get_index_am_oid("sware", true))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a sware index", name)));
	if (relation->rd_rel->relkind == RELKIND_PARTITIONED_INDEX)
	{
		Oid			schema = RelationGetNamespace(relation);

		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a partitioned index", name),
				 errdetail("A partitioned index has no pages of its own."),
				 errhint("Call the function for the index of each partition. "
						 "To list them: "
						 "SELECT relid FROM pg_partition_tree(%s) WHERE isleaf;",
						 quote_literal_cstr(quote_qualified_identifier(
																	   get_namespace_name(schema), name)))));
	}
	if (RELATION_IS_OTHER_TEMP(relation))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions"),
				 errdetail("Index \"%s\" belongs to a temporary table.", name)));
}

/*
 * Open and lock an index and its table, and become the table's owner, so that
 * comparators and the expressions of the index are evaluated as that user.
 * Raises an error if the relation is not an index.
 */
void
sware_open_target(SwareTarget *target, Oid index_oid, LOCKMODE lockmode)
{
	Oid			heap_oid;

	/*
	 * Lock the table first, as all commands do.  If the relation is not an
	 * index, index_open raises an error.
	 */
	heap_oid = IndexGetRelation(index_oid, true);
	target->lockmode = lockmode;
	target->heap = NULL;
	if (OidIsValid(heap_oid))
	{
		target->heap = table_open(heap_oid, lockmode);
		sware_become_owner(target->heap, &target->caller);
	}
	target->index = index_open(index_oid, lockmode);

	/* the index may have been dropped, and its OID reused, before the lock */
	if (target->heap == NULL || heap_oid != IndexGetRelation(index_oid, false))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("could not open parent table of index \"%s\"",
						RelationGetRelationName(target->index))));
}

/* Become the calling user again, and close and unlock index and table. */
void
sware_close_target(SwareTarget *target)
{
	sware_become_again(&target->caller);
	index_close(target->index, target->lockmode);
	table_close(target->heap, target->lockmode);
}

Datum
sware_row_datum(FunctionCallInfo fcinfo, SwareRow *row)
{
	TupleDesc	descriptor;

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	while (row->count < descriptor->natts)
		sware_add_known(row, false, (Datum) 0);
	Assert(row->count == descriptor->natts);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor),
											 row->values, row->nulls));
}
