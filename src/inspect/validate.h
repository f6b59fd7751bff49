/*-------------------------------------------------------------------------
 *
 * validate.h
 *	  Is a page what a page of a sware index can be?
 *
 * The functions work on private copies of pages and trust nothing in them.
 * A page that has passed can be given to the rest of the code: every item is
 * within the page and every column within its item.  The inside of a value
 * is not looked at, nor the order of items; no comparator is called.  What is
 * wrong is reported by sware_report_corruption.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_VALIDATE_H
#define SWARE_VALIDATE_H

#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "tree/corruption.h"
#include "tree/entry.h"
#include "tree/page.h"

/* Is a page of the tree, and not of the shared buffer? */
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
extern int	sware_validate_buffer_entries(Relation index, BlockNumber block, Page page);
extern void sware_validate_slots(Relation index, BlockNumber block, Page page);

#endif							/* SWARE_VALIDATE_H */
