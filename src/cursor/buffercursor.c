/*-------------------------------------------------------------------------
 *
 * buffercursor.c
 *	  The buffer cursor: reading a batch.  See buffercursor.h.
 *
 * While a page is share-locked, only the entries' abbreviations are looked at.
 * Comparators are called after the lock has been released.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/faultpoint.h"
#include "cursor/buffercursor.h"
#include "cursor/onerow.h"
#include "cursor/pagedigest.h"
#include "cursor/stagedsource.h"
#include "layout/tuple.h"
#include "pages/bufferpages.h"
#include "pages/pageaccess.h"
#include "shared/pageversions.h"
#include "shared/statistics.h"
#include "tree/treescan.h"

/*
 * The limit of the first batch's entries, the factor by which it grows with
 * each batch, and its maximum.
 */
#define FIRST_LIMIT			8
#define LIMIT_GROWTH		4
#define LAST_LIMIT			4096

/*
 * Each batch looks into each of the sources.  If there are many, it should have
 * about one entry of each; but this is the most for a first batch.
 */
#define FIRST_LIMIT_OF_MANY	64

/*
 * A scan that leaves out this number of marked entries in a batch, a quarter of
 * a page's, looks whether whole pages are dead.
 */
#define MANY_LEFT_OUT		128

/*
 * How often a page may differ from what the directory says, while the
 * generation stays the same, before this is reported as corruption.
 */
#define MAX_STRANGE_PAGES	10

/*
 * How often comparison functions may change staging while a batch is read,
 * before it is published.
 */
#define MAX_CHANGES			10

/*
 * Set up a cursor for a scan.  It reads nothing yet.  `keys`, `visibility` and
 * `context` live as long as the scan; memory is taken from `context`.
 */
void
sware_buffer_cursor_init(SwareBufferCursor *cursor, IndexScanDesc scan,
						 SwareScanKeys *keys, SwareVisibility *visibility,
						 MemoryContext context)
{
	cursor->scan = scan;
	cursor->context = context;
	sware_scan_filter_init(&cursor->filter, scan->indexRelation, keys);
	sware_buffer_view_init(&cursor->view, scan->indexRelation, context);
	sware_batch_init(&cursor->batch, &cursor->filter, context);
	cursor->hasStaged = false;
	cursor->leftOut = 0;
	memset(&cursor->dead, 0, sizeof(SwareDeadEntries));
	cursor->wantsOneRow = cursor->hasTheRow = cursor->passedOver = false;
	cursor->visibility = visibility;
	cursor->visitor = NULL;
	cursor->last.tuple = NULL;
	cursor->last.size = 0;
	for (int i = 0; i < SWARE_MAX_TAILS; i++)
		cursor->tails[i].bytes = NULL;
}

/* Mark the dead entries that were noted, before the view changes. */
static inline void
mark_dead(SwareBufferCursor *cursor)
{
	sware_dead_entries_mark(&cursor->dead, cursor->filter.order.index,
							&cursor->view.zones);
}

/* Forget the batch, so that the scan keys may change. */
void
sware_buffer_cursor_rewind(SwareBufferCursor *cursor)
{
	mark_dead(cursor);
	cursor->filter.isAnalyzed = false;
	sware_batch_begin(&cursor->batch);
}

/* Free all memory of a cursor. */
void
sware_buffer_cursor_end(SwareBufferCursor *cursor)
{
	mark_dead(cursor);
	if (cursor->dead.entries)
		pfree(cursor->dead.entries);
	sware_buffer_view_end(&cursor->view);
	sware_batch_end(&cursor->batch);
	sware_free_saved_entry(&cursor->last);
}

void
sware_buffer_cursor_note_dead(SwareBufferCursor *cursor,
							  const SwareBufferedEntry *buffered)
{
	if (cursor->filter.usesMarks && !sware_source_is_staging(&buffered->source))
		sware_dead_entries_add(&cursor->dead, &buffered->item.entry->t_tid,
							   &buffered->source, cursor->context);
}

/*
 * Look up the entries of the batch in the visibility map.  What it says counts
 * if no page has retired since the batch was read.
 */
static void
look_into_map(SwareBufferCursor *cursor)
{
	SwareBufferBatch *batch = &cursor->batch;
	SwareMapAnswer answer = {.block = InvalidBlockNumber};
	bool		any = false;

	SWARE_FAULT_POINT("batch-copied");
	for (int i = batch->current; i < batch->count; i++)
	{
		SwareBufferedEntry *buffered = &batch->entries[i];

		buffered->isVisible =
			!sware_source_is_staging(&buffered->source) &&
			sware_ask_map(cursor->visibility, &answer,
						  &buffered->item.entry->t_tid);
		any |= buffered->isVisible;
	}
	SWARE_FAULT_POINT("batch-map-read");
	if (any && !sware_buffer_view_is_current(&cursor->view))
		for (int i = batch->current; i < batch->count; i++)
			batch->entries[i].isVisible = false;
	cursor->mapIsRead = true;
}

bool
sware_buffer_cursor_sees_head(SwareBufferCursor *cursor)
{
	SwareBufferBatch *batch = &cursor->batch;
	const SwareBufferedEntry *head = sware_batch_head(batch);
	bool		all_dead;

	if (!cursor->mapIsRead)
		look_into_map(cursor);
	if (head->isVisible ||
		sware_row_is_visible(cursor->visibility, &head->item.entry->t_tid,
							 &all_dead))
		return true;
	if (all_dead)
		sware_buffer_cursor_note_dead(cursor, head);
	return false;
}

bool
sware_buffer_cursor_met_dead_pages(SwareBufferCursor *cursor)
{
	SwareLink	oldest;

	return cursor->leftOut >= MANY_LEFT_OUT &&
		sware_buffer_view_oldest_page(&cursor->view, &oldest) &&
		sware_buffer_page_is_dead(cursor->filter.order.index, oldest);
}

/*
 * The entries of a page whose abbreviations are wanted, without the marked ones
 * if the scan may leave these out.
 */
typedef struct WantedEntries
{
	int			count;
	int			leftOut;		/* marked ones that are not among them */
	int64		abbreviations[SWARE_MAX_PAGE_ENTRIES];
	uint16		offsets[SWARE_MAX_PAGE_ENTRIES];
} WantedEntries;

/*
 * Add the entries of a page, from a byte on, that may be wanted, in the order
 * of the page.  Returns how many entries it has read.  The caller holds a lock
 * on the page.
 */
static int
find_wanted(const SwareScanFilter *filter, BlockNumber block, Page page,
			Size from, WantedEntries *wanted)
{
	Relation	index = filter->order.index;
	TupleDesc	descriptor = RelationGetDescr(index);
	SwareKeyColumn column = filter->order.column;
	int64		first = filter->first;
	int64		last = filter->last;
	Size		end = sware_buffer_page_end(page);
	int			count = wanted->count;
	int			left_out = 0;
	int			passed = 0;

	for (Size offset = from; offset < end;)
	{
		Size		start = offset;
		IndexTuple	entry = sware_buffer_entry(index, block, page, &offset);

		/* read once: another backend may mark the entry meanwhile */
		unsigned short info = *(volatile unsigned short *) &entry->t_info;
		Size		size = offset - start;
		bool		is_left_out = filter->usesMarks &&
			(info & SWARE_MARKED_ENTRY) != 0;

		/*
		 * Following entries with the same t_info need no checks, and their
		 * places are known.
		 */
		for (;;)
		{
			int64		abbreviation =
				sware_abbreviate(&column, descriptor, entry);
			bool		is_wanted =
				abbreviation >= first && abbreviation <= last;

			wanted->offsets[count] = start;
			wanted->abbreviations[count] = abbreviation;
			count += !is_left_out && is_wanted;
			left_out += is_left_out && is_wanted;
			passed++;
			start += size;
			entry = (IndexTuple) ((char *) page + start);
			if (start + size > end || entry->t_info != info)
				break;
		}
		offset = start;
	}
	wanted->count = count;
	wanted->leftOut += left_out;
	return passed;
}

/*
 * Where in a digest is the first entry that may be wanted, in the scan's order?
 */
static inline int
digest_start(const SwareScanFilter *filter, const SwarePageDigest *digest)
{
	if (filter->order.forward)
		return sware_page_digest_search(digest, filter->first);

	/* The abbreviations of a backward scan are inverted. */
	if (filter->first == PG_INT64_MIN)
		return digest->count - 1;
	return sware_page_digest_search(digest, ~filter->first + 1) - 1;
}

/*
 * About how many marked entries that a scan leaves out does a digest omit?
 * Which of them lie in its ranges is not known, so ranges with two ends have
 * none.
 */
static inline int
count_omitted(const SwareScanFilter *filter, const SwarePageDigest *digest)
{
	return filter->first == PG_INT64_MIN || filter->last == PG_INT64_MAX ?
		digest->omitted : 0;
}

/*
 * Does a digest that has all entries of its page show that none is wanted?
 * Counts the marked ones that are left out in *left_out.
 */
static bool
digest_has_none(const SwareScanFilter *filter, const SwarePageDigest *digest,
				int *left_out)
{
	bool		forward = filter->order.forward;

	*left_out = count_omitted(filter, digest);
	for (int i = digest_start(filter, digest); i >= 0 && i < digest->count;
		 i += forward ? 1 : -1)
	{
		const SwareDigestEntry *entry = &digest->entries[i];

		if ((forward ? entry->abbreviation : ~entry->abbreviation) >
			filter->last)
			break;
		if (!filter->usesMarks || !entry->isMarked)
			return false;
		(*left_out)++;
	}
	return true;
}

/*
 * Add the entries of a digest that may be wanted, in the scan's order; if a
 * small batch needs only the first ones, then not many more: sware_batch_narrow
 * will find that those are enough.  The caller holds a lock on the page.
 */
static void
find_in_digest(const SwareBufferCursor *cursor, BlockNumber block, Page page,
			   SwarePageDigest *digest, WantedEntries *wanted)
{
	const SwareScanFilter *filter = &cursor->filter;
	TupleDesc	descriptor = RelationGetDescr(filter->order.index);
	bool		forward = filter->order.forward;
	bool		may_stop = sware_batch_can_narrow(&cursor->batch);
	int			step = forward ? 1 : -1;
	int			inside = 0;		/* wanted whatever else they are */
	int64		previous = filter->first;

	for (int i = digest_start(filter, digest); i >= 0 && i < digest->count;
		 i += step)
	{
		int64		abbreviation = digest->entries[i].abbreviation;
		Size		offset = digest->entries[i].offset;
		Size		start = offset;
		IndexTuple	entry;

		if (!forward)
			abbreviation = ~abbreviation;
		if (abbreviation > filter->last ||
			(may_stop && inside > cursor->batch.limit &&
			 abbreviation > previous))
			break;
		if (filter->usesMarks && digest->entries[i].isMarked)
		{
			wanted->leftOut++;
			continue;
		}
		entry = sware_buffer_entry(filter->order.index, block, page, &offset);

		/* entries never change, but by damage */
		if (unlikely(sware_abbreviate(&filter->order.column, descriptor,
									  entry) != abbreviation))
			sware_report_buffer_entry(filter->order.index, block, start);
		if (filter->usesMarks && sware_entry_is_marked(entry))
		{
			sware_page_digest_note_marked(digest, i);
			wanted->leftOut++;
			continue;
		}
		wanted->offsets[wanted->count] = start;
		wanted->abbreviations[wanted->count] = abbreviation;
		wanted->count++;
		inside += abbreviation > filter->first && abbreviation < filter->last;
		previous = abbreviation;
	}
}

/*
 * Put the entries of a page that are not in its digest behind those that are.
 * The caller holds a lock on the page.
 */
static void
add_to_digest(const SwareScanFilter *filter, BlockNumber block, Page page,
			  SwarePageDigest *digest)
{
	Relation	index = filter->order.index;
	TupleDesc	descriptor = RelationGetDescr(index);

	digest->added = 0;
	for (Size offset = digest->end; offset < sware_buffer_page_end(page);)
	{
		SwareDigestEntry *added =
			&digest->entries[digest->count + digest->added++];

		added->offset = offset;
		added->isMarked = false;
		added->abbreviation =
			sware_abbreviate(&filter->order.column, descriptor,
							 sware_buffer_entry(index, block, page, &offset));
		if (!filter->order.forward)
			added->abbreviation = ~added->abbreviation;
	}
}

static void
reverse(WantedEntries *wanted)
{
	for (int i = 0, j = wanted->count - 1; i < j; i++, j--)
	{
		int64		abbreviation = wanted->abbreviations[i];
		uint16		offset = wanted->offsets[i];

		wanted->abbreviations[i] = wanted->abbreviations[j];
		wanted->offsets[i] = wanted->offsets[j];
		wanted->abbreviations[j] = abbreviation;
		wanted->offsets[j] = offset;
	}
}

/*
 * Find the entries of an open page that may be wanted, with the page's digest.
 * Returns where the page ends, if the digest should be extended up to there: it
 * has got the new entries then.  Otherwise, returns zero.  The caller holds a
 * lock on the page.
 */
static Size
find_with_digest(SwareBufferCursor *cursor, BlockNumber block, Page page,
				 SwarePageDigest *digest, WantedEntries *wanted)
{
	SwareScanFilter *filter = &cursor->filter;
	Size		end = sware_buffer_page_end(page);
	int			passed;

	/* less cannot be, but for damage */
	if (unlikely(end < digest->end ||
				 (digest->omitted > 0 && !filter->usesMarks)))
		sware_page_digest_reset(digest);
	if (filter->usesMarks)
		sware_page_digest_omit_marked(digest);
	wanted->leftOut += count_omitted(filter, digest);

	/* entries that arrived later are larger, as a rule */
	if (filter->order.forward)
		find_in_digest(cursor, block, page, digest, wanted);
	passed = find_wanted(filter, block, page, digest->end, wanted);
	if (!filter->order.forward)
	{
		reverse(wanted);
		find_in_digest(cursor, block, page, digest, wanted);
	}
	if (!sware_page_digest_passed(digest, passed))
		return 0;
	add_to_digest(filter, block, page, digest);
	return end;
}

/* memory for the candidates of a page */
typedef struct CandidateMemory
{
	union
	{
		char		bytes[BLCKSZ + NAMEDATALEN];	/* see bufferbatch.c */
		double		forAlignment;
	}			entries;
	uint16		offsets[SWARE_MAX_PAGE_ENTRIES];
} CandidateMemory;

/*
 * Copy those entries of a page that may be wanted to the memory of candidates,
 * and find the first of their abbreviations.  Returns false if the page is not
 * the one that the link means any more.  Holds a share lock on the page
 * meanwhile, unless the digest tells everything, and calls no comparator.
 */
static bool
find_candidates(SwareBufferCursor *cursor, SwareLink link, bool is_open,
				CandidateMemory *memory, SwareCandidates *candidates,
				int64 *first)
{
	SwareScanFilter *filter = &cursor->filter;
	SwarePageDigest *digest = NULL;
	uint64		version = SWARE_NO_VERSION;
	Size		digest_end = 0;
	WantedEntries wanted;
	char	   *bytes = memory->entries.bytes;
	int			count = 0;
	Size		used = 0;
	Buffer		buffer;
	Page		page;
	Size		end;

	CHECK_FOR_INTERRUPTS();
	wanted.count = wanted.leftOut = 0;
	*first = PG_INT64_MAX;
	if (sware_has_abbreviations(&filter->order.column))
		digest = sware_page_digest(filter->order.index,
								   cursor->view.state.indexIncarnation, link,
								   is_open);
	if (digest)
	{
		version = sware_page_version(filter->order.index, link.block);
		if (version != SWARE_NO_VERSION && digest->version == version &&
			(digest->omitted == 0 || filter->usesMarks) &&
			digest_has_none(filter, digest, &wanted.leftOut))
		{
			cursor->leftOut += wanted.leftOut;
			candidates->count = 0;
			return true;
		}
		wanted.leftOut = 0;
	}
	buffer = sware_read_buffer_page(filter->order.index, link,
									BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buffer))
		return false;
	page = BufferGetPage(buffer);
	end = sware_buffer_page_end(page);
	if (digest)
		digest_end = find_with_digest(cursor, link.block, page, digest,
									  &wanted);
	else
	{
		(void) find_wanted(filter, link.block, page, SWARE_BUFFER_START,
						   &wanted);
		if (!filter->order.forward)
			reverse(&wanted);
	}
	cursor->leftOut += wanted.leftOut;
	if (sware_batch_can_narrow(&cursor->batch) &&
		wanted.count > cursor->batch.limit)
		sware_batch_narrow(&cursor->batch, wanted.abbreviations, wanted.count);

	for (int i = 0; i < wanted.count; i++)
	{
		int64		abbreviation = wanted.abbreviations[i];
		IndexTuple	entry = (IndexTuple) ((char *) page + wanted.offsets[i]);
		Size		size = MAXALIGN(IndexTupleSize(entry));

		if (abbreviation > filter->last)
			continue;
		if (unlikely(used + size > BLCKSZ))
			sware_report_buffer_entry(filter->order.index, link.block,
									  wanted.offsets[i]);
		*first = Min(*first, abbreviation);
		sware_copy_tuple(bytes + used, entry);
		sware_clear_mark((IndexTuple) (bytes + used));
		memory->offsets[count++] = wanted.offsets[i];
		used += size;
	}
	sware_release_buffer(buffer);
	if (digest_end > 0)
		sware_page_digest_extend(digest, digest_end);
	if (digest)
		digest->version = digest->end == end ? version : SWARE_NO_VERSION;

	candidates->page = link;
	candidates->count = count;
	candidates->offsets = memory->offsets;
	candidates->used = used;
	candidates->bytes = bytes;
	return true;
}

/*
 * May a page have the key, as far as the key cache knows?  The page is an open
 * one, or one of the view.
 */
static inline bool
may_have_key(SwareBufferCursor *cursor, SwareLink link)
{
	SwareScanFilter *filter = &cursor->filter;

	return !filter->hasKey ||
		cursor->view.zones.pageCount > SWARE_KEY_CACHE_REACH ||
		sware_page_may_have_key(filter->order.index, link, &filter->key);
}

/*
 * Take the wanted entries of a sealed page.  Returns false if it is not the
 * page that the link means any more.
 */
static bool
read_page(SwareBufferCursor *cursor, SwareLink link)
{
	CandidateMemory memory;
	SwareCandidates candidates;
	int64		first;

	if (!may_have_key(cursor, link))
		return true;
	if (!find_candidates(cursor, link, false, &memory, &candidates, &first))
		return false;
	sware_take_candidates(cursor, &candidates);
	return true;
}

/*
 * Copy the candidates of an open page, and find the first of their
 * abbreviations.  Returns false if it is not the page that the link means any
 * more.
 */
static bool
read_tail(SwareBufferCursor *cursor, SwareLink link, int number, int64 *first)
{
	CandidateMemory memory;
	SwareCandidates *tail = &cursor->tails[number];

	tail->count = 0;

	/* if abbreviations decide, a digest tells more than the key cache */
	if (!cursor->filter.order.abbreviationsDecide &&
		!may_have_key(cursor, link))
		return true;
	if (!find_candidates(cursor, link, true, &memory, tail, first))
		return false;
	tail->bytes = NULL;
	if (tail->count > 0)
	{
		Size		size = MAXALIGN(tail->used + NAMEDATALEN);

		tail->bytes = MemoryContextAlloc(cursor->context,
										 size + tail->count * sizeof(uint16));
		memcpy(tail->bytes, memory.entries.bytes, tail->used);
		tail->offsets = (uint16 *) (tail->bytes + size);
		memcpy(tail->offsets, memory.offsets,
			   tail->count * sizeof(uint16));
	}
	return true;
}

/* Free the candidates that were found on open pages. */
static void
free_tails(SwareBufferCursor *cursor)
{
	for (int i = 0; i < SWARE_MAX_TAILS; i++)
	{
		if (cursor->tails[i].bytes)
			pfree(cursor->tails[i].bytes);
		cursor->tails[i].bytes = NULL;
	}
}

/*
 * Find the row of a scan that finds one at most (onerow.h) among the candidates
 * of open pages, whose versions are newest at the end.  If it is found, its
 * entry is the batch.  If none is visible, they need not be looked at again.
 */
static bool
find_the_row(SwareBufferCursor *cursor)
{
	SwareBufferBatch *batch = &cursor->batch;
	int			tails = cursor->view.state.tailCount;
	int			candidates = 0;
	bool		all_dead[FIRST_LIMIT];
	bool		is_visible = false;
	bool		is_settled = false;
	int			row;

	for (int i = 0; i < tails; i++)
		candidates += cursor->tails[i].count;

	/* the batch must have room for all */
	if (candidates == 0 || candidates > FIRST_LIMIT)
		return false;
	for (int i = 0; i < tails; i++)
		sware_take_candidates(cursor, &cursor->tails[i]);
	for (row = batch->count - 1; row >= 0; row--)
	{
		is_settled =
			sware_row_is_settled(cursor->visibility,
								 &batch->entries[row].item.entry->t_tid,
								 &is_visible, &all_dead[row]);
		if (is_visible)
			break;
	}
	if (is_visible && !is_settled)
	{
		sware_batch_begin(batch);
		return false;
	}

	for (int i = row + 1; i < batch->count; i++)
		if (all_dead[i])
			sware_buffer_cursor_note_dead(cursor, &batch->entries[i]);
	if (is_settled)
	{
		batch->entries[0] = batch->entries[row];
		batch->count = batch->sorted = 1;
		return true;
	}
	sware_batch_begin(batch);
	for (int i = 0; i < tails; i++)
		cursor->tails[i].count = 0;
	cursor->passedOver = true;
	return false;
}

/*
 * Take the wanted entries of a sorted zone, and count them in *taken.  Returns
 * false if the zone is gone.
 */
static bool
take_from_zone(SwareBufferCursor *cursor, const SwareSortedZone *zone,
			   int *taken)
{
	SwareScanFilter *filter = &cursor->filter;
	SwareEntrySource source = {.page = {InvalidBlockNumber, 0},
	.zone = zone - cursor->view.zones.sorted + 1};
	SwareListReader reader;

	sware_list_reader_init_zone(&reader, filter->order.index, zone,
								filter->order.forward, filter->usesMarks);
	return sware_take_from_list(cursor, &reader, source, taken);
}

/*
 * Read a sorted zone, which its Bloom filter does not exclude.  Returns false
 * if it is gone.
 */
static bool
read_zone(SwareBufferCursor *cursor, const SwareSortedZone *zone)
{
	SwareScanFilter *filter = &cursor->filter;
	int			left_out = cursor->leftOut;
	int			taken;

	if (!take_from_zone(cursor, zone, &taken))
		return false;

	/* Behind a place there may be no entries although the value exists. */
	if (taken == 0 && cursor->leftOut == left_out && !filter->hasPlace &&
		filter->hasHash && sware_sorted_zone_has_filter(zone, filter->hash))
		sware_count(filter->order.index, SWARE_STAT_BLOOM_FALSE_POSITIVES, 1);
	return true;
}

/*
 * A zone of the view is gone.  If it was found to be so since a page of its run
 * is another one, although the buffer still has it, set *strange to that page.
 */
static void
find_strange(SwareBufferCursor *cursor, const SwareSortedZone *zone,
			 SwareLink *strange)
{
	if (!zone->isOfRun || !sware_buffer_view_is_current(&cursor->view) ||
		!sware_run_find_strange(cursor->filter.order.index, zone, strange))
		strange->block = InvalidBlockNumber;
}

/*
 * Read a source of the view.  Returns false if the buffer does not have it any
 * more; *strange is the page that was found to be another one, if any.
 */
static bool
read_source(SwareBufferCursor *cursor, SwareBufferSource source,
			SwareLink *strange)
{
	SwareZoneView *zones = &cursor->view.zones;

	switch (source.kind)
	{
		case SWARE_SOURCE_ZONE:
			if (read_zone(cursor, &zones->sorted[source.number]))
				return true;
			find_strange(cursor, &zones->sorted[source.number], strange);
			return false;
		case SWARE_SOURCE_PAGE:
			*strange = zones->pages[source.number].page;
			return read_page(cursor, *strange);
		case SWARE_SOURCE_TAIL:
			sware_take_candidates(cursor, &cursor->tails[source.number]);
			break;
	}
	return true;
}

/*
 * Collect a batch from the pages of the view.  Returns false if the buffer does
 * not have these pages any more; *strange is the page that was found to be
 * another one, if any.
 */
static bool
collect(SwareBufferCursor *cursor, SwareLink *strange)
{
	SwareBufferView *view = &cursor->view;
	SwareBufferBatch *batch = &cursor->batch;
	int64		firsts[SWARE_MAX_TAILS];

	free_tails(cursor);
	for (int i = 0; i < view->state.tailCount; i++)
	{
		*strange = view->state.tails[i];
		if (!read_tail(cursor, *strange, i, &firsts[i]))
			return false;
	}
	cursor->hasTheRow = cursor->wantsOneRow && find_the_row(cursor);
	if (cursor->hasTheRow)
		return true;

	strange->block = InvalidBlockNumber;
	if (!sware_buffer_view_refresh(view))
		return false;
	sware_buffer_view_add_sealed(view, &cursor->filter);
	for (int i = 0; i < view->state.tailCount; i++)
		if (cursor->tails[i].count > 0)
			sware_buffer_view_add(view, firsts[i], SWARE_SOURCE_TAIL, i);
	/* staged entries were taken with the limit as it is */
	if (batch->count == 0)
		batch->limit = Max(batch->limit,
						   Min(view->sourceCount, FIRST_LIMIT_OF_MANY));

	while (view->sourceCount > 0)
	{
		SwareBufferSource source = sware_buffer_view_take(view);

		if (batch->kept == 0 && batch->count > batch->limit)
			sware_batch_keep_the_best(batch);
		if (source.first > cursor->filter.last)
			break;				/* all other sources have worse entries */

		strange->block = InvalidBlockNumber;
		if (!read_source(cursor, source, strange))
			return false;
	}
	free_tails(cursor);
	if (batch->count > 0)
		sware_batch_keep_the_best(batch);
	return true;
}

/*
 * Add to the batch what the buffer has of the entries behind `after`.  Returns
 * false if the generation has changed in the meantime, and so some may be
 * missing.  *strange_pages counts pages as in MAX_STRANGE_PAGES.
 */
static bool
read_buffer(SwareBufferCursor *cursor, IndexTuple after, int *strange_pages)
{
	SwareLink	strange;

	SWARE_FAULT_POINT("batch-begins");
	if (!cursor->hasStaged)
		sware_scan_filter_begin(&cursor->filter, after);
	cursor->filter.key.indexIncarnation = cursor->view.state.indexIncarnation;
	if (collect(cursor, &strange))
	{
		SWARE_FAULT_POINT("batch-read");

		/*
		 * If nothing qualifies, or the snapshot sees the row, retired pages
		 * do not matter.
		 */
		return cursor->batch.count == 0 || cursor->visitor ||
			cursor->hasTheRow ||
			sware_buffer_view_is_current(&cursor->view);
	}
	if (strange.block != InvalidBlockNumber &&
		sware_buffer_view_is_current(&cursor->view) &&
		++*strange_pages > MAX_STRANGE_PAGES)
		sware_report_corruption(cursor->filter.order.index, strange.block,
								"It is not the buffer page that the directory says.");
	return false;
}

/*
 * Note that comparison functions have changed staging while a batch was read.
 * If they do so again and again, it is published.  *changes counts as in
 * MAX_CHANGES.
 */
static void
note_change(SwareBufferCursor *cursor, int *changes)
{
	if (++*changes % MAX_CHANGES != 0)
		return;
	sware_publish_index(cursor->filter.order.index);
	cursor->hasStaged = sware_scan_has_staged(cursor->scan);
}

/*
 * Add to the batch what staging has of the entries behind `after`, if anything.
 */
static void
read_staging(SwareBufferCursor *cursor, IndexTuple after, int *changes)
{
	while (cursor->hasStaged)
	{
		cursor->stagingGeneration = sware_staging_generation;
		sware_scan_filter_begin(&cursor->filter, after);
		if (sware_take_staged(cursor))
			return;
		CHECK_FOR_INTERRUPTS();
		note_change(cursor, changes);
		sware_batch_begin(&cursor->batch);
	}
}

/*
 * Read a batch of the entries behind `after`, which is not in the memory of
 * the present batch, or of all entries (NULL).  With `same_generation`,
 * returns false if a generation is not that of the batch before.  An entry that
 * leaves staging while the buffer is read is in the batch, or lies behind it;
 * then the next batch is refused.
 */
static bool
read_batch(SwareBufferCursor *cursor, IndexTuple after, bool same_generation)
{
	SwareBufferState *state = &cursor->view.state;
	uint64		generation = state->generation;
	bool		had_staged = cursor->hasStaged;
	uint64		staging_generation = cursor->stagingGeneration;
	int			strange_pages = 0;
	int			changes = 0;

	mark_dead(cursor);
	cursor->filter.usesMarks = sware_scan_uses_marks(cursor->scan);
	for (;;)
	{
		bool		is_empty;
		bool		is_complete = true;

		sware_batch_begin(&cursor->batch);
		cursor->hasTheRow = false;
		cursor->mapIsRead = false;
		cursor->leftOut = 0;
		read_staging(cursor, after, &changes);
		is_empty = !sware_buffer_read_state(cursor->filter.order.index, state);
		if (same_generation &&
			(state->generation != generation ||
			 (had_staged && staging_generation != sware_staging_generation)))
			return false;
		if (!is_empty)
			is_complete = read_buffer(cursor, after, &strange_pages);
		else if (cursor->batch.count > 0)
			sware_batch_keep_the_best(&cursor->batch);
		if (is_complete)
			return true;
		CHECK_FOR_INTERRUPTS();
	}
}

/* Begin to read, in a direction. */
static void
begin(SwareBufferCursor *cursor, bool forward, int limit)
{
	sware_scan_filter_turn(&cursor->filter, forward);
	cursor->batch.limit = limit;
	cursor->hasStaged = sware_scan_has_staged(cursor->scan);
	cursor->passedOver = false;
	cursor->wantsOneRow = !cursor->hasStaged &&
		sware_scan_finds_one_row(cursor->scan, cursor->filter.keys);
	cursor->stagingGeneration = sware_staging_generation;
	cursor->arrivals = sware_arrivals;
}

void
sware_buffer_cursor_seek(SwareBufferCursor *cursor, bool forward,
						 IndexTuple after)
{
	begin(cursor, forward, FIRST_LIMIT);
	if (cursor->filter.keys->rangeCount > 0)
		(void) read_batch(cursor, after, false);
	else
		sware_batch_begin(&cursor->batch);
}

bool
sware_buffer_cursor_read_on(SwareBufferCursor *cursor)
{
	SwareBufferBatch *batch = &cursor->batch;
	IndexTuple	last = batch->entries[batch->count - 1].item.entry;

	Assert(batch->hasMore && batch->count > 0);
	sware_save_entry(&cursor->last, cursor->context, last, &last->t_tid);
	batch->limit = Min(batch->limit * LIMIT_GROWTH, LAST_LIMIT);
	return read_batch(cursor, cursor->last.tuple, true);
}

void
sware_buffer_cursor_visit_all(SwareBufferCursor *cursor, SwareVisitor *visitor)
{
	begin(cursor, true, PG_INT32_MAX / 2);
	cursor->visitor = visitor;
	if (cursor->filter.keys->rangeCount > 0)
		(void) read_batch(cursor, NULL, false);
	cursor->visitor = NULL;
}
