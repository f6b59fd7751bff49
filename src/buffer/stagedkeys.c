/*-------------------------------------------------------------------------
 *
 * stagedkeys.c
 *	  Which keys sessions have staged for unique indexes.  See stagedkeys.h.
 *
 * Nothing is staged for them yet.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"

#include "buffer/stagedkeys.h"

void
sware_raise_activity(Relation index)
{
}

TransactionId
sware_find_staged_key(Relation index, uint64 fingerprint)
{
	return InvalidTransactionId;
}
