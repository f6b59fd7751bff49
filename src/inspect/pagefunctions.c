/*-------------------------------------------------------------------------
 *
 * pagefunctions.c
 *	  The SQL functions that show single pages: sware_metapage,
 *	  sware_page_stats and sware_page_items.
 *
 * They are for superusers only: pages hold what nobody is asked about.
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

#include "inspect/relation.h"
#include "inspect/validate.h"
#include "tree/tree.h"

PG_FUNCTION_INFO_V1(sware_metapage);
PG_FUNCTION_INFO_V1(sware_page_stats);
PG_FUNCTION_INFO_V1(sware_page_items);

/* columns of the widest result */
#define MAX_COLUMNS		14

/* a row being put together */
typedef struct Row
{
	int			count;
	Datum		values[MAX_COLUMNS];
	bool		nulls[MAX_COLUMNS];
} Row;

static void
add_value(Row *row, Datum value)
{
	Assert(row->count < MAX_COLUMNS);
	row->values[row->count] = value;
	row->nulls[row->count++] = false;
}

static void
add_null(Row *row)
{
	Assert(row->count < MAX_COLUMNS);
	row->values[row->count] = (Datum) 0;
	row->nulls[row->count++] = true;
}

/* Add the two columns of a link. */
static void
add_link(Row *row, SwareLink link)
{
	if (sware_link_is_valid(link))
	{
		add_value(row, Int64GetDatum((int64) link.block));
		add_value(row, Int64GetDatum((int64) link.incarnation));
	}
	else
	{
		add_null(row);
		add_null(row);
	}
}

/* The row as a value of the function's result type. */
static Datum
row_datum(FunctionCallInfo fcinfo, Row *row)
{
	TupleDesc	descriptor;

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	Assert(descriptor->natts == row->count);
	descriptor = BlessTupleDesc(descriptor);
	return HeapTupleGetDatum(heap_form_tuple(descriptor, row->values, row->nulls));
}

static void
require_superuser(const char *function)
{
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to use %s", function)));
}

/* A copy of a block of an index, its existence checked but nothing else. */
static Page
copy_of_block(Relation index, int64 block)
{
	Page		copy = palloc(BLCKSZ);

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
	return copy;
}

static Relation
open_sware_index(Oid oid)
{
	Relation	index = relation_open(oid, AccessShareLock);

	if (!sware_is_sware_index(index))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a sware index", RelationGetRelationName(index))));
	sware_refuse_other_temp(index);
	return index;
}

/* A validated copy of a tree page of an index. */
static Page
copy_of_tree_page(Oid oid, int64 block)
{
	Relation	index = open_sware_index(oid);
	Page		page;

	if (block == SWARE_METAPAGE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("block 0 is the metapage"),
				 errhint("Use sware_metapage to look at it.")));
	page = copy_of_block(index, block);
	sware_validate_page(index, (BlockNumber) block, page);
	relation_close(index, AccessShareLock);
	return page;
}

/* sware_metapage(index regclass) */
Datum
sware_metapage(PG_FUNCTION_ARGS)
{
	Row			row = {0};
	Relation	index;
	Page		page;
	SwareMetaPage meta;

	require_superuser("sware_metapage");
	index = open_sware_index(PG_GETARG_OID(0));
	page = copy_of_block(index, SWARE_METAPAGE);
	sware_validate_frame(index, SWARE_METAPAGE, page);
	relation_close(index, AccessShareLock);

	meta = SwarePageGetMeta(page);
	add_value(&row, Int64GetDatum((int64) meta->magic));
	add_value(&row, Int32GetDatum((int32) meta->version));
	add_link(&row, meta->root);
	add_value(&row, Int32GetDatum((int32) meta->level));
	add_value(&row, BoolGetDatum(meta->allEqualImage));
	add_value(&row, Int64GetDatum((int64) meta->indexIncarnation));
	PG_RETURN_DATUM(row_datum(fcinfo, &row));
}

/* The names of the flags that a page has. */
static Datum
flag_names(uint16 flags)
{
	Datum		names[2];
	int			count = 0;

	if ((flags & SWARE_INCOMPLETE_SPLIT) != 0)
		names[count++] = CStringGetTextDatum("incomplete_split");
	if ((flags & SWARE_DELETED) != 0)
		names[count++] = CStringGetTextDatum("deleted");
	return PointerGetDatum(construct_array(names, count, TEXTOID, -1, false, TYPALIGN_INT));
}

/* How many items of a tree page are posting lists, and how many TIDs it has. */
static void
count_tids(Page page, int *posting_lists, int64 *tids)
{
	*posting_lists = 0;
	*tids = 0;
	for (OffsetNumber offset = SWARE_FIRST_DATA;
		 offset <= PageGetMaxOffsetNumber(page); offset++)
	{
		IndexTuple	tuple = sware_page_tuple(page, offset);

		*tids += sware_leaf_tuple_tid_count(tuple);
		if (sware_tuple_is_posting(tuple))
			++*posting_lists;
	}
}

/* sware_page_stats(index regclass, blkno bigint) */
Datum
sware_page_stats(PG_FUNCTION_ARGS)
{
	int64		block = PG_GETARG_INT64(1);
	Row			row = {0};
	Page		page;
	SwarePageOpaque opaque;
	bool		is_live;
	int			posting_lists = 0;
	int64		tids = 0;

	require_superuser("sware_page_stats");
	page = copy_of_tree_page(PG_GETARG_OID(0), block);
	opaque = SwarePageGetOpaque(page);
	is_live = sware_page_is_live(page);
	if (is_live && sware_page_is_leaf(page))
		count_tids(page, &posting_lists, &tids);

	add_value(&row, Int64GetDatum(block));
	add_value(&row, CStringGetTextDatum(sware_page_is_leaf(page) ? "leaf" : "internal"));
	add_value(&row, Int32GetDatum(opaque->level));
	add_value(&row, Int64GetDatum((int64) opaque->incarnation));
	add_value(&row, Int32GetDatum(is_live ? sware_page_data_count(page) : 0));
	add_value(&row, Int32GetDatum(is_live ? opaque->appendItems : 0));
	add_value(&row, Int32GetDatum(posting_lists));
	add_value(&row, Int64GetDatum(tids));
	add_value(&row, Int32GetDatum((int32) PageGetExactFreeSpace(page)));
	add_link(&row, opaque->left);
	add_link(&row, opaque->right);
	add_value(&row, flag_names(opaque->flags));
	PG_RETURN_DATUM(row_datum(fcinfo, &row));
}

/* What an item of a tree page is. */
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

/* Bytes from..to of a tuple, as pairs of digits with blanks between them. */
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

/* The TIDs of a posting list as an array. */
static Datum
tid_array(IndexTuple posting)
{
	int			count = sware_tuple_count(posting);
	Datum	   *tids = palloc(count * sizeof(Datum));

	for (int i = 0; i < count; i++)
		tids[i] = PointerGetDatum(&sware_posting_tids(posting)[i]);
	return PointerGetDatum(construct_array(tids, count, TIDOID, sizeof(ItemPointerData),
										   false, TYPALIGN_SHORT));
}

/* Describe an item of a validated tree page. */
static void
describe_item(Row *row, Page page, OffsetNumber offset, int key_columns)
{
	IndexTuple	tuple = sware_page_tuple(page, offset);
	bool		is_pivot = sware_tuple_is_pivot(tuple);
	Size		data_end = IndexTupleSize(tuple);
	ItemPointer tid = NULL;
	SwareLink	child = {InvalidBlockNumber, 0};

	if (is_pivot)
	{
		key_columns = sware_tuple_count(tuple);
		if (sware_pivot_has_tid(tuple))
		{
			tid = sware_pivot_tid(tuple);
			data_end -= SWARE_TAIL_SIZE;
		}
		if (sware_pivot_has_link(tuple))
		{
			child = sware_pivot_link(tuple);
			data_end -= SWARE_TAIL_SIZE;
		}
	}
	else
	{
		tid = sware_leaf_tuple_tids(tuple);
		data_end = sware_leaf_tuple_key_size(tuple);
	}

	add_value(row, Int32GetDatum(offset));
	add_value(row, CStringGetTextDatum(item_kind(page, offset)));
	add_value(row, PointerGetDatum(&tuple->t_tid));
	add_value(row, Int32GetDatum((int32) IndexTupleSize(tuple)));
	add_value(row, Int32GetDatum(key_columns));
	add_value(row, BoolGetDatum(IndexTupleHasNulls(tuple)));
	add_value(row, BoolGetDatum(IndexTupleHasVarwidths(tuple)));
	add_value(row, hex_dump(tuple, IndexInfoFindDataOffset(tuple->t_info), data_end));
	if (tid)
		add_value(row, PointerGetDatum(tid));
	else
		add_null(row);
	if (sware_tuple_is_posting(tuple))
		add_value(row, tid_array(tuple));
	else
		add_null(row);
	add_link(row, child);
}

/* sware_page_items(index regclass, blkno bigint) */
Datum
sware_page_items(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	int64		block = PG_GETARG_INT64(1);
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	index;
	int			key_columns;
	Page		page;

	require_superuser("sware_page_items");
	index = open_sware_index(oid);
	key_columns = IndexRelationGetNumberOfKeyAttributes(index);
	relation_close(index, NoLock);	/* held until the end */
	page = copy_of_tree_page(oid, block);
	InitMaterializedSRF(fcinfo, 0);

	if (!sware_page_is_live(page))
	{
		ereport(NOTICE,
				(errmsg("page from block %lld is deleted", (long long) block)));
		return (Datum) 0;
	}

	for (OffsetNumber offset = SWARE_HIGH_KEY;
		 offset <= PageGetMaxOffsetNumber(page); offset++)
	{
		Row			row = {0};

		CHECK_FOR_INTERRUPTS();
		/* the rightmost page of a level has no high key */
		if (!ItemIdIsUsed(PageGetItemId(page, offset)))
			continue;
		describe_item(&row, page, offset, key_columns);
		Assert(row.count == result->setDesc->natts);
		tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
	}
	return (Datum) 0;
}
