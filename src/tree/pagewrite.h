/*-------------------------------------------------------------------------
 *
 * pagewrite.h
 *	  Writes items to pages, and collects items from pages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PAGEWRITE_H
#define SWARE_PAGEWRITE_H

#include "access/itup.h"
#include "utils/rel.h"

#include "layout/page.h"

/* The items of a page, or of a page that is to be split. */
typedef struct SwareItems
{
	int			count;
	IndexTuple	tuples[SWARE_MAX_ITEMS_PER_PAGE * 2];
} SwareItems;

extern void sware_write_items(Page page, IndexTuple high_key,
							  const IndexTuple *tuples, int count);
extern void sware_set_high_key(Page page, IndexTuple high_key);
extern void sware_add_item(Page page, IndexTuple tuple, OffsetNumber offset);
extern void sware_remove_item(Page page, OffsetNumber offset);
extern void sware_collect_items(Page page, SwareItems *items);
extern int	sware_deduplicate(Relation index, IndexTuple *tuples, int count);

#endif							/* SWARE_PAGEWRITE_H */
