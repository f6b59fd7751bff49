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

#include "base/compat.h"
#include "base/sharedmemory.h"
#include "shared/pageversions.h"

/* the number of versions, a power of two: 128 kB */
#define VERSION_COUNT	16384

static pg_atomic_uint64 *versions = NULL;	/* NULL: no shared memory */

void
sware_share_page_versions(void)
{
	bool		is_new;

	versions = sware_share("sware page versions",
						   VERSION_COUNT * sizeof(pg_atomic_uint64), &is_new);
	for (int i = 0; i < VERSION_COUNT && is_new; i++)
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
