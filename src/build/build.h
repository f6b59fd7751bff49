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

#include "keys/comparator.h"
#include "sort/entrysort.h"

typedef struct SwareCollected
{
	double		rows;
	int64		entries;
} SwareCollected;

typedef struct SwareDuplicateCheck SwareDuplicateCheck;

typedef struct SwareParallelBuild SwareParallelBuild;

/* build.c: the callbacks */
extern IndexBuildResult *sware_build(Relation heap, Relation index,
									 IndexInfo *index_info);
extern void sware_buildempty(Relation index);
extern char *sware_buildphasename(int64 phase);

/* collect.c: reading a table's rows into a sort */
extern SwareCollected sware_collect_entries(SwareEntrySort *sort,
											Relation heap, Relation index,
											IndexInfo *index_info,
											ParallelTableScanDesc shared_scan);

/* duplicates.c: finding duplicate keys while a unique index is built */
extern SwareDuplicateCheck *sware_duplicate_check_begin(Relation index,
														Relation heap,
														bool nulls_not_distinct,
														SwareComparator *comparator);
extern void sware_duplicate_check_next(SwareDuplicateCheck *check,
									   IndexTuple entry);
extern void sware_duplicate_check_end(SwareDuplicateCheck *check);

/*
 * parallelbuild.c: the workers of a parallel build.  The leader begins, which
 * launches workers; collects and sorts its own part of the table; waits for the
 * workers; merges what they have exported; and ends.
 */
extern SwareParallelBuild *sware_parallel_build_begin(Relation heap,
													  Relation index,
													  IndexInfo *index_info);
extern int	sware_parallel_build_participants(SwareParallelBuild *build);
extern ParallelTableScanDesc
			sware_parallel_build_scan(SwareParallelBuild *build);
extern void sware_parallel_build_wait(SwareParallelBuild *build,
									  SwareCollected *collected,
									  IndexInfo *index_info);
extern void sware_parallel_build_add_files(SwareParallelBuild *build,
										   SwareEntryMerge *merge);
extern void sware_parallel_build_end(SwareParallelBuild *build);

#endif							/* SWARE_BUILD_H */
