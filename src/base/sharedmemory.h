/*-------------------------------------------------------------------------
 *
 * sharedmemory.h
 *	  Shared memory of the server.
 *
 * A preloaded library requests its shared memory first, and finds it later.
 * What needs some has one function that does both (sware_share_...): it is
 * called by shmem_request_hook, and then by shmem_startup_hook, while
 * AddinShmemInitLock is held.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SHAREDMEMORY_H
#define SWARE_SHAREDMEMORY_H

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/hsearch.h"

#include "base/compat.h"

/*
 * Request so many bytes, and return NULL; or return where they are, and set
 * *is_new if they have to be initialised.
 */
static inline void *
sware_share(const char *name, Size size, bool *is_new)
{
	bool		found = true;
	void	   *memory = NULL;

	if (process_shmem_requests_in_progress)
		RequestAddinShmemSpace(size);
	else
		memory = ShmemInitStruct(name, size, &found);
	*is_new = !found;
	return memory;
}

/* The same for a hash table of at most so many entries. */
static inline HTAB *
sware_share_hash(const char *name, int64 entries, HASHCTL *control, int flags)
{
	if (!process_shmem_requests_in_progress)
		return sware_init_shared_hash(name, entries, control,
									  flags | HASH_ELEM | HASH_BLOBS |
									  HASH_FIXED_SIZE);
	RequestAddinShmemSpace(hash_estimate_size(entries, control->entrysize));
	return NULL;
}

/* The same for lightweight locks. */
static inline LWLockPadded *
sware_share_locks(const char *name, int count)
{
	if (!process_shmem_requests_in_progress)
		return GetNamedLWLockTranche(name);
	RequestNamedLWLockTranche(name, count);
	return NULL;
}

/* The same for a single one. */
static inline LWLock *
sware_share_lock(const char *name)
{
	LWLockPadded *locks = sware_share_locks(name, 1);

	return locks ? &locks->lock : NULL;
}

#endif							/* SWARE_SHAREDMEMORY_H */
