/*-------------------------------------------------------------------------
 *
 * sortedfile.h
 *	  Entries in order in a temporary file.
 *
 * First entries are appended, then they are read from the beginning.  A file
 * of a file set has a name made of two numbers, and can be exported after it
 * was written, for another process to read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SORTEDFILE_H
#define SWARE_SORTEDFILE_H

#include "access/itup.h"
#include "storage/fileset.h"

typedef struct SwareSortedFile SwareSortedFile;

/* The memory that an open file takes, in bytes. */
extern Size sware_sorted_file_memory(void);

extern SwareSortedFile *sware_sorted_file_create(FileSet *files,
												 int participant, int number);
extern void sware_sorted_file_append(SwareSortedFile *file, IndexTuple entry);
extern IndexTuple sware_sorted_file_last(SwareSortedFile *file);
extern void sware_sorted_file_export(SwareSortedFile *file);
extern SwareSortedFile *sware_sorted_file_open(FileSet *files, int participant,
											   int number);
extern void sware_sorted_file_rewind(SwareSortedFile *file);
extern IndexTuple sware_sorted_file_next(SwareSortedFile *file,
										 bool *begins_bin);
extern void sware_sorted_file_end(SwareSortedFile *file);

#endif							/* SWARE_SORTEDFILE_H */
