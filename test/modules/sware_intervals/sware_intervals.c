/*-------------------------------------------------------------------------
 *
 * sware_intervals.c
 *	  Scans indexes in intervals, as parallel scans do, for tests.
 *
 * Parallel scans cut where leaves begin.  Here it is done anywhere: within
 * posting lists, and at entries of the buffer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"

#include "cursor/mergescan.h"
#include "../../lib/testcompat.h"
#include "layout/tuple.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(sware_scan_intervals);
PG_FUNCTION_INFO_V1(sware_scan_intervals_any);
PG_FUNCTION_INFO_V1(sware_scan_intervals_second);

typedef struct Found
{
	int64		count;
	int64		allocated;
	ItemPointerData *tids;
	IndexTuple *entries;		/* of index-only scans */
} Found;

/* Add what a scan, or the rest of it, returns. */
static void
collect(IndexScanDesc scan, ScanDirection direction, Found *found)
{
	while (index_getnext_tid(scan, direction))
	{
		if (found->count == found->allocated)
		{
			found->allocated *= 2;
			found->tids =
				repalloc_huge(found->tids,
							  found->allocated * sizeof(ItemPointerData));
			found->entries =
				repalloc_huge(found->entries,
							  found->allocated * sizeof(IndexTuple));
		}
		found->tids[found->count] = scan->xs_heaptid;
		if (scan->xs_want_itup)
		{
			found->entries[found->count] = CopyIndexTuple(scan->xs_itup);
			found->entries[found->count]->t_tid = scan->xs_heaptid;
		}
		found->count++;
	}
}

static Found
make_found(void)
{
	Found		found = {0, 1024, palloc(1024 * sizeof(ItemPointerData)),
	palloc(1024 * sizeof(IndexTuple))};

	return found;
}

static int
compare_numbers(const void *a, const void *b)
{
	return *(const int64 *) a < *(const int64 *) b ?
		-1 :
		*(const int64 *) a > *(const int64 *) b;
}

/* Turn an entry into a pivot that has the first column only. */
static void
cut_to_first_column(IndexTuple entry)
{
	entry->t_info |= SWARE_SPECIAL_TUPLE;
	ItemPointerSet(&entry->t_tid, 0, 1);
}

/*
 * With `at_pivots`, an interval has all entries with a value of the first
 * column, or none.
 */
static Datum
scan_intervals(Oid index_oid, ScanKey keys, int key_count, int intervals,
			   bool backward, bool index_only, bool at_pivots, double seed)
{
	Relation	heap =
		table_open(IndexGetRelation(index_oid, false), AccessShareLock);
	Relation	index = index_open(index_oid, AccessShareLock);
	ScanDirection direction = backward ? BackwardScanDirection :
		ForwardScanDirection;
	IndexScanDesc scan =
		sware_index_beginscan(heap, index, GetActiveSnapshot(), key_count);
	SwareScanKeys *scan_keys = &((SwareScan *) scan->opaque)->tree.keys;
	Found		all = make_found();
	Found		whole = make_found();
	Found		parts = make_found();
	int64	   *cuts = palloc(intervals * sizeof(int64));
	pg_prng_state random;
	bool		same;

	/* the entries to cut at come from the whole index */
	scan->xs_want_itup = true;
	scan->numberOfKeys = 0;
	index_rescan(scan, NULL, 0, NULL, 0);
	collect(scan, direction, &all);
	scan->numberOfKeys = key_count;

	scan->xs_want_itup = index_only;
	index_rescan(scan, keys, key_count, NULL, 0);
	collect(scan, direction, &whole);

	pg_prng_fseed(&random, seed);
	for (int i = 0; i < intervals - 1; i++)
		cuts[i] = pg_prng_uint64_range(&random, 0, Max(all.count, 1) - 1);
	qsort(cuts, intervals - 1, sizeof(int64), compare_numbers);
	for (int i = 0; at_pivots && all.count > 0 && i < intervals - 1; i++)
	{
		if (!sware_tuple_is_pivot(all.entries[cuts[i]]))
			cut_to_first_column(all.entries[cuts[i]]);
	}

	for (int i = 0; i < intervals; i++)
	{
		IndexTuple	begin = i == 0 || all.count == 0 ? NULL :
			all.entries[cuts[i - 1]];
		IndexTuple	end =
			i == intervals - 1 || all.count == 0 ? NULL : all.entries[cuts[i]];

		if (all.count == 0 && i > 0)
			break;
		index_rescan(scan, keys, key_count, NULL, 0);
		if (backward)
			sware_scan_keys_restrict(scan_keys, end, begin);
		else
			sware_scan_keys_restrict(scan_keys, begin, end);
		collect(scan, direction, &parts);
	}

	same = whole.count == parts.count;
	for (int64 i = 0; same && i < whole.count; i++)
		same = ItemPointerEquals(&whole.tids[i], &parts.tids[i]);

	index_endscan(scan);
	index_close(index, AccessShareLock);
	table_close(heap, AccessShareLock);
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("%s " INT64_FORMAT " entries",
											  same ? "same" : "DIFFERENT", whole.count)));
}

Datum
sware_scan_intervals(PG_FUNCTION_ARGS)
{
	ScanKeyData keys[2];

	ScanKeyInit(&keys[0], 1, BTGreaterEqualStrategyNumber, F_INT4GE,
				PG_GETARG_DATUM(1));
	ScanKeyInit(&keys[1], 1, BTLessEqualStrategyNumber, F_INT4LE,
				PG_GETARG_DATUM(2));
	return scan_intervals(PG_GETARG_OID(0), keys, 2, PG_GETARG_INT32(3),
						  PG_GETARG_BOOL(4), PG_GETARG_BOOL(5), false,
						  PG_GETARG_FLOAT8(6));
}

Datum
sware_scan_intervals_any(PG_FUNCTION_ARGS)
{
	ScanKeyData key;

	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_INT4EQ,
				PointerGetDatum(PG_GETARG_ARRAYTYPE_P(1)));
	key.sk_flags |= SK_SEARCHARRAY;
	return scan_intervals(PG_GETARG_OID(0), &key, 1, PG_GETARG_INT32(2),
						  PG_GETARG_BOOL(3), PG_GETARG_BOOL(4), false,
						  PG_GETARG_FLOAT8(5));
}

Datum
sware_scan_intervals_second(PG_FUNCTION_ARGS)
{
	ScanKeyData key;

	ScanKeyInit(&key, 2, BTEqualStrategyNumber, F_INT4EQ, PG_GETARG_DATUM(1));
	return scan_intervals(PG_GETARG_OID(0), &key, 1, PG_GETARG_INT32(2),
						  PG_GETARG_BOOL(3), PG_GETARG_BOOL(4),
						  PG_GETARG_BOOL(5), PG_GETARG_FLOAT8(6));
}
