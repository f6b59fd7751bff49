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
#include "nodes/execnodes.h"

/*
 * Stage an entry of a unique index; raises an error if its key is there
 * already.  May wait for transactions.  False if the caller must look its key
 * up and store it: then nothing is staged for the index.
 */
extern bool sware_stage_unique(Relation index, Relation heap, Datum *values,
							   bool *isnull, ItemPointer tid,
							   IndexUniqueCheck check_unique, IndexInfo *index_info);

#endif							/* SWARE_STAGER_H */
