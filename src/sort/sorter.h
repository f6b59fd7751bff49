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

#include "keys/comparator.h"

/*
 * Setting aside is given up if more than one entry of this number is an
 * outlier: of entries as they come, and of those that a good guess has put in
 * order.
 */
#define SWARE_USUAL_SHARE	2
#define SWARE_GUESSED_SHARE	8

extern void sware_sort_entries(Relation index, IndexTuple *entries,
							   int64 count);
extern void sware_sort_behind_lists(Relation index, IndexTuple *entries,
									int64 count, const int64 *begins,
									int lists);
extern void sware_sort_arrivals(Relation index, IndexTuple *entries,
								int64 sorted, int64 count);
extern bool sware_sort_nearly_sorted(SwareComparator *comparator,
									 IndexTuple *entries, int64 count,
									 int share);

#endif							/* SWARE_SORTER_H */
