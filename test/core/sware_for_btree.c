/*-------------------------------------------------------------------------
 *
 * sware_for_btree.c
 *	  Makes sware indexes where commands ask for btree ones.
 *
 * With sware_for_btree.enabled, each CREATE INDEX that asks for btree, by name
 * or by naming no access method, makes a sware index.  This way PostgreSQL's
 * own tests meet sware without a change in their text.  What core reserves for
 * nbtree stays as it is: see is_reserved().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "../lib/testcompat.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static bool enabled = false;
static char *unique_stays = NULL;
static ProcessUtility_hook_type next_process_utility = NULL;

/*
 * Whether unique indexes of this session's test stay with btree.  The test
 * programs name the test behind the last slash of application_name, and an
 * isolation test's sessions behind the first.
 */
static bool
unique_indexes_stay(void)
{
	char	   *list;
	char	   *rest;
	char	   *item;
	const char *test = strchr(application_name, '/');
	bool		stay = false;

	/* "*" holds for all sessions, also those without a test */
	test = test ? test + 1 : "";
	list = pstrdup(unique_stays);
	for (item = strtok_r(list, ", ", &rest); item; item = strtok_r(NULL, ", ", &rest))
	{
		size_t		length = strlen(item);

		if (strcmp(item, "*") == 0 ||
			(strncmp(item, test, length) == 0 &&
			 (test[length] == '\0' || test[length] == '/')))
			stay = true;
	}
	pfree(list);
	return stay;
}

/* Whether core accepts nothing but nbtree for an index. */
static bool
is_reserved(IndexStmt *statement)
{
	Oid			table;

	if (statement->primary || statement->isconstraint)
		return true;
	if (!statement->unique)
		return false;
	if (unique_indexes_stay())
		return true;
#ifdef SWARE_UNIQUE_PARTITIONS_NEED_BTREE
	/* core finds the operator that the partition key needs for btree only */
	table = RangeVarGetRelid(statement->relation, NoLock, true);
	if (OidIsValid(table) &&
		get_rel_relkind(table) == RELKIND_PARTITIONED_TABLE)
		return true;
#else
	(void) table;
#endif
	return false;
}

/* Whether sware has the operator classes that are asked for by name. */
static bool
has_operator_classes(IndexStmt *statement, Oid accessMethod)
{
	ListCell   *cell;

	foreach(cell, statement->indexParams)
	{
		IndexElem  *element = lfirst_node(IndexElem, cell);

		if (element->opclass != NIL &&
			!OidIsValid(get_opclass_oid(accessMethod, element->opclass, true)))
			return false;
	}
	return true;
}

static void
process_utility(PlannedStmt *plan, const char *queryString, bool readOnlyTree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *queryEnvironment, DestReceiver *dest,
				QueryCompletion *completion)
{
	if (enabled && IsA(plan->utilityStmt, IndexStmt))
	{
		IndexStmt  *statement = castNode(IndexStmt, plan->utilityStmt);
		Oid			accessMethod = get_index_am_oid("sware", true);

		if (OidIsValid(accessMethod) && statement->accessMethod != NULL &&
			strcmp(statement->accessMethod, "btree") == 0 &&
			!is_reserved(statement) &&
			has_operator_classes(statement, accessMethod))
		{
			/* the statement may belong to a cached plan */
			plan = copyObject(plan);
			castNode(IndexStmt, plan->utilityStmt)->accessMethod = "sware";
		}
	}

	(next_process_utility ?
	 next_process_utility :
	 standard_ProcessUtility) (plan, queryString, readOnlyTree, context,
							   params, queryEnvironment, dest, completion);
}

void
_PG_init(void)
{
	DefineCustomBoolVariable(
							 "sware_for_btree.enabled",
							 "Makes sware indexes where commands ask for btree ones.", NULL,
							 &enabled, false, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("sware_for_btree.unique_stays",
							   "Lists tests whose unique indexes stay with btree.",
							   NULL, &unique_stays, "", PGC_SUSET, 0, NULL, NULL, NULL);
	next_process_utility = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
