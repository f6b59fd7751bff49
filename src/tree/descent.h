/*-------------------------------------------------------------------------
 *
 * descent.h
 *	  Finds pages from the root down, and parents from a child up.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_DESCENT_H
#define SWARE_DESCENT_H

#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "keys/searchkey.h"
#include "layout/page.h"

/*
 * The ancestors of a page, the nearest one first, as a descent has seen them:
 * a hint, which is checked.
 */
typedef struct SwareStack
{
	SwareLink	page;
	OffsetNumber offset;
	struct SwareStack *parent;
} SwareStack;

extern bool sware_tree_has_downlinks(Relation index);
extern Buffer sware_descend(const SwareSearchKey *key, int level, int lockmode,
							SwareStack **stack);
extern Buffer sware_descend_to_edge(Relation index, int level, bool rightmost);
extern Buffer sware_seek_leaf(Relation index, const SwareSearchKey *key,
							  bool rightmost);
extern Buffer sware_step_left(Relation index, SwareLink sibling,
							  SwareLink page, int level);
extern Buffer sware_find_parent(Relation index, Buffer child, SwareStack *stack,
								OffsetNumber *offset);
extern void sware_count_step(Relation index, BlockNumber block, int64 *steps);

#endif							/* SWARE_DESCENT_H */
