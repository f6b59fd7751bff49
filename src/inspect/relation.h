/*-------------------------------------------------------------------------
 *
 * relation.h
 *	  Opening the index and the table that an SQL function looks into, and
 *	  returning what it has found.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_RELATION_H
#define SWARE_RELATION_H

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

#endif							/* SWARE_RELATION_H */
