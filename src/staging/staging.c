/*-------------------------------------------------------------------------
 *
 * staging.c
 *	  Entries of the current transaction, in its backend's private memory.
 *
 * publish.c moves entries to where other backends see them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "storage/lmgr.h"
#include "utils/hsearch.h"
#include "utils/resowner.h"

#include "base/memory.h"
#include "base/options.h"
#include "keys/entry.h"
#include "layout/tuple.h"
#include "pages/cache.h"
#include "staging/staging.h"

/* entries that come in order are published when they take so much memory */
#define LIMIT_IN_ORDER			((Size) 512 * 1024)

/* what ii_AmCache of an IndexInfo points to */
typedef struct StagingReference
{
	uint64		invalidation;	/* value of `invalidations` when `staging` was
								 * found */
	SwareStaging *staging;		/* NULL: none can be used */
	bool		isUsed;			/* has sware_stage used it? */
} StagingReference;

/* what it points to when a single row was stored; never changes */
static StagingReference single_row;

SwareStatement sware_statement =
{SWARE_STATEMENT_UNKNOWN, SWARE_NO_STATEMENT, InvalidCommandId, NULL};
bool		sware_uses_foreign_tables = false;
int			sware_utility_depth = 0;

/* Scans compare these with what they were, so they are never reset. */
uint64		sware_staging_generation = 0;
uint64		sware_arrivals = 0;

/* These describe the current transaction. */
static HTAB *stagings = NULL;	/* of SwareStaging; NULL if there is none */
static SwareStaging *last_found = NULL; /* one of them: the last that was
										 * looked up, or NULL */
dlist_head	sware_filled_stagings = DLIST_STATIC_INIT(sware_filled_stagings);
int			sware_staged_indexes = 0;

/*
 * The latest subtransaction that has staged entries, or found that no relation
 * owns the file of some.  The end of a later one does not matter.
 */
static SubTransactionId latest_subtransaction = InvalidSubTransactionId;
static bool is_ending = false;	/* has the pre-commit callback begun? */

/* How often all StagingReferences have become invalid; never reset. */
static uint64 invalidations = 1;

/*
 * Take the index's lock, which the caller of aminsert holds, for as long as
 * there are entries: publishing must not have to wait for it.  The top-level
 * transaction owns this lock, so an aborting subtransaction does not release
 * it.
 */
static void
lock_index(SwareStaging *staging)
{
	ResourceOwner caller = CurrentResourceOwner;

	CurrentResourceOwner = TopTransactionResourceOwner;
	LockRelationOid(staging->index, RowExclusiveLock);
	CurrentResourceOwner = caller;
}

static void
unlock_index(SwareStaging *staging)
{
	ResourceOwner caller = CurrentResourceOwner;

	CurrentResourceOwner = TopTransactionResourceOwner;
	UnlockRelationOid(staging->index, RowExclusiveLock);
	CurrentResourceOwner = caller;
}

/* Note that a staging has got its first entry.  Its index is locked. */
static void
note_first_entry(SwareStaging *staging)
{
	staging->level = sware_statement.level;
	if (staging->level == SWARE_NO_STATEMENT)
		dlist_push_head(&sware_filled_stagings, &staging->node);
	else
		dlist_push_tail(&sware_filled_stagings, &staging->node);
	sware_staged_indexes++;
}

/*
 * Reduce the number of entries to `count`, when the chain has been shortened,
 * or is about to be.  The first `unmoved` of them are still in their places.
 * Raises no errors.
 */
void
sware_reduce_staged(SwareStaging *staging, int64 count, int64 unmoved)
{
	sware_staging_generation++;
	sware_forget_staged_runs(staging, unmoved);
	if (staging->count > 0 && count == 0)
	{
		dlist_delete(&staging->node);
		sware_staged_indexes--;
		unlock_index(staging);
	}
	staging->count = count;
	staging->inOrder = Min(staging->inOrder, count);
}

/*
 * Remove all entries and forget their registered keys, but keep the staging
 * itself.  Raises no errors.
 */
void
sware_clear_staging(SwareStaging *staging)
{
	sware_reduce_staged(staging, 0, 0);
	sware_clear_chain(&staging->entries);
	staging->segmentCount = 0;
	if (staging->stager)
		sware_forget_keys(staging->stager);
}

/*
 * Find out how much a staging may take.  As long as its entries come in order,
 * there is nothing to merge them with: they are published when there are as
 * many as the processor's caches hold.
 */
static void
read_options(SwareStaging *staging, Relation index)
{
	Size		largest = (Size) sware_staging_size * 1024;

	staging->limit = sware_index_buffer_size(index) == 0 ? 0 :
		staging->hasGrown ? largest : Min(largest, LIMIT_IN_ORDER);
	staging->flushFraction = sware_options_of(index)->flushFraction;
}

static void
prepare(SwareStaging *staging, Relation index)
{
	staging->segmentCount = 0;	/* an error may have left a segment without
								 * entries */
	staging->hasVersions = false;
	staging->hasGrown = false;
	staging->file = SwareRelationLocator(index);
	staging->owner = staging->index;
	read_options(staging, index);
	sware_entry_form_init(&staging->form, index);
}

/* No index has the build: the entries wait for a subtransaction's end. */
void
sware_set_ownerless(SwareStaging *staging)
{
	staging->isOwnerless = true;
	latest_subtransaction = GetCurrentSubTransactionId();
}

/*
 * Return the staging of the build that an index has; NULL if there is none.  It
 * may have been made for another index, or in another file.  May read the
 * metapage.
 */
SwareStaging *
sware_staging_of(Relation index)
{
	uint64		incarnation;

	if (stagings == NULL)
		return NULL;
	incarnation = sware_cache(index)->indexIncarnation;
	if (last_found == NULL || last_found->incarnation != incarnation)
		last_found = hash_search(stagings, &incarnation, HASH_FIND, NULL);
	return last_found;
}

/*
 * Return the staging of an index if it has entries; else NULL.  If it was made
 * for another index, or in another file, it is published first.  So no lock on
 * a page may be held.
 */
SwareStaging *
sware_find_staging(Relation index)
{
	SwareStaging *staging = sware_staging_of(index);

	if (staging == NULL || staging->count == 0)
		return NULL;
	if (likely(sware_is_made_for(staging, index)))
		return staging;
	sware_publish(staging);
	return NULL;
}

/*
 * A hash of how an index stores and orders its entries.  Two indexes can have
 * each other's entries if theirs are equal.
 */
uint64
sware_hash_of_layout(Relation index)
{
	TupleDesc	descriptor = RelationGetDescr(index);
	int			keys = IndexRelationGetNumberOfKeyAttributes(index);
	uint64		hash = index->rd_index->indisunique +
		2 * index->rd_index->indnullsnotdistinct;

	for (int i = 0; i < descriptor->natts; i++)
		hash = hash_combine64(hash, TupleDescAttr(descriptor, i)->atttypid);
	for (int i = 0; i < keys; i++)
	{
		hash = hash_combine64(hash, index->rd_opfamily[i]);
		hash = hash_combine64(hash, index->rd_opcintype[i]);
		hash = hash_combine64(hash, index->rd_indcollation[i]);
		hash = hash_combine64(hash, index->rd_indoption[i]);
	}
	return hash;
}

static SwareStaging *
make_staging(Relation index)
{
	uint64		incarnation = sware_cache(index)->indexIncarnation;
	SwareStaging *staging;

	if (stagings == NULL)
	{
		HASHCTL		control = {.keysize = sizeof(uint64),
			.entrysize = sizeof(SwareStaging),
		.hcxt = sware_chain_context()};

		stagings = hash_create("sware stagings", 64, &control,
							   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}

	staging = hash_search(stagings, &incarnation, HASH_ENTER, NULL);
	memset(staging, 0, sizeof(SwareStaging));
	staging->incarnation = incarnation;
	staging->isTemporary =
		index->rd_rel->relpersistence == RELPERSISTENCE_TEMP;
	staging->index = RelationGetRelid(index);
	staging->layout = sware_hash_of_layout(index);
	return staging;
}

/*
 * Return a staging that can take entries of an index; NULL if they must be
 * stored at once: they may not wait, or what this session has staged for the
 * same build was staged for another index.  May publish.
 */
static SwareStaging *
usable_staging(Relation index)
{
	SwareStaging *staging;

	if (unlikely(!sware_may_wait(index)))
		return NULL;
	staging = sware_staging_of(index);
	if (likely(staging == NULL))
		return make_staging(index);
	if (unlikely(staging->count > 0 && !sware_is_made_for(staging, index)))
		sware_publish(staging);
	return staging->index == RelationGetRelid(index) &&
		(staging->count == 0 || sware_is_file_of(staging, index)) ?
		staging : NULL;
}

/*
 * Return the staging for an insert, which is remembered in the statement's
 * IndexInfo.  Returns NULL if there is none.
 */
static inline SwareStaging *
staging_for_insert(Relation index, IndexInfo *index_info)
{
	StagingReference *reference = index_info->ii_AmCache;

	if (unlikely(reference == NULL || reference == &single_row))
	{
		reference = MemoryContextAllocZero(index_info->ii_Context,
										   sizeof(StagingReference));
		index_info->ii_AmCache = reference;
	}
	if (unlikely(reference->invalidation != invalidations ||
				 reference->staging == NULL ||
				 !sware_is_file_of(reference->staging, index)))
	{
		reference->isUsed = false;
		reference->staging = usable_staging(index);
		if (reference->staging == NULL)
			return NULL;

		/* what ALTER INDEX or SET has changed counts from this statement on */
		read_options(reference->staging, index);
		reference->invalidation = invalidations;
	}
	return reference->staging;
}

bool
sware_is_single_row(IndexInfo *index_info)
{
	if (index_info->ii_AmCache != NULL || !sware_statement_is_small())
		return false;
	index_info->ii_AmCache = &single_row;
	return true;
}

/* Begin a segment, unless the last one is the current subtransaction's. */
static inline void
begin_segment(SwareStaging *staging)
{
	SubTransactionId current = GetCurrentSubTransactionId();
	SwareStagedSegment *segment;

	if (likely(staging->segmentCount > 0 &&
			   staging->segments[staging->segmentCount - 1].subtransaction ==
			   current))
		return;

	if (staging->segmentCount == staging->segmentsAllocated)
		sware_grow(staging->segments, staging->segmentsAllocated, 1,
				   sware_chain_context());
	segment = &staging->segments[staging->segmentCount++];
	segment->subtransaction = current;
	segment->start = sware_chain_end(&staging->entries);
	segment->count = staging->count;
	latest_subtransaction = current;
}

static void
drop_last_segment(SwareStaging *staging)
{
	SwareStagedSegment *segment = &staging->segments[--staging->segmentCount];

	if (segment->count == 0)
	{
		sware_clear_staging(staging);
		return;
	}
	sware_cut_chain(&staging->entries, segment->start);
	sware_reduce_staged(staging, segment->count, segment->count);
}

/* Was a tuple inserted speculatively, so that it may be killed soon? */
static bool
is_speculative(Relation heap, ItemPointer tid)
{
	Buffer		buffer = ReadBuffer(heap, ItemPointerGetBlockNumber(tid));
	Page		page = BufferGetPage(buffer);
	ItemId		line_pointer;
	bool		result;

	/* CREATE INDEX inserts the root of a HOT chain, which may redirect */
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	line_pointer = PageGetItemId(page, ItemPointerGetOffsetNumber(tid));
	result = ItemIdIsNormal(line_pointer) &&
		HeapTupleHeaderIsSpeculative(
									 (HeapTupleHeader) PageGetItem(page, line_pointer));
	UnlockReleaseBuffer(buffer);
	return result;
}

static inline bool
may_stage(Relation heap, ItemPointer tid, IndexInfo *index_info)
{
	return sware_enable_buffer && !is_ending && sware_utility_depth == 0 &&
		heap->rd_tableam == GetHeapamTableAmRoutine() &&
	/* other backends must see those of an exclusion constraint at once */
		index_info->ii_ExclusionOps == NULL && !IsParallelWorker() &&
		(likely(sware_statement.kind == SWARE_STATEMENT_STAGES) ||
		 (sware_statement.kind == SWARE_STATEMENT_UNKNOWN &&
		  !is_speculative(heap, tid)));
}

/*
 * Return the staging for an insert into an index; NULL if the row may not be
 * staged, or should be stored at once.  Publishing may empty the staging, but
 * it is not freed before the transaction ends.
 */
SwareStaging *
sware_staging_for_insert(const SwareNewRow *row, IndexInfo *index_info)
{
	SwareStaging *staging;

	if (!may_stage(row->heap, row->tid, index_info))
		return NULL;
	staging = staging_for_insert(row->index, index_info);
	if (unlikely(staging == NULL))
		return NULL;
	if (staging->count == 0)
		prepare(staging, row->index);
	return unlikely(staging->limit == 0) ? NULL : staging;
}

/*
 * Stage an entry in the staging that sware_staging_for_insert has returned.
 * Raises an error if it is too large for the index.  If memory is used up,
 * entries are published, which calls comparators and writes pages; no
 * lightweight lock may be held.
 */
void
sware_stage_entry(SwareStaging *staging, const SwareNewRow *row)
{
	Relation	index = row->index;
	Datum	   *values = row->values;
	bool	   *isnull = row->isnull;
	Size		data_size =
		sware_entry_data_size(&staging->form, index, values, isnull);
	IndexTuple	formed = NULL;
	IndexTuple	entry;
	Size		size = sware_size_with_data(data_size);

	if (unlikely(data_size == 0))
	{
		formed = sware_make_entry(index, row->heap, values, isnull, row->tid);
		size = IndexTupleSize(formed);
	}
	begin_segment(staging);
	entry = sware_reserve(&staging->entries, size);

	/* an error leaves no lock behind: this is the last that can fail */
	if (unlikely(staging->count == 0))
		lock_index(staging);
	if (likely(formed == NULL))
	{
		sware_form_entry(&staging->form, index, entry, data_size, values,
						 isnull);
		entry->t_tid = *row->tid;
	}
	else
	{
		sware_copy_tuple(entry, formed);
		pfree(formed);
	}
	sware_add_reserved(&staging->entries, size);
	sware_arrivals++;
	if (unlikely(staging->count++ == 0))
	{
		note_first_entry(staging);
		sware_limit_lingering();
	}
	if (unlikely(staging->entries.bytes >= staging->limit))
		sware_publish_lower_part(staging);
	if (unlikely(sware_staged_bytes >= (Size) sware_staging_size * 1024))
		sware_make_room();
}

/*
 * Stage an entry of an index that is not unique, like sware_stage_entry.
 * `is_version`: another row with the same key is an older version of its row.
 * Returns false if the caller must store it.
 */
bool
sware_stage(const SwareNewRow *row, bool is_version, IndexInfo *index_info)
{
	SwareStaging *staging = sware_staging_for_insert(row, index_info);

	if (staging == NULL)
		return false;
	staging->hasVersions |= is_version;
	sware_stage_entry(staging, row);
	((StagingReference *) index_info->ii_AmCache)->isUsed = true;
	return true;
}

/*
 * Do what sware_stage does, where the statement has staged an entry with it
 * before.  Returns false if it has not, or if anything has changed since: what
 * sware_staging_for_insert looks at is as it was for the statement's other
 * rows, or `invalidations` tells.
 */
bool
sware_stage_next(const SwareNewRow *row, bool is_version,
				 IndexInfo *index_info)
{
	StagingReference *reference = index_info->ii_AmCache;
	SwareStaging *staging;

	if (reference == NULL || !reference->isUsed ||
		reference->invalidation != invalidations ||
		sware_statement.kind != SWARE_STATEMENT_STAGES ||
		!sware_enable_buffer || sware_utility_depth > 0)
		return false;
	staging = reference->staging;
	if (staging->count == 0 || !sware_is_file_of(staging, row->index))
		return false;
	staging->hasVersions |= is_version;
	sware_stage_entry(staging, row);
	return true;
}

/* An index is about to be built: that has another staging.  Cannot fail. */
void
sware_staging_build_begins(void)
{
	invalidations++;
}

/* The transaction is about to commit or prepare; an error aborts it. */
void
sware_staging_transaction_prepares_to_end(void)
{
	/* What comparators insert from now on is not staged. */
	is_ending = true;
	invalidations++;
	sware_publish_all();
}

/* The transaction has ended: entries are published, or void.  Cannot fail. */
void
sware_staging_transaction_ends(void)
{
	is_ending = false;
	sware_staged_keys_transaction_ends();

	/* The memory is freed with the transaction's. */
	sware_staging_generation++;
	stagings = NULL;
	last_found = NULL;
	dlist_init(&sware_filled_stagings);
	sware_chains_are_gone();
	latest_subtransaction = InvalidSubTransactionId;
	sware_staged_indexes = 0;
	invalidations++;
}

/*
 * A subtransaction ends.  If it commits, as when a savepoint is released, its
 * parent gets its entries.  If it aborts, and `parent` is invalid, they go:
 * their tuples may be vacuumed, and their TIDs reused, while the transaction
 * goes on.  An index that it has dropped may be there again, or gone for good.
 * Raises no errors.
 */
void
sware_staging_subtransaction_ends(SubTransactionId child,
								  SubTransactionId parent)
{
	dlist_mutable_iter iterator;

	if (child > latest_subtransaction)
		return;
	dlist_foreach_modify(iterator, &sware_filled_stagings)
	{
		SwareStaging *staging =
			dlist_container(SwareStaging, node, iterator.cur);
		int			last = staging->segmentCount - 1;

		staging->isOwnerless = false;
		if (last < 0 || staging->segments[last].subtransaction != child)
			continue;
		if (parent == InvalidSubTransactionId)
			drop_last_segment(staging);
		else if (last > 0 &&
				 staging->segments[last - 1].subtransaction == parent)
			staging->segmentCount--;
		else
			staging->segments[last].subtransaction = parent;
	}
}
