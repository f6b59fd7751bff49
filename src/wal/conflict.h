/*-------------------------------------------------------------------------
 *
 * conflict.h
 *	  The WAL record that cancels a standby's queries before entries are
 *	  removed.
 *
 * Generic WAL cannot tell a standby that its older snapshots may still need
 * what a record removes.  So another record is written before the removal.
 * Redo of that record cancels the queries that have such a snapshot, or waits
 * for them first, as max_standby_streaming_delay says.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_CONFLICT_H
#define SWARE_CONFLICT_H

#include "utils/rel.h"

/*
 * Write the record for entries of dead rows that are about to be removed.
 * `horizon` is what the table has returned: the last transaction that has
 * deleted one of the rows.  Must be called before the record that removes the
 * entries, and outside of critical sections.  Writes nothing if no standby
 * can have such a snapshot.
 */
extern void sware_wal_log_conflict(Relation index, Relation heap,
								   TransactionId horizon);

#endif							/* SWARE_CONFLICT_H */
