/*-------------------------------------------------------------------------
 *
 * scanreads.c
 *	  What scans have read: the SQL function sware_scan_counters, and an option
 *	  of EXPLAIN.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/execnodes.h"

#include "base/compat.h"
#include "inspect/inspect.h"
#include "scan/scan.h"

#ifdef SWARE_HAS_EXPLAIN_OPTIONS
#include "commands/defrem.h"
#include "commands/explain.h"
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

PG_FUNCTION_INFO_V1(sware_scan_counters);

/* what is shown, in the order of the struct */
#define COUNTERS	7

StaticAssertDecl(sizeof(SwareScanReads) == COUNTERS * sizeof(int64),
				 "the reads of a scan must be an array of counters");

/*
 * sware_scan_counters()
 *
 * Returns what this session's scans have read that have ended.
 */
Datum
sware_scan_counters(PG_FUNCTION_ARGS)
{
	const int64 *counters = (const int64 *) &sware_session_reads;
	SwareRow	row = {0};

	for (int i = 0; i < COUNTERS; i++)
		sware_add_value(&row, Int64GetDatum(counters[i]));
	return sware_row_datum(fcinfo, &row);
}

#ifdef SWARE_HAS_EXPLAIN_OPTIONS

static explain_per_node_hook_type next_per_node = NULL;
static int	explain_id;			/* of this library in the state of EXPLAIN */

/* EXPLAIN has the option; a NULL state means that it is off. */
static void
take_option(ExplainState *explain, DefElem *option, ParseState *parse_state)
{
	static bool is_on = true;

	SetExplainExtensionState(explain, explain_id,
							 defGetBoolean(option) ? &is_on : NULL);
}

/*
 * The scan of a node of a plan; NULL if it is not one of an index, or was not
 * executed.
 */
static IndexScanDesc
scan_of_node(PlanState *node)
{
	switch (nodeTag(node))
	{
		case T_IndexScanState:
			return ((IndexScanState *) node)->iss_ScanDesc;
		case T_IndexOnlyScanState:
			return ((IndexOnlyScanState *) node)->ioss_ScanDesc;
		case T_BitmapIndexScanState:
			return ((BitmapIndexScanState *) node)->biss_ScanDesc;
		default:
			return NULL;
	}
}

static void
show_reads(IndexScanDesc descriptor, ExplainState *explain)
{
	static const char *const labels[COUNTERS] = {
		"Sware Staging Entries", "Sware Buffer Entries", "Sware Buffer Pages",
		"Sware Buffer Zones", "Sware Tree Entries", "Sware Tree Leaves",
		"Sware Table Prefetches"
	};
	SwareScanReads reads = {0};
	const int64 *counters = (const int64 *) &reads;

	sware_add_scan_reads(&reads, descriptor->opaque);
	if (explain->format != EXPLAIN_FORMAT_TEXT)
	{
		for (int i = 0; i < COUNTERS; i++)
			ExplainPropertyInteger(labels[i], NULL, counters[i], explain);
		return;
	}
	ExplainIndentText(explain);
	appendStringInfo(explain->str,
					 "Sware: staging entries=%lld, buffer entries=%lld pages=%lld zones=%lld, tree entries=%lld leaves=%lld, table prefetches=%lld\n",
					 (long long) counters[0], (long long) counters[1],
					 (long long) counters[2], (long long) counters[3],
					 (long long) counters[4], (long long) counters[5],
					 (long long) counters[6]);
}

static void
explain_node(PlanState *node, List *ancestors, const char *relationship,
			 const char *plan_name, ExplainState *explain)
{
	IndexScanDesc descriptor = scan_of_node(node);

	if (next_per_node)
		next_per_node(node, ancestors, relationship, plan_name, explain);
	if (explain->analyze && descriptor != NULL &&
		descriptor->indexRelation->rd_indam->amendscan == sware_endscan &&
		GetExplainExtensionState(explain, explain_id) != NULL)
		show_reads(descriptor, explain);
}

void
sware_install_explain_option(void)
{
	explain_id = GetExplainExtensionId("sware");
	sware_register_explain_option("sware", take_option);
	next_per_node = explain_per_node_hook;
	explain_per_node_hook = explain_node;
}

#else

void
sware_install_explain_option(void)
{
}

#endif
