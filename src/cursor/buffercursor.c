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

#include "base/faultpoint.h"
#include "base/memory.h"
#include "cursor/buffercursor.h"
#include "layout/tuple.h"
#include "pages/bufferpages.h"
#include "pages/pageaccess.h"

/*
 * The limit of the first batch's entries, the factor by which it grows with
 * each batch, and its maximum.
 */
#define FIRST_LIMIT			8
#define LIMIT_GROWTH		4
#define LAST_LIMIT			2048

/*
 * Each batch looks into each of the sources.  If there are many, it should have
 * about one entry of each; but this is the most for a first batch.
 */
#define FIRST_LIMIT_OF_MANY	64

/* ... if the pages among them have summaries; else each batch reads them all */
#define FIRST_LIMIT_UNREAD	256

/*
 * Of the entries that a batch wants, each sorted zone gives as many as it
 * should have of them, and some more: the batch ends where the first one has
 * given its share.  An extreme value makes a zone look sparse, so each gives as
 * many as if all had equally many.
 */
#define MORE_WANTED			1.25
#define FEWEST_WANTED		4

/*
 * How often a page may differ from what the directory says, while the
 * generation stays the same, before this is reported as corruption.
 */
#define MAX_STRANGE_PAGES	10

/* how often comparison functions may change staging, before it is published */
#define MAX_CHANGES			10

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
	sware_zone_view_init(&cursor->view.zones, scan->indexRelation, context);
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
	if (cursor->dead.entries)
		pfree(cursor->dead.entries);
	if (cursor->view.zones.sorted)
		pfree(cursor->view.zones.sorted);
	if (cursor->view.zones.pages)
		pfree(cursor->view.zones.pages);
	if (cursor->view.sources)
		pfree(cursor->view.sources);
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
	SwareDeadEntries *dead = &cursor->dead;

	if (!cursor->filter.usesMarks || sware_source_is_staging(&buffered->source))
		return;
	if (dead->count == dead->allocated)
		sware_grow(dead->entries, dead->allocated, 64, cursor->context);
	dead->entries[dead->count].tid = buffered->item.entry->t_tid;
	dead->entries[dead->count].source = buffered->source;
	dead->count++;
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
							 &all_dead, NULL))
		return true;
	if (all_dead)
		sware_buffer_cursor_note_dead(cursor, head);
	return false;
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
	int64		number;			/* of the present one */
} SummaryWalk;

static void
begin_walk(const SwareScanFilter *filter, SwarePageSummary *summary,
		   SummaryWalk *walk)
{
	bool		of_keys = summary->kind.isOfKeys;
	int64		first = of_keys ? (int64) filter->fingerprint : filter->first;

	walk->summary = summary;
	walk->forward = filter->order.forward || of_keys ||
		!sware_has_abbreviations(&filter->order.column);
	walk->usesMarks = filter->usesMarks;
	walk->last = of_keys ? first : filter->last;
	if (walk->forward)
		walk->next = sware_page_summary_search(summary, first);
	else if (first == PG_INT64_MIN)
		walk->next = summary->count - 1;
	else
		walk->next = sware_page_summary_search(summary, ~first + 1) - 1;
}

/* Go to the next entry.  Returns NULL at the end. */
static inline SwareSummaryEntry *
walk_on(SummaryWalk *walk)
{
	SwarePageSummary *summary = walk->summary;

	while (walk->next >= 0 && walk->next < summary->count)
	{
		SwareSummaryEntry *entry = &summary->entries[walk->next];

		walk->number = walk->forward ? entry->number : ~entry->number;
		if (walk->number > walk->last)
			break;
		walk->next += walk->forward ? 1 : -1;
		if (!walk->usesMarks || !entry->isMarked)
			return entry;
	}
	return NULL;
}

/*
 * Copy those entries of a page that may be wanted, as its summary says:
 * `wanted` is the first on the way through that.  If every entry is wanted
 * whose abbreviation is between the filter's first and last, and the first ones
 * in order are enough for a batch, no worse ones are wanted from now on.
 * Returns false if the page is not the one that the link means any more.  Holds
 * a share lock on it meanwhile.
 */
static bool
copy_wanted(SwareBufferCursor *cursor, SwareLink link, SummaryWalk *walk,
			SwareSummaryEntry *wanted, SwareCandidates *candidates)
{
	SwareScanFilter *filter = &cursor->filter;
	Relation	index = filter->order.index;
	Buffer		buffer = sware_read_buffer_page(index, link, BUFFER_LOCK_SHARE);
	bool		of_keys = walk->summary->kind.isOfKeys;
	int64		previous = filter->first;	/* number of the last one copied */

	if (!BufferIsValid(buffer))
		return false;
	candidates->page = link;
	candidates->count = 0;
	candidates->used = 0;
	for (; wanted; wanted = walk_on(walk))
	{
		Size		offset = wanted->offset;
		IndexTuple	entry = sware_buffer_entry(index, link.block,
											   BufferGetPage(buffer), &offset);
		Size		size = offset - wanted->offset;
		IndexTuple	copy =
			(IndexTuple) (candidates->memory.bytes + candidates->used);

		/* entries never change, but by damage */
		if (unlikely(candidates->used + size > BLCKSZ ||
					 (!of_keys &&
					  sware_abbreviate(&filter->order.column,
									   RelationGetDescr(index),
									   entry) != walk->number)))
			sware_report_buffer_entry(index, link.block, wanted->offset);
		if (filter->usesMarks && sware_entry_is_marked(entry))
		{
			wanted->isMarked = true;
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
		candidates->offsets[candidates->count++] = wanted->offset;
		candidates->used += size;
	}
	sware_release_buffer(buffer);
	cursor->reads.pages++;
	return true;
}

/*
 * Take the wanted entries of a page that is in no sorted zone.  Returns false
 * if it is not the page that the link means any more.
 */
static bool
read_page(SwareBufferCursor *cursor, SwareLink link)
{
	const SwareScanFilter *filter = &cursor->filter;
	SwareSummaryKind kind = {
		.indexIncarnation = cursor->view.state.indexIncarnation,
		.isOfKeys = filter->hasKey &&
		cursor->view.zones.pageCount <= SWARE_SUMMARY_REACH,
		.methods = filter->methods
	};
	SwarePageSummary *summary;
	SwareSummaryEntry *wanted;
	SummaryWalk walk;
	SwareCandidates candidates;

	if (!sware_page_summary(filter->order.index, link, &kind, &summary))
		return false;
	begin_walk(filter, summary, &walk);
	wanted = walk_on(&walk);
	if (wanted == NULL)
		return true;
	if (!copy_wanted(cursor, link, &walk, wanted, &candidates))
		return false;
	sware_take_candidates(cursor, &candidates);
	return true;
}

/*
 * Find the row of a scan that finds one at most among the entries of open
 * pages, which are those of the batch, the newest versions at the end.  If it
 * is found, its entry is the batch.  If none is visible, they need not be
 * looked at again.
 */
static bool
find_the_row(SwareBufferCursor *cursor)
{
	SwareBufferBatch *batch = &cursor->batch;
	bool		all_dead[FIRST_LIMIT];
	bool		is_visible = false;
	bool		is_settled = false;
	int			row;

	if (batch->count == 0 || batch->count > FIRST_LIMIT || batch->kept > 0)
		return false;
	for (row = batch->count - 1; row >= 0 && !is_visible; row--)
		is_visible =
			sware_row_is_visible(cursor->visibility,
								 &batch->entries[row].item.entry->t_tid,
								 &all_dead[row], &is_settled);
	if (is_visible && !is_settled)
		return false;

	/* that of the row, or, if none is visible, the one before the first */
	row += is_visible;
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
	cursor->passedOver = true;
	return false;
}

/*
 * Read the open pages; as a rule last, when it is known which of their entries
 * are too bad for the batch.  Returns false if the buffer does not have one of
 * them any more, which *strange is then.
 */
static bool
read_tails(SwareBufferCursor *cursor, SwareLink *strange)
{
	const SwareBufferState *state = &cursor->view.state;
	SwareBufferBatch *batch = &cursor->batch;

	for (int i = 0; i < state->tailCount; i++)
	{
		if (batch->kept == 0 && batch->count > batch->limit)
			sware_batch_keep_the_best(batch);
		*strange = state->tails[i];
		if (!read_page(cursor, *strange))
			return false;
	}
	return true;
}

/*
 * Take the wanted entries of the listed sources, and of the open pages unless
 * these have been read.  Result and *strange are those of collect.
 */
static bool
read_sources(SwareBufferCursor *cursor, SwareLink *strange)
{
	SwareBufferView *view = &cursor->view;
	SwareBufferBatch *batch = &cursor->batch;
	bool		asks = sware_has_abbreviations(&cursor->filter.order.column);
	SwarePagesAhead ahead;

	sware_pages_ahead_init(&ahead, cursor->filter.order.index);
	for (int i = 0; i < view->sourceCount; i++)
	{
		SwareBufferSource source = view->sources[i];

		if (batch->kept == 0 && batch->count > batch->limit)
			sware_batch_keep_the_best(batch);
		if (source.first > cursor->filter.last)
			continue;
		if (asks && sware_pages_ahead(&ahead) > 0)
			sware_buffer_view_ask(view, &cursor->filter, &ahead, i,
								  batch->limit / view->sourceCount);

		if (source.isZone)
		{
			double		equal = 1.0 / view->sourceCount;
			double		share = view->rate <= 0 ? equal :
				Max(source.rate / view->rate, equal);
			int			most =
				MORE_WANTED * share * batch->limit + FEWEST_WANTED;

			if (!sware_take_zone(cursor, &view->zones.sorted[source.number],
								 most, strange))
				return false;
			continue;
		}
		*strange = view->zones.pages[source.number].page;
		if (!read_page(cursor, *strange))
			return false;
	}
	if (!cursor->wantsOneRow && !read_tails(cursor, strange))
		return false;
	if (batch->count > 0)
		sware_batch_keep_the_best(batch);
	return true;
}

/*
 * Collect a batch from the pages of the view.  Returns false if the buffer
 * does not have these any more; *strange is the page that was found to be
 * another one, if any.
 */
static bool
collect(SwareBufferCursor *cursor, SwareLink *strange)
{
	SwareBufferView *view = &cursor->view;
	SwareBufferBatch *batch = &cursor->batch;

	strange->block = InvalidBlockNumber;
	if (!sware_buffer_view_refresh(view))
		return false;
	/* staged entries were taken with the limit as it is */
	if (batch->count == 0)
		batch->limit = Max(batch->limit,
						   Min(view->zones.sortedCount + view->zones.pageCount,
							   view->zones.pageCount <= SWARE_SUMMARY_REACH ?
							   FIRST_LIMIT_OF_MANY : FIRST_LIMIT_UNREAD));
	if (cursor->wantsOneRow)
	{
		if (!read_tails(cursor, strange))
			return false;
		cursor->hasTheRow = find_the_row(cursor);
		if (cursor->hasTheRow)
			return true;
	}

	sware_buffer_view_list_sealed(view, &cursor->filter);
	return read_sources(cursor, strange);
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
	if (collect(cursor, &strange))
	{
		SWARE_FAULT_POINT("batch-read");

		/* retired pages do not matter to a scan without entries, or one row */
		return cursor->batch.count == 0 || cursor->hasTheRow ||
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
 * Add to the batch what staging has of the entries behind `after`, if anything.
 * If comparison functions change staging meanwhile, again and again, it is
 * published; *changes counts as in MAX_CHANGES.
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
		sware_batch_begin(&cursor->batch);
		if (++*changes % MAX_CHANGES == 0)
		{
			sware_publish_index(cursor->filter.order.index);
			cursor->hasStaged = sware_scan_has_staged(cursor->scan);
		}
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

	sware_dead_entries_mark(cursor);
	cursor->filter.usesMarks = sware_scan_uses_marks(cursor->scan);
	for (;;)
	{
		bool		is_empty;
		bool		is_complete = true;

		sware_batch_begin(&cursor->batch);
		cursor->hasTheRow = false;
		cursor->mapIsRead = false;
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
		{
			count_entries(cursor);
			return true;
		}
		CHECK_FOR_INTERRUPTS();
	}
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
	cursor->passedOver = false;
	cursor->wantsOneRow = !cursor->hasStaged &&
		sware_scan_finds_one_row(cursor->scan, cursor->filter.keys);
	cursor->stagingGeneration = sware_staging_generation;
	cursor->arrivals = sware_arrivals;
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
