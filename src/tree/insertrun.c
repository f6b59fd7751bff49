/*-------------------------------------------------------------------------
 *
 * insertrun.c
 *	  Inserts sorted runs of entries, leaf by leaf, and single entries at the
 *	  leaf where they are expected.
 *
 * A run is divided by the high keys of the leaves that it meets.  The part
 * that belongs to one leaf is stored with one WAL record, if the leaf has room
 * for it.  Otherwise entries of dead rows are removed, or gaps between items
 * are closed, or the leaf's duplicates are merged, or it is split.  An entry
 * that the tree has already is skipped, wherever it is stored, so that a run
 * can be repeated after a crash.
 *
 * A single row in order would gain nothing in the buffer, and cost each reader
 * of the latest rows a look there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/faultpoint.h"
#include "base/memory.h"
#include "base/pause.h"
#include "keys/entry.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "shared/statistics.h"
#include "tree/readahead.h"
#include "tree/tree.h"
#include "tree/treepages.h"
#include "wal/wal.h"

/* A run with fewer entries is not worth a bulk append. */
#define MIN_APPEND_RUN	(SWARE_MAX_ITEMS_PER_PAGE * 2)

/*
 * Entries are scattered if those that a leaf gets take fewer bytes than this.
 * Then more entries are taken to be, up to the second number.
 */
#define MIN_COMPANY		(BLCKSZ / 40)
#define MAX_STEP		64

/*
 * Entries that come to a leaf together are not late if they take so many bytes:
 * then they begin leaves of their own.
 */
#define MIN_FRONT		(SWARE_PAGE_CAPACITY / 2)

/* What must be done to a leaf to store an entry. */
typedef enum PlacementKind
{
	PLACEMENT_NONE,				/* the entry is there already */
	PLACEMENT_NO_ROOM,
	PLACEMENT_KEY_IS_THERE,		/* the key had to be new, and perhaps is not */
	PLACEMENT_ADD,				/* add it at an offset */
	PLACEMENT_POSTING			/* put it into a posting list, and store the
								 * list's largest TID elsewhere */
} PlacementKind;

/* An insertion of a run, and what it has done. */
typedef struct Insertion
{
	SwareSearchKey key;			/* prepared for entries of the run */
	Relation	heap;
	bool		hasVersions;
	SwareInserted done;
	int			inserted;		/* entries that old leaves have got */
	int			appended;		/* entries that new leaves have got */
	MemoryContext caller;		/* the present one is reset after each leaf */
} Insertion;

/*
 * Where does an entry go, whose place is `key`, on a leaf to which it belongs,
 * from *offset on?  Sets *offset to where it is to be added, or where the
 * posting list is.  The caller has locked the leaf, or owns a copy.  Calls
 * comparators.
 */
static PlacementKind
place_entry(const SwareSearchKey *key, Page page, IndexTuple entry,
			OffsetNumber *offset)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	IndexTuple	next;
	bool		is_equal;

	if (*offset <= last)
		*offset = sware_search_leaf(key, page, *offset, last);
	next = *offset <= last ? sware_page_tuple(page, *offset) : NULL;
	is_equal = next && sware_compare_key(key, next) == 0;
	if (is_equal && (!sware_tuple_is_posting(next) ||
					 sware_posting_contains(next, &entry->t_tid)))
		return PLACEMENT_NONE;
	if (PageGetFreeSpace(page) < MAXALIGN(IndexTupleSize(entry)))
		return PLACEMENT_NO_ROOM;
	return is_equal ? PLACEMENT_POSTING : PLACEMENT_ADD;
}

/*
 * Add an entry, whose place is `key`, to an exclusively locked leaf to which it
 * belongs, with one record, if that changes nothing else there.  Returns what
 * its placement was: with PLACEMENT_ADD and PLACEMENT_NONE the leaf
 * has the entry now.  Calls comparators.
 *
 * If the place is that before all entries with the key, the entry is added only
 * if the key is new: if the next item, or the high key, is behind all entries
 * with it.  The place is then changed to the one behind them.
 */
static PlacementKind
add_entry(SwareSearchKey *key, Buffer buffer, IndexTuple entry)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	OffsetNumber offset = SWARE_FIRST_DATA;
	PlacementKind kind;

	/*
	 * What comes in order needs no search.  But where a comparison may fail,
	 * an entry is compared with those only that a search meets.
	 */
	if (offset <= last && sware_may_wait(key->index) &&
		sware_compare_key(key, sware_page_tuple(page, last)) > 0)
		offset = last + 1;
	kind = place_entry(key, page, entry, &offset);
	if (kind == PLACEMENT_ADD && !key->hasTid &&
		(offset <= last || !sware_page_is_rightmost(page)))
	{
		key->after = true;
		if (sware_compare_key(key, offset <= last ?
							  sware_page_tuple(page, offset) :
							  sware_page_high_key(page)) >= 0)
			kind = PLACEMENT_KEY_IS_THERE;
	}
	if (kind == PLACEMENT_ADD)
		sware_wal_add_item(key->index, buffer, entry, offset);
	return kind;
}

/*
 * Store an entry in a copy of a leaf, at *offset or behind, and set that to
 * where it is.  Returns whether it had room.  If it had not, nothing has
 * changed.  The key is a prepared one, as in the following functions.
 */
static bool
store_entry(SwareSearchKey *key, Page page, IndexTuple entry,
			OffsetNumber *offset)
{
	PlacementKind kind;

	sware_search_key_set_entry(key, entry);
	kind = place_entry(key, page, entry, offset);
	if (kind == PLACEMENT_ADD)
		sware_add_item(page, entry, *offset);
	else if (kind == PLACEMENT_POSTING)
	{
		ItemId		line_pointer = PageGetItemId(page, *offset);
		IndexTuple	list = sware_page_tuple(page, *offset);
		IndexTuple	evicted;

		list = sware_posting_insert(list, entry, &evicted);
		memcpy(sware_page_tuple(page, *offset), list, IndexTupleSize(list));
		/* clear the list's mark: its new TID's row may be alive */
		ItemIdSetNormal(line_pointer, ItemIdGetOffset(line_pointer),
						ItemIdGetLength(line_pointer));

		/* the evicted TID comes behind its list, before the next key */
		sware_add_item(page, evicted, *offset + 1);
	}
	return kind != PLACEMENT_NO_ROOM;
}

/*
 * Store as many entries of a run in an exclusively locked leaf as have room,
 * with one WAL record.  Returns their number.
 */
static int
store_in_room(SwareSearchKey *key, Buffer buffer, IndexTuple *entries,
			  int count)
{
	Relation	index = key->index;
	OffsetNumber offset = SWARE_FIRST_DATA;
	SwareWal   *wal;
	Page		page;
	int			stored = 0;

	/* the usual case: one entry that changes nothing else */
	if (count == 1)
	{
		PlacementKind kind;

		sware_search_key_set_entry(key, entries[0]);
		kind = add_entry(key, buffer, entries[0]);
		if (kind != PLACEMENT_POSTING)
			return kind == PLACEMENT_NO_ROOM ? 0 : 1;
	}

	wal = sware_wal_begin(index);
	page = sware_wal_change(wal, buffer);
	while (stored < count &&
		   store_entry(key, page, entries[stored], &offset))
		stored++;
	if (stored > 0)
		sware_wal_finish(wal);
	else
		sware_wal_abort(wal);
	return stored;
}

/*
 * How many entries of a run belong to a leaf?  The first one does.  Of entries
 * above all others the rightmost leaf gets only what fills it, since the others
 * may become new leaves.
 */
static int
entries_of_leaf(Relation index, Page page, IndexTuple *entries, int count)
{
	int			low = 1;
	int			high = Min(count, SWARE_MAX_ITEMS_PER_PAGE);
	SwareSearchKey end;

	if (count == 1)
		return 1;
	if (sware_page_is_rightmost(page))
	{
		int			within =
			sware_entries_within_leaf(index, page, entries, high);
		Size		unused =
			SWARE_PAGE_CAPACITY *
			(100 - sware_leaf_fill(index, entries[0])) / 100;
		Size		room = PageGetExactFreeSpace(page);
		Size		taken = sware_item_space(entries[0]);

		if (within > 0)
			return within;

		/* a bulk append gives the leaf a high key, however full it is to be */
		while (low < high &&
			   taken + sware_item_space(entries[low]) +
			   Max(unused, sware_pivot_space(entries[low])) < room)
			taken += sware_item_space(entries[low++]);
		return low;
	}

	sware_search_key_from_tuple(&end, index, sware_page_high_key(page));
	return sware_search_array(&end, entries, low, high, false);
}

/*
 * Insert the start of a run: the entries that belong to the leaf of the first
 * one, or as many of them as can be stored there together.  Returns their
 * number, or 0 if together they take fewer than `least` bytes; the rightmost
 * leaf takes any number.  What this allocates can be freed afterwards.  The
 * caller holds no content locks.
 *
 * The first leaf of a run may be the expected one.  The others are not, nor
 * will they be.
 */
static int
insert_into_leaf(Insertion *insertion, IndexTuple *entries, int count,
				 Size least)
{
	SwareSearchKey *key = &insertion->key;
	Relation	index = key->index;
	SwareStack *stack;
	Buffer		buffer;
	Page		page;
	bool		is_rightmost;
	int			here;
	Size		space;
	int			stored = 0;

	sware_search_key_set_entry(key, entries[0]);
	buffer = insertion->done.visits == 0 ?
		sware_find_leaf(key, &stack) :
		sware_descend(key, 0, BUFFER_LOCK_EXCLUSIVE, &stack);
	page = BufferGetPage(buffer);
	is_rightmost = sware_page_is_rightmost(page);
	here = entries_of_leaf(index, page, entries, count);
	space = sware_items_space(entries, here);
	space = Min(space, SWARE_PAGE_CAPACITY);
	if (space < least && !is_rightmost)
	{
		sware_release_buffer(buffer);
		return 0;
	}
	if (here == 1 || space <= PageGetExactFreeSpace(page))
		stored = store_in_room(key, buffer, entries, here);
	if (stored == 0 &&
		(sware_leaf_make_room(index, insertion->heap, buffer, space,
							  insertion->hasVersions) ||
		 sware_wal_close_gaps(index, buffer, space)))
		stored = store_in_room(key, buffer, entries, here);
	if (stored > 0)
		sware_release_buffer(buffer);
	else
		stored = sware_rearrange(key, buffer, entries, here, stack);

	insertion->done.visits++;
	insertion->inserted += stored;
	if (!is_rightmost && sware_items_space(entries, stored) < MIN_FRONT)
		insertion->done.late += stored;
	return stored;
}

/* Begin to insert a run, in a memory context of its own. */
static void
begin_insertion(Insertion *insertion, Relation index, Relation heap,
				bool has_versions)
{
	insertion->heap = heap;
	insertion->hasVersions = has_versions;
	insertion->inserted = insertion->appended = 0;
	memset(&insertion->done, 0, sizeof(SwareInserted));
	insertion->caller = sware_enter_context("sware insert");
	sware_search_key_prepare(&insertion->key, index);
}

/* Count what was done, and free the memory. */
static void
end_insertion(Insertion *insertion)
{
	Relation	index = insertion->key.index;

	sware_count(index, SWARE_STAT_ENTRIES_APPENDED, insertion->appended);
	sware_count(index, SWARE_STAT_ENTRIES_INSERTED, insertion->inserted);
	sware_count(index, SWARE_STAT_LEAF_VISITS, insertion->done.visits);
	sware_leave_context(insertion->caller);
}

/*
 * Insert a run: entries in order and without duplicates, none of which is too
 * large for the index.  Entries that the tree has already are skipped.  Counts
 * the entries, but not how they arrived.
 *
 * `heap` is the table; if it is NULL, entries of dead rows are not removed to
 * make room.  `has_versions` says that rows of the run are versions of rows
 * that the index has already.
 */
SwareInserted
sware_tree_insert_run(Relation index, Relation heap, IndexTuple *entries,
					  int count, bool has_versions)
{
	Insertion	insertion;
	int			done = 0;
	int			within = count;
	SwareReadahead ahead;

	begin_insertion(&insertion, index, heap, has_versions);
	sware_readahead_init(&ahead, index, insertion.caller);
	if (count >= MIN_APPEND_RUN)
		within = sware_entries_within_tree(index, entries, count);

	while (done < count)
	{
		int			stored;

		sware_pause_point();
		if (done >= within && count - done >= MIN_APPEND_RUN)
		{
			stored = sware_tree_append_run(index, entries + done, count - done);
			done += stored;
			insertion.appended += stored;
			if (stored > 0)
				continue;
		}
		sware_readahead_before_leaf(&ahead);
		done += insert_into_leaf(&insertion, entries + done, count - done, 0);
		sware_readahead_after_leaf(&ahead);
		sware_readahead_of_run(&ahead, entries + done, count - done);
		MemoryContextReset(CurrentMemoryContext);
	}
	sware_readahead_end(&ahead);
	end_insertion(&insertion);
	return insertion.done;
}

/*
 * Insert the start of a run, but only entries that come to a leaf in company of
 * others.  The scattered ones between them are moved to *scattered.  Returns
 * the number of entries inserted or moved.  The rest is as for
 * sware_tree_insert_run.
 *
 * Where leaves get few entries each, only some are looked at, to see whether
 * that is still so.
 */
int
sware_tree_insert_company(Relation index, Relation heap, IndexTuple *entries,
						  int count, bool has_versions,
						  SwareScattered *scattered)
{
	Insertion	insertion;
	Size		limit = scattered->limit;
	Size		moved = 0;		/* bytes */
	int			step = 1;		/* how many entries to move, if any */
	int			done = 0;

	begin_insertion(&insertion, index, heap, has_versions);
	scattered->count = 0;
	while (done < count && moved < limit)
	{
		int			stored;

		CHECK_FOR_INTERRUPTS();
		stored = insert_into_leaf(&insertion, entries + done, count - done,
								  MIN_COMPANY);
		done += stored;
		if (stored > 0)
			step = 1;
		else
		{
			for (int i = 0; i < step && done < count && moved < limit; i++)
			{
				moved += MAXALIGN(IndexTupleSize(entries[done]));
				scattered->entries[scattered->count++] = entries[done++];
			}
			step = Min(step * 2, MAX_STEP);
		}
		MemoryContextReset(CurrentMemoryContext);
	}
	scattered->late = insertion.done.late + scattered->count;
	end_insertion(&insertion);
	return done;
}

/*
 * Insert an entry at the expected leaf, if it belongs there and the leaf has
 * room for it, and no other session has the leaf locked.  With `if_new`, the
 * leaf must show, too, that the tree has no entry with the same key.  Returns
 * whether the tree has the entry now.  If not, *seek says that it should go to
 * the tree all the same, as sware_tree_insert_run does it: so the next ones can
 * be expected there, or the leaf is split; or such entries are rare.
 *
 * The caller holds no content locks, and has checked the entry's size.  Calls
 * comparators, and allocates in the current memory context.
 */
bool
sware_tree_insert_expected(Relation index, IndexTuple entry, bool if_new,
						   bool *seek)
{
	SwareSearchKey key;
	PlacementKind kind;
	Buffer		buffer;
	bool		is_late;

	sware_search_key_from_tuple(&key, index, entry);
	key.hasTid = !if_new;
	buffer = sware_try_expected_leaf(&key, seek);
	if (unlikely(!BufferIsValid(buffer)))
		return false;

	kind = add_entry(&key, buffer, entry);
	*seek = kind != PLACEMENT_ADD && kind != PLACEMENT_NONE;
	is_late = !sware_page_is_rightmost(BufferGetPage(buffer));
	sware_release_buffer(buffer);
	if (*seek)
	{
		SWARE_FAULT_POINT("expected-leaf-full");
		return false;
	}
	sware_count(index, SWARE_STAT_ENTRIES_INSERTED, 1);
	sware_count(index, SWARE_STAT_LEAF_VISITS, 1);
	sware_count_arrivals(index, 1, is_late);
	return true;
}
