/*-------------------------------------------------------------------------
 *
 * split.h
 *	  Makes room for entries: removes those of dead rows, splits pages, chooses
 *	  where to split, completes splits, and forecasts how full leaves are to be.
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
extern Buffer sware_lock_right_sibling(Relation index, Buffer buffer);
extern void sware_insert_downlink(Relation index, Buffer left,
								  SwareStack *stack);

/*
 * Return how full, in percent, a leaf is made that has entries like this one,
 * and is to get late ones only.  That is the fill factor if the index has no
 * option forecast_fill, or if too little is known.  Nothing but speed and size
 * depends on it, and two calls may return different numbers.
 *
 * The caller may hold content locks; takes a lightweight lock for a moment.
 */
extern int	sware_leaf_fill(Relation index, IndexTuple entry);

/* Calls comparators. */
extern int	sware_rearrange(SwareSearchKey *key, Buffer buffer,
							IndexTuple *entries, int count, SwareStack *stack);

/*
 * Make room for an item of `size` bytes, line pointer included, on an
 * exclusively locked leaf that has too little free space: remove entries of
 * dead rows.  `hasVersions` says that the entries to come are versions of rows
 * that the index has already.  Returns whether there is room for the item; the
 * leaf may have changed even if there is none.
 *
 * `heap` is the table; if it is NULL, no table is asked.  Locks pages of the
 * table, one at a time, while the leaf is locked.  What this allocates, in the
 * current memory context, can be freed afterwards.
 */
extern bool sware_leaf_make_room(Relation index, Relation heap, Buffer buffer,
								 Size size, bool hasVersions);

#endif							/* SWARE_SPLIT_H */
