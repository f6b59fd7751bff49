/*-------------------------------------------------------------------------
 *
 * blockbuilder.c
 *	  Building sorted blocks.
 *
 * A block is made of blocks, and of pages behind them in the order of sealing.
 * Pages are sorted, and merged with what is sorted already, the smallest first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "am/options.h"
#include "buffer/abbreviation.h"
#include "buffer/bloomfilter.h"
#include "buffer/hashfunction.h"
#include "buffer/sortedblock.h"
#include "buffer/sorter.h"

/* entries are read from blocks in pieces of so many and so many bytes, at most */
#define PIECE_ENTRIES		1024
#define PIECE_BYTES			(64 * 1024)

/* their memory is allocated in pieces, too */
#define ROOM_BYTES			(256 * 1024)

/* What a block is made of.  Each entry has its page's number before it. */
typedef struct Gathered
{
	Relation	index;
	IndexTuple *entries;
	int64		count;
	int64		allocated;
	char	   *room;
	Size		roomLeft;
} Gathered;

#define ORIGIN_SIZE			MAXALIGN(sizeof(uint16))

static inline uint16 *
origin_of(IndexTuple entry)
{
	return (uint16 *) ((char *) entry - ORIGIN_SIZE);
}

static void
gather(Gathered *gathered, IndexTuple entry, int origin)
{
	Size		size = MAXALIGN(IndexTupleSize(entry));
	IndexTuple	copy;

	if (gathered->roomLeft < ORIGIN_SIZE + size)
	{
		gathered->room = palloc(ROOM_BYTES);
		gathered->roomLeft = ROOM_BYTES;
	}
	if (gathered->count == gathered->allocated)
	{
		gathered->allocated = Max(2 * gathered->allocated, PIECE_ENTRIES);
		gathered->entries = gathered->entries == NULL ?
			palloc(gathered->allocated * sizeof(IndexTuple)) :
			repalloc_huge(gathered->entries, gathered->allocated * sizeof(IndexTuple));
	}
	copy = (IndexTuple) (gathered->room + ORIGIN_SIZE);
	memcpy(copy, entry, size);
	*origin_of(copy) = origin;
	gathered->room += ORIGIN_SIZE + size;
	gathered->roomLeft -= ORIGIN_SIZE + size;
	gathered->entries[gathered->count++] = copy;
}

/*
 * Gather a block's entries, except those of retired pages.  Its first other
 * page gets a number.  False if the block is gone.
 */
static bool
gather_block(Gathered *gathered, const SwareSortedBlock *block, int number)
{
	Size		size = block->entrySize > 0 ? block->entrySize :
		MAXALIGN(SWARE_MAX_ENTRY_SIZE);
	uint32		most = Min(PIECE_ENTRIES, PIECE_BYTES / size);
	char	   *tuples = palloc(most * size);
	uint16		origins[PIECE_ENTRIES];
	uint32		count;

	for (uint32 first = block->firstEntry; first < block->endEntry; first += count)
	{
		char	   *tuple = tuples;

		CHECK_FOR_INTERRUPTS();
		count = Min(most, block->endEntry - first);
		if (!sware_block_copy_tuples(block, first, count, tuples) ||
			!sware_block_copy_origins(block, first, count, origins))
			return false;
		for (uint32 i = 0; i < count; i++)
		{
			if (origins[i] >= block->retiredPages)
				gather(gathered, (IndexTuple) tuple,
					   origins[i] - block->retiredPages + number);
			tuple += MAXALIGN(IndexTupleSize((IndexTuple) tuple));
		}
	}
	pfree(tuples);
	return true;
}

/*
 * Gather the entries of a page with a number, and tell its LSN; false if the
 * page is gone.  Locks it for a moment.
 */
static bool
gather_page(Gathered *gathered, SwareLink link, int number, XLogRecPtr *lsn)
{
	PGAlignedBlock copy;

	CHECK_FOR_INTERRUPTS();
	if (!sware_copy_buffer_page(gathered->index, link, copy.data))
		return false;
	for (Size offset = SWARE_BUFFER_START; offset < sware_buffer_page_end(copy.data);)
	{
		Size		start = offset;
		IndexTuple	entry = sware_buffer_entry(gathered->index, link.block, copy.data,
											   &offset);

		if (IndexTupleSize(entry) > SWARE_MAX_ENTRY_SIZE)
			sware_report_buffer_entry(gathered->index, link.block, start);
		gather(gathered, entry, number);
	}
	*lsn = PageGetLSN(copy.data);
	return true;
}

/*
 * Merge the last entries, from `middle` on, with those before, from `begin` on.
 * Both are in order.
 */
static void
merge(Gathered *gathered, int64 begin, int64 middle)
{
	TupleDesc	descriptor = RelationGetDescr(gathered->index);
	IndexTuple *entries = gathered->entries;
	int64		count = gathered->count - middle;
	int64		left = middle;
	SwareKeyColumn column;
	IndexTuple *moved;
	int64		left_abbreviation;
	int64		abbreviation;

	if (count == 0 || middle == begin ||
		sware_compare_entries(gathered->index, entries[middle - 1], entries[middle]) < 0)
		return;
	sware_key_column_init(&column, gathered->index, 1, (Datum) 0, true);
	moved = MemoryContextAllocHuge(CurrentMemoryContext, count * sizeof(IndexTuple));
	memcpy(moved, entries + middle, count * sizeof(IndexTuple));
	left_abbreviation = sware_abbreviate(&column, descriptor, entries[left - 1]);
	abbreviation = sware_abbreviate(&column, descriptor, moved[count - 1]);
	for (int64 place = gathered->count - 1;; place--)
	{
		if (place % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (left > begin &&
			(left_abbreviation > abbreviation ||
			 (left_abbreviation == abbreviation &&
			  sware_compare_entries(gathered->index, entries[left - 1],
									moved[count - 1]) > 0)))
		{
			entries[place] = entries[--left];
			if (left > begin)
				left_abbreviation = sware_abbreviate(&column, descriptor, entries[left - 1]);
		}
		else
		{
			entries[place] = moved[--count];
			if (count == 0)
				break;
			abbreviation = sware_abbreviate(&column, descriptor, moved[count - 1]);
		}
	}
	pfree(moved);
}

/*
 * Of equal entries keep the one whose page retires last: it has to be found as
 * long as one of the pages has it.  Returns how many are left.
 */
static int64
drop_equal(Relation index, IndexTuple *entries, int64 count)
{
	int64		kept = Min(count, 1);

	for (int64 i = 1; i < count; i++)
	{
		if (!ItemPointerEquals(&entries[i]->t_tid, &entries[kept - 1]->t_tid) ||
			sware_compare_entries(index, entries[i], entries[kept - 1]) != 0)
			entries[kept++] = entries[i];
		else if (*origin_of(entries[i]) > *origin_of(entries[kept - 1]))
			entries[kept - 1] = entries[i];
	}
	return kept;
}

/* Find out where in the segment things will be. */
static void
lay_out(Relation index, const SwareKeyColumn *column, IndexTuple *entries,
		SwareBlockImage *image)
{
	SwareSortedBlock *block = &image->block;
	int			filter_bits = sware_bloom_bits(index);
	FmgrInfo   *function = filter_bits > 0 ? sware_hash_function(index, 0) : NULL;
	Size		first_size = MAXALIGN(IndexTupleSize(entries[0]));
	Size		total = 0;
	bool		same_size = true;
	Size		end;

	for (uint32 i = 0; i < block->entries; i++)
	{
		Size		size = MAXALIGN(IndexTupleSize(entries[i]));

		total += size;
		same_size &= size == first_size;
	}
	block->entrySize = same_size ? first_size : 0;

	end = block->pages * sizeof(SwareLink);
	block->fencesStart = end = TYPEALIGN(SWARE_SEGMENT_ALIGNMENT, end);
	if (sware_has_abbreviations(column))
		block->fences = (block->entries - 1) / SWARE_FENCE_DISTANCE + 1;
	end += block->fences * sizeof(int64);
	block->filterStart = end = TYPEALIGN(SWARE_SEGMENT_ALIGNMENT, end);
	if (function != NULL)
	{
		block->hashFunction = function->fn_oid;
		block->filterLines = ((uint64) block->entries * filter_bits - 1) /
			SWARE_FILTER_LINE_BITS + 1;
		block->filterProbes = rint(filter_bits * M_LN2);
		block->filterProbes = Max(1, Min(block->filterProbes, SWARE_FILTER_MAX_PROBES));
		end += (Size) block->filterLines * SWARE_FILTER_LINE_BYTES;
	}
	block->originsStart = end;
	end += block->entries * sizeof(uint16);
	block->offsetsStart = end = INTALIGN(end);
	if (!same_size)
		end += (block->entries + 1) * sizeof(uint32);
	block->tuplesStart = end = MAXALIGN(end);
	image->length = end + total;
}

static void
fill_filter(Relation index, IndexTuple *entries, SwareBlockImage *image)
{
	SwareSortedBlock *block = &image->block;
	FmgrInfo   *function = sware_hash_function(index, 0);
	uint8	   *filter = (uint8 *) image->bytes + block->filterStart;
	MemoryContext context;
	MemoryContext caller;

	/* since the look at it a moment ago, the class may have got another */
	if (function == NULL || function->fn_oid != block->hashFunction)
	{
		block->filterLines = 0;
		return;
	}

	context = AllocSetContextCreate(CurrentMemoryContext, "sware hash",
									ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(context);
	for (uint32 i = 0; i < block->entries; i++)
	{
		bool		is_null;
		Datum		value;
		uint32		hash;

		value = index_getattr(entries[i], 1, RelationGetDescr(index), &is_null);
		if (is_null)
			continue;
		hash = (uint32) sware_hash_value(index, 0, function, value);
		sware_filter_add(filter + (Size) sware_filter_line(hash, block->filterLines) *
						 SWARE_FILTER_LINE_BYTES, hash, block->filterProbes);
		if (i % 1024 == 0)
		{
			MemoryContextReset(context);
			CHECK_FOR_INTERRUPTS();
		}
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}

/* Fill in origins, offsets and tuples. */
static void
fill_entries(IndexTuple *entries, SwareBlockImage *image)
{
	SwareSortedBlock *block = &image->block;
	uint16	   *origins = (uint16 *) (image->bytes + block->originsStart);
	uint32	   *offsets = (uint32 *) (image->bytes + block->offsetsStart);
	char	   *tuples = image->bytes + block->tuplesStart;
	uint32		length = 0;

	for (uint32 i = 0; i < block->entries; i++)
	{
		Size		size = MAXALIGN(IndexTupleSize(entries[i]));

		origins[i] = *origin_of(entries[i]);
		if (block->entrySize == 0)
			offsets[i] = length;
		memcpy(tuples + length, entries[i], size);
		length += size;
	}
	if (block->entrySize == 0)
		offsets[block->entries] = length;
}

/*
 * Build a block of other blocks, except for retired pages, and of buffer pages;
 * all are neighbours in the order of sealing.  False if one of them is gone.
 * Takes memory from the current context, which the caller soon deletes.  Locks
 * one page at a time; none while comparators and hash functions run.
 */
bool
sware_block_build(Relation index, const SwareSortedBlock *blocks, int block_count,
				  const SwareLink *links, int link_count, SwareBlockImage *image)
{
	SwareSortedBlock *block = &image->block;
	Gathered	gathered = {.index = index};
	int64	   *begins = palloc((block_count + 1) * sizeof(int64));
	SwareLink	all_links[SWARE_MAX_BLOCK_PAGES];
	int			pages = 0;
	int64	   *fences;
	SwareKeyColumn column;

	memset(image, 0, sizeof(SwareBlockImage));
	for (int i = 0; i < block_count; i++)
	{
		SwareLink	own[SWARE_MAX_BLOCK_PAGES];
		int			live = blocks[i].pages - blocks[i].retiredPages;

		Assert(pages + live <= SWARE_MAX_BLOCK_PAGES);
		begins[i] = gathered.count;
		if (!sware_block_copy_links(&blocks[i], own) ||
			!gather_block(&gathered, &blocks[i], pages))
			return false;
		memcpy(all_links + pages, own + blocks[i].retiredPages, live * sizeof(SwareLink));
		pages += live;
		block->lastLsn = blocks[i].lastLsn;
	}
	Assert(pages + link_count <= SWARE_MAX_BLOCK_PAGES);
	begins[block_count] = gathered.count;
	for (int i = 0; i < link_count; i++)
	{
		if (!gather_page(&gathered, links[i], pages, &block->lastLsn))
			return false;
		all_links[pages++] = links[i];
	}
	if (gathered.count == 0)
		return false;

	sware_sort_entries(index, gathered.entries + begins[block_count],
					   gathered.count - begins[block_count]);
	for (int i = block_count; i > 0; i--)
		merge(&gathered, begins[i - 1], begins[i]);
	block->entries = drop_equal(index, gathered.entries, gathered.count);
	block->endEntry = block->entries;
	block->pages = pages;
	sware_key_column_init(&column, index, 1, (Datum) 0, true);
	block->smallest = sware_abbreviate(&column, RelationGetDescr(index), gathered.entries[0]);
	block->largest = sware_abbreviate(&column, RelationGetDescr(index),
									  gathered.entries[block->entries - 1]);

	lay_out(index, &column, gathered.entries, image);
	image->bytes = MemoryContextAllocExtended(CurrentMemoryContext, image->length,
											  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	memcpy(image->bytes, all_links, pages * sizeof(SwareLink));
	fences = (int64 *) (image->bytes + block->fencesStart);
	for (uint32 i = 0; i < block->fences; i++)
		fences[i] = sware_abbreviate(&column, RelationGetDescr(index),
									 gathered.entries[(Size) i * SWARE_FENCE_DISTANCE]);
	if (block->filterLines > 0)
		fill_filter(index, gathered.entries, image);
	fill_entries(gathered.entries, image);
	return true;
}

/*
 * Copy a block to shared memory; false if there is no room.  It must be freed,
 * or put where others find it, before anything can fail or be interrupted.
 */
bool
sware_block_store(SwareBlockImage *image)
{
	SwareSortedBlock *block = &image->block;

	if (!sware_segment_allocate(image->length, &block->segment))
		return false;
	sware_segment_write(&block->segment, 0, image->bytes, image->length);
	block->stamp = sware_new_stamp();
	sware_segment_set_stamp(&block->segment, block->stamp);
	return true;
}
