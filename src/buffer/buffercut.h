/*-------------------------------------------------------------------------
 *
 * buffercut.h
 *	  Where the entries of the shared buffer can be cut into intervals.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BUFFERCUT_H
#define SWARE_BUFFERCUT_H

#include "buffer/buffercursor.h"

/*
 * If the buffer has many more entries than so many between a place and `end` (or
 * the last of the scan's ranges, in the direction, if that is NULL), copy one that
 * lies about so many beyond the place, into SWARE_MAX_ENTRY_SIZE bytes, which may be
 * those of `end`.  False if it has not, or that is not known without reading pages:
 * only sorted blocks count.
 *
 * The cursor has been rewound.  May read pages, and run comparators.
 */
extern bool sware_buffer_cursor_cut(SwareBufferCursor *cursor, bool forward,
									const SwareSearchKey *place, IndexTuple end,
									int entries, IndexTuple cut);

#endif							/* SWARE_BUFFERCUT_H */
