/*-------------------------------------------------------------------------
 *
 * entrymerge.c
 *	  Merging the sorted parts of a parallel build.
 *
 * There is one part that this process has sorted, and there are lists that
 * workers have.  In an ordered table, workers take turns of many blocks each:
 * the next entry comes from where the last one came from, and one comparison
 * shows that.  Without any list, nothing is compared.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/binaryheap.h"

#include "am/entrymerge.h"

typedef struct Source
{
	SwareOrderedList *list;		/* NULL: the own part */
	IndexTuple	entry;			/* its next; NULL at its end */
} Source;

struct SwareEntryMerge
{
	SwareEntrySort *own;		/* the own part; it compares, too */
	List	   *sources;
	Source	   *current;		/* where the last entry came from; NULL before */
	binaryheap *others;			/* sources that have an entry, without the
								 * current one */
};

static void
add_source(SwareEntryMerge *merge, SwareOrderedList *list)
{
	Source	   *source = palloc0(sizeof(Source));

	source->list = list;
	merge->sources = lappend(merge->sources, source);
}

/* Start to merge; the own part has been sorted, but not read. */
SwareEntryMerge *
sware_entry_merge_begin(SwareEntrySort *own)
{
	SwareEntryMerge *merge = palloc0(sizeof(SwareEntryMerge));

	merge->own = own;
	add_source(merge, NULL);
	return merge;
}

/* Add a list; it is closed in the end. */
void
sware_entry_merge_add_list(SwareEntryMerge *merge, SwareOrderedList *list)
{
	sware_ordered_list_rewind(list);
	add_source(merge, list);
}

static void
advance(SwareEntryMerge *merge, Source *source)
{
	source->entry = source->list ? sware_ordered_list_next(source->list) :
		sware_entry_sort_next(merge->own);
}

/* the heap has its largest element on top: larger means to come earlier */
static int
compare_sources(Datum a, Datum b, void *own)
{
	Source	   *source_a = (Source *) DatumGetPointer(a);
	Source	   *source_b = (Source *) DatumGetPointer(b);

	return sware_entry_sort_is_below(own, source_a->entry, source_b->entry) ? 1 : -1;
}

/* Start to read; no list is added any more. */
void
sware_entry_merge_perform(SwareEntryMerge *merge)
{
	ListCell   *cell;

	merge->others = binaryheap_allocate(list_length(merge->sources),
										compare_sources, merge->own);
	foreach(cell, merge->sources)
	{
		Source	   *source = lfirst(cell);

		advance(merge, source);
		if (source->entry)
			binaryheap_add_unordered(merge->others, PointerGetDatum(source));
	}
	binaryheap_build(merge->others);
}

/*
 * The next entry, perhaps marked, valid until the next call, or NULL at the
 * end.
 */
IndexTuple
sware_entry_merge_next(SwareEntryMerge *merge)
{
	Source	   *current = merge->current;
	Source	   *other;

	if (current)
		advance(merge, current);
	if (binaryheap_empty(merge->others))
		return current ? current->entry : NULL;

	other = (Source *) DatumGetPointer(binaryheap_first(merge->others));
	if (current == NULL || current->entry == NULL)
		(void) binaryheap_remove_first(merge->others);
	else if (sware_entry_sort_is_below(merge->own, current->entry, other->entry))
		return current->entry;
	else
		binaryheap_replace_first(merge->others, PointerGetDatum(current));
	merge->current = other;
	return other->entry;
}

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
