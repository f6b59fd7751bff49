/*-------------------------------------------------------------------------
 *
 * entry.h
 *	  Making entries, posting lists and pivots.  layout/tuple.h draws them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ENTRY_H
#define SWARE_ENTRY_H

#include "access/itup.h"
#include "utils/rel.h"

#include "layout/tuple.h"

/* entries that lie apart are fetched this number of entries before their use */
#define SWARE_PREFETCH_DISTANCE	8

extern IndexTuple sware_form_minus_infinity(SwareLink child);
extern IndexTuple sware_form_downlink(IndexTuple pivot, SwareLink child);
extern IndexTuple sware_form_high_key(IndexTuple pivot);
extern IndexTuple sware_form_pivot(Relation index, IndexTuple last_left,
								   IndexTuple first_right);
extern int	sware_pivot_columns_needed(Relation index, IndexTuple last_left,
									   IndexTuple first_right);
extern IndexTuple sware_form_posting(IndexTuple base, ItemPointer tids,
									 int count);
extern IndexTuple sware_posting_insert(IndexTuple posting, ItemPointer tid,
									   IndexTuple *overflow);
extern bool sware_posting_contains(IndexTuple posting, ItemPointer tid);
extern bool sware_all_equal_image(Relation index);
extern int	sware_columns_of_equal_image(Relation index, IndexTuple a,
										 IndexTuple b, int columns);
extern bool sware_keys_equal_image(Relation index, IndexTuple a, IndexTuple b);
extern void sware_report_large_entry(Relation index, Relation heap,
									 IndexTuple entry);

/*
 * Raise an error if an entry is too large for the index.  `heap` may be NULL
 * if it is not known.
 */
static inline void
sware_check_entry_size(Relation index, Relation heap, IndexTuple entry)
{
	if (unlikely(IndexTupleSize(entry) > SWARE_MAX_ENTRY_SIZE))
		sware_report_large_entry(index, heap, entry);
}

/*
 * Let the processor fetch an entry that will be read a little later than the
 * i-th.  Entries in order lie apart in memory if they did not come in order.
 */
static inline void
sware_prefetch_entry(const IndexTuple *entries, int64 i, int64 count)
{
	if (i + SWARE_PREFETCH_DISTANCE < count)
		__builtin_prefetch(entries[i + SWARE_PREFETCH_DISTANCE]);
}

#endif							/* SWARE_ENTRY_H */
