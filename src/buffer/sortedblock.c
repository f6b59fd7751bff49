/*-------------------------------------------------------------------------
 *
 * sortedblock.c
 *	  Sorted blocks: reading them without locks, and what is hashed for them.
 *
 * Readers copy what they look at and check the block's stamp before they use
 * the copy: a comparator may get what a page held, but nothing else.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"

#include "buffer/abbreviation.h"
#include "buffer/bloomfilter.h"
#include "buffer/hashfunction.h"
#include "buffer/sortedblock.h"

/* as often is a place between fences interpolated before the rest is halved */
#define MAX_INTERPOLATIONS		2
#define MIN_TO_INTERPOLATE		8

/* the memory of an entry */
typedef union EntryCopy
{
	IndexTupleData tuple;
	char		bytes[SWARE_MAX_ENTRY_SIZE];
	double		forAlignment;
} EntryCopy;

/*
 * Hash a value of the first column.  The function is part of the result: a
 * filter knows nothing of other functions' hashes.
 */
bool
sware_bloom_hash(Relation index, Datum value, uint64 *hash)
{
	FmgrInfo   *function = sware_hash_function(index, 0);
	Oid			function_oid;

	if (function == NULL)
		return false;
	function_oid = function->fn_oid;
	*hash = (uint64) function_oid << 32 |
		(uint32) sware_hash_value(index, 0, function, value);
	return true;
}

bool
sware_block_may_contain(const SwareSortedBlock *block, uint64 hash)
{
	uint8		line[SWARE_FILTER_LINE_BYTES];
	Size		start;

	if (!sware_block_has_filter(block, hash))
		return true;
	start = block->filterStart +
		(Size) sware_filter_line((uint32) hash, block->filterLines) * sizeof(line);
	if (!sware_segment_read(&block->segment, start, line, sizeof(line)) ||
		!sware_segment_has_stamp(&block->segment, block->stamp) ||
		sware_filter_has(line, (uint32) hash, block->filterProbes))
		return true;
	return false;
}

/*
 * Set an unsorted page's zonemap; false if the page is gone.  The index's
 * first column has abbreviations.  Locks the page for a moment.
 */
bool
sware_page_make_zonemap(Relation index, SwareUnsortedPage *page)
{
	TupleDesc	descriptor = RelationGetDescr(index);
	SwareKeyColumn column;
	PGAlignedBlock copy;

	if (!sware_copy_buffer_page(index, page->page, copy.data))
		return false;
	sware_key_column_init(&column, index, 1, (Datum) 0, true);
	page->smallest = PG_INT64_MAX;
	page->largest = PG_INT64_MIN;
	for (Size offset = SWARE_BUFFER_START; offset < sware_buffer_page_end(copy.data);)
	{
		IndexTuple	entry = sware_buffer_entry(index, page->page.block, copy.data, &offset);
		int64		abbreviation = sware_abbreviate(&column, descriptor, entry);

		page->smallest = Min(page->smallest, abbreviation);
		page->largest = Max(page->largest, abbreviation);
	}
	page->lsn = PageGetLSN(copy.data);
	page->hasZonemap = true;
	return true;
}

/* Copy the links of a block's pages; false if the block is gone. */
bool
sware_block_copy_links(const SwareSortedBlock *block, SwareLink *links)
{
	return sware_segment_read(&block->segment, 0, links, block->pages * sizeof(SwareLink)) &&
		sware_segment_has_stamp(&block->segment, block->stamp);
}

/*
 * Copy the numbers of the pages that entries came from; false if the block is
 * gone.
 */
bool
sware_block_copy_origins(const SwareSortedBlock *block, uint32 first, uint32 count,
						 uint16 *origins)
{
	return sware_segment_read(&block->segment,
							  block->originsStart + (Size) first * sizeof(uint16),
							  origins, count * sizeof(uint16)) &&
		sware_segment_has_stamp(&block->segment, block->stamp);
}

/* Copy a tuple; false if the block is gone. */
static inline bool
copy_tuple(const SwareSortedBlock *block, uint32 number, IndexTuple into)
{
	Size		start;
	Size		size = block->entrySize;

	Assert(number < block->entries);
	if (size > 0)
		start = number * size;
	else
	{
		uint32		range[2];

		if (!sware_segment_read(&block->segment,
								block->offsetsStart + (Size) number * sizeof(uint32),
								range, sizeof(range)) ||
			!sware_segment_has_stamp(&block->segment, block->stamp))
			return false;
		start = range[0];
		size = range[1] - range[0];
	}
	return sware_segment_read(&block->segment, block->tuplesStart + start, into, size) &&
		sware_segment_has_stamp(&block->segment, block->stamp);
}

bool
sware_block_copy_entry(const SwareSortedBlock *block, uint32 number,
					   IndexTuple into, SwareLink *page)
{
	uint16		origin;

	return copy_tuple(block, number, into) &&
		sware_segment_read(&block->segment,
						   block->originsStart + (Size) number * sizeof(uint16),
						   &origin, sizeof(origin)) &&
		sware_segment_has_stamp(&block->segment, block->stamp) &&
		sware_segment_read(&block->segment, origin * sizeof(SwareLink),
						   page, sizeof(SwareLink)) &&
		sware_segment_has_stamp(&block->segment, block->stamp);
}

bool
sware_block_copy_tuples(const SwareSortedBlock *block, uint32 first, uint32 count,
						char *into)
{
	Size		size = block->entrySize;

	Assert(first < block->entries && count <= block->entries - first);
	if (size > 0)
		return sware_segment_read(&block->segment, block->tuplesStart + (Size) first * size,
								  into, (Size) count * size) &&
			sware_segment_has_stamp(&block->segment, block->stamp);

	for (uint32 i = 0; i < count; i++)
	{
		if (!copy_tuple(block, first + i, (IndexTuple) into))
			return false;
		into += MAXALIGN(IndexTupleSize((IndexTuple) into));
	}
	return true;
}

/*
 * Tell of entries that follow one another which are from retired pages.  False
 * if the block is gone.
 */
bool
sware_block_find_retired(const SwareSortedBlock *block, uint32 first, uint32 count,
						 bool *is_retired)
{
	uint16		origins[64];

	Assert(first < block->entries && count <= block->entries - first);
	while (count > 0)
	{
		uint32		part = Min(count, lengthof(origins));

		if (!sware_block_copy_origins(block, first, part, origins))
			return false;
		for (uint32 i = 0; i < part; i++)
			is_retired[i] = origins[i] < block->retiredPages;
		is_retired += part;
		first += part;
		count -= part;
	}
	return true;
}

/*
 * Some of a block's first pages have retired: find the first and the last entry
 * that are from other pages.  False if the block is gone, or if there are none.
 */
bool
sware_block_retire(SwareSortedBlock *block, uint32 pages)
{
	uint16		origins[1024];
	uint32		first = block->firstEntry;
	uint32		end = block->endEntry;
	bool		found = false;

	block->retiredPages = pages;
	while (first < end && !found)
	{
		uint32		count = Min(end - first, lengthof(origins));
		uint32		i = 0;

		if (!sware_block_copy_origins(block, first, count, origins))
			return false;
		while (i < count && origins[i] < pages)
			i++;
		first += i;
		found = i < count;
	}
	found = false;
	while (first < end && !found)
	{
		uint32		count = Min(end - first, lengthof(origins));
		uint32		i = count;

		if (!sware_block_copy_origins(block, end - count, count, origins))
			return false;
		while (i > 0 && origins[i - 1] < pages)
			i--;
		end -= count - i;
		found = i > 0;
	}
	block->firstEntry = first;
	block->endEntry = end;
	return first < end;
}

/* An entry's place between two others, if their distances are like those of numbers. */
static inline uint32
interpolate(uint32 low, uint32 high, int64 low_value, int64 high_value, int64 value)
{
	uint64		range = (uint64) high_value - (uint64) low_value;
	uint64		distance = (uint64) value - (uint64) low_value;

	if (range == 0)
		return low + (high - low) / 2;
	return low + (uint32) ((double) distance / (double) range * (high - 1 - low));
}

/*
 * Between which entries of a block is a value of the order of abbreviations?
 * Those before `low` are below, those from `high` on above; low_value and
 * high_value are not above, and not below, those between.  It is not below the
 * first entry and not above the last.  False if the block is gone.
 */
static bool
search_fences(const SwareSortedBlock *block, int64 value, uint32 *low, uint32 *high,
			  int64 *low_value, int64 *high_value)
{
	uint32		below = 0;		/* this fence is not above the value */
	uint32		above = block->fences;	/* this one is, or there is none */
	uint32		first;
	int64		fence;

	/* the first that is not below; usually also the first above */
	while (below < above)
	{
		uint32		middle = below + (above - below) / 2;

		if (!sware_segment_read(&block->segment, block->fencesStart +
								(Size) middle * sizeof(int64), &fence, sizeof(int64)))
			return false;
		if (fence < value)
		{
			below = middle + 1;
			*low_value = fence;
		}
		else
		{
			above = middle;
			*high_value = fence;
		}
	}
	first = below;
	if (first < block->fences && *high_value == value)
	{
		below = first + 1;
		above = block->fences;
		*high_value = block->largest;
		while (below < above)
		{
			uint32		middle = below + (above - below) / 2;

			if (!sware_segment_read(&block->segment, block->fencesStart +
									(Size) middle * sizeof(int64), &fence, sizeof(int64)))
				return false;
			if (fence <= value)
				below = middle + 1;
			else
			{
				above = middle;
				*high_value = fence;
			}
		}
	}
	*low = first == 0 ? 0 : (first - 1) * SWARE_FENCE_DISTANCE + 1;
	*high = above == block->fences ? block->entries : above * SWARE_FENCE_DISTANCE;
	return sware_segment_has_stamp(&block->segment, block->stamp);
}

int64
sware_block_search(const SwareZoneView *view, const SwareSortedBlock *block,
				   const SwareSearchKey *place)
{
	TupleDesc	descriptor = RelationGetDescr(view->index);
	SwareKeyColumn column;
	uint32		low = 0;
	uint32		high = block->entries;
	bool		abbreviated = false;
	int64		value = 0;
	int64		low_value = block->smallest;	/* not above entry `low` */
	int64		high_value = block->largest;	/* not below entry `high` - 1 */
	int			interpolations = 0;

	if (place->columnCount == 0)
		return place->after ? high : 0;
	if (block->fences > 0)
	{
		sware_key_column_init(&column, view->index, 1, (Datum) 0, true);
		abbreviated = sware_abbreviate_end(&column, place, &value);
	}
	if (abbreviated)
	{
		if (value < low_value)
			return 0;
		if (value > high_value)
			return high;
		if (!search_fences(block, value, &low, &high, &low_value, &high_value))
			return -1;
	}

	while (low < high)
	{
		EntryCopy	copy;
		uint32		middle = low + (high - low) / 2;
		int64		found;
		int			order;

		if (abbreviated && interpolations < MAX_INTERPOLATIONS &&
			high - low > MIN_TO_INTERPOLATE)
		{
			middle = interpolate(low, high, low_value, high_value, value);
			interpolations++;
		}
		if (!copy_tuple(block, middle, &copy.tuple))
			return -1;

		found = abbreviated ? sware_abbreviate(&column, descriptor, &copy.tuple) : 0;
		if (found != value)
			order = value < found ? -1 : 1;
		else
			order = sware_compare_key(place, &copy.tuple);
		if (order > 0)
		{
			low = middle + 1;
			low_value = found;
		}
		else
		{
			high = middle;
			high_value = found;
		}
	}
	return low;
}
