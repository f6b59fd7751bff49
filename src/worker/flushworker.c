/*-------------------------------------------------------------------------
 *
 * flushworker.c
 *	  The flush worker: a background worker that flushes the buffers of one
 *	  database's indexes, as inserters request it (shared/flushrequests.h).
 *
 * It flushes one piece of an index after another, each in a transaction of its
 * own, and ends when nothing has been requested for a while.  No session waits
 * for it longer than for a piece, as it takes its locks without waiting: on the
 * database, so that it can be dropped, renamed or copied, on the table, and on
 * the index.  Functions are called as the table's owner, for a bounded time.
 * An error is logged, and the index is left to inserters for some time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_database.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timeout.h"

#include "base/faultpoint.h"
#include "base/identity.h"
#include "base/options.h"
#include "buffer/buffer.h"
#include "shared/flushrequests.h"

/* times in milliseconds: without requests, it ends */
#define IDLE_TIME		900

/* for so long it leaves an index alone that another session has locked */
#define LOCKED_REST		200

/*
 * A piece takes some milliseconds, unless the index's functions go astray.
 * Then the worker ends: functions can catch errors.
 */
#define PIECE_TIMEOUT	60000

PGDLLEXPORT void sware_flush_worker_main(Datum number);

static emit_log_hook_type previous_log_hook = NULL;

static TimeoutId piece_timeout;

/* the index that is being flushed, for messages */
static char current[2 * NAMEDATALEN + 2];

/*
 * The database may be dropped before the worker begins; that is no failure, and
 * no reason to start no others.
 */
static void
log_quietly(ErrorData *error)
{
	if (error->sqlerrcode == ERRCODE_UNDEFINED_DATABASE)
	{
		error->output_to_server = message_level_is_interesting(DEBUG1);
		(void) sware_post_end(false);
	}
	if (previous_log_hook)
		previous_log_hook(error);
}

/* Change a setting, if the server has it. */
static void
set(const char *name, const char *value)
{
	if (GetConfigOption(name, true, false))
		SetConfigOption(name, value, PGC_SUSET, PGC_S_OVERRIDE);
}

/* End the worker, as a piece has taken too long; nothing can catch that. */
static void
end_worker(void)
{
	sware_rest_at_exit = SWARE_FAILED_REST;
	ProcDiePending = true;
	InterruptPending = true;
	SetLatch(MyLatch);
}

/*
 * Connect to the database, also if it allows no connections, and overrule those
 * settings of the database, or of the superuser, that would do harm here.
 */
static void
connect_to(Oid database)
{
	previous_log_hook = emit_log_hook;
	emit_log_hook = log_quietly;
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid,
											  BGWORKER_BYPASS_ALLOWCONN);
	emit_log_hook = previous_log_hook;
	set("search_path", "pg_catalog, pg_temp");
	set("default_transaction_isolation", "read committed");
	set("statement_timeout", "0");
	set("default_transaction_read_only", "off");
	set("zero_damaged_pages", "off");
	set("synchronous_commit", "local");
	set("transaction_timeout", "0");
	set("exit_on_error", "off");

	/* relations and catalogs are locked when they are opened */
	set("lock_timeout", "100");
	piece_timeout = RegisterTimeout(USER_TIMEOUT, end_worker);
}

/*
 * Lock the database for the rest of the transaction.  False if another session
 * wants to drop, rename, move or copy it.
 */
static bool
lock_database(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, MyDatabaseId, 0);
	return LockAcquire(&tag, RowExclusiveLock, false, true) !=
		LOCKACQUIRE_NOT_AVAIL;
}

/*
 * Lock an index and its table for the rest of the transaction.  Returns the
 * table, or InvalidOid if another session has locked one of them, or if they
 * are gone.
 */
static Oid
lock_index(Oid index)
{
	Oid			table = IndexGetRelation(index, true);

	if (OidIsValid(table) &&
		ConditionalLockRelationOid(table, RowExclusiveLock) &&
		ConditionalLockRelationOid(index, RowExclusiveLock) &&
		IndexGetRelation(index, true) == table)
		return table;
	return InvalidOid;
}

/* What the log says with an error. */
static void
add_context(void *arg)
{
	errcontext("flush of index \"%s\"", current);
}

/*
 * Flush a piece of an index, which is locked.  Returns whether there was
 * something to be done.
 */
static bool
flush_piece(Oid table_oid, Oid index_oid)
{
	Relation	table = table_open(table_oid, NoLock);
	SwareIdentity worker;
	ErrorContextCallback context = {error_context_stack, add_context, NULL};
	Relation	index;
	bool		done = false;

	snprintf(current, sizeof(current), "%s.%s",
			 get_namespace_name(RelationGetNamespace(table)),
			 get_rel_name(index_oid));
	pgstat_report_activity(STATE_RUNNING, current);
	error_context_stack = &context;

	/* before the index is opened, as that may evaluate expressions */
	sware_become_owner(table, &worker);
	index = index_open(index_oid, NoLock);

	/*
	 * From now on, locks are those of a file that grows.  An error would
	 * leave to VACUUM what was written.
	 */
	set("lock_timeout", "10s");
	if (index->rd_rel->relam == get_index_am_oid("sware", true))
		done = sware_buffer_flush_piece(index, SWARE_FLUSH_WORKER);
	index_close(index, NoLock);
	sware_become_again(&worker);
	table_close(table, NoLock);
	error_context_stack = context.previous;
	return done;
}

/*
 * Flush a piece of an index in a transaction.  Returns false if the worker has
 * to end, as another session wants the database.
 */
static bool
serve(Oid index)
{
	bool		has_database;
	Oid			table = InvalidOid;
	bool		done = false;

	enable_timeout_after(piece_timeout, PIECE_TIMEOUT);
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	has_database = lock_database();
	if (has_database)
		table = lock_index(index);
	if (OidIsValid(table))
		done = flush_piece(table, index);
	PopActiveSnapshot();
	CommitTransactionCommand();
	disable_timeout(piece_timeout, false);
	sware_post_is_done(done, OidIsValid(table) ? 0 : LOCKED_REST);
	return has_database;
}

/*
 * Log an error, and leave the index alone for some time.  If a lock was not to
 * be had in time, that is no error.
 */
static void
recover(void)
{
	bool		is_locked = geterrcode() == ERRCODE_LOCK_NOT_AVAILABLE;

	HOLD_INTERRUPTS();
	disable_all_timeouts(false);
	QueryCancelPending = false;
	if (!is_locked)
		EmitErrorReport();
	AbortOutOfAnyTransaction();
	FlushErrorState();
	RESUME_INTERRUPTS();
	sware_post_is_done(false, is_locked ? LOCKED_REST : SWARE_FAILED_REST);
}

/*
 * Wait for a request.  Returns false if there has been none for some time since
 * the latest one was served.
 */
static bool
wait_for_request(TimestampTz latest)
{
	long		left =
		TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
										TimestampTzPlusMilliseconds(latest, IDLE_TIME));

	/* further ahead: the clock was set back */
	if (left <= 0 || left > IDLE_TIME)
		return !sware_post_end(true);
	pgstat_report_activity(STATE_IDLE, NULL);
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 Min(left, IDLE_TIME), PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	return true;
}

/* Work until there is nothing to be done, or somebody wants the database. */
static void
work(void)
{
	MemoryContext outer = CurrentMemoryContext;
	TimestampTz latest = GetCurrentTimestamp();

	while (sware_flush_workers > 0)
	{
		Oid			index = sware_post_next();
		volatile bool goes_on = true;

		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		PG_TRY();
		{
			CHECK_FOR_INTERRUPTS();
			goes_on = OidIsValid(index) ? serve(index) :
				wait_for_request(latest);
		}
		PG_CATCH();
		{
			recover();
		}
		PG_END_TRY();
		MemoryContextSwitchTo(outer);
		if (!goes_on)
			return;
		if (!OidIsValid(index))
			continue;
		latest = GetCurrentTimestamp();

		/* a function may have taken locks that outlive its transaction */
		LockReleaseAll(USER_LOCKMETHOD, true);
		pgstat_report_stat(false);
	}
}

/* The main function of a flush worker, at the post with this number. */
void
sware_flush_worker_main(Datum number)
{
	Oid			database;

	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	SWARE_FAULT_POINT("worker-begins");
	if (!sware_post_begin(DatumGetUInt32(number), &database))
		return;
	connect_to(database);
	work();
	sware_post_end(false);
}
