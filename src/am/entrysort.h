/*-------------------------------------------------------------------------
 *
 * entrysort.h
 *	  Sorting the entries of an index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ENTRYSORT_H
#define SWARE_ENTRYSORT_H

#include "access/itup.h"
#include "nodes/pg_list.h"
#include "storage/fileset.h"
#include "utils/rel.h"

#include "tree/entry.h"

/*
 * In t_info of an entry between put and next: its row is dead, so another one
 * may have its key.  The tree gives the bit another meaning.
 */
#define SWARE_DEAD_ROW	SWARE_SPECIAL_TUPLE

typedef struct SwareEntrySort SwareEntrySort;

extern SwareEntrySort *sware_entry_sort_begin(Relation index, Relation heap, int memory);
extern SwareEntrySort *sware_entry_sort_begin_shared(Relation index, Relation heap, int memory,
													 FileSet *files, int participant);
extern void sware_entry_sort_put(SwareEntrySort *sort, Datum *values, bool *isnull,
								 ItemPointer tid, bool is_dead);
extern void sware_entry_sort_perform(SwareEntrySort *sort);
extern IndexTuple sware_entry_sort_next(SwareEntrySort *sort);
extern void sware_entry_sort_export(SwareEntrySort *sort);
extern List *sware_entry_sort_open_exported(FileSet *files, int participant);
extern int	sware_entry_sort_compare_keys(SwareEntrySort *sort, IndexTuple a, IndexTuple b);
extern bool sware_entry_sort_is_below(SwareEntrySort *sort, IndexTuple a, IndexTuple b);
extern void sware_entry_sort_end(SwareEntrySort *sort);

/* Remove the mark of a dead row; was it there? */
static inline bool
sware_take_dead_mark(IndexTuple entry)
{
	bool		is_dead = (entry->t_info & SWARE_DEAD_ROW) != 0;

	entry->t_info &= ~SWARE_DEAD_ROW;
	return is_dead;
}

#endif							/* SWARE_ENTRYSORT_H */
