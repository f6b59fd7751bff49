/*-------------------------------------------------------------------------
 *
 * conflict.h
 *	  The record that says which rows' entries are about to be removed.
 *
 * Generic WAL cannot tell a standby that its older snapshots may still need
 * what a record removes.  So a record of its own goes before the removal, and
 * redo cancels the queries that have such a snapshot, or waits for them, as
 * max_standby_streaming_delay says, before it reads on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_CONFLICT_H
#define SWARE_CONFLICT_H

#include "utils/rel.h"

/*
 * Say that the entries of rows that were deleted up to a transaction, the
 * horizon that the table has returned, are about to be removed.  To be called
 * before the record that removes them, outside of critical sections.  Does
 * nothing where no standby could have such a snapshot.
 */
extern void sware_wal_log_conflict(Relation index, Relation heap,
								   TransactionId horizon);

#endif							/* SWARE_CONFLICT_H */
