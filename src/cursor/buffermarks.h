/*-------------------------------------------------------------------------
 *
 * buffermarks.h
 *	  Marking entries of the buffer whose rows are dead to everybody.
 *
 * A scan notes the dead entries that it meets, with where they were read, and
 * marks them later, many at once: on their buffer pages, and in the sorted
 * zones that they were read from.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BUFFERMARKS_H
#define SWARE_BUFFERMARKS_H

#include "storage/itemptr.h"
#include "utils/rel.h"

#include "layout/page.h"
#include "zones/zones.h"

/* Is that staging, where entries have no marks? */
static inline bool
sware_source_is_staging(const SwareEntrySource *source)
{
	return source->zone == 0 && source->page.block == InvalidBlockNumber;
}

/* The dead entries that a scan has met. */
typedef struct SwareDeadEntries
{
	int			count;
	int			allocated;
	SwareDeadEntry *entries;	/* in the scan's memory */
} SwareDeadEntries;

/* Note an entry; memory comes from the context. */
extern void sware_dead_entries_add(SwareDeadEntries *dead, ItemPointer tid,
								   const SwareEntrySource *source,
								   MemoryContext context);

/*
 * Mark what has been noted, and forget it.  To be called before the view
 * changes.  Locks pages for a moment, one at a time; the caller holds no locks.
 */
extern void sware_dead_entries_mark(SwareDeadEntries *dead, Relation index,
									const SwareZoneView *view);

#endif							/* SWARE_BUFFERMARKS_H */
