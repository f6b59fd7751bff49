/*-------------------------------------------------------------------------
 *
 * hooks.c
 *	  Callbacks and hooks through which the server reports the ends of
 *	  (sub)transactions, statements, and utility commands.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "catalog/pg_inherits.h"
#include "commands/dbcommands.h"
#include "executor/executor.h"
#include "nodes/plannodes.h"
#include "tcop/pquery.h"
#include "tcop/utility.h"
#include "utils/lsyscache.h"

#include "constraints/constraints.h"
#include "locks/changes.h"
#include "takenkeys/keylock.h"
#include "records/recordcache.h"
#include "shared/statistics.h"
#include "staging/staging.h"
#include "zones/zones.h"
#include "base/compat.h"

/* what sware_statement is while no statement is in progress */
static const SwareStatement no_statement = {
	.earliestCommand = InvalidCommandId
};

/* the hooks that were installed before, or the server's own functions */
static ExecutorRun_hook_type next_executor_run;
static ExecutorFinish_hook_type next_executor_finish;
static ProcessUtility_hook_type next_process_utility;

/* Parallel workers, of which no event here tells, never stage. */
static void
transaction_event(XactEvent event, void *argument)
{
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE)
		sware_staging_transaction_prepares_to_end();
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_PREPARE &&
		event != XACT_EVENT_ABORT)
		return;

	/* whoever catches an error unlocks the key, but a session may end */
	if (event == XACT_EVENT_ABORT)
		sware_release_key_lock();
	sware_forget_changes(TopSubTransactionId);
	sware_staging_transaction_ends();
	sware_uses_foreign_tables = false;

	/* no hook saw the end of a statement that had loaded the library */
	sware_statement = no_statement;
	sware_statistics_transaction_ends();
}

static void
subtransaction_event(SubXactEvent event, SubTransactionId child,
					 SubTransactionId parent, void *argument)
{
	if (event == SUBXACT_EVENT_COMMIT_SUB)
		sware_staging_subtransaction_ends(child, parent);
	else if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		sware_forget_changes(child);
		sware_staging_subtransaction_ends(child, InvalidSubTransactionId);
	}
}

/*
 * What does the root of a plan, or of a subplan, say about the statement?
 * `writes` tells whether the plan may modify tables.
 */
static SwareStatementKind
kind_of_plan(Plan *plan, bool writes)
{
	if (plan == NULL || !writes)
		return SWARE_STATEMENT_STAGES;
	if (IsA(plan, ModifyTable))
		return ((ModifyTable *) plan)->onConflictAction == ONCONFLICT_NONE ?
			SWARE_STATEMENT_STAGES : SWARE_STATEMENT_SPECULATES;

	/* Some extensions put a node of their own around ModifyTable. */
	return IsA(plan, CustomScan) ? SWARE_STATEMENT_UNKNOWN :
		SWARE_STATEMENT_STAGES;
}

/*
 * May the entries of a statement be staged?  Those of ON CONFLICT may not: its
 * tuples may be killed, and vacuumed, before the transaction ends.
 * Data-modifying CTEs are subplans, so these are examined, too.
 */
static SwareStatementKind
kind_of_statement(PlannedStmt *statement)
{
	SwareStatementKind kind =
		kind_of_plan(statement->planTree,
					 statement->commandType != CMD_SELECT);
	ListCell   *cell;

	foreach(cell, statement->subplans)
	{
		SwareStatementKind other = kind_of_plan((Plan *) lfirst(cell),
												statement->hasModifyingCTE);

		if (kind == SWARE_STATEMENT_STAGES ||
			other == SWARE_STATEMENT_SPECULATES)
			kind = other;
	}
	return kind;
}

bool
sware_statement_is_small(void)
{
	const QueryDesc *query = sware_statement.query;
	Plan	   *plan;

	if (query == NULL || sware_statement.level != SWARE_NO_STATEMENT + 1 ||
		query->operation == CMD_SELECT ||
		query->estate->es_output_cid != FirstCommandId || IsTransactionBlock())
		return false;
	plan = query->plannedstmt->planTree;
	return IsA(plan, ModifyTable) && outerPlan(plan)->plan_rows <= 1;
}

/*
 * Note that a statement begins, perhaps within one that is in progress.  The
 * rows that it inserts will have the command id `command`, or a later one.
 * `query` is NULL if it has no plan, or none that is known.
 */
static void
begin_statement(SwareStatementKind kind, CommandId command, QueryDesc *query)
{
	sware_statement.kind = kind;
	sware_statement.query = query;
	sware_statement.level++;
	sware_statement.earliestCommand =
		Min(sware_statement.earliestCommand, command);
}

/* Note that a statement uses foreign tables, if it names one. */
static inline void
look_for_foreign_tables(const QueryDesc *query)
{
	ListCell   *cell;

	foreach(cell, query->plannedstmt->rtable)
	{
		if (unlikely(lfirst_node(RangeTblEntry, cell)->relkind ==
					 RELKIND_FOREIGN_TABLE))
			sware_uses_foreign_tables = true;
	}
}

/* The same if a statement has sent rows to partitions that are such tables. */
static inline void
look_for_foreign_partitions(const QueryDesc *query)
{
	ListCell   *cell;

	foreach(cell, query->estate->es_tuple_routing_result_relations)
	{
		if (lfirst_node(ResultRelInfo, cell)->ri_FdwRoutine)
			sware_uses_foreign_tables = true;
	}
}

/* Is the target of COPY FROM a foreign table, or has it some as partitions? */
static bool
copies_to_foreign_table(const CopyStmt *copy)
{
	Oid			target;
	ListCell   *cell;

	if (!copy->is_from || copy->relation == NULL)
		return false;
	target = RangeVarGetRelid(copy->relation, NoLock, true);
	foreach(cell, find_all_inheritors(target, NoLock, NULL))
	{
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_FOREIGN_TABLE)
			return true;
	}
	return false;
}

/* May a statement's own plan change tables? */
static inline bool
modifies_tables(const QueryDesc *query)
{
	return query->operation != CMD_SELECT ||
		query->plannedstmt->hasModifyingCTE;
}

/*
 * A statement that changes nothing is none for sware: what its functions
 * execute is a statement of its own.
 *
 * If there is an error, the statement around this one may go on: a function may
 * have caught the error, some languages do so without a subtransaction.
 */
static void
executor_run(SWARE_EXECUTOR_RUN_PARAMETERS)
{
	SwareStatement outer;

	/* parallel workers cannot see the memory of this backend */
	if (unlikely(query->plannedstmt->parallelModeNeeded))
		sware_publish_all();
	look_for_foreign_tables(query);
	if (!modifies_tables(query))
	{
		next_executor_run(SWARE_EXECUTOR_RUN_ARGUMENTS);
		return;
	}

	outer = sware_statement;
	begin_statement(kind_of_statement(query->plannedstmt),
					query->estate->es_output_cid, query);
	PG_TRY();
	{
		next_executor_run(SWARE_EXECUTOR_RUN_ARGUMENTS);
	}
	PG_FINALLY();
	{
		sware_statement = outer;
	}
	PG_END_TRY();
}

/* Triggers, and WITH queries whose rows nobody has read, insert rows here. */
static void
executor_finish(QueryDesc *query)
{
	SwareStatement outer;

	if (!modifies_tables(query))
	{
		next_executor_finish(query);
		if (unlikely(sware_uses_foreign_tables))
			sware_limit_lingering();
		return;
	}

	outer = sware_statement;
	begin_statement(kind_of_statement(query->plannedstmt),
					query->estate->es_output_cid, query);
	PG_TRY();
	{
		next_executor_finish(query);
		look_for_foreign_partitions(query);
		if (sware_staged_indexes > 0)
			sware_staging_statement_ends();
	}
	PG_FINALLY();
	{
		sware_statement = outer;
	}
	PG_END_TRY();
}

/*
 * Is a utility command one that touches indexes only through statements of its
 * own, which the executor hooks see?  Then entries may stay staged: publishing
 * for a savepoint around every row would store rows one by one.
 */
static bool
leaves_indexes_alone(Node *command)
{
	switch (nodeTag(command))
	{
		case T_TransactionStmt:
		case T_VariableSetStmt:
		case T_VariableShowStmt:
		case T_PrepareStmt:
		case T_ExecuteStmt:
		case T_DeallocateStmt:
		case T_DeclareCursorStmt:
		case T_FetchStmt:
		case T_ClosePortalStmt:
		case T_ListenStmt:
		case T_NotifyStmt:
		case T_UnlistenStmt:
		case T_DoStmt:
		case T_CallStmt:
		case T_CopyStmt:
		case T_ExplainStmt:
			return true;
		default:
			return false;
	}
}

static void
process_utility(PlannedStmt *statement, const char *query_string,
				bool read_only_tree, ProcessUtilityContext context,
				ParamListInfo parameters, QueryEnvironment *environment,
				DestReceiver *destination, QueryCompletion *completion)
{
	SwareStatement outer = sware_statement;
	PlannedStmt *prepared =
		sware_prepare_utility(statement, query_string, context);
	bool		keeps_tree = read_only_tree && prepared == statement;
	Node	   *command = prepared->utilityStmt;
	bool		is_copy = IsA(command, CopyStmt);
	volatile bool moves_data = !leaves_indexes_alone(command);
	volatile Oid dropped_database = InvalidOid;

	/* this inserts nothing, and nothing is staged in the middle of it */
	if (IsA(command, TransactionStmt))
	{
		next_process_utility(prepared, query_string, keeps_tree, context,
							 parameters, environment, destination, completion);
		return;
	}

	/* The OID may be given to another database. */
	if (IsA(command, DropdbStmt))
		dropped_database =
			get_database_oid(((DropdbStmt *) command)->dbname, true);

	if (moves_data)
	{
		sware_publish_all();
		sware_utility_depth++;
	}

	if (is_copy)
		begin_statement(SWARE_STATEMENT_STAGES, GetCurrentCommandId(false),
						NULL);
	else
	{
		sware_statement.kind = SWARE_STATEMENT_UNKNOWN;
		sware_statement.query = NULL;
	}
	PG_TRY();
	{
		next_process_utility(prepared, query_string, keeps_tree, context,
							 parameters, environment, destination, completion);
		if (is_copy)
		{
			if (!sware_uses_foreign_tables)
				sware_uses_foreign_tables =
					copies_to_foreign_table((CopyStmt *) command);
			sware_staging_statement_ends();
		}
	}
	PG_FINALLY();
	{
		sware_statement = outer;
		if (moves_data)
			sware_utility_depth--;
	}
	PG_END_TRY();

	/* and the files of a new one are copies of others */
	if (IsA(command, DropdbStmt) || IsA(command, CreatedbStmt))
		sware_records_raise_all_epochs();
	if (OidIsValid(dropped_database))
		sware_zones_forget_database(dropped_database);
}

/*
 * Note the statement in progress when the library is loaded in the middle of
 * it, so that no hook has seen it begin.  No hook will report its end, so it
 * counts as in progress until the transaction ends.
 *
 * Where the library is not preloaded, a session's first statement often is a
 * COPY.  It opens the table's indexes, and so loads the library, before it
 * leaves an error context.  A function that it calls, whose rows may be
 * speculative, leaves one.  So if there is none, the rows are COPY's.  Without
 * this, is_speculative would look at each heap tuple, and a COPY into a table
 * with one index would execute a quarter more instructions.
 */
static void
look_at_running_statement(void)
{
	Node	   *command;

	if (ActivePortal == NULL)
		return;
	begin_statement(SWARE_STATEMENT_UNKNOWN, FirstCommandId, NULL);

	if (error_context_stack != NULL || list_length(ActivePortal->stmts) != 1)
		return;
	command = linitial_node(PlannedStmt, ActivePortal->stmts)->utilityStmt;
	if (command != NULL && IsA(command, CopyStmt))
		sware_statement.kind = SWARE_STATEMENT_STAGES;
}

/* Install the hooks and callbacks.  Called once, when the library is loaded. */
void
sware_install_hooks(void)
{
	look_at_running_statement();

	RegisterXactCallback(transaction_event, NULL);
	RegisterSubXactCallback(subtransaction_event, NULL);
	next_executor_run = ExecutorRun_hook ? ExecutorRun_hook :
		standard_ExecutorRun;
	ExecutorRun_hook = executor_run;
	next_executor_finish = ExecutorFinish_hook ? ExecutorFinish_hook :
		standard_ExecutorFinish;
	ExecutorFinish_hook = executor_finish;
	next_process_utility = ProcessUtility_hook ? ProcessUtility_hook :
		standard_ProcessUtility;
	ProcessUtility_hook = process_utility;
}
