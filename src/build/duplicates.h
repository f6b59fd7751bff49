/*-------------------------------------------------------------------------
 *
 * duplicates.h
 *	  Finding duplicate keys while a unique index is built.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_DUPLICATES_H
#define SWARE_DUPLICATES_H

#include "access/itup.h"
#include "utils/rel.h"

#include "keys/comparator.h"

typedef struct SwareDuplicateCheck SwareDuplicateCheck;

extern SwareDuplicateCheck *sware_duplicate_check_begin(Relation index,
														Relation heap,
														bool nulls_not_distinct,
														SwareComparator *comparator);
extern void sware_duplicate_check_next(SwareDuplicateCheck *check,
									   IndexTuple entry);
extern void sware_duplicate_check_end(SwareDuplicateCheck *check);

#endif							/* SWARE_DUPLICATES_H */
