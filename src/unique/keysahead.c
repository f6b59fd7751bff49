/*-------------------------------------------------------------------------
 *
 * keysahead.c
 *	  Asks the kernel for the leaves of keys that are about to be looked up.
 *
 * COPY stores up to 1,000 rows in the table before it inserts the first one
 * into an index.  So the next keys are in the table, behind the row, in rows of
 * this command.  Nothing depends on whether what is found there are the next
 * keys: leaves are asked for in vain otherwise.
 *
 * It begins when most of the latest look-ups have had to read a page.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "storage/bufmgr.h"
#include "utils/datum.h"
#include "utils/spccache.h"

#include "base/compat.h"
#include "base/memory.h"
#include "keys/searchkey.h"
#include "tree/readahead.h"
#include "unique/unique.h"

/* it begins when so many more look-ups have read a page than have not */
#define COLD_LOOK_UPS		4
#define MAX_COLDNESS		16

/* where no next row is found, the next look comes after so many rows at most */
#define LONGEST_PAUSE		1024

/* What is asked for, for the rows of one command and one index. */
typedef struct Ahead
{
	Oid			index;
	TransactionId transaction;
	CommandId	command;
	int			coldness;		/* look-ups that have read a page, less those
								 * that have not */
	ItemPointerData last;		/* the place of the row that was found last */
	int			found;			/* how many rows were found and not yet looked
								 * up, at most */
	bool		isAtEnd;		/* was there no other row behind them? */
	int			pause;			/* rows to come before the next look */
	int			nextPause;
} Ahead;

/* Several indexes of a table take turns; some may have to share one. */
static Ahead aheads[16];

/* before the look-up in progress */
static int64 blocks_read;

static inline Ahead *
ahead_of(Relation index)
{
	return &aheads[RelationGetRelid(index) % lengthof(aheads)];
}

/* Forget the rows that were found, and go on behind a row. */
static void
begin_behind(Ahead *ahead, const SwareNewRow *row)
{
	ahead->last = *row->tid;
	ahead->found = 0;
	ahead->isAtEnd = false;
}

/*
 * Copy the values of a row of the table that the index has as keys.  Returns
 * false if they cannot be compared at once: a null, a value that is stored
 * elsewhere or compressed, or an expression.
 */
static bool
copy_key(Relation heap, Relation index, HeapTuple row, Datum *values)
{
	TupleDesc	descriptor = RelationGetDescr(heap);

	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		AttrNumber	number = index->rd_index->indkey.values[i];
		Form_pg_attribute attribute;
		bool		is_null;
		Datum		value;

		if (number <= 0)
			return false;
		attribute = TupleDescAttr(descriptor, number - 1);
		value = heap_getattr(row, number, descriptor, &is_null);
		if (is_null ||
			(attribute->attlen == -1 &&
			 sware_bytes_of(SWARE_COMPARE_BYTES, value).data == NULL))
			return false;
		values[i] = datumCopy(value, attribute->attbyval, attribute->attlen);
	}
	return true;
}

/*
 * Find the next row of the command in a page of the table, and copy its key.
 * Returns whether there is one.
 */
static bool
find_in_page(Ahead *ahead, const SwareNewRow *row, Page page, Datum *values)
{
	OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(&ahead->last);

	while (++offset <= PageGetMaxOffsetNumber(page))
	{
		ItemId		line_pointer = PageGetItemId(page, offset);
		HeapTupleData tuple;

		if (!ItemIdIsNormal(line_pointer))
			continue;
		ItemPointerSetOffsetNumber(&ahead->last, offset);
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, line_pointer);
		tuple.t_len = ItemIdGetLength(line_pointer);
		tuple.t_tableOid = RelationGetRelid(row->heap);
		tuple.t_self = ahead->last;
		if (TransactionIdEquals(HeapTupleHeaderGetRawXmin(tuple.t_data),
								ahead->transaction) &&
			HeapTupleHeaderGetRawCommandId(tuple.t_data) == ahead->command &&
			copy_key(row->heap, row->index, &tuple, values))
			return true;
	}
	return false;
}

/* The same in the page where the last one was found and in the next one. */
static bool
find_next(Ahead *ahead, const SwareNewRow *row, Datum *values)
{
	BlockNumber first = ItemPointerGetBlockNumberNoCheck(&ahead->last);
	bool		found = false;

	for (BlockNumber block = first; block <= first + 1 && !found; block++)
	{
		Buffer		buffer;

		if (block > first && block >= RelationGetNumberOfBlocks(row->heap))
			break;
		if (block > first)
			ItemPointerSet(&ahead->last, block, InvalidOffsetNumber);
		buffer = ReadBuffer(row->heap, block);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		found = find_in_page(ahead, row, BufferGetPage(buffer), values);
		UnlockReleaseBuffer(buffer);
	}
	return found;
}

/* Ask for the leaves of the next rows, up to the distance. */
static void
ask(Ahead *ahead, const SwareNewRow *row)
{
	Relation	index = row->index;
	int			distance =
		get_tablespace_maintenance_io_concurrency(index->rd_rel->reltablespace);
	MemoryContext caller = sware_enter_context("sware keys ahead");
	SwareSearchKey key;
	Datum		values[INDEX_MAX_KEYS];

	sware_search_key_init(&key, index);
	while (ahead->found < distance && !ahead->isAtEnd)
	{
		if (!find_next(ahead, row, values))
		{
			ahead->isAtEnd = true;
			break;
		}
		for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
			sware_search_key_set_column(&key, i + 1, values[i], false);
		sware_readahead_of_key(&key);
		ahead->found++;
		ahead->nextPause = 0;
	}
	sware_leave_context(caller);
	if (ahead->found == 0)
	{
		ahead->pause = ahead->nextPause;
		ahead->nextPause = Min(2 * ahead->nextPause + 1, LONGEST_PAUSE);
	}
}

/* Look for the next rows of a command, if that is due. */
static void
look_ahead(Ahead *ahead, const SwareNewRow *row)
{
	if (ahead->index != RelationGetRelid(row->index) ||
		ahead->transaction != GetTopTransactionIdIfAny() ||
		ahead->command != GetCurrentCommandId(false))
	{
		ahead->index = RelationGetRelid(row->index);
		ahead->transaction = GetTopTransactionIdIfAny();
		ahead->command = GetCurrentCommandId(false);
		ahead->pause = 0;
		begin_behind(ahead, row);
	}
	if (ahead->found > 0)
		ahead->found--;
	if (ahead->found == 0 || ItemPointerCompare(&ahead->last, row->tid) <= 0)
		begin_behind(ahead, row);
	if (ahead->pause > 0)
		ahead->pause--;
	else
		ask(ahead, row);
}

void
sware_keys_ahead_before(const SwareNewRow *row)
{
	Ahead	   *ahead = ahead_of(row->index);

	if (unlikely(ahead->coldness >= COLD_LOOK_UPS) &&
		sware_kernel_can_be_asked())
		look_ahead(ahead, row);
	blocks_read = sware_blocks_read();
}

void
sware_keys_ahead_after(Relation index)
{
	Ahead	   *ahead = ahead_of(index);

	if (blocks_read != sware_blocks_read())
		ahead->coldness = Min(ahead->coldness + 1, MAX_COLDNESS);
	else
		ahead->coldness = Max(ahead->coldness - 1, 0);
}
