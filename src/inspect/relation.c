/*-------------------------------------------------------------------------
 *
 * relation.c
 *	  Is a relation one that can be inspected?
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "commands/defrem.h"

#include "inspect/relation.h"

/* Is it an index of this access method, and one with pages? */
bool
sware_is_sware_index(Relation relation)
{
	return relation->rd_rel->relkind == RELKIND_INDEX &&
		relation->rd_rel->relam == get_index_am_oid("sware", true);
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
