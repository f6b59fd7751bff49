/*-------------------------------------------------------------------------
 *
 * validate.h
 *	  Validation of single pages.
 *
 * The functions work on private copies of pages, and trust nothing in them.
 * Other code can work with a page that has passed: every item is within the
 * page, and every column within its item.  They do not look at the contents of
 * values or at the order of items, and call no comparator.  A fault is
 * reported by sware_report_corruption, with ERRCODE_INDEX_CORRUPTED.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_VALIDATE_H
#define SWARE_VALIDATE_H

#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "layout/page.h"
#include "pages/pageaccess.h"

/* Is a page one of the tree, and not of the buffer? */
static inline bool
sware_page_is_of_tree(Page page)
{
	return SwarePageGetOpaque(page)->kind == SWARE_KIND_LEAF ||
		SwarePageGetOpaque(page)->kind == SWARE_KIND_INTERNAL;
}

extern void sware_copy_page(Relation index, BlockNumber block,
							BufferAccessStrategy strategy, Page copy);
extern void sware_validate_frame(Relation index, BlockNumber block, Page page);
extern void sware_validate_item(Relation index, BlockNumber block, Page page,
								OffsetNumber offset);
extern void sware_validate_page(Relation index, BlockNumber block, Page page);
extern int	sware_validate_buffer_entries(Relation index, BlockNumber block,
										  Page page);
extern void sware_validate_slots(Relation index, BlockNumber block, Page page);

#endif							/* SWARE_VALIDATE_H */
