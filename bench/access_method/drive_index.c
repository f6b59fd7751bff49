/*-------------------------------------------------------------------------
 *
 * drive_index.c
 *	  Calls an index access method directly, without executor and heap.
 *
 * The index has one column, a bigint.  Its entries get the TIDs of rows that
 * have been inserted before, in the order in which the keys arrive.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "../../test/lib/testcompat.h"

PG_MODULE_MAGIC;

/* how many rows of one bigint a page of a table has; the benchmark checks it */
#define TIDS_PER_BLOCK 226

/* The keys in their order of arrival; they live as long as the session. */
static int64 *all_keys = NULL;
static int64 all_keys_count = 0;

typedef struct Drive
{
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	IndexScanDesc scan;			/* NULL if nothing is read */
	MemoryContext row_context;	/* reset after each insert, as the executor
								 * does */
	pg_prng_state random;
	int64		width;			/* keys that a read asks for */
	int64		limit;			/* entries that it takes at most; 0: all */
	int64		latest;			/* the latest keys, of which reads ask for
								 * one; 0: all */
	int64		inserted;		/* keys that are there */
	int64		found;			/* entries that the reads returned */
} Drive;

PG_FUNCTION_INFO_V1(drive_index_keys);
PG_FUNCTION_INFO_V1(drive_index);

Datum
drive_index_keys(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	int64		count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));

	if (ARR_HASNULL(array))
		ereport(ERROR,
				errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				errmsg("keys must not be null"));

	all_keys_count = 0;
	if (all_keys != NULL)
		pfree(all_keys);
	all_keys = NULL;
	all_keys = MemoryContextAllocHuge(TopMemoryContext,
									  Max(count, 1) * sizeof(int64));
	memcpy(all_keys, ARR_DATA_PTR(array), count * sizeof(int64));
	all_keys_count = count;
	PG_RETURN_VOID();
}

static void
insert_key(Drive *drive)
{
	Datum		value = Int64GetDatum(all_keys[drive->inserted]);
	bool		isnull = false;
	ItemPointerData tid;
	MemoryContext caller;

	ItemPointerSet(&tid, drive->inserted / TIDS_PER_BLOCK,
				   drive->inserted % TIDS_PER_BLOCK + FirstOffsetNumber);
	caller = MemoryContextSwitchTo(drive->row_context);
	index_insert(drive->index, &value, &isnull, &tid, drive->heap,
				 UNIQUE_CHECK_NO, false, drive->info);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(drive->row_context);
	drive->inserted++;
}

static void
read_keys(Drive *drive)
{
	int64		first = 0;
	int64		number;
	int64		lowest;
	ScanKeyData keys[2];
	int			key_count = 0;

	if (drive->inserted == 0)
		return;
	if (drive->latest > 0 && drive->latest < drive->inserted)
		first = drive->inserted - drive->latest;
	number = pg_prng_uint64_range(&drive->random, first, drive->inserted - 1);
	lowest = all_keys[number];
	if (drive->width == 1)
		ScanKeyInit(&keys[key_count++], 1, BTEqualStrategyNumber,
					F_INT8EQ, Int64GetDatum(lowest));
	else
	{
		ScanKeyInit(&keys[key_count++], 1, BTGreaterEqualStrategyNumber,
					F_INT8GE, Int64GetDatum(lowest));
		ScanKeyInit(&keys[key_count++], 1, BTLessStrategyNumber,
					F_INT8LT, Int64GetDatum(lowest + drive->width));
	}
	index_rescan(drive->scan, keys, key_count, NULL, 0);
	for (int64 taken = 0; drive->limit == 0 || taken < drive->limit; taken++)
	{
		if (index_getnext_tid(drive->scan, ForwardScanDirection) == NULL)
			break;
		drive->found++;
	}
}

static void
do_reads(Drive *drive, int64 count)
{
	for (int64 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		read_keys(drive);
	}
}

/* Opens what is driven; the locks are kept until the transaction ends. */
static void
begin_drive(Drive *drive, Oid index_oid, bool reads)
{
	drive->heap = table_open(IndexGetRelation(index_oid, false),
							 RowExclusiveLock);
	drive->index = index_open(index_oid, RowExclusiveLock);
	if (IndexRelationGetNumberOfAttributes(drive->index) != 1 ||
		drive->index->rd_opcintype[0] != INT8OID)
		ereport(ERROR,
				errcode(ERRCODE_WRONG_OBJECT_TYPE),
				errmsg("index \"%s\" is not on one column of type bigint",
					   RelationGetRelationName(drive->index)));
	if (RelationGetNumberOfBlocks(drive->heap) <
		(all_keys_count + TIDS_PER_BLOCK - 1) / TIDS_PER_BLOCK)
		ereport(ERROR,
				errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				errmsg("table \"%s\" does not have a row for each key",
					   RelationGetRelationName(drive->heap)));
	drive->info = BuildIndexInfo(drive->index);
	drive->row_context = AllocSetContextCreate(CurrentMemoryContext,
											   "drive_index row",
											   ALLOCSET_DEFAULT_SIZES);
	drive->scan = NULL;
	if (reads)
		drive->scan = sware_index_beginscan(drive->heap, drive->index,
											GetActiveSnapshot(),
											drive->width == 1 ? 1 : 2);
}

static void
end_drive(Drive *drive)
{
	if (drive->scan != NULL)
		index_endscan(drive->scan);
	sware_end_inserts(drive->index, drive->info);
	MemoryContextDelete(drive->row_context);
	index_close(drive->index, NoLock);
	table_close(drive->heap, NoLock);
}

Datum
drive_index(PG_FUNCTION_ARGS)
{
	Oid			index_oid = PG_GETARG_OID(0);
	int64		first = PG_GETARG_INT64(1);
	int64		inserts = PG_GETARG_INT64(2);
	int64		reads = PG_GETARG_INT64(3);
	Drive		drive = {0};
	instr_time	begin;
	instr_time	duration;
	TupleDesc	tuple_desc;
	Datum		values[2];
	bool		nulls[2] = {false, false};

	drive.width = PG_GETARG_INT64(4);
	drive.limit = PG_GETARG_INT64(5);
	pg_prng_seed(&drive.random, PG_GETARG_INT64(6));
	drive.latest = PG_GETARG_INT64(7);
	drive.inserted = first;
	if (first < 0 || inserts < 0 || reads < 0 || drive.width < 1 ||
		drive.limit < 0 || drive.latest < 0 ||
		first > all_keys_count || inserts > all_keys_count - first)
		ereport(ERROR,
				errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("drive_index() was asked for what is not there"),
				errdetail("There are %lld keys.", (long long) all_keys_count));
	if (get_call_result_type(fcinfo, NULL, &tuple_desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	begin_drive(&drive, index_oid, reads > 0);

	INSTR_TIME_SET_CURRENT(begin);
	for (int64 i = 0; i < inserts; i++)
	{
		CHECK_FOR_INTERRUPTS();
		insert_key(&drive);
		/* The share of the reads that follows this insert. */
		do_reads(&drive, (i + 1) * reads / inserts - i * reads / inserts);
	}
	if (inserts == 0)
		do_reads(&drive, reads);
	INSTR_TIME_SET_CURRENT(duration);
	INSTR_TIME_SUBTRACT(duration, begin);

	end_drive(&drive);

	values[0] = Float8GetDatum(INSTR_TIME_GET_DOUBLE(duration));
	values[1] = Int64GetDatum(drive.found);
	PG_RETURN_DATUM(
					HeapTupleGetDatum(heap_form_tuple(tuple_desc, values, nulls)));
}
