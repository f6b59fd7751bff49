/*-------------------------------------------------------------------------
 *
 * buffercursor.h
 *	  The buffer cursor: goes through a scan's qualifying entries in the
 *	  buffer, in order, forward or backward.
 *
 * It reads in *batches*.  A batch has the next qualifying entries behind a
 * place, up to a limit, from staging and then from all buffer pages, in order
 * and without duplicates.  It shows the buffer under one generation: if a page
 * retires while the batch is read, it is read again.  Batches are small at
 * first, so that a scan for one entry does not pay for many.
 *
 * Only scans with an MVCC snapshot search staging.  For others, and for
 * parallel scans, it is published.  An entry in the batch whose subtransaction
 * has aborted leads to no row that the snapshot sees: should its TID be another
 * row's by then, that row was inserted later.  If nothing is staged for the
 * index when the scan begins, it need not look there again, unless it sees
 * later rows (docs/architecture.md): then it seeks again whenever this backend
 * has inserted a row.
 *
 * The filter of a cursor says which entries are wanted, and its batch holds
 * those that were found; either has a file of its own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BUFFERCURSOR_H
#define SWARE_BUFFERCURSOR_H

#include "access/genam.h"
#include "access/relscan.h"
#include "utils/snapmgr.h"

#include "cursor/visibility.h"
#include "pages/bufferpages.h"
#include "sort/sorter.h"
#include "staging/staging.h"
#include "tree/border.h"
#include "zones/pagesummary.h"
#include "zones/zones.h"

/* scanfilter.c: which entries are wanted */

/*
 * The order in which a scan returns entries: that of the index, or its reverse
 * if the scan goes backward.  All that the buffer's cursor does goes by this
 * order, in which entries always ascend.  Abbreviations are in this order, too:
 * for a backward scan, the first column is taken to descend if it ascends, and
 * to ascend if it descends.
 */
typedef struct SwareScanOrder
{
	Relation	index;
	bool		forward;
	bool		abbreviationsDecide;	/* do equal abbreviations mean equal
										 * keys, unless they are extreme? */
	SwareKeyColumn column;		/* how the first column is compared */
	SwareSearchKey prepared;	/* how all key columns are, in the index's
								 * order */
} SwareScanOrder;

/* An entry of the index with its abbreviation. */
static inline SwareSortItem
sware_scan_order_item(const SwareScanOrder *order, IndexTuple entry)
{
	SwareSortItem item = {sware_abbreviate(&order->column,
										   RelationGetDescr(order->index),
										   entry),
	entry};

	return item;
}

/*
 * Compare an entry `a` with the key columns of `b` and a TID.  Calls
 * comparators.
 */
static inline int
sware_scan_order_compare(const SwareScanOrder *order, const SwareSortItem *a,
						 const SwareSortItem *b, const ItemPointerData *tid_b)
{
	int			result = 0;

	if (a->abbreviation != b->abbreviation)
		return a->abbreviation < b->abbreviation ? -1 : 1;

	/* An extreme abbreviation may be that of a null. */
	if (!order->abbreviationsDecide ||
		a->abbreviation == PG_INT64_MIN || a->abbreviation == PG_INT64_MAX)
		result = sware_compare_keys_by(&order->prepared, a->entry, b->entry);
	if (result == 0)
		result = sware_compare_tids(&a->entry->t_tid, tid_b);
	return order->forward ? result : -result;
}

/* where an entry is, as seen from the range, in the order of the scan */
typedef enum SwareRangeSide
{
	SWARE_BEFORE_RANGE,
	SWARE_IN_RANGE,
	SWARE_BEHIND_RANGE
} SwareRangeSide;

typedef struct SwareScanFilter
{
	SwareScanKeys *keys;		/* those of the tree cursor, which has
								 * analyzed them */
	bool		asksForKeys;	/* does the scan look up one key after
								 * another? */
	bool		usesMarks;		/* are marked entries left out? */
	bool		isAnalyzed;		/* is what follows set, for these keys? */
	int64		rangeBegin;		/* the smallest abbreviation that an entry of
								 * the range can have to qualify */
	int64		rangeEnd;		/* the largest one */
	int64		beginMatters;	/* up to this abbreviation, an entry must be
								 * compared with where the range begins */
	int64		endMatters;		/* from this one on, with where it ends */
	bool		canNarrow;		/* is every entry wanted whose abbreviation is
								 * between `first` and `last`? */
	bool		hasHash;		/* has the first column one value, with a ... */
	uint64		hash;			/* ... for Bloom filters? */
	bool		hasKey;			/* is one key looked for by its fingerprint? */
	uint64		fingerprint;
	uint64		methods;		/* the result of sware_hash_methods() when it
								 * was made */
	SwareScanOrder order;

	/* These change from batch to batch. */
	int64		first;			/* the smallest wanted abbreviation */
	int64		last;			/* the largest one */
	bool		hasPlace;		/* are only entries behind `place` wanted? */
	SwareSearchKey place;		/* no entry before it has the abbreviation
								 * `first` */
} SwareScanFilter;

/*
 * Begin a batch: want the entries behind `after`, or all (NULL).  The entry
 * must stay where it is while the batch is read.  Calls comparators and hash
 * functions.
 */
extern void sware_scan_filter_begin(SwareScanFilter *filter, IndexTuple after);

/* Tell where an entry is, as seen from the range.  Calls comparators. */
extern SwareRangeSide sware_scan_filter_side(SwareScanFilter *filter,
											 const SwareSortItem *item);

/*
 * Does an entry, whose abbreviation is wanted, lie behind the place?  Calls
 * comparators.
 */
static inline bool
sware_scan_filter_is_behind_place(const SwareScanFilter *filter,
								  const SwareSortItem *item)
{
	int			order;

	if (!filter->hasPlace || item->abbreviation != filter->first)
		return true;
	order = sware_compare_key(&filter->place, item->entry);
	return filter->order.forward ? order < 0 : order > 0;
}

/* Where the range begins, in the order of the scan. */
static inline const SwareSearchKey *
sware_scan_filter_range_begin(const SwareScanFilter *filter)
{
	return filter->order.forward ? &filter->keys->low : &filter->keys->high;
}

/*
 * May there be wanted entries between the smallest and the largest abbreviation
 * of a zonemap?  Sets *first to the first abbreviation, in the order of the
 * scan.
 */
static inline bool
sware_scan_filter_wants_some(const SwareScanFilter *filter, int64 smallest,
							 int64 largest, int64 *first)
{
	bool		reversed = !filter->order.forward &&
		sware_has_abbreviations(&filter->order.column);

	*first = reversed ? ~largest : smallest;
	return *first <= filter->last &&
		(reversed ? ~smallest : largest) >= filter->first;
}

/* bufferbatch.c: those that were found */

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
	MemoryContext roomContext;	/* NULL until needed */
	Size		bytes;			/* taken, by removed ones, too */
	char	   *room;			/* what is free */
	Size		roomLeft;
} SwareBufferBatch;

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

/* Before more entries are added: want no worse ones than the limit allows. */
static inline void
sware_batch_narrow(SwareBufferBatch *batch)
{
	if (batch->kept == 0 && batch->count > batch->limit)
		sware_batch_keep_the_best(batch);
}

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

/* buffercursor.c: the cursor */

/* A sorted zone or a sealed page that may have wanted entries. */
typedef struct SwareBufferSource
{
	int64		first;			/* abbreviation of its first entry, in the
								 * order of the scan; or less */
	const SwareSortedZone *zone;	/* NULL: it is a page */
	SwareLink	page;
} SwareBufferSource;

/* what a cursor has read */
typedef struct SwareBufferReads
{
	int64		stagedEntries;	/* entries of batches, from staging */
	int64		entries;		/* and from the buffer */
	int64		pages;			/* buffer pages, by themselves */
	int64		zones;			/* sorted zones */
} SwareBufferReads;

typedef struct SwareBufferCursor
{
	IndexScanDesc scan;
	MemoryContext context;		/* lives as long as the scan */
	SwareBufferState state;		/* of the buffer: what the metapage says */
	SwareZoneView zones;		/* what is known of sealed pages */
	SwareBufferSource *sources; /* of the batch, beside staging and the open
								 * pages */
	int			sourceCount;
	int			sourcesAllocated;
	SwareBufferBatch batch;
	SwareLink	strange;		/* a page that was found to be another one */
	bool		hasStaged;		/* is staging read, too? */
	uint64		stagingGeneration;	/* under which the batches were read */
	uint64		arrivals;		/* what sware_arrivals was before the first
								 * batch was read */
	SwareDeadEntry *dead;		/* those that the scan has met */
	int			deadCount;
	int			deadAllocated;
	SwareVisibility *visibility;	/* the scan's */
	bool		mapIsRead;		/* was the visibility map asked for the
								 * entries of the batch? */
	SwareSavedEntry last;		/* the last entry of the batch before */
	SwareBufferReads reads;
	SwareScanFilter filter;		/* the large one comes last */
} SwareBufferCursor;

/* Are the pages still there that its state lists?  May lock the metapage. */
static inline bool
sware_buffer_cursor_is_current(const SwareBufferCursor *cursor)
{
	SwareBufferState state;

	(void) sware_buffer_read_state(cursor->scan->indexRelation, &state);
	return state.generation == cursor->state.generation;
}

extern void sware_buffer_cursor_init(SwareBufferCursor *cursor,
									 IndexScanDesc scan, SwareScanKeys *keys,
									 SwareVisibility *visibility,
									 MemoryContext context);
extern void sware_buffer_cursor_rewind(SwareBufferCursor *cursor);
extern void sware_buffer_cursor_end(SwareBufferCursor *cursor);

/*
 * Read the first batch in a direction: of all entries (`after` NULL), or of
 * those behind `after`.  If the batch is empty, none qualifies.  Reads pages,
 * and calls comparators without any lock; the caller holds none.
 */
extern void sware_buffer_cursor_seek(SwareBufferCursor *cursor, bool forward,
									 IndexTuple after);

/*
 * Read the next batch; the last one had entries and is not the last batch.
 * Returns false if a generation has changed since the first batch was read:
 * then the caller must seek both cursors again.  Locks as for
 * sware_buffer_cursor_seek.
 */
extern bool sware_buffer_cursor_read_on(SwareBufferCursor *cursor);

/*
 * Note that the row of an entry of the batch is dead to everybody, if the scan
 * uses marks.  The entry is marked before the next batch is read.
 */
extern void sware_buffer_cursor_note_dead(SwareBufferCursor *cursor,
										  const SwareBufferedEntry *buffered);

/*
 * Mark what has been noted, and forget it (bufferbatch.c).  To be called before
 * the view changes.  Locks pages for a moment, one at a time; the caller holds
 * no locks.
 */
extern void sware_dead_entries_mark(SwareBufferCursor *cursor);

/*
 * Is the row of the head of the batch visible to the scan's snapshot?  If it is
 * dead to everybody, this is noted.  For the first head of a batch, looks up
 * all of it in the visibility map (visibility.h).  Reads the row if the map has
 * not told.  The caller holds no lock.
 */
extern bool sware_buffer_cursor_sees_head(SwareBufferCursor *cursor);

/* Does a scan search staging where it is? */
static inline bool
sware_scan_searches_staging(IndexScanDesc scan)
{
	return scan->xs_snapshot != NULL && IsMVCCSnapshot(scan->xs_snapshot) &&
		scan->parallel_scan == NULL;
}

/* Does it search staging, and is anything staged for its index? */
static inline bool
sware_scan_has_staged(IndexScanDesc scan)
{
	return unlikely(sware_staged_indexes > 0) &&
		sware_scan_searches_staging(scan) &&
		sware_find_staging(scan->indexRelation) != NULL;
}

/* May the scan's snapshot see rows that statements in progress insert later? */
static inline bool
sware_scan_sees_later_rows(IndexScanDesc scan)
{
	return sware_statement.earliestCommand != InvalidCommandId &&
		sware_scan_searches_staging(scan) &&
		scan->xs_snapshot->curcid > sware_statement.earliestCommand;
}

/* taking.c */

/*
 * Take the wanted entries of staging into the cursor's batch, for which its
 * filter has begun.  Returns false if staging has changed in the meantime; then
 * some may be missing.  Calls comparators; the caller holds no locks.
 */
extern bool sware_take_staged(SwareBufferCursor *cursor);

/*
 * Take the wanted entries of a page that is in no sorted zone; or those of a
 * sorted zone: when it has given `most`, none behind the last of these is
 * wanted any more.  Returns false if the page or zone is gone; cursor->strange
 * is set if a page was found to be another one.
 */
extern bool sware_take_page(SwareBufferCursor *cursor, SwareLink page);
extern bool sware_take_zone(SwareBufferCursor *cursor,
							const SwareSortedZone *zone, int most);

#endif							/* SWARE_BUFFERCURSOR_H */
