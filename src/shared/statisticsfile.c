/*-------------------------------------------------------------------------
 *
 * statisticsfile.c
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
#include "postgres.h"

#include <unistd.h>

#include "access/xlog_internal.h"
#include "catalog/pg_control.h"
#include "pgstat.h"
#include "port/pg_crc32c.h"
#include "storage/fd.h"

#include "shared/statistics.h"

#define STATISTICS_FILE		PGSTAT_STAT_PERMANENT_DIRECTORY "/sware.stat"
#define TEMPORARY_FILE		STATISTICS_FILE ".tmp"

#define FILE_MAGIC			0x53575354

/*
 * Raise it when the meaning of records changes, and not only their size: when
 * counters change places, for instance.
 */
#define FILE_VERSION		1

/* The beginning of the file; records follow. */
typedef struct FileHeader
{
	uint32		magic;
	uint32		version;
	uint32		size;			/* of a record */
	uint32		count;			/* of records */
	uint64		system;			/* the server's identifier */
	XLogRecPtr	shutdown;		/* the last checkpoint */
	pg_crc32c	checksum;		/* of the above, and the records */
} FileHeader;

static pg_crc32c
checksum_of(const FileHeader *header, const void *records)
{
	pg_crc32c	checksum;

	INIT_CRC32C(checksum);
	COMP_CRC32C(checksum, header, offsetof(FileHeader, checksum));
	COMP_CRC32C(checksum, records, (Size) header->count * header->size);
	FIN_CRC32C(checksum);
	return checksum;
}

/* Read the control file.  Returns false if it is not as it should be. */
static bool
read_control(ControlFileData *control)
{
	FILE	   *file = AllocateFile(XLOG_CONTROL_FILE, PG_BINARY_R);
	bool		is_read;
	pg_crc32c	checksum;

	if (file == NULL)
		return false;
	is_read = fread(control, sizeof(ControlFileData), 1, file) == 1;
	FreeFile(file);
	INIT_CRC32C(checksum);
	COMP_CRC32C(checksum, control, offsetof(ControlFileData, crc));
	FIN_CRC32C(checksum);
	return is_read && EQ_CRC32C(checksum, control->crc);
}

/*
 * Has the server been shut down cleanly?  An immediate shutdown ends the
 * postmaster in the same way, but leaves another state in the control file;
 * and shared memory may be as a process left it that ended in the middle of a
 * change.  Raises no error, as the postmaster's end is no place for one.
 */
bool
sware_server_is_shut_down(void)
{
	ControlFileData control;

	return read_control(&control) &&
		(control.state == DB_SHUTDOWNED ||
		 control.state == DB_SHUTDOWNED_IN_RECOVERY);
}

/* Write records of a certain size, when all other processes have ended. */
void
sware_statistics_file_write(const void *records, int count, Size size)
{
	FileHeader	header = {
		.magic = FILE_MAGIC,
		.version = FILE_VERSION,
		.size = size,
		.count = count
	};
	ControlFileData control;
	FILE	   *file;
	bool		is_written;

	if (!read_control(&control))
		return;
	header.system = control.system_identifier;
	header.shutdown = control.checkPoint;
	header.checksum = checksum_of(&header, records);
	file = AllocateFile(TEMPORARY_FILE, PG_BINARY_W);
	is_written = file != NULL &&
		fwrite(&header, sizeof(FileHeader), 1, file) == 1 &&
		fwrite(records, size, count, file) == header.count;
	if (file != NULL && FreeFile(file) != 0)
		is_written = false;
	if (is_written)
	{
		(void) durable_rename(TEMPORARY_FILE, STATISTICS_FILE, LOG);
		return;
	}
	ereport(LOG,
			(errcode_for_file_access(),
			 errmsg("could not write file \"%s\": %m", TEMPORARY_FILE)));
	unlink(TEMPORARY_FILE);
}

/*
 * Read and check records.  Returns their number, with *records set; 0 if there
 * are none; -1 if the file is not as it should be.
 */
static int
read_file(FILE *file, void **records, int most, Size size)
{
	FileHeader	header;
	ControlFileData control;

	if (fread(&header, sizeof(FileHeader), 1, file) != 1 ||
		header.magic != FILE_MAGIC || header.version != FILE_VERSION ||
		header.size != size || header.count > (uint32) most ||
		!read_control(&control) ||
		header.system != control.system_identifier ||
		header.shutdown != control.checkPoint)
		return -1;
	*records = MemoryContextAllocExtended(CurrentMemoryContext,
										  Max(header.count, 1) * size,
										  MCXT_ALLOC_NO_OOM);
	if (*records == NULL)
		return -1;
	if (fread(*records, size, header.count, file) == header.count &&
		fgetc(file) == EOF &&
		EQ_CRC32C(header.checksum, checksum_of(&header, *records)) &&
		header.count > 0)
		return header.count;
	pfree(*records);
	return header.count == 0 ? 0 : -1;
}

/*
 * Read the records of this size that the file has, `most` of them at most, and
 * remove the file.  Returns their number, and sets *records to where they are,
 * which the caller frees if there are any.
 */
int
sware_statistics_file_read(void **records, int most, Size size)
{
	FILE	   *file = AllocateFile(STATISTICS_FILE, PG_BINARY_R);
	int			count;

	if (file == NULL)
	{
		if (errno != ENOENT)
			ereport(LOG,
					(errcode_for_file_access(),
					 errmsg("could not open file \"%s\": %m", STATISTICS_FILE)));
		return 0;
	}
	count = read_file(file, records, most, size);
	if (count < 0)
		ereport(LOG,
				(errmsg("statistics of sware indexes in file \"%s\" are ignored",
						STATISTICS_FILE),
				 errdetail("The file is damaged, of another version, or older than the last shutdown.")));
	FreeFile(file);
	durable_unlink(STATISTICS_FILE, LOG);
	return Max(count, 0);
}
