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
#include "utils/rel.h"

typedef struct SwareEntrySort SwareEntrySort;

extern SwareEntrySort *sware_entry_sort_begin(Relation index, Relation heap, int memory);
extern void sware_entry_sort_put(SwareEntrySort *sort, Datum *values, bool *isnull,
								 ItemPointer tid);
extern void sware_entry_sort_perform(SwareEntrySort *sort);
extern IndexTuple sware_entry_sort_next(SwareEntrySort *sort);
extern void sware_entry_sort_end(SwareEntrySort *sort);

#endif							/* SWARE_ENTRYSORT_H */
