/*-------------------------------------------------------------------------
 *
 * border.h
 *	  Borders: places between entries where a tree cursor goes on.
 *
 * Nothing here reads a page.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BORDER_H
#define SWARE_BORDER_H

#include "access/itup.h"

/*
 * A place between entries.  Without a tuple it is an end of the range: the
 * lower one when going forward from here, the upper one when going backward.
 * With a tuple it is the place of that entry or pivot, which is within the
 * range.
 */
typedef struct SwareBorder
{
	int64		range;
	bool		hasTuple;
	IndexTuple	tuple;			/* a buffer of `size` bytes, or NULL */
	Size		size;
} SwareBorder;

/* Set a border to an end of a range. */
static inline void
sware_set_range_border(SwareBorder *border, int64 range)
{
	border->range = range;
	border->hasTuple = false;
}

/*
 * Set a border to the place of an entry, of the first entry of a posting list,
 * or of a pivot.  Memory comes from the context, always the same for a border.
 */
extern void sware_set_tuple_border(SwareBorder *border, MemoryContext context,
								   int64 range, IndexTuple tuple);

/* Copy a border, to memory of the context for its tuple. */
extern void sware_copy_border(SwareBorder *to, MemoryContext context,
							  const SwareBorder *from);

/* Exchange two borders, which is cheaper than to copy their tuples. */
static inline void
sware_swap_borders(SwareBorder *a, SwareBorder *b)
{
	SwareBorder other = *a;

	*a = *b;
	*b = other;
}

#endif							/* SWARE_BORDER_H */
