/*-------------------------------------------------------------------------
 *
 * build.h
 *	  CREATE INDEX and REINDEX: the access method's callbacks, and what they
 *	  consist of.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BUILD_H
#define SWARE_BUILD_H

#include "access/genam.h"
#include "access/relscan.h"
#include "nodes/execnodes.h"

#include "sort/entrysort.h"

typedef struct SwareCollected
{
	double		rows;
	int64		entries;
} SwareCollected;

typedef struct SwareParallelBuild
{
	struct ParallelContext *context;
	struct SharedBuild *shared; /* see parallelbuild.c */
	ParallelTableScanDesc scan; /* of which the leader reads a part, too */
	Snapshot	snapshot;
	bool		snapshotIsRegistered;
	int			participants;	/* processes that build, among which memory is
								 * divided, the leader included */
} SwareParallelBuild;

/* build.c: the callbacks; reading a table's rows into a sort */
extern IndexBuildResult *sware_build(Relation heap, Relation index,
									 IndexInfo *index_info);
extern void sware_buildempty(Relation index);
extern char *sware_buildphasename(int64 phase);
extern SwareCollected sware_collect_entries(SwareEntrySort *sort,
											Relation heap, Relation index,
											IndexInfo *index_info,
											ParallelTableScanDesc shared_scan);

/*
 * parallelbuild.c: the workers of a parallel build.  The leader begins, which
 * launches workers; collects and sorts its own part of the table; waits for the
 * workers; merges what they have exported; and ends.
 */
extern SwareParallelBuild *sware_parallel_build_begin(Relation heap,
													  Relation index,
													  IndexInfo *index_info);
extern void sware_parallel_build_wait(SwareParallelBuild *build,
									  SwareCollected *collected,
									  IndexInfo *index_info);
extern void sware_parallel_build_add_files(SwareParallelBuild *build,
										   SwareEntryMerge *merge);
extern void sware_parallel_build_end(SwareParallelBuild *build);

#endif							/* SWARE_BUILD_H */
