/*-------------------------------------------------------------------------
 *
 * orderedlist.c
 *	  Entries set aside in the order in which they came.
 *
 * The entries are packed into bins, pieces of memory of one size.  Full bins
 * are kept as long as memory lasts.  Then they are written to a temporary
 * file, in order, and from then on only the latest bin is in memory, which is
 * written whenever it is full.  (A shared list is in a file from the start.)
 *
 * Only the entries of the latest bin can be taken back.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "commands/tablespace.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

#include "sort/orderedlist.h"
#include "layout/page.h"

#define BIN_SIZE		(64 * 1024)
#define BIN_ENTRIES	(BIN_SIZE / MAXALIGN(sizeof(IndexTupleData) + 1))

StaticAssertDecl(BIN_SIZE >= SWARE_MAX_ENTRY_SIZE, "an entry must fit in a bin");

typedef struct Bin
{
	Size		used;
	char		data[BIN_SIZE];
} Bin;

struct SwareOrderedList
{
	MemoryContext context;
	int			maxBins;		/* number of bins to keep in memory */
	List	   *fullBins;		/* full bins before the latest one; empty if
								 * there is a file */
	BufFile    *file;			/* has the full bins; NULL if all are in
								 * memory */
	Bin		   *latest;
	Size		reserved;		/* memory reserved for the entry to be
								 * appended */
	IndexTuple	last;			/* the last entry, or NULL */
	int			count;			/* number of entries of the latest bin */
	uint32		offsets[BIN_ENTRIES];	/* offsets of these entries */
	union
	{
		IndexTupleData entry;
		char		data[SWARE_MAX_ENTRY_SIZE];
	}			before;			/* copy of the last entry before the latest
								 * bin */
	bool		hasBefore;

	/* Reading. */
	Bin		   *current;		/* the bin being read; NULL at first */
	Size		position;		/* offset of the next entry in it */
	int			nextFull;
};

static SwareOrderedList *
make_list(int max_bins)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "sware ordered list",
												  ALLOCSET_DEFAULT_SIZES);
	SwareOrderedList *list =
		MemoryContextAllocZero(context, sizeof(SwareOrderedList));

	list->context = context;
	list->maxBins = max_bins;
	list->latest = MemoryContextAlloc(context, sizeof(Bin));
	list->latest->used = 0;
	return list;
}

/* The memory that reading a list from a file takes. */
Size
sware_ordered_list_memory(void)
{
	return sizeof(SwareOrderedList) + 2 * sizeof(Bin);
}

/*
 * Begin a list that keeps up to `memory` bytes in memory, but at least one
 * bin.  It has a memory context of its own, below the current one.
 */
SwareOrderedList *
sware_ordered_list_begin(Size memory)
{
	return make_list(Max(memory / sizeof(Bin), 1));
}

/* Begin a list that other processes will read, in a file of this name. */
SwareOrderedList *
sware_ordered_list_begin_shared(FileSet *files, const char *name)
{
	SwareOrderedList *list = make_list(1);
	MemoryContext old_context = MemoryContextSwitchTo(list->context);

	list->file = BufFileCreateFileSet(files, name);
	MemoryContextSwitchTo(old_context);
	return list;
}

static void
write_bin(SwareOrderedList *list, Bin *bin)
{
	BufFileWrite(list->file, bin, offsetof(Bin, data) + bin->used);
}

/* The latest bin is full: keep or write it, and go on with an empty one. */
static void
start_bin(SwareOrderedList *list)
{
	MemoryContext old_context = MemoryContextSwitchTo(list->context);
	ListCell   *cell;

	if (list->last != NULL)
	{
		if (list->last != &list->before.entry)
			memcpy(&list->before, list->last, IndexTupleSize(list->last));
		list->last = &list->before.entry;
		list->hasBefore = true;
	}

	if (list->file == NULL && list_length(list->fullBins) + 1 < list->maxBins)
	{
		list->fullBins = lappend(list->fullBins, list->latest);
		list->latest = palloc(sizeof(Bin));
	}
	else
	{
		if (list->file == NULL)
		{
			PrepareTempTablespaces();
			list->file = BufFileCreateTemp(false);
		}
		foreach(cell, list->fullBins)
		{
			write_bin(list, lfirst(cell));
			pfree(lfirst(cell));
		}
		list->fullBins = NIL;
		write_bin(list, list->latest);
	}

	list->latest->used = 0;
	list->count = 0;
	MemoryContextSwitchTo(old_context);
}

/*
 * Return memory in which the caller forms an entry of up to `size` bytes,
 * before sware_ordered_list_append.  It is valid until the next call.
 */
IndexTuple
sware_ordered_list_reserve(SwareOrderedList *list, Size size)
{
	size = MAXALIGN(size);
	if (unlikely(list->latest->used + size > BIN_SIZE))
		start_bin(list);
	list->reserved = size;
	return (IndexTuple) (list->latest->data + list->latest->used);
}

/* Append the entry that was formed in the memory reserved last. */
void
sware_ordered_list_append(SwareOrderedList *list)
{
	list->last = (IndexTuple) (list->latest->data + list->latest->used);
	list->offsets[list->count++] = list->latest->used;
	list->latest->used += list->reserved;
}

/* Return the last entry, or NULL if there is none. */
IndexTuple
sware_ordered_list_last(SwareOrderedList *list)
{
	return list->last;
}

/*
 * Remove the last entry and return it; NULL if it is no longer in the latest
 * bin.  It stays valid until memory is reserved again.
 */
IndexTuple
sware_ordered_list_take_back(SwareOrderedList *list)
{
	IndexTuple	taken = list->last;

	if (list->count == 0)
		return NULL;

	list->latest->used = list->offsets[--list->count];
	if (list->count > 0)
		list->last =
			(IndexTuple) (list->latest->data + list->offsets[list->count - 1]);
	else
		list->last = list->hasBefore ? &list->before.entry : NULL;
	return taken;
}

/*
 * Let other processes read a shared list.  Only sware_ordered_list_end may be
 * called for it afterwards.
 */
void
sware_ordered_list_export(SwareOrderedList *list)
{
	write_bin(list, list->latest);
	BufFileExportFileSet(list->file);
}

/* Open a list that another process has exported, to read it. */
SwareOrderedList *
sware_ordered_list_open_shared(FileSet *files, const char *name)
{
	SwareOrderedList *list = make_list(1);
	MemoryContext old_context = MemoryContextSwitchTo(list->context);

	list->file = BufFileOpenFileSet(files, name, O_RDONLY, false);
	MemoryContextSwitchTo(old_context);
	return list;
}

/*
 * Begin to read a list from its first entry.  No entry may be appended any
 * more.
 */
void
sware_ordered_list_rewind(SwareOrderedList *list)
{
	if (list->file && BufFileSeek(list->file, 0, 0, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not rewind temporary file")));
	list->current = NULL;
	list->nextFull = 0;
}

/* Go to the next bin.  Returns false if there is none. */
static bool
next_bin(SwareOrderedList *list)
{
	Bin		   *read = list->current;

	if (read == list->latest)
		return false;

	list->position = 0;
	if (list->file)
	{
		Size		length;

		if (read == NULL)
			read = MemoryContextAlloc(list->context, sizeof(Bin));
		length = BufFileRead(list->file, &read->used, sizeof(Size));
		if (length != 0)
		{
			if (length != sizeof(Size) || read->used > BIN_SIZE ||
				BufFileRead(list->file, read->data, read->used) != read->used)
				ereport(ERROR,
						(errcode_for_file_access(),
						 errmsg("could not read temporary file")));
			list->current = read;
			return true;
		}
		pfree(read);
	}
	else
	{
		if (read != NULL)
			pfree(read);
		if (list->nextFull < list_length(list->fullBins))
		{
			list->current = list_nth(list->fullBins, list->nextFull++);
			return true;
		}
	}

	list->current = list->latest;
	return true;
}

/* Return the next entry, valid until the next call, or NULL at the end. */
IndexTuple
sware_ordered_list_next(SwareOrderedList *list)
{
	IndexTuple	entry;

	while (list->current == NULL || list->position >= list->current->used)
	{
		if (!next_bin(list))
			return NULL;
	}

	entry = (IndexTuple) (list->current->data + list->position);
	list->position += MAXALIGN(IndexTupleSize(entry));
	return entry;
}

/* Close and free a list. */
void
sware_ordered_list_end(SwareOrderedList *list)
{
	if (list->file)
		BufFileClose(list->file);
	MemoryContextDelete(list->context);
}
