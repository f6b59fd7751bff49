/*-------------------------------------------------------------------------
 *
 * bufferchunk.c
 *	  Making a chunk of a buffer cursor of the entries that it finds.
 *
 * What qualifies is collected in an array, which is sorted and cut whenever it
 * has twice as many entries as are wanted; from then on entries must be better
 * than the worst one that was kept.
 *
 * Nothing here reads a page, and callers hold no locks: comparators run.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "buffer/bufferchunk.h"

/* A chunk ends earlier than its limit if its entries have so many bytes. */
#define MAX_CHUNK_BYTES		(1024 * 1024)

/* Memory for entries is taken in pieces. */
#define FIRST_PIECE			2048
#define LAST_PIECE			(64 * 1024)

/* entries that a cursor has room for at first */
#define FIRST_ALLOCATED		16

/* Compare two entries of the chunk in the direction of the scan. */
static inline int
compare_buffered(const SwareBufferCursor *cursor, const SwareBufferedEntry *a,
				 const SwareBufferedEntry *b)
{
	int			result = sware_chunk_compare(cursor, a->entry, a->abbreviation,
											 b->entry, b->abbreviation,
											 &b->entry->t_tid);

	return cursor->forward ? result : -result;
}

/*
 * Memory for entries.  The type "name" is stored in fewer bytes than its
 * readers may copy: they must not run over the end.
 */
IndexTuple
sware_chunk_make_room(SwareBufferCursor *cursor, Size size)
{
	IndexTuple	result;

	if (cursor->roomLeft < size + NAMEDATALEN)
	{
		Size		piece = Min(Max(cursor->bytes, FIRST_PIECE), LAST_PIECE);

		if (cursor->chunkContext == NULL)
			cursor->chunkContext = AllocSetContextCreate(cursor->context, "sware chunk",
														 ALLOCSET_DEFAULT_SIZES);
		cursor->roomLeft = Max(piece, size + NAMEDATALEN);
		cursor->room = MemoryContextAlloc(cursor->chunkContext, cursor->roomLeft);
	}
	result = (IndexTuple) cursor->room;
	cursor->room += size;
	cursor->roomLeft -= size;
	cursor->bytes += size;
	return result;
}

/* Give back the end of the memory got last. */
void
sware_chunk_give_back(SwareBufferCursor *cursor, Size size)
{
	cursor->room -= size;
	cursor->roomLeft += size;
	cursor->bytes -= size;
}

/*
 * Find the runs of entries that are in order, and drop entries that are equal
 * to the one before.  Returns the number of runs.
 */
static int
find_runs(SwareBufferCursor *cursor, int *starts)
{
	SwareBufferedEntry *entries = cursor->entries;
	int			kept = Max(cursor->sorted, 1);
	int			runs = 1;

	starts[0] = 0;
	for (int i = kept; i < cursor->count; i++)
	{
		int			order = compare_buffered(cursor, &entries[kept - 1], &entries[i]);

		if (order == 0)
			continue;
		if (order > 0)
			starts[runs++] = kept;
		entries[kept++] = entries[i];
	}
	cursor->count = kept;
	return runs;
}

/* Merge two runs, dropping what both have.  Returns the number of entries. */
static int
merge(const SwareBufferCursor *cursor, const SwareBufferedEntry *a, int count_a,
	  const SwareBufferedEntry *b, int count_b, SwareBufferedEntry *to)
{
	SwareBufferedEntry *begin = to;
	const SwareBufferedEntry *end_a = a + count_a;
	const SwareBufferedEntry *end_b = b + count_b;

	while (a < end_a && b < end_b)
	{
		int			order = compare_buffered(cursor, a, b);

		if (order <= 0)
			*to++ = *a++;
		else
			*to++ = *b++;
		if (order == 0)
			b++;
	}
	memcpy(to, a, (end_a - a) * sizeof(SwareBufferedEntry));
	to += end_a - a;
	memcpy(to, b, (end_b - b) * sizeof(SwareBufferedEntry));
	to += end_b - b;
	return to - begin;
}

/* Put the entries in order and drop those that are there twice. */
static void
sort(SwareBufferCursor *cursor)
{
	MemoryContext context = cursor->context;
	int		   *starts;
	int			runs;
	SwareBufferedEntry *other = NULL;

	if (cursor->sorted == cursor->count)
		return;
	starts = MemoryContextAlloc(context, cursor->count * sizeof(int));
	runs = find_runs(cursor, starts);
	if (runs > 1)
		other = MemoryContextAlloc(context, cursor->allocated * sizeof(SwareBufferedEntry));
	while (runs > 1)
	{
		SwareBufferedEntry *entries = cursor->entries;
		int			merged = 0;
		int			count = 0;

		for (int i = 0; i < runs; i += 2)
		{
			int			begin = starts[i];
			int			middle = i + 1 < runs ? starts[i + 1] : cursor->count;
			int			end = i + 2 < runs ? starts[i + 2] : cursor->count;

			starts[merged++] = count;
			count += merge(cursor, entries + begin, middle - begin,
						   entries + middle, end - middle, other + count);
		}
		cursor->entries = other;
		other = entries;
		cursor->count = count;
		runs = merged;
	}
	if (other)
		pfree(other);
	pfree(starts);
	cursor->sorted = cursor->count;
}

/* Sort the entries, and drop those beyond the limits. */
static void
sort_and_cut(SwareBufferCursor *cursor)
{
	int			limit;

	cursor->lastIsOfSource = false;
	sort(cursor);
	limit = Min(cursor->limit, cursor->count);
	if (cursor->bytes > MAX_CHUNK_BYTES)
	{
		Size		bytes = 0;

		for (int i = 0; i < limit; i++)
		{
			if (bytes > MAX_CHUNK_BYTES)
				limit = i;
			bytes += IndexTupleSize(cursor->entries[i].entry);
		}
	}
	if (cursor->count > limit)
		cursor->isCut = true;
	cursor->count = cursor->sorted = limit;

#ifdef USE_ASSERT_CHECKING
	for (int i = 1; i < limit; i++)
		Assert(compare_buffered(cursor, &cursor->entries[i - 1], &cursor->entries[i]) < 0);
#endif
}

/*
 * Make place for more entries, which must be better than the worst of these
 * if there are enough.
 */
void
sware_chunk_keep_the_best(SwareBufferCursor *cursor)
{
	SwareBufferedEntry *worst;

	sort_and_cut(cursor);
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
 * If the chunk has taken much memory, cut it, and move what is left.  Called
 * before a page or a few entries of a block are read: what they were copied to
 * may be freed.
 */
void
sware_chunk_save_memory(SwareBufferCursor *cursor)
{
	MemoryContext old = cursor->chunkContext;

	if (likely(cursor->bytes <= 4 * MAX_CHUNK_BYTES))
		return;
	sware_chunk_keep_the_best(cursor);
	cursor->chunkContext = NULL;
	cursor->bytes = 0;
	cursor->roomLeft = 0;
	for (int i = 0; i < cursor->count; i++)
	{
		Size		size = MAXALIGN(IndexTupleSize(cursor->entries[i].entry));
		IndexTuple	copy = sware_chunk_make_room(cursor, size);

		memcpy(copy, cursor->entries[i].entry, size);
		cursor->entries[i].entry = copy;
	}
	if (cursor->worst)
		cursor->worst = cursor->entries[cursor->count - 1].entry;
	MemoryContextDelete(old);
}

/* Begin a chunk of what lies beyond an entry, or from the end (NULL). */
void
sware_chunk_begin(SwareBufferCursor *cursor, IndexTuple after)
{
	cursor->count = cursor->current = cursor->sorted = 0;
	cursor->exhausted = false;
	cursor->isCut = cursor->isNarrowed = false;
	cursor->worst = NULL;
	if (cursor->chunkContext && cursor->bytes > 0)
		MemoryContextReset(cursor->chunkContext);
	cursor->bytes = 0;
	cursor->room = cursor->firstRoom.bytes;
	cursor->roomLeft = sizeof(cursor->firstRoom.bytes);

	cursor->smallest = cursor->rangesBegin;
	cursor->largest = cursor->rangesEnd;
	cursor->hasPlace = after != NULL;
	if (after == NULL)
		return;

	cursor->placeAbbreviation = sware_chunk_abbreviate(cursor, after);
	sware_search_key_from_entry(&cursor->place, cursor->scan->indexRelation, after);
	cursor->place.after = cursor->forward;
	if (cursor->forward)
		cursor->smallest = Max(cursor->smallest, cursor->placeAbbreviation);
	else
		cursor->largest = Min(cursor->largest, cursor->placeAbbreviation);
}

/* Finish a chunk: all sources have been looked at. */
void
sware_chunk_finish(SwareBufferCursor *cursor)
{
	sort_and_cut(cursor);
	cursor->exhausted = !cursor->isCut && !cursor->isNarrowed;
}

/*
 * Where is an entry, seen from the ranges?  Changes the current range if there
 * are several.
 */
SwareRangeSide
sware_side_of_ranges(SwareBufferCursor *cursor, IndexTuple entry, int64 abbreviation)
{
	SwareScanKeys *keys = cursor->keys;

	if (keys->rangeCount > 1)
	{
		int64		range = sware_scan_keys_first_range_above(keys, 0, entry);

		if (range == keys->rangeCount)
			return SWARE_ABOVE_RANGES;
		sware_scan_keys_set_range(keys, range);
		return sware_compare_key(&keys->low, entry) <= 0 ? SWARE_IN_RANGE : SWARE_BELOW_RANGE;
	}

	if (keys->high.columnCount > 0 && abbreviation >= cursor->endMayMatter &&
		sware_compare_key(&keys->high, entry) <= 0)
		return SWARE_ABOVE_RANGES;
	if (keys->low.columnCount > 0 && abbreviation <= cursor->beginMayMatter &&
		sware_compare_key(&keys->low, entry) > 0)
		return SWARE_BELOW_RANGE;
	return SWARE_IN_RANGE;
}

/* Give an entry to who visits them all. */
static inline void
give(SwareBufferCursor *cursor, IndexTuple entry)
{
	cursor->visit(&entry->t_tid, cursor->visitState);
	cursor->visited++;
}

/* Take an entry, in the chunk's memory, that has been found to belong to it. */
static inline void
take(SwareBufferCursor *cursor, const SwareBufferedEntry *found)
{
	if (cursor->count == cursor->allocated)
	{
		cursor->allocated = Max(2 * cursor->allocated, FIRST_ALLOCATED);
		cursor->entries = cursor->entries == NULL ?
			MemoryContextAlloc(cursor->context,
							   cursor->allocated * sizeof(SwareBufferedEntry)) :
			repalloc(cursor->entries, cursor->allocated * sizeof(SwareBufferedEntry));
	}
	cursor->entries[cursor->count++] = *found;
}

static inline bool
is_full(const SwareBufferCursor *cursor)
{
	return cursor->count >= 2 * cursor->limit;
}

/*
 * Take what qualifies of the candidates, which are in no order; but usually
 * later ones are larger.
 */
void
sware_chunk_take_candidates(SwareBufferCursor *cursor, const SwareCandidates *candidates)
{
	IndexTuple	entries[SWARE_MAX_BUFFER_ENTRIES];
	int			count = 0;

	for (Size offset = 0; offset < candidates->used;)
	{
		entries[count] = (IndexTuple) (candidates->bytes + offset);
		offset += MAXALIGN(IndexTupleSize(entries[count]));
		count++;
	}

	for (int i = 0; i < count; i++)
	{
		IndexTuple	entry = entries[cursor->forward ? i : count - 1 - i];
		Size		size = MAXALIGN(IndexTupleSize(entry));
		int64		abbreviation = sware_chunk_abbreviate(cursor, entry);
		SwareBufferedEntry found;

		if (abbreviation < cursor->smallest || abbreviation > cursor->largest ||
			sware_side_of_ranges(cursor, entry, abbreviation) != SWARE_IN_RANGE ||
			!sware_is_beyond_place(cursor, entry, abbreviation) ||
			!sware_is_better_than_worst(cursor, entry, abbreviation) ||
			(cursor->keys->filterCount > 0 &&
			 !sware_scan_keys_filter(cursor->keys, entry)))
			continue;
		if (cursor->visit)
		{
			give(cursor, entry);
			continue;
		}
		found.entry = sware_chunk_make_room(cursor, size);
		memcpy(found.entry, entry, size);
		found.abbreviation = abbreviation;
		found.page = candidates->page;
		take(cursor, &found);
		if (is_full(cursor))
			sware_chunk_keep_the_best(cursor);
	}
}

/*
 * Take an entry of a source that is in order.  It is in the chunk's memory,
 * unless it is only visited, and has been found to lie in a range, with an
 * abbreviation that is wanted.  False if it does not qualify.
 */
bool
sware_chunk_take_in_order(SwareBufferCursor *cursor, const SwareBufferedEntry *found)
{
	if (!sware_is_beyond_place(cursor, found->entry, found->abbreviation) ||
		(cursor->keys->filterCount > 0 &&
		 !sware_scan_keys_filter(cursor->keys, found->entry)))
		return false;
	if (cursor->visit)
	{
		give(cursor, found->entry);
		return true;
	}
	take(cursor, found);

	/* if everything is in order so far, is it still? */
	if (cursor->sorted == cursor->count - 1 &&
		(cursor->sorted == 0 || cursor->lastIsOfSource ||
		 compare_buffered(cursor, &cursor->entries[cursor->count - 2],
						  &cursor->entries[cursor->count - 1]) < 0))
		cursor->sorted = cursor->count;
	cursor->lastIsOfSource = true;
	if (is_full(cursor))
		sware_chunk_keep_the_best(cursor);
	return true;
}
