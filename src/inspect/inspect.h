/*-------------------------------------------------------------------------
 *
 * inspect.h
 *	  What the SQL functions of this room share; and an option of EXPLAIN.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_INSPECT_H
#define SWARE_INSPECT_H

#include "fmgr.h"
#include "storage/lockdefs.h"
#include "utils/rel.h"

#include "base/identity.h"

/* An open index and its table, and what sware_close_target restores. */
typedef struct SwareTarget
{
	Relation	heap;
	Relation	index;
	LOCKMODE	lockmode;
	SwareIdentity caller;
} SwareTarget;

/* relation.c */
extern void sware_open_target(SwareTarget *target, Oid index_oid,
							  LOCKMODE lockmode);
extern void sware_close_target(SwareTarget *target);
extern bool sware_is_sware_index(Relation relation);
extern void sware_refuse_partitioned(Relation relation);
extern void sware_require_sware_index(Relation relation);
extern void sware_refuse_other_temp(Relation relation);

/*
 * Make a row a value of the result type of an SQL function, which has this
 * number of columns.
 */
extern Datum sware_row_datum(FunctionCallInfo fcinfo, int columns,
							 Datum *values, bool *nulls);

/* sortedness.c: how nearly rows are in order */

/* What is known of the rows that have been measured so far; zero at first. */
typedef struct SwareMeasurement
{
	int64		rows;
	int64		inOrder;		/* length of the longest ascending run */
	int64		largestDisplacement;
	int64	   *lasts;			/* lasts[n]: the smallest last number of an
								 * ascending subsequence of length n + 1 */
	int64		allocated;		/* elements that lasts has room for */
} SwareMeasurement;

/*
 * Add the next row, in the order of values, which has this number.  The first
 * number is 1.  Memory is taken from the current context.
 */
extern void sware_measure_row(SwareMeasurement *measurement, int64 number);

/*
 * scanreads.c: install the option SWARE of EXPLAIN, if the server lets
 * extensions do so.  Called once, when the library is loaded.
 */
extern void sware_install_explain_option(void);

#endif							/* SWARE_INSPECT_H */
