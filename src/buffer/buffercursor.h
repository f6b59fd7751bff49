/*-------------------------------------------------------------------------
 *
 * buffercursor.h
 *	  The buffer cursor: goes through a scan's qualifying entries in the
 *	  shared buffer, in order, forward or backward.
 *
 * It reads in chunks: the next so many qualifying entries beyond a place, of
 * all buffer pages, in order, none twice.  A chunk is what the buffer held at
 * one moment, under one generation: when a page has retired while the chunk
 * was read, it is read again.  Chunks are small at first, so that who wants
 * one entry does not pay for many.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BUFFERCURSOR_H
#define SWARE_BUFFERCURSOR_H

#include "access/relscan.h"

#include "buffer/keycache.h"
#include "buffer/sharedbuffer.h"
#include "buffer/zones.h"
#include "tree/scankeys.h"

typedef struct SwareBufferedEntry
{
	IndexTuple	entry;			/* in the chunk's memory */
	int64		abbreviation;
	SwareLink	page;			/* the buffer page it is on, if that is asked for */
} SwareBufferedEntry;

/* where entries of a chunk may come from */
typedef enum SwareSourceKind
{
	SWARE_SOURCE_BLOCK,
	SWARE_SOURCE_PAGE,			/* sealed and in no block */
	SWARE_SOURCE_TAIL			/* what was found on an open page */
} SwareSourceKind;

typedef struct SwareBufferSource
{
	int64		order;			/* the best come first */
	SwareSourceKind kind;
	int			number;			/* in the view, or of the tail */
} SwareBufferSource;

/* entries that may qualify, each in MAXALIGN(its size) bytes */
typedef struct SwareCandidates
{
	SwareLink	page;
	Size		used;
	char	   *bytes;
} SwareCandidates;

typedef void (*SwareTidFunction) (ItemPointer tid, void *state);

typedef struct SwareBufferCursor
{
	IndexScanDesc scan;
	SwareScanKeys *keys;		/* the tree cursor's, analysed */
	MemoryContext context;		/* lives as long as the scan */
	MemoryContext chunkContext; /* of the chunk's entries; NULL until needed */
	bool		hasView;
	SwareZoneView view;
	bool		asksForKeys;	/* is it there to look up one key after another? */

	/* the chunk */
	uint64		generation;		/* under which it was read */
	bool		forward;		/* its direction */
	bool		exhausted;		/* nothing qualifies beyond it */
	int			limit;			/* how many entries it may have */
	int			count;			/* how many it has */
	int			current;		/* the next one to return */
	SwareBufferedEntry *entries;	/* in the direction of the scan */
	int			allocated;
	int			sorted;			/* so many of them are in order, none twice */
	bool		lastIsOfSource; /* was the last one taken last, from the source
								 * that is being read, which is in order? */

	/* the ranges as abbreviations; set if isAnalyzed */
	bool		isAnalyzed;
	SwareKeyColumn column;		/* how the first column is compared */
	bool		abbreviationsDecide;	/* equal ones mean equal keys, unless they
										 * are extreme */
	int64		rangesBegin;	/* no abbreviation of an entry is below ... */
	int64		rangesEnd;		/* ... or above */
	bool		abbreviationsQualify;	/* those between rangesBegin and rangesEnd
										 * mean entries in a single range */
	int64		beginMayMatter; /* only up to this one, an entry must be compared
								 * with the lower end of a single range */
	int64		endMayMatter;	/* and only from this one on, with the upper end */
	bool		hasHash;		/* for Bloom filters */
	uint64		hash;
	bool		hasKey;			/* for the key cache */
	SwareSoughtKey key;
	int			bloomProbes;	/* not counted yet */
	int			bloomFalsePositives;

	/* while a chunk is read: what is still wanted */
	int64		smallest;		/* abbreviations that an entry may have */
	int64		largest;
	bool		hasPlace;		/* entries beyond a place only */
	int64		placeAbbreviation;
	SwareSearchKey place;
	IndexTuple	worst;			/* enough entries are better than this one */
	int64		worstAbbreviation;
	bool		isCut;			/* more entries qualify than are in the chunk */
	bool		isNarrowed;		/* so many qualify that not all are wanted */
	SwareTidFunction visit;		/* gets the entries, instead of the chunk */
	void	   *visitState;
	int64		visited;
	bool		needsPages;		/* will it be asked which page an entry is on? */

	/* while a chunk is read: memory */
	Size		bytes;			/* of entries, dropped ones included */
	char	   *room;			/* for more of them */
	Size		roomLeft;
	union
	{
		char		bytes[512];
		double		forAlignment;
	}			firstRoom;		/* spares small chunks the memory context */
	IndexTuple	last;			/* copy of the last entry of the chunk before */
	Size		lastSize;
	SwareCandidates tails[SWARE_MAX_TAILS];
	SwareBufferSource *sources;
	int			sourcesAllocated;
} SwareBufferCursor;

extern void sware_buffer_cursor_init(SwareBufferCursor *cursor, IndexScanDesc scan,
									 SwareScanKeys *keys, MemoryContext context);
extern void sware_buffer_cursor_rewind(SwareBufferCursor *cursor);
extern void sware_buffer_cursor_end(SwareBufferCursor *cursor);

/*
 * Let the view be that of a state.  False if the directory has changed since.
 */
extern bool sware_buffer_cursor_refresh_view(SwareBufferCursor *cursor,
											 const SwareBufferState *state);

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

/*
 * Give the TIDs of all qualifying entries to a function, in no order, some
 * perhaps several times.  Returns how many were given.  There is no chunk
 * afterwards.
 */
extern int64 sware_buffer_cursor_visit_all(SwareBufferCursor *cursor,
										   SwareTidFunction visit, void *state);

/* The abbreviation of any entry; there has been a chunk that was not empty. */
extern int64 sware_buffer_cursor_abbreviate(const SwareBufferCursor *cursor,
											IndexTuple entry);

/*
 * Compare an entry of the chunk with a tuple of the key columns and a TID.
 */
extern int	sware_buffer_cursor_compare(const SwareBufferCursor *cursor,
										const SwareBufferedEntry *buffered,
										IndexTuple tuple, ItemPointer tid);

/* the next entry of the chunk, or NULL if all have been returned */
static inline SwareBufferedEntry *
sware_buffer_cursor_head(SwareBufferCursor *cursor)
{
	return cursor->current < cursor->count ? &cursor->entries[cursor->current] : NULL;
}

#endif							/* SWARE_BUFFERCURSOR_H */
