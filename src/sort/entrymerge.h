/*-------------------------------------------------------------------------
 *
 * entrymerge.h
 *	  Merging entries that are in order in several places.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ENTRYMERGE_H
#define SWARE_ENTRYMERGE_H

#include "sort/orderedlist.h"
#include "sort/itemsort.h"

typedef struct SwareEntryMerge SwareEntryMerge;

extern SwareEntryMerge *sware_entry_merge_begin(SwareComparator *comparator);
extern void sware_entry_merge_add_list(SwareEntryMerge *merge,
									   SwareOrderedList *list);
extern void sware_entry_merge_add_items(SwareEntryMerge *merge,
										const SwareSortItem *items,
										int64 count);
extern void sware_entry_merge_perform(SwareEntryMerge *merge);
extern IndexTuple sware_entry_merge_next(SwareEntryMerge *merge);
extern void sware_entry_merge_end(SwareEntryMerge *merge);

#endif							/* SWARE_ENTRYMERGE_H */
