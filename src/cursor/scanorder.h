/*-------------------------------------------------------------------------
 *
 * scanorder.h
 *	  The order in which a scan returns entries: that of the index, or its
 *	  reverse if the scan goes backward.
 *
 * All that the buffer's cursor does goes by this order, in which entries always
 * ascend.  Abbreviations are in this order, too: for a backward scan, the first
 * column is taken to descend if it ascends, and to ascend if it descends.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SCANORDER_H
#define SWARE_SCANORDER_H

#include "keys/abbreviation.h"
#include "sort/itemsort.h"
#include "keys/searchkey.h"

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

#endif							/* SWARE_SCANORDER_H */
