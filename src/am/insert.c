/*-------------------------------------------------------------------------
 *
 * insert.c
 *	  The aminsert callback.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/callbacks.h"
#include "base/faultpoint.h"
#include "base/options.h"
#include "buffer/buffer.h"
#include "keys/entry.h"
#include "locks/changes.h"
#include "takenkeys/frontier.h"
#include "keys/fingerprint.h"
#include "takenkeys/keylock.h"
#include "locks/predicatelocks.h"
#include "takenkeys/stagedkeys.h"
#include "pages/cache.h"
#include "records/recordcache.h"
#include "shared/statistics.h"
#include "staging/staging.h"
#include "tree/tree.h"
#include "unique/unique.h"

/*
 * Store an entry in the tree or the buffer, where other backends find it.  Sets
 * *needs_flush if the caller should flush a piece of the buffer, as soon as it
 * has no key locked.  `is_version` says that the index has an entry of the same
 * row and key already.
 */
static void
store(Relation index, Relation heap, IndexTuple entry, bool is_version,
	  bool *needs_flush)
{
	bool		seek;

	*needs_flush = false;
	if (!sware_tree_insert_expected(index, entry, &seek) &&
		(seek || !sware_enable_buffer || !sware_may_wait(index) ||
		 sware_buffer_add(index, &entry, 1, is_version, needs_flush) == 0))
	{
		SwareInserted done =
			sware_tree_insert_run(index, heap, &entry, 1, is_version);

		sware_count_arrivals(index, 1, done.late);
	}
	SWARE_FAULT_POINT("insert-stored");
}

/*
 * Lock the key of a row, and make sure that no live row with the same key is
 * stored or staged.  (Of a row that keeps its key it is known that none is
 * stored.)  If that depends on a transaction in progress, unlocks the key,
 * waits for the transaction, and begins again.  Raises an error if the key is
 * not unique; but with UNIQUE_CHECK_PARTIAL it does not wait, and sets
 * *is_unique to whether the key is known to be unique.  Returns with the key
 * locked; *wants_frontier says that a frontier should be searched for.
 */
static void
lock_free_key(const SwareNewRow *row, uint64 fingerprint, bool *is_unique,
			  bool *wants_frontier)
{
	*wants_frontier = false;
	for (;;)
	{
		TransactionId other;
		uint32		speculative_token = 0;

		sware_lock_key(row->index, fingerprint);
		sware_raise_activity(row->index);
		SWARE_FAULT_POINT("unique-locked");
		*is_unique = true;
		other = sware_find_staged_key(row->index, fingerprint);
		if (TransactionIdIsValid(other) && row->check == UNIQUE_CHECK_PARTIAL)
		{
			/* the key is stored all the same */
			(void) sware_pass_frontier(row->index, row->values[0],
									   row->isnull[0], wants_frontier);
			*is_unique = false;
			return;
		}
		if (!TransactionIdIsValid(other) &&
			(row->check == UNIQUE_CHECK_EXISTING ||
			 !sware_pass_frontier(row->index, row->values[0], row->isnull[0],
								  wants_frontier)) &&
			!sware_keeps_key(row))
			other = sware_look_up_key(row, is_unique, &speculative_token);
		SWARE_FAULT_POINT("unique-looked-up");
		if (!TransactionIdIsValid(other))
			return;
		sware_unlock_key(row->index, fingerprint);
		sware_wait_for_other(row, other, speculative_token);
	}
}

/*
 * Insert the entry of a row whose key must be unique.  This session has staged
 * nothing for the index.  Returns the result of aminsert.
 */
static bool
insert_unique(const SwareNewRow *row, IndexTuple entry, bool *needs_flush)
{
	uint64		fingerprint =
		sware_fingerprint(row->index, row->values, row->isnull).value;
	bool		is_unique;
	bool		wants_frontier;

	*needs_flush = false;
	PG_TRY();
	{
		lock_free_key(row, fingerprint, &is_unique, &wants_frontier);
		if (row->check != UNIQUE_CHECK_EXISTING)
			store(row->index, row->heap, entry, false, needs_flush);
		sware_unlock_key(row->index, fingerprint);
	}
	PG_CATCH();
	{
		/* the error may have to wait for a client that does not read */
		sware_release_key_lock();
		PG_RE_THROW();
	}
	PG_END_TRY();

	/* the search waits, and an outer insert may have a key locked */
	if (wants_frontier && sware_change_count == 1)
		sware_search_frontier(row->index);
	return is_unique;
}

/*
 * Stages or stores the entry of a row, and raises an error if its key is not
 * unique but must be.  With UNIQUE_CHECK_EXISTING it only checks the key,
 * since the entry has been inserted before.  Returns whether the key is known
 * to be unique, which matters for UNIQUE_CHECK_PARTIAL only.
 */
static pg_noinline bool
insert_row(SwareNewRow *row, bool index_unchanged, IndexInfo *index_info)
{
	Relation	index = row->index;
	IndexTuple	entry;
	bool		needs_flush;
	bool		is_unique;

	sware_refuse_nested_insert(index);
	if (likely(sware_change_count == 0) &&
		row->check != UNIQUE_CHECK_EXISTING)
		sware_buffer_flush_owed(index);
	if (index_info->ii_Unique)
		row->keepsKeyIn = sware_command_that_keeps_key(row, index_info);
	if (sware_is_single_row(index_info))
		sware_publish_index(index);
	else if (index_info->ii_Unique ?
			 sware_stage_unique(row, index_info) :
			 sware_stage(row, index_unchanged, index_info))
		return row->check != UNIQUE_CHECK_NO;
	SWARE_FAULT_POINT("insert-begins");
	sware_begin_change(index, SWARE_INSERTS);

	entry = sware_make_entry(index, row->heap, row->values, row->isnull,
							 row->tid);
	if (sware_key_is_checked(row))
		is_unique = insert_unique(row, entry, &needs_flush);
	else
	{
		store(index, row->heap, entry, index_unchanged, &needs_flush);
		is_unique = row->check != UNIQUE_CHECK_NO;
	}
	sware_arrivals++;
	if (unlikely(needs_flush) && sware_change_count == 1)
		(void) sware_buffer_flush_piece(index, SWARE_INSERTER);
	else if (unlikely(needs_flush))
		sware_cache(index)->owesFlush = true;

	/*
	 * Other backends find the entry now: its key's record is out of date.
	 * Then check for scans that missed the entry.
	 */
	if (row->check != UNIQUE_CHECK_EXISTING)
	{
		sware_records_stored(index, &entry, 1);
		SWARE_FAULT_POINT("insert-records-removed");
		sware_check_conflicts(index, &entry, 1);
	}
	sware_end_change();
	pfree(entry);
	return is_unique;
}

/* The aminsert callback.  Most rows of a load go the shortest way. */
bool
sware_insert(Relation index, Datum *values, bool *isnull, ItemPointer heap_tid,
			 Relation heap, IndexUniqueCheck check_unique, bool index_unchanged,
			 IndexInfo *index_info)
{
	SwareNewRow row = {
		.index = index,
		.heap = heap,
		.values = values,
		.isnull = isnull,
		.tid = heap_tid,
		.check = check_unique,
		.keepsKeyIn = InvalidCommandId
	};

	if (likely(sware_change_count == 0) &&
		sware_stage_next(&row, index_unchanged, index_info))
		return false;
	return insert_row(&row, index_unchanged, index_info);
}
