/*-------------------------------------------------------------------------
 *
 * statisticsfile.h
 *	  The file in which statistics survive a clean restart of the server.
 *
 * The postmaster writes it when the server has been shut down cleanly, and
 * removes it when the server starts, after reading it.  So statistics begin
 * anew after a crash.  A file of another shutdown than the last one is not
 * read: meanwhile the server may have run without sware.
 *
 * What cannot be read or written is logged, and lost.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_STATISTICSFILE_H
#define SWARE_STATISTICSFILE_H

/*
 * Has the server been shut down cleanly?  An immediate shutdown ends the
 * postmaster in the same way, but leaves another state in the control file;
 * and shared memory may be as a process left it that ended in the middle of a
 * change.  Raises no error, as the postmaster's end is no place for one.
 */
extern bool sware_server_is_shut_down(void);

/* Write records of a certain size, when all other processes have ended. */
extern void sware_statistics_file_write(const void *records, int count,
										Size size);

/*
 * Read the records of this size that the file has, `most` of them at most, and
 * remove the file.  Returns their number, and sets *records to where they are,
 * which the caller frees if there are any.
 */
extern int	sware_statistics_file_read(void **records, int most, Size size);

#endif							/* SWARE_STATISTICSFILE_H */
