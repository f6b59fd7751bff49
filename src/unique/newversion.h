/*-------------------------------------------------------------------------
 *
 * newversion.h
 *	  Does an UPDATE leave the key of a row as it was?
 *
 * An UPDATE that cannot be HOT inserts an entry of the row's new version into
 * each index, also where the key has not changed.  A unique index then needs no
 * look-up.  The old version was live when it was updated, so no other row had
 * the key.  Its entry stays, so any other session that wants the key finds the
 * old version, and waits for this transaction.  This session may itself insert
 * a row with the key after the old version has been replaced, and before the
 * new one's entry is stored, in functions that other indexes call.  But that is
 * another command, and raises the current command id.
 *
 * What aminsert is told (index_unchanged) is a hint: triggers may have changed
 * the key.  So this looks at the old version itself.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_NEWVERSION_H
#define SWARE_NEWVERSION_H

#include "access/xact.h"

#include "unique/unique.h"

/*
 * If it can be seen that a row is the new version of one with the same key,
 * which has an entry in the index, return the id of the command that updates
 * it; else InvalidCommandId.  The caller holds no buffer lock.
 */
extern CommandId sware_command_that_keeps_key(const SwareNewRow *row,
											  const IndexInfo *index_info);

/*
 * Can a look-up of the key be left out?  No other command has run since the
 * UPDATE began.  The key is locked.
 */
static inline bool
sware_keeps_key(const SwareNewRow *row)
{
	return row->keepsKeyIn != InvalidCommandId &&
		row->keepsKeyIn == GetCurrentCommandId(false);
}

#endif							/* SWARE_NEWVERSION_H */
