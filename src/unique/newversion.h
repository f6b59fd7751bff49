/*-------------------------------------------------------------------------
 *
 * newversion.h
 *	  Does an UPDATE leave the key of a row as it was?
 *
 * An UPDATE that cannot be HOT inserts an entry of the row's new version into
 * each index, also where the key has not changed.  A unique index then needs no
 * look-up: the old version was live when it was updated, so no other row had
 * the key; and its entry stays, so that any other session that wants the key
 * finds the old version, and waits for this transaction.
 *
 * What aminsert is told (index_unchanged) is a hint: triggers may have changed
 * the key.  So this looks at the old version itself.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_NEWVERSION_H
#define SWARE_NEWVERSION_H

#include "unique/unique.h"

/*
 * Is a row the new version of one that has the same key, and an entry in the
 * index?  Nothing but "yes" is certain.  The caller holds no buffer lock.
 */
extern bool sware_keeps_key(const SwareNewRow *row,
							const IndexInfo *index_info);

#endif							/* SWARE_NEWVERSION_H */
