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
#include "miscadmin.h"
#include "storage/predicate.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "am/options.h"
#include "buffer/sorter.h"
#include "buffer/staging.h"
#include "tree/tree.h"

/* blocks grow from the one size to the other; an entry fits in the smallest */
#define FIRST_BLOCK_SIZE	((Size) 4 * 1024)
#define LAST_BLOCK_SIZE		((Size) 256 * 1024)

typedef struct StagedBlock
{
	struct StagedBlock *next;
	Size		size;			/* of data, in bytes */
	Size		used;
	char		data[FLEXIBLE_ARRAY_MEMBER];
} StagedBlock;

/* Where the entries of a subtransaction begin. */
typedef struct Segment
{
	SubTransactionId subtransaction;
	StagedBlock	   *block;			/* the last block then; NULL if there was none */
	Size		used;
	int64		count;
} Segment;

typedef struct Staging
{
	Oid			index;
	StagedBlock	   *first;
	StagedBlock	   *last;
	int64		count;			/* entries */
	Size		bytes;			/* of its blocks */
	Segment    *segments;		/* outermost subtransaction first */
	int			segmentCount;
	int			segmentsAllocated;
	SubTransactionId supersededBy;	/* subtransaction that rebuilt the index */
	bool		isBusy;			/* being published */
	Size		limit;			/* flush when `bytes` gets there */
	Size		fixedSize;		/* of all entries without nulls, or zero */
	int			fixedColumnSize;	/* of the only column, if by value; or zero */
	struct Staging *next;
} Staging;

/* what IndexInfo's ii_AmCache points to */
typedef struct StagingReference
{
	uint64		generation;		/* valid while this is the current one */
	Staging    *staging;
} StagingReference;

int			sware_buffer_size = 16384;
bool		sware_enable_buffer = true;
SwareStatementKind sware_statement_kind = SWARE_STATEMENT_UNKNOWN;
int			sware_staged_indexes = 0;

static Staging *stagings = NULL;	/* of the running transaction */
static Size total_bytes = 0;	/* of all of them */
static StagedBlock *spare_blocks = NULL;	/* of the last size */
static uint64 generation = 1;	/* raised when a staging goes away */
static bool is_ending = false;	/* the pre-commit callback has run */

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

/* A block for at least one more entry. */
static StagedBlock *
make_block(Staging *staging)
{
	StagedBlock *block = spare_blocks;
	Size		size = staging->last == NULL ? FIRST_BLOCK_SIZE :
		Min(staging->last->size * 2, LAST_BLOCK_SIZE);

	if (block && size == LAST_BLOCK_SIZE)
		spare_blocks = block->next;
	else
	{
		block = MemoryContextAlloc(TopTransactionContext,
								   offsetof(StagedBlock, data) + size);
		block->size = size;
	}
	block->next = NULL;
	block->used = 0;
	return block;
}

/* Forget all entries, but keep the staging itself. */
static void
clear(Staging *staging)
{
	if (staging->count > 0)
		sware_staged_indexes--;
	retire_blocks(staging->first);
	total_bytes -= staging->bytes;
	staging->first = NULL;
	staging->last = NULL;
	staging->count = 0;
	staging->bytes = 0;
	staging->segmentCount = 0;
}

/* Room for an entry at the end. */
static inline IndexTuple
reserve(Staging *staging, Size size)
{
	StagedBlock	   *block = staging->last;

	if (unlikely(block == NULL || block->used + size > block->size))
	{
		block = make_block(staging);
		if (staging->last)
			staging->last->next = block;
		else
			staging->first = block;
		staging->last = block;
		staging->bytes += block->size;
		total_bytes += block->size;
	}
	return (IndexTuple) (block->data + block->used);
}

/* Make the entry that was put into reserved room a staged one. */
static inline void
add_reserved(Staging *staging, Size size)
{
	if (staging->count++ == 0)
		sware_staged_indexes++;
	staging->last->used += size;
}

/* Set what depends on the index's definition and options. */
static void
prepare(Staging *staging, Relation index)
{
	TupleDesc	descriptor = RelationGetDescr(index);
	Size		data_size;
	Datum		values[INDEX_MAX_KEYS] = {0};
	bool		isnull[INDEX_MAX_KEYS] = {0};

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

static Staging *
make_staging(Relation index)
{
	Staging    *staging = MemoryContextAllocZero(TopTransactionContext, sizeof(Staging));

	staging->index = RelationGetRelid(index);
	staging->supersededBy = InvalidSubTransactionId;
	staging->segmentsAllocated = 4;
	staging->segments = MemoryContextAlloc(TopTransactionContext, 4 * sizeof(Segment));
	staging->next = stagings;
	stagings = staging;
	return staging;
}

/* The staging of an index, if there is one that was not superseded. */
static Staging *
find_staging(Oid index)
{
	for (Staging *staging = stagings; staging; staging = staging->next)
	{
		if (staging->index == index &&
			staging->supersededBy == InvalidSubTransactionId)
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
	segment->block = staging->last;
	segment->used = staging->last ? staging->last->used : 0;
	segment->count = staging->count;
}

/* Drop the entries of the last segment. */
static void
drop_last_segment(Staging *staging)
{
	Segment    *segment = &staging->segments[--staging->segmentCount];
	Size		dropped = 0;

	if (segment->count == 0)
	{
		clear(staging);
		return;
	}

	for (StagedBlock *block = segment->block->next; block; block = block->next)
		dropped += block->size;
	retire_blocks(segment->block->next);
	segment->block->next = NULL;
	segment->block->used = segment->used;
	staging->last = segment->block;
	staging->count = segment->count;
	staging->bytes -= dropped;
	total_bytes -= dropped;
}

/* All staged entries, in the order of their arrival. */
static IndexTuple *
entries_of(Staging *staging)
{
	IndexTuple *entries = MemoryContextAllocHuge(CurrentMemoryContext,
												 staging->count * sizeof(IndexTuple));
	int64		count = 0;

	for (StagedBlock *block = staging->first; block; block = block->next)
	{
		for (Size offset = 0; offset < block->used;)
		{
			IndexTuple	entry = (IndexTuple) (block->data + offset);

			entries[count++] = entry;
			offset += IndexTupleSize(entry);
		}
	}
	Assert(count == staging->count);
	return entries;
}

/* Keep only some of the entries, in a new order. */
static void
keep(Staging *staging, IndexTuple *entries, int64 count)
{
	StagedBlock	   *old = staging->first;
	Segment		segment = staging->segments[0];

	Assert(staging->segmentCount == 1);
	staging->first = NULL;
	clear(staging);
	for (int64 i = 0; i < count; i++)
	{
		Size		size = IndexTupleSize(entries[i]);

		memcpy(reserve(staging, size), entries[i], size);
		add_reserved(staging, size);
	}
	segment.block = NULL;
	segment.used = 0;
	segment.count = 0;
	staging->segments[0] = segment;
	staging->segmentCount = count > 0 ? 1 : 0;
	retire_blocks(old);
}

/*
 * Send the lower `percent` of what is staged to the tree.  What remains is
 * kept in order.  An error leaves all of it staged.
 */
static void
send_to_tree(Staging *staging, Relation index, Relation heap, int percent)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "sware publish",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	int64		count = staging->count;
	int64		sent;
	IndexTuple *entries;

	/* what is kept becomes one segment, so it must have been one */
	if (staging->segmentCount > 1)
		percent = 100;
	sent = count - count * (100 - percent) / 100;

	staging->isBusy = true;
	PG_TRY();
	{
		entries = entries_of(staging);
		if (count > 1)
			sware_sort_entries(index, entries, count);
		sware_tree_insert_run(index, heap, entries, sent);
	}
	PG_FINALLY();
	{
		staging->isBusy = false;
	}
	PG_END_TRY();

	if (sent == count)
		clear(staging);
	else
		keep(staging, entries + sent, count - sent);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);

	/*
	 * A serializable reader that took its lock on the index after core's own
	 * check, before the entries were stored, has missed them.
	 */
	CheckForSerializableConflictIn(index, NULL, InvalidBlockNumber);
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

/* Make room, when a staging or all of them together have become too large. */
static void
make_room(Staging *staging, Relation index, Relation heap)
{
	if (staging->bytes >= staging->limit)
	{
		send_to_tree(staging, index, heap, sware_flush_fraction(index));
		return;
	}
	while (total_bytes >= (Size) sware_buffer_size * 1024)
	{
		Staging    *largest = NULL;

		for (Staging *other = stagings; other; other = other->next)
		{
			if (is_publishable(other) &&
				(largest == NULL || other->bytes > largest->bytes))
				largest = other;
		}
		if (largest == NULL)
			break;

		index = open_index(largest);
		if (index)
		{
			send_to_tree(largest, index, NULL, sware_flush_fraction(index));
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
	return sware_enable_buffer && !is_ending &&
		heap->rd_tableam == GetHeapamTableAmRoutine() &&
		/* others must see what an exclusion constraint is about */
		index_info->ii_ExclusionOps == NULL && !index_info->ii_Unique &&
		!IsParallelWorker() &&
		(likely(sware_statement_kind == SWARE_STATEMENT_STAGES) ||
		 (sware_statement_kind == SWARE_STATEMENT_UNKNOWN && !is_speculative(heap, tid)));
}

/*
 * Stage an entry, given by its columns; false if that is not possible, and
 * the caller must store it.  An entry too large for the index is an error.
 */
bool
sware_stage(Relation index, Relation heap, Datum *values, bool *isnull,
			ItemPointer tid, IndexInfo *index_info)
{
	Staging    *staging;
	IndexTuple	entry;
	Size		size;

	if (!may_stage(heap, tid, index_info))
		return false;
	staging = staging_for_insert(index, index_info);
	if (unlikely(staging->isBusy))
		return false;
	if (staging->count == 0)
		prepare(staging, index);
	begin_segment(staging);

	if (staging->fixedColumnSize > 0 && !isnull[0])
	{
		size = staging->fixedSize;
		entry = reserve(staging, size);
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
		entry = reserve(staging, size);
		memcpy(entry, formed, size);
		pfree(formed);
	}
	add_reserved(staging, size);

	if (unlikely(staging->bytes >= staging->limit ||
				 total_bytes >= (Size) sware_buffer_size * 1024))
		make_room(staging, index, heap);
	return true;
}

/* Publish what is staged for an index. */
void
sware_publish_index_slowly(Relation index)
{
	/* there can be several: a rolled back rebuild gives back what it took */
	for (Staging *staging = stagings; staging; staging = staging->next)
	{
		if (staging->index == RelationGetRelid(index) && is_publishable(staging))
			send_to_tree(staging, index, NULL, 100);
	}
}

/* Publish all that this backend has staged. */
void
sware_publish_all(void)
{
	bool		pushed = false;
	bool		published;

	if (sware_staged_indexes == 0)
		return;

	/* comparators and detoasting may need one */
	if (!ActiveSnapshotSet())
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		pushed = true;
	}

	/* a comparator may insert, and so stage, while we publish */
	do
	{
		published = false;
		for (Staging *staging = stagings; staging; staging = staging->next)
		{
			Relation	index;

			if (!is_publishable(staging))
				continue;
			published = true;
			index = open_index(staging);
			if (index)
			{
				send_to_tree(staging, index, NULL, 100);
				index_close(index, RowExclusiveLock);
			}
		}
	} while (published);
	if (pushed)
		PopActiveSnapshot();
}

/*
 * An index is being rebuilt: what this backend has staged for it is either
 * found in the table by the build, or gone.
 */
void
sware_supersede_staged(Relation index)
{
	for (Staging *staging = stagings; staging; staging = staging->next)
	{
		if (staging->index == RelationGetRelid(index) &&
			staging->supersededBy == InvalidSubTransactionId)
			staging->supersededBy = GetCurrentSubTransactionId();
	}
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
	/* the memory goes with the transaction's */
	stagings = NULL;
	total_bytes = 0;
	spare_blocks = NULL;
	sware_staged_indexes = 0;
	is_ending = false;
	generation++;
}

/* A subtransaction's entries become its parent's.  Cannot fail. */
void
sware_staging_subtransaction_commits(SubTransactionId child, SubTransactionId parent)
{
	for (Staging *staging = stagings; staging; staging = staging->next)
	{
		int			last = staging->segmentCount - 1;

		if (staging->supersededBy == child)
			staging->supersededBy = parent;
		if (last < 0 || staging->segments[last].subtransaction != child)
			continue;
		if (last > 0 && staging->segments[last - 1].subtransaction == parent)
			staging->segmentCount--;
		else
			staging->segments[last].subtransaction = parent;
	}
}

/*
 * A subtransaction's entries are void: their tuples may be vacuumed, and
 * their TIDs used again, while the transaction still runs.
 */
void
sware_staging_subtransaction_aborts(SubTransactionId child)
{
	for (Staging *staging = stagings; staging; staging = staging->next)
	{
		int			last = staging->segmentCount - 1;

		if (last >= 0 && staging->segments[last].subtransaction == child)
			drop_last_segment(staging);
		if (staging->supersededBy == child)
		{
			staging->supersededBy = InvalidSubTransactionId;
			generation++;
		}
	}
}
