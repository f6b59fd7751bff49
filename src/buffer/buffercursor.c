/*-------------------------------------------------------------------------
 *
 * buffercursor.c
 *	  The buffer cursor.  See buffercursor.h.
 *
 * A chunk is read from *sources*: open pages, sealed pages that are in no
 * sorted block, and sorted blocks.  They are excluded by their zonemaps, and
 * visited best first, so that most of them have nothing to offer by the time it
 * is their turn: enough better entries have been found (bufferchunk.c).
 *
 * On pages, entries are told apart by their abbreviations under the share lock,
 * and compared after it has been released: comparators run without any lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "buffer/bufferchunk.h"
#include "buffer/hashfunction.h"
#include "buffer/keylock.h"
#include "buffer/statistics.h"
#include "faultpoint.h"
#include "tree/corruption.h"

/* How many entries the first chunk has, at most, and how the next ones grow. */
#define FIRST_LIMIT			8
#define LIMIT_GROWTH		8
#define LAST_LIMIT			4096

/* When a chunk is that small, a page may be all that has to be looked at. */
#define MAX_NARROWED		32

/* How many entries are copied from a block at a time. */
#define FIRST_BATCH			4
#define MAX_BATCH			64

/*
 * How often a page may be another one than the directory says, while no page
 * has retired, before that is an error.
 */
#define MAX_STRANGE_PAGES	10

void
sware_buffer_cursor_init(SwareBufferCursor *cursor, IndexScanDesc scan,
						 SwareScanKeys *keys, MemoryContext context)
{
	cursor->scan = scan;
	cursor->keys = keys;
	cursor->context = context;
	cursor->chunkContext = NULL;
	cursor->hasView = false;
	cursor->asksForKeys = false;
	cursor->isAnalyzed = false;
	cursor->exhausted = true;
	cursor->bloomProbes = cursor->bloomFalsePositives = 0;
	cursor->count = cursor->current = 0;
	cursor->entries = NULL;
	cursor->allocated = 0;
	cursor->visit = NULL;
	cursor->bytes = 0;
	cursor->roomLeft = 0;
	cursor->last = NULL;
	cursor->lastSize = 0;
	for (int i = 0; i < SWARE_MAX_TAILS; i++)
		cursor->tails[i].bytes = NULL;
	cursor->sources = NULL;
	cursor->sourcesAllocated = 0;
}

/* Forget the chunk.  Then the scan keys may change. */
void
sware_buffer_cursor_rewind(SwareBufferCursor *cursor)
{
	cursor->isAnalyzed = false;
	cursor->exhausted = true;
	cursor->count = cursor->current = 0;
}

/* Free all memory. */
void
sware_buffer_cursor_end(SwareBufferCursor *cursor)
{
	if (cursor->chunkContext)
		MemoryContextDelete(cursor->chunkContext);
	if (cursor->hasView && cursor->view.blocks)
		pfree(cursor->view.blocks);
	if (cursor->hasView && cursor->view.pages)
		pfree(cursor->view.pages);
	if (cursor->entries)
		pfree(cursor->entries);
	if (cursor->last)
		pfree(cursor->last);
	if (cursor->sources)
		pfree(cursor->sources);
}

/*
 * If the ranges are those entries that equal one key in all columns, find out
 * the key's fingerprint.  Where abbreviations tell entries apart, it does not pay
 * to hash these, unless one key after another is looked up.
 */
static void
analyze_key(SwareBufferCursor *cursor)
{
	SwareScanKeys *keys = cursor->keys;
	Relation	index = cursor->scan->indexRelation;
	int			columns = IndexRelationGetNumberOfKeyAttributes(index);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	SwareFingerprint fingerprint;

	cursor->hasKey = false;
	if (sware_has_abbreviations(&cursor->column) && !cursor->asksForKeys)
		return;
	if (keys->rangeCount != 1 || keys->prefixColumns != columns || keys->interval ||
		keys->low.columnCount != columns)
		return;
	for (int i = 0; i < columns; i++)
	{
		SwareKeyColumn *column = &keys->low.columns[i];

		/* what equals a value of another type may be hashed in another way */
		if (!column->isNull &&
			(column->function != index_getprocinfo(index, i + 1, BTORDER_PROC) ||
			 column->collation != index->rd_indcollation[i]))
			return;
		values[i] = column->value;
		isnull[i] = column->isNull;
	}
	fingerprint = sware_fingerprint(index, values, isnull);
	cursor->hasKey = fingerprint.tells;
	cursor->key.fingerprint = fingerprint.value;
	cursor->key.methods = sware_hash_methods();
}

/*
 * Find out what the ranges mean for abbreviations, Bloom filters and the key
 * cache.
 */
static void
analyze_ranges(SwareBufferCursor *cursor)
{
	SwareScanKeys *keys = cursor->keys;
	Relation	index = cursor->scan->indexRelation;
	int64		number;

	sware_key_column_init(&cursor->column, index, 1, (Datum) 0, false);
	cursor->abbreviationsDecide = sware_has_abbreviations(&cursor->column) &&
		IndexRelationGetNumberOfKeyAttributes(index) == 1;

	cursor->abbreviationsQualify = sware_has_abbreviations(&cursor->column) &&
		keys->rangeCount == 1;
	cursor->rangesBegin = cursor->endMayMatter = PG_INT64_MIN;
	cursor->rangesEnd = cursor->beginMayMatter = PG_INT64_MAX;
	sware_scan_keys_set_range(keys, 0);
	if (sware_abbreviate_end(&cursor->column, &keys->low, &number))
		cursor->rangesBegin = cursor->beginMayMatter = number;
	else if (keys->low.columnCount > 0)
		cursor->abbreviationsQualify = false;
	sware_scan_keys_set_range(keys, keys->rangeCount - 1);
	if (sware_abbreviate_end(&cursor->column, &keys->high, &number))
		cursor->rangesEnd = cursor->endMayMatter = number;
	else if (keys->high.columnCount > 0)
		cursor->abbreviationsQualify = false;

	cursor->hasHash = keys->rangeCount == 1 && keys->prefixColumns > 0 &&
		!keys->low.columns[0].isNull &&
		keys->low.columns[0].function == index_getprocinfo(index, 1, BTORDER_PROC) &&
		sware_bloom_hash(index, keys->low.columns[0].value, &cursor->hash);
	analyze_key(cursor);
	cursor->isAnalyzed = true;
}

int64
sware_buffer_cursor_abbreviate(const SwareBufferCursor *cursor, IndexTuple entry)
{
	return sware_chunk_abbreviate(cursor, entry);
}

int
sware_buffer_cursor_compare(const SwareBufferCursor *cursor,
							const SwareBufferedEntry *buffered,
							IndexTuple tuple, ItemPointer tid)
{
	return sware_chunk_compare(cursor, buffered->entry, buffered->abbreviation,
							   tuple, sware_chunk_abbreviate(cursor, tuple), tid);
}

/* Entries of a page whose abbreviations are wanted. */
typedef struct WantedEntries
{
	int			count;
	int64		abbreviations[SWARE_MAX_BUFFER_ENTRIES];
	uint16		offsets[SWARE_MAX_BUFFER_ENTRIES];
} WantedEntries;

/*
 * If the entries of a page are enough for a small chunk, want no others than
 * the best of them, and better ones.
 */
static void
narrow(SwareBufferCursor *cursor, const WantedEntries *wanted)
{
	int64		best[MAX_NARROWED]; /* the best one first; smaller is better */
	int			count = 0;

	if (cursor->limit > MAX_NARROWED || wanted->count <= cursor->limit ||
		!cursor->abbreviationsQualify || cursor->keys->filterCount > 0)
		return;

	for (int i = 0; i < wanted->count; i++)
	{
		/* usually later ones are larger */
		int64		abbreviation =
			wanted->abbreviations[cursor->forward ? i : wanted->count - 1 - i];
		int64		order = cursor->forward ? abbreviation : ~abbreviation;
		int			place;

		if (abbreviation <= cursor->smallest || abbreviation >= cursor->largest)
			continue;
		if (count < cursor->limit)
			count++;
		else if (order >= best[count - 1])
			continue;
		for (place = count - 1; place > 0 && best[place - 1] > order; place--)
			best[place] = best[place - 1];
		best[place] = order;
	}
	if (count < cursor->limit)
		return;
	if (cursor->forward)
		cursor->largest = best[count - 1];
	else
		cursor->smallest = ~best[count - 1];
	cursor->isNarrowed = true;
}

/*
 * Copy those entries of a page that have abbreviations that are wanted, and
 * find the best abbreviation (`order`, see SwareBufferSource).  `bytes` has room
 * for a page.  False if the page is not the one that the link means any more.
 * Share-locks it for a moment.
 */
static bool
find_candidates(SwareBufferCursor *cursor, SwareLink link, char *bytes,
				SwareCandidates *candidates, int64 *order)
{
	Relation	index = cursor->scan->indexRelation;
	TupleDesc	descriptor = RelationGetDescr(index);
	SwareKeyColumn column = cursor->column;
	int64		smallest = cursor->smallest;
	int64		largest = cursor->largest;
	WantedEntries wanted;
	int			count = 0;
	Size		used = 0;
	Buffer		buffer;
	Page		page;
	Size		end;

	CHECK_FOR_INTERRUPTS();
	buffer = sware_read_buffer_page(index, link, BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buffer))
		return false;
	page = BufferGetPage(buffer);
	end = sware_buffer_page_end(page);
	for (Size offset = SWARE_BUFFER_START; offset < end;)
	{
		Size		start = offset;
		IndexTuple	entry = sware_buffer_entry(index, link.block, page, &offset);
		unsigned short info = entry->t_info;
		Size		size = offset - start;

		/* others like it need no checks, and the next one's place is known */
		for (;;)
		{
			int64		abbreviation = sware_abbreviate(&column, descriptor, entry);

			wanted.offsets[count] = start;
			wanted.abbreviations[count] = abbreviation;
			count += abbreviation >= smallest && abbreviation <= largest;
			start += size;
			entry = (IndexTuple) ((char *) page + start);
			if (start + size > end || entry->t_info != info)
				break;
		}
		offset = start;
	}
	wanted.count = count;
	narrow(cursor, &wanted);

	smallest = PG_INT64_MAX;
	largest = PG_INT64_MIN;
	for (int i = 0; i < wanted.count; i++)
	{
		int64		abbreviation = wanted.abbreviations[i];
		IndexTuple	entry = (IndexTuple) ((char *) page + wanted.offsets[i]);
		Size		size = MAXALIGN(IndexTupleSize(entry));

		if (abbreviation < cursor->smallest || abbreviation > cursor->largest)
			continue;
		smallest = Min(smallest, abbreviation);
		largest = Max(largest, abbreviation);
		memcpy(bytes + used, entry, size);
		used += size;
	}
	sware_release_buffer(buffer);

	candidates->page = link;
	candidates->used = used;
	candidates->bytes = bytes;
	*order = cursor->forward ? smallest : ~largest;
	return true;
}

/*
 * May a page have something, as far as the key cache knows?  The page is an open
 * one, or of the view.
 */
static inline bool
may_have_key(SwareBufferCursor *cursor, SwareLink link)
{
	return !cursor->hasKey || cursor->view.pageCount > SWARE_KEY_CACHE_REACH ||
		sware_page_may_have_key(cursor->scan->indexRelation, link, &cursor->key);
}

/* Read a sealed page.  False if it is not the one that the link means any more. */
static bool
read_page(SwareBufferCursor *cursor, SwareLink link)
{
	PGAlignedBlock memory;
	SwareCandidates candidates;
	int64		order;

	if (!may_have_key(cursor, link))
		return true;
	if (!find_candidates(cursor, link, memory.data, &candidates, &order))
		return false;
	sware_chunk_take_candidates(cursor, &candidates);
	return true;
}

/*
 * Make a source of what is on an open page; it has no zonemap, so it is read at
 * once.  False if it is not the one that the link means any more.
 */
static bool
read_tail(SwareBufferCursor *cursor, SwareLink link, int number, int *source_count)
{
	PGAlignedBlock memory;
	SwareCandidates *tail = &cursor->tails[number];
	int64		order;

	if (!may_have_key(cursor, link))
		return true;
	if (!find_candidates(cursor, link, memory.data, tail, &order))
		return false;
	tail->bytes = NULL;
	if (tail->used > 0)
	{
		tail->bytes = MemoryContextAlloc(cursor->context, tail->used);
		memcpy(tail->bytes, memory.data, tail->used);
		cursor->sources[(*source_count)++] = (SwareBufferSource)
		{
			order, SWARE_SOURCE_TAIL, number
		};
	}
	return true;
}

/* Forget what was found on open pages. */
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
 * The number of a block's first entry that may be wanted, in the direction;
 * beyond its end if there is none.  False if the block is gone.
 */
static bool
begin_block(SwareBufferCursor *cursor, const SwareSortedBlock *block, int64 *number)
{
	SwareScanKeys *keys = cursor->keys;
	const SwareSearchKey *place = &cursor->place;

	if (!cursor->hasPlace)
	{
		sware_scan_keys_set_range(keys, cursor->forward ? 0 : keys->rangeCount - 1);
		place = cursor->forward ? &keys->low : &keys->high;
	}
	if (!cursor->hasPlace && place->columnCount == 0)
		*number = cursor->forward ? 0 : block->entries;
	else
		*number = sware_block_search(&cursor->view, block, place);
	if (*number < 0)
		return false;
	*number = cursor->forward ? Max(*number, block->firstEntry) :
		Min(*number, block->endEntry) - 1;
	return true;
}

/*
 * Beyond an entry of a block that is in no range: the number of the first entry
 * that may be in one, in the direction.  The entry is on a side of the ranges.
 * Beyond the block's end if there is none.  False if the block is gone.
 */
static bool
skip_to_range(SwareBufferCursor *cursor, const SwareSortedBlock *block,
			  IndexTuple entry, SwareRangeSide side, int64 *number)
{
	SwareScanKeys *keys = cursor->keys;
	int64		next;

	if (cursor->forward)
	{
		if (side == SWARE_ABOVE_RANGES)
		{
			*number = block->entries;
			return true;
		}
		next = sware_block_search(&cursor->view, block, &keys->low);
		*number = Max(*number + 1, next);
	}
	else
	{
		int64		range = sware_scan_keys_last_range_below(keys, keys->rangeCount - 1,
															 entry);

		if (range < 0)
		{
			*number = -1;
			return true;
		}
		sware_scan_keys_set_range(keys, range);
		next = sware_block_search(&cursor->view, block, &keys->high);
		*number = Min(*number - 1, next - 1);
	}
	return next >= 0;
}

/*
 * Copy the next entries of a block, in the direction: at least one, and at most
 * `most`.  They go to the chunk's memory, or to `memory`, of BLCKSZ bytes, if
 * they are only visited.  Returns how many; -1 if the block is gone.
 * Only other snapshots than MVCC ask which page an entry is on.
 */
static int
copy_entries(SwareBufferCursor *cursor, const SwareSortedBlock *block, int64 number,
			 int most, char *memory, IndexTuple *entries, SwareLink *page)
{
	Size		size = block->entrySize > 0 ? block->entrySize :
		MAXALIGN(SWARE_MAX_ENTRY_SIZE);
	int			step = cursor->forward ? 1 : -1;
	char	   *start;
	int64		first;
	int			count;

	*page = (SwareLink) {InvalidBlockNumber, 0};
	most = Min(most, cursor->forward ? block->entries - number : number + 1);
	most = cursor->needsPages ? 1 : Min(most, (int) (BLCKSZ / size));
	if (cursor->visit == NULL)
		memory = (char *) sware_chunk_make_room(cursor, most * size);
	start = memory;
	if (cursor->needsPages)
	{
		entries[0] = (IndexTuple) memory;
		return sware_block_copy_entry(block, number, entries[0], page) ? 1 : -1;
	}

	first = cursor->forward ? number : number - most + 1;
	if (!sware_block_copy_tuples(block, first, most, memory))
		return -1;
	count = cursor->forward ? 0 : most - 1;
	for (int i = 0; i < most; i++)
	{
		entries[count] = (IndexTuple) memory;
		memory += MAXALIGN(IndexTupleSize(entries[count]));
		count += step;
	}
	if (cursor->visit == NULL)
		sware_chunk_give_back(cursor, start + most * size - memory);
	return most;
}

/*
 * Read a block, as far as its entries are wanted: they are in order, and none is
 * there twice.  Tells how many were taken.  False if the block is gone.
 */
static bool
take_from_block(SwareBufferCursor *cursor, const SwareSortedBlock *block, int *taken)
{
	PGAlignedBlock memory;
	IndexTuple	entries[MAX_BATCH];
	bool		is_retired[MAX_BATCH];
	int			step = cursor->forward ? 1 : -1;
	int			batch = FIRST_BATCH;
	int64		number;

	CHECK_FOR_INTERRUPTS();
	*taken = 0;
	cursor->lastIsOfSource = false;
	if (!begin_block(cursor, block, &number))
		return false;

	while (number >= block->firstEntry && number < block->endEntry)
	{
		SwareBufferedEntry found;
		int			count;

		sware_chunk_save_memory(cursor);
		count = copy_entries(cursor, block, number, batch, memory.data,
							 entries, &found.page);
		if (count < 0)
			return false;
		if (block->retiredPages > 0 &&
			!sware_block_find_retired(block, cursor->forward ? number : number - count + 1,
									  count, is_retired))
			return false;
		for (int i = 0; i < count; i++)
		{
			SwareRangeSide side;

			found.entry = entries[i];
			found.abbreviation = sware_chunk_abbreviate(cursor, found.entry);
			if ((cursor->forward ? found.abbreviation > cursor->largest :
				 found.abbreviation < cursor->smallest) ||
				!sware_is_better_than_worst(cursor, found.entry, found.abbreviation))
				return true;
			side = sware_side_of_ranges(cursor, found.entry, found.abbreviation);
			if (side != SWARE_IN_RANGE)
			{
				if (!skip_to_range(cursor, block, found.entry, side, &number))
					return false;
				break;
			}

			number += step;
			if (block->retiredPages > 0 &&
				is_retired[cursor->forward ? i : count - 1 - i])
				continue;

			/* of these, those beyond the limit would be cut off */
			if (sware_chunk_take_in_order(cursor, &found) &&
				++*taken > cursor->limit)
			{
				cursor->isCut = true;
				return true;
			}
		}
		batch = Min(2 * batch, MAX_BATCH);
	}
	return true;
}

/* Read a block, unless its Bloom filter says no.  False if it is gone. */
static bool
read_block(SwareBufferCursor *cursor, const SwareSortedBlock *block)
{
	bool		has_filter = cursor->hasHash &&
		sware_block_has_filter(block, cursor->hash);
	bool		is_there;
	int			taken;

	cursor->bloomProbes += has_filter;
	if (has_filter && !sware_block_may_contain(block, cursor->hash))
		return true;
	is_there = take_from_block(cursor, block, &taken);

	/* what comes behind a place may have been all */
	cursor->bloomFalsePositives += has_filter && is_there && taken == 0 &&
		!cursor->hasPlace;
	return is_there;
}

/* Let a source sink to its place in the heap. */
static void
sink(SwareBufferSource *sources, int count, int hole)
{
	SwareBufferSource moved = sources[hole];

	for (;;)
	{
		int			child = 2 * hole + 1;

		if (child >= count)
			break;
		if (child + 1 < count && sources[child + 1].order < sources[child].order)
			child++;
		if (sources[child].order >= moved.order)
			break;
		sources[hole] = sources[child];
		hole = child;
	}
	sources[hole] = moved;
}

/* Make room for the sources of a view and a state. */
static void
reserve_sources(SwareBufferCursor *cursor, int wanted)
{
	if (cursor->sourcesAllocated >= wanted)
		return;
	if (cursor->sources)
		pfree(cursor->sources);
	cursor->sourcesAllocated = Max(wanted, 2 * cursor->sourcesAllocated);
	cursor->sources = MemoryContextAllocHuge(cursor->context,
											 cursor->sourcesAllocated *
											 sizeof(SwareBufferSource));
}

/* List the view's blocks and pages that may have something. */
static void
list_sources(SwareBufferCursor *cursor, int *count)
{
	SwareZoneView *view = &cursor->view;
	SwareBufferSource *sources = cursor->sources;

	for (int i = 0; i < view->blockCount; i++)
	{
		SwareSortedBlock *block = &view->blocks[i];

		if (block->largest >= cursor->smallest && block->smallest <= cursor->largest)
			sources[(*count)++] = (SwareBufferSource)
			{
				cursor->forward ? block->smallest : ~block->largest,
				SWARE_SOURCE_BLOCK, i
			};
	}
	for (int i = 0; i < view->pageCount; i++)
	{
		SwareUnsortedPage *page = &view->pages[i];

		if (!page->hasZonemap)
			sources[(*count)++] = (SwareBufferSource)
			{
				PG_INT64_MIN, SWARE_SOURCE_PAGE, i
			};
		else if (page->largest >= cursor->smallest && page->smallest <= cursor->largest)
			sources[(*count)++] = (SwareBufferSource)
			{
				cursor->forward ? page->smallest : ~page->largest,
				SWARE_SOURCE_PAGE, i
			};
	}
}

bool
sware_buffer_cursor_refresh_view(SwareBufferCursor *cursor, const SwareBufferState *state)
{
	if (!cursor->hasView)
	{
		sware_zone_view_init(&cursor->view, cursor->scan->indexRelation, cursor->context);
		cursor->hasView = true;
	}
	return sware_zone_view_refresh(&cursor->view, state);
}

/*
 * Collect the chunk of a state.  False if the pages are not those of the state
 * any more; `strange` then gets a page that has been found to be another one.
 */
static bool
collect(SwareBufferCursor *cursor, const SwareBufferState *state, SwareLink *strange)
{
	SwareZoneView *view = &cursor->view;
	int			count = 0;

	strange->block = InvalidBlockNumber;
	cursor->key.indexIncarnation = state->indexIncarnation;
	free_tails(cursor);
	if (!sware_buffer_cursor_refresh_view(cursor, state))
		return false;

	reserve_sources(cursor, view->blockCount + view->pageCount + state->tailCount);
	list_sources(cursor, &count);
	for (int i = 0; i < state->tailCount; i++)
	{
		if (!read_tail(cursor, state->tails[i], i, &count))
		{
			*strange = state->tails[i];
			return false;
		}
	}
	for (int i = count / 2 - 1; i >= 0; i--)
		sink(cursor->sources, count, i);

	while (count > 0)
	{
		SwareBufferSource source = cursor->sources[0];

		sware_chunk_save_memory(cursor);
		if (cursor->worst == NULL && cursor->count > cursor->limit)
			sware_chunk_keep_the_best(cursor);
		if (cursor->forward ? source.order > cursor->largest :
			~source.order < cursor->smallest)
			break;				/* the others are no better */

		cursor->sources[0] = cursor->sources[--count];
		sink(cursor->sources, count, 0);
		switch (source.kind)
		{
			case SWARE_SOURCE_BLOCK:
				if (!read_block(cursor, &view->blocks[source.number]))
					return false;
				break;
			case SWARE_SOURCE_PAGE:
				if (!read_page(cursor, view->pages[source.number].page))
				{
					*strange = view->pages[source.number].page;
					return false;
				}
				break;
			case SWARE_SOURCE_TAIL:
				sware_chunk_take_candidates(cursor, &cursor->tails[source.number]);
				break;
		}
	}
	free_tails(cursor);
	return true;
}

/*
 * Read a chunk beyond an entry (not one of the chunk before), or from the end.
 * With `same_generation`, false if the generation has moved on since the chunk
 * before.
 */
static bool
read_chunk(SwareBufferCursor *cursor, IndexTuple after, bool same_generation)
{
	Relation	index = cursor->scan->indexRelation;
	int			strange_pages = 0;

	for (;;)
	{
		SwareBufferState state;
		SwareLink	strange;
		bool		is_empty = !sware_buffer_read_state(index, &state);

		if (same_generation && state.generation != cursor->generation)
			return false;
		cursor->generation = state.generation;
		if (is_empty)
		{
			cursor->count = cursor->current = 0;
			cursor->exhausted = true;
			return true;
		}

		SWARE_FAULT_POINT("chunk-begins");
		if (!cursor->isAnalyzed)
			analyze_ranges(cursor);
		cursor->needsPages = cursor->visit == NULL &&
			!IsMVCCSnapshot(cursor->scan->xs_snapshot);
		sware_chunk_begin(cursor, after);
		if (collect(cursor, &state, &strange))
		{
			SWARE_FAULT_POINT("chunk-read");
			/* if nothing qualifies, it makes no difference what has retired */
			if (cursor->count == 0 || cursor->visit ||
				sware_buffer_generation(index) == state.generation)
				break;
		}
		else if (strange.block != InvalidBlockNumber &&
				 sware_buffer_generation(index) == state.generation &&
				 ++strange_pages > MAX_STRANGE_PAGES)
			sware_report_corruption(index, strange.block,
									"It is not the buffer page that the directory says.");
		CHECK_FOR_INTERRUPTS();
	}

	sware_chunk_finish(cursor);
	if (cursor->bloomProbes > 0)
		sware_count_bloom(index, cursor->bloomProbes, cursor->bloomFalsePositives);
	cursor->bloomProbes = cursor->bloomFalsePositives = 0;
	return true;
}

void
sware_buffer_cursor_seek(SwareBufferCursor *cursor, bool forward, IndexTuple after)
{
	cursor->forward = forward;
	cursor->limit = FIRST_LIMIT;
	cursor->count = cursor->current = 0;
	cursor->exhausted = true;
	if (cursor->keys->rangeCount > 0)
		(void) read_chunk(cursor, after, false);
}

bool
sware_buffer_cursor_read_on(SwareBufferCursor *cursor)
{
	IndexTuple	last = cursor->entries[cursor->count - 1].entry;
	Size		size = MAXALIGN(IndexTupleSize(last));

	Assert(!cursor->exhausted && cursor->count > 0);
	if (cursor->lastSize < size)
	{
		if (cursor->last)
			pfree(cursor->last);
		cursor->lastSize = Max(size, 2 * cursor->lastSize);
		cursor->last = MemoryContextAlloc(cursor->context, cursor->lastSize + NAMEDATALEN);
	}
	memcpy(cursor->last, last, size);
	cursor->limit = Min(cursor->limit * LIMIT_GROWTH, LAST_LIMIT);
	return read_chunk(cursor, cursor->last, true);
}

int64
sware_buffer_cursor_visit_all(SwareBufferCursor *cursor, SwareTidFunction visit,
							  void *state)
{
	cursor->forward = true;
	cursor->limit = PG_INT32_MAX / 2;
	cursor->visit = visit;
	cursor->visitState = state;
	cursor->visited = 0;
	if (cursor->keys->rangeCount > 0)
		(void) read_chunk(cursor, NULL, false);
	cursor->visit = NULL;
	return cursor->visited;
}
