/*-------------------------------------------------------------------------
 *
 * relation.h
 *	  Opening the relations that functions look into.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_RELATION_H
#define SWARE_RELATION_H

#include "storage/lockdefs.h"
#include "utils/rel.h"

/* An index and its table, opened, and what to undo at the end. */
typedef struct SwareTarget
{
	Relation	heap;
	Relation	index;
	LOCKMODE	lockmode;
	Oid			savedUser;
	int			savedSecurityContext;
	int			gucLevel;
} SwareTarget;

extern void sware_open_target(SwareTarget *target, Oid index_oid, LOCKMODE lockmode);
extern void sware_close_target(SwareTarget *target);
extern bool sware_is_sware_index(Relation relation);
extern void sware_require_sware_index(Relation relation);
extern void sware_refuse_other_temp(Relation relation);

#endif							/* SWARE_RELATION_H */
