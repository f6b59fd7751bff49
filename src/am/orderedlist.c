/*-------------------------------------------------------------------------
 *
 * orderedlist.c
 *	  Entries set aside in the order in which they came.
 *
 * The entries are packed into chunks.  Full chunks are kept as long as memory
 * lasts (in a shared list, not at all); then they are written to a temporary
 * file, in order, and from then on there is one chunk in memory, which is
 * written whenever it is full.
 * Only the entries of the latest chunk can be taken back.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "commands/tablespace.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

#include "am/orderedlist.h"
#include "tree/page.h"

#define CHUNK_SIZE		(64 * 1024)
#define CHUNK_ENTRIES	(CHUNK_SIZE / MAXALIGN(sizeof(IndexTupleData) + 1))

StaticAssertDecl(CHUNK_SIZE >= SWARE_MAX_ENTRY_SIZE, "an entry must fit in a chunk");

typedef struct Chunk
{
	Size		used;
	char		data[CHUNK_SIZE];
} Chunk;

struct SwareOrderedList
{
	MemoryContext context;
	int			maxChunks;		/* to keep in memory */
	List	   *fullChunks;		/* before the latest; empty if there is a file */
	BufFile    *file;			/* full chunks, or NULL */
	Chunk	   *latest;
	Size		reserved;		/* size of an entry not yet appended */
	IndexTuple	last;			/* the last entry, or NULL */
	int			count;			/* entries of the latest chunk */
	uint32		offsets[CHUNK_ENTRIES]; /* where they are */
	union
	{
		IndexTupleData entry;
		char		data[SWARE_MAX_ENTRY_SIZE];
	}			before;			/* the entry before the latest chunk */
	bool		hasBefore;

	/* reading */
	Chunk	   *current;		/* NULL before the first */
	Size		position;		/* in the current chunk */
	int			nextFull;
};

static SwareOrderedList *
make_list(int max_chunks)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "sware ordered list",
												  ALLOCSET_DEFAULT_SIZES);
	SwareOrderedList *list = MemoryContextAllocZero(context, sizeof(SwareOrderedList));

	list->context = context;
	list->maxChunks = max_chunks;
	list->latest = MemoryContextAlloc(context, sizeof(Chunk));
	list->latest->used = 0;
	return list;
}

SwareOrderedList *
sware_ordered_list_begin(Size memory)
{
	return make_list(Max(memory / sizeof(Chunk), 1));
}

/* Start a list that other processes will read, under this name. */
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
write_chunk(SwareOrderedList *list, Chunk *chunk)
{
	BufFileWrite(list->file, chunk, offsetof(Chunk, data) + chunk->used);
}

/* Go on with an empty chunk; the latest is full. */
static void
start_chunk(SwareOrderedList *list)
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

	if (list->file == NULL && list_length(list->fullChunks) + 1 < list->maxChunks)
	{
		list->fullChunks = lappend(list->fullChunks, list->latest);
		list->latest = palloc(sizeof(Chunk));
	}
	else
	{
		if (list->file == NULL)
		{
			PrepareTempTablespaces();
			list->file = BufFileCreateTemp(false);
		}
		foreach(cell, list->fullChunks)
		{
			write_chunk(list, lfirst(cell));
			pfree(lfirst(cell));
		}
		list->fullChunks = NIL;
		write_chunk(list, list->latest);
	}

	list->latest->used = 0;
	list->count = 0;
	MemoryContextSwitchTo(old_context);
}

/* Room to make an entry of up to `size` bytes in, for append. */
IndexTuple
sware_ordered_list_reserve(SwareOrderedList *list, Size size)
{
	size = MAXALIGN(size);
	if (unlikely(list->latest->used + size > CHUNK_SIZE))
		start_chunk(list);
	list->reserved = size;
	return (IndexTuple) (list->latest->data + list->latest->used);
}

/* Append the entry for which room was reserved last. */
void
sware_ordered_list_append(SwareOrderedList *list)
{
	list->last = (IndexTuple) (list->latest->data + list->latest->used);
	list->offsets[list->count++] = list->latest->used;
	list->latest->used += list->reserved;
}

/* The last entry, or NULL if there is none. */
IndexTuple
sware_ordered_list_last(SwareOrderedList *list)
{
	return list->last;
}

/*
 * Remove the last entry and return it, or NULL if it is too old for that.  It
 * stays where it is until room is reserved again.
 */
IndexTuple
sware_ordered_list_take_back(SwareOrderedList *list)
{
	IndexTuple	taken = list->last;

	if (list->count == 0)
		return NULL;

	list->latest->used = list->offsets[--list->count];
	if (list->count > 0)
		list->last = (IndexTuple) (list->latest->data + list->offsets[list->count - 1]);
	else
		list->last = list->hasBefore ? &list->before.entry : NULL;
	return taken;
}

/*
 * Let others read a shared list.  It is the last that is done to it here, but
 * for its end.
 */
void
sware_ordered_list_export(SwareOrderedList *list)
{
	write_chunk(list, list->latest);
	BufFileExportFileSet(list->file);
}

/* Open a list that was exported, to read it. */
SwareOrderedList *
sware_ordered_list_open_shared(FileSet *files, const char *name)
{
	SwareOrderedList *list = make_list(1);
	MemoryContext old_context = MemoryContextSwitchTo(list->context);

	list->file = BufFileOpenFileSet(files, name, O_RDONLY, false);
	MemoryContextSwitchTo(old_context);
	return list;
}

/* Start to read; nothing is appended any more. */
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

/* Go to the next chunk to read; false if there is none. */
static bool
next_chunk(SwareOrderedList *list)
{
	Chunk	   *read = list->current;

	if (read == list->latest)
		return false;

	list->position = 0;
	if (list->file)
	{
		Size		length;

		if (read == NULL)
			read = MemoryContextAlloc(list->context, sizeof(Chunk));
		length = BufFileRead(list->file, &read->used, sizeof(Size));
		if (length != 0)
		{
			if (length != sizeof(Size) || read->used > CHUNK_SIZE ||
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
		if (list->nextFull < list_length(list->fullChunks))
		{
			list->current = list_nth(list->fullChunks, list->nextFull++);
			return true;
		}
	}

	list->current = list->latest;
	return true;
}

/* The next entry, valid until the next call, or NULL at the end. */
IndexTuple
sware_ordered_list_next(SwareOrderedList *list)
{
	IndexTuple	entry;

	while (list->current == NULL || list->position >= list->current->used)
	{
		if (!next_chunk(list))
			return NULL;
	}

	entry = (IndexTuple) (list->current->data + list->position);
	list->position += MAXALIGN(IndexTupleSize(entry));
	return entry;
}

void
sware_ordered_list_end(SwareOrderedList *list)
{
	if (list->file)
		BufFileClose(list->file);
	MemoryContextDelete(list->context);
}
