/*-------------------------------------------------------------------------
 *
 * survey.c
 *	  Sampled entries of an nbtree index.  See survey.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/itup.h"
#include "access/nbtree.h"
#include "catalog/pg_am_d.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/memory.h"
#include "inspect/survey.h"

/* blocks at the end of a table that tell how many rows a transaction inserts */
#define HEAP_BLOCKS			32

/* of so few transactions no one is known to be complete */
#define FEW_TRANSACTIONS	2

#define TREE_SPECIAL		MAXALIGN(sizeof(BTPageOpaqueData))
#define tree_opaque(survey) \
	((BTPageOpaque) ((survey)->page.data + BLCKSZ - TREE_SPECIAL))

bool
sware_is_time_up(SwareSurvey *survey)
{
	if (survey->hasDeadline && !survey->isTimeUp)
		survey->isTimeUp = GetCurrentTimestamp() >= survey->deadline;
	return survey->isTimeUp;
}

/*
 * Copy a page, of the index or its table, unless the time is up.  Returns
 * whether it has a page header that line pointers can be read by, and a
 * special space of this size.
 */
static bool
copy_page(SwareSurvey *survey, Relation relation, BlockNumber block,
		  Size special_size)
{
	PageHeader	header = (PageHeader) survey->page.data;
	Buffer		buffer;

	CHECK_FOR_INTERRUPTS();
	if (sware_is_time_up(survey) ||
		block >= RelationGetNumberOfBlocks(relation))
		return false;
	buffer = ReadBufferExtended(relation, MAIN_FORKNUM, block, RBM_NORMAL,
								survey->strategy);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(survey->page.data, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	return header->pd_special == BLCKSZ - special_size &&
		header->pd_lower >= SizeOfPageHeaderData &&
		header->pd_lower <= header->pd_special;
}

/*
 * Returns an item of the copied page, with its size; NULL if it is dead, or is
 * not within the page, or too short.
 */
static void *
get_item(SwareSurvey *survey, OffsetNumber offset, Size least, Size *size)
{
	ItemId		id = PageGetItemId(survey->page.data, offset);

	*size = ItemIdGetLength(id);
	if (!ItemIdIsNormal(id) || *size < least ||
		ItemIdGetOffset(id) != MAXALIGN(ItemIdGetOffset(id)) ||
		ItemIdGetOffset(id) + *size >
		((PageHeader) survey->page.data)->pd_special)
		return NULL;
	return PageGetItem(survey->page.data, id);
}

/* Copy a page of the index.  Returns whether it is one of this level. */
static bool
copy_tree_page(SwareSurvey *survey, BlockNumber block, uint32 level)
{
	BTPageOpaque opaque = tree_opaque(survey);

	return copy_page(survey, survey->index, block, TREE_SPECIAL) &&
		!P_IGNORE(opaque) && !P_ISMETA(opaque) &&
		opaque->btpo_level == level && P_ISLEAF(opaque) == (level == 0);
}

/*
 * Make a list of the pages one level below the copied page.  Returns their
 * number; the array is large enough for the items of a page.
 */
static int
list_downlinks(SwareSurvey *survey, BlockNumber *children)
{
	OffsetNumber last = PageGetMaxOffsetNumber(survey->page.data);
	int			count = 0;

	for (OffsetNumber offset = P_FIRSTDATAKEY(tree_opaque(survey));
		 offset <= last && count < MaxIndexTuplesPerPage; offset++)
	{
		Size		size;
		IndexTuple	pivot = get_item(survey, offset, sizeof(IndexTupleData),
									 &size);

		if (pivot)
			children[count++] = BTreeTupleGetDownLink(pivot);
	}
	return count;
}

/* Make the array of samples large enough for one more. */
static SwareSample *
new_sample(SwareSurvey *survey)
{
	if (survey->count == survey->allocated)
		sware_grow(survey->samples, survey->allocated, 1024,
				   CurrentMemoryContext);
	return &survey->samples[survey->count++];
}

/* Is the first column of a key NULL? */
static bool
begins_with_null(IndexTuple tuple)
{
	return IndexTupleHasNulls(tuple) &&
		att_isnull(0, (uint8 *) ((char *) tuple + sizeof(IndexTupleData)));
}

/*
 * Add the entries of the copied page, a leaf, to the samples, without NULLs.
 * The TIDs of a posting list are in ascending order, as are those of equal
 * keys.
 */
static void
sample_leaf(SwareSurvey *survey)
{
	OffsetNumber last = PageGetMaxOffsetNumber(survey->page.data);
	int64		before = survey->count;

	for (OffsetNumber offset = P_FIRSTDATAKEY(tree_opaque(survey));
		 offset <= last; offset++)
	{
		Size		size;
		IndexTuple	tuple = get_item(survey, offset, sizeof(IndexTupleData),
									 &size);
		ItemPointer tids;
		Size		tuple_size;
		int			rows = 1;

		if (tuple == NULL || BTreeTupleIsPivot(tuple))
			continue;
		tids = &tuple->t_tid;
		tuple_size = size;
		if (BTreeTupleIsPosting(tuple))
		{
			rows = BTreeTupleGetNPosting(tuple);
			tuple_size = BTreeTupleGetPostingOffset(tuple);
			if (tuple_size != MAXALIGN(tuple_size) ||
				tuple_size + rows * sizeof(ItemPointerData) > size)
				continue;
			tids = BTreeTupleGetPosting(tuple);
		}
		survey->usedBytes += MAXALIGN(size) + sizeof(ItemIdData);
		survey->tupleBytes += (double) rows * MAXALIGN(tuple_size);
		survey->entries += rows;
		if (begins_with_null(tuple))
			continue;
		for (int i = 0; i < rows; i++)
		{
			SwareSample *sample = new_sample(survey);

			sample->row =
				((int64) ItemPointerGetBlockNumberNoCheck(&tids[i]) << 16) |
				ItemPointerGetOffsetNumberNoCheck(&tids[i]);
			sample->leaf = survey->filledLeaves;
		}
	}
	survey->leaves++;
	if (survey->count > before)
		survey->filledLeaves++;
}

/*
 * Make a list of the pages of the lowest level that is not below *level and
 * has enough pages, or of the leaves.  *level is that of the root before.
 */
static BlockNumber *
list_level(SwareSurvey *survey, BlockNumber root, int wanted, uint32 *level,
		   int *count)
{
	BlockNumber *pages = palloc(sizeof(BlockNumber));

	pages[0] = root;
	*count = 1;
	while (*level > 0 && *count > 0 && *count < wanted)
	{
		BlockNumber *below = palloc_extended(sizeof(BlockNumber) *
											 *count * MaxIndexTuplesPerPage,
											 MCXT_ALLOC_HUGE);
		int			found = 0;

		for (int i = 0; i < *count; i++)
		{
			if (copy_tree_page(survey, pages[i], *level))
				found += list_downlinks(survey, below + found);
		}
		pfree(pages);
		pages = below;
		*count = found;
		(*level)--;
	}
	return pages;
}

/*
 * The order of the leaves is that of the keys: evenly spread pages of a level
 * are chosen, and below each a leaf, at places that the golden ratio spreads
 * evenly, too.
 */
void
sware_survey_leaves(SwareSurvey *survey, int wanted)
{
	BlockNumber children[MaxIndexTuplesPerPage];
	BTMetaPageData *meta = BTPageGetMeta(survey->page.data);
	BlockNumber *pages;
	uint32		top;
	int			count;
	double		fanouts = 0;
	int			descents = 0;

	if (!copy_page(survey, survey->index, BTREE_METAPAGE, TREE_SPECIAL) ||
		meta->btm_magic != BTREE_MAGIC || meta->btm_fastroot == P_NONE)
		return;
	top = meta->btm_fastlevel;
	pages = list_level(survey, meta->btm_fastroot, wanted, &top, &count);
	wanted = Min(wanted, count);
	for (int i = 0; i < wanted; i++)
	{
		BlockNumber block = pages[(int64) (2 * i + 1) * count / (2 * wanted)];
		double		place = fmod(i * 0.6180339887, 1);
		double		fanout = 1;

		for (uint32 level = top;; level--)
		{
			int			number;

			if (!copy_tree_page(survey, block, level))
				break;
			if (level == 0)
			{
				sample_leaf(survey);
				fanouts += fanout;
				descents++;
				break;
			}
			number = list_downlinks(survey, children);
			if (number == 0)
				break;
			fanout *= number;
			block = children[(int) (place * number)];
		}
	}
	if (descents > 0)
		survey->allLeaves = count * fanouts / descents;
}

void
sware_survey_heap(SwareSurvey *survey)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(survey->heap);
	BlockNumber block = blocks > HEAP_BLOCKS ? blocks - HEAP_BLOCKS : 0;
	TransactionId *transactions;
	int			rows = 0;
	int			different = 1;

	if (survey->heap->rd_rel->relam != HEAP_TABLE_AM_OID)
		return;
	transactions = palloc(sizeof(TransactionId) * HEAP_BLOCKS *
						  MaxHeapTuplesPerPage);
	for (int i = 0; i < HEAP_BLOCKS && block < blocks; i++, block++)
	{
		OffsetNumber last;

		if (!copy_page(survey, survey->heap, block, 0))
			continue;
		last = Min(PageGetMaxOffsetNumber(survey->page.data),
				   MaxHeapTuplesPerPage);
		for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
		{
			Size		size;
			HeapTupleHeader tuple = get_item(survey, offset,
											 SizeofHeapTupleHeader, &size);

			if (tuple && !(tuple->t_infomask & HEAP_UPDATED))
				transactions[rows++] = HeapTupleHeaderGetRawXmin(tuple);
		}
	}
	qsort(transactions, rows, sizeof(TransactionId), xidComparator);
	for (int i = 1; i < rows; i++)
		different += transactions[i] != transactions[i - 1];
	survey->rowsInserted = (double) rows / different;
	survey->isBulk = different <= FEW_TRANSACTIONS;
}
