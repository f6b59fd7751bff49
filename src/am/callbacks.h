/*-------------------------------------------------------------------------
 *
 * callbacks.h
 *	  The access method's callbacks, except those of builds (build.h), scans
 *	  (scan.h) and options (options.h), and those that only handler.c needs.
 *
 * PostgreSQL's amapi.h and its chapter "Index Access Method Interface
 * Definition" say what each callback does.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_CALLBACKS_H
#define SWARE_CALLBACKS_H

#include "access/amapi.h"
#include "access/genam.h"
#include "nodes/execnodes.h"

/*
 * insert.c: aminsert.  The caller holds RowExclusiveLock on the index, and no
 * content locks.
 */
extern bool sware_insert(Relation index, Datum *values, bool *isnull,
						 ItemPointer heap_tid, Relation heap,
						 IndexUniqueCheck check_unique, bool index_unchanged,
						 IndexInfo *index_info);

#endif							/* SWARE_CALLBACKS_H */
