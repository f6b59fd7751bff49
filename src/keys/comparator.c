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
#include "utils/memutils.h"

#include "keys/comparator.h"

/* after this number of comparisons, free what functions have left behind */
#define CALLS_PER_RESET		1024

/*
 * Set up a zeroed SortSupport for a key column of an index, counted from 1.
 * It takes memory from the current context.
 */
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
	int			columns = IndexRelationGetNumberOfKeyAttributes(index);
	SwareComparator *comparator = palloc0(offsetof(SwareComparator, columns) +
										  columns * sizeof(SortSupportData));

	comparator->index = index;
	comparator->descriptor = RelationGetDescr(index);
	comparator->context = CurrentMemoryContext;
	comparator->columnCount = columns;
	sware_key_column_init(&comparator->first, index, 1, (Datum) 0, true);
	comparator->isOneInteger = columns == 1 &&
		comparator->first.comparison != SWARE_COMPARE_FUNCTION;
	for (int i = 0; i < columns; i++)
		sware_prepare_column(&comparator->columns[i], index, i + 1, false);
	return comparator;
}

/*
 * Compare the keys of two entries, which may be marked as dead (entrysort.h).
 * Calls functions that may raise errors, in a memory context of its own; no
 * lightweight lock may be held.
 */
int
sware_comparator_keys(SwareComparator *comparator, IndexTuple a, IndexTuple b)
{
	int			order = 0;
	MemoryContext caller;

	if (comparator->scratch == NULL)
		comparator->scratch = AllocSetContextCreate(comparator->context,
													"sware comparisons",
													ALLOCSET_SMALL_SIZES);
	else if (++comparator->calls % CALLS_PER_RESET == 0)
		MemoryContextReset(comparator->scratch);
	caller = MemoryContextSwitchTo(comparator->scratch);
	for (int i = 0; i < comparator->columnCount && order == 0; i++)
	{
		bool		null_a;
		bool		null_b;
		Datum		value_a =
			index_getattr(a, i + 1, comparator->descriptor, &null_a);
		Datum		value_b =
			index_getattr(b, i + 1, comparator->descriptor, &null_b);

		order = ApplySortComparator(value_a, null_a, value_b, null_b,
									&comparator->columns[i]);
	}
	MemoryContextSwitchTo(caller);
	return order;
}
