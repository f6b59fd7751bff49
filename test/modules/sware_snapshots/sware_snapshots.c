/*-------------------------------------------------------------------------
 *
 * sware_snapshots.c
 *	  Makes snapshots old, for tests.
 *
 * The server lets no snapshot be too old before it is five seconds old, even if
 * old_snapshot_threshold is zero.  So this sets the threshold itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "storage/bufmgr.h"
#include "utils/snapmgr.h"

#include "../../lib/testcompat.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(sware_let_snapshots_age);
PG_FUNCTION_INFO_V1(sware_age_snapshots);

#ifdef SWARE_SNAPSHOTS_GET_TOO_OLD

Datum
sware_let_snapshots_age(PG_FUNCTION_ARGS)
{
	old_snapshot_threshold = 0;
	PG_RETURN_BOOL(true);
}

Datum
sware_age_snapshots(PG_FUNCTION_ARGS)
{
	TimestampTz before = GetSnapshotCurrentTimestamp();

	/* the clock may stand still for a moment */
	while (GetSnapshotCurrentTimestamp() == before)
		;
	SetOldSnapshotThresholdTimestamp(GetSnapshotCurrentTimestamp(),
									 ReadNextTransactionId());
	PG_RETURN_VOID();
}

#else

Datum
sware_let_snapshots_age(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(false);
}

Datum
sware_age_snapshots(PG_FUNCTION_ARGS)
{
	PG_RETURN_VOID();
}

#endif
