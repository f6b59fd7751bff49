/*-------------------------------------------------------------------------
 *
 * pageitem.h
 *	  Reading items of a tree page whose frame sware_check_page has checked.
 *
 * A damaged page must not make searches read outside of it, or scans copy more
 * than they have memory for.  So these functions raise an error
 * (ERRCODE_INDEX_CORRUPTED) unless the item is within the page, and of the
 * kind that is expected.  They do not check the values of a key; only
 * sware_check does.
 *
 * The caller has locked the page, or owns a copy.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PAGEITEM_H
#define SWARE_PAGEITEM_H

#include "utils/rel.h"

#include "base/compat.h"
#include "layout/page.h"
#include "layout/tuple.h"

/* Raise the error for a damaged item. */
SWARE_NORETURN extern void sware_report_item(Relation index, BlockNumber block,
											 Page page, OffsetNumber offset)
			pg_attribute_cold;

/* Returns the item at an offset, which is among the page's line pointers. */
static inline IndexTuple
sware_checked_item(Relation index, BlockNumber block, Page page,
				   OffsetNumber offset)
{
	ItemId		line_pointer = PageGetItemId(page, offset);
	unsigned	start = ItemIdGetOffset(line_pointer);
	unsigned	length = ItemIdGetLength(line_pointer);
	IndexTuple	tuple = (IndexTuple) ((char *) page + start);

	if (unlikely((!ItemIdIsNormal(line_pointer) &&
				  !ItemIdIsDead(line_pointer)) ||
				 start < ((PageHeader) page)->pd_upper ||
				 start != MAXALIGN(start) ||
				 length < sizeof(IndexTupleData) ||
				 start + length >
				 BLCKSZ - sizeof(SwarePageOpaqueData) ||
				 IndexTupleSize(tuple) != length))
		sware_report_item(index, block, page, offset);
	return tuple;
}

/* Like sware_checked_item, for an item that must be a pivot. */
static inline IndexTuple
sware_checked_pivot(Relation index, BlockNumber block, Page page,
					OffsetNumber offset)
{
	IndexTuple	tuple = sware_checked_item(index, block, page, offset);

	if (unlikely(!sware_tuple_is_pivot(tuple) ||
				 IndexTupleSize(tuple) < sizeof(IndexTupleData) +
				 (sware_pivot_has_tid(tuple) ? SWARE_PIVOT_FIELD_SIZE : 0) +
				 (sware_pivot_has_link(tuple) ? SWARE_PIVOT_FIELD_SIZE : 0)))
		sware_report_item(index, block, page, offset);
	return tuple;
}

/* Returns the page that the downlink at an offset leads to. */
static inline SwareLink
sware_checked_downlink(Relation index, BlockNumber block, Page page,
					   OffsetNumber offset)
{
	IndexTuple	tuple = sware_checked_pivot(index, block, page, offset);

	if (unlikely(!sware_pivot_has_link(tuple)))
		sware_report_item(index, block, page, offset);
	return sware_pivot_link(tuple);
}

#endif							/* SWARE_PAGEITEM_H */
