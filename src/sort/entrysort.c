/*-------------------------------------------------------------------------
 *
 * entrysort.c
 *	  Sorting the entries of an index that is built: in memory, to files, and
 *	  by merging these.
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
 * The entries of a file are written and read in bins, pieces of memory, so that
 * the functions for files are not called for each of them.  Before each bin is
 * its header.
 *
 * A source of the merge is a file, an array, or a file and the array that
 * follows it; the leader of a parallel build has its workers' files, too.
 * Usually the next entry comes from the same source as the last one, since
 * tables are nearly in order, and each worker reads many blocks at a time.  One
 * comparison is enough to find that out, often even for all entries of a file's
 * bin.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "access/htup_details.h"
#include "commands/tablespace.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "storage/buffile.h"

#include "base/memory.h"
#include "keys/entry.h"
#include "layout/page.h"
#include "layout/tuple.h"
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

#define BIN_SIZE		8192

StaticAssertDecl(BIN_SIZE >= SWARE_MAX_ENTRY_SIZE, "an entry must fit in a bin");

typedef struct BinHeader
{
	Size		used;			/* bytes of the bin that entries take */
	Size		last;			/* where its last entry is */
} BinHeader;

typedef struct SortedFile
{
	FileSet    *files;			/* NULL: nobody else reads the file */
	char		name[NAMEDATALEN];	/* in the file set */
	BufFile    *file;
	BinHeader	header;
	Size		position;		/* in the bin: of the entry to be read next */
	union
	{
		char		data[BIN_SIZE];
		double		forAlignment;
	}			bin;
} SortedFile;

/* the memory that an open file takes, in bytes; BufFile has a block */
#define FILE_MEMORY		(sizeof(SortedFile) + BLCKSZ)

typedef struct Source
{
	SortedFile *file;			/* NULL if there is only an array */
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
	SortedFile *latest;			/* the file of the portion before, or NULL */
	List	   *files[MAX_LEVELS];	/* of each level, without the latest */
};

static SortedFile *
make_file(FileSet *files, int participant, int number)
{
	SortedFile *file = palloc(sizeof(SortedFile));

	file->files = files;
	snprintf(file->name, NAMEDATALEN, "%d.%d", participant, number);
	file->header.used = file->header.last = file->position = 0;
	return file;
}

/* Create a file, in the file set if there is one. */
static SortedFile *
create_file(SwareEntrySort *sort)
{
	SortedFile *file = make_file(sort->fileSet, sort->participant,
								 sort->filesCreated++);

	if (sort->fileSet)
		file->file = BufFileCreateFileSet(sort->fileSet, file->name);
	else
	{
		PrepareTempTablespaces();
		file->file = BufFileCreateTemp(false);
	}
	return file;
}

static void
write_bin(SortedFile *file)
{
	BufFileWrite(file->file, &file->header, sizeof(BinHeader));
	BufFileWrite(file->file, file->bin.data, file->header.used);
	file->header.used = 0;
}

/* Append an entry, which is not below the last one. */
static void
append_to_file(SortedFile *file, IndexTuple entry)
{
	Size		size = MAXALIGN(IndexTupleSize(entry));

	if (file->header.used + size > BIN_SIZE)
		write_bin(file);
	file->header.last = file->header.used;
	sware_copy_tuple(file->bin.data + file->header.last, entry);
	file->header.used += size;
}

/* The entry appended last, or the last one of the bin, until the next call. */
static IndexTuple
last_in_file(SortedFile *file)
{
	return (IndexTuple) (file->bin.data + file->header.last);
}

/* Let another process read a file of a file set, and close it here. */
static void
export_file(SortedFile *file)
{
	write_bin(file);
	BufFileExportFileSet(file->file);
	BufFileClose(file->file);
	pfree(file);
}

/* Read the next bin.  Returns false if there is none. */
static bool
read_bin(SortedFile *file)
{
	Size		length = BufFileRead(file->file, &file->header,
									 sizeof(BinHeader));

	file->position = 0;
	if (length == 0)
		file->header.used = 0;
	else if (length != sizeof(BinHeader) || file->header.used > BIN_SIZE ||
			 BufFileRead(file->file, file->bin.data, file->header.used) !=
			 file->header.used)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read temporary file")));
	return length != 0;
}

/*
 * Return the next entry, valid until the next call, or NULL at the end.  Sets
 * *begins_bin if it is the first one of a bin.
 */
static IndexTuple
next_in_file(SortedFile *file, bool *begins_bin)
{
	IndexTuple	entry;

	while (file->position >= file->header.used)
	{
		if (!read_bin(file))
			return NULL;
	}
	*begins_bin = file->position == 0;
	entry = (IndexTuple) (file->bin.data + file->position);
	file->position += MAXALIGN(IndexTupleSize(entry));
	return entry;
}

/* Close a file, remove and free it. */
static void
end_file(SortedFile *file)
{
	BufFileClose(file->file);
	if (file->files)
		BufFileDeleteFileSet(file->files, file->name, false);
	pfree(file);
}

/* Begin a merge.  It is allocated in the current memory context. */
static SwareEntryMerge *
begin_merge(SwareComparator *comparator)
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
static void
add_source(SwareEntryMerge *merge, SortedFile *file,
		   const IndexTuple *entries, int64 count)
{
	Source	   *source = palloc0(sizeof(Source));

	source->file = file;
	source->fileIsRead = file == NULL;
	source->entries = entries;
	source->count = count;
	merge->sources = lappend(merge->sources, source);
}

/*
 * Add a file that another process has exported, unless it has been merged into
 * another one.
 */
void
sware_entry_merge_add_exported(SwareEntryMerge *merge, FileSet *files,
							   int participant, int number)
{
	SortedFile *file = make_file(files, participant, number);

	file->file = BufFileOpenFileSet(files, file->name, O_RDONLY, true);
	if (file->file)
		add_source(merge, file, NULL, 0);
	else
		pfree(file);
}

static void
advance(SwareEntryMerge *merge, Source *source)
{
	IndexTuple	entry = NULL;

	source->beginsBin = false;
	if (!source->fileIsRead)
	{
		entry = next_in_file(source->file, &source->beginsBin);
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

/* binaryheap has its largest element at the top: "larger" is "earlier" */
static int
compare_sources(Datum a, Datum b, void *comparator)
{
	Source	   *source_a = (Source *) DatumGetPointer(a);
	Source	   *source_b = (Source *) DatumGetPointer(b);

	return sware_compare_items(&source_b->next, &source_a->next, comparator);
}

/* Read the first entry of each source. */
static void
read_first(SwareEntryMerge *merge)
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
 * be marked as dead.  After the first call, no source may be added.  Calls
 * comparators.
 */
IndexTuple
sware_entry_merge_next(SwareEntryMerge *merge)
{
	Source	   *current = merge->current;
	Source	   *other;

	if (current)
		advance(merge, current);
	else if (merge->others == NULL)
		read_first(merge);
	if (binaryheap_empty(merge->others))
		return current ? current->next.entry : NULL;

	other = (Source *) DatumGetPointer(binaryheap_first(merge->others));
	if (current && current->beginsBin)
		current->binIsBelow =
			is_below(merge, sware_make_item(merge->comparator,
											last_in_file(current->file)),
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
			end_file(source->file);
	}
	list_free_deep(merge->sources);
	binaryheap_free(merge->others);
	pfree(merge);
}

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
	sort->maxFiles = Min(Max(sort->memory / 2 / FILE_MEMORY, MIN_FILES),
						 MAX_FILES);
	sort->fileSet = files;
	sort->participant = participant;
	sort->context = AllocSetContextCreate(CurrentMemoryContext, "sware portion",
										  ALLOCSET_DEFAULT_SIZES);
	return sort;
}

/*
 * Add a file that was written here to a merge, and what follows it.  No entry
 * may be appended any more.
 */
static void
add_to_merge(SwareEntryMerge *merge, SortedFile *file,
			 const IndexTuple *entries, int64 count)
{
	write_bin(file);
	if (BufFileSeek(file->file, 0, 0, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not rewind temporary file")));
	file->position = 0;
	add_source(merge, file, entries, count);
}

static SortedFile *
merge_files(SwareEntrySort *sort, List *files)
{
	SwareEntryMerge *merge = begin_merge(sort->comparator);
	SortedFile *result = create_file(sort);
	IndexTuple	entry;
	ListCell   *cell;

	foreach(cell, files)
		add_to_merge(merge, lfirst(cell), NULL, 0);
	while ((entry = sware_entry_merge_next(merge)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		append_to_file(result, entry);
	}
	sware_entry_merge_end(merge);
	return result;
}

/* Add a file.  If its level has enough files then, merge them. */
static void
add_file(SwareEntrySort *sort, SortedFile *file)
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
								  last_in_file(sort->latest),
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
		append_to_file(sort->latest, sort->entries[i]);
	}
	MemoryContextReset(sort->context);
	sort->used = 0;
	sort->roomLeft = 0;
	sort->entries = NULL;
	sort->count = sort->allocated = 0;
}

/* Memory for an entry of this size. */
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

/*
 * Add an entry to a sort, given by its columns.  Raises an error if it is too
 * large for the index.  `is_dead` says that the row is dead, at least to new
 * transactions; such an entry is marked until the merge has returned it, since
 * another row may have its key.  Calls comparators.
 */
void
sware_entry_sort_put(SwareEntrySort *sort, Datum *values, bool *isnull,
					 ItemPointer tid, bool is_dead)
{
	Size		data_size =
		sware_entry_data_size(&sort->form, sort->index, values, isnull);
	IndexTuple	entry;
	Size		size;

	if (data_size > 0)
	{
		entry = reserve(sort, sware_size_with_data(data_size));
		sware_form_entry(&sort->form, sort->index, entry, data_size, values,
						 isnull);
		entry->t_tid = *tid;
	}
	else
	{
		entry = sware_make_entry(sort->index, sort->heap, values, isnull, tid);
		sware_copy_tuple(reserve(sort, IndexTupleSize(entry)), entry);
		pfree(entry);
	}

	entry = (IndexTuple) sort->room;
	size = MAXALIGN(IndexTupleSize(entry));
	if (is_dead)
		entry->t_info |= SWARE_MARKED_ENTRY;
	sort->room += size;
	sort->roomLeft -= size;
	sort->used += size + ENTRY_MEMORY;
	sort->entries[sort->count++] = entry;
}

/* Sort the portion in memory.  No entry may be added to it any more. */
void
sware_entry_sort_perform(SwareEntrySort *sort)
{
	(void) sware_sort_nearly_sorted(sort->comparator, sort->entries,
									sort->count);
}

/*
 * Return a merge of everything that has been sorted, to which other sources
 * may be added.  The sort must not end before the merge.
 */
SwareEntryMerge *
sware_entry_sort_merge(SwareEntrySort *sort)
{
	SwareEntryMerge *merge = begin_merge(sort->comparator);
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
		add_source(merge, NULL, sort->entries, sort->count);
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
	export_file(sort->latest);
	for (int level = 0; level < MAX_LEVELS; level++)
	{
		ListCell   *cell;

		foreach(cell, sort->files[level])
			export_file(lfirst(cell));
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
