/*-------------------------------------------------------------------------
 *
 * buffercursor.c
 *	  The buffer cursor: reading a batch.  See buffercursor.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/faultpoint.h"
#include "base/memory.h"
#include "cursor/buffercursor.h"
#include "layout/tuple.h"
#include "pages/bufferpages.h"
#include "pages/pageaccess.h"
#include "shared/statistics.h"

/*
 * The limit of the first batch's entries, the factor by which it grows with
 * each batch, and its maximum.
 */
#define FIRST_LIMIT			8
#define LIMIT_GROWTH		4
#define LAST_LIMIT			2048

/* It does not grow if a batch took this number of bytes. */
#define MANY_BYTES			(1024 * 1024)

/*
 * Each batch looks into each of the sources.  If there are many, it should have
 * about one entry of each; but this is the most for a first batch.
 */
#define FIRST_LIMIT_OF_MANY	256

/*
 * Of the entries that a batch wants, each sorted zone gives as many as if all
 * sources had equally many, and some more: the batch ends where the first one
 * has given its share.
 */
#define MORE_WANTED			1.25
#define FEWEST_WANTED		4

/*
 * How often a page may differ from what the directory says, while the
 * generation stays the same, before this is reported as corruption.
 */
#define MAX_STRANGE_PAGES	10

/*
 * Set up a cursor for a scan, as long as which `keys`, `visibility` and
 * `context` live.  It reads nothing yet.
 */
void
sware_buffer_cursor_init(SwareBufferCursor *cursor, IndexScanDesc scan,
						 SwareScanKeys *keys, SwareVisibility *visibility,
						 MemoryContext context)
{
	/* the large ones need not be set */
	memset(cursor, 0, offsetof(SwareBufferCursor, filter.order));
	cursor->scan = scan;
	cursor->context = context;
	cursor->visibility = visibility;
	cursor->filter.keys = keys;
	cursor->filter.order.index = scan->indexRelation;
	cursor->filter.order.forward = true;
	sware_zone_view_init(&cursor->zones, scan->indexRelation, context);
	cursor->batch.context = context;
	cursor->batch.filter = &cursor->filter;
	sware_batch_begin(&cursor->batch);
}

/* Forget the batch, so that the scan keys may change. */
void
sware_buffer_cursor_rewind(SwareBufferCursor *cursor)
{
	sware_dead_entries_mark(cursor);
	cursor->filter.isAnalyzed = false;
	sware_batch_begin(&cursor->batch);
}

/* Free all memory of a cursor. */
void
sware_buffer_cursor_end(SwareBufferCursor *cursor)
{
	sware_dead_entries_mark(cursor);
	if (cursor->dead)
		pfree(cursor->dead);
	if (cursor->zones.sorted)
		pfree(cursor->zones.sorted);
	if (cursor->zones.pages)
		pfree(cursor->zones.pages);
	if (cursor->sources)
		pfree(cursor->sources);
	if (cursor->batch.roomContext)
		MemoryContextDelete(cursor->batch.roomContext);
	if (cursor->batch.entries)
		pfree(cursor->batch.entries);
	sware_free_saved_entry(&cursor->last);
}

void
sware_buffer_cursor_note_dead(SwareBufferCursor *cursor,
							  const SwareBufferedEntry *buffered)
{
	SwareDeadEntry dead = {buffered->item.entry->t_tid, buffered->source};

	if (!cursor->filter.usesMarks || sware_source_is_staging(&buffered->source))
		return;
	if (cursor->deadCount == cursor->deadAllocated)
		sware_grow(cursor->dead, cursor->deadAllocated, 64, cursor->context);
	cursor->dead[cursor->deadCount++] = dead;
}

/*
 * Look up the entries of the batch in the visibility map.  What it says counts
 * if no page has retired since the batch was read.
 */
static void
look_into_map(SwareBufferCursor *cursor)
{
	SwareBufferBatch *batch = &cursor->batch;
	bool		any = false;

	SWARE_FAULT_POINT("batch-copied");
	for (int i = batch->current; i < batch->count; i++)
	{
		SwareBufferedEntry *buffered = &batch->entries[i];

		buffered->isVisible =
			!sware_source_is_staging(&buffered->source) &&
			sware_ask_map(cursor->visibility, &buffered->item.entry->t_tid);
		any |= buffered->isVisible;
	}
	SWARE_FAULT_POINT("batch-map-read");
	if (any && !sware_buffer_cursor_is_current(cursor))
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

#define ST_SORT			sort_sources
#define ST_ELEMENT_TYPE SwareBufferSource
#define ST_COMPARE(a, b) \
	(((a)->zone != NULL) != ((b)->zone != NULL) ? (a)->zone ? -1 : 1 : \
	 (a)->first < (b)->first ? -1 : (a)->first > (b)->first)
#define ST_SCOPE		static
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * List those sorted zones and sealed pages that may have wanted entries.  Zones
 * come before pages, and either in the order of their first entries, so that
 * most need not be read: enough better entries have been found before.
 */
static void
list_sources(SwareBufferCursor *cursor)
{
	const SwareScanFilter *filter = &cursor->filter;
	int			count = cursor->zones.sortedCount + cursor->zones.pageCount;
	SwareBufferSource *source;
	int64		asked = 0;

	if (cursor->sourcesAllocated < count)
	{
		count = Max(count, 2 * cursor->sourcesAllocated);
		cursor->sources = sware_resize(cursor->sources,
									   count * sizeof(SwareBufferSource),
									   cursor->context);
		cursor->sourcesAllocated = count;
	}
	source = cursor->sources;
	for (int i = 0; i < cursor->zones.sortedCount; i++)
	{
		const SwareSortedZone *zone = &cursor->zones.sorted[i];

		if (!sware_scan_filter_wants_some(filter, zone->smallest,
										  zone->largest, &source->first))
			continue;
		if (filter->hasHash && sware_sorted_zone_has_filter(zone, filter->hash))
		{
			asked++;
			if (sware_sorted_zone_lacks(zone, filter->hash))
				continue;
		}
		source->zone = zone;
		source++;
	}
	if (asked > 0)
		sware_count(filter->order.index, SWARE_STAT_BLOOM_PROBES, asked);
	for (int i = 0; i < cursor->zones.pageCount; i++)
	{
		SwareUnsortedPage *page = &cursor->zones.pages[i];

		if (!sware_scan_filter_wants_some(filter, page->smallest,
										  page->largest, &source->first))
			continue;
		source->zone = NULL;
		source->page = page->page;
		source++;
	}
	cursor->sourceCount = source - cursor->sources;
	sort_sources(cursor->sources, cursor->sourceCount);
}

/*
 * The source with this number is about to be read, and pages had to be read for
 * those before: ask for the first page of some that follow, where these are
 * page runs.
 */
static void
ask_for_sources(const SwareBufferCursor *cursor, SwarePagesAhead *ahead,
				int number)
{
	const SwareScanFilter *filter = &cursor->filter;
	int64		first =
		filter->order.forward ? filter->first : ~filter->first;
	int			end = Min(cursor->sourceCount, number + 1 + ahead->distance);

	for (ahead->asked = Max(ahead->asked, number + 1); ahead->asked < end;
		 ahead->asked++)
	{
		const SwareSortedZone *zone = cursor->sources[ahead->asked].zone;
		SwareLink	link;

		if (cursor->sources[ahead->asked].first > filter->last)
			break;				/* it will not be read, nor those behind it */
		if (zone && zone->isOfRun && sware_run_guess_link(zone, first, &link))
			sware_ask_for_page(ahead, link);
	}
}

/* Take the wanted entries of all sources.  Returns false if one is gone. */
static bool
read_sources(SwareBufferCursor *cursor)
{
	int			limit = cursor->batch.limit;
	bool		asks = sware_has_abbreviations(&cursor->filter.order.column);
	double		share = (double) limit / Max(cursor->sourceCount, 1);
	SwarePagesAhead ahead;

	sware_pages_ahead_init(&ahead, cursor->filter.order.index);
	for (int i = 0; i < cursor->sourceCount; i++)
	{
		SwareBufferSource source = cursor->sources[i];

		sware_batch_narrow(&cursor->batch);
		if (source.first > cursor->filter.last)
			continue;
		if (asks && sware_pages_ahead(&ahead) > 0)
			ask_for_sources(cursor, &ahead, i);
		if (!(source.zone ?
			  sware_take_zone(cursor, source.zone,
							  MORE_WANTED * share + FEWEST_WANTED) :
			  sware_take_page(cursor, source.page)))
			return false;
	}
	return true;
}

/*
 * Read the open pages, last, when it is known which of their entries are too
 * bad for the batch.  Returns false if one is gone.
 */
static bool
read_tails(SwareBufferCursor *cursor)
{
	for (int i = 0; i < cursor->state.tailCount; i++)
	{
		sware_batch_narrow(&cursor->batch);
		if (!sware_take_page(cursor, cursor->state.tails[i]))
			return false;
	}
	return true;
}

/*
 * Collect a batch from the pages that the buffer has in the cursor's state.
 * Returns false if it does not have these any more.
 */
static bool
collect(SwareBufferCursor *cursor)
{
	SwareBufferBatch *batch = &cursor->batch;

	cursor->strange.block = InvalidBlockNumber;
	if (!sware_zone_view_refresh(&cursor->zones, &cursor->state))
		return false;
	/* staged entries were taken with the limit as it is */
	if (batch->count == 0)
		batch->limit = Max(batch->limit,
						   Min(cursor->zones.sortedCount +
							   cursor->zones.pageCount, FIRST_LIMIT_OF_MANY));
	list_sources(cursor);
	if (!read_sources(cursor) || !read_tails(cursor))
		return false;
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
	SWARE_FAULT_POINT("batch-begins");
	if (!cursor->hasStaged)
		sware_scan_filter_begin(&cursor->filter, after);
	if (collect(cursor))
	{
		SWARE_FAULT_POINT("batch-read");

		/* retired pages do not matter to a scan without entries */
		return cursor->batch.count == 0 ||
			sware_buffer_cursor_is_current(cursor);
	}
	if (cursor->strange.block != InvalidBlockNumber &&
		sware_buffer_cursor_is_current(cursor) &&
		++*strange_pages > MAX_STRANGE_PAGES)
		sware_report_corruption(cursor->filter.order.index,
								cursor->strange.block,
								"It is not the buffer page that the directory says.");
	return false;
}

/*
 * Add to the batch what staging has of the entries behind `after`, if anything.
 * If comparison functions change staging meanwhile, it is published.
 */
static void
read_staging(SwareBufferCursor *cursor, IndexTuple after)
{
	while (cursor->hasStaged)
	{
		cursor->stagingGeneration = sware_staging_generation;
		sware_scan_filter_begin(&cursor->filter, after);
		if (sware_take_staged(cursor))
			return;
		sware_batch_begin(&cursor->batch);
		sware_publish_index(cursor->filter.order.index);
		cursor->hasStaged = sware_scan_has_staged(cursor->scan);
	}
}

/* Count the entries of the batch by where they were read. */
static void
count_entries(SwareBufferCursor *cursor)
{
	const SwareBufferBatch *batch = &cursor->batch;
	int			staged = 0;

	for (int i = 0; i < batch->count && cursor->hasStaged; i++)
		staged += sware_source_is_staging(&batch->entries[i].source);
	cursor->reads.stagedEntries += staged;
	cursor->reads.entries += batch->count - staged;
}

/*
 * Read a batch of the entries behind `after`, which is not in the memory of
 * the present batch, or of all entries (NULL).
 */
static void
read_batch(SwareBufferCursor *cursor, IndexTuple after)
{
	int			strange_pages = 0;

	sware_dead_entries_mark(cursor);
	cursor->filter.usesMarks = sware_scan_uses_marks(cursor->scan);
	for (;;)
	{
		sware_batch_begin(&cursor->batch);
		cursor->mapIsRead = false;
		read_staging(cursor, after);
		if (!sware_buffer_read_state(cursor->filter.order.index,
									 &cursor->state))
		{
			if (cursor->batch.count > 0)
				sware_batch_keep_the_best(&cursor->batch);
			break;
		}
		if (read_buffer(cursor, after, &strange_pages))
			break;
		CHECK_FOR_INTERRUPTS();
	}
	count_entries(cursor);
}

void
sware_buffer_cursor_seek(SwareBufferCursor *cursor, bool forward,
						 IndexTuple after)
{
	if (cursor->filter.order.forward != forward)
		cursor->filter.isAnalyzed = false;
	cursor->filter.order.forward = forward;
	/* a bitmap scan, which has no table, wants all entries */
	cursor->batch.limit =
		cursor->scan->heapRelation == NULL ? LAST_LIMIT : FIRST_LIMIT;
	cursor->hasStaged = sware_scan_has_staged(cursor->scan);
	cursor->stagingGeneration = sware_staging_generation;
	cursor->arrivals = sware_arrivals;
	if (cursor->filter.keys->isEmpty)
		sware_batch_begin(&cursor->batch);
	else
		read_batch(cursor, after);
}

/* Have entries left the buffer, or staging, since a batch was read? */
static bool
entries_have_left(SwareBufferCursor *cursor, uint64 generation, bool had_staged,
				  uint64 staging_generation)
{
	return cursor->state.generation != generation ||
		(had_staged && staging_generation != sware_staging_generation);
}

bool
sware_buffer_cursor_read_on(SwareBufferCursor *cursor)
{
	SwareBufferBatch *batch = &cursor->batch;
	IndexTuple	last = batch->entries[batch->count - 1].item.entry;
	uint64		generation = cursor->state.generation;
	bool		had_staged = cursor->hasStaged;
	uint64		staging_generation = cursor->stagingGeneration;

	Assert(batch->hasMore && batch->count > 0);
	sware_save_entry(&cursor->last, cursor->context, last, &last->t_tid);
	if (batch->bytes < MANY_BYTES)
		batch->limit = Min(batch->limit * LIMIT_GROWTH, LAST_LIMIT);

	/* a batch would be read in vain */
	(void) sware_buffer_read_state(cursor->filter.order.index, &cursor->state);
	if (entries_have_left(cursor, generation, had_staged, staging_generation))
		return false;

	read_batch(cursor, cursor->last.tuple);
	return !entries_have_left(cursor, generation, had_staged,
							  staging_generation);
}
