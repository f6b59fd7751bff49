/*-------------------------------------------------------------------------
 *
 * stager.h
 *	  Staging for unique indexes.  buffer/stagedkeys.h tells the protocol.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_STAGER_H
#define SWARE_STAGER_H

#include "access/genam.h"
#include "access/relscan.h"
#include "nodes/execnodes.h"
#include "utils/snapshot.h"

/*
 * Stage an entry of a unique index; raises an error if its key is there
 * already.  May wait for transactions.  False if the caller must look its key
 * up and store it: then nothing is staged for the index.
 */
extern bool sware_stage_unique(Relation index, Relation heap, Datum *values,
							   bool *isnull, ItemPointer tid,
							   IndexUniqueCheck check_unique, IndexInfo *index_info);

extern void sware_wait_for_stagers_of_key(IndexScanDesc scan);

/*
 * A scan with a dirty snapshot, which looks for rows of a key that others are
 * inserting, can see none that is staged.  Before it reads, wait until nobody has
 * staged a row of the key.
 */
static inline void
sware_wait_for_staged_keys(IndexScanDesc scan)
{
	if (unlikely(scan->xs_snapshot && scan->xs_snapshot->snapshot_type == SNAPSHOT_DIRTY))
		sware_wait_for_stagers_of_key(scan);
}

#endif							/* SWARE_STAGER_H */
