/*-------------------------------------------------------------------------
 *
 * append.h
 *	  Bulk append: runs above the whole tree.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_APPEND_H
#define SWARE_APPEND_H

#include "access/itup.h"
#include "utils/rel.h"

/*
 * test modules call these; servers from 16 on hide what is not said to be
 * visible
 */
#pragma GCC visibility push(default)

extern int	sware_entries_within_tree(Relation index, IndexTuple *entries,
									  int count);
extern int	sware_tree_append_run(Relation index, IndexTuple *entries,
								  int count);

#pragma GCC visibility pop

#endif							/* SWARE_APPEND_H */
