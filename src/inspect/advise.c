/*-------------------------------------------------------------------------
 *
 * advise.c
 *	  What sware_advise learns of an nbtree index.
 *
 * Leaves that are spread evenly over the order of the keys are read.  A leaf
 * has its entries in the order of the keys, and their TIDs tell the order of
 * the table, in which rows arrived if the table is filled at its end.  So no
 * key is compared: no function of an operator class or of an expression is
 * called.  Pages are copied, and nothing on a copy is trusted: a page that is
 * not what its downlink says is passed over.
 *
 * The index and its table are locked for as long as one index is looked at, and
 * only if that is possible at once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/itup.h"
#include "access/nbtree.h"
#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_authid_d.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/memory.h"
#include "base/options.h"
#include "inspect/inspect.h"
#include "keys/entry.h"

PG_FUNCTION_INFO_V1(sware_examine_nbtree);

#define OUT_OF_TIME			"the time limit was reached"

/* how many leaves a caller may ask for */
#define MOST_LEAVES			1000

/*
 * Bytes of WAL, as bench/ingestion has measured them (docs/benchmarks.md): a
 * record of nbtree's is that much longer than the entry, without page splits.
 * sware writes a leaf once, with 5 % of what says where.  An entry that does
 * not come in order, as far as its transaction reaches, is written again
 * later, and for itself.
 */
#define NBTREE_RECORD		50
#define SWARE_IN_ORDER		1.05
#define SWARE_OUT_OF_ORDER	2.5

/* the share of rows whose displacement is that of all but a few */
#define MOST_ROWS			0.99

/* blocks at the end of a table that tell how many rows a transaction inserts */
#define HEAP_BLOCKS			32

/* of so few transactions no one is known to be complete */
#define FEW_TRANSACTIONS	2

#define TREE_SPECIAL		MAXALIGN(sizeof(BTPageOpaqueData))
#define tree_opaque(survey) \
	((BTPageOpaque) ((survey)->page.data + BLCKSZ - TREE_SPECIAL))

/* a sampled leaf */
typedef struct Leaf
{
	int64		first;			/* of its samples, in the order of the keys */
	int64		count;
	int64		numbered;		/* so many of them have got their ranks */
	struct Sample *middle;		/* of them, in the order of the table */
	int64		before;			/* samples of leaves with an earlier middle */
} Leaf;

typedef struct Sample
{
	int64		row;			/* its TID, as a number */
	int64		rank;			/* among all samples, by row, from 0 on */
	Leaf	   *leaf;
} Sample;

typedef struct Survey
{
	Relation	heap;
	Relation	index;
	BufferAccessStrategy strategy;
	TimestampTz deadline;
	bool		isTimeUp;		/* then what has been found is of no use */
	PGAlignedBlock page;		/* a copy of the page read last */

	Sample	   *samples;		/* in the order of the keys */
	int64		count;
	int64		allocated;
	Leaf	   *leaves;			/* that were sampled, with room for all */
	int			leafCount;
	int64		entries;		/* that they have, NULLs included */
	double		usedBytes;		/* of these: items and line pointers */
	double		tupleBytes;		/* entries, as if each were a tuple */
	double		allLeaves;		/* an estimate of how many the index has */

	double		k;				/* in percent, as sware_sortedness has them */
	double		l;
	double		displacement;	/* of all but a few rows, in rows */
	double		rowsInserted;	/* by a transaction; 0: not known */
	bool		isBulk;			/* that number is a lower bound */
	double		savedWal;		/* bytes an entry */
} Survey;

/*
 * Copy a page, of the index or its table, unless the time is up.  Returns
 * whether it has a page header that line pointers can be read by, and a
 * special space of this size.
 */
static bool
copy_page(Survey *survey, Relation relation, BlockNumber block,
		  Size special_size)
{
	PageHeader	header = (PageHeader) survey->page.data;

	CHECK_FOR_INTERRUPTS();
	survey->isTimeUp |= GetCurrentTimestamp() >= survey->deadline;
	if (survey->isTimeUp ||
		block >= RelationGetNumberOfBlocks(relation))
		return false;
	sware_copy_page(relation, block, survey->strategy, survey->page.data);
	return header->pd_special == BLCKSZ - special_size &&
		header->pd_lower >= SizeOfPageHeaderData &&
		header->pd_lower <= header->pd_special;
}

/*
 * Returns an item of the copied page, with its size; NULL if it is dead, or is
 * not within the page, or too short.
 */
static void *
get_item(Survey *survey, OffsetNumber offset, Size least, Size *size)
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
copy_tree_page(Survey *survey, BlockNumber block, uint32 level)
{
	BTPageOpaque opaque = tree_opaque(survey);

	return copy_page(survey, survey->index, block, TREE_SPECIAL) &&
		!P_IGNORE(opaque) && !P_ISMETA(opaque) &&
		opaque->btpo_level == level && P_ISLEAF(opaque) == (level == 0);
}

/* List the pages one level below the copied page; returns their number. */
static int
list_downlinks(Survey *survey, BlockNumber *children)
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

/*
 * Add the entries of the copied page, a leaf, to the samples, without NULLs.
 * The TIDs of a posting list are in ascending order, as are those of equal
 * keys.
 */
static void
sample_leaf(Survey *survey)
{
	OffsetNumber last = PageGetMaxOffsetNumber(survey->page.data);
	Leaf	   *leaf = &survey->leaves[survey->leafCount++];

	leaf->first = survey->count;
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
		if (IndexTupleHasNulls(tuple) &&
			att_isnull(0, (uint8 *) ((char *) tuple + sizeof(IndexTupleData))))
			continue;
		for (int i = 0; i < rows; i++)
		{
			Sample	   *sample;

			if (survey->count == survey->allocated)
				sware_grow(survey->samples, survey->allocated, 1024,
						   CurrentMemoryContext);
			sample = &survey->samples[survey->count++];
			sample->row =
				((int64) ItemPointerGetBlockNumberNoCheck(&tids[i]) << 16) |
				ItemPointerGetOffsetNumberNoCheck(&tids[i]);
			sample->leaf = leaf;
		}
	}
	leaf->count = survey->count - leaf->first;
}

/*
 * Sample leaves, as many as wanted if the index has them, unless the time is
 * up.  On each level that many pages, or all, are chosen, evenly spread among
 * those below the pages chosen on the level above.
 */
static void
survey_leaves(Survey *survey, int wanted)
{
	BTMetaPageData *meta = BTPageGetMeta(survey->page.data);
	BlockNumber *pages = palloc(sizeof(BlockNumber));
	int			count = 1;
	uint32		level;

	if (!copy_page(survey, survey->index, BTREE_METAPAGE, TREE_SPECIAL) ||
		meta->btm_magic != BTREE_MAGIC || meta->btm_fastroot == P_NONE)
		return;
	pages[0] = meta->btm_fastroot;
	survey->allLeaves = 1;
	for (level = meta->btm_fastlevel; level > 0 && count > 0; level--)
	{
		BlockNumber *below = palloc(sizeof(BlockNumber) *
									count * MaxIndexTuplesPerPage);
		int			found = 0;

		for (int i = 0; i < count; i++)
		{
			if (copy_tree_page(survey, pages[i], level))
				found += list_downlinks(survey, below + found);
		}
		pfree(pages);
		pages = below;
		count = Min(found, wanted);
		for (int i = 0; i < count; i++)
			pages[i] = pages[(2 * i + 1) * (int64) found / (2 * count)];
		survey->allLeaves *= (double) found / Max(1, count);
	}
	for (int i = 0; i < count; i++)
	{
		if (copy_tree_page(survey, pages[i], 0))
			sample_leaf(survey);
	}
	survey->allLeaves *= count;
}

/*
 * Find out how many rows a transaction inserts, by the rows at the end of the
 * table.  Versions that UPDATE has made do not count.
 */
static void
survey_heap(Survey *survey)
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

static int
compare_rows(const void *a, const void *b)
{
	int64		left = (*(Sample *const *) a)->row;
	int64		right = (*(Sample *const *) b)->row;

	return (left > right) - (left < right);
}

static int
compare_numbers(const void *a, const void *b)
{
	double		left = *(const double *) a;
	double		right = *(const double *) b;

	return (left > right) - (left < right);
}

/*
 * Number the samples in the order of the table, and find the sample in the
 * middle of those of each leaf.  These tell the order of leaves in the table.
 */
static void
number_samples(Survey *survey)
{
	Sample	  **by_row = palloc_extended(survey->count * sizeof(Sample *),
										 MCXT_ALLOC_HUGE);
	int64		before = 0;

	for (int64 i = 0; i < survey->count; i++)
		by_row[i] = &survey->samples[i];
	qsort(by_row, survey->count, sizeof(Sample *), compare_rows);
	for (int64 i = 0; i < survey->count; i++)
	{
		Leaf	   *leaf = by_row[i]->leaf;

		by_row[i]->rank = i;
		if (leaf->numbered++ == leaf->count / 2)
		{
			leaf->middle = by_row[i];
			leaf->before = before;
			before += leaf->count;
		}
	}
	pfree(by_row);
}

/* The place of a row in the table, if each block has so many rows. */
static double
place_of(const Sample *sample, double rows_of_block)
{
	return (sample->row >> 16) * rows_of_block +
		Min(sample->row & 0xFFFF, rows_of_block);
}

/*
 * How far is the row of a sample, by the order of the keys, from its place, in
 * rows?  It belongs as far from the row in the middle of its leaf as in the
 * leaf; where a whole leaf is out of place among the leaves, so are its rows.
 */
static double
displacement_of(Survey *survey, int64 number, double entries,
				double rows_of_block)
{
	const Sample *sample = &survey->samples[number];
	const Leaf *leaf = sample->leaf;
	double		distance = fabs((double) (leaf->before - leaf->first)) *
		entries / survey->count;

	return Min(entries,
			   Max(distance, fabs(place_of(sample, rows_of_block) -
								  place_of(leaf->middle, rows_of_block) -
								  (number - leaf->first - leaf->count / 2))));
}

/*
 * Draw the conclusions from the samples.  `entries` is the number of entries
 * without NULLs.
 */
static void
conclude(Survey *survey, double entries)
{
	int64		count = survey->count;
	double	   *displacements = palloc_extended(count * sizeof(double),
												MCXT_ALLOC_HUGE);
	SwareMeasurement measurement = {0};
	double		tuple_size = survey->tupleBytes / survey->entries;
	double		waiting = sware_staging_size * 1024.0 / 2 / tuple_size;
	double		together = survey->rowsInserted > 0 && !survey->isBulk ?
		Min(survey->rowsInserted, waiting) : waiting;
	double		rows_of_block =
		Max(1, entries / Max(1, RelationGetNumberOfBlocks(survey->heap)));
	double		far = 0;

	number_samples(survey);
	for (int64 i = 0; i < count; i++)
	{
		sware_measure_row(&measurement, survey->samples[i].rank + 1);
		displacements[i] = displacement_of(survey, i, entries, rows_of_block);
		far += displacements[i] > together;
	}
	qsort(displacements, count, sizeof(double), compare_numbers);
	survey->k = 100.0 * (count - measurement.inOrder) / count;
	survey->l = 100 * displacements[count - 1] / entries;
	survey->displacement = displacements[(int64) (MOST_ROWS * (count - 1))];

	/* bytes of WAL that an entry takes less, where rows come together */
	survey->savedWal =
		Max(0, NBTREE_RECORD + tuple_size -
			survey->usedBytes / survey->entries *
			(SWARE_IN_ORDER +
			 far / count * (SWARE_OUT_OF_ORDER - SWARE_IN_ORDER)));
}

/* The definition of an index from the list of its columns on. */
static char *
definition(Relation heap, Relation index)
{
	char	   *whole = pg_get_indexdef_string(RelationGetRelid(index));
	char	   *head =
		psprintf("CREATE %sINDEX %s ON %s USING btree ",
				 index->rd_index->indisunique ? "UNIQUE " : "",
				 quote_identifier(RelationGetRelationName(index)),
				 quote_qualified_identifier(
											get_namespace_name_or_temp(RelationGetNamespace(heap)),
											RelationGetRelationName(heap)));

	if (strncmp(whole, head, strlen(head)) != 0)
		elog(ERROR, "unexpected definition of an index: %s", whole);
	return whole + strlen(head);
}

/* Lock and open a relation at once, or return what is in the way. */
static const char *
open_at_once(Oid oid, Relation *relation)
{
	*relation = NULL;
	if (!OidIsValid(oid))
		return "it has been dropped";
	if (!ConditionalLockRelationOid(oid, AccessShareLock))
		return "it is locked by another session";
	*relation = try_relation_open(oid, NoLock);
	if (*relation == NULL)
	{
		UnlockRelationOid(oid, AccessShareLock);
		return "it has been dropped";
	}
	return NULL;
}

/* Why must an index not be looked at that is open?  NULL: it may. */
static const char *
find_problem(Survey *survey)
{
	Form_pg_class form = survey->index->rd_rel;
	Oid			user = GetUserId();

	if ((form->relkind != RELKIND_INDEX &&
		 form->relkind != RELKIND_PARTITIONED_INDEX) ||
		form->relam != BTREE_AM_OID)
		return "it is not an nbtree index";
	if (!has_privs_of_role(user, ROLE_PG_READ_ALL_STATS) &&
		!sware_is_owner_of_relation(RelationGetRelid(survey->heap), user))
		return "only the table's owner and members of pg_read_all_stats may look at it";
	if (RELATION_IS_OTHER_TEMP(survey->index))
		return "it is a temporary one of another session";
	if (form->relpersistence == RELPERSISTENCE_UNLOGGED && RecoveryInProgress())
		return "it is unlogged, and so empty on a standby";
	if (!survey->index->rd_index->indisvalid)
		return "it is not valid";
	return NULL;
}

/* Fill in the result, for an open index; or return what prevents that. */
static const char *
examine(Survey *survey, int wanted, SwareRow *row)
{
	Relation	index = survey->index;
	const char *problem = find_problem(survey);
	bool		has_pages = index->rd_rel->relkind == RELKIND_INDEX;
	bool		is_read = has_pages && wanted > 0;
	bool		has_samples;
	double		weight = 0;		/* of a sampled leaf */

	if (problem)
		return problem;
	if (is_read)
	{
		survey_leaves(survey, wanted);
		survey_heap(survey);
		if (survey->isTimeUp)
			return OUT_OF_TIME;
		weight = survey->allLeaves / Max(1, survey->leafCount);
	}
	has_samples = survey->count > 0;
	if (has_samples)
		conclude(survey, weight * survey->count);

	sware_add_known(row, false, (Datum) 0); /* no problem */
	sware_add_known(row, has_pages,
					Int64GetDatum(!has_pages ? 0 : (int64) BLCKSZ *
								  RelationGetNumberOfBlocks(index)));
	sware_add_known(row, is_read, Float8GetDatum(weight * survey->usedBytes));
	sware_add_known(row, is_read,
					Int64GetDatum((int64) (weight * survey->entries)));
	sware_add_known(row, has_samples, Float8GetDatum(survey->k));
	sware_add_known(row, has_samples, Float8GetDatum(survey->l));
	sware_add_known(row, has_samples, Float8GetDatum(survey->displacement));
	sware_add_known(row, has_samples,
					Float8GetDatum(survey->tupleBytes /
								   Max(1, survey->entries)));
	sware_add_known(row, survey->rowsInserted > 0,
					Float8GetDatum(survey->rowsInserted));
	sware_add_known(row, has_samples, Int32GetDatum((int32) survey->savedWal));
	sware_add_value(row, BoolGetDatum(sware_keys_may_wait(index)));
	sware_add_value(row, CStringGetTextDatum(definition(survey->heap, index)));
	sware_add_value(row,
					CStringGetTextDatum(ChooseRelationName(
														   RelationGetRelationName(index), NULL, "sware",
														   RelationGetNamespace(index), false)));
	return NULL;
}

/* Tell the progress, at most once in a time. */
static void
tell_progress(FunctionCallInfo fcinfo)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz *last = fcinfo->flinfo->fn_extra;

	if (last == NULL)
	{
		last = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(TimestampTz));
		*last = now;
		fcinfo->flinfo->fn_extra = last;
	}
	if (PG_ARGISNULL(5) || now - *last < PG_GETARG_INT64(5))
		return;
	*last = now;
	ereport(NOTICE,
			(errmsg("looked at " INT64_FORMAT " of " INT64_FORMAT " indexes",
					PG_GETARG_INT64(3) - 1, PG_GETARG_INT64(4))));
}

/*
 * sware_examine_nbtree(index oid, leaves integer, deadline timestamptz,
 *						number bigint, total bigint, progress bigint)
 *
 * Returns what is found out of an nbtree index: a row of which the first
 * column says why the index was not looked at, or the others are filled in.
 * Without a number of leaves the index is not read.  The locks are released at
 * the end.  The other arguments are for telling the progress: it is told that
 * the index with this number among so many is next, once in so many
 * microseconds.
 */
Datum
sware_examine_nbtree(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	int			wanted = PG_ARGISNULL(1) ? 0 : PG_GETARG_INT32(1);
	Survey		survey = {
		.deadline = PG_ARGISNULL(2) ? DT_NOEND : PG_GETARG_TIMESTAMPTZ(2)
	};
	MemoryContext before = sware_enter_context("sware examination");
	MemoryContext own = CurrentMemoryContext;
	Oid			heap;
	const char *problem;
	SwareRow	row = {0};
	Datum		result;

	if (!PG_ARGISNULL(1) && (wanted < 1 || wanted > MOST_LEAVES))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the number of sampled leaves must be between 1 and %d",
						MOST_LEAVES)));
	survey.leaves = palloc0(MOST_LEAVES * sizeof(Leaf));
	survey.strategy = GetAccessStrategy(BAS_BULKREAD);
	tell_progress(fcinfo);
	heap = IndexGetRelation(oid, true);

	/* the table first, as all commands do */
	problem = GetCurrentTimestamp() >= survey.deadline ? OUT_OF_TIME :
		open_at_once(heap, &survey.heap);
	if (problem == NULL)
		problem = open_at_once(oid, &survey.index);
	/* the index may have been dropped, and its OID reused, before */
	if (problem == NULL && IndexGetRelation(oid, true) != heap)
		problem = "it has been dropped";
	if (problem == NULL)
		problem = examine(&survey, wanted, &row);
	if (problem)
		sware_add_value(&row, CStringGetTextDatum(problem));
	if (survey.index)
		relation_close(survey.index, AccessShareLock);
	if (survey.heap)
		relation_close(survey.heap, AccessShareLock);

	MemoryContextSwitchTo(before);
	result = sware_row_datum(fcinfo, &row);
	MemoryContextDelete(own);
	PG_RETURN_DATUM(result);
}
