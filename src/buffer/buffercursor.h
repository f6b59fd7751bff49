/*-------------------------------------------------------------------------
 *
 * buffercursor.h
 *	  The buffer cursor: goes through a scan's qualifying entries in the
 *	  shared buffer, in order, forward or backward.
 *
 * It reads in chunks: the next so many qualifying entries behind a place, of
 * all buffer pages, in order.  A chunk is read under one generation: when
 * the generation has moved on while it was read, it is read again.  Chunks
 * are small at first, so that who wants one entry does not pay for many.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BUFFERCURSOR_H
#define SWARE_BUFFERCURSOR_H

#include "access/relscan.h"

#include "buffer/sharedbuffer.h"
#include "buffer/zones.h"
#include "tree/scankeys.h"

typedef struct SwareBufferedEntry
{
	IndexTuple	entry;			/* in the chunk's context */
	int64		abbreviation;
	SwareLink	page;			/* the buffer page it is on */
} SwareBufferedEntry;

typedef struct SwareBufferCursor
{
	IndexScanDesc scan;
	SwareScanKeys *keys;		/* the tree cursor's, analysed */
	MemoryContext context;		/* lives as long as the scan */
	MemoryContext chunkContext; /* of the chunk's entries */
	SwareZoneView view;
	bool		hasView;

	uint64		generation;		/* under which the chunk was read */
	bool		forward;		/* its direction */
	bool		exhausted;		/* nothing qualifies behind the chunk */
	int			limit;			/* entries of the next chunk, at most */
	int			count;			/* entries of the chunk */
	int			current;		/* the next one to return */
	SwareBufferedEntry *entries;	/* in the direction of the scan */
	int			allocated;
} SwareBufferCursor;

extern void sware_buffer_cursor_init(SwareBufferCursor *cursor, IndexScanDesc scan,
									 SwareScanKeys *keys, MemoryContext context);
extern void sware_buffer_cursor_rewind(SwareBufferCursor *cursor);
extern void sware_buffer_cursor_end(SwareBufferCursor *cursor);

/*
 * Read the first chunk in a direction: of everything (`after` NULL), or of
 * what lies beyond an entry, exclusively.  The chunk may be empty: then
 * nothing qualifies.
 */
extern void sware_buffer_cursor_seek(SwareBufferCursor *cursor, bool forward,
									 IndexTuple after);

/*
 * Read the next chunk.  False if the generation has moved on since the first
 * one was read: the caller must seek both cursors again.
 */
extern bool sware_buffer_cursor_read_on(SwareBufferCursor *cursor);

#endif							/* SWARE_BUFFERCURSOR_H */
