/*-------------------------------------------------------------------------
 *
 * runbuilder.c
 *	  Building the sorted zone of a run.  See runbuilder.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/options.h"
#include "keys/abbreviation.h"
#include "keys/bloomfilter.h"
#include "keys/hashfunction.h"
#include "layout/tuple.h"
#include "pages/bufferpages.h"
#include "zones/runbuilder.h"

/* there are anchors if they take no more than this for each page, in bytes */
#define ANCHOR_BYTES		512

/*
 * What the filter has for bloom_bits, in bits an entry: twice as many, as long
 * as SWARE_RUN_PAGES_PER_CHUNK pages find room in a chunk.  A look-up asks the
 * filters of all runs, and reads a page for each wrong answer.
 */
#define FILTER_BITS(bits)	Max(bits, Min(2 * (bits), 20))

/* entries that there is room for at first */
#define FIRST_ALLOCATED		4096

struct SwareRunBuilder
{
	Relation	index;
	SwareSortedZone zone;
	SwareKeyColumn column;		/* the first */
	Oid			hashFunction;	/* what hashes are made with; or none */
	MemoryContext hashContext;
	Size		entrySize;		/* of all entries so far; 0: they differ */
	uint32		allocated;		/* entries that there is room for */
	uint32		hashCount;
	uint32	   *hashes;			/* of the first column's values */
	int64	   *fences;
	uint16	   *offsets;		/* on its page, of each entry with a fence */
	StringInfoData anchors;		/* the first entry of each page */
	uint32		anchorStarts[SWARE_MAX_ZONE_PAGES + 1];
	uint32		starts[SWARE_MAX_ZONE_PAGES + 1];
	SwareLink	links[SWARE_MAX_ZONE_PAGES];
};

SwareRunBuilder *
sware_run_builder_begin(Relation index)
{
	SwareRunBuilder *builder = palloc0(sizeof(SwareRunBuilder));
	FmgrInfo   *function =
		sware_bloom_bits(index) > 0 ? sware_hash_function(index, 0) : NULL;

	builder->index = index;
	builder->zone.isOfRun = true;
	sware_key_column_init(&builder->column, index, 1, (Datum) 0, true);
	builder->hashFunction = function ? function->fn_oid : InvalidOid;
	builder->hashContext = AllocSetContextCreate(CurrentMemoryContext,
												 "sware filter",
												 ALLOCSET_DEFAULT_SIZES);
	initStringInfo(&builder->anchors);
	return builder;
}

/* Make room for the next page's entries. */
static void
reserve(SwareRunBuilder *builder, uint32 entries)
{
	uint32		allocated = Max(builder->allocated, FIRST_ALLOCATED);
	Size		fences;

	while (allocated < entries)
		allocated *= 2;
	if (allocated == builder->allocated)
		return;
	fences = allocated / SWARE_FENCE_DISTANCE;
	if (builder->allocated == 0)
	{
		builder->hashes = palloc_extended(allocated * sizeof(uint32),
										  MCXT_ALLOC_HUGE);
		builder->fences = palloc(fences * sizeof(int64));
		builder->offsets = palloc(fences * sizeof(uint16));
	}
	else
	{
		builder->hashes = repalloc_huge(builder->hashes,
										allocated * sizeof(uint32));
		builder->fences = repalloc(builder->fences, fences * sizeof(int64));
		builder->offsets = repalloc(builder->offsets, fences * sizeof(uint16));
	}
	builder->allocated = allocated;
}

/*
 * Hash the entries of a page.  If the column has got another hash function
 * meanwhile, there will be no filter.
 */
static void
add_hashes(SwareRunBuilder *builder, IndexTuple *entries, int count)
{
	FmgrInfo   *function;
	MemoryContext caller;

	if (!OidIsValid(builder->hashFunction))
		return;
	function = sware_hash_function(builder->index, 0);
	if (function == NULL || function->fn_oid != builder->hashFunction)
	{
		builder->hashFunction = InvalidOid;
		return;
	}
	caller = MemoryContextSwitchTo(builder->hashContext);
	for (int i = 0; i < count; i++)
	{
		bool		is_null;
		Datum		value = index_getattr(entries[i], 1,
										  RelationGetDescr(builder->index),
										  &is_null);

		if (!is_null)
			builder->hashes[builder->hashCount++] = (uint32)
				sware_hash_value(builder->index, 0, function, value);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextReset(builder->hashContext);
}

void
sware_run_builder_add(SwareRunBuilder *builder, SwareLink link, uint64 seal,
					  IndexTuple *entries, int count)
{
	SwareSortedZone *zone = &builder->zone;
	TupleDesc	descriptor = RelationGetDescr(builder->index);
	Size		offset = SWARE_BUFFER_START;

	Assert(zone->pages < SWARE_MAX_ZONE_PAGES);
	if (zone->pages == 0 && count > 0)
	{
		builder->entrySize = MAXALIGN(IndexTupleSize(entries[0]));
		zone->entriesPerPage = count;
		zone->smallest = sware_abbreviate(&builder->column, descriptor,
										  entries[0]);
	}
	else if (zone->pages > 0 &&
			 (zone->entries != zone->pages * zone->entriesPerPage ||
			  count > zone->entriesPerPage))
		zone->entriesPerPage = 0;	/* a page before the last one is shorter */
	reserve(builder, zone->entries + count);
	add_hashes(builder, entries, count);

	builder->links[zone->pages] = link;
	zone->lastSeal = seal;
	builder->starts[zone->pages] = zone->entries;
	builder->anchorStarts[zone->pages] = builder->anchors.len;
	if (count > 0)
		appendBinaryStringInfo(&builder->anchors, (char *) entries[0],
							   IndexTupleSize(entries[0]));
	while (builder->anchors.len % MAXIMUM_ALIGNOF != 0)
		appendStringInfoChar(&builder->anchors, 0);
	zone->pages++;
	for (int i = 0; i < count; i++)
	{
		Size		size = MAXALIGN(IndexTupleSize(entries[i]));
		uint32		number = zone->entries++;

		if (number % SWARE_FENCE_DISTANCE == 0)
		{
			builder->fences[number / SWARE_FENCE_DISTANCE] =
				sware_abbreviate(&builder->column, descriptor, entries[i]);
			builder->offsets[number / SWARE_FENCE_DISTANCE] = offset;
		}
		if (size != builder->entrySize)
			builder->entrySize = 0;
		zone->largestEntry = Max(zone->largestEntry, size);
		offset += size;
	}
	if (count > 0)
		zone->largest = sware_abbreviate(&builder->column, descriptor,
										 entries[count - 1]);
}

/* Set where in the allocation the parts will be, and the length of all. */
static void
lay_out(SwareRunBuilder *builder, SwareZoneImage *image)
{
	SwareSortedZone *zone = &builder->zone;
	uint32		fences = (zone->entries - 1) / SWARE_FENCE_DISTANCE + 1;
	Size		end = zone->pages * sizeof(SwareLink);

	zone->entrySize = builder->entrySize;
	zone->endEntry = zone->entries;
	zone->fencesStart = end = TYPEALIGN(SWARE_POOL_ALIGNMENT, end);
	if (sware_has_abbreviations(&builder->column))
		zone->fences = fences;
	end += zone->fences * sizeof(int64);
	zone->filterStart = end = TYPEALIGN(SWARE_POOL_ALIGNMENT, end);
	end += sware_zone_plan_filter(zone, builder->hashFunction,
								  FILTER_BITS(sware_bloom_bits(builder->index)));
	zone->startsStart = end;
	end += (zone->pages + 1) * sizeof(uint32);
	zone->offsetsStart = end;
	if (zone->entrySize == 0)
		end += fences * sizeof(uint16);
	zone->endsStart = end = TYPEALIGN(sizeof(SwareMarkedEnds), end);
	end += sizeof(SwareMarkedEnds);
	if (builder->anchors.len <= (int) zone->pages * ANCHOR_BYTES)
	{
		zone->anchorsStart = end;
		end += (zone->pages + 1) * sizeof(uint32);
		zone->tuplesStart = end = MAXALIGN(end);
		end += builder->anchors.len;
	}
	image->length = end;
}

/* Set the bits of the filter. */
static void
fill_filter(SwareRunBuilder *builder, char *filter)
{
	SwareSortedZone *zone = &builder->zone;

	for (uint32 i = 0; i < builder->hashCount; i++)
		sware_filter_add((uint8 *) filter +
						 (Size) sware_filter_line(builder->hashes[i],
												  zone->filterLines) *
						 SWARE_FILTER_LINE_BYTES,
						 builder->hashes[i], zone->filterProbes);
}

bool
sware_run_builder_finish(SwareRunBuilder *builder, SwareZoneImage *image)
{
	SwareSortedZone *zone = &builder->zone;
	char	   *bytes;

	if (zone->entries == 0)
		return false;
	builder->starts[zone->pages] = zone->entries;
	builder->anchorStarts[zone->pages] = builder->anchors.len;
	lay_out(builder, image);
	bytes = image->bytes =
		MemoryContextAllocExtended(CurrentMemoryContext, image->length,
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	memcpy(bytes, builder->links, zone->pages * sizeof(SwareLink));
	memcpy(bytes + zone->fencesStart, builder->fences,
		   zone->fences * sizeof(int64));
	if (zone->filterLines > 0)
		fill_filter(builder, bytes + zone->filterStart);
	memcpy(bytes + zone->startsStart, builder->starts,
		   (zone->pages + 1) * sizeof(uint32));
	if (zone->entrySize == 0)
		memcpy(bytes + zone->offsetsStart, builder->offsets,
			   ((zone->entries - 1) / SWARE_FENCE_DISTANCE + 1) *
			   sizeof(uint16));
	((SwareMarkedEnds *) (bytes + zone->endsStart))->end = zone->entries;
	if (zone->anchorsStart > 0)
	{
		uint32	   *starts = (uint32 *) (bytes + zone->anchorsStart);

		for (uint32 i = 0; i <= zone->pages; i++)
			starts[i] = zone->tuplesStart + builder->anchorStarts[i];
		memcpy(bytes + zone->tuplesStart, builder->anchors.data,
			   builder->anchors.len);
	}
	image->zone = *zone;
	return true;
}

bool
sware_run_zone_build(Relation index, const SwareLink *links, int count,
					 SwareZoneImage *image)
{
	SwareRunBuilder *builder = sware_run_builder_begin(index);

	for (int i = 0; i < count; i++)
	{
		PGAlignedBlock copy;
		IndexTuple	entries[BLCKSZ / sizeof(IndexTupleData)];
		int			found = 0;

		CHECK_FOR_INTERRUPTS();
		if (!sware_copy_buffer_page(index, links[i], copy.data) ||
			!sware_buffer_page_is_sorted(copy.data))
			return false;
		for (Size offset = SWARE_BUFFER_START;
			 offset < sware_buffer_page_end(copy.data);)
		{
			Size		start = offset;

			entries[found] = sware_buffer_entry(index, links[i].block,
												copy.data, &offset);
			if (IndexTupleSize(entries[found++]) > SWARE_MAX_ENTRY_SIZE)
				sware_report_buffer_entry(index, links[i].block, start);
		}
		sware_run_builder_add(builder, links[i],
							  SwarePageGetOpaque(copy.data)->seal, entries,
							  found);
	}
	return sware_run_builder_finish(builder, image);
}
