/*-------------------------------------------------------------------------
 *
 * pageaccess.c
 *	  Reading, locking, allocating and initialising pages.  See pageaccess.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/xlog.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/buf_internals.h"
#include "storage/freespace.h"
#include "storage/indexfsm.h"

#include "base/compat.h"
#include "base/faultpoint.h"
#include "layout/page.h"
#include "pages/pageaccess.h"
#include "wal/wal.h"

/*
 * Check the number of items of a page, other than the metapage.  Code that
 * reads tree pages has arrays with room for SWARE_MAX_ITEMS_PER_PAGE of them.
 * The entries of a buffer page are checked when they are read.
 */
static void
check_content(Relation index, BlockNumber block, Page page)
{
	uint16		kind = SwarePageGetOpaque(page)->kind;
	unsigned	end = ((PageHeader) page)->pd_lower;

	if (kind == SWARE_KIND_LEAF || kind == SWARE_KIND_INTERNAL)
	{
		OffsetNumber last = PageGetMaxOffsetNumber(page);

		if (last < SWARE_HIGH_KEY || last > SWARE_MAX_ITEMS_PER_PAGE)
			sware_report_corruption(index, block,
									"The line pointer array ends at %u.", end);
	}
	else if (kind == SWARE_KIND_DIRECTORY &&
			 (end - MAXALIGN(SizeOfPageHeaderData)) % sizeof(SwareSlot) != 0)
		sware_report_corruption(index, block, "The array of slots ends at %u.",
								end);
}

/*
 * Check that block 0, if it is a metapage at all, is one of this format.  Where
 * its magic number and its version are is the same in all formats.
 */
static void
check_format(Relation index, Page page)
{
	SwareMetaPage meta = SwarePageGetMeta(page);

	if (meta->magic == SWARE_META_MAGIC && meta->version != SWARE_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("version mismatch in index \"%s\": file version %u, "
						"current version %u",
						RelationGetRelationName(index), meta->version,
						SWARE_VERSION),
				 errhint("Please REINDEX it, or install the release of sware "
						 "that has made it.")));
}

/* Check that block 0 is a metapage, with all its links. */
static void
check_metapage(Relation index, Page page)
{
	SwareMetaPage meta = SwarePageGetMeta(page);
	unsigned	end = ((PageHeader) page)->pd_lower;

	if (SwarePageGetOpaque(page)->kind != SWARE_KIND_META ||
		meta->magic != SWARE_META_MAGIC)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" is not a sware index",
						RelationGetRelationName(index)),
				 errdetail("Block %u holds no sware metapage.",
						   SWARE_METAPAGE)));
	if (meta->directoryPages > SWARE_MAX_DIRECTORY_PAGES ||
		sware_metapage_end(meta) != end)
		sware_report_corruption(index, SWARE_METAPAGE,
								"The directory has %u pages, and their links end at %u.",
								meta->directoryPages, end);
}

void
sware_report_item(Relation index, BlockNumber block, Page page,
				  OffsetNumber offset)
{
	ItemId		line_pointer = PageGetItemId(page, offset);

	sware_report_corruption(index, block,
							"Item %u is damaged, or its line pointer is: "
							"offset %u, length %u, flags %u.",
							offset, ItemIdGetOffset(line_pointer),
							ItemIdGetLength(line_pointer),
							(unsigned) line_pointer->lp_flags);
}

/*
 * Raise an error unless the frame of a page is sound: its header, its special
 * space, and the numbers of its items.  The caller holds a lock on it, or owns
 * a copy.
 */
void
sware_check_page(Relation index, BlockNumber block, Page page)
{
	PageHeader	header = (PageHeader) page;

	/* ReadBuffer accepts pages of zeroes, which a crash may leave */
	if (PageIsNew(page))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" contains unexpected zero page at block %u",
						RelationGetRelationName(index), block),
				 errhint("Please REINDEX it.")));

	if (block == SWARE_METAPAGE)
		check_format(index, page);
	/* check where the special space is before anything reads it */
	if (header->pd_special != BLCKSZ - sizeof(SwarePageOpaqueData) ||
		PageGetPageSize(page) != BLCKSZ ||
		SwarePageGetOpaque(page)->pageId != SWARE_PAGE_ID)
		sware_report_corruption(index, block,
								"The special space, from %u on, is not one of sware.",
								header->pd_special);
	if (header->pd_lower < SizeOfPageHeaderData ||
		header->pd_lower > header->pd_upper ||
		header->pd_upper > header->pd_special ||
		header->pd_upper != MAXALIGN(header->pd_upper))
		sware_report_corruption(index, block,
								"The page header is damaged: lower %u, upper %u, special %u.",
								header->pd_lower, header->pd_upper, header->pd_special);

	if (block == SWARE_METAPAGE)
		check_metapage(index, page);
	else if (sware_page_is_live(page))
		check_content(index, block, page);
}

/*
 * Lock a pinned page.  On a standby the caller holds no other content lock:
 * redo takes the locks of all pages of a record, in any order, and keeps them,
 * so a reader that waited with a lock could deadlock with it.
 */
void
sware_lock_buffer(Buffer buffer, int lockmode)
{
	Assert(!RecoveryInProgress() || !sware_holds_content_lock());
	LockBuffer(buffer, lockmode);
}

/* Pin and lock a page of any kind, and check its frame. */
Buffer
sware_read_buffer(Relation index, BlockNumber block, int lockmode)
{
	Buffer		buffer = ReadBuffer(index, block);

	sware_lock_buffer(buffer, lockmode);
	sware_check_page(index, block, BufferGetPage(buffer));
	return buffer;
}

/*
 * The same for an exclusive lock, but if another session has locked the page,
 * return InvalidBuffer, with nothing pinned.
 */
Buffer
sware_try_buffer(Relation index, BlockNumber block)
{
	Buffer		buffer = ReadBuffer(index, block);

	if (!ConditionalLockBuffer(buffer))
	{
		ReleaseBuffer(buffer);
		return InvalidBuffer;
	}
	sware_check_page(index, block, BufferGetPage(buffer));
	return buffer;
}

/*
 * Return a locked page if it is the one that a link means, on a level of the
 * tree; else release it and return InvalidBuffer.
 */
static Buffer
keep_linked(Buffer buffer, SwareLink link, int level)
{
	SwarePageOpaque opaque = SwarePageGetOpaque(BufferGetPage(buffer));

	if (unlikely(opaque->incarnation != link.incarnation) ||
		opaque->kind != (level == 0 ? SWARE_KIND_LEAF : SWARE_KIND_INTERNAL) ||
		opaque->level != level ||
		(opaque->flags & SWARE_DELETED) != 0)
	{
		sware_release_buffer(buffer);
		return InvalidBuffer;
	}
	return buffer;
}

/*
 * Pin and lock the tree page that a link means, on a level.  Returns
 * InvalidBuffer, with nothing pinned or locked, if the page is not that one
 * any more; the caller then begins its search again.
 */
Buffer
sware_read_linked(Relation index, SwareLink link, int level, int lockmode)
{
	return keep_linked(sware_read_buffer(index, link.block, lockmode), link,
					   level);
}

/*
 * The same for an exclusive lock on a leaf, but if another session has locked
 * the leaf, return InvalidBuffer and set *is_busy.
 */
Buffer
sware_try_linked_leaf(Relation index, SwareLink link, bool *is_busy)
{
	Buffer		buffer = sware_try_buffer(index, link.block);

	*is_busy = !BufferIsValid(buffer);
	return *is_busy ? InvalidBuffer : keep_linked(buffer, link, 0);
}

/*
 * Can a page, which the caller has locked, be reused?  Sets *link to the one
 * that will lead to it then.  A deleted page can be reused at once, since links
 * carry incarnations.
 */
static bool
page_is_reusable(Relation index, Buffer buffer, SwareLink *link)
{
	Page		page = BufferGetPage(buffer);

	link->block = BufferGetBlockNumber(buffer);
	link->incarnation = 1;
	if (PageIsNew(page))
		return true;
	sware_check_page(index, link->block, page);
	link->incarnation = SwarePageGetOpaque(page)->incarnation + 1;
	return !sware_page_is_live(page);
}

/*
 * Return the block of a page that may be free.  When the free space map has
 * none, the file gets all pages that are still needed together.
 */
static BlockNumber
next_candidate(Relation index, SwareExtent *extent)
{
	if (extent->next == extent->end)
	{
		BlockNumber block = GetFreeIndexPage(index);
		int			pages = Min(Max(extent->needed, 1), SWARE_EXTENT_PAGES);

		if (block != InvalidBlockNumber)
			return block;
		pages = sware_extend_file(index, pages, &block);
		extent->next = block;
		extent->end = block + pages;
		SWARE_FAULT_POINT("file-extended");
	}
	return extent->next++;
}

/*
 * Allocate a certain page.  Returns it pinned and exclusively locked, to be
 * initialised with the incarnation of the link that is set; or InvalidBuffer if
 * it is in use.  The caller may hold content locks on tree pages: no backend
 * waits for another lock while it holds one on a free page.
 */
Buffer
sware_allocate_block(Relation index, BlockNumber block, SwareLink *link)
{
	Buffer		buffer = ReadBuffer(index, block);

	if (ConditionalLockBuffer(buffer))
	{
		if (page_is_reusable(index, buffer, link))
			return buffer;
		sware_unlock_buffer(buffer);
	}
	ReleaseBuffer(buffer);
	return InvalidBuffer;
}

/*
 * Allocate one of several pages: one that can be reused, or a new one at the
 * end of the file.  Returns it pinned and exclusively locked, to be initialised
 * with the incarnation of the link that is set.  The caller may hold content
 * locks on tree pages, as above.  Raises an error if there is no disk space.
 *
 * A page of an extent is not locked before it is asked for.  Until then VACUUM
 * may put it into the free space map, and another backend may use it.
 */
Buffer
sware_allocate_of_extent(Relation index, SwareExtent *extent, SwareLink *link)
{
	for (;;)
	{
		/* it may be in use: another backend was faster, or the map is wrong */
		Buffer		buffer =
			sware_allocate_block(index, next_candidate(index, extent), link);

		if (BufferIsValid(buffer))
		{
			extent->needed--;
			return buffer;
		}
	}
}

/* Allocate a single page, as above. */
Buffer
sware_allocate_buffer(Relation index, SwareLink *link)
{
	SwareExtent extent = {.needed = 1};

	return sware_allocate_of_extent(index, &extent, link);
}

/*
 * Put a page that is deleted, or was never used, into the free space map, so
 * that allocations find it.
 */
void
sware_record_free_page(Relation index, BlockNumber block)
{
	RecordFreeIndexPage(index, block);
	/* searches begin at the map's upper levels, which this brings up to date */
	FreeSpaceMapVacuumRange(index, block, block + 1);
}

/* Initialise a page of any kind, without items or siblings. */
void
sware_init_page(Page page, uint16 kind, uint16 level, uint32 incarnation)
{
	SwarePageOpaque opaque;

	PageInit(page, BLCKSZ, sizeof(SwarePageOpaqueData));
	opaque = SwarePageGetOpaque(page);
	opaque->left.block = InvalidBlockNumber;
	opaque->right.block = InvalidBlockNumber;
	opaque->kind = kind;
	opaque->level = level;
	opaque->incarnation = incarnation;
	opaque->pageId = SWARE_PAGE_ID;
}

/* Initialise the metapage of an index that is being built. */
void
sware_init_metapage(Page page, SwareLink root, int level, bool allEqualImage)
{
	SwareMetaPage meta;

	sware_init_page(page, SWARE_KIND_META, 0, 1);
	meta = SwarePageGetMeta(page);
	memset(meta, 0, offsetof(SwareMetaPageData, directory));
	meta->magic = SWARE_META_MAGIC;
	meta->version = SWARE_VERSION;
	if (!pg_strong_random(&meta->indexIncarnation,
						  sizeof(meta->indexIncarnation)))
		meta->indexIncarnation = pg_prng_uint64(&pg_global_prng_state);
	meta->root = root;
	meta->level = level;
	meta->allEqualImage = allEqualImage;
	meta->bufferGeneration = 1;
	meta->directoryVersion = 1;
	for (int i = 0; i < SWARE_MAX_TAILS; i++)
		meta->tails[i].block = InvalidBlockNumber;

	/* generic WAL neither logs nor keeps what lies behind pd_lower */
	((PageHeader) page)->pd_lower = sware_metapage_end(meta);
}

/* Mark a page as deleted; it keeps its kind, level and incarnation. */
void
sware_mark_deleted(Page page)
{
	SwarePageOpaque opaque = SwarePageGetOpaque(page);

	((PageHeader) page)->pd_lower = SizeOfPageHeaderData;
	((PageHeader) page)->pd_upper = ((PageHeader) page)->pd_special;
	opaque->flags = SWARE_DELETED;
	opaque->left.block = InvalidBlockNumber;
	opaque->right.block = InvalidBlockNumber;
}

/*
 * Delete a page that no other page links to, with a record of its own.  The
 * caller has locked it exclusively; it is released.
 */
void
sware_delete_unlinked(Relation index, Buffer buffer)
{
	SwareWal   *wal = sware_wal_begin(index);

	sware_mark_deleted(sware_wal_change(wal, buffer));
	sware_wal_finish(wal);
	sware_release_buffer(buffer);
}
