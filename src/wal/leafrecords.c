/*-------------------------------------------------------------------------
 *
 * leafrecords.c
 *	  Writes the records that are nbtree's.
 *
 * Three frequent changes of a leaf are logged by records of resource manager
 * "Btree": an item is added, TIDs are removed, gaps between items are closed.
 * They say what is done, not which bytes change, and so are short.  Their redo
 * looks at no other part of the page than what pages of sware and nbtree have
 * in common.
 *
 * Where pages are compared with what redo makes of them, nbtree's rules for
 * that would apply.  So then generic records are written instead.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/itup.h"
#include "access/nbtree.h"
#include "access/nbtxlog.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/block.h"

#include "base/compat.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "wal/wal.h"

/*
 * Add a tuple at an offset of a page, of which the caller owns a copy, or which
 * it changes in a critical section.  Shifts the line pointers behind it.
 */
void
sware_add_item(Page page, IndexTuple tuple, OffsetNumber offset)
{
	if (PageAddItem(page, (Pointer) tuple, IndexTupleSize(tuple), offset,
					false, false) != offset)
		elog(ERROR, "failed to add item at offset %u", offset);
}

/*
 * Add one item to an exclusively locked leaf, at `offset`, shifting the line
 * pointers behind it.  The caller has made sure that it fits.
 *
 * This is by far the most frequent change, and it is known what it touches, so
 * nothing is copied and compared.  Redo adds the tuple in the same way, sets
 * the LSN, and changes nothing else: neither does it read the special space,
 * nor what other tuples there are.  It copies no more bytes than the tuple has,
 * so if these are not aligned, the page would have others behind them.
 */
void
sware_wal_add_item(Relation index, Buffer buffer, IndexTuple tuple,
				   OffsetNumber offset)
{
	Page		page = BufferGetPage(buffer);
	Size		size = IndexTupleSize(tuple);
	uint8		registration = sware_page_registration(page);

	/* a generic record has the marks, too, that are cleared for comparisons */
	if (unlikely(sware_images_are_compared() ||
				 wal_consistency_checking[RM_BTREE_ID] ||
				 size != MAXALIGN(size)))
	{
		SwareWal   *wal = sware_wal_begin(index);

		sware_add_item(sware_wal_change(wal, buffer), tuple, offset);
		sware_wal_finish(wal);
		return;
	}

	START_CRIT_SECTION();

	sware_add_item(page, tuple, offset);
	MarkBufferDirty(buffer);
	if (RelationNeedsWAL(index))
	{
		xl_btree_insert record = {.offnum = offset};
		XLogRecPtr	lsn;

		XLogBeginInsert();
		XLogRegisterData((char *) &record, SizeOfBtreeInsert);
		XLogRegisterBuffer(0, buffer, registration);
		XLogRegisterBufData(0, (char *) tuple, size);
		lsn = XLogInsert(RM_BTREE_ID, XLOG_BTREE_INSERT_LEAF);
		PageSetLSN(page, lsn);
	}

	END_CRIT_SECTION();
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
 * Delete items, at ascending offsets, of a private copy of a page.  The
 * server's function for that expects that each line pointer has storage, so
 * items of a page without high key are put on it anew.
 */
void
sware_delete_items(Page page, OffsetNumber *offsets, int count)
{
	PageHeader	header = (PageHeader) page;
	OffsetNumber next = SWARE_FIRST_DATA;
	int			passed = 0;
	PGAlignedBlock old;

	if (has_high_key(page))
	{
		PageIndexMultiDelete(page, offsets, count);
		return;
	}
	memcpy(old.data, page, BLCKSZ);
	header->pd_lower = (char *) PageGetItemId(page, next) - (char *) page;
	header->pd_upper = header->pd_special;
	for (OffsetNumber offset = next;
		 offset <= PageGetMaxOffsetNumber((Page) old.data); offset++)
	{
		ItemId		id = PageGetItemId((Page) old.data, offset);
		IndexTuple	item = (IndexTuple) PageGetItem((Page) old.data, id);

		if (passed < count && offsets[passed] == offset)
		{
			passed++;
			continue;
		}
		if (MAXALIGN(IndexTupleSize(item)) > MAXALIGN(ItemIdGetLength(id)))
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("an item of an index page is larger than its line pointer says")));
		sware_add_item(page, item, next++);
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
	if (removal->deletedCount > 0)
		sware_delete_items(page, removal->deleted, removal->deletedCount);
}

/*
 * Log a removal as nbtree does outside VACUUM, so that redo waits for no pins.
 * The record has no horizon, so redo resolves no conflict: that has been done,
 * by VACUUM's records for the table or by sware_wal_log_conflict.  Called in a
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
	uint8		registration = sware_page_registration(page);
	Removal		removal;
	PGAlignedBlock copy;

	describe_removal(&removal, page, gone, count);
	if (sware_images_are_compared() || wal_consistency_checking[RM_BTREE_ID] ||
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
}

/*
 * Redo of nbtree's record of a deduplication takes the first line pointer for a
 * high key's if the page links to a left sibling, by this field.
 */
StaticAssertDecl(offsetof(BTPageOpaqueData, btpo_next) ==
				 offsetof(SwarePageOpaqueData, left.incarnation) &&
				 P_NONE == 0,
				 "nbtree's records must see that a page has a high key");

/*
 * Does an item lie where those of a page do, and is it as redo expects it?
 * Redo trusts what it reads, so this does not.
 */
static inline bool
is_sound(Page page, OffsetNumber offset)
{
	ItemId		item = PageGetItemId(page, offset);
	Size		size = ItemIdGetLength(item);
	IndexTuple	tuple = (IndexTuple) ((char *) page + ItemIdGetOffset(item));

	return size == MAXALIGN(size) && size >= sizeof(IndexTupleData) &&
		ItemIdGetOffset(item) >= ((PageHeader) page)->pd_upper &&
		ItemIdGetOffset(item) + size <= ((PageHeader) page)->pd_special &&
		IndexTupleSize(tuple) == size &&
		(offset == SWARE_HIGH_KEY ||
		 (size <= SWARE_MAX_ENTRY_SIZE &&
		  (!sware_tuple_is_special(tuple) || sware_is_sound_posting(tuple))));
}

/*
 * Can the gaps of a leaf be closed by nbtree's record, and does that make room
 * for so many bytes of items?
 */
static bool
can_close_gaps(Page page, Size space)
{
	PageHeader	header = (PageHeader) page;
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	Size		needed = header->pd_lower + space;

	if (sware_images_are_compared() || wal_consistency_checking[RM_BTREE_ID] ||
		!has_high_key(page) || last < SWARE_FIRST_DATA ||
		SwarePageGetOpaque(page)->left.incarnation == P_NONE)
		return false;
	for (OffsetNumber offset = SWARE_HIGH_KEY; offset <= last; offset++)
	{
		if (!is_sound(page, offset))
			return false;
		needed += ItemIdGetLength(PageGetItemId(page, offset));
	}
	return needed <= header->pd_special;
}

/*
 * Close the gaps between the items of an exclusively locked leaf, to make room
 * for so many bytes of items.  Does nothing and returns false if that would not
 * do, or if the leaf is none that nbtree's record can describe.
 *
 * The record is that of a deduplication that merges nothing.  Its redo writes
 * the high key and then all other items anew, in their order, and clears the
 * marks of dead entries.
 */
bool
sware_wal_close_gaps(Relation index, Buffer buffer, Size space)
{
	Page		page = BufferGetPage(buffer);
	uint8		registration = sware_page_registration(page);
	xl_btree_dedup record = {.nintervals = 0};
	Page		copy;

	if (!can_close_gaps(page, space))
		return false;
	copy = PageGetTempPageCopySpecial(page);
	PageSetLSN(copy, PageGetLSN(page));
	for (OffsetNumber offset = SWARE_HIGH_KEY;
		 offset <= PageGetMaxOffsetNumber(page); offset++)
		sware_add_item(copy, (IndexTuple)
					   PageGetItem(page, PageGetItemId(page, offset)), offset);

	START_CRIT_SECTION();
	memcpy(page, copy, BLCKSZ);
	MarkBufferDirty(buffer);
	if (RelationNeedsWAL(index))
	{
		XLogRecPtr	lsn;

		XLogBeginInsert();
		XLogRegisterBuffer(0, buffer, registration);
		XLogRegisterData((char *) &record, SizeOfBtreeDedup);
		lsn = XLogInsert(RM_BTREE_ID, XLOG_BTREE_DEDUP);
		PageSetLSN(page, lsn);
	}
	END_CRIT_SECTION();
	pfree(copy);
	return true;
}

/*
 * Return the horizon with its epoch.  The horizon is a transaction that has
 * begun.  So if its number is above that of the next transaction, it belongs
 * to the epoch before.  If the epoch were too high, redo would overlook the
 * conflict.
 */
static FullTransactionId
with_epoch(TransactionId horizon)
{
	FullTransactionId next = ReadNextFullTransactionId();
	uint32		epoch = EpochFromFullTransactionId(next);

	if (horizon > XidFromFullTransactionId(next))
		epoch--;
	return FullTransactionIdFromEpochAndXid(epoch, horizon);
}

/*
 * Cancel a standby's queries that may still need entries of dead rows that are
 * about to be removed: older snapshots, which generic WAL cannot tell it of.
 * `horizon` is what the table has returned: the last transaction that has
 * deleted one of the rows.  Redo cancels the queries that have such a snapshot,
 * or waits for them first, as max_standby_streaming_delay says.
 *
 * To be called before the record that removes the entries, and outside of
 * critical sections.  Writes nothing if no standby can have such a snapshot.
 *
 * The record is the one that nbtree writes before it reuses a deleted page.  It
 * changes no page.  It names only the relation and the horizon, and its redo
 * only resolves conflicts.
 */
void
sware_wal_log_conflict(Relation index, Relation heap, TransactionId horizon)
{
	xl_btree_reuse_page record;

	if (!XLogStandbyInfoActive() || !RelationNeedsWAL(index) ||
		!TransactionIdIsValid(horizon))
		return;

	memset(&record, 0, sizeof(record));
	sware_fill_conflict(&record, index, heap, with_epoch(horizon));
	record.block = InvalidBlockNumber;
	XLogBeginInsert();
	XLogRegisterData((char *) &record, SizeOfBtreeReusePage);
	(void) XLogInsert(RM_BTREE_ID, XLOG_BTREE_REUSE_PAGE);
}
