/*-------------------------------------------------------------------------
 *
 * faultpoint.c
 *	  Fault points.  See faultsettings.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"

#include "faultsettings.h"

int			sware_fault_directory_slots = 0;
int			sware_fault_pages_to_sort = 0;
bool		sware_fault_trust = false;
bool		sware_fault_buffer = false;
bool		sware_fault_misses = false;

static char *fault_points = NULL;

void
sware_define_fault_points(void)
{
	DefineCustomStringVariable("sware.fault_points",
							   "Lists what happens at named places, for tests.",
							   NULL, &fault_points, "",
							   PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("sware.fault_directory_slots",
							"Limits the slots of the buffer's directory, for tests.",
							NULL, &sware_fault_directory_slots, 0, 0, 100000,
							PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("sware.fault_pages_to_sort",
							"Lets buffers of any size have sorted pages, for tests.",
							NULL, &sware_fault_pages_to_sort, 0, 0, 1000,
							PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("sware.fault_trust",
							 "Lets functions of everybody count as trusted, for tests.",
							 NULL, &sware_fault_trust, false,
							 PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("sware.fault_buffer",
							 "Lets rows in order go to the buffer like all others, for tests.",
							 NULL, &sware_fault_buffer, false,
							 PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("sware.fault_misses",
							 "Lets rows go to the buffer at their first miss, for tests.",
							 NULL, &sware_fault_misses, false,
							 PGC_SUSET, 0, NULL, NULL, NULL);
}

/* Perform an action at a fault point. */
static void
act(const char *name, const char *action)
{
	if (strcmp(action, "error") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("fault point \"%s\" was reached", name)));
	else if (strcmp(action, "kill") == 0)
		kill(MyProcPid, SIGKILL);
	else if (strcmp(action, "wait") == 0)
	{
		DirectFunctionCall1(pg_advisory_lock_shared_int8,
							Int64GetDatum(SWARE_FAULT_LOCK));
		DirectFunctionCall1(pg_advisory_unlock_shared_int8,
							Int64GetDatum(SWARE_FAULT_LOCK));
	}
	else if (strcmp(action, "stop") == 0)
	{
		ereport(LOG,
				(errmsg("fault point \"%s\" was reached, where process %d stops",
						name, MyProcPid)));
		kill(MyProcPid, SIGSTOP);
	}
	else if (strcmp(action, "notice") == 0)
		ereport(NOTICE,
				(errmsg("fault point \"%s\" was reached", name)));
	else
		elog(ERROR, "unrecognized action \"%s\" at fault point \"%s\"", action, name);
}

static bool
has_fault_points(void)
{
	return fault_points != NULL && fault_points[0] != '\0';
}

static bool is_shown = false;

void
sware_show_lock(Relation index, BlockNumber page)
{
	is_shown = has_fault_points();
	if (is_shown)
		LockPage(index, page, ExclusiveLock);
}

void
sware_hide_lock(Relation index, BlockNumber page)
{
	if (is_shown)
		UnlockPage(index, page, ExclusiveLock);
	is_shown = false;
}

void
sware_wait_for_shown_lock(Relation index, BlockNumber page)
{
	LockPage(index, page, ShareLock);
	UnlockPage(index, page, ShareLock);
}

void
sware_fault_point(const char *name)
{
	char	   *list;
	char	   *rest;
	char	   *item;

	if (!has_fault_points())
		return;

	list = pstrdup(fault_points);
	for (item = strtok_r(list, ", ", &rest); item; item = strtok_r(NULL, ", ", &rest))
	{
		char	   *action = strchr(item, '=');

		if (action == NULL)
			elog(ERROR, "fault point \"%s\" has no action", item);
		*action++ = '\0';
		if (strcmp(item, name) == 0 || strcmp(item, "*") == 0)
			act(name, action);
	}
	pfree(list);
}
