/*-------------------------------------------------------------------------
 *
 * scanfilter.c
 *	  Which entries of the buffer a scan wants, and which sorted zones and pages
 *	  may have some.
 *
 * An entry is wanted if it lies in the range of the scan's keys and behind a
 * place, and satisfies the conditions.  Abbreviations tell of most entries that
 * they are not wanted; only for the others comparators are called.  Marked
 * entries are not wanted if the scan may leave them out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"

#include "cursor/buffercursor.h"
#include "keys/fingerprint.h"

/* If the scan asks for exactly one key, find out the key's fingerprint. */
static void
analyze_key(SwareScanFilter *filter)
{
	SwareScanKeys *keys = filter->keys;
	Relation	index = filter->order.index;
	int			columns = IndexRelationGetNumberOfKeyAttributes(index);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	SwareFingerprint fingerprint;

	if (!sware_scan_keys_are_one_key(keys))
		return;
	for (int i = 0; i < columns; i++)
	{
		SwareKeyColumn *column = &keys->low.columns[i];

		/*
		 * Values of different types that are equal may have different hashes.
		 */
		if (!column->isNull &&
			(column->function !=
			 index_getprocinfo(index, i + 1, BTORDER_PROC) ||
			 column->collation != index->rd_indcollation[i]))
			return;
		values[i] = column->value;
		isnull[i] = column->isNull;
	}
	fingerprint = sware_fingerprint(index, values, isnull);
	filter->hasKey = fingerprint.tells;
	filter->fingerprint = fingerprint.value;
	filter->methods = sware_hash_methods();
}

/*
 * Find the place, in a direction, before which nothing in the range can
 * qualify.  Find out its abbreviation, *limit, and those that must be compared
 * with the range's end, *matters.  Both are set to what they are without this
 * end.
 */
static SwareSearchKey *
analyze_end(const SwareScanFilter *filter, bool forward,
			SwareSearchKey *memory, int64 *limit, int64 *matters)
{
	const SwareKeyColumn *column = &filter->order.column;
	SwareScanKeys *keys = filter->keys;
	SwareSearchKey *end;

	(void) sware_first_place(keys, NULL, forward, memory, &end);
	if (sware_abbreviate_end(column, end, limit) ||
		sware_abbreviate_end(column, forward ? &keys->low : &keys->high,
							 limit))
		*matters = *limit;
	else if (end->columnCount > 0)
		*matters = ~*matters;
	return end;
}

/* Has the first column one value, of its own type, between two places? */
static bool
has_one_value(Relation index, const SwareSearchKey *begin,
			  const SwareSearchKey *end)
{
	const SwareKeyColumn *column = &begin->columns[0];
	const SwareKeyColumn *other = &end->columns[0];
	const FmgrInfo *own = index_getprocinfo(index, 1, BTORDER_PROC);

	return begin->columnCount > 0 && end->columnCount > 0 &&
		!column->isNull && !other->isNull &&
		column->function == own && other->function == own &&
		sware_compare_column(column, other->value, false) == 0;
}

/*
 * Find out which abbreviations, which hash for Bloom filters and which
 * fingerprint the entries have that can qualify.
 */
static void
analyze(SwareScanFilter *filter)
{
	SwareScanKeys *keys = filter->keys;
	SwareScanOrder *order = &filter->order;
	Relation	index = order->index;
	bool		forward = order->forward;
	SwareSearchKey memory[2];
	SwareSearchKey *begin;
	SwareSearchKey *end;

	sware_search_key_prepare(&order->prepared, index);
	order->column = order->prepared.columns[0];
	order->abbreviationsDecide = sware_is_integer(order->column.comparison) &&
		IndexRelationGetNumberOfKeyAttributes(index) == 1;
	if (!forward)
	{
		order->column.descending = !order->column.descending;
		order->column.nullsFirst = !order->column.nullsFirst;
	}

	filter->rangeBegin = filter->beginMatters = PG_INT64_MIN;
	filter->rangeEnd = filter->endMatters = PG_INT64_MAX;
	begin = analyze_end(filter, forward, &memory[0], &filter->rangeBegin,
						&filter->beginMatters);
	end = analyze_end(filter, !forward, &memory[1], &filter->rangeEnd,
					  &filter->endMatters);
	filter->canNarrow = sware_has_abbreviations(&filter->order.column) &&
		keys->conditionCount == 0 &&
		filter->beginMatters == filter->rangeBegin &&
		filter->endMatters == filter->rangeEnd;

	filter->hasHash = has_one_value(index, begin, end) &&
		sware_bloom_hash(index, begin->columns[0].value, &filter->hash);

	/*
	 * If abbreviations tell entries apart, hashing costs more than it saves,
	 * unless the scan looks up one key after another; and if they tell keys
	 * apart, it is of no use.
	 */
	filter->hasKey = false;
	if (!sware_is_integer(filter->order.column.comparison) ||
		(filter->asksForKeys && !filter->order.abbreviationsDecide))
		analyze_key(filter);
	filter->isAnalyzed = true;
}

void
sware_scan_filter_begin(SwareScanFilter *filter, IndexTuple after)
{
	if (!filter->isAnalyzed)
		analyze(filter);
	filter->first = filter->rangeBegin;
	filter->last = filter->rangeEnd;
	filter->hasPlace = after != NULL;
	if (after)
	{
		SwareSortItem item = sware_scan_order_item(&filter->order, after);

		filter->first = Max(filter->first, item.abbreviation);
		sware_search_key_from_tuple(&filter->place, filter->order.index, after);
		filter->place.after = filter->order.forward;
	}
}

SwareRangeSide
sware_scan_filter_side(SwareScanFilter *filter, const SwareSortItem *item)
{
	SwareScanKeys *keys = filter->keys;
	bool		forward = filter->order.forward;
	bool		begin_matters;
	bool		end_matters;

	begin_matters = item->abbreviation <= filter->beginMatters;
	end_matters = item->abbreviation >= filter->endMatters;
	if ((forward ? end_matters : begin_matters) &&
		keys->high.columnCount > 0 &&
		sware_compare_key(&keys->high, item->entry) <= 0)
		return forward ? SWARE_BEHIND_RANGE : SWARE_BEFORE_RANGE;
	if ((forward ? begin_matters : end_matters) &&
		keys->low.columnCount > 0 &&
		sware_compare_key(&keys->low, item->entry) > 0)
		return forward ? SWARE_BEFORE_RANGE : SWARE_BEHIND_RANGE;
	return SWARE_IN_RANGE;
}
