/*-------------------------------------------------------------------------
 *
 * registration.h
 *	  What the records of all kinds have in common.  For this room only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_REGISTRATION_H
#define SWARE_REGISTRATION_H

#include "access/rmgr.h"
#include "access/xlog.h"
#include "storage/bufmgr.h"

/*
 * Are images of pages compared with what redo makes of them
 * (wal_consistency_checking)?  Marks of dead entries are hints: they are not
 * logged, so a standby may lack them, and generic WAL does not mask them.  So
 * each record then clears the marks of its pages.
 */
static inline bool
sware_images_are_compared(void)
{
	return wal_consistency_checking[RM_GENERIC_ID];
}

/* How a page is registered (REGBUF_*) for a record. */
extern uint8 sware_page_registration(Page page);

#endif							/* SWARE_REGISTRATION_H */
