/*-------------------------------------------------------------------------
 *
 * bufferbatch.c
 *	  Collecting the entries of a buffer cursor's batch.
 *
 * Entries that qualify are collected in an array.  Whenever it has twice as
 * many as the batch's limit, it is sorted, and the worst ones are removed:
 * those that the scan would return last.  From then on only better entries
 * than the worst one kept are wanted.
 *
 * Nothing here reads a page.  Comparators run, so callers hold no locks.  All
 * memory belongs to the cursor.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "cursor/bufferbatch.h"
#include "keys/searchkey.h"

/* A batch ends before its limit if its entries take this number of bytes. */
#define MAX_BATCH_BYTES		(1024 * 1024)

/* Sizes of the pieces in which memory for entries is allocated. */
#define FIRST_PIECE			2048
#define LAST_PIECE			(64 * 1024)

/* the number of entries that a cursor has room for at first */
#define FIRST_ALLOCATED		16

/*
 * Compare two entries of the batch: negative if a scan in this direction
 * returns `a` first.
 */
static inline int
compare_buffered(const SwareBufferCursor *cursor, const SwareBufferedEntry *a,
				 const SwareBufferedEntry *b)
{
	int			result = sware_batch_compare(cursor, a->entry, a->abbreviation,
											 b->entry, b->abbreviation,
											 &b->entry->t_tid);

	return cursor->forward ? result : -result;
}

/*
 * Return memory of `size` bytes for entries of the batch.  NAMEDATALEN bytes
 * behind it can be read, too: the type "name" is stored in fewer bytes than
 * functions that read it may copy.
 */
IndexTuple
sware_batch_make_room(SwareBufferCursor *cursor, Size size)
{
	IndexTuple	result;

	if (cursor->roomLeft < size + NAMEDATALEN)
	{
		Size		piece = Min(Max(cursor->bytes, FIRST_PIECE), LAST_PIECE);

		if (cursor->batchContext == NULL)
			cursor->batchContext =
				AllocSetContextCreate(cursor->context, "sware batch",
									  ALLOCSET_DEFAULT_SIZES);
		cursor->roomLeft = Max(piece, size + NAMEDATALEN);
		cursor->room =
			MemoryContextAlloc(cursor->batchContext, cursor->roomLeft);
	}
	result = (IndexTuple) cursor->room;
	cursor->room += size;
	cursor->roomLeft -= size;
	cursor->bytes += size;
	return result;
}

/* Give back the last `size` bytes of the memory that was returned last. */
void
sware_batch_give_back(SwareBufferCursor *cursor, Size size)
{
	cursor->room -= size;
	cursor->roomLeft += size;
	cursor->bytes -= size;
}

/*
 * Find the runs of entries that are in order, and remove each entry that
 * equals the one before.  Returns the number of runs, and in `starts` where
 * they start.
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
		int			order =
			compare_buffered(cursor, &entries[kept - 1], &entries[i]);

		if (order == 0)
			continue;
		if (order > 0)
			starts[runs++] = kept;
		entries[kept++] = entries[i];
	}
	cursor->count = kept;
	return runs;
}

/*
 * Merge two runs; entries that are in both are kept once.  Returns the number
 * of entries.
 */
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

/* Sort the entries, and remove duplicates. */
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
		other = MemoryContextAlloc(context, cursor->allocated *
								   sizeof(SwareBufferedEntry));
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

/* Sort the entries, and remove those beyond the batch's limits. */
static void
sort_and_cut(SwareBufferCursor *cursor)
{
	int			limit;

	cursor->lastIsOfSource = false;
	sort(cursor);
	limit = Min(cursor->limit, cursor->count);
	if (cursor->bytes > MAX_BATCH_BYTES)
	{
		Size		bytes = 0;

		for (int i = 0; i < limit; i++)
		{
			if (bytes > MAX_BATCH_BYTES)
				limit = i;
			bytes += IndexTupleSize(cursor->entries[i].entry);
		}
	}
	if (cursor->count > limit)
		cursor->isCut = true;
	cursor->count = cursor->sorted = limit;

#ifdef USE_ASSERT_CHECKING
	for (int i = 1; i < limit; i++)
		Assert(compare_buffered(cursor, &cursor->entries[i - 1],
								&cursor->entries[i]) < 0);
#endif
}

/*
 * Make place for more entries of the batch by removing the worst ones.  If the
 * batch is full, later entries must be better than the worst one that was
 * kept.
 */
void
sware_batch_keep_the_best(SwareBufferCursor *cursor)
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
 * If the batch has taken much memory, sort and cut it, and move the rest to
 * new memory.  Called before a page, or some entries of a sorted zone, are
 * read, since entries that were copied but not taken may be freed.
 */
void
sware_batch_save_memory(SwareBufferCursor *cursor)
{
	MemoryContext old = cursor->batchContext;

	if (likely(cursor->bytes <= 4 * MAX_BATCH_BYTES))
		return;
	sware_batch_keep_the_best(cursor);
	cursor->batchContext = NULL;
	cursor->bytes = 0;
	cursor->roomLeft = 0;
	for (int i = 0; i < cursor->count; i++)
	{
		Size		size = MAXALIGN(IndexTupleSize(cursor->entries[i].entry));
		IndexTuple	copy = sware_batch_make_room(cursor, size);

		memcpy(copy, cursor->entries[i].entry, size);
		cursor->entries[i].entry = copy;
	}
	if (cursor->worst)
		cursor->worst = cursor->entries[cursor->count - 1].entry;
	MemoryContextDelete(old);
}

/* Begin a batch of the entries beyond `after`, or of all entries (NULL). */
void
sware_batch_begin(SwareBufferCursor *cursor, IndexTuple after)
{
	cursor->count = cursor->current = cursor->sorted = 0;
	cursor->exhausted = false;
	cursor->isCut = cursor->isNarrowed = false;
	cursor->worst = NULL;
	if (cursor->batchContext && cursor->bytes > 0)
		MemoryContextReset(cursor->batchContext);
	cursor->bytes = 0;
	cursor->room = cursor->firstRoom.bytes;
	cursor->roomLeft = sizeof(cursor->firstRoom.bytes);

	cursor->smallest = cursor->rangesBegin;
	cursor->largest = cursor->rangesEnd;
	cursor->hasPlace = after != NULL;
	if (after == NULL)
		return;

	cursor->placeAbbreviation = sware_batch_abbreviate(cursor, after);
	sware_search_key_from_entry(&cursor->place, cursor->scan->indexRelation,
								after);
	cursor->place.after = cursor->forward;
	if (cursor->forward)
		cursor->smallest = Max(cursor->smallest, cursor->placeAbbreviation);
	else
		cursor->largest = Min(cursor->largest, cursor->placeAbbreviation);
}

/* Finish a batch, after all sources have been read. */
void
sware_batch_finish(SwareBufferCursor *cursor)
{
	sort_and_cut(cursor);
	cursor->exhausted = !cursor->isCut && !cursor->isNarrowed;
}

/*
 * Tell whether an entry is in a range.  If there are several ranges, this
 * changes the current range, keys->range.  Runs comparators.
 */
SwareRangeSide
sware_side_of_ranges(SwareBufferCursor *cursor, IndexTuple entry,
					 int64 abbreviation)
{
	SwareScanKeys *keys = cursor->keys;

	if (keys->rangeCount > 1)
	{
		int64		range = sware_scan_keys_first_range_above(keys, 0, entry);

		if (range == keys->rangeCount)
			return SWARE_ABOVE_RANGES;
		sware_scan_keys_set_range(keys, range);
		return sware_compare_key(&keys->low, entry) <= 0 ? SWARE_IN_RANGE :
			SWARE_BELOW_RANGE;
	}

	if (keys->high.columnCount > 0 && abbreviation >= cursor->endMayMatter &&
		sware_compare_key(&keys->high, entry) <= 0)
		return SWARE_ABOVE_RANGES;
	if (keys->low.columnCount > 0 && abbreviation <= cursor->beginMayMatter &&
		sware_compare_key(&keys->low, entry) > 0)
		return SWARE_BELOW_RANGE;
	return SWARE_IN_RANGE;
}

/* Give an entry to the visiting function. */
static inline void
give(SwareBufferCursor *cursor, IndexTuple entry)
{
	cursor->visit(&entry->t_tid, cursor->visitState);
	cursor->visited++;
}

/*
 * Take an entry, in the batch's memory, which was found to belong to the
 * batch.
 */
static inline void
take(SwareBufferCursor *cursor, const SwareBufferedEntry *found)
{
	if (cursor->count == cursor->allocated)
	{
		cursor->allocated = Max(2 * cursor->allocated, FIRST_ALLOCATED);
		cursor->entries =
			cursor->entries == NULL ?
			MemoryContextAlloc(cursor->context,
							   cursor->allocated *
							   sizeof(SwareBufferedEntry)) :
			repalloc(cursor->entries,
					 cursor->allocated * sizeof(SwareBufferedEntry));
	}
	cursor->entries[cursor->count++] = *found;
}

static inline bool
is_full(const SwareBufferCursor *cursor)
{
	return cursor->count >= 2 * cursor->limit;
}

/*
 * Take those candidates that qualify.  They are in no order, but usually later
 * ones are larger.  Runs comparators.
 */
void
sware_batch_take_candidates(SwareBufferCursor *cursor,
							const SwareCandidates *candidates)
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
		int64		abbreviation = sware_batch_abbreviate(cursor, entry);
		SwareBufferedEntry found;

		if (abbreviation < cursor->smallest ||
			abbreviation > cursor->largest ||
			sware_side_of_ranges(cursor, entry, abbreviation) !=
			SWARE_IN_RANGE ||
			!sware_is_beyond_place(cursor, entry, abbreviation) ||
			!sware_is_better_than_worst(cursor, entry, abbreviation) ||
			(cursor->keys->conditionCount > 0 &&
			 !sware_scan_keys_satisfy(cursor->keys, entry)))
			continue;
		if (cursor->visit)
		{
			give(cursor, entry);
			continue;
		}
		found.entry = sware_batch_make_room(cursor, size);
		memcpy(found.entry, entry, size);
		found.abbreviation = abbreviation;
		found.source.page = candidates->page;
		found.source.zone = 0;
		take(cursor, &found);
		if (is_full(cursor))
			sware_batch_keep_the_best(cursor);
	}
}

/*
 * Take an entry of a source that is in order, if it qualifies; else return
 * false.  It is known to lie in a range, and its abbreviation is wanted.  It
 * is in the batch's memory, unless it is only visited.  Runs comparators.
 */
bool
sware_batch_take_in_order(SwareBufferCursor *cursor,
						  const SwareBufferedEntry *found)
{
	if (!sware_is_beyond_place(cursor, found->entry, found->abbreviation) ||
		(cursor->keys->conditionCount > 0 &&
		 !sware_scan_keys_satisfy(cursor->keys, found->entry)))
		return false;
	if (cursor->visit)
	{
		give(cursor, found->entry);
		return true;
	}
	take(cursor, found);

	/* If all entries before it are in order, is this one, too? */
	if (cursor->sorted == cursor->count - 1 &&
		(cursor->sorted == 0 || cursor->lastIsOfSource ||
		 compare_buffered(cursor, &cursor->entries[cursor->count - 2],
						  &cursor->entries[cursor->count - 1]) < 0))
		cursor->sorted = cursor->count;
	cursor->lastIsOfSource = true;
	if (is_full(cursor))
		sware_batch_keep_the_best(cursor);
	return true;
}
