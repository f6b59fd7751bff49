/*-------------------------------------------------------------------------
 *
 * build.h
 *	  The access method's callbacks for CREATE INDEX and REINDEX.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BUILD_H
#define SWARE_BUILD_H

#include "access/genam.h"
#include "nodes/execnodes.h"

extern IndexBuildResult *sware_build(Relation heap, Relation index,
									 IndexInfo *index_info);
extern void sware_buildempty(Relation index);
extern char *sware_buildphasename(int64 phase);

#endif							/* SWARE_BUILD_H */
