/*-------------------------------------------------------------------------
 *
 * wal.c
 *	  The only room that makes WAL records.
 *
 * Records are generic WAL (resource manager "Generic"), made by the server or
 * put together here in the same form; or they are whole images of new pages, as
 * the server logs them (resource manager "XLOG").  So replay needs none of this
 * library's code.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/itup.h"
#include "access/rmgr.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"

#include "base/compat.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "wal/wal.h"

/*
 * Marks of dead entries are hints: they are not logged, so a standby may lack
 * them.  Where the images of pages are compared (wal_consistency_checking),
 * and generic WAL masks nothing, a record takes the marks of its pages away.
 */
static inline bool
images_are_compared(void)
{
	return wal_consistency_checking[RM_GENERIC_ID];
}

/* Take the marks of a buffer page's entries away. */
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

/*
 * Take the marks of dead entries away from a page that is about to be logged.
 */
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

/* Start a record. */
SwareWal *
sware_wal_begin(Relation index)
{
	return GenericXLogStart(index);
}

/*
 * A private copy of an exclusively locked page, to be changed.  Registration
 * order is the order in which redo takes the locks: left to right.
 */
Page
sware_wal_change(SwareWal *wal, Buffer buffer)
{
	Page		page = GenericXLogRegisterBuffer(wal, buffer, 0);

	if (unlikely(images_are_compared()))
		clear_marks(page);
	return page;
}

/* The same for a page whose former content does not matter. */
Page
sware_wal_new_page(SwareWal *wal, Buffer buffer)
{
	return GenericXLogRegisterBuffer(wal, buffer, GENERIC_XLOG_FULL_IMAGE);
}

/* Apply and log the changes, and free the record. */
void
sware_wal_finish(SwareWal *wal)
{
	GenericXLogFinish(wal);
}

/* Forget the changes, and free the record. */
void
sware_wal_abort(SwareWal *wal)
{
	GenericXLogAbort(wal);
}

/*
 * Generic WAL's record of a change is a list of these, each followed by
 * `length` bytes for the place `offset`.
 */
typedef struct DeltaFragment
{
	OffsetNumber offset;
	OffsetNumber length;
} DeltaFragment;

/* append a fragment that says what a part of the page now holds */
static char *
add_fragment(char *delta, Page page, const void *start, Size length)
{
	DeltaFragment fragment;

	fragment.offset =
		(OffsetNumber) ((const char *) start - (const char *) page);
	fragment.length = (OffsetNumber) length;
	memcpy(delta, &fragment, sizeof(fragment));
	memcpy(delta + sizeof(fragment), start, length);
	return delta + sizeof(fragment) + length;
}

/*
 * Like sware_wal_add_item, by a record that is found by comparing two images,
 * marks among them.
 */
static void
add_item_by_comparison(Relation index, Buffer buffer, IndexTuple tuple,
					   OffsetNumber offset, bool to_append_area)
{
	SwareWal   *wal = sware_wal_begin(index);
	Page		page = sware_wal_change(wal, buffer);

	if (PageAddItem(page, (Item) tuple, IndexTupleSize(tuple), offset,
					false, false) != offset)
		elog(ERROR, "failed to add item to block %u of index \"%s\"",
			 BufferGetBlockNumber(buffer), RelationGetRelationName(index));
	if (to_append_area)
		SwarePageGetOpaque(page)->appendItems++;
	sware_wal_finish(wal);
}

/*
 * Add one item to an exclusively locked leaf, at `offset`, shifting the line
 * pointers behind it.  The caller has made sure that it fits.
 *
 * This is the change made most often by far, and all that it touches is
 * known, so the generic record is put together by hand: GenericXLogFinish
 * would copy and compare two whole pages to find out the same.
 */
void
sware_wal_add_item(Relation index, Buffer buffer, IndexTuple tuple,
				   OffsetNumber offset, bool to_append_area)
{
	Page		page = BufferGetPage(buffer);
	PageHeader	header = (PageHeader) page;
	SwarePageOpaque opaque = SwarePageGetOpaque(page);
	Size		size = IndexTupleSize(tuple);
	PGAlignedBlock delta;
	char	   *end = delta.data;

	if (unlikely(images_are_compared()))
	{
		add_item_by_comparison(index, buffer, tuple, offset, to_append_area);
		return;
	}

	START_CRIT_SECTION();

	if (PageAddItem(page, (Item) tuple, size, offset, false, false) != offset)
		elog(PANIC, "failed to add item to block %u of index \"%s\"",
			 BufferGetBlockNumber(buffer), RelationGetRelationName(index));
	if (to_append_area)
		opaque->appendItems++;
	MarkBufferDirty(buffer);

	if (RelationNeedsWAL(index))
	{
		ItemId		line_pointer = PageGetItemId(page, offset);
		XLogRecPtr	lsn;

		StaticAssertStmt(offsetof(PageHeaderData, pd_upper) ==
						 offsetof(PageHeaderData, pd_lower) +
						 sizeof(LocationIndex),
						 "pd_upper must follow pd_lower");
		end = add_fragment(end, page, &header->pd_lower,
						   2 * sizeof(LocationIndex));
		end = add_fragment(end, page, line_pointer,
						   (char *) page + header->pd_lower -
						   (char *) line_pointer);
		end = add_fragment(end, page, (char *) page + header->pd_upper,
						   MAXALIGN(size));
		if (to_append_area)
			end = add_fragment(end, page, &opaque->appendItems, sizeof(uint16));

		XLogBeginInsert();
		XLogRegisterBuffer(0, buffer, REGBUF_STANDARD);
		XLogRegisterBufData(0, delta.data, end - delta.data);
		lsn = XLogInsert(RM_GENERIC_ID, 0);
		PageSetLSN(page, lsn);
	}

	END_CRIT_SECTION();
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
 * caller has made sure that they fit.  By hand, as above.
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
	char		delta[BLCKSZ + 3 * sizeof(DeltaFragment)];
	char	   *end = delta;

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
		XLogRecPtr	lsn;

		end = add_fragment(end, page, &header->pd_lower, sizeof(LocationIndex));
		end = add_fragment(end, page, place, size);
		if (sets_flags)
			end = add_fragment(end, page, &opaque->flags, sizeof(uint16));

		XLogBeginInsert();
		XLogRegisterBuffer(0, buffer, REGBUF_STANDARD);
		XLogRegisterBufData(0, delta, end - delta);
		lsn = XLogInsert(RM_GENERIC_ID, 0);
		PageSetLSN(page, lsn);
	}

	END_CRIT_SECTION();
}

/*
 * Fill an exclusively locked page that nobody links to yet, and log it whole.
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
 * The same for a page of an initialisation fork, which is logged although its
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
 * Log pages that were written past the buffer manager, in a file that nobody
 * else can see yet.  `fork` and `first` say where; the pages follow each
 * other.
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
