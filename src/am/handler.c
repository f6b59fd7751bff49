/*-------------------------------------------------------------------------
 *
 * handler.c
 *	  The access method's handler: its properties and its callbacks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/amapi.h"
#include "access/nbtree.h"
#include "commands/vacuum.h"
#include "fmgr.h"

#include "am/callbacks.h"
#include "build/build.h"
#include "base/options.h"
#include "scan/scan.h"
#include "base/compat.h"

PG_FUNCTION_INFO_V1(sware_handler);

/*
 * The amcanreturn callback: an index-only scan can return any column.  How it
 * knows which rows are visible, on a standby too, is told in
 * cursor/visibility.h.
 */
static bool
sware_canreturn(Relation index, int column)
{
	return true;
}

/*
 * The handler function.  It must stay cheap: it is called several times while a
 * query is planned.
 *
 * Strategies and support functions are btree's.  So btree's own callbacks
 * adjust operator classes and, with one more check (opclass.c), validate them.
 * There is no amproperty callback: so the server asks amcanreturn about
 * "returnable", while btree's callback always says yes.
 */
Datum
sware_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *routine = makeNode(IndexAmRoutine);

	routine->amstrategies = BTMaxStrategyNumber;
	routine->amsupport = BTNProcs;
	routine->amoptsprocnum = BTOPTIONS_PROC;
	routine->amcanorder = true;
	routine->amcanbackward = true;
	routine->amcanunique = true;
	routine->amcanmulticol = true;
	routine->amoptionalkey = true;
	routine->amsearcharray = true;
	routine->amsearchnulls = true;
	routine->amstorage = true;	/* name_ops stores cstring */
	routine->amclusterable = true;
	routine->ampredlocks = true;
	routine->amcanparallel = true;
	routine->amcaninclude = true;
	routine->amusemaintenanceworkmem = true;
	routine->amparallelvacuumoptions =
		VACUUM_OPTION_PARALLEL_BULKDEL | VACUUM_OPTION_PARALLEL_COND_CLEANUP;
	routine->amkeytype = InvalidOid;

	routine->ambuild = sware_build;
	routine->ambuildempty = sware_buildempty;
	routine->aminsert = sware_insert;
	routine->ambulkdelete = sware_bulkdelete;
	routine->amvacuumcleanup = sware_vacuumcleanup;
	routine->amcanreturn = sware_canreturn;
	routine->amcostestimate = sware_costestimate;
	routine->amoptions = sware_options;
	routine->ambuildphasename = sware_buildphasename;
	routine->amvalidate = sware_validate;
	routine->amadjustmembers = btadjustmembers;
	routine->ambeginscan = sware_beginscan;
	routine->amrescan = sware_rescan;
	routine->amgettuple = sware_gettuple;
	routine->amgetbitmap = sware_getbitmap;
	routine->amendscan = sware_endscan;
	routine->ammarkpos = sware_markpos;
	routine->amrestrpos = sware_restrpos;
	routine->amestimateparallelscan = sware_estimateparallelscan;
	routine->aminitparallelscan = sware_initparallelscan;
	routine->amparallelrescan = sware_parallelrescan;

	sware_set_can_build_parallel(routine);
	sware_set_version_properties(routine, sware_tree_height);

	PG_RETURN_POINTER(routine);
}
