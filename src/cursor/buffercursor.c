/*-------------------------------------------------------------------------
 *
 * buffercursor.c
 *	  The buffer cursor.  See buffercursor.h.
 *
 * A batch is read from *sources*: sorted zones, sealed pages that are in no
 * sorted zone, and open pages.  Zonemaps tell which sources have nothing in the
 * ranges.  The others are read in the order of their best entries (those that
 * the scan returns first), so that most need not be read: enough better entries
 * have been found before (bufferbatch.c).
 *
 * While a page is share-locked, only the entries' abbreviations are looked at.
 * Comparators run after the lock has been released.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/faultpoint.h"
#include "cursor/bufferbatch.h"
#include "keys/hashfunction.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "locks/keylock.h"
#include "pages/bufferpages.h"
#include "pages/corruption.h"
#include "pages/pageaccess.h"
#include "shared/statistics.h"
#include "tree/treescan.h"

/*
 * The limit of the first batch's entries, the factor by which it grows with
 * each batch, and its maximum.
 */
#define FIRST_LIMIT			8
#define LIMIT_GROWTH		8
#define LAST_LIMIT			4096

/*
 * If a batch has at most this number of entries, those of one page may be
 * enough for it.
 */
#define MAX_NARROWED		32

/*
 * The number of entries that are copied from a sorted zone at once, at first
 * and at most.
 */
#define FIRST_COPIED			4
#define MAX_COPIED			64

/*
 * A scan that leaves out this number of marked entries in a batch, which are
 * those of a few pages, looks whether whole pages are dead.
 */
#define MANY_LEFT_OUT		1000

/*
 * How often a page may differ from what the directory says, while the
 * generation stays the same, before this is reported as corruption.
 */
#define MAX_STRANGE_PAGES	10

/*
 * Set up a cursor for a scan.  It reads nothing yet.  `keys` and `context`
 * live as long as the scan; memory is taken from `context`.
 */
void
sware_buffer_cursor_init(SwareBufferCursor *cursor, IndexScanDesc scan,
						 SwareScanKeys *keys, MemoryContext context)
{
	cursor->scan = scan;
	cursor->keys = keys;
	cursor->context = context;
	cursor->batchContext = NULL;
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
	cursor->usesMarks = false;
	cursor->leftOut = 0;
	memset(&cursor->dead, 0, sizeof(SwareDeadEntries));
}

/* Mark the dead entries that were noted, before the batch or the view goes. */
static inline void
mark_dead(SwareBufferCursor *cursor)
{
	sware_dead_entries_mark(&cursor->dead, cursor->scan->indexRelation,
							&cursor->view);
}

/* Forget the batch, so that the scan keys may change. */
void
sware_buffer_cursor_rewind(SwareBufferCursor *cursor)
{
	mark_dead(cursor);
	cursor->isAnalyzed = false;
	cursor->exhausted = true;
	cursor->count = cursor->current = 0;
}

/* Free all memory of a cursor. */
void
sware_buffer_cursor_end(SwareBufferCursor *cursor)
{
	mark_dead(cursor);
	if (cursor->dead.entries)
		pfree(cursor->dead.entries);
	if (cursor->batchContext)
		MemoryContextDelete(cursor->batchContext);
	if (cursor->hasView && cursor->view.sorted)
		pfree(cursor->view.sorted);
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
 * If the scan asks for exactly one key, find out the key's fingerprint.  If
 * abbreviations tell entries apart, hashing costs more than it saves, unless
 * the scan looks up one key after another.
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
	if (keys->rangeCount != 1 || keys->prefixColumns != columns ||
		keys->interval || keys->low.columnCount != columns)
		return;
	for (int i = 0; i < columns; i++)
	{
		SwareKeyColumn *column = &keys->low.columns[i];

		/*
		 * Values of different types that are equal may have different hashes.
		 */
		if (!column->isNull &&
			(column->function !=
			 index_getprocinfo(index, i + 1, BTORDER_PROC) ||
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
 * Find out which abbreviations, which hash for Bloom filters and which key for
 * the key cache belong to the ranges.
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

	cursor->hasHash =
		keys->rangeCount == 1 && keys->prefixColumns > 0 &&
		!keys->low.columns[0].isNull &&
		keys->low.columns[0].function ==
		index_getprocinfo(index, 1, BTORDER_PROC) &&
		sware_bloom_hash(index, keys->low.columns[0].value, &cursor->hash);
	analyze_key(cursor);
	cursor->isAnalyzed = true;
}

int64
sware_buffer_cursor_abbreviate(const SwareBufferCursor *cursor,
							   IndexTuple entry)
{
	return sware_batch_abbreviate(cursor, entry);
}

int
sware_buffer_cursor_compare(const SwareBufferCursor *cursor,
							const SwareBufferedEntry *buffered,
							IndexTuple tuple, ItemPointer tid)
{
	return sware_batch_compare(cursor, buffered->entry, buffered->abbreviation,
							   tuple, sware_batch_abbreviate(cursor, tuple),
							   tid);
}

void
sware_buffer_cursor_note_dead(SwareBufferCursor *cursor,
							  const SwareBufferedEntry *buffered)
{
	if (cursor->usesMarks)
		sware_dead_entries_add(&cursor->dead, &buffered->entry->t_tid,
							   &buffered->source, cursor->context);
}

bool
sware_buffer_cursor_met_dead_pages(SwareBufferCursor *cursor)
{
	const SwareZoneView *view = &cursor->view;
	SwareLink	links[SWARE_MAX_ZONE_PAGES];
	SwareLink	oldest;

	if (cursor->leftOut < MANY_LEFT_OUT || !cursor->hasView)
		return false;
	if (view->sortedCount > 0)
	{
		const SwareSortedZone *zone = &view->sorted[0];

		if (!sware_sorted_zone_copy_links(zone, links))
			return false;
		oldest = links[zone->retiredPages];
	}
	else if (view->pageCount > 0)
		oldest = view->pages[0].page;
	else
		return false;
	return sware_buffer_page_is_dead(cursor->scan->indexRelation, oldest);
}

/* The entries of a page whose abbreviations are wanted. */
typedef struct WantedEntries
{
	int			count;
	int64		abbreviations[SWARE_MAX_BUFFER_ENTRIES];
	uint16		offsets[SWARE_MAX_BUFFER_ENTRIES];
} WantedEntries;

/*
 * If a page has enough wanted entries for a small batch, narrow the wanted
 * abbreviations: only the best ones of this page, and better ones, are wanted
 * from now on.
 */
static void
narrow(SwareBufferCursor *cursor, const WantedEntries *wanted)
{
	int64		best[MAX_NARROWED]; /* in ascending order; smaller is better */
	int			count = 0;

	if (cursor->limit > MAX_NARROWED || wanted->count <= cursor->limit ||
		!cursor->abbreviationsQualify || cursor->keys->conditionCount > 0)
		return;

	for (int i = 0; i < wanted->count; i++)
	{
		/* look at small ones first: later entries are usually larger */
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
 * Copy those entries of a page whose abbreviations are wanted to `bytes`,
 * which has room for a page, and find the best abbreviation (*order, see
 * SwareBufferSource).  Marked ones are left out if the scan may.  Returns
 * false if the page is not the one that the link means any more.  Holds a
 * share lock on the page meanwhile, and calls no comparator.
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
		IndexTuple	entry =
			sware_buffer_entry(index, link.block, page, &offset);
		unsigned short info = entry->t_info;
		Size		size = offset - start;
		bool		is_wanted = !cursor->usesMarks ||
			(info & SWARE_MARKED_ENTRY) == 0;

		/*
		 * Following entries with the same t_info need no checks, and their
		 * places are known.
		 */
		for (;;)
		{
			int64		abbreviation =
				sware_abbreviate(&column, descriptor, entry);

			wanted.offsets[count] = start;
			wanted.abbreviations[count] = abbreviation;
			count += is_wanted &&
				abbreviation >= smallest && abbreviation <= largest;
			cursor->leftOut += !is_wanted;
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
		sware_clear_mark((IndexTuple) (bytes + used));
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
 * May a page have the key, as far as the key cache knows?  The page is an open
 * one, or one of the view.
 */
static inline bool
may_have_key(SwareBufferCursor *cursor, SwareLink link)
{
	return !cursor->hasKey || cursor->view.pageCount > SWARE_KEY_CACHE_REACH ||
		sware_page_may_have_key(cursor->scan->indexRelation, link,
								&cursor->key);
}

/*
 * Take the qualifying entries of a sealed page.  Returns false if it is not
 * the page that the link means any more.
 */
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
	sware_batch_take_candidates(cursor, &candidates);
	return true;
}

/*
 * Make a source of the candidates of an open page.  It has no zonemap, so it
 * is read at once.  Returns false if it is not the page that the link means
 * any more.
 */
static bool
read_tail(SwareBufferCursor *cursor, SwareLink link, int number,
		  int *source_count)
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
 * Find the number of a sorted zone's first entry, in the direction of the
 * scan, that may be wanted; a number beyond the zone's end if there is none.
 * Returns false if the zone is gone.
 */
static bool
begin_block(SwareBufferCursor *cursor, const SwareSortedZone *block,
			int64 *number)
{
	SwareScanKeys *keys = cursor->keys;
	const SwareSearchKey *place = &cursor->place;

	if (!cursor->hasPlace)
	{
		sware_scan_keys_set_range(keys,
								  cursor->forward ? 0 : keys->rangeCount - 1);
		place = cursor->forward ? &keys->low : &keys->high;
	}
	if (!cursor->hasPlace && place->columnCount == 0)
		*number = cursor->forward ? 0 : block->entries;
	else
		*number = sware_sorted_zone_search(cursor->scan->indexRelation,
										   block, place);
	if (*number < 0)
		return false;
	*number = cursor->forward ? Max(*number, block->firstEntry) :
		Min(*number, block->endEntry) - 1;
	return true;
}

/*
 * Given an entry of a sorted zone that is in no range, find the number of the
 * next entry, in the direction of the scan, that may be in one; a number
 * beyond the zone's end if there is none.  `side` tells where the entry lies,
 * and *number is its number.  Returns false if the zone is gone.
 */
static bool
skip_to_range(SwareBufferCursor *cursor, const SwareSortedZone *block,
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
		next = sware_sorted_zone_search(cursor->scan->indexRelation, block,
										&keys->low);
		*number = Max(*number + 1, next);
	}
	else
	{
		int64		range =
			sware_scan_keys_last_range_below(keys, keys->rangeCount - 1,
											 entry);

		if (range < 0)
		{
			*number = -1;
			return true;
		}
		sware_scan_keys_set_range(keys, range);
		next = sware_sorted_zone_search(cursor->scan->indexRelation, block,
										&keys->high);
		*number = Min(*number - 1, next - 1);
	}
	return next >= 0;
}

/*
 * Given copies of entries, and how many: take away their marks, and say which
 * are to be left out for these.
 */
static inline void
clear_marks(SwareBufferCursor *cursor, IndexTuple *entries, int count,
			bool *is_left_out)
{
	for (int i = 0; i < count; i++)
	{
		is_left_out[i] = cursor->usesMarks && sware_entry_is_marked(entries[i]);
		cursor->leftOut += is_left_out[i];
		sware_clear_mark(entries[i]);
	}
}

/*
 * Copy the next entries of a sorted zone, in the direction of the scan: at
 * least one, and at most `most`.  They go to the batch's memory, or, if they
 * are only visited, to `memory`, which has BLCKSZ bytes.  Returns their
 * number; -1 if the zone is gone.  The copies have marks.  Scans with a
 * snapshot that is not MVCC need the page of each entry, so these get one.
 */
static int
copy_entries(SwareBufferCursor *cursor, const SwareSortedZone *block,
			 int64 number, int most, char *memory, IndexTuple *entries,
			 SwareLink *page)
{
	Size		size = block->entrySize > 0 ? block->entrySize :
		MAXALIGN(SWARE_MAX_ENTRY_SIZE);
	int			step = cursor->forward ? 1 : -1;
	char	   *start;
	int64		first;
	int			count;

	*page = (SwareLink)
	{
		InvalidBlockNumber, 0
	};
	most = Min(most, cursor->forward ? block->entries - number : number + 1);
	most = cursor->needsPages ? 1 : Min(most, (int) (BLCKSZ / size));
	if (cursor->visit == NULL)
		memory = (char *) sware_batch_make_room(cursor, most * size);
	start = memory;
	if (cursor->needsPages)
	{
		entries[0] = (IndexTuple) memory;
		return sware_sorted_zone_copy_entry(block, number, entries[0], page) ?
			1 :
			-1;
	}

	first = cursor->forward ? number : number - most + 1;
	if (!sware_sorted_zone_copy_tuples(block, first, most, memory))
		return -1;
	count = cursor->forward ? 0 : most - 1;
	for (int i = 0; i < most; i++)
	{
		entries[count] = (IndexTuple) memory;
		memory += MAXALIGN(IndexTupleSize(entries[count]));
		count += step;
	}
	if (cursor->visit == NULL)
		sware_batch_give_back(cursor, start + most * size - memory);
	return most;
}

/*
 * Take the wanted entries of a sorted zone, which are in order and without
 * duplicates, and count them in *taken.  Returns false if the zone is gone.
 */
static bool
take_from_block(SwareBufferCursor *cursor, const SwareSortedZone *block,
				int *taken)
{
	PGAlignedBlock memory;
	IndexTuple	entries[MAX_COPIED];
	bool		is_retired[MAX_COPIED];
	bool		is_left_out[MAX_COPIED];
	int			step = cursor->forward ? 1 : -1;
	int			most = FIRST_COPIED;
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

		sware_batch_save_memory(cursor);
		count = copy_entries(cursor, block, number, most, memory.data,
							 entries, &found.source.page);
		if (count < 0)
			return false;
		clear_marks(cursor, entries, count, is_left_out);
		if (block->retiredPages > 0 &&
			!sware_sorted_zone_find_retired(block,
											cursor->forward ?
											number :
											number - count + 1,
											count, is_retired))
			return false;
		for (int i = 0; i < count; i++)
		{
			SwareRangeSide side;

			found.entry = entries[i];
			found.abbreviation = sware_batch_abbreviate(cursor, found.entry);
			if ((cursor->forward ? found.abbreviation > cursor->largest :
				 found.abbreviation < cursor->smallest) ||
				!sware_is_better_than_worst(cursor, found.entry,
											found.abbreviation))
				return true;
			side =
				sware_side_of_ranges(cursor, found.entry, found.abbreviation);
			if (side != SWARE_IN_RANGE)
			{
				if (!skip_to_range(cursor, block, found.entry, side, &number))
					return false;
				break;
			}

			found.source.zone = block - cursor->view.sorted + 1;
			found.source.number = number;
			number += step;
			if (is_left_out[i] ||
				(block->retiredPages > 0 &&
				 is_retired[cursor->forward ? i : count - 1 - i]))
				continue;

			/*
			 * The limit is reached, and all later ones of this zone are
			 * worse.
			 */
			if (sware_batch_take_in_order(cursor, &found) &&
				++*taken > cursor->limit)
			{
				cursor->isCut = true;
				return true;
			}
		}
		most = Min(2 * most, MAX_COPIED);
	}
	return true;
}

/*
 * Read a sorted zone, unless its Bloom filter excludes it.  Returns false if
 * it is gone.
 */
static bool
read_block(SwareBufferCursor *cursor, const SwareSortedZone *block)
{
	bool		has_filter = cursor->hasHash &&
		sware_sorted_zone_has_filter(block, cursor->hash);
	bool		is_there;
	int			taken;

	cursor->bloomProbes += has_filter;
	if (has_filter && !sware_sorted_zone_may_contain(block, cursor->hash))
		return true;
	is_there = take_from_block(cursor, block, &taken);

	/* Beyond a place there may be no entries although the value exists. */
	cursor->bloomFalsePositives += has_filter && is_there && taken == 0 &&
		!cursor->hasPlace;
	return is_there;
}

/*
 * Restore the order of the binary heap of sources below `hole`.  The heap has
 * the best source at its top.
 */
static void
sink(SwareBufferSource *sources, int count, int hole)
{
	SwareBufferSource moved = sources[hole];

	for (;;)
	{
		int			child = 2 * hole + 1;

		if (child >= count)
			break;
		if (child + 1 < count &&
			sources[child + 1].order < sources[child].order)
			child++;
		if (sources[child].order >= moved.order)
			break;
		sources[hole] = sources[child];
		hole = child;
	}
	sources[hole] = moved;
}

/* Make room for `wanted` sources. */
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

static inline void
add_source(SwareBufferSource *sources, int *count, int64 order,
		   SwareSourceKind kind, int number)
{
	SwareBufferSource *source = &sources[(*count)++];

	source->order = order;
	source->kind = kind;
	source->number = number;
}

/*
 * List those sorted zones and pages of the view that may have wanted entries.
 */
static void
list_sources(SwareBufferCursor *cursor, int *count)
{
	SwareZoneView *view = &cursor->view;
	SwareBufferSource *sources = cursor->sources;

	for (int i = 0; i < view->sortedCount; i++)
	{
		SwareSortedZone *block = &view->sorted[i];

		if (block->largest >= cursor->smallest &&
			block->smallest <= cursor->largest)
			add_source(sources, count,
					   cursor->forward ? block->smallest : ~block->largest,
					   SWARE_SOURCE_BLOCK, i);
	}
	for (int i = 0; i < view->pageCount; i++)
	{
		SwareUnsortedPage *page = &view->pages[i];

		if (!page->hasZonemap)
			add_source(sources, count, PG_INT64_MIN, SWARE_SOURCE_PAGE, i);
		else if (page->largest >= cursor->smallest &&
				 page->smallest <= cursor->largest)
			add_source(sources, count,
					   cursor->forward ? page->smallest : ~page->largest,
					   SWARE_SOURCE_PAGE, i);
	}
}

bool
sware_buffer_cursor_refresh_view(SwareBufferCursor *cursor,
								 const SwareBufferState *state)
{
	if (!cursor->hasView)
	{
		sware_zone_view_init(&cursor->view, cursor->scan->indexRelation,
							 cursor->context);
		cursor->hasView = true;
	}
	return sware_zone_view_refresh(&cursor->view, state);
}

/*
 * Collect a batch from the pages that a state lists.  Returns false if the
 * buffer does not have these pages any more; *strange then gets a page that
 * was found to be another one, if any.
 */
static bool
collect(SwareBufferCursor *cursor, const SwareBufferState *state,
		SwareLink *strange)
{
	SwareZoneView *view = &cursor->view;
	int			count = 0;

	strange->block = InvalidBlockNumber;
	cursor->key.indexIncarnation = state->indexIncarnation;
	free_tails(cursor);
	if (!sware_buffer_cursor_refresh_view(cursor, state))
		return false;

	reserve_sources(cursor,
					view->sortedCount + view->pageCount + state->tailCount);
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

		sware_batch_save_memory(cursor);
		if (cursor->worst == NULL && cursor->count > cursor->limit)
			sware_batch_keep_the_best(cursor);
		if (cursor->forward ? source.order > cursor->largest :
			~source.order < cursor->smallest)
			break;				/* all other sources have worse entries */

		cursor->sources[0] = cursor->sources[--count];
		sink(cursor->sources, count, 0);
		switch (source.kind)
		{
			case SWARE_SOURCE_BLOCK:
				if (!read_block(cursor, &view->sorted[source.number]))
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
				sware_batch_take_candidates(cursor,
											&cursor->tails[source.number]);
				break;
		}
	}
	free_tails(cursor);
	return true;
}

/*
 * Read a batch of the entries beyond `after`, which is not in the memory of
 * the present batch, or of all entries (NULL).  With `same_generation`,
 * returns false if the generation is not that of the batch before.
 */
static bool
read_batch(SwareBufferCursor *cursor, IndexTuple after, bool same_generation)
{
	Relation	index = cursor->scan->indexRelation;
	int			strange_pages = 0;

	mark_dead(cursor);
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

		SWARE_FAULT_POINT("batch-begins");
		if (!cursor->isAnalyzed)
			analyze_ranges(cursor);
		cursor->usesMarks = sware_scan_uses_marks(cursor->scan);
		cursor->leftOut = 0;
		cursor->needsPages = cursor->visit == NULL &&
			!IsMVCCSnapshot(cursor->scan->xs_snapshot);
		sware_batch_begin(cursor, after);
		if (collect(cursor, &state, &strange))
		{
			SWARE_FAULT_POINT("batch-read");
			/* If nothing qualifies, retired pages do not matter. */
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

	sware_batch_finish(cursor);
	if (cursor->bloomProbes > 0)
		sware_count_bloom(index, cursor->bloomProbes,
						  cursor->bloomFalsePositives);
	cursor->bloomProbes = cursor->bloomFalsePositives = 0;
	return true;
}

void
sware_buffer_cursor_seek(SwareBufferCursor *cursor, bool forward,
						 IndexTuple after)
{
	cursor->forward = forward;
	cursor->limit = FIRST_LIMIT;
	cursor->count = cursor->current = 0;
	cursor->exhausted = true;
	if (cursor->keys->rangeCount > 0)
		(void) read_batch(cursor, after, false);
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
		cursor->last = MemoryContextAlloc(cursor->context,
										  cursor->lastSize + NAMEDATALEN);
	}
	memcpy(cursor->last, last, size);
	cursor->limit = Min(cursor->limit * LIMIT_GROWTH, LAST_LIMIT);
	return read_batch(cursor, cursor->last, true);
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
		(void) read_batch(cursor, NULL, false);
	cursor->visit = NULL;
	return cursor->visited;
}
