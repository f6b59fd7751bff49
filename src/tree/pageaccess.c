/*-------------------------------------------------------------------------
 *
 * pageaccess.c
 *	  Getting at pages: the only place that reads, locks, allocates and
 *	  initialises them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/xlog.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/buf_internals.h"
#include "storage/indexfsm.h"
#include "storage/lmgr.h"

#include "tree/corruption.h"
#include "tree/pageitem.h"
#include "tree/tree.h"

bool
sware_link_is_valid(SwareLink link)
{
	return link.block != InvalidBlockNumber;
}

bool
sware_links_equal(SwareLink a, SwareLink b)
{
	return a.block == b.block &&
		(a.incarnation == b.incarnation || a.block == InvalidBlockNumber);
}

/* The link that leads to a page now; the caller holds a lock on it. */
SwareLink
sware_page_link(Buffer buffer)
{
	SwareLink	link;

	link.block = BufferGetBlockNumber(buffer);
	link.incarnation = SwarePageGetOpaque(BufferGetPage(buffer))->incarnation;
	return link;
}

/*
 * Raise an error unless the line pointers of a tree page are where they can
 * be, and as many as there can be: arrays of that length are made for them.
 */
static void
check_line_pointers(Relation index, BlockNumber block, Page page)
{
	SwarePageOpaque opaque = SwarePageGetOpaque(page);
	OffsetNumber last = PageGetMaxOffsetNumber(page);

	if (last < SWARE_HIGH_KEY || last > SWARE_MAX_ITEMS_PER_PAGE)
		sware_report_corruption(index, block, "The line pointer array ends at %u.",
								((PageHeader) page)->pd_lower);
	if (opaque->appendItems > (opaque->level == 0 ? sware_page_data_count(page) : 0))
		sware_report_corruption(index, block,
								"The append area has %u items, of %d on the page of level %u.",
								opaque->appendItems, sware_page_data_count(page),
								opaque->level);
}

/* Raise an error unless the slots of a directory page are within it. */
static void
check_slots(Relation index, BlockNumber block, Page page)
{
	Size		size = ((PageHeader) page)->pd_lower - MAXALIGN(SizeOfPageHeaderData);

	if (size % sizeof(SwareSlot) != 0)
		sware_report_corruption(index, block, "The array of slots ends at %u.",
								((PageHeader) page)->pd_lower);
}

/* Raise an error unless a page of any kind but the metapage has a sound frame. */
static void
check_content(Relation index, BlockNumber block, Page page)
{
	switch (SwarePageGetOpaque(page)->kind)
	{
		case SWARE_KIND_LEAF:
		case SWARE_KIND_INTERNAL:
			check_line_pointers(index, block, page);
			break;
		case SWARE_KIND_DIRECTORY:
			check_slots(index, block, page);
			break;
		default:
			/* the entries of a buffer page are checked when they are read */
			break;
	}
}

/* Raise an error unless the metapage links to as many pages as it says. */
static void
check_directory_links(Relation index, Page page)
{
	SwareMetaPage meta = SwarePageGetMeta(page);

	if (meta->directoryPages > SWARE_MAX_DIRECTORY_PAGES ||
		(char *) &meta->directory[meta->directoryPages] - (char *) page !=
		((PageHeader) page)->pd_lower)
		sware_report_corruption(index, SWARE_METAPAGE,
								"The directory has %u pages, and their links end at %u.",
								meta->directoryPages, ((PageHeader) page)->pd_lower);
}

void
sware_report_item(Relation index, BlockNumber block, Page page, OffsetNumber offset)
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
 * Raise an error unless a page has the frame of a sware page.  The caller
 * holds a lock on it, or owns a copy.
 */
void
sware_check_page(Relation index, BlockNumber block, Page page)
{
	PageHeader	header = (PageHeader) page;

	/* an all-zero page is what ReadBuffer accepts and a crash may leave */
	if (PageIsNew(page))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" contains unexpected zero page at block %u",
						RelationGetRelationName(index), block),
				 errhint("Please REINDEX it.")));

	/* the place of the special space first, before anything reads it */
	if (header->pd_special != BLCKSZ - sizeof(SwarePageOpaqueData) ||
		PageGetPageSize(page) != BLCKSZ ||
		SwarePageGetOpaque(page)->pageId != SWARE_PAGE_ID)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" contains corrupted page at block %u",
						RelationGetRelationName(index), block),
				 errhint("Please REINDEX it.")));
	if (header->pd_lower < SizeOfPageHeaderData ||
		header->pd_lower > header->pd_upper ||
		header->pd_upper > header->pd_special ||
		header->pd_upper != MAXALIGN(header->pd_upper))
		sware_report_corruption(index, block,
								"The page header is damaged: lower %u, upper %u, special %u.",
								header->pd_lower, header->pd_upper, header->pd_special);

	if (block != SWARE_METAPAGE)
	{
		if (sware_page_is_live(page))
			check_content(index, block, page);
	}
	else
	{
		SwareMetaPage meta = SwarePageGetMeta(page);

		if (SwarePageGetOpaque(page)->kind != SWARE_KIND_META || meta->magic != SWARE_META_MAGIC)
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("index \"%s\" is not a sware index",
							RelationGetRelationName(index)),
					 errdetail("Block %u holds no sware metapage.", block)));
		if (meta->version != SWARE_VERSION)
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("version mismatch in index \"%s\": file version %u, "
							"current version %u",
							RelationGetRelationName(index), meta->version,
							SWARE_VERSION),
					 errdetail("Block %u holds the metapage.", block)));
		check_directory_links(index, page);
	}
}

#ifdef USE_ASSERT_CHECKING
/* Has this backend locked any page? */
static bool
holds_page_lock(void)
{
	return LWLockAnyHeldByMe(&GetBufferDescriptor(0)->content_lock, NBuffers,
							 sizeof(BufferDescPadded));
}
#endif

/*
 * Lock a pinned buffer.  In recovery, when there are readers only, the caller has
 * locked no other: redo locks all pages of a record, in any order.
 */
void
sware_lock_buffer(Buffer buffer, int lockmode)
{
	Assert(!RecoveryInProgress() || !holds_page_lock());
	LockBuffer(buffer, lockmode);
}

/* Unlock a buffer, and keep the pin. */
void
sware_unlock_buffer(Buffer buffer)
{
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
}

/* Unlock and unpin a buffer. */
void
sware_release_buffer(Buffer buffer)
{
	UnlockReleaseBuffer(buffer);
}

/*
 * Pin and lock a page, whatever it holds, and check its frame.
 */
Buffer
sware_read_buffer(Relation index, BlockNumber block, int lockmode)
{
	Buffer		buffer = ReadBuffer(index, block);

	sware_lock_buffer(buffer, lockmode);
	sware_check_page(index, block, BufferGetPage(buffer));
	return buffer;
}

/*
 * Pin and lock the tree page that a link means.  InvalidBuffer, with nothing
 * pinned or locked, if the page is not that one any more: then the caller
 * seeks again.
 */
Buffer
sware_read_linked(Relation index, SwareLink link, int level, int lockmode)
{
	Buffer		buffer = sware_read_buffer(index, link.block, lockmode);
	SwarePageOpaque opaque = SwarePageGetOpaque(BufferGetPage(buffer));

	if (opaque->incarnation != link.incarnation ||
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
 * Can a page be reused, and what would be its incarnation then?  Links carry
 * incarnations, so a deleted page needs no waiting time.
 */
static bool
page_is_reusable(Relation index, Buffer buffer, uint32 *incarnation)
{
	Page		page = BufferGetPage(buffer);

	*incarnation = 1;
	if (PageIsNew(page))
		return true;
	sware_check_page(index, BufferGetBlockNumber(buffer), page);
	*incarnation = SwarePageGetOpaque(page)->incarnation + 1;
	return !sware_page_is_live(page);
}

/*
 * A page to be initialised, pinned and exclusively locked, and the
 * incarnation that it is to have: a reusable one, or a new one at the end of
 * the file.  The caller may hold content locks on tree pages: nobody waits
 * for another lock while holding one on a free page.
 */
Buffer
sware_allocate_buffer(Relation index, uint32 *incarnation)
{
	Buffer		buffer;
	bool		need_lock;

	for (;;)
	{
		BlockNumber block = GetFreeIndexPage(index);

		if (block == InvalidBlockNumber)
			break;
		/* the free space map may be wrong, even about what the page is for */
		buffer = ReadBuffer(index, block);
		if (ConditionalLockBuffer(buffer))
		{
			if (page_is_reusable(index, buffer, incarnation))
				return buffer;
			sware_unlock_buffer(buffer);
		}
		ReleaseBuffer(buffer);
	}

	/*
	 * The extension lock is held until the page is locked, so that VACUUM,
	 * which takes it to learn the file's size, cannot get at the page first.
	 */
	need_lock = !RELATION_IS_LOCAL(index);
	if (need_lock)
		LockRelationForExtension(index, ExclusiveLock);
	buffer = ReadBuffer(index, P_NEW);
	sware_lock_buffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (need_lock)
		UnlockRelationForExtension(index, ExclusiveLock);
	*incarnation = 1;
	return buffer;
}

/* Initialise a tree page, without items or siblings. */
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
	if (!pg_strong_random(&meta->indexIncarnation, sizeof(meta->indexIncarnation)))
		meta->indexIncarnation = pg_prng_uint64(&pg_global_prng_state);
	meta->root = root;
	meta->level = level;
	meta->allEqualImage = allEqualImage;
	meta->bufferGeneration = 1;
	meta->directoryVersion = 1;
	for (int i = 0; i < SWARE_MAX_TAILS; i++)
		meta->tails[i].block = InvalidBlockNumber;

	/* generic WAL neither logs nor keeps what lies behind pd_lower */
	((PageHeader) page)->pd_lower =
		(char *) &meta->directory[0] - (char *) page;
}

/*
 * Are equal keys of the index bytewise equal (support function 4), so that
 * posting lists are possible?  Never with INCLUDE columns.
 */
bool
sware_all_equal_image(Relation index)
{
	return _bt_allequalimage(index, false);
}
