/*-------------------------------------------------------------------------
 *
 * pageaccess.h
 *	  Reading, locking, allocating and initialising pages; and what a page says
 *	  of itself, and its items.
 *
 * Other files use these functions rather than the buffer manager's.  They check
 * the *frame* of each page: what must be sound for the page to be used, which
 * is its header, its special space, and its number of items.  A damaged page is
 * an error (ERRCODE_INDEX_CORRUPTED).
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PAGEACCESS_H
#define SWARE_PAGEACCESS_H

#include "access/itup.h"
#include "executor/instrument.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "base/compat.h"
#include "layout/page.h"
#include "layout/tuple.h"

/* the most pages that a file gets at once */
#define SWARE_EXTENT_PAGES	128

/*
 * Pages that were added to the end of the file together, for a caller that
 * needs several.  It sets `needed`, and the rest to 0.
 */
typedef struct SwareExtent
{
	int			needed;			/* how many pages are still needed */
	BlockNumber next;			/* those from here on are not yet used */
	BlockNumber end;			/* the block behind the last one */
} SwareExtent;

/* How many blocks has this session read? */
static inline int64
sware_blocks_read(void)
{
	return pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read;
}

/* Does a link lead to a page at all? */
static inline bool
sware_link_is_valid(SwareLink link)
{
	return link.block != InvalidBlockNumber;
}

/* Do two links mean the same page in the same incarnation, or none at all? */
static inline bool
sware_links_equal(SwareLink a, SwareLink b)
{
	return a.block == b.block &&
		(a.incarnation == b.incarnation || a.block == InvalidBlockNumber);
}

/* The link that leads to a page now; the caller holds a lock on it. */
static inline SwareLink
sware_page_link(Buffer buffer)
{
	SwareLink	link;

	link.block = BufferGetBlockNumber(buffer);
	link.incarnation = SwarePageGetOpaque(BufferGetPage(buffer))->incarnation;
	return link;
}

/* Unlock a page, and keep the pin; or unlock and unpin it. */
#define sware_unlock_buffer(buffer)	LockBuffer(buffer, BUFFER_LOCK_UNLOCK)
#define sware_release_buffer(buffer)	UnlockReleaseBuffer(buffer)

extern Buffer sware_read_buffer(Relation index, BlockNumber block,
								int lockmode);
extern Buffer sware_try_buffer(Relation index, BlockNumber block);
extern Buffer sware_read_linked(Relation index, SwareLink link, int level,
								int lockmode);
extern Buffer sware_try_linked_leaf(Relation index, SwareLink link,
									bool *is_busy);
extern void sware_lock_buffer(Buffer buffer, int lockmode);
extern void sware_check_page(Relation index, BlockNumber block, Page page);
extern Buffer sware_allocate_block(Relation index, BlockNumber block,
								   SwareLink *link);
extern Buffer sware_allocate_of_extent(Relation index, SwareExtent *extent,
									   SwareLink *link);
extern Buffer sware_allocate_buffer(Relation index, SwareLink *link);
extern void sware_record_free_page(Relation index, BlockNumber block);
extern void sware_init_page(Page page, uint16 kind, uint16 level,
							uint32 incarnation);
extern void sware_init_metapage(Page page, SwareLink root, int level,
								bool allEqualImage);
extern void sware_mark_deleted(Page page);
extern void sware_delete_unlinked(Relation index, Buffer buffer);

/* In all of these, the caller holds a lock on the page, or owns a copy. */
static inline bool
sware_page_is_live(Page page)
{
	return (SwarePageGetOpaque(page)->flags & SWARE_DELETED) == 0;
}

static inline bool
sware_page_is_rightmost(Page page)
{
	return SwarePageGetOpaque(page)->right.block == InvalidBlockNumber;
}

static inline bool
sware_page_is_leftmost(Page page)
{
	return SwarePageGetOpaque(page)->left.block == InvalidBlockNumber;
}

static inline bool
sware_page_is_leaf(Page page)
{
	return SwarePageGetOpaque(page)->level == 0;
}

/* number of entries and posting lists, or of downlinks: all but the high key */
static inline int
sware_page_data_count(Page page)
{
	int			items = PageGetMaxOffsetNumber(page);

	return items > 0 ? items - 1 : 0;
}

static inline IndexTuple
sware_page_tuple(Page page, OffsetNumber offset)
{
	return (IndexTuple) PageGetItem(page, PageGetItemId(page, offset));
}

/*
 * Does a page have a high key?  The rightmost page of a level has none, and
 * internal pages may have given theirs up.
 */
static inline bool
sware_page_has_high_key(Page page)
{
	return !sware_page_is_rightmost(page) &&
		(sware_page_is_leaf(page) ||
		 ItemIdIsUsed(PageGetItemId(page, SWARE_HIGH_KEY)));
}

/* the high key of a page that has one */
static inline IndexTuple
sware_page_high_key(Page page)
{
	Assert(sware_page_has_high_key(page));
	return sware_page_tuple(page, SWARE_HIGH_KEY);
}

/* room that a tuple takes on a page, with its line pointer, in bytes */
static inline Size
sware_item_space(IndexTuple tuple)
{
	return MAXALIGN(IndexTupleSize(tuple)) + sizeof(ItemIdData);
}

/*
 * Raise an error about a block, ERRCODE_INDEX_CORRUPTED.  The arguments behind
 * the block are the format of the detail, and what goes into it.
 */
#define sware_report_corruption(index, block, ...) \
	ereport(ERROR, \
			(errcode(ERRCODE_INDEX_CORRUPTED), \
			 errmsg("index \"%s\" contains corrupted page at block %u", \
					RelationGetRelationName(index), block), \
			 errdetail_internal(__VA_ARGS__), \
			 errhint("Please REINDEX it.")))

/*
 * The following read items of a tree page whose frame sware_check_page has
 * checked.  A damaged page must not make searches read outside of it, or scans
 * copy more than they have memory for.  So they raise an error
 * (ERRCODE_INDEX_CORRUPTED) unless the item is within the page, and of the kind
 * that is expected.  They do not check the values of a key; only sware_check
 * does.  The caller has locked the page, or owns a copy.
 */

/* Raise the error for a damaged item. */
SWARE_NORETURN extern void sware_report_item(Relation index, BlockNumber block,
											 Page page, OffsetNumber offset)
			pg_attribute_cold;

/* Returns the item at an offset, which is among the page's line pointers. */
static inline IndexTuple
sware_checked_item(Relation index, BlockNumber block, Page page,
				   OffsetNumber offset)
{
	ItemId		line_pointer = PageGetItemId(page, offset);
	unsigned	start = ItemIdGetOffset(line_pointer);
	unsigned	length = ItemIdGetLength(line_pointer);
	IndexTuple	tuple = (IndexTuple) ((char *) page + start);

	if (unlikely((!ItemIdIsNormal(line_pointer) &&
				  !ItemIdIsDead(line_pointer)) ||
				 start < ((PageHeader) page)->pd_upper ||
				 start != MAXALIGN(start) ||
				 length < sizeof(IndexTupleData) ||
				 start + length >
				 BLCKSZ - sizeof(SwarePageOpaqueData) ||
				 IndexTupleSize(tuple) != length))
		sware_report_item(index, block, page, offset);
	return tuple;
}

/* Like sware_checked_item, for an item that must be a pivot. */
static inline IndexTuple
sware_checked_pivot(Relation index, BlockNumber block, Page page,
					OffsetNumber offset)
{
	IndexTuple	tuple = sware_checked_item(index, block, page, offset);

	if (unlikely(!sware_tuple_is_pivot(tuple) ||
				 IndexTupleSize(tuple) < sizeof(IndexTupleData) +
				 (sware_pivot_has_tid(tuple) ? SWARE_PIVOT_FIELD_SIZE : 0) +
				 (sware_pivot_has_link(tuple) ? SWARE_PIVOT_FIELD_SIZE : 0)))
		sware_report_item(index, block, page, offset);
	return tuple;
}

/* Returns the page that the downlink at an offset leads to. */
static inline SwareLink
sware_checked_downlink(Relation index, BlockNumber block, Page page,
					   OffsetNumber offset)
{
	IndexTuple	tuple = sware_checked_pivot(index, block, page, offset);

	if (unlikely(!sware_pivot_has_link(tuple)))
		sware_report_item(index, block, page, offset);
	return sware_pivot_link(tuple);
}

#endif							/* SWARE_PAGEACCESS_H */
