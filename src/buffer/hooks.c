/*-------------------------------------------------------------------------
 *
 * hooks.c
 *	  Where the server tells the buffer what is going on: ends of
 *	  (sub)transactions, statements, utility commands.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/dbcommands.h"
#include "executor/executor.h"
#include "nodes/plannodes.h"
#include "tcop/pquery.h"
#include "tcop/utility.h"

#include "buffer/hooks.h"
#include "buffer/staging.h"
#include "buffer/zones.h"
#include "compat.h"

/* until the transaction ends, see look_at_running_statement */
static bool kind_was_guessed = false;

static ExecutorRun_hook_type previous_executor_run;
static ExecutorFinish_hook_type previous_executor_finish;
static ProcessUtility_hook_type previous_process_utility;

static void
transaction_event(XactEvent event, void *argument)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			sware_staging_transaction_prepares_to_end();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_ABORT:
			sware_staging_transaction_ends();
			if (kind_was_guessed)
				sware_statement_kind = SWARE_STATEMENT_UNKNOWN;
			kind_was_guessed = false;
			break;
		default:
			/* parallel workers never stage */
			break;
	}
}

static void
subtransaction_event(SubXactEvent event, SubTransactionId child,
					 SubTransactionId parent, void *argument)
{
	if (event == SUBXACT_EVENT_COMMIT_SUB)
		sware_staging_subtransaction_commits(child, parent);
	else if (event == SUBXACT_EVENT_ABORT_SUB)
		sware_staging_subtransaction_aborts(child);
}

/* What does the root of a plan, or of a subplan, say of a statement? */
static SwareStatementKind
kind_of_plan(Plan *plan, bool writes)
{
	if (plan == NULL || !writes)
		return SWARE_STATEMENT_STAGES;
	if (IsA(plan, ModifyTable))
		return ((ModifyTable *) plan)->onConflictAction == ONCONFLICT_NONE ?
			SWARE_STATEMENT_STAGES : SWARE_STATEMENT_SPECULATES;

	/* some extensions put a node of their own around it */
	return IsA(plan, CustomScan) ? SWARE_STATEMENT_UNKNOWN : SWARE_STATEMENT_STAGES;
}

/*
 * Speculatively inserted tuples may be killed, and vacuumed, in the middle of
 * the transaction.  Data-modifying CTEs are subplans.
 */
static SwareStatementKind
kind_of_statement(PlannedStmt *statement)
{
	SwareStatementKind kind = kind_of_plan(statement->planTree,
										   statement->commandType != CMD_SELECT);
	ListCell   *cell;

	foreach(cell, statement->subplans)
	{
		SwareStatementKind other = kind_of_plan((Plan *) lfirst(cell),
												statement->hasModifyingCTE);

		if (kind == SWARE_STATEMENT_STAGES || other == SWARE_STATEMENT_SPECULATES)
			kind = other;
	}
	return kind;
}

static void
executor_run(SWARE_EXECUTOR_RUN_PARAMETERS)
{
	SwareStatementKind outer = sware_statement_kind;

	/* parallel workers share this transaction, but not its memory */
	if (query->plannedstmt->parallelModeNeeded)
		sware_publish_all();

	sware_statement_kind = kind_of_statement(query->plannedstmt);
	PG_TRY();
	{
		if (previous_executor_run)
			previous_executor_run(SWARE_EXECUTOR_RUN_ARGUMENTS);
		else
			standard_ExecutorRun(SWARE_EXECUTOR_RUN_ARGUMENTS);
	}
	PG_FINALLY();
	{
		sware_statement_kind = outer;
	}
	PG_END_TRY();
}

static void
executor_finish(QueryDesc *query)
{
	SwareStatementKind outer = sware_statement_kind;

	sware_statement_kind = kind_of_statement(query->plannedstmt);
	PG_TRY();
	{
		if (previous_executor_finish)
			previous_executor_finish(query);
		else
			standard_ExecutorFinish(query);
	}
	PG_FINALLY();
	{
		sware_statement_kind = outer;
	}
	PG_END_TRY();
}

/*
 * Can a utility command do nothing to an index but through statements of its
 * own, which are seen as such?  Then entries may stay staged; a savepoint
 * around every statement must not destroy the batching.
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
	SwareStatementKind outer = sware_statement_kind;
	Node	   *command = statement->utilityStmt;
	volatile bool moves_data = !leaves_indexes_alone(command);
	volatile Oid dropped_database = InvalidOid;

	/* its number may be given to another database */
	if (IsA(command, DropdbStmt))
		dropped_database = get_database_oid(((DropdbStmt *) command)->dbname, true);

	if (moves_data)
	{
		sware_publish_all();
		sware_utility_depth++;
	}

	sware_statement_kind = IsA(command, CopyStmt) ? SWARE_STATEMENT_STAGES :
		SWARE_STATEMENT_UNKNOWN;
	PG_TRY();
	{
		if (previous_process_utility)
			previous_process_utility(statement, query_string, read_only_tree, context,
									 parameters, environment, destination, completion);
		else
			standard_ProcessUtility(statement, query_string, read_only_tree, context,
									parameters, environment, destination, completion);
	}
	PG_FINALLY();
	{
		sware_statement_kind = outer;
		if (moves_data)
			sware_utility_depth--;
	}
	PG_END_TRY();

	if (OidIsValid(dropped_database))
		sware_zones_forget_database(dropped_database);
}

/*
 * The library may be loaded in the middle of a statement that no hook has
 * seen.  If that is a COPY, as the first statement of a session often is, and
 * we are not in a function that it calls (a function leaves an error context),
 * then its rows need no closer look.
 */
static void
look_at_running_statement(void)
{
	PlannedStmt *statement;

	if (ActivePortal == NULL || error_context_stack != NULL ||
		list_length(ActivePortal->stmts) != 1)
		return;
	statement = linitial_node(PlannedStmt, ActivePortal->stmts);
	if (statement->utilityStmt != NULL && IsA(statement->utilityStmt, CopyStmt))
	{
		sware_statement_kind = SWARE_STATEMENT_STAGES;
		kind_was_guessed = true;
	}
}

/* Called once, when the library is loaded. */
void
sware_install_hooks(void)
{
	look_at_running_statement();

	RegisterXactCallback(transaction_event, NULL);
	RegisterSubXactCallback(subtransaction_event, NULL);
	previous_executor_run = ExecutorRun_hook;
	ExecutorRun_hook = executor_run;
	previous_executor_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = executor_finish;
	previous_process_utility = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
