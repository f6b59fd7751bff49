/*-------------------------------------------------------------------------
 *
 * append.h
 *	  Bulk append: a run above the whole tree becomes whole leaves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_APPEND_H
#define SWARE_APPEND_H

#include "access/itup.h"
#include "utils/rel.h"

/* for test modules, see tree.h */
#pragma GCC visibility push(default)

extern int	sware_entries_within_leaf(Relation index, Page page,
									  IndexTuple *entries, int count);
extern int	sware_entries_within_tree(Relation index, IndexTuple *entries,
									  int count);
extern int	sware_tree_entries_at_edge(Relation index, IndexTuple *entries,
									   int count);
extern int	sware_tree_append_run(Relation index, IndexTuple *entries,
								  int count);

#pragma GCC visibility pop

#endif							/* SWARE_APPEND_H */
