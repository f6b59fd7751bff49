/*-------------------------------------------------------------------------
 *
 * entrymerge.h
 *	  Merging entries that are in order in several places.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ENTRYMERGE_H
#define SWARE_ENTRYMERGE_H

#include "sort/itemsort.h"
#include "sort/sortedfile.h"

typedef struct SwareEntryMerge SwareEntryMerge;

extern SwareEntryMerge *sware_entry_merge_begin(SwareComparator *comparator);
extern void sware_entry_merge_add(SwareEntryMerge *merge,
								  SwareSortedFile *file,
								  const IndexTuple *entries, int64 count);
extern void sware_entry_merge_perform(SwareEntryMerge *merge);
extern IndexTuple sware_entry_merge_next(SwareEntryMerge *merge);
extern void sware_entry_merge_end(SwareEntryMerge *merge);

#endif							/* SWARE_ENTRYMERGE_H */
