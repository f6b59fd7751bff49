/*-------------------------------------------------------------------------
 *
 * sortedness.c
 *	  What sware_sortedness measures.
 *
 * The rows are numbered in the order of the table, and then sorted by the
 * column's values; rows with equal values stay in the order of the table.  The
 * displacement of a row is the difference between its number and its place in
 * the sorted order.  Rows that do not belong to the longest ascending
 * subsequence of numbers are out of order.  K and L (statistics.h), and the
 * recommendation, are computed from these in SQL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "parser/parse_oper.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"

#include "base/compat.h"
#include "base/memory.h"
#include "inspect/inspect.h"

PG_FUNCTION_INFO_V1(sware_measure_order);

/* of a larger table, about this number of rows is measured */
#define ROWS_WANTED			4000000

void
sware_measure_row(SwareMeasurement *measurement, int64 number)
{
	int64		displacement = number - ++measurement->rows;
	int64		low = 0;
	int64		high = measurement->inOrder;

	if (displacement < 0)
		displacement = -displacement;
	measurement->largestDisplacement =
		Max(measurement->largestDisplacement, displacement);

	if (high > 0 && measurement->lasts[high - 1] < number)
		low = high;
	while (low < high)
	{
		int64		middle = low + (high - low) / 2;

		if (measurement->lasts[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == measurement->inOrder)
	{
		if (measurement->inOrder == measurement->allocated)
			sware_grow(measurement->lasts, measurement->allocated, 1024,
					   CurrentMemoryContext);
		measurement->inOrder++;
	}
	measurement->lasts[low] = number;
}

static void
require_measurable(Relation table, const char *column, AttrNumber number)
{
	if (table->rd_rel->relkind != RELKIND_RELATION &&
		table->rd_rel->relkind != RELKIND_MATVIEW)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table or materialized view",
						RelationGetRelationName(table)),
				 table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ?
				 errhint("Measure its partitions.") : 0));
	if (!RelationIsPermanent(table) && RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary or unlogged relations during recovery")));
	if (number <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						column, RelationGetRelationName(table))));
	if (SwareIsVirtualColumn(TupleDescAttr(RelationGetDescr(table),
										   number - 1)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of relation \"%s\" is not stored",
						column, RelationGetRelationName(table))));
	if (!RelationIsPopulated(table))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("materialized view \"%s\" has not been populated",
						RelationGetRelationName(table)),
				 errhint("Use the REFRESH MATERIALIZED VIEW command.")));
}

static void
require_permission(Relation table, AttrNumber column)
{
	Oid			table_oid = RelationGetRelid(table);
	Oid			user = GetUserId();

	if (pg_class_aclcheck(table_oid, user, ACL_SELECT) != ACLCHECK_OK &&
		pg_attribute_aclcheck(table_oid, column, user, ACL_SELECT) !=
		ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV,
					   get_relkind_objtype(table->rd_rel->relkind),
					   RelationGetRelationName(table));
	if (check_enable_rls(table_oid, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security may hide rows of table \"%s\"",
						RelationGetRelationName(table)),
				 errdetail("Only a user who is not subject to it can measure the table.")));
}

/*
 * Measure a column.  The values that are not null are numbered in the order of
 * the table, and one of every `distance` of them is sorted.  This executes no
 * SQL, which would name the table: its name could be another relation's by
 * then.
 */
static void
measure(SwareMeasurement *measurement, Relation table, AttrNumber column,
		int64 distance)
{
	TupleDesc	descriptor = CreateTemplateTupleDesc(2);
	Form_pg_attribute value =
		TupleDescAttr(RelationGetDescr(table), column - 1);
	AttrNumber	columns[] = {1, 2};
	Oid			operators[] = {InvalidOid, Int8LessOperator};
	Oid			collations[] = {value->attcollation, InvalidOid};
	bool		nulls_first[] = {false, false};
	TupleTableSlot *slot = table_slot_create(table, NULL);
	TableScanDesc scan = table_beginscan_strat(table, GetActiveSnapshot(), 0,
											   NULL, true, false);
	int64		number = 0;
	bool		is_null;
	Tuplesortstate *sort;
	TupleTableSlot *row;

	TupleDescCopyEntry(descriptor, 1, RelationGetDescr(table), column);
	TupleDescInitEntry(descriptor, 2, "number", INT8OID, -1, 0);
	sware_finish_descriptor(descriptor);

	/* by value and number; an error if the type has no ordering operator */
	get_sort_group_operators(value->atttypid, true, false, false,
							 &operators[0], NULL, NULL, NULL);
	sort = tuplesort_begin_heap(descriptor, lengthof(columns), columns,
								operators, collations, nulls_first, work_mem,
								NULL, TUPLESORT_NONE);
	row = MakeSingleTupleTableSlot(descriptor, &TTSOpsMinimalTuple);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		Datum		datum = slot_getattr(slot, column, &is_null);

		if (is_null || ++number % distance != 0)
			continue;
		ExecClearTuple(row);
		row->tts_values[0] = datum;
		row->tts_isnull[0] = false;
		row->tts_values[1] = Int64GetDatum(number / distance);
		row->tts_isnull[1] = false;
		ExecStoreVirtualTuple(row);
		tuplesort_puttupleslot(sort, row);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	tuplesort_performsort(sort);
	while (tuplesort_gettupleslot(sort, true, false, row, NULL))
	{
		CHECK_FOR_INTERRUPTS();
		sware_measure_row(measurement,
						  DatumGetInt64(slot_getattr(row, 2, &is_null)));
	}
	tuplesort_end(sort);
	ExecDropSingleTupleTableSlot(row);
}

/*
 * sware_measure_order(table regclass, column name)
 *
 * Returns the number of rows measured, how many of them are in order, the
 * largest displacement, and the distance between rows that are measured.
 */
Datum
sware_measure_order(PG_FUNCTION_ARGS)
{
	char	   *column = NameStr(*PG_GETARG_NAME(1));
	Relation	table = relation_open(PG_GETARG_OID(0), AccessShareLock);
	AttrNumber	number = get_attnum(RelationGetRelid(table), column);
	SwareMeasurement measurement = {0};
	BlockNumber blocks;
	double		rows;
	double		visible;
	int64		distance;		/* one of this number of rows is measured */
	SwareRow	row = {0};

	require_measurable(table, column, number);
	require_permission(table, number);

	table_relation_estimate_size(table, NULL, &blocks, &rows, &visible);
	distance = (int64) (rows / ROWS_WANTED) + 1;
	measure(&measurement, table, number, distance);
	relation_close(table, AccessShareLock);
	sware_add_value(&row, Int64GetDatum(measurement.rows));
	sware_add_value(&row, Int64GetDatum(measurement.inOrder));
	sware_add_value(&row, Int64GetDatum(measurement.largestDisplacement));
	sware_add_value(&row, Int64GetDatum(distance));
	return sware_row_datum(fcinfo, &row);
}
