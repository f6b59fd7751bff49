/*-------------------------------------------------------------------------
 *
 * pageversions.h
 *	  Versions of pages: numbers in shared memory that tell a backend whether
 *	  the metapage or an open page is still as it has read it.
 *
 * A scan needs the metapage, to know of which pages the buffer consists, and
 * the newest entries of open pages.  As a rule these are the same as for the
 * scan before.  With their versions a backend finds that out without a pin and
 * a content lock.
 *
 * A version is a counter.  There is a fixed number of them, which pages share:
 * so a version may be raised although the page is the same, which costs
 * nothing but another look at the page.
 *
 *	 writer						reader
 *	 locks the page				reads the version
 *	 changes it					locks the page, and copies what it needs
 *	 raises the version			unlocks the page
 *	 unlocks it					later: reads the version; the same? then the
 *								copy shows the page as it is
 *
 * Invariants:
 *	- A backend that changes such a page raises its version before it unlocks
 *	  the page (wal.c does so for all records).
 *	- A reader reads the version before the page.
 *
 * In recovery pages change without this, so there they have no version; nor
 * have they one without shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PAGEVERSIONS_H
#define SWARE_PAGEVERSIONS_H

#include "storage/block.h"
#include "storage/buf.h"
#include "utils/rel.h"

/* the version of a page that has none; no version is equal to it */
#define SWARE_NO_VERSION	0

/* See base/sharedmemory.h. */
extern void sware_share_page_versions(void);

/*
 * Returns the version of a page of an index's main fork, or SWARE_NO_VERSION.
 * Acts as a full memory barrier.  Raises no errors.
 */
extern uint64 sware_page_version(Relation index, BlockNumber block);

/*
 * Raise the version of a page, which the caller has locked exclusively and
 * changed.  Acts as a full memory barrier.  Raises no errors.
 */
extern void sware_raise_page_version(Buffer buffer);

/* Is what was read under a version still current? */
static inline bool
sware_is_page_version(Relation index, BlockNumber block, uint64 version)
{
	return version != SWARE_NO_VERSION &&
		sware_page_version(index, block) == version;
}

#endif							/* SWARE_PAGEVERSIONS_H */
