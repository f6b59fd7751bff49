/*-------------------------------------------------------------------------
 *
 * changes.h
 *	  Which indexes this session is changing.
 *
 * A change of an index calls its comparison and hash functions, and these may
 * execute SQL: queries that use the same index, and inserts into other tables,
 * which change other indexes, one change within the other.  They must not
 * insert into the index that they are called for: its pages may be locked, and
 * a key that was looked up would not be unique any more.
 *
 * Changes end in the reverse order of their beginning.  After an error, those
 * that were begun in the aborted (sub)transaction are forgotten.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_CHANGES_H
#define SWARE_CHANGES_H

#include "utils/rel.h"

typedef enum SwareChange
{
	SWARE_INSERTS,				/* a change that inserts an entry */
	SWARE_PUBLISHES,			/* that publishes staged entries */
	SWARE_FLUSHES,				/* that flushes the buffer */
	SWARE_CHANGES				/* any of these, when asked for */
} SwareChange;

/* the number of changes that have begun and not ended */
extern int	sware_change_count;

extern void sware_begin_change(Relation index, SwareChange change);
extern void sware_end_change(void);
extern void sware_forget_changes(SubTransactionId subtransaction);

/* Is this session making a change of this kind in the index? */
extern bool sware_is_changing(Oid index, SwareChange change);

/*
 * Raise an error if this session is changing the index in any way: then it
 * cannot insert into it.  Called before each insert.
 */
extern void sware_refuse_nested_insert(Relation index);

#endif							/* SWARE_CHANGES_H */
