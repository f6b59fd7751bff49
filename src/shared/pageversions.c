/*-------------------------------------------------------------------------
 *
 * pageversions.c
 *	  Versions of pages.  See pageversions.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "common/hashfn.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
#include "storage/ipc.h"
#include "storage/shmem.h"

#include "base/compat.h"
#include "shared/pageversions.h"

/* the number of versions, a power of two: 128 kB */
#define VERSION_COUNT	16384

static pg_atomic_uint64 *versions = NULL;	/* NULL: no shared memory */

void
sware_page_versions_request_memory(void)
{
	RequestAddinShmemSpace(VERSION_COUNT * sizeof(pg_atomic_uint64));
}

void
sware_page_versions_attach(void)
{
	bool		found;

	versions = ShmemInitStruct("sware page versions",
							   VERSION_COUNT * sizeof(pg_atomic_uint64),
							   &found);
	if (found)
		return;
	for (int i = 0; i < VERSION_COUNT; i++)
		pg_atomic_init_u64(&versions[i], SWARE_NO_VERSION + 1);
}

static inline pg_atomic_uint64 *
version_of(const SwareFile *file, BlockNumber block)
{
	uint32		hash =
		murmurhash32(hash_combine(SwareFileNumber(*file), block));

	return &versions[hash % VERSION_COUNT];
}

uint64
sware_page_version(Relation index, BlockNumber block)
{
	uint64		version;

	if (versions == NULL || RecoveryInProgress())
		return SWARE_NO_VERSION;
	pg_memory_barrier();
	version = pg_atomic_read_u64(version_of(&SwareRelationLocator(index),
											block));
	pg_read_barrier();
	return version;
}

void
sware_raise_page_version(Buffer buffer)
{
	SwareFile	file;
	ForkNumber	fork;
	BlockNumber block;

	if (versions == NULL)
		return;
	BufferGetTag(buffer, &file, &fork, &block);
	pg_atomic_fetch_add_u64(version_of(&file, block), 1);
}
