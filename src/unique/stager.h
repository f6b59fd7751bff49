/*-------------------------------------------------------------------------
 *
 * stager.h
 *	  Staging for unique indexes.  locks/stagedkeys.h describes the protocol.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_STAGER_H
#define SWARE_STAGER_H

#include "access/genam.h"
#include "access/relscan.h"
#include "nodes/execnodes.h"
#include "utils/snapshot.h"

#include "unique/unique.h"

/*
 * Stage the entry of a row in a unique index, if that is possible.  Raises an
 * error if the key exists already.  May wait for transactions and publish, so
 * no lightweight lock may be held.  Returns false if the caller must look the
 * key up and store the entry; then nothing is staged for the index.
 */
extern bool sware_stage_unique(const SwareNewRow *row, IndexInfo *index_info);

extern void sware_wait_for_stagers_of_key(IndexScanDesc scan);

/*
 * A scan with a dirty snapshot looks for rows of a key that other backends are
 * inserting, but it cannot see staged ones.  Before it reads, wait until no
 * other backend has staged a row of the key.  No lightweight lock may be held.
 */
static inline void
sware_wait_for_staged_keys(IndexScanDesc scan)
{
	if (unlikely(scan->xs_snapshot &&
				 scan->xs_snapshot->snapshot_type == SNAPSHOT_DIRTY))
		sware_wait_for_stagers_of_key(scan);
}

#endif							/* SWARE_STAGER_H */
