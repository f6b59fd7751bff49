/*-------------------------------------------------------------------------
 *
 * scanvalues.c
 *	  The values of a scan's keys: their types, their arrays, and how they are
 *	  compared with the index's values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "lib/qunique.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "keys/scankeys.h"

/* The family's comparison function for two types, or NULL if it has none. */
FmgrInfo *
sware_find_scan_function(SwareScanKeys *keys, int column, Oid left, Oid right)
{
	Oid			own = keys->index->rd_opcintype[column];
	SwareCrossTypeFunction *cached;

	if (left == own && right == own)
		return index_getprocinfo(keys->index, column + 1, BTORDER_PROC);

	for (cached = keys->crossTypeFunctions; cached; cached = cached->next)
	{
		if (cached->column == column && cached->left == left &&
			cached->right == right)
			break;
	}

	if (cached == NULL)
	{
		RegProcedure procedure =
			get_opfamily_proc(keys->index->rd_opfamily[column], left, right,
							  BTORDER_PROC);

		cached = MemoryContextAllocZero(keys->scanContext,
										sizeof(SwareCrossTypeFunction));
		cached->column = column;
		cached->left = left;
		cached->right = right;
		if (RegProcedureIsValid(procedure))
			fmgr_info_cxt(procedure, &cached->function, keys->scanContext);
		cached->next = keys->crossTypeFunctions;
		keys->crossTypeFunctions = cached;
	}
	return OidIsValid(cached->function.fn_oid) ? &cached->function : NULL;
}

/* A family may have the operator, but not the comparison function. */
bool
sware_is_comparable(SwareScanKeys *keys, ScanKey key)
{
	int			column = key->sk_attno - 1;

	return sware_find_scan_function(keys, column,
									keys->index->rd_opcintype[column],
									sware_argument_type(keys, key)) != NULL;
}

/*
 * Set up a column of a search key that compares index values of the type `left`
 * with values of the type `right`.  The value is set later.
 */
void
sware_init_scan_column(SwareScanKeys *keys, SwareKeyColumn *result, int column,
					   Oid left, Oid right, Oid collation)
{
	sware_key_column_init(result, keys->index, column + 1);
	result->isNull = false;
	result->function = sware_find_scan_function(keys, column, left, right);
	if (result->function == NULL)
		elog(ERROR, "missing support function %d(%u,%u) for attribute %d of index \"%s\"",
			 BTORDER_PROC, left, right, column + 1,
			 RelationGetRelationName(keys->index));
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

/* The elements of an array key that are not null; returns their number. */
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

/* Returns false if a type is no integer, or the value out of its range. */
static bool
convert_integer(Datum *value, Oid from, Oid to)
{
	SwareComparison kind = sware_comparison_of_integers(from);
	SwareComparison wanted = sware_comparison_of_integers(to);

	return sware_is_integer(kind) && sware_is_integer(wanted) &&
		sware_set_integer(wanted, sware_integer_value(kind, *value), value);
}

/*
 * Change an element to a value of the column's type, if it is an integer or a
 * local time.  (Elements are sorted, and where clocks are put forward, local
 * times are not in the order of the instants that they mean.)  Returns false if
 * the type has no such value.
 */
static bool
convert_element(Datum *value, Oid from, Oid to)
{
	TimestampTz instant;

	if (to != TIMESTAMPTZOID)
		return convert_integer(value, from, to);
	if (!sware_instant_of(DatumGetTimestamp(*value), &instant))
		return false;
	*value = TimestampTzGetDatum(instant);
	return true;
}

/* Are local times compared with instants, by the server's function? */
static bool
are_local_times(SwareScanKeys *keys, ScanKey key)
{
	int			column = key->sk_attno - 1;
	FmgrInfo   *function =
		sware_find_scan_function(keys, column,
								 keys->index->rd_opcintype[column],
								 sware_argument_type(keys, key));

	return function && function->fn_oid == F_TIMESTAMPTZ_CMP_TIMESTAMP;
}

/*
 * Get the elements of an array key, sorted and without duplicates.  Integers
 * and local times become values of the column's type if it is compared as an
 * integer; those that it has no room for are left out, since none of its values
 * equals them.
 */
SwareElements *
sware_get_elements(SwareScanKeys *keys, ScanKey key)
{
	int			column = key->sk_attno - 1;
	Oid			type = sware_argument_type(keys, key);
	Oid			own = keys->index->rd_opcintype[column];
	Datum	   *values;
	int			count = deconstruct_key_array(keys, key, &values);
	SwareElements *elements = MemoryContextAlloc(keys->arrayContext,
												 sizeof(SwareElements));

	elements->values = values;
	sware_init_scan_column(keys, &elements->column, column, own, own,
						   key->sk_collation);
	if (type != own && sware_is_integer(elements->column.comparison) &&
		(sware_is_integer(sware_comparison_of_integers(type)) ||
		 are_local_times(keys, key)))
	{
		MemoryContext old = MemoryContextSwitchTo(keys->arrayContext);
		int			kept = 0;

		for (int i = 0; i < count; i++)
		{
			if (convert_element(&elements->values[i], type, own))
				elements->values[kept++] = elements->values[i];
		}
		MemoryContextSwitchTo(old);
		count = kept;
		type = own;
	}
	if (count > 1)
	{
		SwareKeyColumn order;

		sware_init_scan_column(keys, &order, column, type, type,
							   key->sk_collation);
		qsort_arg(elements->values, count, sizeof(Datum), compare_elements,
				  &order);
		count = qunique_arg(elements->values, count, sizeof(Datum),
							compare_elements, &order);
	}
	elements->count = count;
	sware_init_scan_column(keys, &elements->column, column, own, type,
						   key->sk_collation);
	return elements;
}

/*
 * Find the first element, in index order, that does not come before a value of
 * the index column or, with `behind`, comes behind it; or the number of
 * elements.  *equal says whether any is equal.  (Elements of another type may
 * differ, and be equal to one value of the column.)  Calls comparators.
 */
int
sware_find_element(const SwareElements *elements, Datum value, bool is_null,
				   bool behind, bool *equal)
{
	SwareKeyColumn column = elements->column;
	bool		has_number = sware_is_integer(column.comparison) && !is_null;
	int64		number = has_number ?
		sware_integer_value(column.comparison, value) : 0;
	int			low = 0;
	int			high = elements->count;

	*equal = false;
	while (has_number && low < high)
	{
		int			middle = low + (high - low) / 2;
		int64		other = sware_integer_value(column.comparison,
												elements->values[middle]);

		/* elements that are compared as integers all differ */
		if (other == number)
		{
			*equal = true;
			return behind ? middle + 1 : middle;
		}
		if ((other < number) != column.descending)
			low = middle + 1;
		else
			high = middle;
	}
	while (low < high)
	{
		int			middle = low + (high - low) / 2;
		int			order;

		column.value = elements->values[middle];
		order = sware_compare_column(&column, value, is_null);
		*equal |= order == 0;
		if (order < 0 || (behind && order == 0))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Turn an inequality with an array into one with a single value: what is less
 * than any element is less than the largest one.  Changes the scan's own copy
 * of the key.  Returns false if there is no element, so that nothing qualifies.
 */
bool
sware_reduce_to_extreme(SwareScanKeys *keys, ScanKey key)
{
	bool		want_largest = key->sk_strategy < BTEqualStrategyNumber;
	Oid			type = sware_argument_type(keys, key);
	SwareKeyColumn order;
	Datum	   *values;
	Datum		extreme;
	int			count;

	count = deconstruct_key_array(keys, key, &values);
	if (count == 0)
		return false;

	sware_init_scan_column(keys, &order, key->sk_attno - 1, type, type,
						   key->sk_collation);
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

/*
 * Make a column, from 0 on, of a search key that has the value of a scan's key,
 * which is no array; or null if that is NULL.
 */
void
sware_make_scan_column(SwareScanKeys *keys, SwareKeyColumn *result, int column,
					   ScanKey key)
{
	Oid			own = keys->index->rd_opcintype[column];

	if (key == NULL || KEY_IS_NULL(key))
	{
		sware_init_scan_column(keys, result, column, own, own,
							   keys->index->rd_indcollation[column]);
		result->isNull = true;
	}
	else
	{
		Oid			type = sware_argument_type(keys, key);
		Datum		value = key->sk_argument;

		sware_init_scan_column(keys, result, column, own, own,
							   key->sk_collation);

		/* prefer the column's own type: it is compared without a function */
		if (type != own &&
			(!sware_is_integer(result->comparison) ||
			 !convert_integer(&value, type, own)))
		{
			sware_init_scan_column(keys, result, column, own, type,
								   key->sk_collation);
			value = key->sk_argument;
		}
		result->value = value;
	}
}

/*
 * If an operator that comes with the server compares integers of the column's
 * own type, find out which ones pass, so that it need not be called.  Integers
 * of another type are converted, if they can be.
 */
void
sware_compare_as_integers(SwareScanKeys *keys, SwareCondition *condition)
{
	ScanKey		key = condition->key;
	SwareKeyColumn column;
	int64		number;

	condition->integers = SWARE_COMPARE_FUNCTION;
	if (!KEY_IS_OPERATOR(key) ||
		key->sk_func.fn_oid >= (Oid) FirstNormalObjectId ||
		!sware_is_comparable(keys, key))
		return;
	sware_make_scan_column(keys, &column, key->sk_attno - 1, key);
	if (!sware_is_integer(column.comparison))
		return;
	number = sware_integer_value(column.comparison, column.value);
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
 * Does a value pass a condition whose column is not compared as integers?
 * Calls the operator's function, so no lightweight lock may be held.
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
	{
		bool		equal;

		(void) sware_find_element(condition->elements, value, false, false,
								  &equal);
		return equal;
	}
	return DatumGetBool(FunctionCall2Coll(&key->sk_func, key->sk_collation,
										  value, key->sk_argument));
}
