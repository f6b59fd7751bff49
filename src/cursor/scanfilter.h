/*-------------------------------------------------------------------------
 *
 * scanfilter.h
 *	  Which entries of the buffer a scan wants, and which sorted zones and pages
 *	  may have some.
 *
 * An entry is wanted if it lies in a range of the scan's keys and behind a
 * place, and satisfies the conditions.  Abbreviations tell of most entries that
 * they are not wanted; only for the others comparators are called.  Marked
 * entries are not wanted if the scan may leave them out.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SCANFILTER_H
#define SWARE_SCANFILTER_H

#include "keys/abbreviation.h"
#include "keys/scankeys.h"
#include "keys/searchkey.h"
#include "sort/sorter.h"
#include "zones/pagesummary.h"
#include "zones/sortedzone.h"

/*
 * The order in which a scan returns entries: that of the index, or its reverse
 * if the scan goes backward.  All that the buffer's cursor does goes by this
 * order, in which entries always ascend.  Abbreviations are in this order, too:
 * for a backward scan, the first column is taken to descend if it ascends, and
 * to ascend if it descends.
 */
typedef struct SwareScanOrder
{
	Relation	index;
	bool		forward;
	bool		abbreviationsDecide;	/* do equal abbreviations mean equal
										 * keys, unless they are extreme? */
	SwareKeyColumn column;		/* how the first column is compared */
	SwareSearchKey prepared;	/* how all key columns are, in the index's
								 * order */
} SwareScanOrder;

static inline void
sware_scan_order_init(SwareScanOrder *order, Relation index, bool forward)
{
	order->index = index;
	order->forward = forward;
	sware_search_key_prepare(&order->prepared, index);
	order->column = order->prepared.columns[0];
	order->abbreviationsDecide = sware_is_integer(order->column.comparison) &&
		IndexRelationGetNumberOfKeyAttributes(index) == 1;
	if (!forward)
	{
		order->column.descending = !order->column.descending;
		order->column.nullsFirst = !order->column.nullsFirst;
	}
}

/* An entry of the index with its abbreviation. */
static inline SwareSortItem
sware_scan_order_item(const SwareScanOrder *order, IndexTuple entry)
{
	SwareSortItem item = {sware_abbreviate(&order->column,
										   RelationGetDescr(order->index),
										   entry),
	entry};

	return item;
}

/*
 * Compare an entry `a` with the key columns of `b` and a TID.  Calls
 * comparators.
 */
static inline int
sware_scan_order_compare(const SwareScanOrder *order, const SwareSortItem *a,
						 const SwareSortItem *b, const ItemPointerData *tid_b)
{
	int			result = 0;

	if (a->abbreviation != b->abbreviation)
		return a->abbreviation < b->abbreviation ? -1 : 1;

	/* An extreme abbreviation may be that of a null. */
	if (!order->abbreviationsDecide ||
		a->abbreviation == PG_INT64_MIN || a->abbreviation == PG_INT64_MAX)
		result = sware_compare_keys_by(&order->prepared, a->entry, b->entry);
	if (result == 0)
		result = sware_compare_tids(&a->entry->t_tid, tid_b);
	return order->forward ? result : -result;
}

/* where an entry is, as seen from the ranges, in the order of the scan */
typedef enum SwareRangeSide
{
	SWARE_BEFORE_RANGE = -1,	/* keys->range is the next range */
	SWARE_IN_RANGE = 0,
	SWARE_BEHIND_RANGES = 1
} SwareRangeSide;

typedef struct SwareScanFilter
{
	SwareScanKeys *keys;		/* those of the tree cursor, which has
								 * analyzed them */
	bool		asksForKeys;	/* does the scan look up one key after
								 * another? */
	bool		usesMarks;		/* are marked entries left out? */
	bool		isAnalyzed;		/* is what follows set, for these keys? */
	SwareScanOrder order;
	int64		rangesBegin;	/* the smallest abbreviation of an entry in
								 * the ranges */
	int64		rangesEnd;		/* the largest one */
	int64		beginMatters;	/* up to this abbreviation, an entry must be
								 * compared with where the only range begins */
	int64		endMatters;		/* from this one on, with where it ends */
	bool		canNarrow;		/* is every entry wanted whose abbreviation is
								 * between `first` and `last`? */
	bool		needsHash;		/* can the only value of the first column be
								 * hashed for Bloom filters, and is not yet? */
	bool		hasHash;		/* is `hash` set? */
	uint64		hash;
	bool		hasKey;			/* is one key looked for by its fingerprint? */
	uint64		fingerprint;
	uint64		methods;		/* the result of sware_hash_methods() when it
								 * was made */

	/* These change from batch to batch. */
	int64		first;			/* the smallest wanted abbreviation */
	int64		last;			/* the largest one */
	bool		hasPlace;		/* are only entries behind `place` wanted? */
	SwareSearchKey place;		/* no entry before it has the abbreviation
								 * `first` */
} SwareScanFilter;

extern void sware_scan_filter_init(SwareScanFilter *filter, Relation index,
								   SwareScanKeys *keys);

/* Set the direction of the scan.  It may change at any time. */
extern void sware_scan_filter_turn(SwareScanFilter *filter, bool forward);

/*
 * Begin a batch: want the entries behind `after`, or all (NULL).  The entry
 * must stay where it is while the batch is read.  Calls hash functions.
 */
extern void sware_scan_filter_begin(SwareScanFilter *filter, IndexTuple after);

/*
 * Tell where an entry is, as seen from the ranges.  Sets keys->range if there
 * are several ranges.  Calls comparators.
 */
extern SwareRangeSide sware_scan_filter_side(SwareScanFilter *filter,
											 const SwareSortItem *item);

/*
 * Does an entry, whose abbreviation is wanted, lie behind the place?  Calls
 * comparators.
 */
static inline bool
sware_scan_filter_is_behind_place(const SwareScanFilter *filter,
								  const SwareSortItem *item)
{
	int			order;

	if (!filter->hasPlace || item->abbreviation != filter->first)
		return true;
	order = sware_compare_key(&filter->place, item->entry);
	return filter->order.forward ? order < 0 : order > 0;
}

/* Does an entry satisfy the conditions?  Calls their functions. */
static inline bool
sware_scan_filter_satisfies(const SwareScanFilter *filter,
							const SwareSortItem *item)
{
	return filter->keys->conditionCount == 0 ||
		sware_scan_keys_satisfy(filter->keys, item->entry);
}

/* Where the current range begins, in the order of the scan. */
static inline const SwareSearchKey *
sware_scan_filter_range_begin(const SwareScanFilter *filter)
{
	return filter->order.forward ? &filter->keys->low : &filter->keys->high;
}

/*
 * May there be wanted entries between the smallest and the largest abbreviation
 * of a zonemap?  Sets *first to the first abbreviation, in the order of the
 * scan.
 */
static inline bool
sware_scan_filter_wants_some(const SwareScanFilter *filter, int64 smallest,
							 int64 largest, int64 *first)
{
	bool		reversed = !filter->order.forward &&
		sware_has_abbreviations(&filter->order.column);

	*first = reversed ? ~largest : smallest;
	return *first <= filter->last &&
		(reversed ? ~smallest : largest) >= filter->first;
}

/*
 * Can Bloom filters be asked?  Hashes the value when this is called first, by a
 * function that may raise an error.
 */
extern bool sware_scan_filter_has_hash(SwareScanFilter *filter);

#endif							/* SWARE_SCANFILTER_H */
