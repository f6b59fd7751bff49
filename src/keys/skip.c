/*-------------------------------------------------------------------------
 *
 * skip.c
 *	  Skipping entries of the range that cannot qualify: finding the next
 *	  stretch, or the next place at which an entry can.
 *
 * Of the range of a scan, only parts can qualify if an array says which values
 * a column may have, or if there are conditions on columns behind the first one
 * without an equality.  With an index on (a, b) and the condition b = 5, these
 * are the entries with (1, 5), those with (2, 5), and so on, whatever values of
 * `a` there are.
 *
 * A cursor that is at any place of the range asks for the next place in its
 * direction.  From (3, 7) on forward this is (4, 5) if `a` is an integer.  If
 * it is of a type whose next value is not known, this is the place behind all
 * entries with 3; there the cursor meets the next value that exists, say x, and
 * asks again, to be sent to (x, 5).  With a IN (1, 9) it is (9, 5).
 *
 * Nothing is remembered from one answer to the next, and between the two places
 * no entry qualifies.  So it does not matter where a cursor is, and in which
 * direction it goes; it may just as well look at all entries, if it tests all
 * conditions.  (The tree's cursor does not test those that make stretches: it
 * looks for the next stretch instead.)
 *
 * To find the next place is like raising a number to the next one that has only
 * allowed digits; columns are the digits.  As long as a column's value is
 * allowed, the next column is looked at.  If it is too small, the smallest
 * allowed value is the answer; if it is too large, a column further left gets
 * its next value.  The columns behind one that was changed get their smallest
 * values.  Small and large are meant in the direction of the scan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"

#include "keys/scankeys.h"

/* where a value lies, as seen from those that its column may have */
typedef enum SkipSide
{
	SKIP_BEFORE,
	SKIP_INSIDE,
	SKIP_BEHIND
} SkipSide;

/* Negative if the end comes first, in a direction. */
static int
compare_end(const SwareSkipEnd *end, const SwareKeyColumn *value, bool forward)
{
	int			order = sware_compare_column(&end->column, value->value,
											 value->isNull);

	return forward ? order : -order;
}

/*
 * Where does a value lie, in a direction?  If it is before allowed values, and
 * these are elements, *element is set to the first of them.
 */
static SkipSide
side_of(const SwareSkipColumn *column, const SwareKeyColumn *value,
		bool forward, int *element)
{
	const SwareSkipEnd *begin = &column->ends[forward ? 0 : 1];
	const SwareSkipEnd *end = &column->ends[forward ? 1 : 0];
	int			order;

	if (column->elements)
	{
		bool		equal;

		*element = sware_find_element(column->elements, value->value,
									  value->isNull, false, &equal);
		if (equal)
			return SKIP_INSIDE;
		if (!forward)
			--* element;
		return *element >= 0 && *element < column->elements->count ?
			SKIP_BEFORE : SKIP_BEHIND;
	}
	if (begin->isGiven)
	{
		order = compare_end(begin, value, forward);
		if (order > 0 || (order == 0 && begin->isStrict))
			return SKIP_BEFORE;
	}
	if (end->isGiven)
	{
		order = compare_end(end, value, forward);
		if (order < 0 || (order == 0 && end->isStrict))
			return SKIP_BEHIND;
	}
	return SKIP_INSIDE;
}

/*
 * Change a value to the next one of its type in a direction.  Returns false if
 * there is none, or none is known: that is so for types that are no integers.
 */
static bool
step(SwareKeyColumn *column, bool forward)
{
	int			by = forward != column->descending ? 1 : -1;
	int64		number;

	return !column->isNull && sware_is_integer(column->comparison) &&
		!pg_add_s64_overflow(sware_integer_value(column->comparison,
												 column->value), by, &number) &&
		sware_set_integer(column->comparison, number, &column->value);
}

/*
 * Let a place end with the columns that it has: before all entries that are
 * equal in them or, if `behind`, behind these, in the direction.
 */
static SwareSkip
end_place(SwareSearchKey *place, bool forward, bool behind)
{
	place->after = forward == behind;
	return SWARE_SKIP_AHEAD;
}

/* Let a place end with an element as the value of a column. */
static void
set_element(SwareSearchKey *place, int number, const SwareElements *elements,
			int element)
{
	place->columns[number] = elements->column;
	place->columns[number].value = elements->values[element];
	place->columnCount = number + 1;
}

/*
 * Add the first allowed values of the columns from `number` on to a place, as
 * far as there are such values.
 */
static SwareSkip
add_first_values(const SwareSkipKeys *skip, SwareSearchKey *place, int number,
				 bool forward)
{
	for (; number <= skip->lastColumn; number++)
	{
		const SwareSkipColumn *column = &skip->columns[number];
		const SwareSkipEnd *begin = &column->ends[forward ? 0 : 1];

		if (column->elements)
			set_element(place, number, column->elements,
						forward ? 0 : column->elements->count - 1);
		else if (begin->isGiven)
		{
			place->columns[number] = begin->column;
			place->columnCount = number + 1;
			if (begin->isStrict && !step(&place->columns[number], forward))
				return end_place(place, forward, true);
		}
		else
			break;
	}
	return end_place(place, forward, false);
}

/*
 * Give the column `number` of a place its next allowed value behind that of
 * `from` or, if it has none, a column further left.  The columns of the prefix
 * stay.  `is_behind` says that `from` ends with this column, and is the place
 * behind all entries with its values.
 */
static SwareSkip
raise_column(const SwareScanKeys *keys, const SwareSearchKey *from, int number,
			 bool is_behind, bool forward, SwareSearchKey *place)
{
	const SwareSkipKeys *skip = keys->skip;

	for (; number >= keys->prefixColumns; number--, is_behind = false)
	{
		const SwareSkipColumn *column = &skip->columns[number];
		const SwareSkipEnd *end = &column->ends[forward ? 1 : 0];
		SwareKeyColumn *raised = &place->columns[number];

		*raised = from->columns[number];
		place->columnCount = number + 1;
		if (column->elements)
		{
			bool		equal;
			int			element = sware_find_element(column->elements,
													 raised->value,
													 raised->isNull, forward,
													 &equal);

			if (!forward)
				element--;
			if (element < 0 || element == column->elements->count)
				continue;
			set_element(place, number, column->elements, element);
			return add_first_values(skip, place, number + 1, forward);
		}

		/* is this the last value? */
		if (end->isGiven && compare_end(end, raised, forward) <= 0)
			continue;
		if (raised->isNull && raised->nullsFirst != forward)
			continue;
		if (!step(raised, forward))
			return is_behind ? SWARE_SKIP_HERE :
				end_place(place, forward, true);

		/*
		 * What follows an infinite or the last timestamp is no timestamp.  As
		 * an integer it can be compared, but functions for other types may
		 * raise errors.  So with these the place may be behind the end.
		 */
		if (end->isGiven && sware_is_integer(end->column.comparison) &&
			(compare_end(end, raised, forward) < 0 ||
			 (end->isStrict && compare_end(end, raised, forward) == 0)))
			continue;
		return add_first_values(skip, place, number + 1, forward);
	}
	return SWARE_SKIP_NONE;
}

/*
 * Like sware_skip_from_tuple, from a place on.  The columns behind `last` are
 * not looked at to find out whether an entry can be here.
 */
static SwareSkip
skip_from(const SwareScanKeys *keys, const SwareSearchKey *from, int last,
		  bool forward, SwareSearchKey *place)
{
	const SwareSkipKeys *skip = keys->skip;

	/* are entries with exactly these values passed already? */
	bool		is_behind = !from->hasTid && from->after == forward;

	if (from->columnCount < keys->prefixColumns)
		return SWARE_SKIP_HERE;
	sware_search_key_init(place, keys->index);
	for (int i = 0; i < keys->prefixColumns; i++)
		place->columns[i] = from->columns[i];
	place->columnCount = keys->prefixColumns;

	for (int number = keys->prefixColumns; number <= last; number++)
	{
		const SwareSkipColumn *column = &skip->columns[number];
		int			element = 0;

		if (number == from->columnCount)
		{
			if (is_behind && number > keys->prefixColumns)
				return raise_column(keys, from, number - 1, true, forward,
									place);
			(void) add_first_values(skip, place, number, forward);
			return place->columnCount > number && !is_behind ?
				SWARE_SKIP_AHEAD : SWARE_SKIP_HERE;
		}

		switch (side_of(column, &from->columns[number], forward, &element))
		{
			case SKIP_BEFORE:
				if (column->elements)
				{
					set_element(place, number, column->elements, element);
					number++;
				}
				return add_first_values(skip, place, number, forward);
			case SKIP_INSIDE:
				place->columns[number] = from->columns[number];
				place->columnCount = number + 1;
				break;
			case SKIP_BEHIND:
				return raise_column(keys, from, number - 1, false, forward,
									place);
		}
	}
	return SWARE_SKIP_HERE;
}

/*
 * Does a place lie at or behind the end of the interval that the scan is
 * restricted to?  False also if this cannot be told from the place's columns.
 */
static bool
is_behind_interval(const SwareScanKeys *keys, const SwareSearchKey *place,
				   bool forward)
{
	const SwareSearchKey *end = forward ? &keys->high : &keys->low;
	int			columns = Min(place->columnCount, end->columnCount);

	if (keys->interval == NULL ||
		!(forward ? keys->interval->cutsHigh : keys->interval->cutsLow))
		return false;
	for (int i = 0; i < columns; i++)
	{
		int			order = sware_compare_column(&place->columns[i],
												 end->columns[i].value,
												 end->columns[i].isNull);

		if (order != 0)
			return (order > 0) == forward;
	}

	/* without more columns, the end is before all entries that have these */
	return forward && columns == end->columnCount && !end->hasTid &&
		!end->after;
}

/* Turn places behind the scan's interval into none. */
static SwareSkip
skip_within_interval(const SwareScanKeys *keys, const SwareSearchKey *from,
					 int last, bool forward, SwareSearchKey *place)
{
	SwareSkip	result = skip_from(keys, from, last, forward, place);

	if (result == SWARE_SKIP_AHEAD && is_behind_interval(keys, place, forward))
		return SWARE_SKIP_NONE;
	return result;
}

/* Set `from` to the place of an entry or pivot. */
static void
set_from(SwareScanKeys *keys, IndexTuple tuple)
{
	SwareSkipKeys *skip = keys->skip;
	SwareSearchKey *from = &skip->from;
	TupleDesc	descriptor = RelationGetDescr(keys->index);
	int			columns = skip->lastColumn + 1;

	/*
	 * The place of a pivot is before all entries that have its columns.  An
	 * entry, which lies on both sides of its place, has a TID.
	 */
	from->hasTid = true;
	if (sware_tuple_is_pivot(tuple))
	{
		columns = Min(columns, sware_tuple_count(tuple));
		from->hasTid = sware_pivot_has_tid(tuple) ||
			columns < sware_tuple_count(tuple);
	}
	from->columnCount = columns;
	for (int i = 0; i < columns; i++)
		from->columns[i].value = index_getattr(tuple, i + 1, descriptor,
											   &from->columns[i].isNull);
}

SwareSkip
sware_skip_from_tuple(SwareScanKeys *keys, IndexTuple tuple, bool forward,
					  SwareSearchKey *place)
{
	set_from(keys, tuple);
	return skip_within_interval(keys, &keys->skip->from, keys->skip->lastColumn,
								forward, place);
}

SwareSkip
sware_find_stretch(SwareScanKeys *keys, IndexTuple tuple, bool forward,
				   SwareSearchKey *place)
{
	const SwareSearchKey *from = &keys->skip->from;
	const SwareSearchKey *low = &keys->low;
	const SwareSearchKey *high = &keys->high;
	SwareSkip	result;

	set_from(keys, tuple);
	result = skip_within_interval(keys, from,
								  Min(keys->stretchColumns,
									  keys->skip->lastColumn), forward, place);
	if (result != SWARE_SKIP_HERE)
		return result;

	/* it ends like the range, but with values of its own */
	if (unlikely(keys->interval != NULL))
	{
		low = &keys->interval->low;
		high = &keys->interval->high;
	}
	sware_copy_search_key(place, forward ? high : low);
	memcpy(place->columns, from->columns,
		   Min(keys->stretchColumns, from->columnCount) *
		   sizeof(SwareKeyColumn));
	return result;
}

/* The same from where the range begins in the direction. */
static SwareSkip
skip_from_begin(SwareScanKeys *keys, bool forward, SwareSearchKey *place)
{
	const SwareSearchKey *begin = forward ? &keys->low : &keys->high;
	const SwareSearchKey *from = &keys->skip->from;

	if (begin->columnCount == 0)
		return SWARE_SKIP_HERE;

	/* a bound of another type cannot be compared with others */
	for (int i = keys->prefixColumns;
		 i < Min(begin->columnCount, keys->skip->lastColumn + 1); i++)
	{
		if (begin->columns[i].function != from->columns[i].function)
			return SWARE_SKIP_HERE;
	}
	return skip_within_interval(keys, begin, keys->skip->lastColumn, forward,
								place);
}

SwareSkip
sware_first_place(SwareScanKeys *keys, IndexTuple tuple, bool forward,
				  SwareSearchKey *memory, SwareSearchKey **place)
{
	SwareSkip	result = SWARE_SKIP_HERE;

	if (unlikely(keys->skip != NULL))
		result = tuple ? sware_skip_from_tuple(keys, tuple, forward, memory) :
			skip_from_begin(keys, forward, memory);
	*place = memory;
	if (result != SWARE_SKIP_AHEAD && tuple)
		sware_search_key_from_tuple(memory, keys->index, tuple);
	else if (result != SWARE_SKIP_AHEAD)
		*place = forward ? &keys->low : &keys->high;
	return result;
}
