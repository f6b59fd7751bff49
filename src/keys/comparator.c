/*-------------------------------------------------------------------------
 *
 * comparator.c
 *	  Comparing entries of an index, many times in one operation.
 *
 * PrepareSortSupportFromIndexRel would do what is needed here, but refuses
 * access methods other than btree.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "keys/comparator.h"

/* after this number of comparisons, free what functions have left behind */
#define CALLS_PER_RESET		1024

/* it pays to leave out so many bytes that all values begin with */
#define MIN_LEFT_OUT		5

/*
 * A guess is tried with this number of pairs.  It is used if it leaves at most
 * half of them equal, and at most one of 16 in the wrong order.
 */
#define TRIED_PAIRS		128
#define MAX_UNTOLD		(TRIED_PAIRS / 2)
#define MAX_WRONG		(TRIED_PAIRS / 16)

/* refined numbers are not negative */
#define BITS_OF_NUMBER		63

/* The known entries, as seen from one column. */
typedef struct KnownColumn
{
	TupleDesc	descriptor;
	const IndexTuple *entries;
	int64		count;
	int			number;			/* from 0 on */
	const SwareKeyColumn *how;	/* how its values are compared */
} KnownColumn;

/* Set up a zeroed SortSupport in the current context; columns count from 1. */
void
sware_prepare_column(SortSupport column, Relation index, int number,
					 bool abbreviate)
{
	int16		option = index->rd_indoption[number - 1];
	RegProcedure support = index_getprocid(index, number, BTSORTSUPPORT_PROC);

	column->ssup_cxt = CurrentMemoryContext;
	column->ssup_collation = index->rd_indcollation[number - 1];
	column->ssup_reverse = (option & INDOPTION_DESC) != 0;
	column->ssup_nulls_first = (option & INDOPTION_NULLS_FIRST) != 0;
	column->ssup_attno = number;
	column->abbreviate = abbreviate;
	if (RegProcedureIsValid(support))
		OidFunctionCall1(support, PointerGetDatum(column));
	if (column->comparator == NULL)
		PrepareSortSupportComparisonShim(index_getprocid(index, number,
														 BTORDER_PROC),
										 column);
}

/*
 * Make a comparator for an index, in the current memory context.  It is valid
 * as long as that and the index's relcache entry are.
 */
SwareComparator *
sware_make_comparator(Relation index)
{
	SwareComparator *comparator = palloc0(sizeof(SwareComparator));

	sware_search_key_prepare(&comparator->key, index);
	comparator->columns =
		palloc0(comparator->key.columnCount * sizeof(SortSupportData));
	for (int i = 0; i < comparator->key.columnCount; i++)
		sware_prepare_column(&comparator->columns[i], index, i + 1, false);
	comparator->context = CurrentMemoryContext;
	comparator->guess = SWARE_GUESS_USUAL;
	sware_unrefine_numbers(comparator);
	return comparator;
}

/*
 * Compare the keys of two entries, which may be marked as dead.  Calls
 * functions that may raise errors, in a memory context of its own; no
 * lightweight lock may be held.
 */
int
sware_comparator_keys(SwareComparator *comparator, IndexTuple a, IndexTuple b)
{
	TupleDesc	descriptor = RelationGetDescr(comparator->key.index);
	MemoryContext caller;
	int			order = 0;

	if (comparator->scratch == NULL)
		comparator->scratch = AllocSetContextCreate(comparator->context,
													"sware comparisons",
													ALLOCSET_SMALL_SIZES);
	else if (++comparator->calls % CALLS_PER_RESET == 0)
		MemoryContextReset(comparator->scratch);
	caller = MemoryContextSwitchTo(comparator->scratch);
	for (int i = 0; i < comparator->key.columnCount && order == 0; i++)
	{
		bool		null_a;
		bool		null_b;
		Datum		value_a = index_getattr(a, i + 1, descriptor, &null_a);
		Datum		value_b = index_getattr(b, i + 1, descriptor, &null_b);

		order = ApplySortComparator(value_a, null_a, value_b, null_b,
									&comparator->columns[i]);
	}
	MemoryContextSwitchTo(caller);
	return order;
}

static inline Datum
known_value(const KnownColumn *known, int64 i, bool *is_null)
{
	if (i % 1024 == 0)
		CHECK_FOR_INTERRUPTS();
	return index_getattr(known->entries[i], known->number + 1,
						 known->descriptor, is_null);
}

/*
 * How many bytes do all values, which are compared or guessed by their bytes,
 * begin with?  0 if one is compressed.
 */
static Size
common_start(const KnownColumn *known)
{
	SwareBytes	first = {NULL, 0};
	Size		common = 0;

	for (int64 i = 0; i < known->count; i++)
	{
		bool		is_null;
		Datum		value = known_value(known, i, &is_null);
		SwareBytes	bytes;

		if (is_null)
			continue;
		bytes = sware_bytes_of(known->how->comparison, value);
		if (bytes.data == NULL)
			return 0;
		if (first.data == NULL)
		{
			first = bytes;
			common = bytes.size;
		}
		common = Min(common, bytes.size);
		if (memcmp(first.data, bytes.data, common) != 0)
		{
			common = 0;
			while (first.data[common] == bytes.data[common])
				common++;
		}
		if (common == 0)
			break;
	}
	return common;
}

/* The number of a value of a part, in the order of the index. */
static inline int64
number_in_part(const SwareKeyColumn *how, const SwareNumberPart *part,
			   Datum value)
{
	int64		number;

	if (sware_is_integer(how->comparison))
		return sware_abbreviate_value(how, value, false);
	number = part->guess == SWARE_GUESS_USUAL ?
		sware_guess_of_text(value, part->start) :
		sware_number_of_value(part->guess == SWARE_GUESS_BYTES ?
							  SWARE_COMPARE_BYTES : how->comparison,
							  value, part->start);
	return how->descending ? ~number : number;
}

/* Set up codes of so many bits.  Returns false if there are too many. */
static bool
make_codes(SwareNumberPart *part, const KnownColumn *known, int room)
{
	bool		nulls_first = known->how->nullsFirst;
	int64		highest = PG_INT64_MIN;
	bool		has_nulls = false;
	uint64		last;

	part->lowest = PG_INT64_MAX;
	for (int64 i = 0; i < known->count; i++)
	{
		bool		is_null;
		Datum		value = known_value(known, i, &is_null);
		int64		number;

		has_nulls |= is_null;
		if (is_null)
			continue;
		number = number_in_part(known->how, part, value);
		part->lowest = Min(part->lowest, number);
		highest = Max(highest, number);
	}
	if (part->lowest > highest)
		part->lowest = highest; /* all are null */
	last = (uint64) highest - (uint64) part->lowest;
	if (has_nulls && last++ == PG_UINT64_MAX)
		return false;

	part->codeOfLowest = has_nulls && nulls_first ? 1 : 0;
	part->codeOfNull = nulls_first ? 0 : last;
	part->bits = last == 0 ? 0 : pg_leftmost_one_pos64(last) + 1;
	part->dropped = Max(part->bits - room, 0);
	part->bits -= part->dropped;
	return true;
}

/*
 * Try a guess with pairs of entries that came one behind the other.  If they
 * came nearly in order, these are the pairs that are hard to tell apart.  Calls
 * comparators.
 */
static bool
guess_is_good(SwareComparator *comparator, const IndexTuple *entries,
			  int64 count)
{
	int64		step = Max((count - 1) / TRIED_PAIRS, 1);
	int			untold = 0;
	int			wrong = 0;

	for (int64 i = 0; i < TRIED_PAIRS && (i * step) + 1 < count; i++)
	{
		IndexTuple	a = entries[i * step];
		IndexTuple	b = entries[i * step + 1];
		int64		number_a = sware_refined_number(comparator, a);
		int64		number_b = sware_refined_number(comparator, b);

		if (number_a == number_b)
			untold++;
		else if ((sware_comparator_keys(comparator, a, b) < 0) !=
				 (number_a < number_b))
			wrong++;
	}
	return untold <= MAX_UNTOLD && wrong <= MAX_WRONG;
}

/*
 * Let the numbers of entries tell as much as they can, given that a comparator
 * will be used for these entries only: leave out what all values of a column
 * begin with, and use further columns, as long as those before are told
 * exactly.  Where they could tell more by a guess, and `may_guess` is not set,
 * they stay abbreviations.  Calls comparators.
 */
void
sware_refine_numbers(SwareComparator *comparator, const IndexTuple *entries,
					 int64 count, bool may_guess)
{
	int			columns = comparator->key.columnCount;
	int			room = BITS_OF_NUMBER;
	bool		is_exact = true;
	int			parts;

	Assert(comparator->partCount == 0);
	if (comparator->numbersDecide)
		return;
	for (parts = 0; is_exact && room > 0 &&
		 parts < Min(columns, SWARE_MAX_NUMBER_PARTS); parts++)
	{
		SwareNumberPart *part = &comparator->parts[parts];
		KnownColumn known = {RelationGetDescr(comparator->key.index), entries,
		count, parts, &comparator->key.columns[parts]};
		SwareComparison comparison = known.how->comparison;
		bool		guesses = comparison == SWARE_COMPARE_FUNCTION;

		if (guesses && (comparator->guess == SWARE_GUESS_NOTHING ||
						!OidIsValid(known.how->collation) ||
						TupleDescAttr(known.descriptor, parts)->attlen != -1))
			break;
		if (guesses && !may_guess)
			return;
		is_exact = sware_is_integer(comparison);
		part->guess = guesses ? comparator->guess : SWARE_GUESS_NOTHING;
		part->start = guesses || sware_is_bytes(comparison) ?
			common_start(&known) : 0;

		/* abbreviations are about as good, and need not be made again */
		if (parts == 0 && !is_exact && !guesses && part->start < MIN_LEFT_OUT)
			break;
		if (!make_codes(part, &known, room))
			break;
		comparator->hasGuess = guesses;
		room -= part->bits;
		is_exact &= part->dropped == 0;
	}
	comparator->partCount = parts;
	comparator->numbersDecide = is_exact && parts == columns;
	if (comparator->hasGuess && !guess_is_good(comparator, entries, count))
	{
		comparator->guess++;
		sware_unrefine_numbers(comparator);
		sware_refine_numbers(comparator, entries, count, true);
	}
}

/* Leave the guess out of the numbers of entries. */
void
sware_drop_guess(SwareComparator *comparator)
{
	comparator->partCount--;
	comparator->hasGuess = false;
}

/* Let the numbers of entries be abbreviations again. */
void
sware_unrefine_numbers(SwareComparator *comparator)
{
	comparator->partCount = 0;
	comparator->hasGuess = false;
	comparator->numbersDecide = comparator->key.columnCount == 1 &&
		sware_is_integer(comparator->key.columns[0].comparison);
}

/* The number of an entry that is one of those that are known. */
int64
sware_refined_number(const SwareComparator *comparator, IndexTuple entry)
{
	uint64		number = 0;

	for (int i = 0; i < comparator->partCount; i++)
	{
		const SwareNumberPart *part = &comparator->parts[i];
		bool		is_null;
		Datum		value =
			index_getattr(entry, i + 1,
						  RelationGetDescr(comparator->key.index), &is_null);
		uint64		code = is_null ? part->codeOfNull :
			(uint64) number_in_part(&comparator->key.columns[i], part, value) -
			(uint64) part->lowest + part->codeOfLowest;

		number = number << part->bits | code >> part->dropped;
	}
	return (int64) number;
}
