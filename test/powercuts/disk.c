/*-------------------------------------------------------------------------
 *
 * disk.c
 *	  A disk with a cache that a power cut empties, for test/powercuts.
 *
 * To be preloaded (LD_PRELOAD) into a server.  The files are what programs see.
 * For each file that was written and not synced since, a second file, its
 * durable copy, has what is on the disk for certain: contents and length.  A
 * sync (fsync, fdatasync, or a write by O_DSYNC) brings the copy up to date,
 * and reaches no real disk.  sync_file_range promises nothing, and is not
 * modelled.  After the cut, test/powercuts/cuts decides for each sector in
 * which a file differs from its copy which of the two the disk has.
 *
 * A disk also writes when it is not asked to: some writes reach the copy at
 * once, sector by sector, as the settings say.  So may old, newer and newest
 * sectors be side by side.
 *
 * Files are created, renamed and removed for good at once.  What the C
 * library writes for a stream (FILE) is not seen, and so is durable, too.
 *
 * The cut comes at a certain call of those below, which is counted among all
 * processes of the server: from then on no call changes anything, and all
 * processes are killed.
 *
 * DISK_STATE names a file of struct Disk, filled with zeros, DISK_COPIES a
 * directory for the durable copies, each named after the inode of its file.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_FILES 8192
#define SECTOR 512

/* A file that has a durable copy, and where it may differ from it. */
typedef struct Tracked
{
	uint64_t	inode;			/* 0 if this place was never used */
	int			isTracked;
	off_t		from;
	off_t		to;				/* nothing differs if this is not larger */
} Tracked;

/* Shared by all processes; test/powercuts/cuts knows the first five members. */
typedef struct Disk
{
	uint64_t	calls;			/* counted so far */
	uint64_t	cutAt;			/* cut when there are that many; 0: never */
	uint64_t	writesBack;		/* this many of 1,000 writes reach the disk */
	uint64_t	random;			/* state of the generator */
	uint64_t	isCut;
	uint64_t	postmaster;
	uint64_t	device;			/* with the files and their copies */
	pthread_mutex_t lock;
	Tracked		files[MAX_FILES];
} Disk;

static Disk *disk;
static const char *copies;

/* The function of the C library that one of ours replaces. */
#define REAL(name) ((__typeof__(&name)) find_real(#name))

/* End the server: something has failed that must not. */
static void
complain(const char *what)
{
	dprintf(STDERR_FILENO, "disk: %s: %s\n", what, strerror(errno));
	if (disk && disk->postmaster)
		kill((pid_t) disk->postmaster, SIGKILL);
	abort();
}

static void *
find_real(const char *name)
{
	static struct
	{
		const char *name;
		void	   *function;
	}			known[16];
	int			place = 0;

	/* Each of the few callers has one text as the name. */
	while (known[place].name && strcmp(known[place].name, name) != 0)
		place++;
	if (!known[place].name)
	{
		known[place].function = dlsym(RTLD_NEXT, name);
		known[place].name = name;
	}
	return known[place].function;
}

__attribute__((constructor))
static void
open_disk(void)
{
	const char *state = getenv("DISK_STATE");
	pthread_mutexattr_t attributes;
	struct stat status;
	int			file;

	if (!state || !getenv("DISK_COPIES"))
		return;
	/* The server writes its processes' titles where the environment is. */
	copies = strdup(getenv("DISK_COPIES"));
	file = REAL(open) (state, O_RDWR | O_CLOEXEC);
	if (file < 0 || REAL(ftruncate) (file, sizeof(Disk)) != 0)
		complain(state);
	disk = mmap(NULL, sizeof(Disk), PROT_READ | PROT_WRITE, MAP_SHARED,
				file, 0);
	if (disk == MAP_FAILED)
		complain(state);
	close(file);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&disk->lock, &attributes);
	if (stat(copies, &status) != 0)
		complain(copies);
	disk->device = status.st_dev;
	disk->postmaster = getpid();
	/* It ends with test/powercuts/cuts, and the others with it; see fork. */
	REAL(prctl) (PR_SET_PDEATHSIG, SIGKILL);
}

static uint64_t
draw(void)
{
	disk->random ^= disk->random << 13;
	disk->random ^= disk->random >> 7;
	disk->random ^= disk->random << 17;
	return disk->random;
}

/* Cut, or go on after the cut: this process ends here, with the lock. */
static void
die(void)
{
	disk->isCut = 1;
	kill((pid_t) disk->postmaster, SIGKILL);
	for (;;)
		kill(getpid(), SIGKILL);
}

/* Begin a call: counts it, and cuts if its time has come. */
static void
begin_call(void)
{
	pthread_mutex_lock(&disk->lock);
	disk->calls++;
	if (disk->isCut || (disk->cutAt && disk->calls >= disk->cutAt))
		die();
}

static void
end_call(void)
{
	int			saved = errno;

	pthread_mutex_unlock(&disk->lock);
	errno = saved;
}

/* Is this a file of a disk?  Others, and the log, are none of our business. */
static int
is_on_disk(int file, struct stat *status)
{
	return disk && file > STDERR_FILENO && fstat(file, status) == 0 &&
		S_ISREG(status->st_mode) && status->st_nlink > 0 &&
		status->st_dev == disk->device;
}

static int
open_copy(uint64_t inode, int flags)
{
	char		path[4096];
	int			copy;

	snprintf(path, sizeof(path), "%s/%llu", copies,
			 (unsigned long long) inode);
	copy = REAL(open) (path, flags | O_CLOEXEC, 0600);
	if (copy < 0)
		complain(path);
	return copy;
}

/* Find the place of a file, or one for it. */
static Tracked *
find_place(uint64_t inode)
{
	for (int i = 0; i < MAX_FILES; i++)
	{
		Tracked    *tracked = &disk->files[(inode * 31 + i) % MAX_FILES];

		if (tracked->inode == inode)
			return tracked;
		if (tracked->inode == 0)
		{
			tracked->inode = inode;
			return tracked;
		}
	}
	errno = ENOSPC;
	complain("too many files");
	return NULL;
}

/* Copy a part of a file to its durable copy. */
static void
copy_part(int file, int copy, off_t from, off_t to)
{
	static char buffer[65536];

	while (from < to)
	{
		size_t		wanted = to - from < (off_t) sizeof(buffer) ?
			(size_t) (to - from) : sizeof(buffer);
		ssize_t		size = pread(file, buffer, wanted, from);

		if (size < 0)
			complain("could not read");
		if (size == 0)
			return;
		if (REAL(pwrite) (copy, buffer, size, from) != size)
			complain("could not write");
		from += size;
	}
}

/* A descriptor by which a file can be read, whatever the given one is for. */
static int
open_to_read(int file)
{
	char		path[64];
	int			reader;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	reader = REAL(open) (path, O_RDONLY | O_CLOEXEC);
	if (reader < 0)
		complain(path);
	return reader;
}

/* Make sure that a file which is about to change has a durable copy. */
static Tracked *
track(int file, const struct stat *status)
{
	Tracked    *tracked = find_place(status->st_ino);

	if (!tracked->isTracked)
	{
		int			copy = open_copy(status->st_ino,
									 O_RDWR | O_CREAT | O_TRUNC);
		int			reader = open_to_read(file);

		copy_part(reader, copy, 0, status->st_size);
		close(reader);
		close(copy);
		tracked->isTracked = 1;
		tracked->from = tracked->to = 0;
	}
	return tracked;
}

/* A part of a file differs from its copy now. */
static void
note_change(Tracked *tracked, off_t from, off_t to)
{
	if (tracked->from >= tracked->to)
	{
		tracked->from = from;
		tracked->to = to;
		return;
	}
	if (from < tracked->from)
		tracked->from = from;
	if (to > tracked->to)
		tracked->to = to;
}

static void
sync_file(int file, const struct stat *status)
{
	Tracked    *tracked = find_place(status->st_ino);
	struct stat now;
	int			copy,
				reader;

	if (!tracked->isTracked)
		return;
	copy = open_copy(status->st_ino, O_RDWR);
	reader = open_to_read(file);
	if (fstat(reader, &now) != 0)
		complain("could not stat");
	copy_part(reader, copy, tracked->from, tracked->to);
	if (REAL(ftruncate) (copy, now.st_size) != 0)
		complain("could not truncate a copy");
	close(reader);
	close(copy);
	tracked->from = tracked->to = 0;
}

/* The disk writes some sectors of what was just written, unasked. */
static void
write_back(int file, const struct stat *status, off_t from, off_t to)
{
	int			copy = open_copy(status->st_ino, O_RDWR);
	int			reader = open_to_read(file);

	for (off_t sector = from - from % SECTOR; sector < to; sector += SECTOR)
	{
		if (draw() % 2 == 0)
			copy_part(reader, copy, sector, sector + SECTOR);
	}
	close(reader);
	close(copy);
}

/* The end of a write that has begun with begin_call and track. */
static void
end_write(int file, const struct stat *status, Tracked *tracked, off_t from,
		  ssize_t size)
{
	if (size > 0)
	{
		note_change(tracked, from, from + size);
		if (fcntl(file, F_GETFL) & O_DSYNC)
			sync_file(file, status);
		else if (draw() % 1000 < disk->writesBack)
			write_back(file, status, from, from + size);
	}
	end_call();
}

ssize_t
pwrite(int file, const void *bytes, size_t size, off_t offset)
{
	struct stat status;
	Tracked    *tracked;
	ssize_t		written;

	if (!is_on_disk(file, &status))
		return REAL(pwrite) (file, bytes, size, offset);
	begin_call();
	tracked = track(file, &status);
	written = REAL(pwrite) (file, bytes, size, offset);
	end_write(file, &status, tracked, offset, written);
	return written;
}

ssize_t
pwritev(int file, const struct iovec *parts, int count, off_t offset)
{
	struct stat status;
	Tracked    *tracked;
	ssize_t		written;

	if (!is_on_disk(file, &status))
		return REAL(pwritev) (file, parts, count, offset);
	begin_call();
	tracked = track(file, &status);
	written = REAL(pwritev) (file, parts, count, offset);
	end_write(file, &status, tracked, offset, written);
	return written;
}

ssize_t
writev(int file, const struct iovec *parts, int count)
{
	struct stat status;
	Tracked    *tracked;
	ssize_t		written;

	if (!is_on_disk(file, &status))
		return REAL(writev) (file, parts, count);
	begin_call();
	tracked = track(file, &status);
	written = REAL(writev) (file, parts, count);
	end_write(file, &status, tracked, lseek(file, 0, SEEK_CUR) - written,
			  written);
	return written;
}

ssize_t
write(int file, const void *bytes, size_t size)
{
	struct stat status;
	Tracked    *tracked;
	ssize_t		written;

	if (!is_on_disk(file, &status))
		return REAL(write) (file, bytes, size);
	begin_call();
	tracked = track(file, &status);
	written = REAL(write) (file, bytes, size);
	end_write(file, &status, tracked, lseek(file, 0, SEEK_CUR) - written,
			  written);
	return written;
}

int
fdatasync(int file)
{
	struct stat status;

	if (!is_on_disk(file, &status))
		return 0;
	begin_call();
	sync_file(file, &status);
	end_call();
	return 0;
}

int
fsync(int file)
{
	return fdatasync(file);
}

int
sync_file_range(int file, off_t offset, off_t size, unsigned int flags)
{
	return 0;
}

int
ftruncate(int file, off_t size)
{
	struct stat status;
	Tracked    *tracked;
	int			result;

	if (!is_on_disk(file, &status))
		return REAL(ftruncate) (file, size);
	begin_call();
	tracked = track(file, &status);
	result = fstat(file, &status) || REAL(ftruncate) (file, size);
	if (result == 0)
		note_change(tracked, size < status.st_size ? size : status.st_size,
					size < status.st_size ? status.st_size : size);
	end_call();
	return result;
}

int
truncate(const char *path, off_t size)
{
	int			file,
				result;

	if (!disk)
		return REAL(truncate) (path, size);
	file = REAL(open) (path, O_RDWR | O_CLOEXEC);
	if (file < 0)
		return -1;
	result = ftruncate(file, size);
	close(file);
	return result;
}

int
posix_fallocate(int file, off_t offset, off_t size)
{
	struct stat status;
	Tracked    *tracked;
	int			result;

	if (!is_on_disk(file, &status))
		return REAL(posix_fallocate) (file, offset, size);
	begin_call();
	tracked = track(file, &status);
	result = REAL(posix_fallocate) (file, offset, size);
	note_change(tracked, offset, offset + size);
	end_call();
	return result;
}

/* A file is about to lose a name: its inode may come back as another file. */
static void
forget(const char *path)
{
	struct stat status;
	Tracked    *tracked;
	char		copy[4096];

	if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode) ||
		status.st_nlink > 1 || status.st_dev != disk->device)
		return;
	tracked = find_place(status.st_ino);
	if (tracked->isTracked)
	{
		snprintf(copy, sizeof(copy), "%s/%llu", copies,
				 (unsigned long long) status.st_ino);
		REAL(unlink) (copy);
		tracked->isTracked = 0;
	}
}

int
unlink(const char *path)
{
	int			result;

	if (!disk)
		return REAL(unlink) (path);
	begin_call();
	forget(path);
	result = REAL(unlink) (path);
	end_call();
	return result;
}

int
rename(const char *from, const char *to)
{
	int			result;

	if (!disk)
		return REAL(rename) (from, to);
	begin_call();
	forget(to);
	result = REAL(rename) (from, to);
	end_call();
	return result;
}

int
open(const char *path, int flags,...)
{
	mode_t		mode = 0;
	struct stat status;
	Tracked    *tracked;
	int			file;

	if (flags & O_CREAT)
	{
		va_list		arguments;

		va_start(arguments, flags);
		mode = va_arg(arguments, mode_t);
		va_end(arguments);
	}
	if (!disk || !(flags & O_TRUNC) ||
		(flags & O_ACCMODE) == O_RDONLY || stat(path, &status) != 0 ||
		!S_ISREG(status.st_mode) || status.st_dev != disk->device)
		return REAL(open) (path, flags, mode);

	/* What is cut off is on the disk until the next sync. */
	begin_call();
	file = REAL(open) (path, flags & ~O_TRUNC, mode);
	if (file >= 0 && fstat(file, &status) == 0)
	{
		tracked = track(file, &status);
		note_change(tracked, 0, status.st_size);
		if (REAL(ftruncate) (file, 0) != 0)
			complain(path);
	}
	end_call();
	return file;
}

/* Processes of the server end with the first one, at once. */
pid_t
fork(void)
{
	pid_t		child = REAL(fork) ();

	if (child == 0 && disk)
	{
		REAL(prctl) (PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != (pid_t) disk->postmaster)
			kill(getpid(), SIGKILL);
	}
	return child;
}

/* A gentler signal, for which the server asks, would replace that one. */
int
prctl(int option,...)
{
	va_list		list;
	unsigned long arguments[4];

	if (disk && option == PR_SET_PDEATHSIG)
		return 0;
	va_start(list, option);
	for (int i = 0; i < 4; i++)
		arguments[i] = va_arg(list, unsigned long);
	va_end(list);
	return REAL(prctl) (option, arguments[0], arguments[1], arguments[2],
						arguments[3]);
}

/* The same by the names that programs use which ask for 64 bits. */
ssize_t		pwrite64(int, const void *, size_t, off_t)
			__attribute__((alias("pwrite")));
ssize_t		pwritev64(int, const struct iovec *, int, off_t)
			__attribute__((alias("pwritev")));
int			ftruncate64(int, off_t) __attribute__((alias("ftruncate")));
int			truncate64(const char *, off_t) __attribute__((alias("truncate")));
int			open64(const char *, int,...) __attribute__((alias("open")));
int			posix_fallocate64(int, off_t, off_t)
			__attribute__((alias("posix_fallocate")));
