/*-------------------------------------------------------------------------
 *
 * split.h
 *	  Splits pages, chooses where to split, and completes splits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SPLIT_H
#define SWARE_SPLIT_H

#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "tree/descent.h"
#include "tree/pagewrite.h"

extern void sware_split(Relation index, Buffer buffer, SwareItems *items,
						int new_item, IndexTuple bound, Buffer child);
extern int	sware_find_split_point(Relation index, Page page, SwareItems *items,
								   int new_item);
extern Size sware_pivot_space(IndexTuple first_right);
extern void sware_insert_downlink(Relation index, Buffer left,
								  SwareStack *stack);

#endif							/* SWARE_SPLIT_H */
