/*-------------------------------------------------------------------------
 *
 * comparator.h
 *	  Comparing entries of an index, many times in one operation.
 *
 * What is constant is found out once: a comparator holds a SortSupport for
 * each key column, whose function is called directly.  These functions may keep
 * state, so a comparator belongs to one operation, and is not reused after
 * an error.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_COMPARATOR_H
#define SWARE_COMPARATOR_H

#include "access/itup.h"
#include "utils/rel.h"
#include "utils/sortsupport.h"

#include "keys/searchkey.h"

/* Test modules call what is declared here; see tree.h. */
#pragma GCC visibility push(default)

typedef struct SwareComparator
{
	Relation	index;
	TupleDesc	descriptor;
	MemoryContext context;		/* context in which it was made */
	MemoryContext scratch;		/* context in which functions run; NULL at
								 * first */
	uint32		calls;
	SwareKeyColumn first;		/* how the first column is compared */
	bool		isOneInteger;	/* is it the only key column, and an integer? */
	int			columnCount;
	SortSupportData columns[FLEXIBLE_ARRAY_MEMBER];
} SwareComparator;

extern SwareComparator *sware_make_comparator(Relation index);
extern void sware_prepare_column(SortSupport column, Relation index, int number,
								 bool abbreviate);
extern int	sware_comparator_keys(SwareComparator *comparator, IndexTuple a,
								  IndexTuple b);

#pragma GCC visibility pop

/* A TID as a number, in the same order. */
static inline uint64
sware_tid_number(const ItemPointerData *tid)
{
	return (uint64) ItemPointerGetBlockNumberNoCheck(tid) << 16 |
		ItemPointerGetOffsetNumberNoCheck(tid);
}

/* Compare two TIDs. */
static inline int
sware_compare_tids(const ItemPointerData *a, const ItemPointerData *b)
{
	uint64		number_a = sware_tid_number(a);
	uint64		number_b = sware_tid_number(b);

	return (number_a > number_b) - (number_a < number_b);
}

/*
 * Compare two entries, which may be marked as dead, by (key, TID).  Like
 * sware_comparator_keys.
 */
static inline int
sware_comparator_entries(SwareComparator *comparator, IndexTuple a,
						 IndexTuple b)
{
	int			order = sware_comparator_keys(comparator, a, b);

	return order != 0 ? order : sware_compare_tids(&a->t_tid, &b->t_tid);
}

#endif							/* SWARE_COMPARATOR_H */
