/*-------------------------------------------------------------------------
 *
 * collect.h
 *	  Reading a table's rows into a sort.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_COLLECT_H
#define SWARE_COLLECT_H

#include "access/relscan.h"
#include "nodes/execnodes.h"

#include "sort/entrysort.h"

typedef struct SwareCollected
{
	double		rows;
	int64		entries;
} SwareCollected;

extern SwareCollected sware_collect_entries(SwareEntrySort *sort,
											Relation heap, Relation index,
											IndexInfo *index_info,
											ParallelTableScanDesc shared_scan);

#endif							/* SWARE_COLLECT_H */
