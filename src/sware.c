/*-------------------------------------------------------------------------
 *
 * sware.c
 *	  What happens when the library is loaded.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"

#include "am/options.h"
#include "buffer/hooks.h"
#include "buffer/stagedkeys.h"
#include "buffer/statistics.h"
#include "buffer/zones.h"
#include "faultpoint.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

static shmem_request_hook_type previous_request = NULL;
static shmem_startup_hook_type previous_startup = NULL;

/* What is in shared memory, and the locks that come with it. */
static void
request_shared_memory(void)
{
	if (previous_request)
		previous_request();
	if (sware_buffer_pool_size > 0)
	{
		sware_zones_request_memory();
		sware_staged_keys_request_memory();
	}
	sware_statistics_request_memory();
}

static void
attach_shared_memory(void)
{
	if (previous_startup)
		previous_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	if (sware_buffer_pool_size > 0)
	{
		sware_zones_attach();
		sware_staged_keys_attach();
	}
	sware_statistics_attach();
	LWLockRelease(AddinShmemInitLock);
}

/* Only preloading gives shared memory. */
static void
install_shared_memory_hooks(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	previous_request = shmem_request_hook;
	shmem_request_hook = request_shared_memory;
	previous_startup = shmem_startup_hook;
	shmem_startup_hook = attach_shared_memory;
}

void
_PG_init(void)
{
	sware_register_options();
	sware_define_fault_points();
	sware_define_fault_requests();
	sware_define_settings();	/* the last: it reserves the prefix */
	install_shared_memory_hooks();
	sware_install_hooks();
}
