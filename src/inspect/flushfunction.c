/*-------------------------------------------------------------------------
 *
 * flushfunction.c
 *	  The SQL function sware_flush.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "fmgr.h"
#include "utils/acl.h"

#include "base/compat.h"
#include "buffer/buffer.h"
#include "inspect/relation.h"
#include "staging/staging.h"

PG_FUNCTION_INFO_V1(sware_flush);

/*
 * sware_flush(index regclass)
 *
 * Publishes what this session has staged for the index, and moves all entries
 * of the buffer to the tree.  Returns the number of entries that were in the
 * buffer; an entry that was there twice counts once.
 */
Datum
sware_flush(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	SwareTarget target;
	int64		moved = 0;

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("recovery is in progress"),
				 errhint("sware_flush cannot be executed during recovery.")));

	sware_open_target(&target, oid, RowExclusiveLock);
	sware_require_sware_index(target.index);
	if (!sware_is_owner_of_relation(oid, target.caller.user))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX,
					   RelationGetRelationName(target.index));

	/* an index that CREATE INDEX CONCURRENTLY has not built yet has no pages */
	if (target.index->rd_index->indisready)
	{
		sware_publish_index(target.index);
		moved = sware_buffer_flush_all(target.index);
	}
	sware_close_target(&target);
	PG_RETURN_INT64(moved);
}
