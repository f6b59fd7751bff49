/*-------------------------------------------------------------------------
 *
 * pagewrite.h
 *	  Pages written from items, and items collected from pages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PAGEWRITE_H
#define SWARE_PAGEWRITE_H

#include "access/itup.h"
#include "utils/rel.h"

#include "layout/page.h"

/*
 * test modules call these; servers from 16 on hide what is not said to be
 * visible
 */
#pragma GCC visibility push(default)

/* a page's items as an array, from which pages can be written anew */
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
extern void sware_remove_tids(Page page, const bool *gone);
extern void sware_collect_items(Relation index, Page page, SwareItems *items);
extern int	sware_deduplicate(Relation index, IndexTuple *tuples, int count);

#pragma GCC visibility pop

#endif							/* SWARE_PAGEWRITE_H */
