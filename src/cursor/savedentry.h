/*-------------------------------------------------------------------------
 *
 * savedentry.h
 *	  Memory for a copy of an entry, which is used again for the next one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SAVEDENTRY_H
#define SWARE_SAVEDENTRY_H

#include "access/itup.h"

typedef struct SwareSavedEntry
{
	IndexTuple	tuple;			/* NULL at first */
	Size		size;			/* that was allocated */
} SwareSavedEntry;

/*
 * Save a copy of an entry, given as a tuple with the key columns, and a TID.
 * NAMEDATALEN bytes behind it can be read, too (see bufferbatch.c).
 */
static inline void
sware_save_entry(SwareSavedEntry *saved, MemoryContext context,
				 IndexTuple tuple, const ItemPointerData *tid)
{
	Size		size = IndexTupleSize(tuple);

	if (saved->size < size + NAMEDATALEN)
	{
		if (saved->tuple)
			pfree(saved->tuple);

		/*
		 * Allocate a multiple of 128 bytes, so that keys of varying length
		 * rarely need a new allocation.
		 */
		saved->size = TYPEALIGN(128, size + NAMEDATALEN);
		saved->tuple = MemoryContextAlloc(context, saved->size);
	}
	memcpy(saved->tuple, tuple, size);
	saved->tuple->t_tid = *tid;
}

/* Free the memory. */
static inline void
sware_free_saved_entry(SwareSavedEntry *saved)
{
	if (saved->tuple)
		pfree(saved->tuple);
}

#endif							/* SWARE_SAVEDENTRY_H */
