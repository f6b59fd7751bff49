/*-------------------------------------------------------------------------
 *
 * entrymerge.h
 *	  Merging the sorted parts of a parallel build.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ENTRYMERGE_H
#define SWARE_ENTRYMERGE_H

#include "am/entrysort.h"
#include "am/orderedlist.h"

typedef struct SwareEntryMerge SwareEntryMerge;

extern SwareEntryMerge *sware_entry_merge_begin(SwareEntrySort *own);
extern void sware_entry_merge_add_list(SwareEntryMerge *merge, SwareOrderedList *list);
extern void sware_entry_merge_perform(SwareEntryMerge *merge);
extern IndexTuple sware_entry_merge_next(SwareEntryMerge *merge);
extern void sware_entry_merge_end(SwareEntryMerge *merge);

#endif							/* SWARE_ENTRYMERGE_H */
