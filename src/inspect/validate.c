/*-------------------------------------------------------------------------
 *
 * validate.c
 *	  Validation of single pages.  See inspect.h.
 *
 * The error for a fault names the index and the block; its detail gives the
 * reason.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/toast_compression.h"
#include "access/tupmacs.h"
#include "utils/memutils.h"

#include "inspect/inspect.h"
#include "layout/tuple.h"
#include "pages/bufferpages.h"

/* an upper limit on the entries of a buffer page */
#define MAX_BUFFER_ENTRIES \
	((int) (SWARE_PAGE_CAPACITY / MAXALIGN(sizeof(IndexTupleData) + 1)))

typedef struct PageItem
{
	Relation	index;
	BlockNumber block;
	OffsetNumber offset;
	IndexTuple	tuple;
} PageItem;

/* Report a fault of an item. */
#define report(item, ...) \
	sware_report_corruption((item)->index, (item)->block, __VA_ARGS__)

/*
 * Copy a page, whatever it holds, under a share lock.  The caller knows that
 * the block exists.
 */
void
sware_copy_page(Relation index, BlockNumber block,
				BufferAccessStrategy strategy, Page copy)
{
	Buffer		buffer = ReadBufferExtended(index, MAIN_FORKNUM, block,
											RBM_NORMAL, strategy);

	sware_lock_buffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(copy, BufferGetPage(buffer), BLCKSZ);
	sware_release_buffer(buffer);
}

static void
validate_kind(Relation index, BlockNumber block, Page page)
{
	SwarePageOpaque opaque = SwarePageGetOpaque(page);
	int			known_flags = 0;
	bool		is_known = sware_page_is_of_tree(page) ||
		opaque->kind == SWARE_KIND_BUFFER ||
		opaque->kind == SWARE_KIND_DIRECTORY;

	if (sware_page_is_of_tree(page))
		known_flags = SWARE_INCOMPLETE_SPLIT | SWARE_DELETED;
	else if (opaque->kind == SWARE_KIND_BUFFER)
		known_flags = SWARE_SEALED | SWARE_HAS_VERSIONS | SWARE_DELETED |
			((opaque->flags & SWARE_SEALED) != 0 ? SWARE_SORTED : 0);
	if (!is_known ||
		(opaque->level > 0) != (opaque->kind == SWARE_KIND_INTERNAL))
		sware_report_corruption(index, block,
								"A page of kind %u is on level %u.",
								opaque->kind, opaque->level);
	if ((opaque->flags & ~known_flags) != 0 || opaque->unused1 != 0 ||
		opaque->unused2 != 0)
		sware_report_corruption(index, block,
								"The page has unknown flags: 0x%04x, unused space 0x%04x and 0x%04x.",
								opaque->flags, opaque->unused1,
								opaque->unused2);
}

static void
validate_tree_frame(Relation index, BlockNumber block, Page page)
{
	SwarePageOpaque opaque = SwarePageGetOpaque(page);
	uint16		lower = ((PageHeader) page)->pd_lower;

	if (opaque->left.block == block || opaque->right.block == block ||
		opaque->left.block == SWARE_METAPAGE ||
		opaque->right.block == SWARE_METAPAGE)
		sware_report_corruption(index, block,
								"The siblings are blocks %u and %u.",
								opaque->left.block, opaque->right.block);
	if ((opaque->flags & SWARE_INCOMPLETE_SPLIT) != 0 &&
		sware_page_is_rightmost(page))
		sware_report_corruption(index, block,
								"The rightmost page of level %u is marked as incompletely split.",
								opaque->level);
	if ((lower - SizeOfPageHeaderData) % sizeof(ItemIdData) != 0)
		sware_report_corruption(index, block,
								"The line pointer array ends at %u.", lower);
}

/* Check the frame of a live buffer or directory page. */
static void
validate_buffer_frame(Relation index, BlockNumber block, Page page)
{
	PageHeader	header = (PageHeader) page;
	SwarePageOpaque opaque = SwarePageGetOpaque(page);

	bool		has_seal = opaque->kind == SWARE_KIND_BUFFER &&
		(opaque->flags & SWARE_SEALED) != 0;

	if ((!has_seal && sware_link_is_valid(opaque->left)) ||
		sware_link_is_valid(opaque->right))
		sware_report_corruption(index, block,
								"A page of kind %u has siblings, blocks %u and %u.",
								opaque->kind, opaque->left.block,
								opaque->right.block);
	if (header->pd_upper != header->pd_special ||
		header->pd_lower != MAXALIGN(header->pd_lower))
		sware_report_corruption(index, block,
								"A page of kind %u has data up to %u and from %u on.",
								opaque->kind, header->pd_lower,
								header->pd_upper);
}

/*
 * Check the frame of a page, which is its header and special space; except for
 * the metapage, also that they are possible for its kind.
 */
void
sware_validate_frame(Relation index, BlockNumber block, Page page)
{
	sware_check_page(index, block, page);

	if (PageGetPageLayoutVersion(page) != PG_PAGE_LAYOUT_VERSION)
		sware_report_corruption(index, block,
								"The page has layout version %u.",
								PageGetPageLayoutVersion(page));
	if (block == SWARE_METAPAGE)
		return;

	validate_kind(index, block, page);
	if (!sware_page_is_live(page))
		return;
	if (sware_page_is_of_tree(page))
		validate_tree_frame(index, block, page);
	else
		validate_buffer_frame(index, block, page);
}

static void
report_column(PageItem *item, int column)
{
	report(item, "Column %d of item %u does not fit into the item.", column,
		   item->offset);
}

/*
 * Check the varlena value at `start`, and return its size.  The item ends
 * `room` bytes later; nothing behind it is read.
 */
static Size
validate_varlena(PageItem *item, int column, char *start, Size room)
{
	Size		size;

	if (room < 1)
		report_column(item, column);
	if (VARATT_IS_EXTERNAL(start))
		report(item, "Column %d of item %u is stored out of line.", column,
			   item->offset);
	if (VARATT_IS_1B(start))
		size = VARSIZE_1B(start);
	else
	{
		if (room < VARHDRSZ || start != (char *) INTALIGN(start))
			report_column(item, column);
		size = VARSIZE_4B(start);
		if (size < VARHDRSZ)
			report_column(item, column);
	}
	if (size > room)
		report_column(item, column);

	if (VARATT_IS_COMPRESSED(start))
	{
		ToastCompressionId method;

		if (size < VARHDRSZ_COMPRESSED)
			report_column(item, column);
		method = VARDATA_COMPRESSED_GET_COMPRESS_METHOD(start);
		if ((method != TOAST_PGLZ_COMPRESSION_ID &&
			 method != TOAST_LZ4_COMPRESSION_ID) ||
			!AllocSizeIsValid(VARDATA_COMPRESSED_GET_EXTSIZE(start) +
							  VARHDRSZ))
			report(item,
				   "Column %d of item %u is not compressed in a known way.",
				   column, item->offset);
	}
	return size;
}

/*
 * Check that a tuple has the values of this number of columns, and that they
 * end at its byte `end`.
 */
static void
validate_columns(PageItem *item, int columns, Size end)
{
	IndexTuple	tuple = item->tuple;
	TupleDesc	descriptor = RelationGetDescr(item->index);
	Size		position = IndexInfoFindDataOffset(tuple->t_info);
	uint8	   *nulls = (uint8 *) ((char *) tuple + sizeof(IndexTupleData));
	bool		has_null = false;
	bool		has_variable = false;

	if (position > end)
		report(item, "Item %u ends within its header.", item->offset);

	for (int i = 0; i < columns; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
		char	   *start;
		Size		size;

		if (IndexTupleHasNulls(tuple) && att_isnull(i, nulls))
		{
			has_null = true;
			continue;
		}

		/* short headers are not aligned; their first byte is not 0 */
		if (attribute->attlen != -1 ||
			(position < end && *((char *) tuple + position) == 0))
			position = att_align_nominal(position, attribute->attalign);
		if (position > end)
			report_column(item, i + 1);

		start = (char *) tuple + position;
		if (attribute->attlen == -1)
			size = validate_varlena(item, i + 1, start, end - position);
		else if (attribute->attlen == -2)
			size = strnlen(start, end - position) + 1;
		else
			size = attribute->attlen;
		if (size > end - position)
			report_column(item, i + 1);
		position += size;
		has_variable |= attribute->attlen < 0;
	}

	if (MAXALIGN(position) != end ||
		has_null != (IndexTupleHasNulls(tuple) != 0) ||
		has_variable != (IndexTupleHasVarwidths(tuple) != 0))
		report(item, "Item %u does not hold the columns it should: "
			   "%d columns end at %zu, not at %zu, flags 0x%04x.",
			   item->offset, columns, position, end, tuple->t_info);
}

static void
validate_pivot(PageItem *item, bool is_downlink)
{
	IndexTuple	tuple = item->tuple;
	int			key_columns =
		IndexRelationGetNumberOfKeyAttributes(item->index);
	int			columns = sware_tuple_count(tuple);
	bool		first_downlink = is_downlink &&
		item->offset == SWARE_FIRST_DATA;
	Size		fields;

	if (!sware_tuple_is_pivot(tuple) ||
		sware_pivot_has_link(tuple) != is_downlink ||
		columns > key_columns ||
		(columns == 0) != first_downlink ||
		(sware_pivot_has_tid(tuple) && columns != key_columns))
		report(item, "Item %u is no %s: %d columns, flags 0x%04x and 0x%04x.",
			   item->offset, is_downlink ? "downlink" : "high key", columns,
			   tuple->t_info,
			   ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid));

	fields = ((sware_pivot_has_tid(tuple) ? 1 : 0) + (is_downlink ? 1 : 0)) *
		SWARE_PIVOT_FIELD_SIZE;
	if (IndexTupleSize(tuple) < sizeof(IndexTupleData) + fields)
		report(item, "Item %u is too small: %zu bytes.", item->offset,
			   (Size) IndexTupleSize(tuple));
	validate_columns(item, columns, IndexTupleSize(tuple) - fields);

	if (sware_pivot_has_tid(tuple) &&
		!ItemPointerIsValid(sware_pivot_tid(tuple)))
		report(item, "Item %u has no valid TID.", item->offset);
	if (is_downlink &&
		(sware_pivot_link(tuple).block == SWARE_METAPAGE ||
		 sware_pivot_link(tuple).block == InvalidBlockNumber ||
		 sware_pivot_link(tuple).block == item->block))
		report(item, "Downlink %u leads to block %u.", item->offset,
			   sware_pivot_link(tuple).block);
}

static void
validate_tids(PageItem *item, ItemPointer tids, int count)
{
	for (int i = 0; i < count; i++)
	{
		if (!ItemPointerIsValid(&tids[i]) ||
			!BlockNumberIsValid(ItemPointerGetBlockNumberNoCheck(&tids[i])))
			report(item, "TID %d of item %u is not valid.", i + 1,
				   item->offset);
		if (i > 0 && ItemPointerCompare(&tids[i - 1], &tids[i]) >= 0)
			report(item, "TID %d of item %u is not above the one before it.",
				   i + 1, item->offset);
	}
}

/* Check an entry, which may be marked. */
static void
validate_entry(PageItem *item)
{
	validate_columns(item, IndexRelationGetNumberOfAttributes(item->index),
					 IndexTupleSize(item->tuple));
	validate_tids(item, &item->tuple->t_tid, 1);
}

static void
validate_posting_list(PageItem *item)
{
	IndexTuple	tuple = item->tuple;
	int			columns = IndexRelationGetNumberOfAttributes(item->index);
	Size		size = IndexTupleSize(tuple);
	Size		key_size = sware_posting_offset(tuple);
	int			count = sware_tuple_count(tuple);

	if (!sware_tuple_is_posting(tuple) ||
		(ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid) &
		 (SWARE_PIVOT_TID | SWARE_PIVOT_LINK)) != 0 ||
		count < 2 ||
		key_size != MAXALIGN(key_size) ||
		key_size > size ||
		MAXALIGN(key_size + count * sizeof(ItemPointerData)) != size ||
		columns != IndexRelationGetNumberOfKeyAttributes(item->index))
		report(item, "Item %u is no posting list: %zu bytes, %d TIDs at %zu, "
			   "flags 0x%04x and 0x%04x.", item->offset, size, count, key_size,
			   tuple->t_info,
			   ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid));
	validate_columns(item, columns, key_size);
	validate_tids(item, sware_posting_tids(tuple), count);
}

/* Check one item of a live tree page whose frame has been checked. */
void
sware_validate_item(Relation index, BlockNumber block, Page page,
					OffsetNumber offset)
{
	PageItem	item = {.index = index,.block = block,.offset = offset};
	ItemId		line_pointer = PageGetItemId(page, offset);

	if (offset == SWARE_HIGH_KEY && !sware_page_has_high_key(page))
	{
		if (ItemIdIsUsed(line_pointer))
			sware_report_corruption(index, block,
									"The rightmost page of level %u has a high key.",
									SwarePageGetOpaque(page)->level);
		return;
	}

	/* is it within the page, and has the size that it claims? */
	item.tuple = sware_checked_item(index, block, page, offset);
	if (ItemIdGetLength(line_pointer) !=
		MAXALIGN(ItemIdGetLength(line_pointer)) ||
		(ItemIdIsDead(line_pointer) &&
		 (!sware_page_is_leaf(page) || offset == SWARE_HIGH_KEY)))
		sware_report_item(index, block, page, offset);
	if (offset == SWARE_HIGH_KEY)
		validate_pivot(&item, false);
	else if (!sware_page_is_leaf(page))
		validate_pivot(&item, true);
	else if (sware_tuple_is_special(item.tuple))
		validate_posting_list(&item);
	else
		validate_entry(&item);
}

/* Check all items of a live tree page whose frame has been checked. */
static void
validate_items(Relation index, BlockNumber block, Page page)
{
	/* which maximally aligned parts of the page belong to an item */
	bool		taken[BLCKSZ / MAXIMUM_ALIGNOF] = {0};

	for (OffsetNumber offset = SWARE_HIGH_KEY;
		 offset <= PageGetMaxOffsetNumber(page); offset++)
	{
		ItemId		line_pointer = PageGetItemId(page, offset);
		int			first;
		int			last;

		sware_validate_item(index, block, page, offset);
		if (!ItemIdIsUsed(line_pointer))
			continue;
		first = ItemIdGetOffset(line_pointer) / MAXIMUM_ALIGNOF;
		last = first + ItemIdGetLength(line_pointer) / MAXIMUM_ALIGNOF;
		for (int i = first; i < last; i++)
		{
			if (taken[i])
				sware_report_corruption(index, block,
										"Item %u overlaps another item.",
										offset);
			taken[i] = true;
		}
	}

	if (!sware_page_is_leaf(page) && sware_page_is_rightmost(page) &&
		sware_page_data_count(page) == 0)
		sware_report_corruption(index, block,
								"The rightmost page of level %u has no downlink.",
								SwarePageGetOpaque(page)->level);
}

/*
 * Check the entries of a live buffer page whose frame has been checked.
 * Returns their number.  Errors call the first of them item 1.
 */
int
sware_validate_buffer_entries(Relation index, BlockNumber block, Page page)
{
	Size		end = sware_buffer_page_end(page);
	PageItem	item = {.index = index,.block = block,.offset = 0};

	for (Size offset = SWARE_BUFFER_START; offset < end;)
	{
		Size		start = offset;
		Size		size;

		item.offset++;
		item.tuple = sware_buffer_entry(index, block, page, &offset);
		size = IndexTupleSize(item.tuple);
		if (size != MAXALIGN(size) || size > SWARE_MAX_ENTRY_SIZE)
			sware_report_buffer_entry(index, block, start);
		validate_entry(&item);
	}
	return item.offset;
}

/* Check the slots of a directory page whose frame has been checked. */
void
sware_validate_slots(Relation index, BlockNumber block, Page page)
{
	for (int i = 0; i < sware_slot_count(page); i++)
	{
		SwareSlot  *slot = sware_slot(page, i);

		if (slot->state == SWARE_SLOT_FREE)
			continue;
		if ((slot->state != SWARE_SLOT_SEALED &&
			 slot->state != SWARE_SLOT_RETIRED) ||
			slot->page.block == SWARE_METAPAGE || slot->page.block == block ||
			!sware_link_is_valid(slot->page) || slot->entries == 0 ||
			slot->entries > MAX_BUFFER_ENTRIES)
			sware_report_corruption(index, block,
									"Slot %d is damaged: block %u, state %u, %u entries.",
									i, slot->page.block, slot->state,
									slot->entries);
	}
}

/* Check a page that is not the metapage; of a deleted one, its frame only. */
void
sware_validate_page(Relation index, BlockNumber block, Page page)
{
	sware_validate_frame(index, block, page);
	if (!sware_page_is_live(page))
		return;
	if (sware_page_is_of_tree(page))
		validate_items(index, block, page);
	else if (SwarePageGetOpaque(page)->kind == SWARE_KIND_BUFFER)
		(void) sware_validate_buffer_entries(index, block, page);
	else
		sware_validate_slots(index, block, page);
}
