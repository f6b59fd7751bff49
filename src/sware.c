/*-------------------------------------------------------------------------
 *
 * sware.c
 *	  Initialisation when the library is loaded.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"

#include "base/compat.h"
#include "base/faultpoint.h"
#include "base/options.h"
#include "buffer/buffer.h"
#include "constraints/constraints.h"
#include "inspect/inspect.h"
#include "takenkeys/keylock.h"
#include "takenkeys/stagedkeys.h"
#include "records/recordcache.h"
#include "scan/scan.h"
#include "shared/flushrequests.h"
#include "shared/pageversions.h"
#include "shared/statistics.h"
#include "staging/staging.h"
#include "zones/zones.h"

SWARE_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

static shmem_request_hook_type previous_request = NULL;
static shmem_startup_hook_type previous_startup = NULL;

/* All that needs shared memory: see base/sharedmemory.h. */
static void
share_memory(void)
{
	if (sware_shared_memory > 0)
	{
		sware_share_zones();
		sware_share_key_locks();
		sware_share_staged_keys();
	}
	if (sware_record_cache > 0)
		sware_share_records();
	sware_share_page_versions();
	sware_share_statistics();
	sware_share_flush_requests();
}

static void
request_shared_memory(void)
{
	if (previous_request)
		previous_request();
	share_memory();
}

static void
find_shared_memory(void)
{
	if (previous_startup)
		previous_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	share_memory();
	sware_parallel_scans_attach();
	sware_flushes_attach();
	LWLockRelease(AddinShmemInitLock);
}

/*
 * Install the hooks that ask for shared memory.  A library has shared memory
 * only if it is named in shared_preload_libraries.
 */
static void
install_shared_memory_hooks(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	previous_request = shmem_request_hook;
	shmem_request_hook = request_shared_memory;
	previous_startup = shmem_startup_hook;
	shmem_startup_hook = find_shared_memory;
}

void
_PG_init(void)
{
	sware_register_options();
	SWARE_DEFINE_FAULT_SETTINGS();
	sware_define_settings();	/* last, since it reserves the prefix "sware" */
	install_shared_memory_hooks();
	sware_install_hooks();
	sware_install_object_hook();
	sware_install_explain_option();
}
