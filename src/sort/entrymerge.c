/*-------------------------------------------------------------------------
 *
 * entrymerge.c
 *	  Merging entries that are in order in several places.
 *
 * A source is a file, an array, or a file and the array that follows it.
 * Usually the next entry comes from the same source as the last one, since
 * tables are nearly in order, and each worker of a parallel build reads many
 * blocks at a time.  One comparison is enough to find that out, often even for
 * all entries of a file's bin.  With a single source, nothing is compared.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/binaryheap.h"

#include "keys/entry.h"
#include "sort/entrysort.h"

typedef struct Source
{
	SwareSortedFile *file;		/* NULL if there is only an array */
	bool		fileIsRead;		/* have all entries of the file been read? */
	const IndexTuple *entries;	/* the array */
	int64		count;
	int64		position;		/* of its next entry */
	bool		beginsBin;		/* is `next` the first entry of a file's bin? */
	bool		binIsBelow;		/* are all entries of the bin below those of
								 * the other sources? */
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

/*
 * Add a source: a file, which is about to be read and is ended with the merge,
 * and the entries of an array, which are not below those of the file.  There
 * may be no file, or no array.  The array must stay until the merge ends.
 */
void
sware_entry_merge_add(SwareEntryMerge *merge, SwareSortedFile *file,
					  const IndexTuple *entries, int64 count)
{
	Source	   *source = palloc0(sizeof(Source));

	source->file = file;
	source->fileIsRead = file == NULL;
	source->entries = entries;
	source->count = count;
	merge->sources = lappend(merge->sources, source);
}

static void
advance(SwareEntryMerge *merge, Source *source)
{
	IndexTuple	entry = NULL;

	source->beginsBin = false;
	if (!source->fileIsRead)
	{
		entry = sware_sorted_file_next(source->file, &source->beginsBin);
		source->fileIsRead = entry == NULL;
		source->binIsBelow &= !source->fileIsRead;
	}
	if (entry == NULL && source->position < source->count)
	{
		sware_prefetch_entry(source->entries, source->position, source->count);
		entry = source->entries[source->position++];
	}
	source->next.entry = entry;
	if (entry)
		source->next = sware_make_item(merge->comparator, entry);
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

/* Is an item below all that another source has? */
static inline bool
is_below(SwareEntryMerge *merge, SwareSortItem item, const Source *other)
{
	return sware_compare_items(&item, &other->next, merge->comparator) < 0;
}

/*
 * Return the next entry, valid until the next call, or NULL at the end.  It may
 * be marked as dead (entrysort.h).  Calls comparators.
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
	if (current && current->beginsBin)
		current->binIsBelow =
			is_below(merge, sware_make_item(merge->comparator,
											sware_sorted_file_last(current->file)),
					 other);
	if (current == NULL || current->next.entry == NULL)
		(void) binaryheap_remove_first(merge->others);
	else if (current->binIsBelow || is_below(merge, current->next, other))
		return current->next.entry;
	else
		binaryheap_replace_first(merge->others, PointerGetDatum(current));
	merge->current = other;
	return other->next.entry;
}

/* End the files, and free the merge. */
void
sware_entry_merge_end(SwareEntryMerge *merge)
{
	ListCell   *cell;

	foreach(cell, merge->sources)
	{
		Source	   *source = lfirst(cell);

		if (source->file)
			sware_sorted_file_end(source->file);
	}
	list_free_deep(merge->sources);
	binaryheap_free(merge->others);
	pfree(merge);
}
