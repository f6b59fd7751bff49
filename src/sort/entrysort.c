/*-------------------------------------------------------------------------
 *
 * entrysort.c
 *	  Sorting the entries of an index, cheaply if they come nearly in order.
 *
 * Entries that come in order are set aside in a list; the others, the
 * outliers, are sorted; in the end the two are merged.  If an entry is below
 * the last one of the list, it is unknown which of the two is out of place, so
 * both become outliers: otherwise an entry that came much too early would make
 * outliers of all that follow.  (The division is Cook and Kim's, "Best sorting
 * algorithm for nearly sorted lists", 1980.)
 *
 * If most entries are outliers, nothing is set aside any more.
 *
 * Outliers are kept in memory.  When it is used up, they are sorted and become
 * a run, which is an ordered list as well.  If there are many runs, they are
 * merged into one, so that reading runs takes a limited amount of memory.
 *
 * In a parallel build, each worker sorts its part.  What it exports is the list
 * and its outliers, two files, since there is no use in merging them before the
 * leader merges everything.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/faultpoint.h"
#include "sort/entrysort.h"
#include "sort/orderedlist.h"
#include "keys/entry.h"
#include "keys/entryform.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "layout/tuple.h"

/*
 * after this number of entries, look whether setting aside is worth its cost
 */
#define WINDOW_ENTRIES	20000

/*
 * The part of the memory that the list gets, as a divisor.  It is small: a
 * list that does not fit is written and read sequentially, while outliers that
 * do not fit are merged from several places.
 */
#define LIST_SHARE		8

/* outliers are put into pieces of memory of this size */
#define PIECE_SIZE		(64 * 1024)

/*
 * Memory that an outlier takes besides its entry: two items, since sorting
 * needs memory for a second one.
 */
#define ITEM_MEMORY		(2 * sizeof(SwareSortItem))

/* number of items that are allocated at first */
#define FIRST_ITEMS		1024

/*
 * Runs have levels.  When a level has enough runs, they are merged into one
 * run of the next level: as many as can be read in a part of the memory, but
 * at least MIN_RUNS and at most MAX_RUNS.
 */
#define MIN_RUNS		6
#define MAX_RUNS		500
#define MAX_LEVELS		16

struct SwareEntrySort
{
	Relation	index;
	Relation	heap;
	SwareComparator *comparator;
	SwareEntryForm form;		/* how entries are formed */
	SwareOrderedList *list;		/* the entries that came in order */
	FileSet    *files;			/* for files that other processes read, or
								 * NULL */
	int			participant;	/* number of this process in a parallel build */
	bool		setsAside;
	int			windowEntries;	/* entries since it was last judged */
	int			windowOutliers;

	/* Outliers. */
	MemoryContext context;		/* memory of what follows; reset for each run */
	Size		memory;			/* limit for outliers */
	Size		used;
	char	   *room;			/* free memory for the next outlier */
	Size		roomLeft;
	SwareSortItem *items;		/* allocated in `context` */
	int64		count;
	int64		allocated;
	int			maxRuns;		/* number of runs of a level that are merged */
	List	   *runs[MAX_LEVELS];	/* the runs of each level, which are
									 * ordered lists */
};

/* Begin a sort whose entries in order go to the given list. */
static SwareEntrySort *
begin_sort(Relation index, Relation heap, int memory, SwareOrderedList *list)
{
	SwareEntrySort *sort = palloc0(sizeof(SwareEntrySort));

	sort->index = index;
	sort->heap = heap;
	sort->comparator = sware_make_comparator(index);
	sware_entry_form_init(&sort->form, index);
	sort->list = list;
	sort->setsAside = true;
	sort->memory = (Size) memory * 1024 / LIST_SHARE * (LIST_SHARE - 1);
	sort->maxRuns =
		Max(sort->memory / 2 / sware_ordered_list_memory(), MIN_RUNS);
	sort->maxRuns = Min(sort->maxRuns, MAX_RUNS);
	sort->context = AllocSetContextCreate(CurrentMemoryContext, "sware outliers",
										  ALLOCSET_DEFAULT_SIZES);
	return sort;
}

/*
 * Begin a sort that may take `memory` kilobytes.  It is allocated in the
 * current memory context.
 */
SwareEntrySort *
sware_entry_sort_begin(Relation index, Relation heap, int memory)
{
	return begin_sort(index, heap, memory,
					  sware_ordered_list_begin((Size) memory * 1024 /
											   LIST_SHARE));
}

/* The names of the files that a participant exports. */
static void
list_file_name(char *name, int participant)
{
	snprintf(name, MAXPGPATH, "%d.list", participant);
}

static void
outliers_file_name(char *name, int participant)
{
	snprintf(name, MAXPGPATH, "%d.outliers", participant);
}

/* Begin a sort whose result another process will read, from `files`. */
SwareEntrySort *
sware_entry_sort_begin_shared(Relation index, Relation heap, int memory,
							  FileSet *files, int participant)
{
	char		name[MAXPGPATH];
	SwareEntrySort *sort;

	list_file_name(name, participant);
	sort = begin_sort(index, heap, memory,
					  sware_ordered_list_begin_shared(files, name));
	sort->files = files;
	sort->participant = participant;
	return sort;
}

/* Return the comparator of a sort, which is valid until the sort ends. */
SwareComparator *
sware_entry_sort_comparator(SwareEntrySort *sort)
{
	return sort->comparator;
}

/* Append an entry to a list. */
static void
append_entry(SwareOrderedList *list, IndexTuple entry)
{
	Size		size = IndexTupleSize(entry);

	sware_copy_tuple(sware_ordered_list_reserve(list, size), entry);
	sware_ordered_list_append(list);
}

/* Append all entries of a merge to a list, and end the merge. */
static void
append_merged(SwareOrderedList *list, SwareEntryMerge *merge)
{
	IndexTuple	entry;

	sware_entry_merge_perform(merge);
	while ((entry = sware_entry_merge_next(merge)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		append_entry(list, entry);
	}
	sware_entry_merge_end(merge);
}

/* Add a run.  If its level has enough runs then, merge them. */
static void
add_run(SwareEntrySort *sort, SwareOrderedList *run)
{
	for (int level = 0; level < MAX_LEVELS; level++)
	{
		SwareEntryMerge *merge;
		ListCell   *cell;

		sort->runs[level] = lappend(sort->runs[level], run);
		if (list_length(sort->runs[level]) < sort->maxRuns ||
			level == MAX_LEVELS - 1)
			return;

		merge = sware_entry_merge_begin(sort->comparator);
		foreach(cell, sort->runs[level])
			sware_entry_merge_add_list(merge, lfirst(cell));
		list_free(sort->runs[level]);
		sort->runs[level] = NIL;
		run = sware_ordered_list_begin(0);
		append_merged(run, merge);
	}
}

/* Sort the outliers in memory. */
static void
sort_items(SwareEntrySort *sort)
{
	MemoryContext caller = MemoryContextSwitchTo(sort->context);

	if (sort->count > 0)
		sort->items =
			sware_sort_items(sort->comparator, sort->items, sort->count);
	MemoryContextSwitchTo(caller);
}

/* Write the outliers in memory to a run, and free their memory. */
static void
write_run(SwareEntrySort *sort)
{
	SwareOrderedList *run = sware_ordered_list_begin(0);

	sort_items(sort);
	for (int64 i = 0; i < sort->count; i++)
		append_entry(run, sort->items[i].entry);
	MemoryContextReset(sort->context);
	sort->used = 0;
	sort->roomLeft = 0;
	sort->items = NULL;
	sort->count = sort->allocated = 0;
	add_run(sort, run);
}

/*
 * Return memory for an outlier of the given size.  The caller fills it and
 * calls add_outlier.
 */
static IndexTuple
reserve_outlier(SwareEntrySort *sort, Size size)
{
	size = MAXALIGN(size);
	if (unlikely(sort->used + size + ITEM_MEMORY > sort->memory) &&
		sort->count >= FIRST_ITEMS)
		write_run(sort);
	if (unlikely(sort->count == sort->allocated))
	{
		sort->allocated = Max(sort->allocated * 2, FIRST_ITEMS);
		sort->items =
			sort->items == NULL ?
			MemoryContextAlloc(sort->context,
							   sort->allocated * sizeof(SwareSortItem)) :
			repalloc_huge(sort->items,
						  sort->allocated * sizeof(SwareSortItem));
	}
	if (unlikely(sort->roomLeft < size))
	{
		sort->room = MemoryContextAlloc(sort->context, PIECE_SIZE);
		sort->roomLeft = PIECE_SIZE;
	}
	return (IndexTuple) sort->room;
}

static void
add_outlier(SwareEntrySort *sort)
{
	IndexTuple	entry = (IndexTuple) sort->room;
	Size		size = MAXALIGN(IndexTupleSize(entry));

	sort->room += size;
	sort->roomLeft -= size;
	sort->used += size + ITEM_MEMORY;
	sort->items[sort->count++] = sware_make_item(sort->comparator, entry);
	sort->windowOutliers++;
}

/* Copy an entry to the outliers. */
static void
put_outlier(SwareEntrySort *sort, IndexTuple entry)
{
	Size		size = IndexTupleSize(entry);

	sware_copy_tuple(reserve_outlier(sort, size), entry);
	add_outlier(sort);
}

/*
 * Append the entry that was formed in the list's reserved memory to the list,
 * or put it among the outliers.
 */
static void
divide(SwareEntrySort *sort, IndexTuple entry)
{
	IndexTuple	last = sware_ordered_list_last(sort->list);

	if (last != NULL)
	{
		SwareSortItem last_item = sware_make_item(sort->comparator, last);
		SwareSortItem item = sware_make_item(sort->comparator, entry);

		if (sware_compare_items(&last_item, &item, sort->comparator) >= 0)
		{
			last = sware_ordered_list_take_back(sort->list);
			put_outlier(sort, entry);
			if (last != NULL)
				put_outlier(sort, last);
			entry = NULL;
		}
	}
	if (entry != NULL)
		sware_ordered_list_append(sort->list);

	if (++sort->windowEntries == WINDOW_ENTRIES)
	{
		if (sort->windowOutliers > WINDOW_ENTRIES / 2)
		{
			SWARE_FAULT_POINT("build-sorts-all");
			sort->setsAside = false;
		}
		sort->windowEntries = 0;
		sort->windowOutliers = 0;
	}
}

/*
 * Add an entry to a sort, given by its columns.  Raises an error if it is too
 * large for the index.  `is_dead` marks the entry as that of a dead row.  Runs
 * comparators.
 */
void
sware_entry_sort_put(SwareEntrySort *sort, Datum *values, bool *isnull,
					 ItemPointer tid, bool is_dead)
{
	Size		data_size =
		sware_entry_data_size(&sort->form, sort->index, values, isnull);
	uint16		mark = is_dead ? SWARE_DEAD_ROW : 0;
	IndexTuple	entry;
	IndexTuple	copy;

	if (data_size > 0)
	{
		Size		size = sware_size_with_data(data_size);

		entry = sort->setsAside ?
			sware_ordered_list_reserve(sort->list, size) :
			reserve_outlier(sort, size);
		sware_form_entry(&sort->form, sort->index, entry, data_size, values,
						 isnull, tid);
		entry->t_info |= mark;
		if (sort->setsAside)
			divide(sort, entry);
		else
			add_outlier(sort);
		return;
	}

	/* This detoasts, and perhaps compresses, large values. */
	entry = index_form_tuple(RelationGetDescr(sort->index), values, isnull);
	entry->t_tid = *tid;
	sware_check_entry_size(sort->index, sort->heap, entry);
	entry->t_info |= mark;
	if (sort->setsAside)
	{
		copy = sware_ordered_list_reserve(sort->list, IndexTupleSize(entry));
		memcpy(copy, entry, IndexTupleSize(entry));
		divide(sort, copy);
	}
	else
		put_outlier(sort, entry);
	pfree(entry);
}

/* Sort the outliers in memory.  No entry may be added any more. */
void
sware_entry_sort_perform(SwareEntrySort *sort)
{
	sort_items(sort);
}

/* Add the outliers to a merge. */
static void
add_outliers(SwareEntrySort *sort, SwareEntryMerge *merge)
{
	for (int level = 0; level < MAX_LEVELS; level++)
	{
		ListCell   *cell;

		foreach(cell, sort->runs[level])
			sware_entry_merge_add_list(merge, lfirst(cell));
		list_free(sort->runs[level]);
		sort->runs[level] = NIL;
	}
	if (sort->count > 0)
		sware_entry_merge_add_items(merge, sort->items, sort->count);
}

/*
 * Return a merge of everything that has been sorted, to which other sources
 * may be added.  The sort must not end before the merge.
 */
SwareEntryMerge *
sware_entry_sort_merge(SwareEntrySort *sort)
{
	SwareEntryMerge *merge = sware_entry_merge_begin(sort->comparator);

	sware_entry_merge_add_list(merge, sort->list);
	add_outliers(sort, merge);
	return merge;
}

/*
 * Sort, and export the result as two lists that another process can read.  A
 * shared sort can only be ended afterwards.
 */
void
sware_entry_sort_export(SwareEntrySort *sort)
{
	char		name[MAXPGPATH];
	SwareOrderedList *outliers;
	SwareEntryMerge *merge = sware_entry_merge_begin(sort->comparator);

	sware_ordered_list_export(sort->list);
	sware_ordered_list_end(sort->list);

	sort_items(sort);
	outliers_file_name(name, sort->participant);
	outliers = sware_ordered_list_begin_shared(sort->files, name);
	add_outliers(sort, merge);
	append_merged(outliers, merge);
	sware_ordered_list_export(outliers);
	sware_ordered_list_end(outliers);
}

/* Add the two lists that a participant has exported to a merge. */
void
sware_entry_sort_add_exported(SwareEntryMerge *merge, FileSet *files,
							  int participant)
{
	char		name[MAXPGPATH];

	list_file_name(name, participant);
	sware_entry_merge_add_list(merge,
							   sware_ordered_list_open_shared(files, name));
	outliers_file_name(name, participant);
	sware_entry_merge_add_list(merge,
							   sware_ordered_list_open_shared(files, name));
}

/* Free a sort whose lists have been merged or exported. */
void
sware_entry_sort_end(SwareEntrySort *sort)
{
	MemoryContextDelete(sort->context);
	pfree(sort);
}
