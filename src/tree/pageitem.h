/*-------------------------------------------------------------------------
 *
 * pageitem.h
 *	  Items of a tree page, for those who trust nothing but its frame, which
 *	  sware_check_page has checked.
 *
 * Searches read many pages, and scans copy what they see into memory of limited
 * size.  So items lie within the page here, and are of the kind that is expected,
 * or there is an error (ERRCODE_INDEX_CORRUPTED).  The inside of a key is trusted:
 * only sware_check looks at that.
 *
 * The page is locked, or a copy.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PAGEITEM_H
#define SWARE_PAGEITEM_H

#include "utils/rel.h"

#include "tree/entry.h"
#include "tree/page.h"

/* Raise the error for a damaged item. */
extern void sware_report_item(Relation index, BlockNumber block, Page page,
							  OffsetNumber offset);

/* the item at an offset that the page has */
static inline IndexTuple
sware_checked_item(Relation index, BlockNumber block, Page page, OffsetNumber offset)
{
	ItemId		line_pointer = PageGetItemId(page, offset);
	unsigned	start = ItemIdGetOffset(line_pointer);
	unsigned	length = ItemIdGetLength(line_pointer);
	IndexTuple	tuple = (IndexTuple) ((char *) page + start);

	if (unlikely(!ItemIdIsNormal(line_pointer) ||
				 start < ((PageHeader) page)->pd_upper ||
				 start != MAXALIGN(start) ||
				 length < sizeof(IndexTupleData) ||
				 start + length > BLCKSZ - sizeof(SwarePageOpaqueData) ||
				 IndexTupleSize(tuple) != length))
		sware_report_item(index, block, page, offset);
	return tuple;
}

/* the same for a pivot */
static inline IndexTuple
sware_checked_pivot(Relation index, BlockNumber block, Page page, OffsetNumber offset)
{
	IndexTuple	tuple = sware_checked_item(index, block, page, offset);

	if (unlikely(!sware_tuple_is_pivot(tuple) ||
				 IndexTupleSize(tuple) < sizeof(IndexTupleData) +
				 (sware_pivot_has_tid(tuple) ? SWARE_TAIL_SIZE : 0) +
				 (sware_pivot_has_link(tuple) ? SWARE_TAIL_SIZE : 0)))
		sware_report_item(index, block, page, offset);
	return tuple;
}

/* the same for a downlink: the page that it leads to */
static inline SwareLink
sware_checked_downlink(Relation index, BlockNumber block, Page page, OffsetNumber offset)
{
	IndexTuple	tuple = sware_checked_pivot(index, block, page, offset);

	if (unlikely(!sware_pivot_has_link(tuple)))
		sware_report_item(index, block, page, offset);
	return sware_pivot_link(tuple);
}

#endif							/* SWARE_PAGEITEM_H */
