/*-------------------------------------------------------------------------
 *
 * sorter.c
 *	  Sorting entries in memory, cheaply if they come nearly in order.
 *
 * Entries that come in order are set aside, the others, the *outliers*, are
 * sorted, and the two are merged.  If an entry is below the last one set aside,
 * it is unknown which of the two is out of place, so both become outliers:
 * otherwise an entry that came much too early would make outliers of all that
 * follow.  (The division is Cook and Kim's, "Best sorting algorithm for nearly
 * sorted lists", 1980, which (K,L)-adaptive sorting builds on.)  If many
 * entries are outliers, everything is sorted, but for entries before them that
 * are known to be in order.  How far from being in order the entries were is
 * measured by the number of outliers, and where sorting has put some of them.
 *
 * Entries in any order are sorted with numbers that stand for their first
 * columns.  A comparator makes them, or the sort support function of the type.
 * Before items are sorted, they are distributed by their numbers into buckets.
 * There are enough buckets that each has few items, close together in memory.
 * Where numbers lie close together, a bucket has many, and is distributed in
 * turn.  A bucket keeps the order of arrival, which often is that of the TIDs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"

#include "base/faultpoint.h"
#include "base/memory.h"
#include "base/pause.h"
#include "keys/entry.h"
#include "shared/statistics.h"
#include "sort/sorter.h"

/* after this number of entries, look whether setting aside is worth its cost */
#define FIRST_LOOK		4096

/* the largest number of outliers that are measured */
#define MAX_SAMPLES		512

/* for fewer entries than this it does not pay to refine numbers */
#define MANY_TO_SORT	256

/*
 * Setting entries aside that come in order is given up if more than one entry
 * of this number is an outlier.
 */
#define OUTLIER_SHARE	2

/* fewer items than this are sorted without buckets */
#define MIN_DISTRIBUTED	128

/* how often items can be distributed, if their numbers are far from even */
#define BUCKET_LEVELS	4

/* items for which there is a bucket, and the largest number of buckets */
#define ITEMS_PER_BUCKET	4
#define MAX_BUCKETS		65536

/*
 * After this number of items, first ask whether abbreviations pay.  Support
 * functions expect the numbers at which tuplesort asks: they demand less each
 * time.
 */
#define FIRST_DOUBT		160

/* An outlier and where it arrived. */
typedef struct Sample
{
	IndexTuple	entry;
	int64		position;
} Sample;

/* Samples, taken at regular distances. */
typedef struct Samples
{
	int64		distance;		/* one outlier of this number is taken */
	int64		skipped;		/* outliers since the last sample */
	int			count;
	Sample		samples[MAX_SAMPLES];
} Samples;

typedef struct Sorter
{
	SwareComparator *comparator;
	IndexTuple *entries;		/* those to be sorted */
	int64		count;
	int64		before;			/* number of entries directly before them,
								 * which are sorted already */
	Samples    *samples;		/* of outliers; NULL if none are wanted */
	int64		inOrder;		/* number of entries set aside; they come
								 * first */
	IndexTuple *outliers;
	int64		outlierCount;
	int64		divided;		/* entries that divide has looked at */
} Sorter;

/* Take every `distance`-th outlier as a sample, if samples are wanted. */
static inline void
take_sample(Samples *samples, IndexTuple entry, int64 position)
{
	Sample		sample = {entry, position};

	if (samples == NULL || ++samples->skipped < samples->distance)
		return;
	samples->skipped = 0;
	if (samples->count == MAX_SAMPLES)
	{
		samples->count = MAX_SAMPLES / 2;
		samples->distance *= 2;
		for (int i = 0; i < samples->count; i++)
			samples->samples[i] = samples->samples[i * 2];
	}
	samples->samples[samples->count++] = sample;
}

/*
 * Divide entries into those that are in order, which move to the front, and
 * outliers.  Returns false if too many are outliers; then all entries are still
 * in the array, and if that was noticed early, in their order: equal keys often
 * come in the order of their TIDs.
 */
static bool
divide(Sorter *sorter)
{
	IndexTuple *entries = sorter->entries;
	Size		early = Min(sorter->count, FIRST_LOOK) * sizeof(IndexTuple);
	IndexTuple *first_entries = memcpy(palloc(early), entries, early);
	SwareSortItem last = {0};
	bool		is_previous = false;	/* is `last` the previous entry? */
	int64		most = Max(sorter->count, FIRST_LOOK) / OUTLIER_SHARE + 2;

	sorter->outliers =
		MemoryContextAllocHuge(CurrentMemoryContext,
							   Min(most, sorter->count) * sizeof(IndexTuple));
	for (int64 i = 0; i < sorter->count; i++)
	{
		SwareSortItem item = sware_make_item(sorter->comparator, entries[i]);

		if (i % 1024 == 0)
			sware_pause_point();
		if (sorter->inOrder == 0 ||
			sware_compare_items(&last, &item, sorter->comparator) < 0)
		{
			entries[sorter->inOrder++] = item.entry;
			last = item;
			is_previous = true;
			continue;
		}
		take_sample(sorter->samples, entries[i], sorter->before + i);
		if (is_previous)
			take_sample(sorter->samples, last.entry, sorter->before + i - 1);
		is_previous = false;
		sorter->inOrder--;
		sorter->outliers[sorter->outlierCount++] = last.entry;
		sorter->outliers[sorter->outlierCount++] = item.entry;
		if (sorter->inOrder > 0)
			last = sware_make_item(sorter->comparator,
								   entries[sorter->inOrder - 1]);

		if (sorter->outlierCount > Max(i, FIRST_LOOK) / OUTLIER_SHARE)
		{
			if (i < FIRST_LOOK)
				memcpy(entries, first_entries, early);
			else
				memcpy(entries + sorter->inOrder, sorter->outliers,
					   sorter->outlierCount * sizeof(IndexTuple));
			sorter->divided = i + 1;
			pfree(first_entries);
			return false;
		}
	}
	sorter->divided = sorter->count;
	pfree(first_entries);
	return true;
}

static inline bool
is_below(SwareComparator *comparator, IndexTuple entry,
		 const SwareSortItem *item)
{
	SwareSortItem own = sware_make_item(comparator, entry);

	return sware_compare_items(&own, item, comparator) < 0;
}

/* How many entries in order, from `low` to `high`, are below an item? */
static int64
place_of(SwareComparator *comparator, IndexTuple *entries, int64 low,
		 int64 high, const SwareSortItem *item)
{
	while (low < high)
	{
		int64		middle = low + (high - low) / 2;

		if (is_below(comparator, entries[middle], item))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Merge the first `count` entries of an array, which are in order, with others
 * in order, for which there is room behind them.  Begins with the largest of
 * the others, and looks for the place of each from the end of those in order,
 * in steps that grow.
 */
static void
merge(SwareComparator *comparator, IndexTuple *entries, int64 count,
	  const IndexTuple *others, int64 other_count)
{
	for (; other_count > 0; other_count--)
	{
		SwareSortItem largest =
			sware_make_item(comparator, others[other_count - 1]);
		int64		low = 0;
		int64		high = count;

		CHECK_FOR_INTERRUPTS();
		for (int64 step = 1; high > 0; step *= 2)
		{
			int64		place = Max(count - step, 0);

			if (is_below(comparator, entries[place], &largest))
			{
				low = place + 1;
				break;
			}
			high = place;
		}
		low = place_of(comparator, entries, low, high, &largest);
		memmove(entries + low + other_count, entries + low,
				(count - low) * sizeof(IndexTuple));
		entries[low + other_count - 1] = largest.entry;
		count = low;
	}
}

/*
 * Set the items' numbers from the sort support abbreviations of the first
 * column's type.  A null gets the same as an extreme value.  Returns false,
 * with no numbers set, if the type has none that are compared as unsigned
 * integers, or sort support gives them up.
 */
static bool
abbreviate_items(SwareComparator *comparator, SwareSortItem *items, int64 count)
{
	Relation	index = comparator->key.index;
	SortSupportData column = {0};
	int64		doubt = FIRST_DOUBT;

	sware_prepare_column(&column, index, 1, true);
	if (column.abbrev_converter == NULL || SIZEOF_DATUM != sizeof(int64) ||
		column.comparator != ssup_datum_unsigned_cmp)
		return false;

	for (int64 i = 0; i < count; i++)
	{
		bool		is_null;
		Datum		value =
			index_getattr(items[i].entry, 1, RelationGetDescr(index), &is_null);
		int64		number;

		if (i == doubt)
		{
			sware_pause_point();
			doubt *= 2;
			if (column.abbrev_abort(i, &column))
			{
				for (int64 j = 0; j < i; j++)
					items[j].abbreviation = 0;
				return false;
			}
		}
		if (is_null)
			items[i].abbreviation = column.ssup_nulls_first ? PG_INT64_MIN :
				PG_INT64_MAX;
		else
		{
			number = (int64) (column.abbrev_converter(value, &column) ^
							  (UINT64CONST(1) << 63));
			items[i].abbreviation = column.ssup_reverse ? ~number : number;
		}
	}
	return true;
}

#define ST_SORT sort_items
#define ST_ELEMENT_TYPE SwareSortItem
#define ST_COMPARE(a, b, comparator) sware_compare_items(a, b, comparator)
#define ST_COMPARE_ARG_TYPE SwareComparator
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

static bool
numbers_differ(const SwareSortItem *items, int64 count)
{
	for (int64 i = 1; i < count; i++)
	{
		if (items[i].abbreviation != items[0].abbreviation)
			return true;
	}
	return false;
}

/*
 * Distribute items into buckets, which follow each other in the order of the
 * items' numbers, and sort each bucket.  One with many items whose numbers
 * differ is distributed in turn, as long as there are `levels`.  The items get
 * to `result`, which has room for them; where they were is scratch memory
 * afterwards.
 */
static void
sort_by_buckets(SwareComparator *comparator, SwareSortItem *items,
				SwareSortItem *result, int64 count, int levels)
{
	int64		buckets = Min(count / ITEMS_PER_BUCKET, MAX_BUCKETS);
	int64	   *ends;			/* where buckets end in `result` */
	int64		lowest = items[0].abbreviation;
	int64		highest = items[0].abbreviation;
	int64		start = 0;
	int			shift = 0;

	for (int64 i = 1; i < count; i++)
	{
		lowest = Min(lowest, items[i].abbreviation);
		highest = Max(highest, items[i].abbreviation);
	}
	while (((uint64) highest - (uint64) lowest) >> shift >= (uint64) buckets)
		shift++;

	ends = palloc0(buckets * sizeof(int64));
#define BUCKET(item) (((uint64) (item).abbreviation - (uint64) lowest) >> shift)
	for (int64 i = 0; i < count; i++)
		ends[BUCKET(items[i])]++;
	for (int64 bucket = 0; bucket < buckets; bucket++)
	{
		int64		size = ends[bucket];

		ends[bucket] = start;	/* the bucket's start, which grows to its end */
		start += size;
	}
	for (int64 i = 0; i < count; i++)
		result[ends[BUCKET(items[i])]++] = items[i];
#undef BUCKET

	start = 0;
	for (int64 bucket = 0; bucket < buckets; bucket++)
	{
		int64		size = ends[bucket] - start;
		SwareSortItem *first = result + start;

		if (bucket % 1024 == 0)
			sware_pause_point();
		if (levels > 1 && size >= MIN_DISTRIBUTED &&
			numbers_differ(first, size))
		{
			memcpy(items + start, first, size * sizeof(SwareSortItem));
			sort_by_buckets(comparator, items + start, first, size, levels - 1);
		}
		else
			sort_items(first, size, comparator);
		start = ends[bucket];
	}
	pfree(ends);
}

/*
 * Sort entries in any order.  Takes memory from the current context, and calls
 * comparators.
 *
 * If numbers are guessed, the entries that they have sorted are nearly in order
 * if the guess was good: then they are sorted without it.  If it was bad, it is
 * not tried again.
 */
static void
sort_scrambled(SwareComparator *comparator, IndexTuple *entries,
			   int64 count)
{
	SwareSortItem *items =
		MemoryContextAllocHuge(CurrentMemoryContext,
							   count * sizeof(SwareSortItem));
	SwareSortItem *other =
		MemoryContextAllocHuge(CurrentMemoryContext,
							   count * sizeof(SwareSortItem));
	SwareSortItem *sorted;
	bool		refines = count >= MANY_TO_SORT &&
		comparator->partCount == 0;
	bool		has_numbers;

	if (refines)
	{
		sware_refine_numbers(comparator, entries, count, true);
		refines = comparator->partCount > 0;
	}
	for (int64 i = 0; i < count; i++)
	{
		if (i % 1024 == 0)
			sware_pause_point();
		sware_prefetch_entry(entries, i, count);
		items[i] = sware_make_item(comparator, entries[i]);
	}
	has_numbers = comparator->partCount > 0 ||
		sware_has_abbreviations(&comparator->key.columns[0]) ||
		(count >= MANY_TO_SORT &&
		 abbreviate_items(comparator, items, count));
	sorted = items;
	if (count >= MIN_DISTRIBUTED && has_numbers)
	{
		sort_by_buckets(comparator, items, other, count, BUCKET_LEVELS);
		sorted = other;
	}
	else
		sort_items(items, count, comparator);
	for (int64 i = 0; i < count; i++)
		entries[i] = sorted[i].entry;
	pfree(items);
	pfree(other);

	if (refines && comparator->hasGuess)
	{
		SwareGuess	guess = comparator->guess;

		sware_drop_guess(comparator);
		comparator->guess = SWARE_GUESS_NOTHING;
		if (sware_sort_nearly_sorted(comparator, entries, count))
			comparator->guess = guess;
	}

	/* these numbers are valid in this sort only */
	if (refines)
		sware_unrefine_numbers(comparator);
}

/*
 * Divide the entries, sort the outliers, and merge them with the others; or
 * sort everything.  Returns about how many entries were out of order.
 */
static int64
sort(Sorter *sorter)
{
	if (sorter->count == 0)
		return 0;
	if (divide(sorter))
	{
		sort_scrambled(sorter->comparator, sorter->outliers,
					   sorter->outlierCount);
		merge(sorter->comparator, sorter->entries, sorter->inOrder,
			  sorter->outliers, sorter->outlierCount);
		pfree(sorter->outliers);

		/* of each pair of outliers, only one is out of place */
		return sorter->outlierCount / 2;
	}
	pfree(sorter->outliers);
	SWARE_FAULT_POINT("sort-all");
	for (int64 i = sorter->divided; i < sorter->count; i++)
		take_sample(sorter->samples, sorter->entries[i], sorter->before + i);
	sort_scrambled(sorter->comparator, sorter->entries, sorter->count);
	return sorter->count * sorter->outlierCount / sorter->divided;
}

/* Merge two lists of entries, each in order, one behind the other in memory. */
static void
merge_lists(SwareComparator *comparator, IndexTuple *entries,
			int64 first_count, int64 second_count)
{
	IndexTuple *second = entries + first_count;
	IndexTuple *others;
	SwareSortItem last;

	if (first_count == 0 || second_count == 0)
		return;

	/* what lies behind the first list stays where it is */
	last = sware_make_item(comparator, second[-1]);
	second_count = place_of(comparator, second, 0, second_count, &last);
	if (second_count == 0)
		return;
	others = MemoryContextAllocHuge(CurrentMemoryContext,
									second_count * sizeof(IndexTuple));
	memcpy(others, second, second_count * sizeof(IndexTuple));
	merge(comparator, entries, first_count, others, second_count);
	pfree(others);
}

/* The largest displacement of the samples. */
static int64
largest_displacement(Sorter *sorter)
{
	int64		largest = 0;

	for (int i = 0; i < sorter->samples->count; i++)
	{
		Sample	   *sample = &sorter->samples->samples[i];
		SwareSortItem item = sware_make_item(sorter->comparator, sample->entry);
		int64		displacement =
			place_of(sorter->comparator, sorter->entries - sorter->before,
					 0, sorter->before + sorter->count, &item) -
			sample->position;

		largest = Max(largest, displacement < 0 ? -displacement : displacement);
	}
	return largest;
}

/*
 * Sort entries in place, of which the first `sorted` are in order already.
 * With samples, which are empty, how far from being in order the entries were
 * is measured (statistics.h), and added to the index's statistics.
 */
static void
sort_and_measure(Relation index, IndexTuple *entries, int64 sorted,
				 int64 count, Samples *samples)
{
	int64		out_of_order = 0;
	int64		displacement = 0;
	Sorter		sorter = {.entries = entries + sorted,
		.count = count - sorted,
		.before = sorted,
	.samples = samples};

	if (count > 1 && sorter.count > 0)
	{
		MemoryContext caller = sware_enter_context("sware sort");

		sorter.comparator = sware_make_comparator(index);

		/* which entries come in order is measured, so it is not guessed */
		if (count >= MANY_TO_SORT)
			sware_refine_numbers(sorter.comparator, entries, count, false);
		out_of_order = sort(&sorter);
		merge_lists(sorter.comparator, entries, sorted, sorter.count);
		if (samples)
			displacement = largest_displacement(&sorter);
		sware_leave_context(caller);
	}
	if (samples)
		sware_note_sortedness(index, count, out_of_order, displacement);
}

/*
 * Are entries in order, of which the first `sorted` are known to be?  Looks no
 * further than to the first one that is not.  Calls comparators.
 */
bool
sware_are_in_order(Relation index, IndexTuple *entries, int64 sorted,
				   int64 count)
{
	MemoryContext caller = sware_enter_context("sware sort");
	SwareComparator *comparator = sware_make_comparator(index);
	int64		i = Max(sorted, 1);
	SwareSortItem last = sware_make_item(comparator, entries[i - 1]);

	for (; i < count; i++)
	{
		SwareSortItem item = sware_make_item(comparator, entries[i]);

		if (i % 1024 == 0)
			sware_pause_point();
		if (sware_compare_items(&last, &item, comparator) >= 0)
			break;
		last = item;
	}
	sware_leave_context(caller);
	return i >= count;
}

/*
 * Sort entries in place.  The first `sorted` ones are in order already: these
 * are merged with the others.  Memory is taken from the current context and
 * freed.  Comparators may raise errors; the order is undefined then.
 */
void
sware_sort_entries(Relation index, IndexTuple *entries, int64 sorted,
				   int64 count)
{
	sort_and_measure(index, entries, sorted, count, NULL);
}

/*
 * Like sware_sort_entries, for entries in the order of their arrival.  How far
 * from being in order they were is measured, and added to the index's
 * statistics.
 */
void
sware_sort_arrivals(Relation index, IndexTuple *entries, int64 sorted,
					int64 count)
{
	Samples		samples = {.distance = 1};

	sort_and_measure(index, entries, sorted, count, &samples);
}

/*
 * Sort entries in place by a comparator, whose numbers, as they are, divide
 * them.  Returns false if too many were outliers.  Memory is taken from the
 * current context and freed.
 */
bool
sware_sort_nearly_sorted(SwareComparator *comparator, IndexTuple *entries,
						 int64 count)
{
	Sorter		sorter = {.comparator = comparator,
		.entries = entries,
	.count = count};

	(void) sort(&sorter);
	return sorter.divided == count;
}
