/*-------------------------------------------------------------------------
 *
 * scankeys.c
 *	  Turning a scan's qualification into ranges and conditions.
 *
 * See scankeys.h for what these are.  Nothing here reads a page.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "keys/scankeys.h"
#include "keys/searchkey.h"
#include "keys/skip.h"
#include "layout/tuple.h"

/* the keys of one column that make the ranges */
typedef struct ChosenKeys
{
	ScanKey		equality;		/* `=` or IS NULL */
	ScanKey		array;			/* `= ANY`, if there is no such equality */
	ScanKey		lower;			/* these only if there is neither */
	ScanKey		upper;
	bool		notNull;
} ChosenKeys;

#define KEY_IS_NULL(key)		(((key)->sk_flags & SK_SEARCHNULL) != 0)
#define KEY_IS_NOT_NULL(key)	(((key)->sk_flags & SK_SEARCHNOTNULL) != 0)
#define KEY_IS_ARRAY(key)		(((key)->sk_flags & SK_SEARCHARRAY) != 0)
#define KEY_IS_OPERATOR(key)                                                  \
	(((key)->sk_flags &                                                       \
	  (SK_SEARCHNULL | SK_SEARCHNOTNULL | SK_SEARCHARRAY)) == 0)

/*
 * Set up scan keys for a scan with up to `count` keys.  Memory comes from the
 * current context, which lives as long as the scan.
 */
void
sware_scan_keys_init(SwareScanKeys *keys, Relation index, int count)
{
	keys->index = index;
	keys->scanContext = CurrentMemoryContext;
	keys->arrayContext = NULL;
	keys->crossTypeFunctions = NULL;
	keys->rangeCount = 0;
	keys->conditionCount = 0;
	keys->hasOnlyEqualities = false;
	keys->interval = keys->intervalMemory = NULL;
	keys->skip = keys->skipMemory = NULL;
	keys->conditions = count > 0 ? palloc(count * sizeof(SwareCondition)) :
		NULL;
}

/* Free the memory of scan keys. */
void
sware_scan_keys_free(SwareScanKeys *keys)
{
	while (keys->crossTypeFunctions)
	{
		SwareCrossTypeFunction *next = keys->crossTypeFunctions->next;

		pfree(keys->crossTypeFunctions);
		keys->crossTypeFunctions = next;
	}
	if (keys->arrayContext)
		MemoryContextDelete(keys->arrayContext);
	if (keys->conditions)
		pfree(keys->conditions);
	if (keys->intervalMemory)
		pfree(keys->intervalMemory);
	if (keys->skipMemory)
		pfree(keys->skipMemory);
}

/*
 * The family's comparison function for two types, or NULL if it has none.
 */
static FmgrInfo *
find_function(SwareScanKeys *keys, int column, Oid left, Oid right)
{
	Oid			own = keys->index->rd_opcintype[column];
	SwareCrossTypeFunction *cached;
	RegProcedure procedure;

	if (left == own && right == own)
		return index_getprocinfo(keys->index, column + 1, BTORDER_PROC);

	for (cached = keys->crossTypeFunctions; cached; cached = cached->next)
	{
		if (cached->column == column && cached->left == left &&
			cached->right == right)
			return cached->found ? &cached->function : NULL;
	}

	procedure = get_opfamily_proc(keys->index->rd_opfamily[column], left, right,
								  BTORDER_PROC);
	cached =
		MemoryContextAlloc(keys->scanContext, sizeof(SwareCrossTypeFunction));
	cached->column = column;
	cached->left = left;
	cached->right = right;
	cached->found = RegProcedureIsValid(procedure);
	if (cached->found)
		fmgr_info_cxt(procedure, &cached->function, keys->scanContext);
	cached->next = keys->crossTypeFunctions;
	keys->crossTypeFunctions = cached;
	return cached->found ? &cached->function : NULL;
}

static FmgrInfo *
get_function(SwareScanKeys *keys, int column, Oid left, Oid right)
{
	FmgrInfo   *function = find_function(keys, column, left, right);

	if (function == NULL)
		elog(ERROR, "missing support function %d(%u,%u) for attribute %d of index \"%s\"",
			 BTORDER_PROC, left, right, column + 1,
			 RelationGetRelationName(keys->index));
	return function;
}

/* the type of a key's argument, or of the elements if that is an array */
static Oid
argument_type(SwareScanKeys *keys, ScanKey key)
{
	return OidIsValid(key->sk_subtype) ? key->sk_subtype :
		keys->index->rd_opcintype[key->sk_attno - 1];
}

static void
init_column(SwareScanKeys *keys, SwareKeyColumn *result, int column,
			Oid left, Oid right, Oid collation)
{
	int16		option = keys->index->rd_indoption[column];

	result->value = (Datum) 0;
	result->isNull = false;
	result->descending = (option & INDOPTION_DESC) != 0;
	result->nullsFirst = (option & INDOPTION_NULLS_FIRST) != 0;
	result->function = get_function(keys, column, left, right);
	result->collation = collation;
	result->comparison = sware_comparison_kind(result->function, collation);
}

static int
compare_elements(const void *a, const void *b, void *arg)
{
	SwareKeyColumn *column = arg;

	column->value = *(const Datum *) a;
	return sware_compare_column(column, *(const Datum *) b, false);
}

/*
 * Get the elements of an array key that are not null, in no order.  Returns
 * their number.
 */
static int
deconstruct_key_array(SwareScanKeys *keys, ScanKey key, Datum **values)
{
	ArrayType  *array;
	int16		length;
	bool		by_value;
	char		alignment;
	bool	   *nulls;
	int			total;
	int			count = 0;
	MemoryContext old;

	if (keys->arrayContext == NULL)
		keys->arrayContext = AllocSetContextCreate(keys->scanContext,
												   "sware scan arrays",
												   ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(keys->arrayContext);

	array = DatumGetArrayTypeP(key->sk_argument);
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &alignment);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, alignment,
					  values, &nulls, &total);
	for (int i = 0; i < total; i++)
	{
		if (!nulls[i])
			(*values)[count++] = (*values)[i];
	}

	MemoryContextSwitchTo(old);
	return count;
}

/*
 * Get the elements of an array key with an equality, sorted and without
 * duplicates.
 */
static void
get_elements(SwareScanKeys *keys, ScanKey key, SwareElements *elements)
{
	int			column = key->sk_attno - 1;
	Oid			type = argument_type(keys, key);
	int			count;

	count = deconstruct_key_array(keys, key, &elements->values);
	if (count > 1)
	{
		SwareKeyColumn order;
		int			unique = 1;

		init_column(keys, &order, column, type, type, key->sk_collation);
		qsort_arg(elements->values, count, sizeof(Datum), compare_elements,
				  &order);
		for (int i = 1; i < count; i++)
		{
			if (compare_elements(&elements->values[unique - 1],
								 &elements->values[i], &order) != 0)
				elements->values[unique++] = elements->values[i];
		}
		count = unique;
	}
	elements->count = count;
	init_column(keys, &elements->column, column,
				keys->index->rd_opcintype[column], type, key->sk_collation);
}

/* Is a value of the index column, not null, equal to an element? */
static bool
elements_contain(SwareElements *elements, Datum value)
{
	int			low = 0;
	int			high = elements->count;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;
		int			order;

		elements->column.value = elements->values[middle];
		order = sware_compare_column(&elements->column, value, false);
		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/*
 * Turn an inequality with an array into one with a single value: what is less
 * than any element is less than the largest one.  Returns false if there is no
 * element, so that nothing qualifies.
 *
 * This changes the scan's own copy of the key.
 */
static bool
reduce_to_extreme_element(SwareScanKeys *keys, ScanKey key)
{
	bool		want_largest = key->sk_strategy < BTEqualStrategyNumber;
	Oid			type = argument_type(keys, key);
	SwareKeyColumn order;
	Datum	   *values;
	Datum		extreme;
	int			count;

	count = deconstruct_key_array(keys, key, &values);
	if (count == 0)
		return false;

	init_column(keys, &order, key->sk_attno - 1, type, type, key->sk_collation);
	order.descending = false;
	extreme = values[0];
	for (int i = 1; i < count; i++)
	{
		int			result = compare_elements(&extreme, &values[i], &order);

		if (want_largest ? result < 0 : result > 0)
			extreme = values[i];
	}
	key->sk_argument = extreme;
	key->sk_flags &= ~SK_SEARCHARRAY;
	return true;
}

/* Is a bound one on the lower end, in index order? */
static bool
is_lower_bound(SwareScanKeys *keys, ScanKey key)
{
	bool		descending = (keys->index->rd_indoption[key->sk_attno - 1] &
							  INDOPTION_DESC) != 0;

	return (key->sk_strategy > BTEqualStrategyNumber) != descending;
}

static bool
is_strict(ScanKey key)
{
	return key->sk_strategy == BTLessStrategyNumber ||
		key->sk_strategy == BTGreaterStrategyNumber;
}

/*
 * Return the tighter of two bounds on the same end of a column.  If the
 * operator family cannot compare them, either will do: the other one becomes a
 * condition.
 */
static ScanKey
tighter_bound(SwareScanKeys *keys, ScanKey a, ScanKey b)
{
	int			column = a->sk_attno - 1;
	Oid			type_a = argument_type(keys, a);
	Oid			type_b = argument_type(keys, b);
	SwareKeyColumn order;
	int			result;

	if (find_function(keys, column, type_a, type_b) == NULL)
		return a;
	init_column(keys, &order, column, type_a, type_b, a->sk_collation);
	order.value = b->sk_argument;
	/* negative if b comes before a */
	result = sware_compare_column(&order, a->sk_argument, false);
	if (result == 0)
		return is_strict(b) ? b : a;
	return (result > 0) == is_lower_bound(keys, a) ? b : a;
}

/*
 * Choose the keys of a column that make the ranges.
 */
static void
choose_keys(SwareScanKeys *keys, ScanKey qualification, int count, int column,
			ChosenKeys *chosen)
{
	memset(chosen, 0, sizeof(ChosenKeys));
	for (int i = 0; i < count; i++)
	{
		ScanKey		key = &qualification[i];

		if (key->sk_attno != column + 1)
			continue;
		if (KEY_IS_NOT_NULL(key))
			chosen->notNull = true;
		else if (KEY_IS_ARRAY(key))
		{
			if (chosen->array == NULL)
				chosen->array = key;
		}
		else if (KEY_IS_NULL(key) || key->sk_strategy == BTEqualStrategyNumber)
		{
			if (chosen->equality == NULL)
				chosen->equality = key;
		}
		else
		{
			ScanKey    *bound = is_lower_bound(keys, key) ? &chosen->lower :
				&chosen->upper;

			*bound = *bound ? tighter_bound(keys, *bound, key) : key;
		}
	}

	if (chosen->equality)
		chosen->array = NULL;
	if (chosen->equality || chosen->array)
		chosen->lower = chosen->upper = NULL;
}

/*
 * Keep those of the given values of the index column, none null, that satisfy
 * a key.  Returns their number.
 */
static int
keep_satisfying(SwareScanKeys *keys, ScanKey key, Datum *values, int count)
{
	SwareElements elements;
	int			kept = 0;

	if (KEY_IS_NULL(key))
		return 0;
	if (KEY_IS_NOT_NULL(key))
		return count;
	if (KEY_IS_ARRAY(key))
		get_elements(keys, key, &elements);

	for (int i = 0; i < count; i++)
	{
		bool		satisfies;

		if (KEY_IS_ARRAY(key))
			satisfies = elements_contain(&elements, values[i]);
		else
			satisfies = DatumGetBool(
									 FunctionCall2Coll(&key->sk_func, key->sk_collation,
													   values[i], key->sk_argument));
		if (satisfies)
			values[kept++] = values[i];
	}
	return kept;
}

/*
 * Test the values that a prefix column may have with the column's other keys,
 * so that these need not be tested on entries.  This is possible only if the
 * values are of the column's own type.  Returns whether it was; then *count is
 * the number of values left.
 */
static bool
settle_column(SwareScanKeys *keys, ScanKey qualification, int key_count,
			  ScanKey driver, Datum *values, int *count)
{
	int			column = driver->sk_attno - 1;

	if (argument_type(keys, driver) != keys->index->rd_opcintype[column])
		return false;
	for (int i = 0; i < key_count; i++)
	{
		ScanKey		key = &qualification[i];

		if (key != driver && key->sk_attno == column + 1)
			*count = keep_satisfying(keys, key, values, *count);
	}
	return true;
}

/* Check each key on its own.  Returns false if one cannot be satisfied. */
static bool
check_keys(SwareScanKeys *keys, ScanKey qualification, int count)
{
	for (int i = 0; i < count; i++)
	{
		ScanKey		key = &qualification[i];

		/* PostgreSQL makes these for nbtree only. */
		if (key->sk_flags & SK_ROW_HEADER)
			elog(ERROR, "row comparisons are not supported by index \"%s\"",
				 RelationGetRelationName(keys->index));

		/*
		 * Operators are strict, so nothing qualifies if the argument is null.
		 */
		if ((key->sk_flags & SK_ISNULL) && !KEY_IS_NULL(key) &&
			!KEY_IS_NOT_NULL(key))
			return false;
		if (KEY_IS_ARRAY(key) && key->sk_strategy != BTEqualStrategyNumber &&
			!reduce_to_extreme_element(keys, key))
			return false;
	}
	return true;
}

/*
 * Convert an integer to another integer type.  Returns false if the type is
 * not one, or the integer is out of its range.
 */
static bool
convert_integer(Datum *value, Oid from, Oid to)
{
	int64		number;

	switch (from)
	{
		case INT2OID:
			number = DatumGetInt16(*value);
			break;
		case INT4OID:
			number = DatumGetInt32(*value);
			break;
		case INT8OID:
			number = DatumGetInt64(*value);
			break;
		default:
			return false;
	}
	switch (to)
	{
		case INT2OID:
			*value = Int16GetDatum((int16) number);
			return number >= PG_INT16_MIN && number <= PG_INT16_MAX;
		case INT4OID:
			*value = Int32GetDatum((int32) number);
			return number >= PG_INT32_MIN && number <= PG_INT32_MAX;
		case INT8OID:
			*value = Int64GetDatum(number);
			return true;
		default:
			return false;
	}
}

/*
 * Make a column, from 0 on, of a search key that has the value of a scan's key,
 * or null if that is NULL.  The value of an array is set later.
 */
static void
make_column(SwareScanKeys *keys, SwareKeyColumn *result, int column,
			ScanKey key)
{
	Oid			own = keys->index->rd_opcintype[column];

	if (key == NULL || KEY_IS_NULL(key))
	{
		init_column(keys, result, column, own, own,
					keys->index->rd_indcollation[column]);
		result->isNull = true;
	}
	else
	{
		Oid			type = argument_type(keys, key);
		Datum		value = key->sk_argument;

		init_column(keys, result, column, own, own, key->sk_collation);

		/*
		 * Prefer an integer of the column's own type, which is compared
		 * without a function call.
		 */
		if (type != own &&
			(!sware_is_integer(result->comparison) ||
			 KEY_IS_ARRAY(key) || !convert_integer(&value, type, own)))
		{
			init_column(keys, result, column, own, type, key->sk_collation);
			value = key->sk_argument;
		}
		result->value = value;
	}
}

/* Append a column to an end of the ranges. */
static void
add_column(SwareScanKeys *keys, SwareSearchKey *end, ScanKey key)
{
	int			column = end->columnCount++;

	make_column(keys, &end->columns[column], column, key);
}

/*
 * Let the bounds on the column after the prefix narrow the ranges.  Strict
 * operators reject nulls, so any bound keeps the ranges off the nulls.
 */
static void
add_bounds(SwareScanKeys *keys, const ChosenKeys *chosen)
{
	int			column = keys->low.columnCount;
	bool		nulls_first = (keys->index->rd_indoption[column] &
							   INDOPTION_NULLS_FIRST) != 0;

	if (!chosen->lower && !chosen->upper && !chosen->notNull)
		return;
	if (chosen->lower || nulls_first)
	{
		add_column(keys, &keys->low, chosen->lower);
		keys->low.after = chosen->lower ? is_strict(chosen->lower) : true;
	}
	if (chosen->upper || !nulls_first)
	{
		add_column(keys, &keys->high, chosen->upper);
		keys->high.after = chosen->upper ? !is_strict(chosen->upper) : false;
	}
}

/*
 * Make ranges of the keys on the prefix and the column after it.  Sets
 * `chosen` for those columns, and `settled` for those whose other keys need no
 * test.  Returns the number of columns, or -1 if nothing can qualify.
 */
static int
make_ranges(SwareScanKeys *keys, ScanKey qualification, int count,
			ChosenKeys *chosen, bool *settled)
{
	int			columns = IndexRelationGetNumberOfKeyAttributes(keys->index);

	for (int column = 0; column < columns; column++)
	{
		ChosenKeys *here = &chosen[column];
		SwareRangeArray *array = &keys->arrays[keys->arrayCount];

		choose_keys(keys, qualification, count, column, here);
		settled[column] = false;

		if (here->equality && KEY_IS_NULL(here->equality))
		{
			/* If one key is IS NULL, all others must be, too. */
			for (int i = 0; i < count; i++)
			{
				if (qualification[i].sk_attno == column + 1 &&
					!KEY_IS_NULL(&qualification[i]))
					return -1;
			}
			settled[column] = true;
		}
		else if (here->equality)
		{
			int			values = 1;

			settled[column] =
				settle_column(keys, qualification, count, here->equality,
							  &here->equality->sk_argument, &values);
			if (values == 0)
				return -1;
		}
		else if (here->array)
		{
			int64		ranges;

			get_elements(keys, here->array, &array->elements);
			settled[column] =
				settle_column(keys, qualification, count, here->array,
							  array->elements.values, &array->elements.count);
			if (array->elements.count == 0)
				return -1;
			if (pg_mul_s64_overflow(keys->rangeCount, array->elements.count,
									&ranges))
			{
				/*
				 * There are too many combinations of array elements: end the
				 * prefix here.
				 */
				memset(here, 0, sizeof(ChosenKeys));
				settled[column] = false;
				return column + 1;
			}
			keys->rangeCount = ranges;
			array->column = column;
			keys->arrayCount++;
		}
		else
		{
			add_bounds(keys, here);
			return column + 1;
		}

		keys->prefixColumns++;
		add_column(keys, &keys->low,
				   here->equality ? here->equality : here->array);
		add_column(keys, &keys->high,
				   here->equality ? here->equality : here->array);
	}
	return columns;
}

/* Forget the analysis before.  There are no ranges then. */
static void
begin_analysis(SwareScanKeys *keys)
{
	if (keys->arrayContext)
		MemoryContextReset(keys->arrayContext);
	sware_search_key_init(&keys->low, keys->index);
	sware_search_key_init(&keys->high, keys->index);
	keys->high.after = true;
	keys->arrayCount = 0;
	keys->conditionCount = 0;
	keys->hasOnlyEqualities = false;
	keys->interval = NULL;
	keys->skip = NULL;
	keys->range = -1;
	keys->prefixColumns = 0;
	keys->rangeCount = 0;
}

/* Does a key say that a column, from 0 on, equals a value of its own type? */
static bool
is_own_equality(SwareScanKeys *keys, ScanKey key, int column)
{
	return key->sk_flags == 0 && key->sk_attno == column + 1 &&
		key->sk_strategy == BTEqualStrategyNumber &&
		argument_type(keys, key) == keys->index->rd_opcintype[column];
}

/*
 * Analyse a qualification if it has only equalities with values of the columns'
 * own types, one for each of the first columns.  Most look-ups are like this,
 * and as a rule a scan begins again with the same operators, so that there are
 * only new values to set.  Returns false if it is not such a qualification.
 */
static bool
set_equalities(SwareScanKeys *keys, ScanKey qualification, int count)
{
	bool		is_set = keys->hasOnlyEqualities &&
		keys->prefixColumns == count;

	if (count == 0 || keys->interval)
		return false;
	for (int i = 0; i < count; i++)
	{
		if (!is_own_equality(keys, &qualification[i], i))
			return false;
		is_set = is_set &&
			qualification[i].sk_collation == keys->low.columns[i].collation;
	}

	if (!is_set)
	{
		begin_analysis(keys);
		keys->rangeCount = 1;
		keys->range = 0;
		keys->prefixColumns = count;
		keys->low.columnCount = keys->high.columnCount = count;
		for (int i = 0; i < count; i++)
		{
			Oid			own = keys->index->rd_opcintype[i];

			init_column(keys, &keys->low.columns[i], i, own, own,
						qualification[i].sk_collation);
			keys->high.columns[i] = keys->low.columns[i];
		}
		keys->hasOnlyEqualities = true;
	}
	for (int i = 0; i < count; i++)
		keys->low.columns[i].value = keys->high.columns[i].value =
			qualification[i].sk_argument;
	return true;
}

/*
 * Can a key's value be compared with the index's values?  An operator family
 * may have the operator, but not the comparison function.
 */
static bool
is_comparable(SwareScanKeys *keys, ScanKey key)
{
	int			column = key->sk_attno - 1;

	return find_function(keys, column, keys->index->rd_opcintype[column],
						 argument_type(keys, key)) != NULL;
}

/* Forget those chosen keys whose values cannot be compared. */
static void
keep_comparable(SwareScanKeys *keys, ChosenKeys *chosen)
{
	ScanKey    *operators[] = {
		&chosen->equality, &chosen->lower, &chosen->upper
	};

	for (int i = 0; i < (int) lengthof(operators); i++)
	{
		ScanKey		key = *operators[i];

		if (key && KEY_IS_OPERATOR(key) && !is_comparable(keys, key))
			*operators[i] = NULL;
	}
}

/* Set the ends of the values that a column may have (skip.h). */
static void
set_skip_ends(SwareScanKeys *keys, SwareSkipColumn *skipped, int column,
			  const ChosenKeys *chosen)
{
	bool		nulls_first = (keys->index->rd_indoption[column] &
							   INDOPTION_NULLS_FIRST) != 0;
	ScanKey		low = chosen->equality ? chosen->equality : chosen->lower;
	ScanKey		high = chosen->equality ? chosen->equality : chosen->upper;
	bool		has_no_nulls = low || high || chosen->notNull;

	/* nulls, which no operator accepts, are at one end */
	skipped->low.isGiven = low || (has_no_nulls && nulls_first);
	skipped->high.isGiven = high || (has_no_nulls && !nulls_first);
	skipped->low.isStrict = low == NULL ||
		(low != chosen->equality && is_strict(low));
	skipped->high.isStrict = high == NULL ||
		(high != chosen->equality && is_strict(high));
	make_column(keys, &skipped->low.column, column, low);
	make_column(keys, &skipped->high.column, column, high);
}

/*
 * Let scans skip entries of the ranges if there are conditions on columns
 * behind the first one without an equality.  The conditions have been made.
 */
static void
set_skip(SwareScanKeys *keys, ScanKey qualification, int count)
{
	SwareSkipKeys *skip;
	int			last = 0;

	for (int i = 0; i < keys->conditionCount; i++)
		last = Max(last, keys->conditions[i].key->sk_attno - 1);
	if (last <= keys->prefixColumns)
		return;

	if (keys->skipMemory == NULL)
		keys->skipMemory =
			MemoryContextAlloc(keys->scanContext, sizeof(SwareSkipKeys));
	skip = keys->skipMemory;
	skip->lastColumn = last;
	sware_search_key_init(&skip->from, keys->index);
	for (int column = 0; column <= last; column++)
		sware_key_column_init(&skip->from.columns[column], keys->index,
							  column + 1, (Datum) 0, true);
	for (int column = keys->prefixColumns; column <= last; column++)
	{
		SwareSkipColumn *skipped = &skip->columns[column];
		ChosenKeys	chosen;

		choose_keys(keys, qualification, count, column, &chosen);
		keep_comparable(keys, &chosen);
		skipped->elements = NULL;
		for (int i = 0; chosen.array && i < keys->conditionCount; i++)
		{
			if (keys->conditions[i].key == chosen.array)
				skipped->elements = keys->conditions[i].elements;
		}
		set_skip_ends(keys, skipped, column, &chosen);
	}
	keys->skip = skip;
}

/*
 * If an operator that comes with the server compares integers of the column's
 * own type, find out which ones pass, so that it need not be called.  Integers
 * of another type are converted, if they can be.
 */
static void
compare_as_integers(SwareScanKeys *keys, SwareCondition *condition)
{
	ScanKey		key = condition->key;
	SwareKeyColumn column;
	int64		number;

	condition->integers = SWARE_COMPARE_FUNCTION;
	if (!KEY_IS_OPERATOR(key) ||
		key->sk_func.fn_oid >= (Oid) FirstNormalObjectId ||
		!is_comparable(keys, key))
		return;
	make_column(keys, &column, key->sk_attno - 1, key);
	switch (column.comparison)
	{
		case SWARE_COMPARE_INT16:
			number = DatumGetInt16(column.value);
			break;
		case SWARE_COMPARE_INT32:
			number = DatumGetInt32(column.value);
			break;
		case SWARE_COMPARE_INT64:
			number = DatumGetInt64(column.value);
			break;
		default:
			return;
	}

	condition->least = key->sk_strategy >= BTEqualStrategyNumber ? number :
		PG_INT64_MIN;
	condition->most = key->sk_strategy <= BTEqualStrategyNumber ? number :
		PG_INT64_MAX;
	if (key->sk_strategy == BTLessStrategyNumber &&
		condition->most-- == PG_INT64_MIN)
		return;
	if (key->sk_strategy == BTGreaterStrategyNumber &&
		condition->least++ == PG_INT64_MAX)
		return;
	condition->integers = column.comparison;
}

/*
 * Turn a qualification into ranges and conditions.  The keys are the scan's
 * own copy; they may be changed, and must stay as long as the result is used.
 * Runs comparators, and takes memory from the scan's contexts.
 */
void
sware_scan_keys_analyze(SwareScanKeys *keys, ScanKey qualification, int count)
{
	ChosenKeys	chosen[INDEX_MAX_KEYS];
	bool		settled[INDEX_MAX_KEYS];
	int			columns;

	if (set_equalities(keys, qualification, count))
		return;
	begin_analysis(keys);
	if (!check_keys(keys, qualification, count))
		return;

	keys->rangeCount = 1;
	columns = make_ranges(keys, qualification, count, chosen, settled);
	if (columns < 0)
	{
		keys->rangeCount = 0;
		return;
	}

	for (int i = 0; i < count; i++)
	{
		ScanKey		key = &qualification[i];
		int			column = key->sk_attno - 1;
		SwareCondition *condition;

		if (column < columns)
		{
			const ChosenKeys *here = &chosen[column];

			if (settled[column] || key == here->equality ||
				key == here->array || key == here->lower || key == here->upper)
				continue;

			/*
			 * Ranges made by a column's operators hold no nulls of that
			 * column.
			 */
			if (KEY_IS_NOT_NULL(key) &&
				(here->notNull || here->equality || here->array))
				continue;
		}

		condition = &keys->conditions[keys->conditionCount++];
		condition->key = key;
		condition->elements = NULL;
		compare_as_integers(keys, condition);
		if (KEY_IS_ARRAY(key))
		{
			SwareElements elements;

			get_elements(keys, key, &elements);
			if (elements.count == 0)
			{
				keys->rangeCount = 0;
				return;
			}
			condition->elements = MemoryContextAlloc(keys->arrayContext,
													 sizeof(SwareElements));
			*condition->elements = elements;
		}
	}

	if (keys->arrayCount == 0)
		keys->range = 0;
	set_skip(keys, qualification, count);
}

/* Copy a search key.  Only the columns that it has are copied. */
static inline void
copy_search_key(SwareSearchKey *to, const SwareSearchKey *from)
{
	memcpy(to, from, offsetof(SwareSearchKey, columns) +
		   from->columnCount * sizeof(SwareKeyColumn));
}

/*
 * Set `low` and `high` as they are in ranges that the interval does not cut.
 */
static void
uncut_range(SwareScanKeys *keys, SwareInterval *interval)
{
	if (interval->lowIsCut)
		copy_search_key(&keys->low, &interval->low);
	if (interval->highIsCut)
		copy_search_key(&keys->high, &interval->high);
	interval->lowIsCut = interval->highIsCut = false;
}

/*
 * Let the current range begin and end where the interval does, if it cuts the
 * range.
 */
static void
cut_range(SwareScanKeys *keys, SwareInterval *interval)
{
	interval->lowIsCut = interval->cutsFirst && keys->range == 0;
	interval->highIsCut = interval->cutsLast &&
		keys->range == keys->rangeCount - 1;
	if (interval->lowIsCut)
		copy_search_key(&keys->low, &interval->begin);
	if (interval->highIsCut)
		copy_search_key(&keys->high, &interval->end);
}

/*
 * Set `low` and `high` to the ends of a range, which becomes the current one.
 */
void
sware_scan_keys_set_range(SwareScanKeys *keys, int64 range)
{
	SwareInterval *interval = keys->interval;
	int64		rest = range;

	Assert(range >= 0 && range < keys->rangeCount);
	if (range == keys->range)
		return;

	if (unlikely(interval != NULL))
	{
		uncut_range(keys, interval);
		rest += interval->firstRange;
	}
	for (int i = keys->arrayCount - 1; i >= 0; i--)
	{
		SwareRangeArray *array = &keys->arrays[i];
		Datum		value =
			array->elements.values[rest % array->elements.count];

		keys->low.columns[array->column].value = value;
		keys->high.columns[array->column].value = value;
		rest /= array->elements.count;
	}
	keys->range = range;
	if (unlikely(interval != NULL))
		cut_range(keys, interval);
}

/*
 * Does a range's upper end lie above an entry or pivot, or above the first
 * entry of a posting list?  Makes the range the current one, and runs
 * comparators.
 */
static bool
range_ends_above(SwareScanKeys *keys, int64 range, IndexTuple tuple)
{
	int			order;

	sware_scan_keys_set_range(keys, range);
	if (keys->high.columnCount == 0)
		return true;
	order = sware_compare_key(&keys->high, tuple);
	return order > 0 ||
		(order == 0 && keys->high.hasTid && sware_tuple_is_posting(tuple) &&
		 ItemPointerCompare(&keys->high.tid, sware_posting_tids(tuple)) > 0);
}

/* Compare a range's lower end with an entry or pivot. */
static int
compare_range_begin(SwareScanKeys *keys, int64 range, IndexTuple tuple)
{
	sware_scan_keys_set_range(keys, range);
	return keys->low.columnCount == 0 ? -1 :
		sware_compare_key(&keys->low, tuple);
}

static bool
range_begins_below(SwareScanKeys *keys, int64 range, IndexTuple tuple)
{
	return compare_range_begin(keys, range, tuple) <= 0;
}

/*
 * Return the first range from `from` on whose upper end lies above an entry or
 * pivot; the number of ranges if there is none.  The range is likely to be
 * near, so the steps of the search grow before they are halved.  Changes the
 * current range, and runs comparators.
 */
int64
sware_scan_keys_first_range_above(SwareScanKeys *keys, int64 from,
								  IndexTuple tuple)
{
	int64		low = from;
	int64		high = keys->rangeCount;

	for (int64 step = 1; low < high; step *= 2)
	{
		int64		probe = low + Min(step, high - low) - 1;

		if (range_ends_above(keys, probe, tuple))
		{
			high = probe;
			break;
		}
		low = probe + 1;
	}
	while (low < high)
	{
		int64		middle = low + (high - low) / 2;

		if (range_ends_above(keys, middle, tuple))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/*
 * Return the last range up to `from` whose lower end is not above an entry or
 * pivot; -1 if there is none.  Changes the current range, and runs
 * comparators.
 */
int64
sware_scan_keys_last_range_below(SwareScanKeys *keys, int64 from,
								 IndexTuple tuple)
{
	int64		low = -1;
	int64		high = from;

	/* The range searched for is one of low..high. */
	for (int64 step = 1; low < high; step *= 2)
	{
		int64		probe = high - Min(step, high - low) + 1;

		if (range_begins_below(keys, probe, tuple))
		{
			low = probe;
			break;
		}
		high = probe - 1;
	}
	while (low < high)
	{
		int64		middle = high - (high - low) / 2;

		if (range_begins_below(keys, middle, tuple))
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/*
 * Restrict the scan to the interval that is not below `begin` and below `end`,
 * each a pivot or an entry; NULL means no such end.  The tuples must stay in
 * place until the next restriction, sware_scan_keys_lift_restriction, or the
 * next analysis.  Runs comparators.
 */
void
sware_scan_keys_restrict(SwareScanKeys *keys, IndexTuple begin, IndexTuple end)
{
	SwareInterval *interval;
	int64		first = 0;
	int64		last;

	sware_scan_keys_lift_restriction(keys);
	if (keys->rangeCount == 0)
		return;
	if (keys->intervalMemory == NULL)
		keys->intervalMemory =
			MemoryContextAlloc(keys->scanContext, sizeof(SwareInterval));
	interval = keys->intervalMemory;

	last = keys->rangeCount - 1;
	interval->allRanges = keys->rangeCount;
	interval->cutsFirst = interval->cutsLast = false;
	interval->lowIsCut = interval->highIsCut = false;
	copy_search_key(&interval->low, &keys->low);
	copy_search_key(&interval->high, &keys->high);

	if (begin)
		first = sware_scan_keys_first_range_above(keys, 0, begin);
	if (end)
	{
		last = sware_scan_keys_last_range_below(keys, last, end);
		if (last >= 0 && compare_range_begin(keys, last, end) == 0)
			last--;
	}
	if (begin && first <= last)
	{
		interval->cutsFirst = compare_range_begin(keys, first, begin) < 0;
		sware_search_key_from_tuple(&interval->begin, keys->index, begin);
	}
	if (end && first <= last)
	{
		interval->cutsLast = range_ends_above(keys, last, end);
		sware_search_key_from_tuple(&interval->end, keys->index, end);
	}

	interval->firstRange = first;
	keys->interval = interval;
	keys->rangeCount = Max(last - first + 1, 0);
	keys->range = -1;
}

/* Remove the restriction: the scan goes through all ranges again. */
void
sware_scan_keys_lift_restriction(SwareScanKeys *keys)
{
	SwareInterval *interval = keys->interval;

	if (interval == NULL)
		return;
	uncut_range(keys, interval);
	keys->interval = NULL;
	keys->rangeCount = interval->allRanges;
	keys->range = -1;
}

/*
 * Does a value of a condition's column, which are not compared as integers,
 * pass it?  Calls the operator's function, so no lightweight lock may be held.
 */
bool
sware_condition_passes(SwareCondition *condition, Datum value, bool is_null)
{
	ScanKey		key = condition->key;

	if (KEY_IS_NULL(key))
		return is_null;
	if (is_null)
		return false;
	if (KEY_IS_NOT_NULL(key))
		return true;
	if (condition->elements)
		return elements_contain(condition->elements, value);
	return DatumGetBool(FunctionCall2Coll(&key->sk_func, key->sk_collation,
										  value, key->sk_argument));
}
