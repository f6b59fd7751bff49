/*-------------------------------------------------------------------------
 *
 * sware_runs.c
 *	  Hands sorted runs to the tree, for tests.
 *
 * The runs are made of the rows of the index's table, which may be in the
 * index already: then they must be skipped.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "fmgr.h"
#include "tree/treepages.h"
#include "utils/snapmgr.h"

#include "keys/searchkey.h"
#include "layout/page.h"
#include "pages/pageaccess.h"
#include "tree/tree.h"
#include "wal/wal.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(sware_insert_runs);
PG_FUNCTION_INFO_V1(sware_append_runs);
PG_FUNCTION_INFO_V1(sware_leak_leaves);

typedef struct Collector
{
	IndexTuple *entries;
	int64		count;
	int64		allocated;
} Collector;

static void
collect_entry(Relation index, ItemPointer tid, Datum *values, bool *isnull,
			  bool tuple_is_alive, void *state)
{
	Collector  *collector = state;
	IndexTuple	entry =
		index_form_tuple(RelationGetDescr(index), values, isnull);

	entry->t_tid = *tid;
	if (collector->count == collector->allocated)
	{
		collector->allocated *= 2;
		collector->entries =
			repalloc_huge(collector->entries,
						  collector->allocated * sizeof(IndexTuple));
	}
	collector->entries[collector->count++] = entry;
}

static int
compare_entries(const void *a, const void *b, void *index)
{
	return sware_compare_entries((Relation) index, *(const IndexTuple *) a,
								 *(const IndexTuple *) b);
}

/* The entries of all rows of an index's table, sorted. */
static Collector
collect_sorted(Relation heap, Relation index)
{
	Collector	collector = {palloc(1024 * sizeof(IndexTuple)), 0, 1024};
	IndexInfo  *info = BuildIndexInfo(index);
	Snapshot	snapshot = RegisterSnapshot(GetTransactionSnapshot());
	TableScanDesc scan =
		table_beginscan_strat(heap, snapshot, 0, NULL, true, true);

	info->ii_Concurrent = true;
	info->ii_Unique = false;
	(void) table_index_build_scan(heap, index, info, true, false, collect_entry,
								  &collector, scan);
	UnregisterSnapshot(snapshot);
	qsort_arg(collector.entries, collector.count, sizeof(IndexTuple),
			  compare_entries, index);
	return collector;
}

static void
open_index(Oid index_oid, Relation *heap, Relation *index)
{
	*heap = table_open(IndexGetRelation(index_oid, false), RowExclusiveLock);
	*index = index_open(index_oid, RowExclusiveLock);
}

static void
close_index(Relation heap, Relation index)
{
	index_close(index, NoLock);
	table_close(heap, NoLock);
}

Datum
sware_insert_runs(PG_FUNCTION_ARGS)
{
	int			run_length = PG_GETARG_INT32(1);
	Relation	heap;
	Relation	index;
	Collector	collector;

	open_index(PG_GETARG_OID(0), &heap, &index);
	collector = collect_sorted(heap, index);
	for (int64 start = 0; start < collector.count; start += run_length)
		(void) sware_tree_insert_run(index, heap, collector.entries + start,
									 Min(run_length, collector.count - start),
									 false);
	close_index(heap, index);
	PG_RETURN_INT64(collector.count);
}

Datum
sware_append_runs(PG_FUNCTION_ARGS)
{
	int			run_length = PG_GETARG_INT32(1);
	Relation	heap;
	Relation	index;
	Collector	collector;
	int64		appended = 0;

	open_index(PG_GETARG_OID(0), &heap, &index);
	collector = collect_sorted(heap, index);
	for (int64 start = 0; start < collector.count; start += run_length)
		appended +=
			sware_tree_append_run(index, collector.entries + start,
								  Min(run_length, collector.count - start));
	close_index(heap, index);
	PG_RETURN_INT64(appended);
}

/*
 * What a crash in the middle of a bulk append leaves: a leaf to which no
 * page links, holding an entry of the table's.
 */
Datum
sware_leak_leaves(PG_FUNCTION_ARGS)
{
	Relation	heap;
	Relation	index;
	Collector	collector;
	Buffer		rightmost;
	Buffer		buffer;
	SwareLink	link;
	SwareWal   *wal;
	Page		page;

	open_index(PG_GETARG_OID(0), &heap, &index);
	collector = collect_sorted(heap, index);
	rightmost = sware_descend_to_edge(index, 0, true);
	buffer = sware_allocate_buffer(index, &link);
	wal = sware_wal_begin(index);
	page = sware_wal_new_page(wal, buffer);
	sware_init_page(page, SWARE_KIND_LEAF, 0, link.incarnation);
	SwarePageGetOpaque(page)->left = sware_page_link(rightmost);
	sware_write_items(page, NULL, &collector.entries[collector.count - 1], 1);
	sware_wal_finish(wal);
	sware_release_buffer(buffer);
	sware_release_buffer(rightmost);
	close_index(heap, index);
	PG_RETURN_VOID();
}
