/*-------------------------------------------------------------------------
 *
 * sortedfile.c
 *	  Entries in order in a temporary file.
 *
 * The entries are written and read in bins, pieces of memory, so that the
 * functions for files are not called for each of them.  Before each bin is its
 * header.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "commands/tablespace.h"
#include "storage/buffile.h"

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

/*
 * Open a file that another process has exported, to read it.  Returns NULL if
 * there is none.
 */
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

/* Write what is in the bin. */
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

/*
 * The entry appended last, or in a file that is read, the last one of the bin.
 * Valid until the next call.
 */
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
IndexTuple
sware_sorted_file_next(SwareSortedFile *file, bool *begins_bin)
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
void
sware_sorted_file_end(SwareSortedFile *file)
{
	BufFileClose(file->file);
	if (file->files)
		BufFileDeleteFileSet(file->files, file->name, false);
	pfree(file);
}
