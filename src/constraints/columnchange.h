/*-------------------------------------------------------------------------
 *
 * columnchange.h
 *	  Changes of columns and partitions that keys of sware do not survive.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_COLUMNCHANGE_H
#define SWARE_COLUMNCHANGE_H

#include "nodes/parsenodes.h"
#include "storage/lockdefs.h"

extern void sware_prepare_column_changes(AlterTableStmt *alter, Oid table,
										 LOCKMODE lockmode);
extern void sware_note_attached_keys(const AlterTableStmt *alter, Oid table);

#endif							/* SWARE_COLUMNCHANGE_H */
