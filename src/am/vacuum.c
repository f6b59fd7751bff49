/*-------------------------------------------------------------------------
 *
 * vacuum.c
 *	  The callbacks of VACUUM.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/callbacks.h"
#include "base/faultpoint.h"
#include "base/options.h"
#include "buffer/buffer.h"
#include "records/recordcache.h"
#include "staging/staging.h"
#include "tree/tree.h"

/*
 * Remove the entries whose TIDs the callback calls dead.
 *
 * They may be in the buffer, and a scan may be about to return one from there.
 * So the whole buffer is flushed first, and then VACUUM waits until no backend
 * has a pin on the pages that it was on.
 */
IndexBulkDeleteResult *
sware_bulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
				 IndexBulkDeleteCallback callback, void *callback_state)
{
	if (stats == NULL)
		stats =
			(IndexBulkDeleteResult *) palloc0(sizeof(IndexBulkDeleteResult));

	sware_publish_index(info->index);
	sware_buffer_flush_all(info->index);
	SWARE_FAULT_POINT("vacuum-flushed");
	sware_buffer_wait_for_readers(info->index, info->strategy);
	SWARE_FAULT_POINT("vacuum-waited");
	sware_tree_bulk_delete(info, stats, callback, callback_state);

	/* records that have the TIDs are of no use before these are reused */
	sware_records_raise_epoch(info->index);
	SWARE_FAULT_POINT("vacuum-deleted");

	return stats;
}

/*
 * Finish a VACUUM.  If `stats` is NULL, there were no dead entries to remove,
 * and sware_bulkdelete was not called.
 */
IndexBulkDeleteResult *
sware_vacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	SwareBlockSet *free_pages = NULL;

	if (info->analyze_only)
		return stats;

	if (stats == NULL)
	{
		stats =
			(IndexBulkDeleteResult *) palloc0(sizeof(IndexBulkDeleteResult));
		stats->estimated_count = true;
		sware_publish_index(info->index);
		sware_buffer_flush_all(info->index);
	}
	sware_buffer_free_retired(info->index, PG_INT32_MAX);

	if (sware_options_of(info->index)->groupLeaves)
		free_pages =
			sware_block_set_make(RelationGetNumberOfBlocks(info->index));
	sware_tree_cleanup(info, stats, free_pages);
	SWARE_FAULT_POINT("vacuum-examined");

	if (free_pages)
	{
		sware_tree_order_leaves(info, free_pages);
		sware_block_set_free(free_pages);
	}

	/*
	 * If leaves were split meanwhile, some entries were counted twice.  There
	 * cannot be more entries than rows.
	 */
	if (!info->estimated_count &&
		stats->num_index_tuples > info->num_heap_tuples)
		stats->num_index_tuples = info->num_heap_tuples;

	return stats;
}
