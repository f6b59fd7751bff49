/*-------------------------------------------------------------------------
 *
 * sortedness.c
 *	  The SQL function sware_sortedness.
 *
 * Rows are numbered in the order of the table, and read back in the order of
 * the column's values, equal ones in the order of the table.  The difference
 * between a row's number and its place is its displacement; what is missing
 * from the longest run of ascending numbers is out of order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_class_d.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "parser/parse_oper.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

PG_FUNCTION_INFO_V1(sware_sortedness);

#define COLUMNS				5

/* about so many rows are looked at, out of more */
#define ROWS_WANTED			4000000

/* rows of a block, where nobody knows */
#define ROWS_PER_BLOCK		60

#define FETCHED_AT_ONCE		10000

/* Entries of values of varying size are taken to have so many bytes of them. */
#define VARYING_SIZE		16

/* buffer sizes that are recommended, in megabytes */
#define SMALLEST_BUFFER		16
#define LARGEST_BUFFER		256

typedef struct Measurement
{
	int64		rows;
	int64		inOrder;		/* length of the longest ascending run */
	int64		largestDisplacement;
	int64	   *lasts;			/* the smallest last number of the runs of each
								 * length */
	int64		allocated;
} Measurement;

/* The next row, in the order of values, has a number. */
static void
measure_row(Measurement *measurement, int64 number)
{
	int64		displacement = number - ++measurement->rows;
	int64		low = 0;
	int64		high = measurement->inOrder;

	if (displacement < 0)
		displacement = -displacement;
	measurement->largestDisplacement = Max(measurement->largestDisplacement, displacement);

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
		{
			measurement->allocated *= 2;
			measurement->lasts = repalloc_huge(measurement->lasts,
											   measurement->allocated * sizeof(int64));
		}
		measurement->inOrder++;
	}
	measurement->lasts[low] = number;
}

/* Of so many rows one is looked at. */
static int64
sampling_distance(Relation table)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(table);
	BlockNumber known_blocks = table->rd_rel->relpages;
	double		rows = (double) blocks * ROWS_PER_BLOCK;

	if (table->rd_rel->reltuples >= 0 && known_blocks > 0)
		rows = (double) blocks / known_blocks * table->rd_rel->reltuples;
	return (int64) (rows / ROWS_WANTED) + 1;
}

/* Run the query, with the caller's permissions. */
static void
measure(Measurement *measurement, Relation table, const char *column, int64 distance)
{
	StringInfoData query;
	SPIPlanPtr	plan;
	Portal		portal;

	initStringInfo(&query);
	appendStringInfo(&query,
					 "SELECT number OPERATOR(pg_catalog./) " INT64_FORMAT
					 " FROM (SELECT %s AS value, pg_catalog.row_number() OVER () AS number"
					 " FROM ONLY %s WHERE %s IS NOT NULL) AS numbered"
					 " WHERE number OPERATOR(pg_catalog.%%) " INT64_FORMAT " OPERATOR(pg_catalog.=) 0"
					 " ORDER BY value, number",
					 distance, quote_identifier(column),
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(table)),
												RelationGetRelationName(table)),
					 quote_identifier(column), distance);

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	plan = SPI_prepare(query.data, 0, NULL);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	portal = SPI_cursor_open(NULL, plan, NULL, NULL, true);
	do
	{
		SPI_cursor_fetch(portal, true, FETCHED_AT_ONCE);
		for (uint64 i = 0; i < SPI_processed; i++)
		{
			bool		is_null;

			measure_row(measurement,
						DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[i],
													SPI_tuptable->tupdesc, 1, &is_null)));
		}
		SPI_freetuptable(SPI_tuptable);
	} while (SPI_processed > 0);
	SPI_cursor_close(portal);
	SPI_finish();
}

/* The size of an entry of a column. */
static Size
entry_size(Relation table, AttrNumber column)
{
	int			size = TupleDescAttr(RelationGetDescr(table), column - 1)->attlen;

	return sizeof(IndexTupleData) + MAXALIGN(size > 0 ? size : VARYING_SIZE);
}

/*
 * What to recommend, given K and L in percent, and the buffer, in megabytes,
 * half of which is as large as the displacement.
 */
static const char *
recommend(double k, double l, double megabytes)
{
	/* the buffer orders little, and many entries go everywhere into the tree */
	if (k > 50 && l > 50)
		return "nbtree";
	if (megabytes > LARGEST_BUFFER && k > 10)
		return "nbtree";
	/* ranges of blocks have narrow ranges of values */
	return l <= 1 ? "sware or brin" : "sware";
}

/* sware_sortedness(table regclass, column name) */
Datum
sware_sortedness(PG_FUNCTION_ARGS)
{
	char	   *column = NameStr(*PG_GETARG_NAME(1));
	Relation	table = relation_open(PG_GETARG_OID(0), AccessShareLock);
	AttrNumber	number = get_attnum(RelationGetRelid(table), column);
	Measurement measurement = {.allocated = 1024};
	int64		distance;
	TupleDesc	descriptor;
	Datum		values[COLUMNS] = {0};
	bool		nulls[COLUMNS] = {false, true, true, true, true};

	if (table->rd_rel->relkind != RELKIND_RELATION &&
		table->rd_rel->relkind != RELKIND_MATVIEW)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table or materialized view",
						RelationGetRelationName(table)),
				 table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ?
				 errhint("Measure its partitions.") : 0));
	if (number <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						column, RelationGetRelationName(table))));

	/* an error that speaks of the type, and not of the query below */
	get_sort_group_operators(TupleDescAttr(RelationGetDescr(table), number - 1)->atttypid,
							 true, false, false, NULL, NULL, NULL, NULL);

	measurement.lasts = palloc(measurement.allocated * sizeof(int64));
	distance = sampling_distance(table);
	measure(&measurement, table, column, distance);

	values[0] = Int64GetDatum(measurement.rows);
	if (measurement.rows > 0)
	{
		double		k = 100.0 * (measurement.rows - measurement.inOrder) / measurement.rows;
		double		l = 100.0 * measurement.largestDisplacement / measurement.rows;
		double		megabytes = 2.0 * measurement.largestDisplacement * distance *
			entry_size(table, number) / (1024 * 1024);
		const char *recommendation = recommend(k, l, megabytes);
		int			buffer = SMALLEST_BUFFER;

		while (buffer < megabytes && buffer < LARGEST_BUFFER)
			buffer *= 2;
		values[1] = Float8GetDatum(k);
		values[2] = Float8GetDatum(l);
		values[3] = CStringGetTextDatum(recommendation);
		values[4] = CStringGetTextDatum(psprintf("%dMB", buffer));
		nulls[1] = nulls[2] = nulls[3] = false;
		nulls[4] = strcmp(recommendation, "nbtree") == 0;
	}
	relation_close(table, AccessShareLock);

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	Assert(descriptor->natts == COLUMNS);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor),
													  values, nulls)));
}
