/*-------------------------------------------------------------------------
 *
 * staging.c
 *	  Entries of the running transaction, in its backend's private memory.
 *
 * Entries lie one behind another in blocks.  A bulk load runs the cycle of
 * the SWARE-buffer here (SWARE, section III): when the memory is used up, the
 * entries are sorted, the lower part goes to the tree as a run, and the upper
 * part is kept, to meet later entries that overlap it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/itup.h"
#include "access/parallel.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/hsearch.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "am/options.h"
#include "buffer/predicatelocks.h"
#include "buffer/sharedbuffer.h"
#include "buffer/sorter.h"
#include "buffer/staging.h"
#include "buffer/statistics.h"
#include "compat.h"
#include "faultpoint.h"
#include "tree/tree.h"

/* chunks of memory grow from the one size to the other */
#define FIRST_BLOCK_SIZE	((Size) 4 * 1024)
#define LAST_BLOCK_SIZE		((Size) 256 * 1024)

/*
 * So many entries of a transaction go to the shared buffer.  More of them fill
 * whole leaves, or meet several to a leaf, and are better off in the tree.
 */
#define LARGEST_BUFFERED_RUN	256

typedef struct StagedBlock
{
	struct StagedBlock *next;
	Size		size;			/* of all of it, in bytes */
	Size		used;			/* of the data */
	char		data[FLEXIBLE_ARRAY_MEMBER];
} StagedBlock;

/* Entries, one behind another. */
typedef struct EntryChain
{
	StagedBlock *first;
	StagedBlock *last;
	Size		bytes;			/* of the blocks */
} EntryChain;

/* Where the entries of a subtransaction begin. */
typedef struct Segment
{
	SubTransactionId subtransaction;
	StagedBlock *block;			/* the last block then; NULL if there was none */
	Size		used;
	int64		count;
} Segment;

/*
 * What is staged for an index.  An index that was rebuilt in a subtransaction
 * that aborted can have several.
 */
typedef struct Staging
{
	SwareStaging shown;			/* must be first */
	Oid			index;
	SwareFile	file;			/* of the index, when the first entry came */
	EntryChain	entries;
	int64		count;			/* entries */
	Segment    *segments;		/* outermost subtransaction first */
	int			segmentCount;
	int			segmentsAllocated;
	SubTransactionId supersededBy;	/* subtransaction that rebuilt the index */
	bool		isBusy;			/* being published */
	Size		limit;			/* flush when entries.bytes gets there */
	Size		fixedSize;		/* of all entries without nulls, or zero */
	int			fixedColumnSize;	/* of the only column, if by value; or zero */
	struct Staging *sameIndex;	/* next one of the index */
	dlist_node	node;			/* in `filled`, if there are entries */
} Staging;

/* finds the stagings of an index */
typedef struct StagingEntry
{
	Oid			index;			/* hash key */
	Staging    *stagings;		/* the latest first */
} StagingEntry;

/* what IndexInfo's ii_AmCache points to */
typedef struct StagingReference
{
	uint64		generation;		/* valid while this is the current one */
	Staging    *staging;
} StagingReference;

int			sware_buffer_size = 16384;
bool		sware_enable_buffer = true;
SwareStatementKind sware_statement_kind = SWARE_STATEMENT_UNKNOWN;
int			sware_utility_depth = 0;
int			sware_staged_indexes = 0;

/* all this is of the running transaction */
static HTAB *stagings = NULL;	/* of StagingEntry; NULL if there is none */
static dlist_head filled = DLIST_STATIC_INIT(filled);	/* those with entries */
static Size total_bytes = 0;	/* of their blocks */
static StagedBlock *spare_blocks = NULL;	/* of the last size */
static SubTransactionId latest_subtransaction = InvalidSubTransactionId;	/* that staged or
																			 * superseded */
static bool is_ending = false;	/* the pre-commit callback has begun */

/* raised when references to stagings become invalid; never reset */
static uint64 generation = 1;

/*
 * Take blocks out of use.  Those of the last size are kept: a bulk load needs
 * them again, and fresh memory costs page faults.
 */
static void
retire_blocks(StagedBlock *block)
{
	while (block)
	{
		StagedBlock *next = block->next;

		if (block->size == LAST_BLOCK_SIZE)
		{
			block->next = spare_blocks;
			spare_blocks = block;
		}
		else
			pfree(block);
		block = next;
	}
}

/* Add a block to a chain, larger than the one before. */
static StagedBlock *
add_block(EntryChain *chain)
{
	Size		size = chain->last == NULL ? FIRST_BLOCK_SIZE :
		Min(chain->last->size * 2, LAST_BLOCK_SIZE);
	StagedBlock *block = spare_blocks;

	if (block && size == LAST_BLOCK_SIZE)
		spare_blocks = block->next;
	else
		block = MemoryContextAlloc(TopTransactionContext, size);
	block->next = NULL;
	block->size = size;
	block->used = offsetof(StagedBlock, data);
	if (chain->last)
		chain->last->next = block;
	else
		chain->first = block;
	chain->last = block;
	chain->bytes += size;
	total_bytes += size;
	return block;
}

/* Room for an entry at the end of a chain. */
static inline IndexTuple
reserve(EntryChain *chain, Size size)
{
	StagedBlock *block = chain->last;

	if (unlikely(block == NULL || block->used + size > block->size))
		block = add_block(chain);
	return (IndexTuple) ((char *) block + block->used);
}

/* Forget all entries of a chain. */
static void
clear_chain(EntryChain *chain)
{
	retire_blocks(chain->first);
	total_bytes -= chain->bytes;
	chain->first = NULL;
	chain->last = NULL;
	chain->bytes = 0;
}

/* Note that a staging has entries now, or none. */
static void
set_count(Staging *staging, int64 count)
{
	if (staging->count == 0 && count > 0)
	{
		dlist_push_tail(&filled, &staging->node);
		sware_staged_indexes++;
	}
	else if (staging->count > 0 && count == 0)
	{
		dlist_delete(&staging->node);
		sware_staged_indexes--;
	}
	staging->count = count;
}

/* Forget all entries, but keep the staging itself. */
static void
clear(Staging *staging)
{
	set_count(staging, 0);
	clear_chain(&staging->entries);
	staging->segmentCount = 0;
	if (staging->shown.stager)
		sware_forget_keys(staging->shown.stager);
}

/* Set what depends on the index's definition and options. */
static void
prepare(Staging *staging, Relation index)
{
	TupleDesc	descriptor = RelationGetDescr(index);
	Size		data_size;
	Datum		values[INDEX_MAX_KEYS] = {0};
	bool		isnull[INDEX_MAX_KEYS] = {0};

	staging->segmentCount = 0;	/* an error may have left one without entries */
	staging->file = SwareRelationLocator(index);
	staging->limit = sware_index_buffer_size(index);
	staging->fixedSize = 0;
	staging->fixedColumnSize = 0;
	for (int i = 0; i < descriptor->natts; i++)
	{
		if (TupleDescAttr(descriptor, i)->attlen < 0)
			return;
	}
	data_size = heap_compute_data_size(descriptor, values, isnull);
	staging->fixedSize = MAXALIGN(sizeof(IndexTupleData) + data_size);
	if (staging->fixedSize > SWARE_MAX_ENTRY_SIZE)
		staging->fixedSize = 0;
	else if (descriptor->natts == 1 && TupleDescAttr(descriptor, 0)->attbyval)
		staging->fixedColumnSize = TupleDescAttr(descriptor, 0)->attlen;
}

/* The stagings of an index, the latest first. */
static Staging *
stagings_of(Oid index)
{
	StagingEntry *entry = stagings == NULL ? NULL :
		hash_search(stagings, &index, HASH_FIND, NULL);

	return entry ? entry->stagings : NULL;
}

static Staging *
make_staging(Relation index)
{
	Oid			key = RelationGetRelid(index);
	Staging    *staging;
	StagingEntry *entry;
	bool		found;

	if (stagings == NULL)
	{
		HASHCTL		control = {.keysize = sizeof(Oid),.entrysize = sizeof(StagingEntry),
		.hcxt = TopTransactionContext};

		stagings = hash_create("sware stagings", 64, &control,
							   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}

	staging = MemoryContextAllocZero(TopTransactionContext, sizeof(Staging));
	staging->index = key;
	staging->supersededBy = InvalidSubTransactionId;
	staging->segmentsAllocated = 4;
	staging->segments = MemoryContextAlloc(TopTransactionContext, 4 * sizeof(Segment));

	entry = hash_search(stagings, &key, HASH_ENTER, &found);
	staging->sameIndex = found ? entry->stagings : NULL;
	entry->stagings = staging;
	return staging;
}

/* The staging of an index, if there is one that was not superseded. */
static Staging *
find_staging(Oid index)
{
	for (Staging *staging = stagings_of(index); staging; staging = staging->sameIndex)
	{
		if (staging->supersededBy == InvalidSubTransactionId)
			return staging;
	}
	return NULL;
}

/* The staging for an insert, remembered in the statement's IndexInfo. */
static inline Staging *
staging_for_insert(Relation index, IndexInfo *index_info)
{
	StagingReference *reference = index_info->ii_AmCache;

	if (unlikely(reference == NULL))
	{
		reference = MemoryContextAlloc(index_info->ii_Context, sizeof(StagingReference));
		reference->generation = 0;
		index_info->ii_AmCache = reference;
	}
	if (unlikely(reference->generation != generation))
	{
		Staging    *staging = find_staging(RelationGetRelid(index));

		reference->staging = staging ? staging : make_staging(index);
		/* what ALTER INDEX or SET changed counts from this statement on */
		reference->staging->limit = sware_index_buffer_size(index);
		reference->generation = generation;
	}
	return reference->staging;
}

/* Begin a segment, if the running subtransaction has none at the end. */
static inline void
begin_segment(Staging *staging)
{
	SubTransactionId current = GetCurrentSubTransactionId();
	Segment    *segment;

	if (likely(staging->segmentCount > 0 &&
			   staging->segments[staging->segmentCount - 1].subtransaction == current))
		return;

	if (staging->segmentCount == staging->segmentsAllocated)
	{
		staging->segmentsAllocated *= 2;
		staging->segments = repalloc(staging->segments,
									 staging->segmentsAllocated * sizeof(Segment));
	}
	segment = &staging->segments[staging->segmentCount++];
	segment->subtransaction = current;
	segment->block = staging->entries.last;
	segment->used = segment->block ? segment->block->used : 0;
	segment->count = staging->count;
	latest_subtransaction = Max(latest_subtransaction, current);
}

/* Drop the entries of the last segment. */
static void
drop_last_segment(Staging *staging)
{
	Segment    *segment = &staging->segments[--staging->segmentCount];
	EntryChain	dropped = {NULL, NULL, 0};

	if (segment->count == 0)
	{
		clear(staging);
		return;
	}

	dropped.first = segment->block->next;
	for (StagedBlock *block = dropped.first; block; block = block->next)
		dropped.bytes += block->size;
	staging->entries.bytes -= dropped.bytes;
	clear_chain(&dropped);

	segment->block->next = NULL;
	segment->block->used = segment->used;
	staging->entries.last = segment->block;
	set_count(staging, segment->count);
}

/* All staged entries, in the order of their arrival. */
static IndexTuple *
entries_of(Staging *staging)
{
	IndexTuple *entries = MemoryContextAllocHuge(CurrentMemoryContext,
												 staging->count * sizeof(IndexTuple));
	int64		count = 0;

	for (StagedBlock *block = staging->entries.first; block; block = block->next)
	{
		for (Size offset = offsetof(StagedBlock, data); offset < block->used;)
		{
			IndexTuple	entry = (IndexTuple) ((char *) block + offset);

			entries[count++] = entry;
			offset += IndexTupleSize(entry);
		}
	}
	Assert(count == staging->count);
	return entries;
}

/*
 * Drop all entries before one of them, and keep the order of the others.  False,
 * with nothing changed, if that would free too little, because of what shares a
 * block with the first one kept: then the staging would be at its limit again
 * with the next entry.
 */
static bool
drop_front(Staging *staging, IndexTuple first_kept, int64 kept_count)
{
	EntryChain	dropped = {NULL, NULL, 0};
	StagedBlock *block = staging->entries.first;
	Segment    *segment = &staging->segments[0];
	double		dropped_share = 1 - (double) kept_count / staging->count;
	Size		kept_size;

	Assert(staging->segmentCount == 1);
	while ((char *) first_kept < block->data ||
		   (char *) first_kept >= (char *) block + block->used)
	{
		dropped.first = staging->entries.first;
		dropped.last = block;
		dropped.bytes += block->size;
		block = block->next;
	}
	if (dropped.bytes < staging->entries.bytes * dropped_share * 2 / 3)
		return false;

	if (dropped.last)
		dropped.last->next = NULL;
	staging->entries.first = block;
	staging->entries.bytes -= dropped.bytes;
	clear_chain(&dropped);

	kept_size = (char *) block + block->used - (char *) first_kept;
	memmove(block->data, first_kept, kept_size);
	block->used = offsetof(StagedBlock, data) + kept_size;

	set_count(staging, kept_count);
	segment->block = NULL;
	segment->used = 0;
	segment->count = 0;
	return true;
}

/*
 * Keep only some of the entries, in a new order.  All of them belong to one
 * subtransaction.  If memory runs out, nothing has changed.
 */
static void
keep(Staging *staging, IndexTuple *entries, int64 count)
{
	EntryChain	kept = {NULL, NULL, 0};
	Segment    *segment = &staging->segments[0];

	Assert(staging->segmentCount == 1);
	PG_TRY();
	{
		for (int64 i = 0; i < count; i++)
		{
			Size		size = IndexTupleSize(entries[i]);

			memcpy(reserve(&kept, size), entries[i], size);
			kept.last->used += size;
		}
	}
	PG_CATCH();
	{
		clear_chain(&kept);
		PG_RE_THROW();
	}
	PG_END_TRY();

	clear_chain(&staging->entries);
	staging->entries = kept;
	set_count(staging, count);
	segment->block = NULL;
	segment->used = 0;
	segment->count = 0;
}

/*
 * An index may have got another file since its entries were staged: from
 * another session, which moved it to another tablespace, and then the new file
 * is the right one.  Within this transaction, utility commands publish first;
 * what else exchanges files here does so behind our back, and there is no
 * telling where the entries belong.
 */
static void
check_file(Staging *staging, Relation index)
{
	HeapTuple	tuple;
	bool		is_ours;

	if (memcmp(&staging->file, &SwareRelationLocator(index), sizeof(SwareFile)) == 0)
		return;

	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(staging->index));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for index %u", staging->index);
	is_ours = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
	ReleaseSysCache(tuple);
	if (is_ours)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" was given another file while entries waited to be stored in it",
						RelationGetRelationName(index)),
				 errhint("Set sware.enable_buffer to off for what exchanges the files of indexes.")));
}

/*
 * Of the entries of a unique index, the first `sent` have been stored.  Let others
 * know, before the keys leave the register; clear sees to it if all were sent.
 */
static void
tell_of_stored(Staging *staging, Relation index, IndexTuple *entries, int64 sent,
			   bool in_order)
{
	SwareStager *stager = staging->shown.stager;

	sware_tell_of_stored(stager, index, entries, sent, in_order);
	SWARE_FAULT_POINT("staged-keys-published");
	if (sent < staging->count)
		sware_keep_keys(stager, index, entries + sent, staging->count - sent);
}

/*
 * Send the lower `percent` of what is staged to the tree, or to the shared
 * buffer if it is little.  What remains is kept in order.  An error leaves all
 * of it staged; storing an entry again does no harm.
 */
static void
send(Staging *staging, Relation index, Relation heap, int percent)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "sware publish",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	int64		count = staging->count;
	int64		sent;
	IndexTuple *entries;
	bool		were_in_order = true;
	bool		are_in_order = false;

	/* what is kept becomes one segment, so it must have been one */
	if (staging->segmentCount > 1)
		percent = 100;
	sent = count - count * (100 - percent) / 100;

	check_file(staging, index);
	staging->isBusy = true;
	PG_TRY();
	{
		int			stored = 0;

		SWARE_FAULT_POINT("publish-begins");
		entries = entries_of(staging);
		if (count <= LARGEST_BUFFERED_RUN && sent == count)
			stored = sware_buffer_insert(index, entries, count);
		if (stored < count)
		{
			int			appended;

			if (count - stored > 1)
				were_in_order = sware_sort_arrivals(index, entries + stored,
													count - stored);
			are_in_order = stored == 0;
			SWARE_FAULT_POINT("publish-sorted");
			appended = sware_tree_insert_run(index, heap, entries + stored, sent - stored);
			sware_count_tree_run(index, appended, sent - stored - appended);
		}
		SWARE_FAULT_POINT("publish-stored");
		if (staging->shown.stager)
			tell_of_stored(staging, index, entries, sent, are_in_order);
	}
	PG_FINALLY();
	{
		staging->isBusy = false;
	}
	PG_END_TRY();

	/* now that readers can see the entries, look for those that have not */
	sware_check_conflicts(index, entries, sent);

	if (sent == count)
		clear(staging);
	else if (!were_in_order || !drop_front(staging, entries[sent], count - sent))
		keep(staging, entries + sent, count - sent);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}

/* Is there something that waits to be published? */
static bool
is_publishable(Staging *staging)
{
	return staging->count > 0 && !staging->isBusy &&
		staging->supersededBy == InvalidSubTransactionId;
}

/*
 * Open the index of a staging.  If it was dropped since then, it needs no
 * entries: NULL.
 */
static Relation
open_index(Staging *staging)
{
	Relation	index = try_index_open(staging->index, RowExclusiveLock);

	if (index == NULL)
		clear(staging);
	return index;
}

/* The largest staging that can be published now; NULL if there is none. */
static Staging *
largest_staging(void)
{
	Staging    *largest = NULL;
	dlist_iter	iterator;

	dlist_foreach(iterator, &filled)
	{
		Staging    *staging = dlist_container(Staging, node, iterator.cur);

		if (is_publishable(staging) &&
			(largest == NULL || staging->entries.bytes > largest->entries.bytes))
			largest = staging;
	}
	return largest;
}

/*
 * Make room, when a staging or all of them together have become too large.  In
 * the latter case make enough of it, or many small ones would be at the limit
 * again with the next entry.
 */
static void
make_room(Staging *staging, Relation index, Relation heap)
{
	Size		limit = (Size) sware_buffer_size * 1024;

	if (staging->entries.bytes >= staging->limit)
		send(staging, index, heap, sware_flush_fraction(index));
	if (total_bytes < limit)
		return;

	while (total_bytes > limit / 4 * 3)
	{
		Staging    *largest = largest_staging();
		bool		is_small;

		if (largest == NULL)
			break;
		is_small = largest->entries.bytes <= FIRST_BLOCK_SIZE;
		index = open_index(largest);
		if (index)
		{
			send(largest, index, NULL,
						 is_small ? 100 : sware_flush_fraction(index));
			index_close(index, RowExclusiveLock);
		}
	}
}

/* Was a tuple inserted speculatively, so that it may be killed soon? */
static bool
is_speculative(Relation heap, ItemPointer tid)
{
	Buffer		buffer = ReadBuffer(heap, ItemPointerGetBlockNumber(tid));
	Page		page = BufferGetPage(buffer);
	ItemId		line_pointer;
	bool		result;

	/* the root of a HOT chain, of which CREATE INDEX knows, can be redirected */
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	line_pointer = PageGetItemId(page, ItemPointerGetOffsetNumber(tid));
	result = ItemIdIsNormal(line_pointer) &&
		HeapTupleHeaderIsSpeculative((HeapTupleHeader) PageGetItem(page, line_pointer));
	UnlockReleaseBuffer(buffer);
	return result;
}

/* May entries of this insert wait in private memory? */
static inline bool
may_stage(Relation heap, ItemPointer tid, IndexInfo *index_info)
{
	return sware_enable_buffer && !is_ending && sware_utility_depth == 0 &&
		heap->rd_tableam == GetHeapamTableAmRoutine() &&
		/* others must see what an exclusion constraint is about */
		index_info->ii_ExclusionOps == NULL &&
		!IsParallelWorker() &&
		(likely(sware_statement_kind == SWARE_STATEMENT_STAGES) ||
		 (sware_statement_kind == SWARE_STATEMENT_UNKNOWN && !is_speculative(heap, tid)));
}

/*
 * What is staged for an index, if an insert into it may be staged; NULL if not.
 * Publishing may void it, but not free it before the transaction ends.
 */
SwareStaging *
sware_staging_for_insert(Relation index, Relation heap, ItemPointer tid,
						 IndexInfo *index_info)
{
	Staging    *staging;

	if (!may_stage(heap, tid, index_info))
		return NULL;
	staging = staging_for_insert(index, index_info);
	if (unlikely(staging->isBusy))
		return NULL;
	if (staging->count == 0)
		prepare(staging, index);
	return unlikely(staging->limit == 0) ? NULL : &staging->shown;
}

/* Stage an entry.  One too large for the index is an error. */
static inline void
stage(Staging *staging, Relation index, Relation heap, Datum *values, bool *isnull,
	  ItemPointer tid)
{
	IndexTuple	entry;
	Size		size;

	begin_segment(staging);
	if (staging->fixedColumnSize > 0 && !isnull[0])
	{
		size = staging->fixedSize;
		entry = reserve(&staging->entries, size);
		entry->t_tid = *tid;
		entry->t_info = size;
		*(Datum *) ((char *) entry + sizeof(IndexTupleData)) = 0;
		store_att_byval((char *) entry + sizeof(IndexTupleData), values[0],
						staging->fixedColumnSize);
	}
	else
	{
		IndexTuple	formed = index_form_tuple(RelationGetDescr(index), values, isnull);

		formed->t_tid = *tid;
		sware_check_entry_size(index, heap, formed);
		size = IndexTupleSize(formed);
		entry = reserve(&staging->entries, size);
		memcpy(entry, formed, size);
		pfree(formed);
	}
	staging->entries.last->used += size;
	if (unlikely(staging->count == 0))
		set_count(staging, 1);
	else
		staging->count++;

	if (unlikely(staging->entries.bytes >= staging->limit ||
				 total_bytes >= (Size) sware_buffer_size * 1024))
		make_room(staging, index, heap);
}

/* The same, for what sware_staging_for_insert has returned. */
void
sware_stage_entry(SwareStaging *staging, Relation index, Relation heap,
				  Datum *values, bool *isnull, ItemPointer tid)
{
	stage((Staging *) staging, index, heap, values, isnull, tid);
}

/*
 * Stage an entry of an index that is not unique, given by its columns; false if
 * that is not possible, and the caller must store it.
 */
bool
sware_stage(Relation index, Relation heap, Datum *values, bool *isnull,
			ItemPointer tid, IndexInfo *index_info)
{
	SwareStaging *staging = sware_staging_for_insert(index, heap, tid, index_info);

	if (staging == NULL)
		return false;
	stage((Staging *) staging, index, heap, values, isnull, tid);
	return true;
}

/* Publish what a full staging would, because its keys have no more room. */
void
sware_staging_publish_lower_part(SwareStaging *shown, Relation index, Relation heap)
{
	Staging    *staging = (Staging *) shown;

	if (is_publishable(staging))
		send(staging, index, heap, sware_flush_fraction(index));
}

/* Is this session publishing entries of an index? */
bool
sware_is_publishing(Relation index)
{
	for (Staging *staging = stagings_of(RelationGetRelid(index)); staging;
		 staging = staging->sameIndex)
	{
		if (staging->isBusy)
			return true;
	}
	return false;
}

/* Publish what is staged for an index. */
void
sware_publish_index_slowly(Relation index)
{
	for (Staging *staging = stagings_of(RelationGetRelid(index)); staging;
		 staging = staging->sameIndex)
	{
		if (is_publishable(staging))
			send(staging, index, NULL, 100);
	}
}

/* Any staging that can be published now; NULL if there is none. */
static Staging *
next_publishable(void)
{
	dlist_iter	iterator;

	dlist_foreach(iterator, &filled)
	{
		Staging    *staging = dlist_container(Staging, node, iterator.cur);

		if (is_publishable(staging))
			return staging;
	}
	return NULL;
}

/* Publish all that this backend has staged. */
void
sware_publish_all(void)
{
	bool		pushed = false;
	Staging    *staging;

	if (sware_staged_indexes == 0)
		return;

	/* comparators and detoasting may need one */
	if (!ActiveSnapshotSet())
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		pushed = true;
	}

	/* a comparator may insert, and so stage, while we publish */
	while ((staging = next_publishable()) != NULL)
	{
		Relation	index = open_index(staging);

		if (index)
		{
			send(staging, index, NULL, 100);
			index_close(index, RowExclusiveLock);
		}
	}
	if (pushed)
		PopActiveSnapshot();
}

/* Supersede a staging.  The top transaction will not give it back. */
static void
supersede(Staging *staging, SubTransactionId subtransaction)
{
	if (subtransaction == TopSubTransactionId)
		clear(staging);
	else
		staging->supersededBy = subtransaction;
}

/*
 * An index is being rebuilt: what this backend has staged for it is either
 * found in the table by the build, or gone.
 */
void
sware_supersede_staged(Relation index)
{
	SubTransactionId current = GetCurrentSubTransactionId();

	for (Staging *staging = stagings_of(RelationGetRelid(index)); staging;
		 staging = staging->sameIndex)
	{
		if (staging->shown.stager)
			sware_forget_bound(staging->shown.stager);
		if (staging->count > 0 && staging->supersededBy == InvalidSubTransactionId)
			supersede(staging, current);
	}
	latest_subtransaction = Max(latest_subtransaction, current);
	generation++;
}

/* The transaction is about to commit or prepare. */
void
sware_staging_transaction_prepares_to_end(void)
{
	/* what a comparator inserts from now on goes straight to the tree */
	is_ending = true;
	sware_publish_all();
}

/* The transaction has ended: staged entries are published, or void. */
void
sware_staging_transaction_ends(void)
{
	sware_staged_keys_transaction_ends();

	/* the memory goes with the transaction's */
	stagings = NULL;
	dlist_init(&filled);
	total_bytes = 0;
	spare_blocks = NULL;
	latest_subtransaction = InvalidSubTransactionId;
	sware_staged_indexes = 0;
	is_ending = false;
	generation++;
}

/* A subtransaction's entries become its parent's.  Cannot fail. */
void
sware_staging_subtransaction_commits(SubTransactionId child, SubTransactionId parent)
{
	dlist_mutable_iter iterator;

	if (child > latest_subtransaction)
		return;
	dlist_foreach_modify(iterator, &filled)
	{
		Staging    *staging = dlist_container(Staging, node, iterator.cur);
		int			last = staging->segmentCount - 1;

		if (last >= 0 && staging->segments[last].subtransaction == child)
		{
			if (last > 0 && staging->segments[last - 1].subtransaction == parent)
				staging->segmentCount--;
			else
				staging->segments[last].subtransaction = parent;
		}
		if (staging->supersededBy == child)
			supersede(staging, parent);
	}
}

/*
 * A subtransaction's entries are void: their tuples may be vacuumed, and
 * their TIDs used again, while the transaction still runs.
 */
void
sware_staging_subtransaction_aborts(SubTransactionId child)
{
	dlist_mutable_iter iterator;

	if (child > latest_subtransaction)
		return;
	dlist_foreach_modify(iterator, &filled)
	{
		Staging    *staging = dlist_container(Staging, node, iterator.cur);
		int			last = staging->segmentCount - 1;

		if (staging->supersededBy == child)
		{
			staging->supersededBy = InvalidSubTransactionId;
			generation++;
		}
		if (last >= 0 && staging->segments[last].subtransaction == child)
			drop_last_segment(staging);
	}
}
