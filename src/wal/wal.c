/*-------------------------------------------------------------------------
 *
 * wal.c
 *	  All functions that write WAL records for pages.
 *
 * Most kinds of records are generic WAL (resource manager "Generic"), put
 * together here in the form that GenericXLogFinish gives them (delta.h).  Three
 * are not: the records of a single entry that is added to a leaf, and of TIDs
 * that are removed from one, are nbtree's (resource manager "Btree"), and whole
 * images of new pages are logged as the server does (resource manager "XLOG").
 * So redo needs no code of this library.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/itup.h"
#include "access/nbtree.h"
#include "access/nbtxlog.h"
#include "access/rmgr.h"
#include "access/timeline.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"

#include "base/compat.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "shared/pageversions.h"
#include "wal/delta.h"
#include "wal/wal.h"

/*
 * Are images of pages compared with what redo makes of them
 * (wal_consistency_checking)?  Marks of dead entries are hints: they are not
 * logged, so a standby may lack them, and generic WAL does not mask them.  So
 * each record then clears the marks of its pages.
 */
static inline bool
images_are_compared(void)
{
	return wal_consistency_checking[RM_GENERIC_ID];
}

/* Clear the marks of a buffer page's entries. */
static void
clear_entry_marks(Page page)
{
	char	   *end = (char *) page + ((PageHeader) page)->pd_lower;
	char	   *entry = PageGetContents(page);

	while (entry < end)
	{
		Size		size = MAXALIGN(IndexTupleSize((IndexTuple) entry));

		if (size < sizeof(IndexTupleData))
			return;				/* a damaged page is not made worse */
		sware_clear_mark((IndexTuple) entry);
		entry += size;
	}
}

/* Clear the marks of dead entries on a page that is about to be logged. */
static void
clear_marks(Page page)
{
	if (PageIsNew(page))
		return;
	if (SwarePageGetOpaque(page)->kind == SWARE_KIND_BUFFER)
		clear_entry_marks(page);
	if (SwarePageGetOpaque(page)->kind != SWARE_KIND_LEAF)
		return;
	for (OffsetNumber offset = SWARE_FIRST_DATA;
		 offset <= PageGetMaxOffsetNumber(page); offset++)
	{
		ItemId		line_pointer = PageGetItemId(page, offset);

		if (ItemIdIsDead(line_pointer))
			ItemIdSetNormal(line_pointer, ItemIdGetOffset(line_pointer),
							ItemIdGetLength(line_pointer));
	}
}

/*
 * Returns where the timeline began on which this server writes WAL.  Reads
 * the timeline's history once in each backend.
 */
static XLogRecPtr
timeline_begin(void)
{
	static XLogRecPtr begin = InvalidXLogRecPtr;
	static TimeLineID timeline = 0;

	if (unlikely(timeline == 0))
	{
		TimeLineID	current = GetWALInsertionTimeLine();
		List	   *history = readTimeLineHistory(current);
		ListCell   *cell;

		foreach(cell, history)
		{
			TimeLineHistoryEntry *entry = lfirst(cell);

			if (entry->tli == current)
				begin = entry->begin;
		}
		list_free_deep(history);
		timeline = current;
	}
	return begin;
}

/*
 * Must the record that is being made have an image of the page?  The first
 * record of a timeline has one for each page that may have marks of dead
 * entries.  The server that wrote the timeline before may follow this one
 * now, and have marks that were never logged.  Redo of a record that leaves
 * out equal bytes would keep a mark where the line pointer of another entry
 * is now.
 */
static inline bool
needs_image(Page page)
{
	return !PageIsNew(page) && PageGetLSN(page) <= timeline_begin() &&
		(SwarePageGetOpaque(page)->kind == SWARE_KIND_LEAF ||
		 SwarePageGetOpaque(page)->kind == SWARE_KIND_BUFFER);
}

/* How a page is registered for a record that is put together here. */
static inline uint8
registration_flags(Page page)
{
	return REGBUF_STANDARD | (needs_image(page) ? REGBUF_FORCE_IMAGE : 0);
}

/* A page that a record changes. */
typedef struct ChangedPage
{
	Buffer		buffer;
	bool		hasImage;		/* is all of the page logged? */
	SwareDelta	delta;			/* otherwise this is */
	PGAlignedBlock copy;		/* what the caller changes */
} ChangedPage;

struct SwareWal
{
	bool		isLogged;
	int			count;			/* of pages */
	ChangedPage *pages[SWARE_WAL_MAX_PAGES];
};

/* If a page is one of those that have versions, raise its version. */
static inline void
tell_of_change(Buffer buffer)
{
	uint16		kind = SwarePageGetOpaque(BufferGetPage(buffer))->kind;

	if (kind == SWARE_KIND_META || kind == SWARE_KIND_BUFFER ||
		(kind == SWARE_KIND_LEAF &&
		 BufferGetBlockNumber(buffer) == SWARE_FIRST_ROOT))
		sware_raise_page_version(buffer);
}

/* Start a record.  It belongs to the current memory context. */
SwareWal *
sware_wal_begin(Relation index)
{
	SwareWal   *wal = palloc(sizeof(SwareWal));

	wal->isLogged = RelationNeedsWAL(index);
	wal->count = 0;
	return wal;
}

/*
 * Return the private copy of an exclusively locked page; if the record does
 * not have the page yet, it is added.
 */
static Page
add_page(SwareWal *wal, Buffer buffer, bool has_image)
{
	ChangedPage *changed;

	for (int i = 0; i < wal->count; i++)
	{
		if (wal->pages[i]->buffer == buffer)
			return wal->pages[i]->copy.data;
	}
	if (wal->count == SWARE_WAL_MAX_PAGES)
		elog(ERROR, "a record cannot change more than %d pages",
			 SWARE_WAL_MAX_PAGES);

	changed = palloc(sizeof(ChangedPage));
	changed->buffer = buffer;
	changed->hasImage = has_image;
	memcpy(changed->copy.data, BufferGetPage(buffer), BLCKSZ);
	wal->pages[wal->count++] = changed;
	return changed->copy.data;
}

/*
 * Return a private copy of an exclusively locked page, for the caller to
 * change.  Redo locks the pages of a record in the order of these calls,
 * which must be left to right.
 */
Page
sware_wal_change(SwareWal *wal, Buffer buffer)
{
	Page		page = add_page(wal, buffer,
								needs_image(BufferGetPage(buffer)));

	if (unlikely(images_are_compared()))
		clear_marks(page);
	return page;
}

/*
 * The same for a page whose present content does not matter: all of the new
 * one is logged.
 */
Page
sware_wal_new_page(SwareWal *wal, Buffer buffer)
{
	return add_page(wal, buffer, true);
}

/* Find out what has to be logged of a page. */
static void
describe_change(ChangedPage *changed)
{
	if (!changed->hasImage)
		sware_delta_compare(&changed->delta, BufferGetPage(changed->buffer),
							changed->copy.data);
}

/* Is a page what it is meant to be, but for its free space? */
pg_attribute_unused()
static bool
is_as_copy(const ChangedPage *changed)
{
	Page		page = BufferGetPage(changed->buffer);
	Page		copy = (Page) changed->copy.data;
	PageHeader	header = (PageHeader) copy;

	return memcmp(page, copy, header->pd_lower) == 0 &&
		memcmp((char *) page + header->pd_upper,
			   (char *) copy + header->pd_upper,
			   BLCKSZ - header->pd_upper) == 0;
}

/*
 * Change a page as redo will.  The free space of an image is cleared, as redo
 * does.
 */
static void
apply_change(const ChangedPage *changed, bool is_logged)
{
	Page		page = BufferGetPage(changed->buffer);
	PageHeader	header = (PageHeader) page;

	if (is_logged && !changed->hasImage)
		sware_delta_apply(&changed->delta, page);
	else
	{
		memcpy(page, changed->copy.data, BLCKSZ);
		memset((char *) page + header->pd_lower, 0,
			   header->pd_upper - header->pd_lower);
	}
	Assert(is_as_copy(changed));
	MarkBufferDirty(changed->buffer);
}

/* Log the change of a page as one of the record that is being made. */
static void
register_change(const ChangedPage *changed, uint8 number)
{
	XLogRegisterBuffer(number, changed->buffer, REGBUF_STANDARD |
					   (changed->hasImage ? REGBUF_FORCE_IMAGE : 0));
	if (!changed->hasImage)
		XLogRegisterBufData(number, (char *) changed->delta.fragments,
							changed->delta.length);
}

/* Log the changes of all pages of a record. */
static void
log_changes(SwareWal *wal)
{
	XLogRecPtr	lsn;

	XLogBeginInsert();
	for (int i = 0; i < wal->count; i++)
		register_change(wal->pages[i], i);
	lsn = XLogInsert(RM_GENERIC_ID, 0);
	for (int i = 0; i < wal->count; i++)
		PageSetLSN(BufferGetPage(wal->pages[i]->buffer), lsn);
}

/* Forget the changes, and free the record. */
void
sware_wal_abort(SwareWal *wal)
{
	for (int i = 0; i < wal->count; i++)
		pfree(wal->pages[i]);
	pfree(wal);
}

/* Apply and log the changes in one critical section, and free the record. */
void
sware_wal_finish(SwareWal *wal)
{
	for (int i = 0; wal->isLogged && i < wal->count; i++)
		describe_change(wal->pages[i]);

	START_CRIT_SECTION();
	for (int i = 0; i < wal->count; i++)
		apply_change(wal->pages[i], wal->isLogged);
	if (wal->isLogged)
		log_changes(wal);
	END_CRIT_SECTION();

	for (int i = 0; i < wal->count; i++)
		tell_of_change(wal->pages[i]->buffer);
	sware_wal_abort(wal);
}

/*
 * Log the change of one page, which has been made and which a delta describes.
 * Called in a critical section.
 */
static void
log_change(Buffer buffer, SwareDelta *delta, uint8 registration)
{
	XLogRecPtr	lsn;

	XLogBeginInsert();
	XLogRegisterBuffer(0, buffer, registration);
	XLogRegisterBufData(0, delta->fragments, delta->length);
	lsn = XLogInsert(RM_GENERIC_ID, 0);
	PageSetLSN(BufferGetPage(buffer), lsn);
}

/*
 * Do what sware_wal_add_item does, but find out by comparison what has
 * changed.  So the record has the cleared marks, too.
 */
static void
add_item_by_comparison(Relation index, Buffer buffer, IndexTuple tuple,
					   OffsetNumber offset)
{
	SwareWal   *wal = sware_wal_begin(index);
	Page		page = sware_wal_change(wal, buffer);

	if (PageAddItem(page, (Pointer) tuple, IndexTupleSize(tuple), offset,
					false, false) != offset)
		elog(ERROR, "failed to add item to block %u of index \"%s\"",
			 BufferGetBlockNumber(buffer), RelationGetRelationName(index));
	sware_wal_finish(wal);
}

/*
 * Log that a tuple was added to a leaf at an offset, as nbtree does.  Redo of
 * this record adds the tuple in the same way, sets the LSN, and changes nothing
 * else: neither does it read the special space, nor what other tuples there
 * are.  Called in a critical section.
 */
static void
log_added_item(Buffer buffer, IndexTuple tuple, OffsetNumber offset,
			   uint8 registration)
{
	xl_btree_insert record = {.offnum = offset};
	XLogRecPtr	lsn;

	XLogBeginInsert();
	XLogRegisterData((char *) &record, SizeOfBtreeInsert);
	XLogRegisterBuffer(0, buffer, registration);
	XLogRegisterBufData(0, (char *) tuple, IndexTupleSize(tuple));
	lsn = XLogInsert(RM_BTREE_ID, XLOG_BTREE_INSERT_LEAF);
	PageSetLSN(BufferGetPage(buffer), lsn);
}

/*
 * Add one item to an exclusively locked leaf, at `offset`, shifting the line
 * pointers behind it.  The caller has made sure that it fits.
 *
 * This is by far the most frequent change, and it is known what it touches.
 * So nothing is copied and compared here, and the record is as short as
 * nbtree's.  Redo copies no more bytes than the tuple has, so if these are not
 * aligned, the page would have others behind them; and where pages are compared
 * with what redo makes of them, nbtree's rules for that would apply.
 */
void
sware_wal_add_item(Relation index, Buffer buffer, IndexTuple tuple,
				   OffsetNumber offset)
{
	Page		page = BufferGetPage(buffer);
	Size		size = IndexTupleSize(tuple);
	uint8		registration = registration_flags(page);

	if (unlikely(images_are_compared() ||
				 wal_consistency_checking[RM_BTREE_ID] ||
				 size != MAXALIGN(size)))
	{
		add_item_by_comparison(index, buffer, tuple, offset);
		return;
	}

	START_CRIT_SECTION();

	if (PageAddItem(page, (Pointer) tuple, size, offset, false,
					false) != offset)
		elog(PANIC, "failed to add item to block %u of index \"%s\"",
			 BufferGetBlockNumber(buffer), RelationGetRelationName(index));
	MarkBufferDirty(buffer);
	if (RelationNeedsWAL(index))
		log_added_item(buffer, tuple, offset, registration);

	END_CRIT_SECTION();
	tell_of_change(buffer);
}

/*
 * What is removed from a leaf, in the form of nbtree's record: whole items,
 * and some of the TIDs of posting lists.
 */
typedef struct Removal
{
	int			deletedCount;
	OffsetNumber deleted[SWARE_MAX_ITEMS_PER_PAGE];
	int			updatedCount;
	OffsetNumber updated[SWARE_MAX_ITEMS_PER_PAGE]; /* posting lists */
	int			length;			/* of `updates` */

	/* for each of these, how many TIDs go, and which */
	uint16		updates[SWARE_MAX_ITEMS_PER_PAGE + SWARE_MAX_TIDS_PER_PAGE];
} Removal;

/* redo of nbtree's records clears a flag and a number that its pages have */
StaticAssertDecl(offsetof(BTPageOpaqueData, btpo_flags) ==
				 offsetof(SwarePageOpaqueData, unused1) &&
				 offsetof(BTPageOpaqueData, btpo_cycleid) ==
				 offsetof(SwarePageOpaqueData, unused2),
				 "nbtree's records must leave the special space as it is");
StaticAssertDecl(SWARE_SPECIAL_TUPLE == INDEX_ALT_TID_MASK &&
				 SWARE_IS_POSTING == BT_IS_POSTING &&
				 SWARE_MAX_POSTING_SIZE / sizeof(ItemPointerData) <= BT_OFFSET_MASK,
				 "posting lists must be nbtree's");

/* Find out what is to be removed; see sware_wal_remove_tids. */
static void
describe_removal(Removal *removal, Page page, const SwareTidPlace *gone,
				 int count)
{
	const SwareTidPlace *end = gone + count;

	removal->deletedCount = removal->updatedCount = removal->length = 0;
	while (gone < end)
	{
		OffsetNumber offset = gone->offset;
		IndexTuple	tuple =
			(IndexTuple) PageGetItem(page, PageGetItemId(page, offset));
		uint16	   *update = &removal->updates[removal->length];

		*update = 0;
		for (; gone < end && gone->offset == offset; gone++)
			update[++*update] = gone->number;
		if (*update == sware_leaf_tuple_tid_count(tuple))
			removal->deleted[removal->deletedCount++] = offset;
		else
		{
			removal->updated[removal->updatedCount++] = offset;
			removal->length += 1 + *update;
		}
	}
}

/*
 * Is the item at an offset of a private copy still the posting list that the
 * page has, which was checked?  It is not if items overlap, and TIDs of another
 * one were removed.
 */
static bool
is_unchanged(Page copy, Page page, OffsetNumber offset)
{
	ItemId		new_item = PageGetItemId(copy, offset);
	ItemId		item = PageGetItemId(page, offset);
	IndexTuple	tuple = (IndexTuple) PageGetItem(page, item);
	Size		key_size = sware_posting_offset(tuple);

	return key_size == MAXALIGN(key_size) &&
		ItemIdGetLength(new_item) == ItemIdGetLength(item) &&
		ItemIdGetOffset(new_item) + ItemIdGetLength(item) <=
		((PageHeader) copy)->pd_special &&
		memcmp(PageGetItem(copy, new_item), tuple, ItemIdGetLength(item)) == 0;
}

/*
 * Remove some TIDs of the posting list at an offset of a private copy of a
 * page.  The server's function that does this trusts what it reads.
 */
static void
shrink_posting(Relation index, Page copy, Buffer buffer, OffsetNumber offset,
			   const uint16 *update)
{
	BTVacuumPosting posting;

	if (!is_unchanged(copy, BufferGetPage(buffer), offset))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" contains corrupted page at block %u",
						RelationGetRelationName(index),
						BufferGetBlockNumber(buffer)),
				 errdetail("Item %u overlaps another one.", offset),
				 errhint("Please REINDEX it.")));
	posting = palloc(offsetof(BTVacuumPostingData, deletetids) +
					 *update * sizeof(uint16));
	posting->itup = (IndexTuple) PageGetItem(copy, PageGetItemId(copy, offset));
	posting->updatedoffset = offset;
	posting->ndeletedtids = *update;
	memcpy(posting->deletetids, update + 1, *update * sizeof(uint16));
	_bt_update_posting(posting);
	if (!PageIndexTupleOverwrite(copy, offset, (Pointer) posting->itup,
								 IndexTupleSize(posting->itup)))
		elog(ERROR, "failed to replace a posting list");
	pfree(posting->itup);
	pfree(posting);
}

static inline bool
has_high_key(Page page)
{
	return ItemIdHasStorage(PageGetItemId(page, SWARE_HIGH_KEY));
}

/*
 * Delete items of a private copy of a page without high key: the server's
 * function for others expects that each line pointer has storage.
 */
static void
delete_of_rightmost(Page page, const Removal *removal)
{
	PageHeader	header = (PageHeader) page;
	OffsetNumber next = SWARE_FIRST_DATA;
	int			passed = 0;
	PGAlignedBlock old;

	memcpy(old.data, page, BLCKSZ);
	header->pd_lower = (char *) PageGetItemId(page, next) - (char *) page;
	header->pd_upper = header->pd_special;
	for (OffsetNumber offset = next;
		 offset <= PageGetMaxOffsetNumber((Page) old.data); offset++)
	{
		ItemId		item = PageGetItemId((Page) old.data, offset);

		if (passed < removal->deletedCount &&
			removal->deleted[passed] == offset)
		{
			passed++;
			continue;
		}
		if (PageAddItem(page, PageGetItem((Page) old.data, item),
						ItemIdGetLength(item), next, false, false) != next)
			elog(ERROR, "failed to move an item to offset %u", next);
		next++;
	}
}

/* Change a private copy of a leaf, unless it is rightmost as redo does. */
static void
apply_removal(Relation index, Page page, Buffer buffer, Removal *removal)
{
	const uint16 *update = removal->updates;

	for (int i = 0; i < removal->updatedCount; i++)
	{
		shrink_posting(index, page, buffer, removal->updated[i], update);
		update += 1 + *update;
	}
	if (removal->deletedCount == 0)
		return;
	if (!has_high_key(page))
		delete_of_rightmost(page, removal);
	else
		PageIndexMultiDelete(page, removal->deleted, removal->deletedCount);
}

/*
 * Log a removal as nbtree does outside VACUUM, so that redo waits for no pins.
 * The record has no horizon, so redo resolves no conflict: that has been done,
 * by VACUUM's records for the table or by the one of conflict.h.  Called in a
 * critical section.
 */
static void
log_removal(Buffer buffer, Removal *removal, uint8 registration)
{
	xl_btree_delete record = {0};
	XLogRecPtr	lsn;

	record.ndeleted = removal->deletedCount;
	record.nupdated = removal->updatedCount;
	XLogBeginInsert();
	XLogRegisterData((char *) &record, SizeOfBtreeDelete);
	XLogRegisterBuffer(0, buffer, registration);
	if (removal->deletedCount > 0)
		XLogRegisterBufData(0, (char *) removal->deleted,
							removal->deletedCount * sizeof(OffsetNumber));
	if (removal->updatedCount > 0)
	{
		XLogRegisterBufData(0, (char *) removal->updated,
							removal->updatedCount * sizeof(OffsetNumber));
		XLogRegisterBufData(0, (char *) removal->updates,
							removal->length * sizeof(uint16));
	}
	lsn = XLogInsert(RM_BTREE_ID, XLOG_BTREE_DELETE);
	PageSetLSN(BufferGetPage(buffer), lsn);
}

/*
 * Remove TIDs from the entries and posting lists of an exclusively locked leaf,
 * whose items have been checked.  The TIDs are named in order.
 *
 * Redo of nbtree's record calls the same functions of the server as this one,
 * and changes nothing else of the page.  If items overlap, an error is raised
 * here or there, so this works on a private copy.  As with sware_wal_add_item,
 * another record is made where pages are compared; and it is shorter if nothing
 * remains.
 */
void
sware_wal_remove_tids(Relation index, Buffer buffer, const SwareTidPlace *gone,
					  int count)
{
	Page		page = BufferGetPage(buffer);
	uint8		registration = registration_flags(page);
	Removal		removal;
	PGAlignedBlock copy;

	describe_removal(&removal, page, gone, count);
	if (images_are_compared() || wal_consistency_checking[RM_BTREE_ID] ||
		!has_high_key(page) ||
		removal.deletedCount == (int) PageGetMaxOffsetNumber(page) - 1)
	{
		SwareWal   *wal = sware_wal_begin(index);

		apply_removal(index, sware_wal_change(wal, buffer), buffer, &removal);
		sware_wal_finish(wal);
		return;
	}

	memcpy(copy.data, page, BLCKSZ);
	apply_removal(index, (Page) copy.data, buffer, &removal);

	START_CRIT_SECTION();
	memcpy(page, copy.data, BLCKSZ);
	MarkBufferDirty(buffer);
	if (RelationNeedsWAL(index))
		log_removal(buffer, &removal, registration);
	END_CRIT_SECTION();
	tell_of_change(buffer);
}

/* Like sware_wal_append_data, by comparison, too. */
static void
append_data_by_comparison(Relation index, Buffer buffer, const char *data,
						  Size size, uint16 flags)
{
	SwareWal   *wal = sware_wal_begin(index);
	Page		page = sware_wal_change(wal, buffer);

	memcpy((char *) page + ((PageHeader) page)->pd_lower, data, size);
	((PageHeader) page)->pd_lower += size;
	SwarePageGetOpaque(page)->flags |= flags;
	sware_wal_finish(wal);
}

/*
 * Add bytes behind pd_lower of an exclusively locked page, and flags.  The
 * caller has made sure that they fit.  The record is put together as in
 * sware_wal_add_item.
 */
void
sware_wal_append_data(Relation index, Buffer buffer, const char *data,
					  Size size, uint16 flags)
{
	Page		page = BufferGetPage(buffer);
	SwarePageOpaque opaque = SwarePageGetOpaque(page);
	bool		sets_flags = (flags & ~opaque->flags) != 0;
	PageHeader	header = (PageHeader) page;
	char	   *place = (char *) page + header->pd_lower;
	SwareDelta	delta;
	uint8		registration = registration_flags(page);

	if (unlikely(images_are_compared()))
	{
		append_data_by_comparison(index, buffer, data, size, flags);
		return;
	}

	START_CRIT_SECTION();

	memcpy(place, data, size);
	header->pd_lower += size;
	opaque->flags |= flags;
	MarkBufferDirty(buffer);

	if (RelationNeedsWAL(index))
	{
		delta.length = 0;
		sware_delta_add(&delta, page, &header->pd_lower,
						sizeof(LocationIndex));
		sware_delta_add(&delta, page, place, size);
		if (sets_flags)
			sware_delta_add(&delta, page, &opaque->flags, sizeof(uint16));
		log_change(buffer, &delta, registration);
	}

	END_CRIT_SECTION();
	tell_of_change(buffer);
}

/*
 * Write an image to an exclusively locked page that no other page links to
 * yet, and log it whole.
 */
void
sware_wal_fill_page(Relation index, Buffer buffer, Page image)
{
	START_CRIT_SECTION();
	memcpy(BufferGetPage(buffer), image, BLCKSZ);
	MarkBufferDirty(buffer);
	if (RelationNeedsWAL(index))
		log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
}

/*
 * The same for a page of an initialisation fork, which is logged although the
 * relation is unlogged.
 */
void
sware_wal_fill_init_page(Buffer buffer, Page image)
{
	START_CRIT_SECTION();
	memcpy(BufferGetPage(buffer), image, BLCKSZ);
	MarkBufferDirty(buffer);
	log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
}

/*
 * Log `count` consecutive pages of a fork, from block `first` on.  They were
 * written past the buffer manager, to a file that no other session can see
 * yet.
 */
void
sware_wal_write_new_pages(Relation index, ForkNumber fork, BlockNumber first,
						  Page *pages, int count)
{
	BlockNumber *blocks;

	if (!RelationNeedsWAL(index))
		return;

	blocks = palloc(count * sizeof(BlockNumber));
	for (int i = 0; i < count; i++)
		blocks[i] = first + i;
	log_newpages(&SwareRelationLocator(index), fork, count, blocks, pages,
				 true);
	pfree(blocks);
}
