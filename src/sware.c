/*-------------------------------------------------------------------------
 *
 * sware.c
 *	  What happens when the library is loaded.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "am/options.h"
#include "buffer/hooks.h"
#include "buffer/stagedkeys.h"
#include "buffer/statistics.h"
#include "buffer/zones.h"
#include "faultpoint.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	sware_register_options();
	sware_define_fault_points();
	sware_define_fault_requests();
	sware_define_settings();	/* the last: it reserves the prefix */
	sware_zones_request_memory();
	sware_staged_keys_request_memory();
	sware_statistics_request_memory();
	sware_install_hooks();
}
