/*-------------------------------------------------------------------------
 *
 * checkheap.c
 *	  Checking the index against its table.
 *
 * While the pages of buffer and tree are checked, a fingerprint of each (key,
 * TID) is added to a Bloom filter.  Then the table is scanned, and each tuple
 * is looked up in the filter.  A filter never lacks what was added, so a tuple
 * that it lacks has no entry in the index.  A small share of missing entries
 * may go unnoticed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/tupmacs.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"

#include "inspect/check.h"
#include "inspect/validate.h"
#include "layout/page.h"
#include "layout/tuple.h"

typedef struct HeapCheck
{
	SwareCheck *check;
	MemoryContext tupleContext;
} HeapCheck;

/*
 * Make the filter, as large as all entries of the index may need, for what
 * scans with a snapshot see.
 */
void
sware_check_start_fingerprint(SwareCheck *check, Snapshot snapshot)
{
	int64		pages = RelationGetNumberOfBlocks(check->index);
	int64		entries = Max(pages * (SWARE_MAX_TIDS_PER_PAGE / 3),
							  (int64) check->index->rd_rel->reltuples);

	check->filter = bloom_create(entries, maintenance_work_mem,
								 pg_prng_uint64(&pg_global_prng_state));
	initStringInfo(&check->fingerprint);
	check->marksMatter = !snapshot->takenDuringRecovery;
}

/*
 * Append a column's value to a fingerprint.  The result is the same whether
 * the value is stored compressed, with a short header, or out of line.  Of a
 * value that is passed by value only the bytes that are stored count: the
 * others can have any contents.
 */
static void
append_value(StringInfo fingerprint, Form_pg_attribute attribute, Datum value,
			 bool is_null)
{
	appendStringInfoChar(fingerprint, is_null ? 'n' : 'v');
	if (is_null)
		return;

	if (attribute->attbyval)
	{
		Datum		stored = 0;

		store_att_byval(&stored, value, attribute->attlen);
		appendBinaryStringInfo(fingerprint, (char *) &stored,
							   attribute->attlen);
	}
	else if (attribute->attlen == -1)
	{
		struct varlena *plain = PG_DETOAST_DATUM_PACKED(value);
		uint32		length = VARSIZE_ANY_EXHDR(plain);

		appendBinaryStringInfo(fingerprint, (char *) &length, sizeof(length));
		appendBinaryStringInfo(fingerprint, VARDATA_ANY(plain), length);
		if (plain != (struct varlena *) DatumGetPointer(value))
			pfree(plain);
	}
	else if (attribute->attlen == -2)
		appendBinaryStringInfo(fingerprint, DatumGetCString(value),
							   strlen(DatumGetCString(value)) + 1);
	else
		appendBinaryStringInfo(fingerprint, DatumGetPointer(value),
							   attribute->attlen);
}

/* Make the fingerprint of all columns, with room for a TID before it. */
static void
make_fingerprint(StringInfo fingerprint, TupleDesc descriptor, Datum *values,
				 bool *nulls)
{
	static const ItemPointerData none = {0};

	resetStringInfo(fingerprint);
	appendBinaryStringInfo(fingerprint, (const char *) &none, sizeof(none));
	for (int i = 0; i < descriptor->natts; i++)
		append_value(fingerprint, TupleDescAttr(descriptor, i), values[i],
					 nulls[i]);
}

/*
 * Add an entry, or all entries of a posting list, to the filter if there is
 * one.  An entry that is marked is left out if scans leave it out, too: a row
 * that its snapshot sees cannot be dead to everybody.
 */
void
sware_check_fingerprint(SwareCheck *check, IndexTuple tuple, bool is_marked)
{
	TupleDesc	descriptor = RelationGetDescr(check->index);
	StringInfo	fingerprint = &check->fingerprint;
	ItemPointer tids = sware_leaf_tuple_tids(tuple);
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];

	if (!check->filter || (is_marked && check->marksMatter))
		return;

	index_deform_tuple(tuple, descriptor, values, nulls);
	make_fingerprint(fingerprint, descriptor, values, nulls);
	for (int i = 0; i < sware_leaf_tuple_tid_count(tuple); i++)
	{
		memcpy(fingerprint->data, &tids[i], sizeof(ItemPointerData));
		bloom_add_element(check->filter, (unsigned char *) fingerprint->data,
						  fingerprint->len);
	}
}

/*
 * Check that the TIDs of item `offset` of check->block can be TIDs of the
 * table. They must be within its blocks: an entry is inserted after its tuple,
 * and removed before the table is truncated.
 */
void
sware_check_heap_tids(SwareCheck *check, IndexTuple tuple, OffsetNumber offset)
{
	ItemPointer tids = sware_leaf_tuple_tids(tuple);

	/* other table access methods may use TIDs differently */
	if (check->heap->rd_rel->relam != HEAP_TABLE_AM_OID)
		return;

	for (int i = 0; i < sware_leaf_tuple_tid_count(tuple); i++)
	{
		BlockNumber block = ItemPointerGetBlockNumber(&tids[i]);

		if (block >= check->heapBlocks)
			check->heapBlocks = RelationGetNumberOfBlocks(check->heap);
		if (block >= check->heapBlocks ||
			ItemPointerGetOffsetNumber(&tids[i]) > MaxHeapTuplesPerPage)
			sware_report_corruption(check->index, check->block,
									"TID (%u,%u) of item %u cannot be in the table, "
									"which has %u blocks.",
									block, ItemPointerGetOffsetNumber(&tids[i]),
									offset, check->heapBlocks);
	}
}

/* Look up a tuple of the table in the filter: a callback of the table scan. */
static void
check_heap_tuple(Relation index, ItemPointer tid, Datum *values, bool *nulls,
				 bool is_alive, void *state)
{
	HeapCheck  *heap_check = state;
	SwareCheck *check = heap_check->check;
	StringInfo	fingerprint = &check->fingerprint;
	MemoryContext outer = MemoryContextSwitchTo(heap_check->tupleContext);

	make_fingerprint(fingerprint, RelationGetDescr(index), values, nulls);
	memcpy(fingerprint->data, tid, sizeof(ItemPointerData));
	MemoryContextSwitchTo(outer);
	MemoryContextReset(heap_check->tupleContext);

	if (bloom_lacks_element(check->filter, (unsigned char *) fingerprint->data,
							fingerprint->len))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("heap tuple (%u,%u) from table \"%s\" lacks matching index tuple within index \"%s\"",
						ItemPointerGetBlockNumber(tid),
						ItemPointerGetOffsetNumber(tid),
						RelationGetRelationName(check->heap),
						RelationGetRelationName(index)),
				 errdetail_internal("No index entry with the tuple's key leads to block %u, offset %u.",
									ItemPointerGetBlockNumber(tid),
									ItemPointerGetOffsetNumber(tid)),
				 errhint("Please REINDEX it.")));
}

/*
 * Check that the filter has every tuple that a snapshot sees.  The snapshot was
 * taken before the first page of the index was copied.
 */
void
sware_check_heap(SwareCheck *check, Snapshot snapshot)
{
	IndexInfo  *index_info = BuildIndexInfo(check->index);
	HeapCheck	heap_check;
	TableScanDesc scan;

	heap_check.check = check;
	heap_check.tupleContext = check->pageContext;

	/*
	 * With ii_Concurrent the scan returns what the snapshot sees, as in the
	 * first phase of CREATE INDEX CONCURRENTLY.
	 */
	index_info->ii_Concurrent = true;
	index_info->ii_Unique = false;
	index_info->ii_ExclusionOps = NULL;
	index_info->ii_ExclusionProcs = NULL;
	index_info->ii_ExclusionStrats = NULL;

	/* table_index_build_scan ends the scan */
	scan = table_beginscan_strat(check->heap, snapshot, 0, NULL, true, true);
	table_index_build_scan(check->heap, check->index, index_info, true, false,
						   check_heap_tuple, &heap_check, scan);

	ereport(DEBUG1,
			(errmsg_internal("Bloom filter of index \"%s\" has %.2f%% of its bits set",
							 RelationGetRelationName(check->index),
							 100.0 * bloom_prop_bits_set(check->filter))));
}
