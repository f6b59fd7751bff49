/*-------------------------------------------------------------------------
 *
 * entrysort.h
 *	  Sorting the entries of an index that is built: in memory, to files, and
 *	  by merging these.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ENTRYSORT_H
#define SWARE_ENTRYSORT_H

#include "access/itup.h"
#include "storage/fileset.h"
#include "utils/rel.h"

#include "layout/tuple.h"
#include "sort/sorter.h"

typedef struct SwareEntrySort SwareEntrySort;
typedef struct SwareEntryMerge SwareEntryMerge;

extern SwareEntrySort *sware_entry_sort_begin(Relation index, Relation heap,
											  int memory, FileSet *files,
											  int participant);
extern void sware_entry_sort_put(SwareEntrySort *sort, Datum *values,
								 bool *isnull, ItemPointer tid, bool is_dead);
extern void sware_entry_sort_perform(SwareEntrySort *sort);
extern SwareEntryMerge *sware_entry_sort_merge(SwareEntrySort *sort);
extern int	sware_entry_sort_export(SwareEntrySort *sort);
extern void sware_entry_sort_end(SwareEntrySort *sort);

/* the sorted entries, and those of other processes, one after the other */
extern void sware_entry_merge_add_exported(SwareEntryMerge *merge,
										   FileSet *files, int participant,
										   int number);
extern IndexTuple sware_entry_merge_next(SwareEntryMerge *merge);
extern void sware_entry_merge_end(SwareEntryMerge *merge);

#endif							/* SWARE_ENTRYSORT_H */
