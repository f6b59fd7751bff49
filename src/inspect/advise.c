/*-------------------------------------------------------------------------
 *
 * advise.c
 *	  What sware_advise learns of an nbtree index.
 *
 * The index and its table are locked for as long as one index is looked at, and
 * only if that is possible at once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
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
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/memory.h"
#include "base/options.h"
#include "inspect/relation.h"
#include "inspect/sortedness.h"
#include "inspect/survey.h"
#include "keys/trust.h"

PG_FUNCTION_INFO_V1(sware_examine_nbtree);

#define COLUMNS				12

#define OUT_OF_TIME			"the time limit was reached"

/* how many leaves a caller may ask for */
#define MOST_LEAVES			1000

/* to what share a new index of nbtree's fills its leaves */
#define NBTREE_FILL			(BTREE_DEFAULT_FILLFACTOR / 100.0)

/* how many internal pages there are for a leaf; with short keys fewer */
#define INTERNAL_PAGES		0.005

/* what is left of a leaf for entries, with its high key counted among these */
#define LEAF_ROOM \
	(BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(BTPageOpaqueData)))

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

/* a sampled leaf, in the array of samples */
typedef struct Leaf
{
	int64		first;
	int64		next;			/* behind its last sample */
	double		middle;			/* of the places of its rows in the table */
} Leaf;

static int
compare_rows(const void *a, const void *b)
{
	int64		left = (*(SwareSample *const *) a)->row;
	int64		right = (*(SwareSample *const *) b)->row;

	return (left > right) - (left < right);
}

static int
compare_numbers(const void *a, const void *b)
{
	double		left = *(const double *) a;
	double		right = *(const double *) b;

	return (left > right) - (left < right);
}

static int
compare_leaves(const void *a, const void *b)
{
	return compare_numbers(&((const Leaf *) a)->middle,
						   &((const Leaf *) b)->middle);
}

/*
 * Number the samples in the order of the table, and return the share of them,
 * in percent, that is not in the longest ascending subsequence.
 */
static double
measure_k(SwareSurvey *survey)
{
	Size		size = survey->count * sizeof(SwareSample *);
	SwareSample **by_row = palloc_extended(size, MCXT_ALLOC_HUGE);
	SwareMeasurement measurement;

	sware_begin_measurement(&measurement);
	for (int64 i = 0; i < survey->count; i++)
		by_row[i] = &survey->samples[i];
	qsort(by_row, survey->count, sizeof(SwareSample *), compare_rows);
	for (int64 i = 0; i < survey->count; i++)
		by_row[i]->rank = i + 1;
	for (int64 i = 0; i < survey->count; i++)
		sware_measure_row(&measurement, survey->samples[i].rank);
	return 100.0 * (measurement.rows - measurement.inOrder) / measurement.rows;
}

/*
 * Find out how far the rows of a leaf are from their places, samples from
 * first to the one before next.  They belong around the row in the middle of
 * them, one behind another, or where their share of all samples leads: the
 * nearer one counts, as the middle may be out of place, and leaves are not
 * equally full.  The samples' displacements are their places in the table
 * before.  Returns the middle.
 */
static double
measure_leaf(SwareSurvey *survey, int64 first, int64 next, double entries)
{
	int64		half = (next - first) / 2;
	double	   *places = palloc((next - first) * sizeof(double));
	double		middle;

	for (int64 i = first; i < next; i++)
		places[i - first] = survey->samples[i].displacement;
	qsort(places, next - first, sizeof(double), compare_numbers);
	middle = places[half];
	pfree(places);
	for (int64 i = first; i < next; i++)
	{
		double		place = survey->samples[i].displacement;

		survey->samples[i].displacement =
			Min(fabs(place - middle - (i - first - half)),
				fabs(place - entries * i / survey->count));
	}
	return middle;
}

/*
 * Find out how far rows are from their places, in rows.  Where a whole leaf is
 * out of place among the leaves, so are its rows.
 */
static void
measure_displacements(SwareSurvey *survey, double entries)
{
	double		blocks = Max(1, RelationGetNumberOfBlocks(survey->heap));
	double		rows = Max(1, entries / blocks);
	Leaf	   *leaves = palloc(survey->filledLeaves * sizeof(Leaf));
	int			count = 0;
	int64		before = 0;		/* samples of leaves that come before */

	for (int64 i = 0; i < survey->count; i++)
		survey->samples[i].displacement =
			(survey->samples[i].row >> 16) * rows +
			Min(survey->samples[i].row & 0xFFFF, rows);
	for (int64 first = 0; first < survey->count; first = leaves[count++].next)
	{
		int64		next = first + 1;

		while (next < survey->count &&
			   survey->samples[next].leaf == survey->samples[first].leaf)
			next++;
		leaves[count].first = first;
		leaves[count].next = next;
		leaves[count].middle = measure_leaf(survey, first, next, entries);
	}
	qsort(leaves, count, sizeof(Leaf), compare_leaves);
	for (int i = 0; i < count; i++)
	{
		double		distance = fabs((double) (before - leaves[i].first)) *
			entries / survey->count;

		for (int64 j = leaves[i].first; j < leaves[i].next; j++)
			survey->samples[j].displacement =
				Min(entries, Max(survey->samples[j].displacement, distance));
		before += leaves[i].next - leaves[i].first;
	}
}

/*
 * Estimate the WAL that an entry takes less, in bytes, where rows come
 * together.
 */
static double
saved_wal(SwareSurvey *survey, double tuple_size)
{
	double		waiting = sware_staging_size * 1024.0 / 2 / tuple_size;
	double		together = survey->rowsInserted > 0 && !survey->isBulk ?
		Min(survey->rowsInserted, waiting) : waiting;
	int64		far = 0;
	double		share;

	for (int64 i = 0; i < survey->count; i++)
		far += survey->samples[i].displacement > together;
	share = (double) far / survey->count;
	return Max(0, NBTREE_RECORD + tuple_size -
			   survey->usedBytes / survey->entries *
			   (SWARE_IN_ORDER + share * (SWARE_OUT_OF_ORDER - SWARE_IN_ORDER)));
}

/*
 * Draw conclusions from samples, of an index with this number of entries
 * without NULLs.
 */
static void
conclude(SwareSurvey *survey, double entries)
{
	double		tuple_size = survey->tupleBytes / survey->entries;
	double	   *displacements = palloc_extended(survey->count * sizeof(double),
												MCXT_ALLOC_HUGE);
	const char *recommendation;

	survey->k = measure_k(survey);
	measure_displacements(survey, entries);
	for (int64 i = 0; i < survey->count; i++)
		displacements[i] = survey->samples[i].displacement;
	qsort(displacements, survey->count, sizeof(double), compare_numbers);
	survey->l = 100 * displacements[survey->count - 1] / entries;
	recommendation =
		sware_recommend(survey->k, survey->l, entries,
						displacements[(int64) (MOST_ROWS * (survey->count - 1))],
						tuple_size, &survey->megabytes);
	survey->isForNbtree = strcmp(recommendation, "nbtree") == 0;
	survey->savedWal = saved_wal(survey, tuple_size);
}

/* The size that a new nbtree index with the same entries would have. */
static int64
expected_size(SwareSurvey *survey)
{
	double		share = survey->leaves == 0 ? 0 :
		survey->usedBytes / survey->leaves / (NBTREE_FILL * LEAF_ROOM);
	double		leaves = ceil(survey->allLeaves * share);

	/* the metapage, and internal pages */
	return BLCKSZ * (int64) (1 + leaves + ceil((leaves - 1) * INTERNAL_PAGES));
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

/*
 * Lock and open a relation if that is possible at once.  Returns what is in
 * the way, or NULL.
 */
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
find_problem(SwareSurvey *survey)
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

/*
 * Fill in the columns of the result, for an index that is open.  Returns what
 * has ended that, or NULL.
 */
static const char *
examine(SwareSurvey *survey, int wanted, Datum *values, bool *nulls)
{
	const char *problem = find_problem(survey);
	bool		has_pages = survey->index->rd_rel->relkind == RELKIND_INDEX;

	if (problem)
		return problem;
	if (has_pages && wanted > 0)
	{
		double		weight;		/* of a sampled leaf */

		sware_survey_leaves(survey, wanted);
		sware_survey_heap(survey);
		if (sware_is_time_up(survey))
			return OUT_OF_TIME;
		weight = survey->allLeaves / Max(1, survey->leaves);
		if (survey->count > 0)
			conclude(survey, weight * survey->count);
		values[2] = Int64GetDatum(expected_size(survey));
		values[3] = Int64GetDatum((int64) (weight * survey->entries));
		values[4] = Float8GetDatum(survey->k);
		values[5] = Float8GetDatum(survey->l);
		values[6] = Int32GetDatum(survey->megabytes);
		values[7] = Float8GetDatum(survey->rowsInserted);
		values[8] = Int32GetDatum((int32) survey->savedWal);
		nulls[2] = nulls[3] = false;
		nulls[4] = nulls[5] = nulls[8] = survey->count == 0;
		nulls[6] = survey->count == 0 || survey->isForNbtree;
		nulls[7] = survey->rowsInserted == 0;
	}
	if (has_pages)
		values[1] =
			Int64GetDatum((int64) BLCKSZ *
						  RelationGetNumberOfBlocks(survey->index));
	nulls[1] = !has_pages;
	values[9] = BoolGetDatum(sware_keys_may_wait(survey->index));
	values[10] = CStringGetTextDatum(definition(survey->heap, survey->index));
	values[11] =
		CStringGetTextDatum(ChooseRelationName(
											   RelationGetRelationName(survey->index), NULL, "sware",
											   RelationGetNamespace(survey->index), false));
	nulls[9] = nulls[10] = nulls[11] = false;
	return NULL;
}

/*
 * Say how many of how many indexes have been looked at, at most once in a
 * time.
 */
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
	SwareSurvey survey = {.hasDeadline = !PG_ARGISNULL(2)};
	MemoryContext before = sware_enter_context("sware examination");
	MemoryContext own = CurrentMemoryContext;
	const char *problem;
	Datum		values[COLUMNS] = {0};
	bool		nulls[COLUMNS];
	Datum		result;

	if (!PG_ARGISNULL(1) && (wanted < 1 || wanted > MOST_LEAVES))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the number of sampled leaves must be between 1 and %d",
						MOST_LEAVES)));
	memset(nulls, true, sizeof(nulls));
	if (survey.hasDeadline)
		survey.deadline = PG_GETARG_TIMESTAMPTZ(2);
	survey.strategy = GetAccessStrategy(BAS_BULKREAD);
	tell_progress(fcinfo);
	if (sware_is_time_up(&survey))
		problem = OUT_OF_TIME;
	else
	{
		Oid			heap = IndexGetRelation(oid, true);

		/* the table first, as all commands do */
		problem = open_at_once(heap, &survey.heap);
		if (problem == NULL)
			problem = open_at_once(oid, &survey.index);
		/* the index may have been dropped, and its OID reused, before */
		if (problem == NULL && IndexGetRelation(oid, true) != heap)
			problem = "it has been dropped";
		if (problem == NULL)
			problem = examine(&survey, wanted, values, nulls);
		if (survey.index)
			relation_close(survey.index, AccessShareLock);
		if (survey.heap)
			relation_close(survey.heap, AccessShareLock);
	}
	nulls[0] = problem == NULL;
	if (problem)
		values[0] = CStringGetTextDatum(problem);

	MemoryContextSwitchTo(before);
	result = sware_row_datum(fcinfo, COLUMNS, values, nulls);
	MemoryContextDelete(own);
	PG_RETURN_DATUM(result);
}
