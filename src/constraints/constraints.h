/*-------------------------------------------------------------------------
 *
 * constraints.h
 *	  sware indexes for primary keys and unique constraints.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_CONSTRAINTS_H
#define SWARE_CONSTRAINTS_H

#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "storage/lockdefs.h"
#include "tcop/utility.h"

#define SWARE_ACCESS_METHOD		"sware"
#define SWARE_KEY_OPTION		"sware"

/* what pg_class says of a relation that may be an index of a key */
typedef struct SwareKeyIndex
{
	bool		isSware;		/* an index, or a partitioned one, of sware */
	bool		asksForSware;	/* by its options */
	NameData	name;
} SwareKeyIndex;

/* altertable.c: what an ALTER TABLE needs that meets keys of sware */
extern void sware_prepare_column_changes(AlterTableStmt *alter, Oid table,
										 LOCKMODE lockmode);
extern void sware_prepare_keys(AlterTableStmt *alter, Oid table,
							   const char *query_string);

/* utility.c: statements whose keys get sware indexes */
extern PlannedStmt *sware_prepare_utility(PlannedStmt *statement,
										  const char *query_string,
										  ProcessUtilityContext context);

/* What the catalogs say of the index of a key, and of its option. */
extern SwareKeyIndex sware_read_key_index(Oid relation);
extern Oid	sware_key_of_index(Oid index);
extern void sware_check_key_option(Oid index);
extern void sware_install_object_hook(void);

#endif							/* SWARE_CONSTRAINTS_H */
