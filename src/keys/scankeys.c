/*-------------------------------------------------------------------------
 *
 * scankeys.c
 *	  Turning a scan's qualification into a range and conditions; restricting
 *	  it to an interval.
 *
 * See scankeys.h for what these are.  Nothing here reads a page.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "utils/memutils.h"

#include "keys/scankeys.h"

/* the keys of one column that make the range */
typedef struct ChosenKeys
{
	ScanKey		equality;		/* `=` or IS NULL */
	ScanKey		array;			/* `= ANY`, if there is no such equality */
	ScanKey		lower;			/* these only if there is neither */
	ScanKey		upper;
	ScanKey		notNull;
} ChosenKeys;

/*
 * Set up scan keys for a scan with up to `count` keys.  Memory comes from the
 * current context, which lives as long as the scan.
 */
void
sware_scan_keys_init(SwareScanKeys *keys, Relation index, int count)
{
	memset(keys, 0, offsetof(SwareScanKeys, low));
	keys->index = index;
	keys->scanContext = CurrentMemoryContext;
	keys->isEmpty = true;
	if (count > 0)
		keys->conditions = palloc(count * sizeof(SwareCondition));
}

/* Free the memory of scan keys. */
void
sware_scan_keys_free(SwareScanKeys *keys)
{
	while (unlikely(keys->crossTypeFunctions != NULL))
	{
		SwareCrossTypeFunction *next = keys->crossTypeFunctions->next;

		pfree(keys->crossTypeFunctions);
		keys->crossTypeFunctions = next;
	}
	if (unlikely(keys->arrayContext != NULL))
		MemoryContextDelete(keys->arrayContext);
	if (keys->conditions)
		pfree(keys->conditions);
	if (unlikely(keys->intervalMemory != NULL))
		pfree(keys->intervalMemory);
	if (unlikely(keys->skipMemory != NULL))
		pfree(keys->skipMemory);
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
	Oid			type_a = sware_argument_type(keys, a);
	Oid			type_b = sware_argument_type(keys, b);
	SwareKeyColumn order;
	int			result;

	if (sware_find_scan_function(keys, column, type_a, type_b) == NULL)
		return a;
	sware_init_scan_column(keys, &order, column, type_a, type_b,
						   a->sk_collation);
	order.value = b->sk_argument;
	/* negative if b comes before a */
	result = sware_compare_column(&order, a->sk_argument, false);
	if (result == 0)
		return is_strict(b) ? b : a;
	return (result > 0) == is_lower_bound(keys, a) ? b : a;
}

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
			chosen->notNull = key;
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

		/* operators are strict: nothing qualifies if the argument is null */
		if ((key->sk_flags & SK_ISNULL) && !KEY_IS_NULL(key) &&
			!KEY_IS_NOT_NULL(key))
			return false;
		if (KEY_IS_ARRAY(key) && key->sk_strategy != BTEqualStrategyNumber &&
			!sware_reduce_to_extreme(keys, key))
			return false;
	}
	return true;
}

static void
add_column(SwareScanKeys *keys, SwareSearchKey *end, ScanKey key)
{
	int			column = end->columnCount++;

	sware_make_scan_column(keys, &end->columns[column], column, key);
}

/* Let an end of the range have an element as the value of the next column. */
static void
add_element(SwareSearchKey *end, const SwareElements *elements, int element)
{
	SwareKeyColumn *column = &end->columns[end->columnCount++];

	*column = elements->column;
	column->value = elements->values[element];
}

/* Add a condition; if its key has an array, with the elements. */
static void
add_condition(SwareScanKeys *keys, ScanKey key, SwareElements *elements)
{
	SwareCondition *condition = &keys->conditions[keys->conditionCount++];

	condition->key = key;
	condition->elements = elements;
	sware_compare_as_integers(keys, condition);
}

/*
 * A key narrows the stretches: once there is an array, it becomes a condition
 * on the entries of the range.  The key may be missing.
 */
static void
narrow_stretches(SwareScanKeys *keys, ScanKey key)
{
	if (key && keys->conditionCount > 0)
		add_condition(keys, key, NULL);
}

/*
 * Let the bounds on the column after the equalities narrow the stretches.
 * Strict operators reject nulls, so any bound keeps the stretches off the
 * nulls.
 */
static void
add_bounds(SwareScanKeys *keys, const ChosenKeys *chosen)
{
	int			column = keys->low.columnCount;
	bool		nulls_first = (keys->index->rd_indoption[column] &
							   INDOPTION_NULLS_FIRST) != 0;

	if (!chosen->lower && !chosen->upper && !chosen->notNull)
		return;
	narrow_stretches(keys, chosen->lower);
	narrow_stretches(keys, chosen->upper);
	narrow_stretches(keys, chosen->notNull);
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
 * Make the range of the keys on the first columns with equalities and the
 * column after them, and set `chosen` for those columns.  Returns the number of
 * columns, or 0 if an array has no elements.
 */
static int
make_range(SwareScanKeys *keys, ScanKey qualification, int count,
		   ChosenKeys *chosen)
{
	int			columns = IndexRelationGetNumberOfKeyAttributes(keys->index);

	for (int column = 0; column < columns; column++)
	{
		ChosenKeys *here = &chosen[column];

		choose_keys(keys, qualification, count, column, here);
		if (!here->equality && !here->array)
		{
			add_bounds(keys, here);
			return column + 1;
		}
		if (here->equality)
		{
			add_column(keys, &keys->low, here->equality);
			add_column(keys, &keys->high, here->equality);
			narrow_stretches(keys, here->equality);
		}
		else
		{
			SwareElements *elements = sware_get_elements(keys, here->array);

			if (elements->count == 0)
				return 0;
			add_element(&keys->low, elements, 0);
			add_element(&keys->high, elements, elements->count - 1);
			if (elements->count > 1 || keys->conditionCount > 0)
				add_condition(keys, here->array, elements);
		}
		keys->stretchColumns++;
		if (keys->conditionCount == 0)
			keys->prefixColumns++;
	}
	return columns;
}

/* Forget the analysis before.  Nothing can qualify then. */
static void
begin_analysis(SwareScanKeys *keys)
{
	if (unlikely(keys->arrayContext != NULL))
		MemoryContextReset(keys->arrayContext);
	sware_search_key_init(&keys->low, keys->index);
	sware_search_key_init(&keys->high, keys->index);
	keys->high.after = true;
	keys->isEmpty = true;
	keys->hasOnlyEqualities = false;
	keys->prefixColumns = keys->stretchColumns = 0;
	keys->conditionCount = keys->stretchConditions = 0;
	keys->interval = NULL;
	keys->skip = NULL;
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

	if (unlikely(count == 0 || keys->interval))
		return false;
	for (int i = 0; i < count; i++)
	{
		if (!sware_is_own_equality(keys->index, &qualification[i], i))
			return false;
		is_set = is_set &&
			qualification[i].sk_collation == keys->low.columns[i].collation;
	}

	if (!is_set)
	{
		begin_analysis(keys);
		keys->isEmpty = false;
		keys->prefixColumns = keys->stretchColumns = count;
		keys->low.columnCount = keys->high.columnCount = count;
		for (int i = 0; i < count; i++)
		{
			Oid			own = keys->index->rd_opcintype[i];

			sware_init_scan_column(keys, &keys->low.columns[i], i, own, own,
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

		if (key && KEY_IS_OPERATOR(key) && !sware_is_comparable(keys, key))
			*operators[i] = NULL;
	}
}

/* Set the ends of the values that a column may have (skip.c). */
static void
set_skip_ends(SwareScanKeys *keys, SwareSkipColumn *skipped, int column,
			  const ChosenKeys *chosen)
{
	bool		nulls_first = (keys->index->rd_indoption[column] &
							   INDOPTION_NULLS_FIRST) != 0;
	ScanKey		bounds[] = {chosen->lower, chosen->upper};
	bool		has_no_nulls = chosen->equality || chosen->lower ||
		chosen->upper || chosen->notNull;

	for (int i = 0; i < (int) lengthof(bounds); i++)
	{
		SwareSkipEnd *end = &skipped->ends[i];
		ScanKey		key = chosen->equality ? chosen->equality : bounds[i];

		/* nulls, which no operator accepts, are at one end */
		end->isGiven = key || (has_no_nulls && nulls_first == (i == 0));
		end->isStrict = key == NULL ||
			(key != chosen->equality && is_strict(key));
		sware_make_scan_column(keys, &end->column, column, key);
	}
}

/*
 * Let scans skip entries of the range if there are stretches, or conditions on
 * columns behind the first one without an equality.  The conditions have been
 * made.
 */
static void
set_skip(SwareScanKeys *keys, ScanKey qualification, int count)
{
	SwareSkipKeys *skip;
	int			last = 0;

	for (int i = 0; i < keys->conditionCount; i++)
		last = Max(last, keys->conditions[i].key->sk_attno - 1);
	if (last <= keys->prefixColumns && keys->stretchConditions == 0)
		return;

	if (keys->skipMemory == NULL)
	{
		keys->skipMemory =
			MemoryContextAlloc(keys->scanContext, sizeof(SwareSkipKeys));
		sware_search_key_prepare(&keys->skipMemory->from, keys->index);
	}
	skip = keys->skipMemory;
	skip->lastColumn = last;
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
		if (skipped->elements == NULL)
			set_skip_ends(keys, skipped, column, &chosen);
	}
	keys->skip = skip;
}

/*
 * Turn a qualification into a range and conditions.  The keys are the scan's
 * own copy; they may be changed, and must stay as long as the result is used.
 * Calls comparators, and takes memory from the scan's contexts.
 */
void
sware_scan_keys_analyze(SwareScanKeys *keys, ScanKey qualification, int count)
{
	ChosenKeys	chosen[INDEX_MAX_KEYS];
	int			columns;

	if (likely(set_equalities(keys, qualification, count)))
		return;
	begin_analysis(keys);
	if (!check_keys(keys, qualification, count))
		return;

	columns = make_range(keys, qualification, count, chosen);
	if (columns == 0)
		return;
	keys->stretchConditions = keys->conditionCount;

	for (int i = 0; i < count; i++)
	{
		ScanKey		key = &qualification[i];
		int			column = key->sk_attno - 1;
		SwareElements *elements = NULL;

		if (column < columns)
		{
			const ChosenKeys *here = &chosen[column];

			if (key == here->equality || key == here->array ||
				key == here->lower || key == here->upper)
				continue;

			/* stretches made by operators hold no nulls of the column */
			if (KEY_IS_NOT_NULL(key) && here->notNull &&
				!(here->equality && KEY_IS_NULL(here->equality)))
				continue;
		}

		if (KEY_IS_ARRAY(key))
		{
			elements = sware_get_elements(keys, key);
			if (elements->count == 0)
				return;
		}
		add_condition(keys, key, elements);
	}
	set_skip(keys, qualification, count);
	keys->isEmpty = false;
}

/*
 * Has the range a part beyond an entry or pivot, or beyond the first entry of a
 * posting list, in a direction?  Going backward, what lies at it counts as
 * beyond.  Calls comparators.
 */
bool
sware_scan_keys_go_beyond(const SwareScanKeys *keys, IndexTuple tuple,
						  bool forward)
{
	const SwareSearchKey *end = forward ? &keys->high : &keys->low;
	int			order;

	if (end->columnCount == 0)
		return true;
	order = sware_compare_key(end, tuple);
	if (!forward)
		return order <= 0;
	return order > 0 ||
		(order == 0 && end->hasTid && sware_tuple_is_posting(tuple) &&
		 ItemPointerCompare(unconstify(ItemPointerData *, &end->tid),
							sware_posting_tids(tuple)) > 0);
}

/*
 * Restrict the scan to the interval that is not below `begin` and below `end`,
 * each a pivot or an entry; NULL means no such end.  The tuples must stay in
 * place until the next restriction, sware_scan_keys_lift_restriction, or the
 * next analysis.  Calls comparators.
 */
void
sware_scan_keys_restrict(SwareScanKeys *keys, IndexTuple begin, IndexTuple end)
{
	SwareSearchKey *low = &keys->low;
	SwareSearchKey *high = &keys->high;
	SwareInterval *interval;

	sware_scan_keys_lift_restriction(keys);
	if (keys->isEmpty)
		return;
	if (keys->intervalMemory == NULL)
		keys->intervalMemory =
			MemoryContextAlloc(keys->scanContext, sizeof(SwareInterval));
	interval = keys->intervalMemory;
	sware_copy_search_key(&interval->low, low);
	sware_copy_search_key(&interval->high, high);
	interval->cutsLow = begin &&
		(low->columnCount == 0 || sware_compare_key(low, begin) < 0);
	interval->cutsHigh = end && sware_scan_keys_go_beyond(keys, end, true);
	keys->isEmpty = begin && !sware_scan_keys_go_beyond(keys, begin, true);
	if (interval->cutsLow)
		sware_search_key_from_tuple(low, keys->index, begin);
	keys->isEmpty |= end && low->columnCount > 0 &&
		sware_compare_key(low, end) >= 0;
	if (interval->cutsHigh)
		sware_search_key_from_tuple(high, keys->index, end);
	keys->interval = interval;
}

/* Remove the restriction: the scan has all of its range again. */
void
sware_scan_keys_lift_restriction(SwareScanKeys *keys)
{
	SwareInterval *interval = keys->interval;

	if (interval == NULL)
		return;
	sware_copy_search_key(&keys->low, &interval->low);
	sware_copy_search_key(&keys->high, &interval->high);
	keys->interval = NULL;
	keys->isEmpty = false;
}
