/*-------------------------------------------------------------------------
 *
 * bufferbatch.h
 *	  A batch: copies of the next wanted entries of the buffer, up to a limit,
 *	  in the order of the scan and without duplicates.
 *
 * Entries are added in any order.  Whenever there are twice as many as the
 * limit, they are sorted, and the worst ones are removed: those that the scan
 * would return last.  From then on only better entries than the worst one kept
 * are wanted.
 *
 * A scan notes the entries whose rows it finds to be dead to everybody, with
 * where they were read, and marks them later, many at once: on their buffer
 * pages, and in the sorted zones that they were read from.
 *
 * Comparators are called, so callers hold no locks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BUFFERBATCH_H
#define SWARE_BUFFERBATCH_H

#include "cursor/scanfilter.h"
#include "zones/zones.h"

typedef struct SwareBufferedEntry
{
	SwareSortItem item;			/* its entry is in the batch's memory, without
								 * a mark */
	SwareEntrySource source;	/* with its page, if the snapshot is not an
								 * MVCC one */
	bool		isVisible;		/* is its row known to be visible? */
} SwareBufferedEntry;

typedef struct SwareBufferBatch
{
	MemoryContext context;		/* lives as long as the scan */
	SwareScanFilter *filter;	/* what is wanted; less, as the batch fills */
	int			limit;			/* the number of entries wanted */
	int			count;			/* the number of entries that it has */
	int			current;		/* the number of the next one to return */
	bool		hasMore;		/* may entries behind it be wanted? */
	SwareBufferedEntry *entries;
	int			allocated;

	/* while entries are added */
	int			sorted;			/* this number of the first ones are in order,
								 * without duplicates */
	int			kept;			/* this number of them were kept when the
								 * worst ones were removed; 0: none were */

	/* memory for copies of entries */
	Size		bytes;			/* taken, by removed ones, too */
	char	   *room;			/* what is free */
	Size		roomLeft;
	MemoryContext roomContext;	/* NULL until needed */
	union
	{
		char		bytes[512];
		double		forAlignment;
	}			firstRoom;		/* enough for small batches */
} SwareBufferBatch;

extern void sware_batch_init(SwareBufferBatch *batch, SwareScanFilter *filter,
							 MemoryContext context);
extern void sware_batch_end(SwareBufferBatch *batch);

/* Begin a batch: remove all entries. */
extern void sware_batch_begin(SwareBufferBatch *batch);

/*
 * Add a copy of an entry that is wanted.  `follows` says that it is known to
 * lie behind the last one.  Returns whether it is the last one now; false if
 * the batch was full, and has been sorted.
 */
extern bool sware_batch_add(SwareBufferBatch *batch,
							const SwareBufferedEntry *found, bool follows);

/* Sort the batch, and remove the worst entries if it has too many. */
extern void sware_batch_keep_the_best(SwareBufferBatch *batch);

/*
 * Is an entry, whose abbreviation is wanted, better than the worst one, or is
 * the batch not full?
 */
static inline bool
sware_batch_wants(const SwareBufferBatch *batch, const SwareSortItem *item)
{
	const SwareSortItem *worst;

	if (batch->kept == 0)
		return true;
	worst = &batch->entries[batch->kept - 1].item;
	return sware_scan_order_compare(&batch->filter->order, item, worst,
									&worst->entry->t_tid) < 0;
}

/* The next entry of the batch, or NULL if all have been returned. */
static inline SwareBufferedEntry *
sware_batch_head(SwareBufferBatch *batch)
{
	return batch->current < batch->count ? &batch->entries[batch->current] :
		NULL;
}

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

#endif							/* SWARE_BUFFERBATCH_H */
