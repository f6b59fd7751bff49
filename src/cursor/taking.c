/*-------------------------------------------------------------------------
 *
 * taking.c
 *	  Taking those entries of pages, sorted zones and staging into a buffer
 *	  cursor's batch that are wanted.
 *
 * A *list* is a sorted zone, or a staged run.  Its entries have numbers in the
 * order of the index.  A few of them are copied at a time, in the order of the
 * scan.  A list can go while it is read, since its memory is used for something
 * else.
 *
 * Comparators and conditions are evaluated, so callers hold no locks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/snapmgr.h"

#include "cursor/buffercursor.h"
#include "layout/tuple.h"
#include "shared/statistics.h"

/* so many entries of a list are copied at once, at first and at most */
#define FIRST_COPIED		4
#define MOST_COPIED			64

/*
 * A list's entries are skipped if their keys tell that they cannot qualify
 * (skip.c).  To seek in a list costs as much as to look at MANY_SKIPPED
 * entries.  After an attempt that has skipped fewer, this looks at twice as
 * many entries before it tries again, and at MAX_PATIENCE at most.
 */
#define MANY_SKIPPED	32
#define MAX_PATIENCE	128

/*
 * A scan leaves up to this number of newest entries unsorted: it looks at their
 * abbreviations, or calls comparators if there are none.
 */
#define MOST_NEWEST				32
#define MOST_NEWEST_COMPARED	8

/* the source of entries that are in staging */
static const SwareEntrySource staging_source = {
	.page = {InvalidBlockNumber, 0}
};

typedef struct ListReader
{
	SwareBufferCursor *cursor;
	int			step;			/* from one entry to the next: 1, or -1 if the
								 * scan goes backward */
	const SwareSortedZone *zone;	/* the list; or NULL: it is a staged run */
	SwareStagedRun run;
	uint64		stamp;			/* the run is valid as long as this is
								 * staging's */
	bool		isGone;			/* has the list been found to be gone? */
	int64		begin;			/* number of the first entry that counts */
	int64		end;			/* number behind the last that counts */
	int64		number;			/* of the present entry; at first, before all */
	bool		leavesOut;		/* are marked entries left out? */
	Size		entrySize;		/* in bytes, of the largest entry */
	int			most;			/* the number of entries to copy next */
	int			taken;			/* how many were taken */
	int			patience;		/* entries are skipped after so many ... */
	int			failures;		/* ... that did not qualify, in a row */
	SwareWindow window;
} ListReader;

static void
init(ListReader *reader, SwareBufferCursor *cursor, int64 begin, int64 end,
	 Size entry_size)
{
	memset(reader, 0, offsetof(ListReader, window));
	reader->cursor = cursor;
	reader->step = cursor->filter.order.forward ? 1 : -1;
	reader->begin = begin;
	reader->end = end;
	reader->number = cursor->filter.order.forward ? begin - 1 : end;
	reader->entrySize = entry_size;
	reader->most = FIRST_COPIED;
	reader->patience = 1;
	sware_window_init(&reader->window);
}

/* Go on with the next entry that is not before `place`.  Calls comparators. */
static void
seek(ListReader *reader, const SwareSearchKey *place)
{
	Relation	index = reader->cursor->filter.order.index;
	int64		number;

	reader->most = FIRST_COPIED;
	if (place->columnCount == 0)
		return;
	number = reader->zone ?
		sware_sorted_zone_search(index, reader->zone, place, &reader->window) :
		sware_staged_run_search(index, &reader->run, reader->stamp, place);
	reader->isGone |= number < 0;
	reader->number = reader->step > 0 ? Max(reader->number, number - 1) :
		Min(reader->number, number);
}

/* Copy entries of the staged run.  Returns false if it is gone. */
static bool
copy_from_run(ListReader *reader, uint32 first, uint32 count)
{
	SwareWindow *window = &reader->window;
	Size		offset = 0;

	if (reader->stamp != sware_staging_stamp())
		return false;
	window->first = first;
	window->count = count;
	for (uint32 i = 0; i < count; i++)
	{
		IndexTuple	entry = reader->run.items[first + i].entry;

		sware_copy_tuple(window->copy.bytes + offset, entry);
		window->offsets[i] = offset;
		offset += MAXALIGN(IndexTupleSize(entry));
	}
	return true;
}

/*
 * Go to the next entry.  Returns its copy, or NULL if none is left or the list
 * is gone.
 */
static inline IndexTuple
next_entry(ListReader *reader)
{
	int64		number = reader->number += reader->step;

	if (reader->isGone || number < reader->begin || number >= reader->end)
		return NULL;
	if (!sware_window_has(&reader->window, number))
	{
		int64		left = reader->step > 0 ? reader->end - number :
			number + 1 - reader->begin;
		uint32		count = Min(Min(reader->most, left),
								(int64) (BLCKSZ / reader->entrySize));
		uint32		first = reader->step > 0 ? number : number + 1 - count;

		reader->most = Min(2 * reader->most, MOST_COPIED);
		reader->isGone = !(reader->zone ?
						   sware_sorted_zone_get(reader->cursor->filter.order.index,
												 reader->zone, first,
												 first + count,
												 reader->step > 0,
												 &reader->window) :
						   copy_from_run(reader, first, count));
		if (reader->isGone)
			return NULL;
	}
	return sware_window_entry(&reader->window, number);
}

/* Take an entry if it is wanted.  The source of *found has been set. */
static inline void
take_if_wanted(SwareBufferCursor *cursor, IndexTuple entry,
			   SwareBufferedEntry *found)
{
	SwareScanFilter *filter = &cursor->filter;

	found->item = sware_scan_order_item(&filter->order, entry);
	if (found->item.abbreviation <= filter->last &&
		sware_batch_wants(&cursor->batch, &found->item) &&
		sware_scan_filter_side(filter, &found->item) == SWARE_IN_RANGE &&
		sware_scan_filter_is_behind_place(filter, &found->item) &&
		sware_scan_keys_satisfy(filter->keys, entry, 0))
		(void) sware_batch_add(&cursor->batch, found, false);
}

/*
 * A way through the wanted entries of a page summary, without those that are
 * known to be marked if the scan leaves marked ones out.  It goes by numbers,
 * which are inverted if it goes backward, as are abbreviations of the scan.
 */
typedef struct SummaryWalk
{
	SwarePageSummary *summary;
	bool		forward;
	bool		usesMarks;
	int64		last;			/* the last number that is wanted */
	int			next;			/* position of the next entry */
	SwareSummaryEntry *entry;	/* the present one; NULL at the end */
	int64		number;			/* its number */
} SummaryWalk;

/* Go to the next entry. */
static inline void
walk_on(SummaryWalk *walk)
{
	SwarePageSummary *summary = walk->summary;

	while (walk->next >= 0 && walk->next < summary->count)
	{
		walk->entry = &summary->entries[walk->next];
		walk->number = walk->forward ? walk->entry->number :
			~walk->entry->number;
		if (walk->number > walk->last)
			break;
		walk->next += walk->forward ? 1 : -1;
		if (!walk->usesMarks || !walk->entry->isMarked)
			return;
	}
	walk->entry = NULL;
}

/* Begin with the first entry. */
static SummaryWalk
begin_walk(const SwareScanFilter *filter, SwarePageSummary *summary)
{
	bool		of_keys = summary->kind.isOfKeys;
	int64		first = of_keys ? (int64) filter->fingerprint : filter->first;
	SummaryWalk walk = {
		.summary = summary,
		.forward = filter->order.forward || of_keys ||
		!sware_has_abbreviations(&filter->order.column),
		.usesMarks = filter->usesMarks,
		.last = of_keys ? first : filter->last
	};

	if (walk.forward)
		walk.next = sware_page_summary_search(summary, first);
	else if (first == PG_INT64_MIN)
		walk.next = summary->count - 1;
	else
		walk.next = sware_page_summary_search(summary, ~first + 1) - 1;
	walk_on(&walk);
	return walk;
}

/*
 * Entries of a page that may be wanted, each in MAXALIGN(its size) bytes,
 * without marks.
 */
typedef struct Candidates
{
	int			count;
	Size		used;
	uint16		offsets[SWARE_MAX_PAGE_ENTRIES];	/* of each on the page, in
													 * bytes */
	union
	{
		char		bytes[BLCKSZ + NAMEDATALEN];	/* see bufferbatch.c */
		double		forAlignment;
	}			memory;
} Candidates;

/*
 * Copy those entries of a page that may be wanted, as its summary says.  If
 * every entry is wanted whose abbreviation is between the filter's first and
 * last, and the first ones in order are enough for a batch, no worse ones are
 * wanted from now on.  The caller has locked the page, so only abbreviations
 * are looked at.
 */
static void
copy_wanted(SwareBufferCursor *cursor, BlockNumber block, Page page,
			SummaryWalk *walk, Candidates *candidates)
{
	SwareScanFilter *filter = &cursor->filter;
	Relation	index = filter->order.index;
	bool		of_keys = walk->summary->kind.isOfKeys;
	int64		previous = filter->first;	/* number of the last one copied */

	candidates->count = 0;
	candidates->used = 0;
	for (; walk->entry; walk_on(walk))
	{
		Size		offset = walk->entry->offset;
		IndexTuple	entry = sware_buffer_entry(index, block, page, &offset);
		Size		size = offset - walk->entry->offset;
		IndexTuple	copy =
			(IndexTuple) (candidates->memory.bytes + candidates->used);

		/* entries never change, but by damage */
		if (unlikely(candidates->used + size > BLCKSZ ||
					 (!of_keys &&
					  sware_abbreviate(&filter->order.column,
									   RelationGetDescr(index),
									   entry) != walk->number)))
			sware_report_buffer_entry(index, block, walk->entry->offset);
		if (filter->usesMarks && sware_entry_is_marked(entry))
		{
			walk->entry->isMarked = true;
			continue;
		}
		if (filter->canNarrow && !of_keys &&
			candidates->count >= cursor->batch.limit &&
			previous > filter->first && walk->number > previous)
		{
			filter->last = previous;
			cursor->batch.hasMore = true;
			break;
		}
		previous = walk->number;
		sware_copy_tuple(copy, entry);
		sware_clear_mark(copy);
		candidates->offsets[candidates->count++] = walk->entry->offset;
		candidates->used += size;
	}
}

bool
sware_take_page(SwareBufferCursor *cursor, SwareLink link)
{
	const SwareScanFilter *filter = &cursor->filter;
	Relation	index = filter->order.index;
	SwareSummaryKind kind = {
		.indexIncarnation = cursor->state.indexIncarnation,
		.isOfKeys = filter->hasKey &&
		cursor->zones.pageCount <= SWARE_SUMMARY_REACH,
		.methods = filter->methods
	};
	SwareBufferedEntry found = {.source.page = link};
	SwarePageSummary *summary;
	SummaryWalk walk;
	Candidates	candidates;
	Buffer		buffer = InvalidBuffer;
	IndexTuple	entry = (IndexTuple) candidates.memory.bytes;

	if (sware_page_summary(index, link, &kind, &summary))
	{
		walk = begin_walk(filter, summary);
		if (walk.entry == NULL)
			return true;
		buffer = sware_read_buffer_page(index, link, BUFFER_LOCK_SHARE);
	}
	if (!BufferIsValid(buffer))
	{
		cursor->strange = link;
		return false;
	}
	copy_wanted(cursor, link.block, BufferGetPage(buffer), &walk, &candidates);
	sware_release_buffer(buffer);
	cursor->reads.pages++;
	for (int i = 0; i < candidates.count; i++)
	{
		found.source.number = candidates.offsets[i];
		take_if_wanted(cursor, entry, &found);
		entry = (IndexTuple)
			((char *) entry + MAXALIGN(IndexTupleSize(entry)));
	}
	return true;
}

/*
 * The present entry does not satisfy the conditions, or is marked.  After some
 * of these in a row, let the reader go on where the next entry of the range can
 * satisfy them.  Calls comparators.
 */
static void
skip_entries(ListReader *reader, IndexTuple entry)
{
	SwareScanKeys *keys = reader->cursor->filter.keys;
	int64		before = reader->number;
	SwareSearchKey place;
	SwareEntryCopy copy;		/* the search may fill the window anew */

	CHECK_FOR_INTERRUPTS();
	if (keys->skip == NULL || ++reader->failures < reader->patience)
		return;
	reader->failures = 0;
	sware_copy_tuple(&copy, entry);
	switch (sware_skip_from_tuple(keys, &copy.tuple, reader->step > 0, &place))
	{
		case SWARE_SKIP_HERE:
			break;
		case SWARE_SKIP_NONE:
			reader->end = reader->begin;
			return;
		case SWARE_SKIP_AHEAD:
			seek(reader, &place);
			break;
	}
	reader->patience =
		(reader->number - before) * reader->step >= MANY_SKIPPED ? 1 :
		Min(2 * reader->patience, MAX_PATIENCE);
}

/*
 * Take the wanted entries of a list, which is without duplicates: `most` of
 * them, and those that have the abbreviation of the last one.  The reader has
 * been initialised; `source` is that of the entries.  Returns false if the list
 * is gone.
 */
static bool
take_from_list(ListReader *reader, SwareEntrySource source, int most)
{
	SwareBufferCursor *cursor = reader->cursor;
	SwareScanFilter *filter = &cursor->filter;
	bool		needs_page = !IsMVCCSnapshot(cursor->scan->xs_snapshot);
	SwareBufferedEntry found = {.source = source};
	int64		previous = 0;	/* abbreviation of the last one taken */
	bool		follows = false;
	IndexTuple	entry;

	CHECK_FOR_INTERRUPTS();
	seek(reader, filter->hasPlace ? &filter->place :
		 sware_scan_filter_range_begin(filter));
	while ((entry = next_entry(reader)) != NULL)
	{
		bool		is_marked = filter->usesMarks &&
			sware_entry_is_marked(entry);
		SwareRangeSide side;

		if (is_marked &&
			sware_window_has(&reader->window, reader->number + reader->step))
		{
			/*
			 * Only the last one of the window is looked at: it tells whether
			 * the range has ended, or where its next stretch begins.
			 */
			reader->leavesOut = true;
			reader->failures++;
			continue;
		}
		sware_clear_mark(entry);
		found.item = sware_scan_order_item(&filter->order, entry);
		if (found.item.abbreviation > filter->last ||
			!sware_batch_wants(&cursor->batch, &found.item))
			break;
		if (reader->taken >= most && found.item.abbreviation > previous)
		{
			filter->last = previous;
			cursor->batch.hasMore = true;
			break;
		}
		side = sware_scan_filter_side(filter, &found.item);
		if (side == SWARE_BEHIND_RANGE)
			break;
		if (side == SWARE_BEFORE_RANGE)
		{
			seek(reader, sware_scan_filter_range_begin(filter));
			continue;
		}
		if (is_marked || !sware_scan_keys_satisfy(filter->keys, entry, 0))
		{
			reader->leavesOut |= is_marked;
			skip_entries(reader, entry);
			continue;
		}

		found.source.number = reader->number;
		if (needs_page &&
			!sware_sorted_zone_copy_page(reader->zone, found.source.number,
										 &found.source.page))
			return false;
		previous = found.item.abbreviation;
		follows = sware_batch_add(&cursor->batch, &found, follows);
		reader->failures = 0;
		if (++reader->taken > cursor->batch.limit)
		{
			/* all later ones of this list are worse */
			cursor->batch.hasMore = true;
			break;
		}
	}
	return !reader->isGone;
}

bool
sware_take_zone(SwareBufferCursor *cursor, const SwareSortedZone *zone,
				int most)
{
	SwareScanFilter *filter = &cursor->filter;
	SwareEntrySource source = {.page = {InvalidBlockNumber, 0},
	.zone = zone - cursor->zones.sorted + 1};
	ListReader	reader;

	cursor->reads.zones++;
	init(&reader, cursor, zone->firstEntry, zone->entries, zone->largestEntry);
	reader.zone = zone;
	if (!take_from_list(&reader, source, most))
	{
		cursor->strange = reader.window.strange;
		return false;
	}

	/*
	 * Behind a place, or in an interval, there may be no entries although the
	 * value exists.
	 */
	if (reader.taken == 0 && !reader.leavesOut && !filter->hasPlace &&
		filter->keys->interval == NULL && filter->hasHash &&
		sware_sorted_zone_has_filter(zone, filter->hash))
		sware_count(filter->order.index, SWARE_STAT_BLOOM_FALSE_POSITIVES, 1);
	return true;
}

/* Take the wanted entries of a staged run.  Returns false if it is gone. */
static bool
take_from_run(SwareBufferCursor *cursor, const SwareStagedRun *run,
			  uint64 stamp)
{
	ListReader	reader;
	int64		first;

	if (!sware_scan_filter_wants_some(&cursor->filter,
									  run->items[0].abbreviation,
									  run->items[run->count - 1].abbreviation,
									  &first))
		return true;
	init(&reader, cursor, 0, run->count, run->entrySize);
	reader.run = *run;
	reader.stamp = stamp;
	return take_from_list(&reader, staging_source, PG_INT32_MAX);
}

/*
 * Take the wanted ones of a staging's newest entries, which begin at a place of
 * its chain.  Returns false if staging has changed since it had this stamp.
 */
static bool
take_newest(SwareBufferCursor *cursor, SwareStaging *staging,
			SwareChainPlace place, uint64 stamp)
{
	const SwareScanFilter *filter = &cursor->filter;
	TupleDesc	descriptor = RelationGetDescr(filter->order.index);
	const SwareEntryChain *chain = &staging->entries;
	SwareChainPlace end = sware_chain_end(chain);	/* functions may add more */
	SwareBufferedEntry found = {.source = staging_source};
	SwareEntryCopy copy;

	while (place.bin != end.bin || place.used != end.used)
	{
		IndexTuple	entry = sware_chain_next(chain, &place);
		int64		abbreviation =
			sware_abbreviate(&filter->order.column, descriptor, entry);

		if (abbreviation < filter->first || abbreviation > filter->last)
			continue;
		sware_copy_tuple(&copy, entry);
		take_if_wanted(cursor, &copy.tuple, &found);
		if (stamp != sware_staging_stamp())
			return false;
	}
	return true;
}

bool
sware_take_staged(SwareBufferCursor *cursor)
{
	const SwareScanOrder *order = &cursor->filter.order;
	SwareStaging *staging = sware_find_staging(order->index);
	const SwareStagedRuns *runs;
	uint64		stamp;

	if (staging == NULL)
		return true;
	runs = sware_staged_runs(staging, order->index,
							 sware_has_abbreviations(&order->column) ?
							 MOST_NEWEST : MOST_NEWEST_COMPARED);
	if (runs == NULL)
		return false;
	stamp = sware_staging_stamp();
	for (int i = 0; i < runs->count; i++)
	{
		if (!take_from_run(cursor, &runs->runs[i], stamp) ||
			stamp != sware_staging_stamp())
			return false;
	}
	return take_newest(cursor, staging, sware_newest_begin(runs), stamp);
}
