/*-------------------------------------------------------------------------
 *
 * vacuum.c
 *	  The callbacks of VACUUM.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/callbacks.h"
#include "buffer/sharedbuffer.h"
#include "buffer/staging.h"
#include "faultpoint.h"
#include "tree/tree.h"

/*
 * Remove the entries whose TIDs the callback says are dead.
 *
 * They may be in the shared buffer, and a scan may be about to return one from
 * there: so everything goes to the tree, and then each page that it was on is
 * waited for.
 */
IndexBulkDeleteResult *
sware_bulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
				 IndexBulkDeleteCallback callback, void *callback_state)
{
	if (stats == NULL)
		stats = (IndexBulkDeleteResult *) palloc0(sizeof(IndexBulkDeleteResult));

	sware_publish_index(info->index);
	sware_buffer_flush_all(info->index);
	SWARE_FAULT_POINT("vacuum-flushed");
	sware_buffer_wait_for_readers(info->index, info->strategy);
	SWARE_FAULT_POINT("vacuum-waited");
	sware_tree_bulk_delete(info, stats, callback, callback_state);

	return stats;
}

/*
 * Finish a VACUUM, that had no dead entries to remove if `stats` is NULL.
 */
IndexBulkDeleteResult *
sware_vacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	if (info->analyze_only)
		return stats;

	if (stats == NULL)
	{
		stats = (IndexBulkDeleteResult *) palloc0(sizeof(IndexBulkDeleteResult));
		stats->estimated_count = true;
		sware_publish_index(info->index);
		sware_buffer_flush_all(info->index);
	}
	sware_buffer_free_retired(info->index);

	sware_tree_cleanup(info, stats);

	/*
	 * Splits that happened meanwhile can make entries count twice.  There
	 * are not more of them than rows.
	 */
	if (!info->estimated_count &&
		stats->num_index_tuples > info->num_heap_tuples)
		stats->num_index_tuples = info->num_heap_tuples;

	return stats;
}
