/*-------------------------------------------------------------------------
 *
 * entrymerge.c
 *	  Entries in order in temporary files, and merging entries that are in order
 *	  in several places.
 *
 * The entries of a file are written and read in bins, pieces of memory, so that
 * the functions for files are not called for each of them.  Before each bin is
 * its header.
 *
 * A source of a merge is a file, an array, or a file and the array that follows
 * it.  Usually the next entry comes from the same source as the last one, since
 * tables are nearly in order, and each worker of a parallel build reads many
 * blocks at a time.  One comparison is enough to find that out, often even for
 * all entries of a file's bin.  With a single source, nothing is compared.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "commands/tablespace.h"
#include "lib/binaryheap.h"
#include "storage/buffile.h"

#include "keys/entry.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "sort/entrysort.h"

#define BIN_SIZE		8192

StaticAssertDecl(BIN_SIZE >= SWARE_MAX_ENTRY_SIZE, "an entry must fit in a bin");

typedef struct BinHeader
{
	Size		used;			/* bytes of the bin that entries take */
	Size		last;			/* where its last entry is */
} BinHeader;

struct SwareSortedFile
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
};

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

/* The memory that an open file takes, in bytes. */
Size
sware_sorted_file_memory(void)
{
	return sizeof(SwareSortedFile) + BLCKSZ;	/* BufFile has a block */
}

static SwareSortedFile *
make_file(FileSet *files, int participant, int number)
{
	SwareSortedFile *file = palloc(sizeof(SwareSortedFile));

	file->files = files;
	snprintf(file->name, NAMEDATALEN, "%d.%d", participant, number);
	file->header.used = file->header.last = file->position = 0;
	return file;
}

/*
 * Create a file, in a file set unless `files` is NULL.  Takes memory from the
 * current context.
 */
SwareSortedFile *
sware_sorted_file_create(FileSet *files, int participant, int number)
{
	SwareSortedFile *file = make_file(files, participant, number);

	if (files)
		file->file = BufFileCreateFileSet(files, file->name);
	else
	{
		PrepareTempTablespaces();
		file->file = BufFileCreateTemp(false);
	}
	return file;
}

/* Open a file that another process has exported; NULL if there is none. */
SwareSortedFile *
sware_sorted_file_open(FileSet *files, int participant, int number)
{
	SwareSortedFile *file = make_file(files, participant, number);

	file->file = BufFileOpenFileSet(files, file->name, O_RDONLY, true);
	if (file->file)
		return file;
	pfree(file);
	return NULL;
}

static void
write_bin(SwareSortedFile *file)
{
	BufFileWrite(file->file, &file->header, sizeof(BinHeader));
	BufFileWrite(file->file, file->bin.data, file->header.used);
	file->header.used = 0;
}

/* Append an entry, which is not below the last one. */
void
sware_sorted_file_append(SwareSortedFile *file, IndexTuple entry)
{
	Size		size = MAXALIGN(IndexTupleSize(entry));

	if (file->header.used + size > BIN_SIZE)
		write_bin(file);
	file->header.last = file->header.used;
	sware_copy_tuple(file->bin.data + file->header.last, entry);
	file->header.used += size;
}

/* The entry appended last, or the last one of the bin, until the next call. */
IndexTuple
sware_sorted_file_last(SwareSortedFile *file)
{
	return (IndexTuple) (file->bin.data + file->header.last);
}

/* Let another process read a file of a file set, and close it here. */
void
sware_sorted_file_export(SwareSortedFile *file)
{
	write_bin(file);
	BufFileExportFileSet(file->file);
	BufFileClose(file->file);
	pfree(file);
}

/*
 * Begin to read a file that was created here, from its first entry.  No entry
 * may be appended any more.
 */
void
sware_sorted_file_rewind(SwareSortedFile *file)
{
	write_bin(file);
	if (BufFileSeek(file->file, 0, 0, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not rewind temporary file")));
	file->position = 0;
}

/* Read the next bin.  Returns false if there is none. */
static bool
read_bin(SwareSortedFile *file)
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
next_in_file(SwareSortedFile *file, bool *begins_bin)
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
end_file(SwareSortedFile *file)
{
	BufFileClose(file->file);
	if (file->files)
		BufFileDeleteFileSet(file->files, file->name, false);
	pfree(file);
}

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
			end_file(source->file);
	}
	list_free_deep(merge->sources);
	binaryheap_free(merge->others);
	pfree(merge);
}
