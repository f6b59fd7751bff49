/*-------------------------------------------------------------------------
 *
 * keyfilter.c
 *	  Key filters.  See keyfilter.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"

#include "keys/hashfunction.h"
#include "locks/fingerprint.h"
#include "locks/keyfilter.h"

/* how many keys a line of the filter should have */
#define KEYS_IN_A_LINE	32

/* how many keys are looked at to find out how close together they are */
#define SAMPLE			1024

/* ... and in what order they arrive */
#define LATEST			128

/*
 * Keys arrive nearly in order if the latest of them are in no more than this
 * number of lines.
 */
#define LINES_OF_LATEST	64

/*
 * The largest shift: if the numbers of the keys have all values, as many lines
 * as there are can be told apart.
 */
#define LARGEST_SHIFT	50

/* Bytes that keys begin with are left out up to this number. */
#define LARGEST_START	64

#define WORDS			(SWARE_KEY_FILTER_LINES * 8)

static int
compare_numbers(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return x < y ? -1 : x > y;
}

/*
 * How are the values of a column made numbers?  Texts whose equality is that of
 * their bytes are taken as bytes, whatever their order is.
 */
static SwareComparison
number_kind(Relation index, int column)
{
	FmgrInfo   *order = index_getprocinfo(index, column + 1, BTORDER_PROC);
	Oid			collation = index->rd_indcollation[column];

	if (order->fn_oid == F_BTTEXTCMP && sware_is_deterministic(collation))
		return SWARE_COMPARE_BYTES;
	return sware_comparison_kind(order, collation);
}

/* The number of an entry's key; zero if the column is null. */
static int64
number_of_entry(const SwareKeyFilter *filter, Relation index, IndexTuple entry)
{
	bool		is_null;
	Datum		value = index_getattr(entry, filter->column + 1,
									  RelationGetDescr(index), &is_null);

	return is_null ? 0 : sware_key_filter_number(filter, value);
}

/*
 * Get the numbers of some entries, which lie evenly among the given ones, and
 * sort them.
 */
static void
sample_numbers(const SwareKeyFilter *filter, Relation index,
			   IndexTuple *entries, int64 count, int64 *numbers, int sampled)
{
	for (int i = 0; i < sampled; i++)
		numbers[i] = number_of_entry(filter, index,
									 entries[count * i / sampled]);
	qsort(numbers, sampled, sizeof(int64), compare_numbers);
}

/*
 * How many bytes are the same in nearly all of some sorted numbers?  Few
 * numbers at both ends do not count.
 */
static int
common_bytes(const int64 *numbers, int count)
{
	uint64		difference = (uint64) numbers[count / 32] ^
		(uint64) numbers[count - 1 - count / 32];
	int			bytes = 0;

	while (bytes < 8 && difference >> (56 - bytes * 8) == 0)
		bytes++;
	return bytes;
}

/*
 * Find the largest shift with which a line has no more keys than it should,
 * given the sorted numbers of a sample of keys; -1 if there is none.
 */
static int
find_shift(const int64 *numbers, int sampled, int64 count)
{
	double		most = 1 + (double) KEYS_IN_A_LINE * sampled / count;

	for (int shift = LARGEST_SHIFT; shift >= 0; shift--)
	{
		double		squares = 0;
		int			same = 0;

		/* how many keys of the sample are in the line of one of them? */
		for (int i = 0; i < sampled; i++)
		{
			same++;
			if (i + 1 == sampled ||
				(uint64) numbers[i] >> shift !=
				(uint64) numbers[i + 1] >> shift)
			{
				squares += (double) same * same;
				same = 0;
			}
		}
		if (squares <= most * sampled)
			return shift;
	}
	return -1;
}

/*
 * Decide how a column's values are made places in a filter.  Returns in how
 * many lines the latest entries are; INT_MAX if the column is of no use.
 */
static int
try_column(SwareKeyFilter *filter, Relation index, int column,
		   IndexTuple *entries, int64 count)
{
	int64		numbers[SAMPLE];
	int			sampled = Min(count, SAMPLE);
	int			latest = Min(count, LATEST);
	int			lines = 0;

	filter->column = column;
	filter->comparison = number_kind(index, column);
	filter->start = 0;
	if (filter->comparison == SWARE_COMPARE_FUNCTION || latest == 0)
		return INT_MAX;
	sample_numbers(filter, index, entries, count, numbers, sampled);
	if (filter->comparison == SWARE_COMPARE_BYTES ||
		filter->comparison == SWARE_COMPARE_UUID)
	{
		int			bytes;

		while (filter->start < LARGEST_START &&
			   (bytes = common_bytes(numbers, sampled)) > 0)
		{
			filter->start += bytes;
			sample_numbers(filter, index, entries, count, numbers, sampled);
		}
	}
	filter->shift = find_shift(numbers, sampled, count);
	if (filter->shift < 0)
		return INT_MAX;

	sample_numbers(filter, index, entries + count - latest, latest, numbers,
				   latest);
	for (int i = 0; i < latest; i++)
		lines += i + 1 == latest ||
			(uint64) numbers[i] >> filter->shift !=
			(uint64) numbers[i + 1] >> filter->shift;
	return lines;
}

void
sware_refill_key_filter(SwareKeyFilter *filter, Relation index,
						IndexTuple *entries, int64 count)
{
	memset(filter->words, 0, WORDS * sizeof(uint64));
	for (int64 i = 0; i < count; i++)
	{
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		index_deform_tuple(entries[i], RelationGetDescr(index), values, isnull);
		if (!sware_has_null_key(index, isnull))
			(void) sware_key_filter_add(filter, values,
										sware_fingerprint(index, values,
														  isnull).value);
	}
	filter->added = 0;
	filter->unknown = 0;
}

SwareKeyFilter *
sware_make_key_filter(Relation index, IndexTuple *entries, int64 count)
{
	SwareKeyFilter best = {.column = -1};
	int			fewest = LINES_OF_LATEST + 1;
	SwareKeyFilter *filter;

	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		SwareKeyFilter tried;
		int			lines = try_column(&tried, index, i, entries, count);

		if (lines < fewest)
		{
			fewest = lines;
			best = tried;
		}
	}
	if (best.column < 0)
		return NULL;

	best.words = MemoryContextAllocExtended(TopTransactionContext,
											WORDS * sizeof(uint64),
											MCXT_ALLOC_NO_OOM);
	if (best.words == NULL)
		return NULL;
	filter = MemoryContextAlloc(TopTransactionContext, sizeof(SwareKeyFilter));
	*filter = best;
	sware_refill_key_filter(filter, index, entries, count);
	return filter;
}

void
sware_free_key_filter(SwareKeyFilter *filter)
{
	pfree(filter->words);
	pfree(filter);
}
