/*-------------------------------------------------------------------------
 *
 * buffercursor.c
 *	  The buffer cursor.  See buffercursor.h.
 *
 * A chunk is read from *sources*: open pages, sealed pages that are in no
 * sorted block, and sorted blocks.  What qualifies is collected in an array
 * that is sorted and cut whenever it has twice as many entries as are wanted;
 * from then on entries must be better than the worst that was kept.  Sources
 * are excluded by their zonemaps, and visited best first, so that most of
 * them have nothing to offer by the time it is their turn.
 *
 * On pages, entries are told apart by their abbreviations under the share lock,
 * and compared after it has been released: comparators run without any lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"

#include "buffer/abbreviation.h"
#include "buffer/buffercursor.h"
#include "faultpoint.h"
#include "tree/corruption.h"

/* How many entries the first chunk has, and how the next ones grow. */
#define FIRST_LIMIT			16
#define LIMIT_GROWTH		4
#define LAST_LIMIT			4096

/* A chunk ends earlier if its entries have so many bytes. */
#define MAX_CHUNK_BYTES		(1024 * 1024)

/* Memory for entries is taken in pieces. */
#define FIRST_ROOM			1024
#define LAST_ROOM			(64 * 1024)

/*
 * How often a page may be another one than the directory says, while no page
 * has retired, before that is an error.
 */
#define MAX_STRANGE_PAGES	10

/* where an entry is, seen from the ranges */
typedef enum RangeSide
{
	BELOW_RANGE,				/* keys->range is the first range above it */
	IN_RANGE,
	ABOVE_RANGES
} RangeSide;

void
sware_buffer_cursor_init(SwareBufferCursor *cursor, IndexScanDesc scan,
						 SwareScanKeys *keys, MemoryContext context)
{
	cursor->scan = scan;
	cursor->keys = keys;
	cursor->context = context;
	cursor->chunkContext = NULL;
	cursor->hasView = false;
	cursor->isAnalyzed = false;
	cursor->exhausted = true;
	cursor->count = cursor->current = 0;
	cursor->entries = NULL;
	cursor->allocated = 0;
	cursor->visit = NULL;
	cursor->bytes = 0;
	cursor->roomLeft = 0;
	cursor->last = NULL;
	cursor->lastSize = 0;
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
 * The value of an end of a range in the first column, as a number of the
 * order of abbreviations.  False if it has none.  Values of another integer
 * type than the column's have one too.
 */
static bool
number_of_end(const SwareBufferCursor *cursor, const SwareSearchKey *end, int64 *number)
{
	const SwareKeyColumn *column = &end->columns[0];

	if (end->columnCount == 0 || !sware_has_abbreviations(&cursor->column))
		return false;
	if (column->isNull || column->comparison != SWARE_COMPARE_FUNCTION)
	{
		*number = sware_abbreviate_value(&cursor->column, column->value, column->isNull);
		return true;
	}

	switch (column->function->fn_oid)
	{
		case F_BTINT42CMP:
		case F_BTINT82CMP:
			*number = DatumGetInt16(column->value);
			break;
		case F_BTINT24CMP:
		case F_BTINT84CMP:
			*number = DatumGetInt32(column->value);
			break;
		case F_BTINT28CMP:
		case F_BTINT48CMP:
			*number = DatumGetInt64(column->value);
			break;
		default:
			return false;
	}
	if (column->descending)
		*number = ~*number;
	return true;
}

/*
 * Find out what the ranges mean for abbreviations and Bloom filters.
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

	cursor->rangesBegin = cursor->endMayMatter = PG_INT64_MIN;
	cursor->rangesEnd = cursor->beginMayMatter = PG_INT64_MAX;
	sware_scan_keys_set_range(keys, 0);
	if (number_of_end(cursor, &keys->low, &number))
		cursor->rangesBegin = cursor->beginMayMatter = number;
	sware_scan_keys_set_range(keys, keys->rangeCount - 1);
	if (number_of_end(cursor, &keys->high, &number))
		cursor->rangesEnd = cursor->endMayMatter = number;

	cursor->hasHash = keys->rangeCount == 1 && keys->prefixColumns > 0 &&
		!keys->low.columns[0].isNull &&
		keys->low.columns[0].function == index_getprocinfo(index, 1, BTORDER_PROC) &&
		sware_bloom_hash(index, keys->low.columns[0].value, &cursor->hash);
	cursor->isAnalyzed = true;
}

static inline int64
abbreviate(const SwareBufferCursor *cursor, IndexTuple entry)
{
	return sware_abbreviate(&cursor->column,
							RelationGetDescr(cursor->scan->indexRelation), entry);
}

int64
sware_buffer_cursor_abbreviate(const SwareBufferCursor *cursor, IndexTuple entry)
{
	return abbreviate(cursor, entry);
}

/* Compare an entry with a tuple of the key columns and a TID. */
static inline int
compare(const SwareBufferCursor *cursor, IndexTuple a, int64 abbreviation_a,
		IndexTuple b, int64 abbreviation_b, ItemPointer tid_b)
{
	if (abbreviation_a != abbreviation_b)
		return abbreviation_a < abbreviation_b ? -1 : 1;

	/* an extreme abbreviation may stand for a null */
	if (!cursor->abbreviationsDecide ||
		abbreviation_a == PG_INT64_MIN || abbreviation_a == PG_INT64_MAX)
	{
		int			column;
		int			result = sware_compare_columns(cursor->scan->indexRelation,
												   a, b, &column);

		if (result != 0)
			return result;
	}
	return ItemPointerCompare(&a->t_tid, tid_b);
}

int
sware_buffer_cursor_compare(const SwareBufferCursor *cursor,
							const SwareBufferedEntry *buffered,
							IndexTuple tuple, ItemPointer tid)
{
	return compare(cursor, buffered->entry, buffered->abbreviation,
				   tuple, abbreviate(cursor, tuple), tid);
}

/* Order entries in the direction of the scan. */
static int
compare_buffered(const void *a, const void *b, void *arg)
{
	const SwareBufferCursor *cursor = arg;
	const SwareBufferedEntry *left = a;
	const SwareBufferedEntry *right = b;
	int			result = compare(cursor, left->entry, left->abbreviation,
								 right->entry, right->abbreviation,
								 &right->entry->t_tid);

	return cursor->forward ? result : -result;
}

/*
 * Memory for an entry.  The type "name" is stored in fewer bytes than its
 * readers may copy: they must not run over the end.
 */
static IndexTuple
make_room(SwareBufferCursor *cursor, Size size)
{
	IndexTuple	result;

	if (cursor->roomLeft < size + NAMEDATALEN)
	{
		Size		step = Min(Max(cursor->bytes * 2, FIRST_ROOM), LAST_ROOM);

		if (cursor->chunkContext == NULL)
			cursor->chunkContext = AllocSetContextCreate(cursor->context, "sware chunk",
														 ALLOCSET_DEFAULT_SIZES);
		cursor->roomLeft = Max(step, size + NAMEDATALEN);
		cursor->room = MemoryContextAlloc(cursor->chunkContext, cursor->roomLeft);
	}
	result = (IndexTuple) cursor->room;
	cursor->room += size;
	cursor->roomLeft -= size;
	cursor->bytes += size;
	return result;
}

/* Move the entries to memory without gaps. */
static void
compact_memory(SwareBufferCursor *cursor)
{
	MemoryContext old = cursor->chunkContext;

	cursor->chunkContext = NULL;
	cursor->bytes = 0;
	cursor->roomLeft = 0;
	for (int i = 0; i < cursor->count; i++)
	{
		Size		size = MAXALIGN(IndexTupleSize(cursor->entries[i].entry));
		IndexTuple	copy = make_room(cursor, size);

		memcpy(copy, cursor->entries[i].entry, size);
		cursor->entries[i].entry = copy;
	}
	MemoryContextDelete(old);
}

/*
 * Put the entries in order, drop equal ones, and those beyond the limits.
 */
static void
sort_and_cut(SwareBufferCursor *cursor)
{
	SwareBufferedEntry *entries = cursor->entries;
	int			unique = 0;
	Size		bytes = 0;

	qsort_arg(entries, cursor->count, sizeof(SwareBufferedEntry), compare_buffered, cursor);
	for (int i = 0; i < cursor->count; i++)
	{
		if (unique > 0 && compare_buffered(&entries[unique - 1], &entries[i], cursor) == 0)
			continue;
		if (unique == cursor->limit || bytes >= MAX_CHUNK_BYTES)
		{
			cursor->isCut = true;
			break;
		}
		bytes += IndexTupleSize(entries[i].entry);
		entries[unique++] = entries[i];
	}
	cursor->count = unique;
}

/*
 * Make place for more entries, which must be better than the worst of these
 * if there are enough.
 */
static void
keep_the_best(SwareBufferCursor *cursor)
{
	SwareBufferedEntry *worst;

	sort_and_cut(cursor);
	if (cursor->bytes > 4 * MAX_CHUNK_BYTES)
		compact_memory(cursor);
	if (!cursor->isCut)
		return;

	worst = &cursor->entries[cursor->count - 1];
	cursor->worst = worst->entry;
	cursor->worstAbbreviation = worst->abbreviation;
	if (cursor->forward)
		cursor->largest = Min(cursor->largest, worst->abbreviation);
	else
		cursor->smallest = Max(cursor->smallest, worst->abbreviation);
}

/*
 * Where is an entry, seen from the ranges?  Changes the current range if there
 * are several.
 */
static inline RangeSide
side_of_ranges(SwareBufferCursor *cursor, IndexTuple entry, int64 abbreviation)
{
	SwareScanKeys *keys = cursor->keys;

	if (keys->rangeCount > 1)
	{
		int64		range = sware_scan_keys_first_range_above(keys, 0, entry);

		if (range == keys->rangeCount)
			return ABOVE_RANGES;
		sware_scan_keys_set_range(keys, range);
		return sware_compare_key(&keys->low, entry) <= 0 ? IN_RANGE : BELOW_RANGE;
	}

	if (keys->high.columnCount > 0 && abbreviation >= cursor->endMayMatter &&
		sware_compare_key(&keys->high, entry) <= 0)
		return ABOVE_RANGES;
	if (keys->low.columnCount > 0 && abbreviation <= cursor->beginMayMatter &&
		sware_compare_key(&keys->low, entry) > 0)
		return BELOW_RANGE;
	return IN_RANGE;
}

/* Does an entry with an abbreviation that is wanted lie beyond the place? */
static inline bool
is_beyond_place(const SwareBufferCursor *cursor, IndexTuple entry, int64 abbreviation)
{
	int			result;

	if (!cursor->hasPlace || abbreviation != cursor->placeAbbreviation)
		return true;
	result = sware_compare_key(&cursor->place, entry);
	return cursor->forward ? result < 0 : result > 0;
}

/* Is an entry with an abbreviation that is wanted good enough? */
static inline bool
is_better_than_worst(const SwareBufferCursor *cursor, IndexTuple entry,
					 int64 abbreviation)
{
	int			result;

	if (cursor->worst == NULL)
		return true;
	result = compare(cursor, entry, abbreviation, cursor->worst,
					 cursor->worstAbbreviation, &cursor->worst->t_tid);
	return cursor->forward ? result < 0 : result > 0;
}

/* Take an entry that has been found to belong to the chunk. */
static void
take(SwareBufferCursor *cursor, IndexTuple entry, int64 abbreviation, SwareLink page)
{
	Size		size = MAXALIGN(IndexTupleSize(entry));
	SwareBufferedEntry *taken;

	if (cursor->visit)
	{
		cursor->visit(&entry->t_tid, cursor->visitState);
		cursor->visited++;
		return;
	}

	if (cursor->count == cursor->allocated)
	{
		cursor->allocated = Max(2 * cursor->allocated, 2 * FIRST_LIMIT);
		cursor->entries = cursor->entries == NULL ?
			MemoryContextAlloc(cursor->context,
							   cursor->allocated * sizeof(SwareBufferedEntry)) :
			repalloc(cursor->entries, cursor->allocated * sizeof(SwareBufferedEntry));
	}
	taken = &cursor->entries[cursor->count++];
	taken->entry = make_room(cursor, size);
	memcpy(taken->entry, entry, size);
	taken->abbreviation = abbreviation;
	taken->page = page;

	if (cursor->count >= 2 * cursor->limit || cursor->bytes > 4 * MAX_CHUNK_BYTES)
		keep_the_best(cursor);
}

/*
 * Read a page.  False if it is not the one that the link means any more.
 * Share-locks it for a moment.
 */
static bool
read_page(SwareBufferCursor *cursor, SwareLink link)
{
	Relation	index = cursor->scan->indexRelation;
	PGAlignedBlock candidates;
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
		IndexTuple	entry = sware_buffer_entry(index, link.block, page, &offset);
		int64		abbreviation = abbreviate(cursor, entry);
		Size		size;

		if (abbreviation < cursor->smallest || abbreviation > cursor->largest)
			continue;
		size = MAXALIGN(IndexTupleSize(entry));
		memcpy(candidates.data + used, entry, size);
		used += size;
	}
	sware_release_buffer(buffer);

	for (Size offset = 0; offset < used;)
	{
		IndexTuple	entry = (IndexTuple) (candidates.data + offset);
		int64		abbreviation = abbreviate(cursor, entry);

		offset += MAXALIGN(IndexTupleSize(entry));
		if (abbreviation >= cursor->smallest && abbreviation <= cursor->largest &&
			side_of_ranges(cursor, entry, abbreviation) == IN_RANGE &&
			is_beyond_place(cursor, entry, abbreviation) &&
			is_better_than_worst(cursor, entry, abbreviation) &&
			(cursor->keys->filterCount == 0 ||
			 sware_scan_keys_filter(cursor->keys, entry)))
			take(cursor, entry, abbreviation, link);
	}
	return true;
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
	if (!cursor->forward)
		--*number;
	return true;
}

/*
 * Beyond an entry of a block that is in no range: the number of the first entry
 * that may be in one, in the direction.  The entry is on a side of the ranges.
 * Beyond the block's end if there is none.  False if the block is gone.
 */
static bool
skip_to_range(SwareBufferCursor *cursor, const SwareSortedBlock *block,
			  IndexTuple entry, RangeSide side, int64 *number)
{
	SwareScanKeys *keys = cursor->keys;
	int64		next;

	if (cursor->forward)
	{
		if (side == ABOVE_RANGES)
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
 * Read a block, as far as its entries are wanted.  False if it is gone.
 */
static bool
read_block(SwareBufferCursor *cursor, const SwareSortedBlock *block)
{
	char		memory[2][MAXALIGN(SWARE_MAX_ENTRY_SIZE)] pg_attribute_aligned(MAXIMUM_ALIGNOF);
	IndexTuple	entry = (IndexTuple) memory[0];
	IndexTuple	previous = (IndexTuple) memory[1];	/* the one taken last */
	int64		previous_abbreviation = 0;
	int			taken = 0;
	int64		number;

	CHECK_FOR_INTERRUPTS();
	if (cursor->hasHash && !sware_block_may_contain(block, cursor->hash))
		return true;
	if (!begin_block(cursor, block, &number))
		return false;

	while (number >= 0 && number < block->entries)
	{
		SwareLink	page;
		int64		abbreviation;
		RangeSide	side;

		if (!sware_block_copy_entry(block, number, entry, &page))
			return false;
		abbreviation = abbreviate(cursor, entry);
		if (cursor->forward ? abbreviation > cursor->largest :
			abbreviation < cursor->smallest)
			break;

		side = side_of_ranges(cursor, entry, abbreviation);
		if (side != IN_RANGE)
		{
			if (!skip_to_range(cursor, block, entry, side, &number))
				return false;
			continue;
		}
		number += cursor->forward ? 1 : -1;

		if (!is_better_than_worst(cursor, entry, abbreviation))
			break;
		if (!is_beyond_place(cursor, entry, abbreviation) ||
			(taken > 0 && compare(cursor, entry, abbreviation, previous,
								  previous_abbreviation, &previous->t_tid) == 0) ||
			(cursor->keys->filterCount > 0 &&
			 !sware_scan_keys_filter(cursor->keys, entry)))
			continue;

		/* of entries in order, none twice, those beyond the limit are cut off */
		if (taken++ == cursor->limit)
		{
			cursor->isCut = true;
			break;
		}
		take(cursor, entry, abbreviation, page);
		previous_abbreviation = abbreviation;
		{
			IndexTuple	other = previous;

			previous = entry;
			entry = other;
		}
	}
	return true;
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

/*
 * Make a heap of the view's blocks and pages that may have something; returns
 * their number.
 */
static int
list_sources(SwareBufferCursor *cursor)
{
	SwareZoneView *view = &cursor->view;
	int			wanted = view->blockCount + view->pageCount;
	int			count = 0;

	if (cursor->sourcesAllocated < wanted)
	{
		if (cursor->sources)
			pfree(cursor->sources);
		cursor->sourcesAllocated = Max(wanted, 2 * cursor->sourcesAllocated);
		cursor->sources = MemoryContextAllocHuge(cursor->context,
												 cursor->sourcesAllocated *
												 sizeof(SwareBufferSource));
	}

	for (int i = 0; i < view->blockCount; i++)
	{
		SwareSortedBlock *block = &view->blocks[i];

		if (block->largest >= cursor->smallest && block->smallest <= cursor->largest)
			cursor->sources[count++] = (SwareBufferSource)
			{
				cursor->forward ? block->smallest : ~block->largest, true, i
			};
	}
	for (int i = 0; i < view->pageCount; i++)
	{
		SwareUnsortedPage *page = &view->pages[i];

		if (!page->hasZonemap)
			cursor->sources[count++] = (SwareBufferSource) {PG_INT64_MIN, false, i};
		else if (page->largest >= cursor->smallest && page->smallest <= cursor->largest)
			cursor->sources[count++] = (SwareBufferSource)
			{
				cursor->forward ? page->smallest : ~page->largest, false, i
			};
	}

	for (int i = count / 2 - 1; i >= 0; i--)
		sink(cursor->sources, count, i);
	return count;
}

/*
 * Collect the chunk of a state.  False if the pages are not those of the state
 * any more; `strange` then gets a page that has been found to be another one.
 */
static bool
collect(SwareBufferCursor *cursor, const SwareBufferState *state, SwareLink *strange)
{
	int			count;

	strange->block = InvalidBlockNumber;
	if (!cursor->hasView)
	{
		sware_zone_view_init(&cursor->view, cursor->scan->indexRelation, cursor->context);
		cursor->hasView = true;
	}
	if (!sware_zone_view_refresh(&cursor->view, state))
		return false;

	for (int i = 0; i < state->tailCount; i++)
	{
		if (!read_page(cursor, state->tails[i]))
		{
			*strange = state->tails[i];
			return false;
		}
	}

	count = list_sources(cursor);
	while (count > 0)
	{
		SwareBufferSource source = cursor->sources[0];

		if (cursor->worst == NULL && cursor->count > cursor->limit)
			keep_the_best(cursor);
		if (cursor->forward ? source.order > cursor->largest :
			~source.order < cursor->smallest)
			break;				/* the others are no better */

		cursor->sources[0] = cursor->sources[--count];
		sink(cursor->sources, count, 0);
		if (source.isBlock)
		{
			if (!read_block(cursor, &cursor->view.blocks[source.number]))
				return false;
		}
		else if (!read_page(cursor, cursor->view.pages[source.number].page))
		{
			*strange = cursor->view.pages[source.number].page;
			return false;
		}
	}
	return true;
}

/* Begin to read a chunk beyond an entry, or from the end. */
static void
begin_chunk(SwareBufferCursor *cursor, IndexTuple after)
{
	cursor->count = cursor->current = 0;
	cursor->exhausted = false;
	cursor->isCut = false;
	cursor->worst = NULL;
	if (cursor->bytes > 0)
		MemoryContextReset(cursor->chunkContext);
	cursor->bytes = 0;
	cursor->roomLeft = 0;

	cursor->smallest = cursor->rangesBegin;
	cursor->largest = cursor->rangesEnd;
	cursor->hasPlace = after != NULL;
	if (after == NULL)
		return;

	cursor->placeAbbreviation = abbreviate(cursor, after);
	sware_search_key_from_entry(&cursor->place, cursor->scan->indexRelation, after);
	cursor->place.after = cursor->forward;
	if (cursor->forward)
		cursor->smallest = Max(cursor->smallest, cursor->placeAbbreviation);
	else
		cursor->largest = Min(cursor->largest, cursor->placeAbbreviation);
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
		begin_chunk(cursor, after);
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

	if (cursor->count > 0)
		sort_and_cut(cursor);
	cursor->exhausted = !cursor->isCut;
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
