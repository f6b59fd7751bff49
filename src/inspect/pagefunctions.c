/*-------------------------------------------------------------------------
 *
 * pagefunctions.c
 *	  The SQL functions that show single pages: sware_metapage,
 *	  sware_page_stats and sware_page_items; and sware_buffer_pages, which
 *	  shows which pages the buffer has.
 *
 * They are for superusers only: pages have values of rows that a user may not
 * be allowed to read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "inspect/inspect.h"
#include "layout/tuple.h"
#include "pages/bufferpages.h"

PG_FUNCTION_INFO_V1(sware_metapage);
PG_FUNCTION_INFO_V1(sware_page_stats);
PG_FUNCTION_INFO_V1(sware_page_items);
PG_FUNCTION_INFO_V1(sware_buffer_pages);

static void
add_link(SwareRow *row, SwareLink link)
{
	bool		is_known = sware_link_is_valid(link);

	sware_add_known(row, is_known, Int64GetDatum((int64) link.block));
	sware_add_known(row, is_known, Int64GetDatum((int64) link.incarnation));
}

/* Open the index that is the first argument, for a superuser. */
static Relation
open_sware_index(FunctionCallInfo fcinfo, const char *function)
{
	Relation	index;

	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to use %s", function)));
	index = relation_open(PG_GETARG_OID(0), AccessShareLock);
	sware_require_sware_index(index);
	return index;
}

/*
 * Copy a block of an index, which is not the metapage, to the current memory
 * context.  Raises an error if it does not exist; the page is validated unless
 * it is new.
 */
static Page
validated_copy(Relation index, int64 block)
{
	Page		copy = palloc(BLCKSZ);

	if (block == SWARE_METAPAGE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("block 0 is the metapage"),
				 errhint("Use sware_metapage to look at it.")));
	if (block < 0 || block > MaxBlockNumber)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid block number %lld", (long long) block)));
	if (block >= RelationGetNumberOfBlocks(index))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("block number %lld is out of range for relation \"%s\"",
						(long long) block, RelationGetRelationName(index)),
				 errdetail("The relation has %u blocks.", RelationGetNumberOfBlocks(index))));
	sware_copy_page(index, (BlockNumber) block, NULL, copy);
	if (!PageIsNew(copy))
		sware_validate_page(index, (BlockNumber) block, copy);
	return copy;
}

/* Make an array of values of a type. */
static Datum
make_array(Datum *values, int count, Oid type)
{
	int16		length;
	bool		by_value;
	char		alignment;

	get_typlenbyvalalign(type, &length, &by_value, &alignment);
	return PointerGetDatum(construct_array(values, count, type, length,
										   by_value, alignment));
}

/* Make an array of the blocks that links lead to, without invalid links. */
static Datum
block_array(const SwareLink *links, int count)
{
	Datum	   *blocks = palloc(Max(count, 1) * sizeof(Datum));
	int			valid = 0;

	for (int i = 0; i < count; i++)
	{
		if (sware_link_is_valid(links[i]))
			blocks[valid++] = Int64GetDatum((int64) links[i].block);
	}
	return make_array(blocks, valid, INT8OID);
}

/* sware_metapage(index regclass) */
Datum
sware_metapage(PG_FUNCTION_ARGS)
{
	SwareRow	row = {0};
	Relation	index = open_sware_index(fcinfo, "sware_metapage");
	PGAlignedBlock page;
	SwareMetaPage meta = SwarePageGetMeta(page.data);

	sware_copy_page(index, SWARE_METAPAGE, NULL, page.data);
	sware_validate_frame(index, SWARE_METAPAGE, page.data);
	relation_close(index, AccessShareLock);

	sware_add_value(&row, Int64GetDatum((int64) meta->magic));
	sware_add_value(&row, Int32GetDatum((int32) meta->version));
	add_link(&row, meta->root);
	sware_add_value(&row, Int32GetDatum((int32) meta->level));
	sware_add_value(&row, BoolGetDatum(meta->allEqualImage));
	sware_add_value(&row, Int64GetDatum((int64) meta->indexIncarnation));
	sware_add_value(&row, Int64GetDatum((int64) meta->bufferGeneration));
	sware_add_value(&row, Int64GetDatum((int64) meta->directoryVersion));
	sware_add_value(&row, Int64GetDatum((int64) meta->sealedPages));
	sware_add_value(&row, block_array(meta->tails, SWARE_MAX_TAILS));
	sware_add_value(&row, block_array(meta->directory, meta->directoryPages));
	return sware_row_datum(fcinfo, &row);
}

static Datum
flag_names(uint16 flags)
{
	static const struct
	{
		uint16		flag;
		const char *name;
	}			known[] = {
		{SWARE_INCOMPLETE_SPLIT, "incomplete_split"},
		{SWARE_DELETED, "deleted"},
		{SWARE_SEALED, "sealed"},
		{SWARE_HAS_VERSIONS, "has_versions"},
		{SWARE_SORTED, "sorted"},
	};
	Datum		names[lengthof(known)];
	int			count = 0;

	for (int i = 0; i < (int) lengthof(known); i++)
	{
		if ((flags & known[i].flag) != 0)
			names[count++] = CStringGetTextDatum(known[i].name);
	}
	return make_array(names, count, TEXTOID);
}

/* the names of kinds of pages; a validated one has one of them */
static const char *const kinds[] = {
	[SWARE_KIND_LEAF] = "leaf",
	[SWARE_KIND_INTERNAL] = "internal",
	[SWARE_KIND_BUFFER] = "buffer",
	[SWARE_KIND_DIRECTORY] = "directory",
};

/* sware_page_stats(index regclass, blkno bigint) */
Datum
sware_page_stats(PG_FUNCTION_ARGS)
{
	int64		block = PG_GETARG_INT64(1);
	SwareRow	row = {0};
	Relation	index = open_sware_index(fcinfo, "sware_page_stats");
	Page		page = validated_copy(index, block);
	SwarePageOpaque opaque;
	int			items = 0;
	int			posting_lists = 0;
	int64		tids = 0;

	sware_add_value(&row, Int64GetDatum(block));
	if (PageIsNew(page))
	{
		relation_close(index, AccessShareLock);
		sware_add_value(&row, CStringGetTextDatum("new"));
		return sware_row_datum(fcinfo, &row);
	}

	opaque = SwarePageGetOpaque(page);
	if (sware_page_is_live(page) && opaque->kind == SWARE_KIND_BUFFER)
		items = tids =
			sware_buffer_page_entry_count(index, (BlockNumber) block, page);
	else if (sware_page_is_live(page) && opaque->kind == SWARE_KIND_DIRECTORY)
	{
		for (int i = 0; i < sware_slot_count(page); i++)
			items += sware_slot(page, i)->state != SWARE_SLOT_FREE;
	}
	else if (sware_page_is_live(page))
		items = sware_page_data_count(page);
	for (int i = 0; opaque->kind == SWARE_KIND_LEAF && i < items; i++)
	{
		IndexTuple	tuple = sware_page_tuple(page, SWARE_FIRST_DATA + i);

		tids += sware_leaf_tuple_tid_count(tuple);
		posting_lists += sware_tuple_is_posting(tuple);
	}
	relation_close(index, AccessShareLock);
	sware_add_value(&row, CStringGetTextDatum(kinds[opaque->kind]));
	sware_add_value(&row, Int32GetDatum(opaque->level));
	sware_add_value(&row, Int64GetDatum((int64) opaque->incarnation));
	sware_add_value(&row, Int32GetDatum(items));
	sware_add_value(&row, Int32GetDatum(posting_lists));
	sware_add_value(&row, Int64GetDatum(tids));
	sware_add_value(&row, Int32GetDatum((int32) PageGetExactFreeSpace(page)));
	/* a sealed buffer page has its seal where others have the left link */
	add_link(&row, opaque->kind == SWARE_KIND_BUFFER ? opaque->right :
			 opaque->left);
	add_link(&row, opaque->right);
	sware_add_value(&row, flag_names(opaque->flags));
	return sware_row_datum(fcinfo, &row);
}

static const char *
item_kind(Page page, OffsetNumber offset)
{
	if (offset == SWARE_HIGH_KEY)
		return "high key";
	if (!sware_page_is_leaf(page))
		return "downlink";
	return sware_tuple_is_posting(sware_page_tuple(page, offset)) ?
		"posting list" : "entry";
}

/* Show the bytes of a tuple from `from` to `to` - 1 as hexadecimal digits. */
static Datum
hex_dump(IndexTuple tuple, Size from, Size to)
{
	StringInfoData dump;

	initStringInfo(&dump);
	for (Size i = from; i < to; i++)
		appendStringInfo(&dump, "%s%02x", i > from ? " " : "",
						 ((unsigned char *) tuple)[i]);
	return CStringGetTextDatum(dump.data);
}

static void
put_row(ReturnSetInfo *result, SwareRow *row)
{
	Assert(row->count == result->setDesc->natts);
	tuplestore_putvalues(result->setResult, result->setDesc, row->values,
						 row->nulls);
}

/*
 * Add a row about an item of a validated tree page or buffer page.  Only
 * entries and posting lists can be marked as dead.
 */
static void
put_item(ReturnSetInfo *result, IndexTuple tuple, int number, const char *kind,
		 bool is_dead, int key_columns)
{
	SwareRow	row = {0};
	Size		data_end = IndexTupleSize(tuple);
	ItemPointer tid = NULL;
	int			tid_count = sware_tuple_is_posting(tuple) ?
		sware_tuple_count(tuple) : 0;
	Datum	   *tids = palloc(tid_count * sizeof(Datum));
	SwareLink	child = {InvalidBlockNumber, 0};

	if (sware_tuple_is_pivot(tuple))
	{
		key_columns = sware_tuple_count(tuple);
		if (sware_pivot_has_tid(tuple))
		{
			tid = sware_pivot_tid(tuple);
			data_end -= SWARE_PIVOT_FIELD_SIZE;
		}
		if (sware_pivot_has_link(tuple))
		{
			child = sware_pivot_link(tuple);
			data_end -= SWARE_PIVOT_FIELD_SIZE;
		}
	}
	else
	{
		tid = sware_leaf_tuple_tids(tuple);
		data_end = sware_leaf_tuple_key_size(tuple);
	}
	for (int i = 0; i < tid_count; i++)
		tids[i] = PointerGetDatum(&tid[i]);

	sware_add_value(&row, Int32GetDatum(number));
	sware_add_value(&row, CStringGetTextDatum(kind));
	sware_add_value(&row, PointerGetDatum(&tuple->t_tid));
	sware_add_value(&row, Int32GetDatum((int32) IndexTupleSize(tuple)));
	sware_add_value(&row, Int32GetDatum(key_columns));
	sware_add_value(&row, BoolGetDatum(IndexTupleHasNulls(tuple)));
	sware_add_value(&row, BoolGetDatum(IndexTupleHasVarwidths(tuple)));
	sware_add_value(&row,
					hex_dump(tuple, IndexInfoFindDataOffset(tuple->t_info),
							 data_end));
	sware_add_known(&row, tid != NULL, BoolGetDatum(is_dead));
	sware_add_known(&row, tid != NULL, PointerGetDatum(tid));
	sware_add_known(&row, tid_count > 0,
					tid_count > 0 ? make_array(tids, tid_count, TIDOID) :
					(Datum) 0);
	add_link(&row, child);
	put_row(result, &row);
}

/* sware_page_items(index regclass, blkno bigint) */
Datum
sware_page_items(PG_FUNCTION_ARGS)
{
	int64		block = PG_GETARG_INT64(1);
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	index = open_sware_index(fcinfo, "sware_page_items");
	Page		page = validated_copy(index, block);
	int			columns = IndexRelationGetNumberOfKeyAttributes(index);

	InitMaterializedSRF(fcinfo, 0);
	if (PageIsNew(page))
		ereport(NOTICE,
				(errmsg("page from block %lld has never been used", (long long) block)));
	else if (!sware_page_is_live(page))
		ereport(NOTICE,
				(errmsg("page from block %lld is deleted", (long long) block)));
	else if (SwarePageGetOpaque(page)->kind == SWARE_KIND_DIRECTORY)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("block %lld is a page of the buffer's directory", (long long) block),
				 errhint("Use sware_buffer_pages to see what it lists.")));
	else if (SwarePageGetOpaque(page)->kind == SWARE_KIND_BUFFER)
	{
		int			number = 1;

		for (Size offset = SWARE_BUFFER_START;
			 offset < sware_buffer_page_end(page); number++)
		{
			IndexTuple	entry = sware_buffer_entry(index, (BlockNumber) block,
												   page, &offset);
			bool		is_marked = sware_entry_is_marked(entry);

			sware_clear_mark(entry);
			put_item(result, entry, number, "entry", is_marked, columns);
		}
	}
	else
	{
		for (OffsetNumber offset = SWARE_HIGH_KEY;
			 offset <= PageGetMaxOffsetNumber(page); offset++)
		{
			/* the line pointer of the high key is unused if there is none */
			if (ItemIdIsUsed(PageGetItemId(page, offset)))
				put_item(result, sware_page_tuple(page, offset), offset,
						 item_kind(page, offset),
						 ItemIdIsDead(PageGetItemId(page, offset)), columns);
		}
	}
	relation_close(index, AccessShareLock);
	return (Datum) 0;
}

/* Add a row about a buffer page, which may have no slot. */
static void
put_buffer_page(ReturnSetInfo *result, const SwareListedPage *listed,
				bool has_slot)
{
	SwareRow	row = {0};

	add_link(&row, listed->page);
	sware_add_value(&row, CStringGetTextDatum(!has_slot ? "open" :
											  listed->state == SWARE_SLOT_SEALED ? "sealed" : "retired"));
	sware_add_value(&row, Int32GetDatum(listed->entries));
	sware_add_known(&row, has_slot, Int64GetDatum(listed->slot));
	sware_add_known(&row, has_slot, Int64GetDatum((int64) listed->sequence));
	put_row(result, &row);
}

/*
 * sware_buffer_pages(index regclass)
 *
 * Lists the pages of the buffer.  Pages that are opened, sealed or retired
 * meanwhile may be missing, or shown as they were before.
 */
Datum
sware_buffer_pages(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	index = open_sware_index(fcinfo, "sware_buffer_pages");
	SwareBufferState state;
	SwareListedPage *pages;
	int			count;

	InitMaterializedSRF(fcinfo, 0);
	sware_buffer_read_state(index, &state);
	for (int i = 0; i < state.tailCount; i++)
	{
		SwareListedPage open = {.page = state.tails[i]};
		PGAlignedBlock copy;

		/* is it still one? */
		if (!sware_copy_buffer_page(index, open.page, copy.data) ||
			sware_buffer_page_is_sealed(copy.data))
			continue;
		open.entries = sware_validate_buffer_entries(index, open.page.block,
													 copy.data);
		put_buffer_page(result, &open, false);
	}
	count = sware_buffer_list_pages(index, SWARE_SLOT_FREE, &pages);
	for (int i = 0; i < count; i++)
		put_buffer_page(result, &pages[i], true);
	relation_close(index, AccessShareLock);
	return (Datum) 0;
}
