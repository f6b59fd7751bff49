/*-------------------------------------------------------------------------
 *
 * piece.c
 *	  Reading what of the buffer is flushed or sorted together.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "buffer/dropdead.h"
#include "buffer/piece.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/bufferpages.h"
#include "sort/sorter.h"

/*
 * Copy a sealed page to the current memory context, and find its entries, for
 * which there is room.  Locks the page for a moment.
 */
static void
copy_entries(Relation index, const SwareListedPage *page, IndexTuple *entries,
			 bool *has_versions)
{
	Page		copy = palloc(BLCKSZ);
	BlockNumber block = page->page.block;
	int			count = 0;

	sware_copy_listed_page(index, page, copy);
	*has_versions |=
		(SwarePageGetOpaque(copy)->flags & SWARE_HAS_VERSIONS) != 0;
	for (Size offset = SWARE_BUFFER_START;
		 offset < sware_buffer_page_end(copy);)
	{
		IndexTuple	entry = sware_buffer_entry(index, block, copy, &offset);

		if (count++ < page->entries)
			entries[count - 1] = entry;
	}
	if (count != page->entries)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" contains corrupted page at block %u",
						RelationGetRelationName(index), block),
				 errdetail("The buffer page has %d entries, but its slot says %u.",
						   count, page->entries),
				 errhint("Please REINDEX it.")));
}

/*
 * How many of the entries, which are in order, are before another one?  They
 * keep their marks, which tell what rows to ask the table for.
 */
static int
entries_before(Relation index, IndexTuple *entries, int count,
			   IndexTuple entry)
{
	int			low = 0;
	int			high = count;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;
		unsigned short info = entries[middle]->t_info;
		int			result;

		sware_clear_mark(entries[middle]);
		result = sware_compare_entries(index, entries[middle], entry);
		entries[middle]->t_info = info;
		if (result < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Copy the entries of a piece to the current memory context, and say which of
 * its pages have no others from the piece's end on.  Returns their number.
 */
static int64
copy_pages(Relation index, const SwarePiece *piece, SwareFlushed *flushed)
{
	int64		count = 0;

	for (int i = 0; i < piece->count; i++)
		count += piece->pages[i].entries;
	flushed->entries =
		MemoryContextAllocHuge(CurrentMemoryContext,
							   Max(count, 1) * sizeof(IndexTuple));
	flushed->pages =
		MemoryContextAllocHuge(CurrentMemoryContext,
							   piece->count * sizeof(SwareListedPage));
	flushed->pageCount = 0;
	flushed->hasVersions = false;

	count = 0;
	for (int i = 0; i < piece->count; i++)
	{
		const SwareListedPage *page = &piece->pages[i];
		IndexTuple *entries = flushed->entries + count;
		int			begin = 0;
		int			end = page->entries;

		copy_entries(index, page, entries, &flushed->hasVersions);
		if (piece->from)
			begin = entries_before(index, entries, end, piece->from);
		if (piece->to)
			end = entries_before(index, entries, end, piece->to);
		if (end == page->entries)
			flushed->pages[flushed->pageCount++] = *page;
		if (begin < end)
		{
			memmove(entries, entries + begin,
					(end - begin) * sizeof(IndexTuple));
			count += end - begin;
		}
	}
	return count;
}

void
sware_copy_piece(Relation index, Relation heap, const SwarePiece *piece,
				 SwareFlushed *flushed)
{
	int64		count = copy_pages(index, piece, flushed);
	IndexTuple *entries = flushed->entries;
	int			distinct = 0;

	flushed->dropped = sware_drop_dead(index, heap, entries, count,
									   piece->order == SWARE_KEY_ORDER);
	count -= flushed->dropped;
	for (int64 i = 0; i < count; i++)
		sware_clear_mark(entries[i]);
	if (count > 1 && piece->order == SWARE_ARRIVAL_ORDER)
		sware_sort_arrivals(index, entries, 0, count);
	else if (count > 1)
		sware_sort_entries(index, entries, count);
	for (int64 i = 0; i < count; i++)
	{
		if (distinct == 0 ||
			!sware_entries_are_equal(index, entries[distinct - 1], entries[i]))
			entries[distinct++] = entries[i];
	}
	flushed->count = distinct;
}
