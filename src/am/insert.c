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
#include "keys/fingerprint.h"
#include "takenkeys/keylock.h"
#include "locks/predicatelocks.h"
#include "takenkeys/stagedkeys.h"
#include "pages/bufferpages.h"
#include "pages/cache.h"
#include "records/recordcache.h"
#include "shared/statistics.h"
#include "staging/staging.h"
#include "tree/tree.h"
#include "unique/unique.h"

/* An entry that is to be stored. */
typedef struct NewEntry
{
	const SwareNewRow *row;
	IndexTuple	entry;
	bool		isVersion;		/* has the index an entry of the same row and
								 * key already? */
	bool		isTried;		/* has the expected leaf been tried? */
	bool		isStored;		/* is the entry there? */
	bool		seek;			/* if not, should it go to the tree all the
								 * same? */
} NewEntry;

/*
 * Store an entry in the tree or the buffer, where other backends find it.  Sets
 * *needs_flush if the caller should flush a piece of the buffer, as soon as it
 * has no key locked.
 */
static void
store(NewEntry *new, bool *needs_flush)
{
	Relation	index = new->row->index;

	*needs_flush = false;
	if (!new->isTried)
		new->isStored = sware_tree_insert_expected(index, new->entry, false,
												   &new->seek);
	if (!new->isStored &&
		(new->seek || !sware_enable_buffer || !sware_may_wait(index) ||
		 sware_buffer_add(index, &new->entry, 1, new->isVersion,
						  needs_flush) == 0))
	{
		SwareInserted done =
			sware_tree_insert_run(index, new->row->heap, &new->entry, 1,
								  new->isVersion);

		sware_count_arrivals(index, 1, done.late);
	}
	SWARE_FAULT_POINT("insert-stored");
}

/*
 * Store an entry if the expected leaf shows that its key is new.  The key is
 * locked, and no other session has it registered.  Returns whether the entry
 * was stored.
 *
 * The buffer must be empty, and is looked at before the tree, as in a look-up.
 * Then whatever was stored with this key, before it was locked, is in the tree,
 * and so on that leaf.
 */
static bool
store_new_key(NewEntry *new)
{
	Relation	index = new->row->index;

	new->isTried = sware_may_wait(index) && sware_buffer_is_known_empty(index);
	if (new->isTried)
		SWARE_FAULT_POINT("new-key-buffer-empty");
	new->isStored = new->isTried &&
		sware_tree_insert_expected(index, new->entry, true, &new->seek);
	return new->isStored;
}

/*
 * Lock the key of a row, and make sure that no live row with the same key is
 * stored or staged; perhaps the entry is stored then.  (Of a row that keeps its
 * key it is known that none is stored.)  If that depends on a transaction in
 * progress, unlocks the key, waits for the transaction, and begins again.
 * Raises an error if the key is not unique; but with UNIQUE_CHECK_PARTIAL it
 * does not wait, and sets *is_unique to whether the key is known to be unique.
 * Returns with the key locked.
 */
static void
lock_free_key(NewEntry *new, uint64 fingerprint, bool *is_unique)
{
	const SwareNewRow *row = new->row;

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
			*is_unique = false;
			return;
		}
		if (!TransactionIdIsValid(other) && !sware_keeps_key(row) &&
			(row->check == UNIQUE_CHECK_EXISTING || !store_new_key(new)))
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
insert_unique(NewEntry *new, bool *needs_flush)
{
	const SwareNewRow *row = new->row;
	uint64		fingerprint =
		sware_fingerprint(row->index, row->values, row->isnull).value;
	bool		is_unique;

	*needs_flush = false;
	PG_TRY();
	{
		lock_free_key(new, fingerprint, &is_unique);
		if (row->check != UNIQUE_CHECK_EXISTING)
			store(new, needs_flush);
		sware_unlock_key(row->index, fingerprint);
	}
	PG_CATCH();
	{
		/* the error may have to wait for a client that does not read */
		sware_release_key_lock();
		PG_RE_THROW();
	}
	PG_END_TRY();
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
	NewEntry	new = {.row = row};
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
	new.entry = entry;
	if (sware_key_is_checked(row))
		is_unique = insert_unique(&new, &needs_flush);
	else
	{
		new.isVersion = index_unchanged;
		store(&new, &needs_flush);
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
