/*-------------------------------------------------------------------------
 *
 * callbacks.h
 *	  The access method's callbacks that no other layer calls, except those
 *	  of scans (scan.h) and options (options.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_CALLBACKS_H
#define SWARE_CALLBACKS_H

#include "access/amapi.h"
#include "access/genam.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"

/* build.c */
extern IndexBuildResult *sware_build(Relation heap, Relation index,
									 IndexInfo *index_info);
extern void sware_buildempty(Relation index);
extern char *sware_buildphasename(int64 phase);

/* insert.c */
extern bool sware_insert(Relation index, Datum *values, bool *isnull,
						 ItemPointer heap_tid, Relation heap,
						 IndexUniqueCheck check_unique, bool index_unchanged,
						 IndexInfo *index_info);

/* vacuum.c */
extern IndexBulkDeleteResult *sware_bulkdelete(IndexVacuumInfo *info,
											   IndexBulkDeleteResult *stats,
											   IndexBulkDeleteCallback callback,
											   void *callback_state);
extern IndexBulkDeleteResult *sware_vacuumcleanup(IndexVacuumInfo *info,
												  IndexBulkDeleteResult *stats);

/* cost.c */
extern void sware_costestimate(PlannerInfo *root, IndexPath *path, double loop_count,
							   Cost *startup_cost, Cost *total_cost,
							   Selectivity *selectivity, double *correlation,
							   double *pages);
extern int	sware_tree_height(Relation index);

/* opclass.c */
extern bool sware_validate(Oid opclass_oid);

#endif							/* SWARE_CALLBACKS_H */
