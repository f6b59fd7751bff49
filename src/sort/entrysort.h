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

/*
 * The mark of a dead row, in t_info of an entry: another row may have its key.
 * An entry has it only between put and the end of the merge, since the tree
 * gives the bit another meaning.
 */
#define SWARE_DEAD_ROW	SWARE_SPECIAL_TUPLE

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

/* Remove the mark of a dead row, and return whether it was there. */
static inline bool
sware_take_dead_mark(IndexTuple entry)
{
	bool		is_dead = (entry->t_info & SWARE_DEAD_ROW) != 0;

	entry->t_info &= ~SWARE_DEAD_ROW;
	return is_dead;
}

#endif							/* SWARE_ENTRYSORT_H */
