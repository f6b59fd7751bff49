/*-------------------------------------------------------------------------
 *
 * entrysort.c
 *	  Sorting the entries of an index that is built.
 *
 * Entries are kept in memory in the order in which they come.  When the memory
 * is used up, this *portion* is sorted (sorter.h), which is cheap if it came
 * nearly in order, and written to a file.  In the end the files and the last
 * portion, which stays in memory, are merged.
 *
 * A portion that lies above the one before goes on with its file.  So the rows
 * of a table that is in order get to one file, however many there are, and
 * merging them compares nothing.  If there are many files, they are merged into
 * one, so that reading files takes a limited amount of memory.
 *
 * In a parallel build, each process sorts its part.  A worker exports its
 * files, and the leader merges them with its own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/memory.h"
#include "keys/entry.h"
#include "layout/tuple.h"
#include "sort/entrysort.h"
#include "sort/sorter.h"

/* entries are put into pieces of memory of this size */
#define PIECE_SIZE		(64 * 1024)

/* memory for a pointer to an entry, and two items for sorting */
#define ENTRY_MEMORY	(sizeof(IndexTuple) + 2 * sizeof(SwareSortItem))

/* number of entries that there is room for at first, and in each portion */
#define FIRST_ENTRIES	1024

/*
 * Files have levels.  When a level has enough files, they are merged into one
 * file of the next level: as many as can be read in a part of the memory, but
 * at least MIN_FILES and at most MAX_FILES.
 */
#define MIN_FILES		6
#define MAX_FILES		500
#define MAX_LEVELS		16

struct SwareEntrySort
{
	Relation	index;
	Relation	heap;
	SwareComparator *comparator;
	SwareEntryForm form;		/* how entries are formed */

	/* The portion. */
	MemoryContext context;		/* memory of what follows; reset for each
								 * portion */
	Size		memory;			/* limit */
	Size		used;
	char	   *room;			/* free memory for the next entry */
	Size		roomLeft;
	IndexTuple *entries;		/* allocated in `context` */
	int64		count;
	int64		allocated;

	/* Files. */
	FileSet    *fileSet;		/* the leader reads them in it; or NULL */
	int			participant;	/* number of the worker that writes them */
	int			filesCreated;
	int			maxFiles;		/* number of files of a level that are merged */
	SwareSortedFile *latest;	/* the file of the portion before, or NULL */
	List	   *files[MAX_LEVELS];	/* of each level, without the latest */
};

/*
 * Begin a sort that may take `memory` kilobytes.  It is allocated in the
 * current memory context.  If `files` is not NULL, this is a participant of a
 * parallel build, whose result will be exported to that file set.
 */
SwareEntrySort *
sware_entry_sort_begin(Relation index, Relation heap, int memory,
					   FileSet *files, int participant)
{
	SwareEntrySort *sort = palloc0(sizeof(SwareEntrySort));

	sort->index = index;
	sort->heap = heap;
	sort->comparator = sware_make_comparator(index);
	sware_entry_form_init(&sort->form, index);
	sort->memory = (Size) memory * 1024;
	sort->maxFiles = Max(sort->memory / 2 / sware_sorted_file_memory(),
						 MIN_FILES);
	sort->maxFiles = Min(sort->maxFiles, MAX_FILES);
	sort->fileSet = files;
	sort->participant = participant;
	sort->context = AllocSetContextCreate(CurrentMemoryContext, "sware portion",
										  ALLOCSET_DEFAULT_SIZES);
	return sort;
}

/* Return the comparator of a sort, which is valid until the sort ends. */
SwareComparator *
sware_entry_sort_comparator(SwareEntrySort *sort)
{
	return sort->comparator;
}

static SwareSortedFile *
create_file(SwareEntrySort *sort)
{
	return sware_sorted_file_create(sort->fileSet, sort->participant,
									sort->filesCreated++);
}

/* Add a file that was written here to a merge, and what follows it. */
static void
add_to_merge(SwareEntryMerge *merge, SwareSortedFile *file,
			 const IndexTuple *entries, int64 count)
{
	sware_sorted_file_rewind(file);
	sware_entry_merge_add(merge, file, entries, count);
}

static SwareSortedFile *
merge_files(SwareEntrySort *sort, List *files)
{
	SwareEntryMerge *merge = sware_entry_merge_begin(sort->comparator);
	SwareSortedFile *result = create_file(sort);
	IndexTuple	entry;
	ListCell   *cell;

	foreach(cell, files)
		add_to_merge(merge, lfirst(cell), NULL, 0);
	sware_entry_merge_perform(merge);
	while ((entry = sware_entry_merge_next(merge)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		sware_sorted_file_append(result, entry);
	}
	sware_entry_merge_end(merge);
	return result;
}

/* Add a file.  If its level has enough files then, merge them. */
static void
add_file(SwareEntrySort *sort, SwareSortedFile *file)
{
	for (int level = 0; level < MAX_LEVELS; level++)
	{
		List	   *files = lappend(sort->files[level], file);

		sort->files[level] = files;
		if (list_length(files) < sort->maxFiles || level == MAX_LEVELS - 1)
			return;
		file = merge_files(sort, files);
		list_free(files);
		sort->files[level] = NIL;
	}
}

/* Does the portion, which is sorted, lie above the one before? */
static bool
portion_follows(SwareEntrySort *sort)
{
	return sort->latest &&
		(sort->count == 0 ||
		 sware_comparator_entries(sort->comparator,
								  sware_sorted_file_last(sort->latest),
								  sort->entries[0]) <= 0);
}

/* Sort the portion, write it to a file, and free its memory. */
static void
write_portion(SwareEntrySort *sort)
{
	sware_entry_sort_perform(sort);
	if (!portion_follows(sort))
	{
		if (sort->latest)
			add_file(sort, sort->latest);
		sort->latest = create_file(sort);
	}
	for (int64 i = 0; i < sort->count; i++)
	{
		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		sware_prefetch_entry(sort->entries, i, sort->count);
		sware_sorted_file_append(sort->latest, sort->entries[i]);
	}
	MemoryContextReset(sort->context);
	sort->used = 0;
	sort->roomLeft = 0;
	sort->entries = NULL;
	sort->count = sort->allocated = 0;
}

/* Memory for an entry of this size, to be formed before add_reserved. */
static IndexTuple
reserve(SwareEntrySort *sort, Size size)
{
	size = MAXALIGN(size);
	if (unlikely(sort->used + size + ENTRY_MEMORY > sort->memory) &&
		sort->count >= FIRST_ENTRIES)
		write_portion(sort);
	if (unlikely(sort->count == sort->allocated))
		sware_grow(sort->entries, sort->allocated, FIRST_ENTRIES,
				   sort->context);
	if (unlikely(sort->roomLeft < size))
	{
		sort->room = MemoryContextAlloc(sort->context, PIECE_SIZE);
		sort->roomLeft = PIECE_SIZE;
	}
	return (IndexTuple) sort->room;
}

static inline void
add_reserved(SwareEntrySort *sort, bool is_dead)
{
	IndexTuple	entry = (IndexTuple) sort->room;
	Size		size = MAXALIGN(IndexTupleSize(entry));

	if (is_dead)
		entry->t_info |= SWARE_DEAD_ROW;
	sort->room += size;
	sort->roomLeft -= size;
	sort->used += size + ENTRY_MEMORY;
	sort->entries[sort->count++] = entry;
}

/*
 * Add an entry to a sort, given by its columns.  Raises an error if it is too
 * large for the index.  `is_dead` marks the entry as that of a dead row.  Calls
 * comparators.
 */
void
sware_entry_sort_put(SwareEntrySort *sort, Datum *values, bool *isnull,
					 ItemPointer tid, bool is_dead)
{
	Size		data_size =
		sware_entry_data_size(&sort->form, sort->index, values, isnull);
	IndexTuple	entry;

	if (data_size > 0)
	{
		entry = reserve(sort, sware_size_with_data(data_size));
		sware_form_entry(&sort->form, sort->index, entry, data_size, values,
						 isnull);
		entry->t_tid = *tid;
	}
	else
	{
		/* This detoasts, and perhaps compresses, large values. */
		entry = index_form_tuple(RelationGetDescr(sort->index), values, isnull);
		entry->t_tid = *tid;
		sware_check_entry_size(sort->index, sort->heap, entry);
		sware_copy_tuple(reserve(sort, IndexTupleSize(entry)), entry);
		pfree(entry);
	}
	add_reserved(sort, is_dead);
}

/* Sort the portion in memory.  No entry may be added to it any more. */
void
sware_entry_sort_perform(SwareEntrySort *sort)
{
	(void) sware_sort_nearly_sorted(sort->comparator, sort->entries,
									sort->count, SWARE_USUAL_SHARE);
}

/*
 * Return a merge of everything that has been sorted, to which other sources
 * may be added.  The sort must not end before the merge.
 */
SwareEntryMerge *
sware_entry_sort_merge(SwareEntrySort *sort)
{
	SwareEntryMerge *merge = sware_entry_merge_begin(sort->comparator);
	bool		follows = portion_follows(sort);

	for (int level = 0; level < MAX_LEVELS; level++)
	{
		ListCell   *cell;

		foreach(cell, sort->files[level])
			add_to_merge(merge, lfirst(cell), NULL, 0);
	}
	if (sort->latest)
		add_to_merge(merge, sort->latest, sort->entries,
					 follows ? sort->count : 0);
	if (!follows)
		sware_entry_merge_add(merge, NULL, sort->entries, sort->count);
	return merge;
}

/*
 * Sort, and export the result as files that another process can read.  Returns
 * how many numbers these have; files that were merged into others are missing.
 * The sort can only be ended afterwards.
 */
int
sware_entry_sort_export(SwareEntrySort *sort)
{
	write_portion(sort);
	sware_sorted_file_export(sort->latest);
	for (int level = 0; level < MAX_LEVELS; level++)
	{
		ListCell   *cell;

		foreach(cell, sort->files[level])
			sware_sorted_file_export(lfirst(cell));
	}
	return sort->filesCreated;
}

/* Free a sort that has been merged or exported. */
void
sware_entry_sort_end(SwareEntrySort *sort)
{
	MemoryContextDelete(sort->context);
	pfree(sort);
}
