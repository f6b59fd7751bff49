/*-------------------------------------------------------------------------
 *
 * usingindex.h
 *	  ALTER TABLE ... ADD CONSTRAINT ... USING INDEX, with a sware index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_USINGINDEX_H
#define SWARE_USINGINDEX_H

#include "nodes/parsenodes.h"

extern void sware_use_indexes(AlterTableStmt *alter, Oid table,
							  const char *query_string);

#endif							/* SWARE_USINGINDEX_H */
