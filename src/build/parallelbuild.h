/*-------------------------------------------------------------------------
 *
 * parallelbuild.h
 *	  The workers of a parallel build.
 *
 * The leader begins, which launches workers; collects and sorts its own part
 * of the table; waits for the workers; merges what they have exported; and
 * ends.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PARALLELBUILD_H
#define SWARE_PARALLELBUILD_H

#include "build/collect.h"
#include "sort/entrymerge.h"

typedef struct SwareParallelBuild SwareParallelBuild;

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

#endif							/* SWARE_PARALLELBUILD_H */
