/*-------------------------------------------------------------------------
 *
 * orderedlist.h
 *	  Entries set aside in the order in which they came.
 *
 * Grows at its end only, and its latest entries can be taken back.  What
 * does not fit in memory goes to a temporary file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ORDEREDLIST_H
#define SWARE_ORDEREDLIST_H

#include "access/itup.h"

typedef struct SwareOrderedList SwareOrderedList;

extern SwareOrderedList *sware_ordered_list_begin(Size memory);
extern IndexTuple sware_ordered_list_reserve(SwareOrderedList *list, Size size);
extern void sware_ordered_list_append(SwareOrderedList *list);
extern IndexTuple sware_ordered_list_last(SwareOrderedList *list);
extern IndexTuple sware_ordered_list_take_back(SwareOrderedList *list);
extern void sware_ordered_list_rewind(SwareOrderedList *list);
extern IndexTuple sware_ordered_list_next(SwareOrderedList *list);
extern void sware_ordered_list_end(SwareOrderedList *list);

#endif							/* SWARE_ORDEREDLIST_H */
