/*-------------------------------------------------------------------------
 *
 * deadentries.c
 *	  Removes entries of dead rows from a leaf that has no room.
 *
 * Scans mark entries whose rows are dead to everybody (treescan.h).  A leaf
 * without room first loses those of them that the table confirms.  Then, if
 * updates have left several versions of a row, the table is asked for old
 * versions among equal keys.  This does not release TIDs for reuse: only
 * VACUUM does that.  So pins that keep VACUUM away from a leaf do not matter
 * here, and no cleanup lock is needed.
 *
 * The table decides which rows are dead to everybody, and returns the horizon
 * that a standby needs to know (table_index_delete_tuples).  A mark is checked:
 * a session that began on a standby, and survived its promotion, may still need
 * a row that others have marked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/faultpoint.h"
#include "keys/entry.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "shared/statistics.h"
#include "tree/tree.h"
#include "tree/deadrows.h"
#include "tree/treepages.h"
#include "wal/wal.h"

/* A question to the table about rows of a leaf. */
typedef struct Question
{
	Relation	index;
	Relation	heap;
	Buffer		buffer;
	Page		page;			/* of the buffer */
	SwareTidPlace *places;		/* of the TIDs that are asked about, in order,
								 * by their TM_IndexDelete.id */
	TM_IndexDeleteOp operation; /* what table_index_delete_tuples is given */
} Question;

/* Prepare a question about the rows of a leaf, and check the leaf's items. */
static void
begin_question(Question *question, Relation index, Relation heap, Buffer buffer)
{
	TM_IndexDeleteOp *operation = &question->operation;
	SwareLeafView view;
	int			count = 0;

	sware_view_init(&view, index, buffer);
	for (int i = 0; i < view.count; i++)
	{
		count += sware_leaf_tuple_tid_count(sware_view_tuple(&view, i));
		if (unlikely(count > SWARE_MAX_TIDS_PER_PAGE))
			sware_report_corruption(index, view.block, "Items overlap.");
	}

	question->index = index;
	question->heap = heap;
	question->buffer = buffer;
	question->page = view.page;
	question->places = palloc(SWARE_MAX_TIDS_PER_PAGE * sizeof(SwareTidPlace));
	operation->irel = index;
	operation->iblknum = view.block;
	operation->bottomup = false;
	operation->bottomupfreespace = 0;
	operation->ndeltids = 0;
	operation->deltids =
		palloc(SWARE_MAX_TIDS_PER_PAGE * sizeof(TM_IndexDelete));
	operation->status =
		palloc(SWARE_MAX_TIDS_PER_PAGE * sizeof(TM_IndexStatus));
}

/*
 * Add the TID with this number of the item at `offset` to the question.
 * Returns what the table will be told of it: that it is not known to be dead,
 * not promising, and frees no space.  The caller changes that where it is
 * otherwise.
 */
static TM_IndexStatus *
ask_about(Question *question, OffsetNumber offset, int number)
{
	IndexTuple	tuple = sware_page_tuple(question->page, offset);
	TM_IndexDeleteOp *operation = &question->operation;
	int			id = operation->ndeltids++;
	TM_IndexStatus *status = &operation->status[id];

	question->places[id].offset = offset;
	question->places[id].number = number;
	operation->deltids[id].tid = sware_leaf_tuple_tids(tuple)[number];
	operation->deltids[id].id = id;
	status->idxoffnum = offset;
	status->knowndeletable = false;
	status->promising = false;
	status->freespace = 0;
	return status;
}

/*
 * Put the rows of marked items into the question, and all other rows of the
 * leaf that are in the same blocks of the table, which are read anyway.  The
 * table must be told of one dead row, and finds out by itself about the others;
 * so rows of marked items are checked one by one until a dead one is found.
 * Returns false if none is.
 */
static bool
ask_about_marked(Question *question)
{
	Page		page = question->page;
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	BlockNumber *blocks = palloc(SWARE_MAX_TIDS_PER_PAGE * sizeof(BlockNumber));
	int			block_count = 0;
	ItemPointer dead = NULL;
	SwareRowCheck check;

	sware_row_check_begin(&check, question->heap);
	for (OffsetNumber offset = SWARE_FIRST_DATA; offset <= last; offset++)
	{
		IndexTuple	tuple = sware_page_tuple(page, offset);
		ItemPointer tids = sware_leaf_tuple_tids(tuple);

		if (!ItemIdIsDead(PageGetItemId(page, offset)))
			continue;
		for (int i = 0; i < sware_leaf_tuple_tid_count(tuple); i++)
		{
			blocks[block_count++] = ItemPointerGetBlockNumber(&tids[i]);
			if (dead == NULL && sware_row_is_dead(&check, &tids[i]))
				dead = &tids[i];
		}
	}
	sware_row_check_end(&check);
	if (dead == NULL)
		return false;

	qsort(blocks, block_count, sizeof(BlockNumber), sware_compare_blocks);
	for (OffsetNumber offset = SWARE_FIRST_DATA; offset <= last; offset++)
	{
		IndexTuple	tuple = sware_page_tuple(page, offset);
		ItemPointer tids = sware_leaf_tuple_tids(tuple);

		for (int i = 0; i < sware_leaf_tuple_tid_count(tuple); i++)
		{
			BlockNumber block = ItemPointerGetBlockNumber(&tids[i]);

			if (bsearch(&block, blocks, block_count, sizeof(BlockNumber),
						sware_compare_blocks))
				ask_about(question, offset, i)->knowndeletable =
					&tids[i] == dead;
		}
	}
	return true;
}

/*
 * Which TID of a posting list is promising?  The table counts them only to
 * choose blocks (see ask_about_versions), so one TID stands for its block.
 *
 * The list is expected to have old versions of one row at most, and most of
 * its TIDs to be in the block of the table that has these.  TIDs are in order,
 * so the one in the middle is in that block.  If the first TID is in it, too,
 * its number is returned, else the last one's; -1 if neither is.
 */
static int
promising_tid(IndexTuple posting)
{
	ItemPointer tids = sware_posting_tids(posting);
	int			last = sware_tuple_count(posting) - 1;
	BlockNumber middle = ItemPointerGetBlockNumber(&tids[(last + 1) / 2]);

	if (ItemPointerGetBlockNumber(&tids[0]) == middle)
		return 0;
	return ItemPointerGetBlockNumber(&tids[last]) == middle ? last : -1;
}

/*
 * How much of a leaf is asked for when old versions are looked for, as a share:
 * the table stops when it has found that much.  Most of what a question costs
 * is to sort all rows of the leaf, so a small gain would soon be asked for
 * again.
 */
#define SHARE_TO_FREE 4

/*
 * Put all rows of the leaf into the question.  Those with equal keys, which may
 * be versions of one row, are called promising: the table looks first into the
 * blocks that have the most promising rows, and gives up when it finds little.
 * Returns false if no keys are equal.
 */
static bool
ask_about_versions(Question *question, Size size)
{
	Page		page = question->page;
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	bool		equals_last = false;
	bool		has_equals = false;

	question->operation.bottomup = true;
	question->operation.bottomupfreespace = Max(BLCKSZ / SHARE_TO_FREE, size);

	for (OffsetNumber offset = SWARE_FIRST_DATA; offset <= last; offset++)
	{
		IndexTuple	tuple = sware_page_tuple(page, offset);
		bool		is_posting = sware_tuple_is_posting(tuple);
		bool		equals_next = offset < last &&
			sware_keys_equal_image(question->index, tuple,
								   sware_page_tuple(page, offset + 1));
		bool		is_promising = equals_last || equals_next;
		int			promising = !is_promising ? -1 :
			is_posting ? promising_tid(tuple) : 0;
		Size		space = is_posting ? sizeof(ItemPointerData) :
			sware_item_space(tuple);

		for (int j = 0; j < sware_leaf_tuple_tid_count(tuple); j++)
		{
			TM_IndexStatus *status = ask_about(question, offset, j);

			status->promising = j == promising;
			status->freespace = space;
		}
		has_equals |= is_promising;
		equals_last = equals_next;
	}
	return has_equals;
}

/*
 * Ask the table, and remove the entries that it says can go.  Returns whether
 * there is room for `size` bytes then.
 */
static bool
remove_confirmed(Question *question, Size size)
{
	TM_IndexDeleteOp *operation = &question->operation;
	SwareTidPlace *gone = question->places;
	int			asked = operation->ndeltids;
	int			gone_count = 0;
	TransactionId horizon =
		table_index_delete_tuples(question->heap, operation);

	/* the table sorts and shortens `deltids`, and leaves `status` in order */
	for (int id = 0; id < asked; id++)
	{
		if (operation->status[id].knowndeletable)
			gone[gone_count++] = question->places[id];
	}
	if (gone_count > 0)
	{
		sware_wal_log_conflict(question->index, question->heap, horizon);
		SWARE_FAULT_POINT("delete-conflict-logged");
		sware_wal_remove_tids(question->index, question->buffer, gone,
							  gone_count);
		sware_count(question->index, SWARE_STAT_ENTRIES_DELETED,
					gone_count);
	}
	return PageGetExactFreeSpace(question->page) >= size;
}

bool
sware_leaf_make_room(Relation index, Relation heap, Buffer buffer, Size size,
					 bool hasVersions)
{
	Question	question;

	if (!sware_table_tells_dead(heap))
		return false;

	begin_question(&question, index, heap, buffer);
	if (ask_about_marked(&question) && remove_confirmed(&question, size))
		return true;

	/*
	 * The table is asked about equal keys if versions of rows are being
	 * inserted.  In a unique index it always is: of the entries with one key
	 * that is not null, all but one belong to dead rows sooner or later.
	 */
	if (!hasVersions && !index->rd_index->indisunique)
		return false;
	begin_question(&question, index, heap, buffer);
	return ask_about_versions(&question, size) &&
		remove_confirmed(&question, size);
}
