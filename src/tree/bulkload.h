/*-------------------------------------------------------------------------
 *
 * bulkload.h
 *	  Builds a tree from all of its entries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BULKLOAD_H
#define SWARE_BULKLOAD_H

#include "access/itup.h"
#include "utils/rel.h"

typedef struct SwareBulkload SwareBulkload;

extern SwareBulkload *sware_bulkload_begin(Relation index);
extern void sware_bulkload_add(SwareBulkload *load, IndexTuple entry);
extern void sware_bulkload_finish(SwareBulkload *load);

extern void sware_bulkload_empty_init_fork(Relation index);

#endif							/* SWARE_BULKLOAD_H */
