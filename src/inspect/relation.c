/*-------------------------------------------------------------------------
 *
 * relation.c
 *	  Opening the relations that functions look into.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "compat.h"
#include "inspect/relation.h"

/* Is it an index of this access method, and one with pages? */
bool
sware_is_sware_index(Relation relation)
{
	return relation->rd_rel->relkind == RELKIND_INDEX &&
		relation->rd_rel->relam == get_index_am_oid("sware", true);
}

/* Raise an error if a relation is none. */
void
sware_require_sware_index(Relation relation)
{
	if (!sware_is_sware_index(relation))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a sware index", RelationGetRelationName(relation))));
}

/*
 * Raise an error if a relation is a temporary one of another session, whose
 * pages are in that session's memory.
 */
void
sware_refuse_other_temp(Relation relation)
{
	if (RELATION_IS_OTHER_TEMP(relation))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions"),
				 errdetail("Index \"%s\" belongs to a temporary table.",
						   RelationGetRelationName(relation))));
}

/*
 * Open and lock an index and its table, and become the table's owner:
 * comparators and the expressions of the index are run as that user.
 */
void
sware_open_target(SwareTarget *target, Oid index_oid, LOCKMODE lockmode)
{
	Oid			heap_oid;

	/* the table first, as everybody does; index_open complains if it is none */
	heap_oid = IndexGetRelation(index_oid, true);
	target->lockmode = lockmode;
	target->heap = NULL;
	if (OidIsValid(heap_oid))
	{
		target->heap = table_open(heap_oid, lockmode);
		GetUserIdAndSecContext(&target->savedUser, &target->savedSecurityContext);
		SetUserIdAndSecContext(target->heap->rd_rel->relowner,
							   target->savedSecurityContext | SECURITY_RESTRICTED_OPERATION);
		target->gucLevel = NewGUCNestLevel();
		sware_restrict_search_path();
	}
	target->index = index_open(index_oid, lockmode);

	/* it may have been dropped, and its OID used again, before it was locked */
	if (target->heap == NULL || heap_oid != IndexGetRelation(index_oid, false))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("could not open parent table of index \"%s\"",
						RelationGetRelationName(target->index))));
}

/* Become oneself again, and close what was opened. */
void
sware_close_target(SwareTarget *target)
{
	AtEOXact_GUC(false, target->gucLevel);
	SetUserIdAndSecContext(target->savedUser, target->savedSecurityContext);
	index_close(target->index, target->lockmode);
	table_close(target->heap, target->lockmode);
}
