/*-------------------------------------------------------------------------
 *
 * border.h
 *	  Borders: places between entries where a tree cursor goes on; and copies of
 *	  entries.
 *
 * Nothing here reads a page.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BORDER_H
#define SWARE_BORDER_H

#include "access/itup.h"

/* Memory for a copy of a tuple, which is used again for the next one. */
typedef struct SwareSavedEntry
{
	IndexTuple	tuple;			/* NULL at first */
	Size		size;			/* that was allocated; 0 at first */
} SwareSavedEntry;

/*
 * Save a copy of a pivot, or of an entry; of a posting list, of its first
 * entry.  Memory comes from the context, always the same for a copy.
 * NAMEDATALEN bytes behind it can be read, too (see cursor/bufferbatch.c).
 */
extern void sware_save_tuple(SwareSavedEntry *saved, MemoryContext context,
							 IndexTuple tuple);

/* Save a copy of an entry, given as a tuple with the key columns, and a TID. */
static inline void
sware_save_entry(SwareSavedEntry *saved, MemoryContext context,
				 IndexTuple tuple, const ItemPointerData *tid)
{
	sware_save_tuple(saved, context, tuple);
	saved->tuple->t_tid = *tid;
}

/* Free the memory. */
static inline void
sware_free_saved_entry(SwareSavedEntry *saved)
{
	if (saved->tuple)
		pfree(saved->tuple);
	memset(saved, 0, sizeof(SwareSavedEntry));
}

/*
 * A place between entries.  Without a tuple it is an end of the range: the
 * lower one when going forward from here, the upper one when going backward.
 * With a tuple it is the place of that entry or pivot, which is within the
 * range.
 */
typedef struct SwareBorder
{
	bool		hasTuple;
	SwareSavedEntry saved;
} SwareBorder;

/*
 * Set a border to the place of an entry, of the first entry of a posting list,
 * or of a pivot.  Memory as for sware_save_tuple.
 */
static inline void
sware_set_tuple_border(SwareBorder *border, MemoryContext context,
					   IndexTuple tuple)
{
	sware_save_tuple(&border->saved, context, tuple);
	border->hasTuple = true;
}

/* Copy a border, to memory of the context for its tuple. */
static inline void
sware_copy_border(SwareBorder *to, MemoryContext context,
				  const SwareBorder *from)
{
	to->hasTuple = from->hasTuple;
	if (from->hasTuple)
		sware_save_tuple(&to->saved, context, from->saved.tuple);
}

/* Exchange two borders, which is cheaper than to copy their tuples. */
static inline void
sware_swap_borders(SwareBorder *a, SwareBorder *b)
{
	SwareBorder other = *a;

	*a = *b;
	*b = other;
}

#endif							/* SWARE_BORDER_H */
