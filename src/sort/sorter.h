/*-------------------------------------------------------------------------
 *
 * sorter.h
 *	  Sorting entries in memory, cheaply if they come nearly in order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SORTER_H
#define SWARE_SORTER_H

#include "access/itup.h"
#include "utils/rel.h"

extern void sware_sort_entries(Relation index, IndexTuple *entries,
							   int64 count);
extern bool sware_sort_arrivals(Relation index, IndexTuple *entries,
								int64 sorted, int64 count);
extern void sware_merge_entries(Relation index, IndexTuple *entries,
								int64 first_count, int64 second_count);

#endif							/* SWARE_SORTER_H */
