/*-------------------------------------------------------------------------
 *
 * utility.c
 *	  The hook that gives keys of statements sware indexes.
 *
 * It sees a statement before the server does, and hands a changed copy on if
 * there is something to change.  The server makes the table of a CREATE TABLE
 * first, and then its indexes, each by a statement that comes back here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "commands/tablecmds.h"
#include "nodes/plannodes.h"
#include "tcop/utility.h"
#include "utils/lsyscache.h"

#include "constraints/constraints.h"
#include "base/compat.h"

/* the hook that was installed before, or the server's own function */
static ProcessUtility_hook_type next_process_utility;

/* Let the keys of a statement that ask for sware have it. */
static void
grant_requests(Node *command)
{
	ListCell   *cell;

	foreach(cell, sware_keys_of_statement(command))
	{
		SwareKey   *key = lfirst(cell);

		if (sware_request_key(key))
			key->constraint->access_method = pstrdup(SWARE_ACCESS_METHOD);
	}
}

/* Let keys that an ALTER TABLE adds have sware if that is wished for. */
static void
grant_wishes(AlterTableStmt *alter, Oid table)
{
	ListCell   *cell;

	if (!sware_wishes_count())
		return;
	foreach(cell, sware_keys_of_statement((Node *) alter))
	{
		SwareKey   *key = lfirst(cell);

		if (sware_wish_key(key, alter, table))
		{
			key->constraint->access_method = pstrdup(SWARE_ACCESS_METHOD);
			key->constraint->options =
				sware_add_option(key->constraint->options);
		}
	}
}

/* Has a statement a key that asks for sware? */
static bool
has_requests(const Node *command)
{
	ListCell   *cell;

	foreach(cell, sware_keys_of_statement(command))
	{
		if (sware_request_key(lfirst(cell)))
			return true;
	}
	return false;
}

/*
 * Does what is to be done with an ALTER TABLE depend on its table?  The tables
 * of statements without such parts are not even locked here.
 */
static bool
depends_on_table(const AlterTableStmt *alter)
{
	ListCell   *cell;

	if (alter->objtype != OBJECT_TABLE || !sware_is_installed())
		return false;
	foreach(cell, sware_keys_of_statement((const Node *) alter))
	{
		SwareKey   *key = lfirst(cell);

		if (key->constraint->indexname || sware_wishes_count())
			return true;
	}
	foreach(cell, alter->cmds)
	{
		AlterTableCmd *part = lfirst_node(AlterTableCmd, cell);

		if (part->subtype == AT_AttachPartition || sware_rebuilds_keys(part))
			return true;
	}
	return false;
}

/*
 * Do what depends on the table in an ALTER TABLE, which is a copy.  The table
 * gets the lock that the server would take next, and its owner is checked; so
 * what is seen here stays so.
 */
static void
prepare_for_table(AlterTableStmt *alter, const char *query_string)
{
	LOCKMODE	lockmode = AlterTableGetLockLevel(alter->cmds);
	Oid			table = AlterTableLookupRelation(alter, lockmode);

	/* IF EXISTS: it does not */
	if (!OidIsValid(table))
		return;
	/* The name means this table to the server, whatever others create now. */
	alter->relation->schemaname =
		get_namespace_name_or_temp(get_rel_namespace(table));
	grant_wishes(alter, table);
	sware_prepare_column_changes(alter, table, lockmode);
	sware_note_attached_keys(alter, table);
	sware_use_indexes(alter, table, query_string);
}

/* Will the server execute a statement that writes now? */
static bool
may_write(void)
{
	return !XactReadOnly && !IsInParallelMode() && !RecoveryInProgress();
}

/* Returns a statement, or a changed copy of it, for the server to execute. */
static PlannedStmt *
prepare(PlannedStmt *statement, const char *query_string,
		ProcessUtilityContext context)
{
	Node	   *command = statement->utilityStmt;

	if (IsA(command, CreateStmt) || IsA(command, AlterTableStmt))
	{
		bool		asks = has_requests(command);
		bool		depends = IsA(command, AlterTableStmt) && may_write() &&
			depends_on_table((AlterTableStmt *) command);

		if (asks || depends)
			statement = copyObject(statement);
		if (asks)
			grant_requests(statement->utilityStmt);
		if (depends)
			prepare_for_table((AlterTableStmt *) statement->utilityStmt,
							  query_string);
	}
	else if (IsA(command, IndexStmt) && context == PROCESS_UTILITY_SUBCOMMAND &&
			 sware_wishes_count() && sware_wish_index((IndexStmt *) command))
	{
		IndexStmt  *index;

		statement = copyObject(statement);
		index = (IndexStmt *) statement->utilityStmt;
		index->accessMethod = pstrdup(SWARE_ACCESS_METHOD);
		index->options = sware_add_option(index->options);
	}
	return statement;
}

static void
process_utility(PlannedStmt *statement, const char *query_string,
				bool read_only_tree, ProcessUtilityContext context,
				ParamListInfo parameters, QueryEnvironment *environment,
				DestReceiver *destination, QueryCompletion *completion)
{
	PlannedStmt *prepared = prepare(statement, query_string, context);

	next_process_utility(prepared, query_string,
						 read_only_tree && prepared == statement, context,
						 parameters, environment, destination, completion);
}

/* Install the hook.  Called once, when the library is loaded. */
void
sware_install_utility_hook(void)
{
	next_process_utility = ProcessUtility_hook ? ProcessUtility_hook :
		standard_ProcessUtility;
	ProcessUtility_hook = process_utility;
}
