/*-------------------------------------------------------------------------
 *
 * bufferinterval.h
 *	  Where intervals of a parallel scan end if the buffer has many entries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BUFFERINTERVAL_H
#define SWARE_BUFFERINTERVAL_H

#include "cursor/buffercursor.h"
#include "keys/searchkey.h"

/*
 * Find an entry of the buffer that lies about `entries` entries beyond
 * `place`, in the direction of the scan.  It is copied to `found`, which has
 * SWARE_MAX_ENTRY_SIZE bytes, and may be the memory of `end`.
 *
 * Only entries before `end` count, or, if that is NULL, before the end of the
 * scan's last range; and only those of sorted zones, so that no buffer page
 * has to be read.  Returns false if fewer than twice as many entries are known
 * to be there.
 *
 * The cursor has been rewound.  Reads pages, and runs comparators; the caller
 * holds no lock on a page.
 */
extern bool sware_buffer_interval_end(SwareBufferCursor *cursor, bool forward,
									  const SwareSearchKey *place, IndexTuple end,
									  int entries, IndexTuple found);

#endif							/* SWARE_BUFFERINTERVAL_H */
