/*-------------------------------------------------------------------------
 *
 * pairsort.h
 *	  Sorting pairs of numbers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PAIRSORT_H
#define SWARE_PAIRSORT_H

typedef struct SwarePair
{
	int64		major;
	int64		minor;
} SwarePair;

typedef struct SwarePairSort SwarePairSort;

extern SwarePairSort *sware_pair_sort_begin(int memory);
extern void sware_pair_sort_put(SwarePairSort *sort, int64 major, int64 minor);
extern void sware_pair_sort_perform(SwarePairSort *sort);
extern bool sware_pair_sort_next(SwarePairSort *sort, SwarePair *pair);
extern void sware_pair_sort_end(SwarePairSort *sort);

#endif							/* SWARE_PAIRSORT_H */
