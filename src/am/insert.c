/*-------------------------------------------------------------------------
 *
 * insert.c
 *	  The aminsert callback.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/callbacks.h"
#include "am/stager.h"
#include "am/unique.h"
#include "buffer/keylock.h"
#include "buffer/predicatelocks.h"
#include "buffer/sharedbuffer.h"
#include "buffer/stagedkeys.h"
#include "buffer/staging.h"
#include "buffer/statistics.h"
#include "faultpoint.h"
#include "tree/entry.h"
#include "tree/tree.h"

/*
 * Store an entry where others find it.  Tells whether a piece of the shared
 * buffer should be flushed, when no key is locked.
 */
static void
store(Relation index, Relation heap, IndexTuple entry, bool *over_quota)
{
	*over_quota = false;
	if (!sware_enable_buffer || sware_buffer_add(index, &entry, 1, over_quota) == 0)
	{
		int			appended = sware_tree_insert_run(index, heap, &entry, 1);

		sware_count_tree_run(index, appended, 1 - appended);
	}
	SWARE_FAULT_POINT("insert-stored");
}

/*
 * Lock a key when no live row of it is stored or staged, as far as that must
 * be known; waits for transactions that have to decide, without the lock.
 * With UNIQUE_CHECK_PARTIAL it is locked in any case, and *is_unique tells.
 */
static void
lock_free_key(Relation index, Relation heap, const Datum *values, const bool *isnull,
			  uint64 fingerprint, ItemPointer tid, IndexUniqueCheck check_unique,
			  bool *is_unique)
{
	for (;;)
	{
		TransactionId other;
		uint32		speculative_token = 0;

		sware_lock_key(index, fingerprint);
		sware_announce_direct_insert();
		SWARE_FAULT_POINT("unique-locked");
		*is_unique = true;
		other = sware_find_staged_key(index, fingerprint);
		if (TransactionIdIsValid(other) && check_unique == UNIQUE_CHECK_PARTIAL)
		{
			*is_unique = false;
			return;
		}
		if (!TransactionIdIsValid(other))
			other = sware_look_up_key(index, heap, values, isnull, tid, check_unique,
									  is_unique, &speculative_token);
		SWARE_FAULT_POINT("unique-looked-up");
		if (!TransactionIdIsValid(other))
			return;
		sware_revoke_direct_insert();
		sware_unlock_key(index, fingerprint);
		sware_wait_for_other(index, other, speculative_token, tid);
	}
}

/*
 * Insert an entry whose key must be unique.  This session has staged nothing for
 * the index.  Returns what aminsert is to return.
 */
static bool
insert_unique(Relation index, Relation heap, const Datum *values, const bool *isnull,
			  IndexTuple entry, IndexUniqueCheck check_unique, bool *over_quota)
{
	uint64		fingerprint = sware_fingerprint(index, values, isnull).value;
	SwareDirectInsert insert;
	bool		is_unique;

	*over_quota = false;
	sware_begin_direct_insert(&insert, index, fingerprint);
	PG_TRY();
	{
		lock_free_key(index, heap, values, isnull, fingerprint, &entry->t_tid,
					  check_unique, &is_unique);
		if (check_unique != UNIQUE_CHECK_EXISTING)
			store(index, heap, entry, over_quota);
	}
	PG_FINALLY();
	{
		sware_end_direct_insert();
	}
	PG_END_TRY();
	sware_unlock_key(index, fingerprint);
	return is_unique;
}

/*
 * With UNIQUE_CHECK_EXISTING nothing is inserted.  Returns whether the key is
 * known to be unique, which matters for UNIQUE_CHECK_PARTIAL only.
 */
bool
sware_insert(Relation index, Datum *values, bool *isnull, ItemPointer heap_tid,
			 Relation heap, IndexUniqueCheck check_unique, bool index_unchanged,
			 IndexInfo *index_info)
{
	IndexTuple	entry;
	bool		over_quota;
	bool		is_unique;

	if (index_info->ii_Unique ?
		sware_stage_unique(index, heap, values, isnull, heap_tid, check_unique, index_info) :
		sware_stage(index, heap, values, isnull, heap_tid, index_info))
		return check_unique != UNIQUE_CHECK_NO;
	SWARE_FAULT_POINT("insert-begins");

	entry = index_form_tuple(RelationGetDescr(index), values, isnull);
	entry->t_tid = *heap_tid;
	sware_check_entry_size(index, heap, entry);
	if (sware_key_is_checked(index, isnull, check_unique))
		is_unique = insert_unique(index, heap, values, isnull, entry, check_unique,
								  &over_quota);
	else
	{
		store(index, heap, entry, &over_quota);
		is_unique = check_unique != UNIQUE_CHECK_NO;
	}
	if (over_quota)
		sware_buffer_flush_piece(index);

	/* now that readers can see the entry, look for those that have not */
	if (check_unique != UNIQUE_CHECK_EXISTING)
		sware_check_conflicts(index, &entry, 1);
	pfree(entry);
	return is_unique;
}
