/*-------------------------------------------------------------------------
 *
 * entrymerge.c
 *	  Merging entries that are in order in several places.
 *
 * The sources are ordered lists, and an array.  Usually the next entry comes
 * from the same source as the last one, since tables are nearly in order, and
 * each worker of a parallel build reads many blocks at a time.  One comparison
 * is enough to find that out.  With a single source, nothing is compared.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/binaryheap.h"

#include "sort/entrymerge.h"

/*
 * The number of items by which the fetching of entries into the processor's
 * cache is ahead.
 */
#define PREFETCH_DISTANCE	16

typedef struct Source
{
	SwareOrderedList *list;		/* NULL if the source is the array */
	const SwareSortItem *items; /* the array's next items */
	int64		itemCount;
	SwareSortItem next;			/* the source's next entry; NULL at the end */
} Source;

struct SwareEntryMerge
{
	SwareComparator *comparator;
	List	   *sources;
	Source	   *current;		/* source of the last entry; NULL at first */
	binaryheap *others;			/* the other sources that have an entry */
};

/* Begin a merge.  It is allocated in the current memory context. */
SwareEntryMerge *
sware_entry_merge_begin(SwareComparator *comparator)
{
	SwareEntryMerge *merge = palloc0(sizeof(SwareEntryMerge));

	merge->comparator = comparator;
	return merge;
}

/* Add a list as a source. sware_entry_merge_end closes it. */
void
sware_entry_merge_add_list(SwareEntryMerge *merge, SwareOrderedList *list)
{
	Source	   *source = palloc0(sizeof(Source));

	sware_ordered_list_rewind(list);
	source->list = list;
	merge->sources = lappend(merge->sources, source);
}

/*
 * Add an array of sorted items as a source.  It must stay until the merge
 * ends.
 */
void
sware_entry_merge_add_items(SwareEntryMerge *merge, const SwareSortItem *items,
							int64 count)
{
	Source	   *source = palloc0(sizeof(Source));

	source->items = items;
	source->itemCount = count;
	merge->sources = lappend(merge->sources, source);
}

static void
advance(SwareEntryMerge *merge, Source *source)
{
	if (source->list)
	{
		IndexTuple	entry = sware_ordered_list_next(source->list);

		if (entry)
			source->next = sware_make_item(merge->comparator, entry);
		else
			source->next.entry = NULL;
	}
	else if (source->itemCount > 0)
	{
		/*
		 * Entries lie in memory in the order of arrival, so sorted ones are
		 * far apart.
		 */
		if (source->itemCount > PREFETCH_DISTANCE)
			__builtin_prefetch(source->items[PREFETCH_DISTANCE].entry);
		source->next = *source->items++;
		source->itemCount--;
	}
	else
		source->next.entry = NULL;
}

/*
 * binaryheap has its largest element at the top, so "larger" means "comes
 * earlier"
 */
static int
compare_sources(Datum a, Datum b, void *comparator)
{
	Source	   *source_a = (Source *) DatumGetPointer(a);
	Source	   *source_b = (Source *) DatumGetPointer(b);

	return sware_compare_items(&source_b->next, &source_a->next, comparator);
}

/* Begin to read.  No source may be added any more. */
void
sware_entry_merge_perform(SwareEntryMerge *merge)
{
	ListCell   *cell;

	merge->others = binaryheap_allocate(Max(list_length(merge->sources), 1),
										compare_sources, merge->comparator);
	foreach(cell, merge->sources)
	{
		Source	   *source = lfirst(cell);

		advance(merge, source);
		if (source->next.entry)
			binaryheap_add_unordered(merge->others, PointerGetDatum(source));
	}
	binaryheap_build(merge->others);
}

/*
 * Return the next entry, valid until the next call, or NULL at the end.  It
 * may be marked as dead (entrysort.h).  Runs comparators.
 */
IndexTuple
sware_entry_merge_next(SwareEntryMerge *merge)
{
	Source	   *current = merge->current;
	Source	   *other;

	if (current)
		advance(merge, current);
	if (binaryheap_empty(merge->others))
		return current ? current->next.entry : NULL;

	other = (Source *) DatumGetPointer(binaryheap_first(merge->others));
	if (current == NULL || current->next.entry == NULL)
		(void) binaryheap_remove_first(merge->others);
	else if (sware_compare_items(&current->next, &other->next,
								 merge->comparator) < 0)
		return current->next.entry;
	else
		binaryheap_replace_first(merge->others, PointerGetDatum(current));
	merge->current = other;
	return other->next.entry;
}

/* Close the lists, and free the merge. */
void
sware_entry_merge_end(SwareEntryMerge *merge)
{
	ListCell   *cell;

	foreach(cell, merge->sources)
	{
		Source	   *source = lfirst(cell);

		if (source->list)
			sware_ordered_list_end(source->list);
	}
	list_free_deep(merge->sources);
	binaryheap_free(merge->others);
	pfree(merge);
}
