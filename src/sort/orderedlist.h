/*-------------------------------------------------------------------------
 *
 * orderedlist.h
 *	  Entries set aside in the order in which they came.
 *
 * A list grows at its end only, and its latest entries can be taken back.
 * Entries that do not fit in memory go to a temporary file.
 *
 * A shared list is in a file from the start.  When it has been exported, other
 * processes that are attached to the file set can open it to read it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ORDEREDLIST_H
#define SWARE_ORDEREDLIST_H

#include "access/itup.h"
#include "storage/fileset.h"

typedef struct SwareOrderedList SwareOrderedList;

extern Size sware_ordered_list_memory(void);
extern SwareOrderedList *sware_ordered_list_begin(Size memory);
extern SwareOrderedList *sware_ordered_list_begin_shared(FileSet *files,
														 const char *name);
extern IndexTuple sware_ordered_list_reserve(SwareOrderedList *list, Size size);
extern void sware_ordered_list_append(SwareOrderedList *list);
extern IndexTuple sware_ordered_list_last(SwareOrderedList *list);
extern IndexTuple sware_ordered_list_take_back(SwareOrderedList *list);
extern void sware_ordered_list_export(SwareOrderedList *list);
extern SwareOrderedList *sware_ordered_list_open_shared(FileSet *files,
														const char *name);
extern void sware_ordered_list_rewind(SwareOrderedList *list);
extern IndexTuple sware_ordered_list_next(SwareOrderedList *list);
extern void sware_ordered_list_end(SwareOrderedList *list);

#endif							/* SWARE_ORDEREDLIST_H */
