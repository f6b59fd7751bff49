/*-------------------------------------------------------------------------
 *
 * piece.c
 *	  Reading what of the buffer is flushed or sorted together, without what
 *	  need not go to the tree: entries of rows that are dead to everybody.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/qunique.h"

#include "base/compat.h"
#include "base/faultpoint.h"
#include "base/pause.h"
#include "buffer/buffersteps.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/bufferpages.h"
#include "pages/pageaccess.h"
#include "sort/sorter.h"
#include "tree/deadrows.h"
#include "wal/wal.h"

/*
 * Entries that the table is asked about at once.  They come in the order of
 * their arrival, so many of them are of the same block of the table.
 */
#define ENTRIES_AT_ONCE		1024

/*
 * If fewer than one in this number of the entries asked about are dead, the
 * next ones are passed over: the table is asked about the marked ones among
 * them only; but about all if this share of them is marked.
 */
#define WORTHWHILE_SHARE	32
#define PASSED_OVER			(7 * ENTRIES_AT_ONCE)

/*
 * Copy a sealed page to the current memory context, and find its entries, for
 * which there is room.  Locks the page for a moment.
 */
static void
copy_entries(Relation index, const SwareListedPage *page, IndexTuple *entries,
			 bool *has_versions)
{
	Page		copy = palloc(BLCKSZ);
	Buffer		buffer = sware_read_listed_page(index, page);
	BlockNumber block = page->page.block;
	int			count = 0;

	memcpy(copy, BufferGetPage(buffer), BLCKSZ);
	sware_release_buffer(buffer);
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
		sware_report_corruption(index, block,
								"The buffer page has %d entries, but its slot says %u.",
								count, page->entries);
}

/*
 * How many of the entries, which are in order, are before another one?  They
 * keep their marks.
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
 * Copy the entries of a piece to the current memory context, and set the state
 * of those of its pages that have no others from the piece's end on.  Returns
 * the number of entries.
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
	flushed->hasVersions = false;

	count = 0;
	for (int i = 0; i < piece->count; i++)
	{
		SwareListedPage *page = &piece->pages[i];
		IndexTuple *entries = flushed->entries + count;
		int			begin = 0;
		int			end = page->entries;

		sware_pause_point();
		copy_entries(index, page, entries, &flushed->hasVersions);
		if (piece->from && page->isResumed)
			begin = entries_before(index, entries, end, piece->from);
		if (piece->to)
			end = entries_before(index, entries, end, piece->to);
		if (end == page->entries)
			page->state = SWARE_SLOT_RETIRED;
		if (begin < end)
		{
			memmove(entries, entries + begin,
					(end - begin) * sizeof(IndexTuple));
			count += end - begin;
		}
	}
	return count;
}

static int
count_marked(IndexTuple *entries, int count)
{
	int			marked = 0;

	for (int i = 0; i < count; i++)
		marked += sware_entry_is_marked(entries[i]);
	return marked;
}

/*
 * Find out which entries' rows are dead to everybody: dead[i] tells of entry i.
 * Only the marked ones are looked at, or all.  Returns their number.
 */
static int
find_dead(SwareRowCheck *check, IndexTuple *entries, int count, bool ask_all,
		  bool *dead)
{
	int			found = 0;

	for (int i = 0; i < count; i++)
	{
		dead[i] = (ask_all || sware_entry_is_marked(entries[i])) &&
			sware_row_is_dead(check, &entries[i]->t_tid);
		found += dead[i];
	}
	return found;
}

/* qsort comparator */
static int
compare_tids(const void *a, const void *b)
{
	return ItemPointerCompare((ItemPointer) a, (ItemPointer) b);
}

/*
 * Tell standbys of the dead ones among entries, one at least.  An entry may be
 * there twice, if publishing it had failed; the table is asked about it once.
 */
static void
log_conflict(Relation index, Relation heap, IndexTuple *entries, int count,
			 const bool *dead)
{
	ItemPointerData tids[ENTRIES_AT_ONCE];
	TM_IndexDelete asked[ENTRIES_AT_ONCE];
	TM_IndexStatus status[ENTRIES_AT_ONCE];
	TM_IndexDeleteOp operation = {
		.irel = index,
		.iblknum = InvalidBlockNumber,
		.deltids = asked,
		.status = status
	};
	int			dead_count = 0;

	for (int i = 0; i < count; i++)
	{
		if (dead[i])
			tids[dead_count++] = entries[i]->t_tid;
	}
	qsort(tids, dead_count, sizeof(ItemPointerData), compare_tids);
	operation.ndeltids = qunique(tids, dead_count, sizeof(ItemPointerData),
								 compare_tids);
	for (int i = 0; i < operation.ndeltids; i++)
	{
		asked[i].tid = tids[i];
		asked[i].id = i;
		status[i].idxoffnum = FirstOffsetNumber;
		status[i].knowndeletable = true;
		status[i].promising = false;
		status[i].freespace = 0;
	}
	sware_wal_log_conflict(index, heap,
						   table_index_delete_tuples(heap, &operation));
}

/*
 * Leave out entries of rows that the table says are dead to everybody: a row
 * that lives shorter than its entry stays in the buffer never costs a leaf.
 * The others stay in the order in which they are.  Returns how many were left
 * out.  Before any of them may go from the index for good, this has told
 * standbys of it.  The flush lock keeps VACUUM from releasing their TIDs.
 *
 * Where few rows of a table die early, only a sample of the entries is asked
 * about, and some that are dead remain.  With `only_marked`, the table is asked
 * about marked ones only, or about all if many are marked: entries that are not
 * in the order of their arrival are of blocks all over the table.
 */
static int
drop_dead(Relation index, Relation heap, IndexTuple *entries, int count,
		  bool only_marked)
{
	bool		dead[ENTRIES_AT_ONCE];
	SwareRowCheck check;
	int			kept = 0;
	int			ask_again = only_marked ? count : 0;	/* from this one on all
														 * are asked about */

	/*
	 * scans with old snapshots fail by the LSNs of leaves, which this would
	 * not raise
	 */
	if (!sware_table_tells_dead(heap) || sware_snapshots_get_too_old())
		return 0;

	sware_row_check_begin(&check, heap);
	for (int next = 0; next < count; next += ENTRIES_AT_ONCE)
	{
		IndexTuple *some = entries + next;
		int			some_count = Min(count - next, ENTRIES_AT_ONCE);
		int			worthwhile = Max(some_count / WORTHWHILE_SHARE, 1);
		bool		ask_all = next >= ask_again ||
			count_marked(some, some_count) >= worthwhile;
		int			found =
			find_dead(&check, some, some_count, ask_all, dead);

		sware_pause_point();
		if (found > 0)
			log_conflict(index, heap, some, some_count, dead);
		for (int i = 0; i < some_count; i++)
		{
			if (!dead[i])
				entries[kept++] = some[i];
		}

		if (ask_all && !only_marked)
			ask_again = next + ENTRIES_AT_ONCE +
				(found >= worthwhile ? 0 : PASSED_OVER);
	}
	sware_row_check_end(&check);
	SWARE_FAULT_POINT("flush-dead-dropped");
	return count - kept;
}

void
sware_copy_piece(Relation index, Relation heap, const SwarePiece *piece,
				 SwareFlushed *flushed)
{
	int64		count = copy_pages(index, piece, flushed);
	IndexTuple *entries = flushed->entries;
	int			distinct = 0;

	flushed->dropped = drop_dead(index, heap, entries, count,
								 !piece->asArrived);
	count -= flushed->dropped;
	for (int64 i = 0; i < count; i++)
		sware_clear_mark(entries[i]);
	if (count > 1 && piece->asArrived)
		sware_sort_arrivals(index, entries, 0, count);
	else if (count > 1)
		sware_sort_entries(index, entries, 0, count);
	for (int64 i = 0; i < count; i++)
	{
		if (i % 1024 == 0)
			sware_pause_point();
		if (distinct == 0 ||
			!sware_entries_are_equal(index, entries[distinct - 1], entries[i]))
			entries[distinct++] = entries[i];
	}
	flushed->count = distinct;
}
