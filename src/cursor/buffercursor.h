/*-------------------------------------------------------------------------
 *
 * buffercursor.h
 *	  The buffer cursor: goes through a scan's qualifying entries in the
 *	  buffer, in order, forward or backward.
 *
 * It reads in *batches*.  A batch has the next qualifying entries beyond a
 * place, up to a limit, from all buffer pages, in order and without duplicates.
 * It shows the buffer under one generation: if a page retires while the batch
 * is read, the batch is read again.  Batches are small at first, so that a scan
 * for one entry does not pay for many.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BUFFERCURSOR_H
#define SWARE_BUFFERCURSOR_H

#include "access/genam.h"
#include "access/relscan.h"

#include "cursor/buffermarks.h"
#include "keys/scankeys.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "pages/bufferpages.h"
#include "zones/keycache.h"
#include "zones/zones.h"

typedef struct SwareBufferedEntry
{
	IndexTuple	entry;			/* in the batch's memory, without mark */
	int64		abbreviation;
	SwareEntrySource source;	/* with its page, if needsPages */
} SwareBufferedEntry;

/* what entries of a batch are read from */
typedef enum SwareSourceKind
{
	SWARE_SOURCE_BLOCK,
	SWARE_SOURCE_PAGE,			/* a sealed page that is in no sorted zone */
	SWARE_SOURCE_TAIL			/* candidates that were found on an open page */
} SwareSourceKind;

typedef struct SwareBufferSource
{
	int64		order;			/* abbreviation of its best entry (~ if
								 * backward): the smallest come first */
	SwareSourceKind kind;
	int			number;			/* its number in the view, or among the tails */
} SwareBufferSource;

/*
 * entries of a page that may qualify, each in MAXALIGN(its size) bytes, without
 * marks
 */
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
	SwareScanKeys *keys;		/* those of the tree cursor, which has
								 * analyzed them */
	MemoryContext context;		/* lives as long as the scan */
	MemoryContext batchContext; /* memory of the batch's entries; NULL until
								 * needed */
	bool		hasView;
	SwareZoneView view;
	bool		asksForKeys;	/* does the scan look up one key after
								 * another? */

	/* The batch. */
	uint64		generation;		/* the generation under which it was read */
	bool		forward;		/* its direction */
	bool		exhausted;		/* nothing beyond it qualifies */
	int			limit;			/* the number of entries wanted */
	int			count;			/* the number of entries that it has */
	int			current;		/* the number of the next one to return */
	SwareBufferedEntry *entries;	/* in the direction of the scan */
	int			allocated;
	int			sorted;			/* this number of the first ones are in order,
								 * without duplicates */
	bool		lastIsOfSource; /* was the last of them taken last, from the
								 * ordered source that is being read? */

	/* What the ranges mean for abbreviations and hashes; set if isAnalyzed. */
	bool		isAnalyzed;
	SwareKeyColumn column;		/* how the first column is compared */
	bool		abbreviationsDecide;	/* do equal abbreviations mean equal
										 * keys, unless they are extreme? */
	int64		rangesBegin;	/* the smallest abbreviation of an entry in
								 * the ranges */
	int64		rangesEnd;		/* the largest one */
	bool		abbreviationsQualify;	/* is an entry whose abbreviation is
										 * between these two in the only
										 * range? */
	int64		beginMayMatter; /* up to this abbreviation, an entry must be
								 * compared with the lower end of the only
								 * range */
	int64		endMayMatter;	/* from this abbreviation on, with the upper
								 * end */
	bool		hasHash;		/* is `hash` set, for Bloom filters? */
	uint64		hash;
	bool		hasKey;			/* is `key` set, for the key cache? */
	SwareSoughtKey key;
	int			bloomProbes;	/* not yet added to the statistics */
	int			bloomFalsePositives;

	/* While a batch is read: which entries are wanted. */
	int64		smallest;		/* the smallest wanted abbreviation */
	int64		largest;
	bool		hasPlace;		/* only entries beyond `place` are wanted */
	int64		placeAbbreviation;
	SwareSearchKey place;
	IndexTuple	worst;			/* only better ones than this; NULL if all are
								 * wanted */
	int64		worstAbbreviation;
	bool		isCut;			/* have qualifying entries been left out? */
	bool		isNarrowed;		/* are not all wanted, since enough qualify? */
	SwareTidFunction visit;		/* if not NULL, gets the entries instead of
								 * the batch */
	void	   *visitState;
	int64		visited;
	bool		needsPages;		/* will the scan ask for an entry's page? */
	bool		usesMarks;		/* are marked entries left out, and others
								 * marked? */
	int64		leftOut;		/* marked entries that were */
	SwareDeadEntries dead;		/* those to be marked */

	/* While a batch is read: memory. */
	Size		bytes;			/* taken by entries, removed ones included */
	char	   *room;			/* free memory for more entries */
	Size		roomLeft;
	union
	{
		char		bytes[512];
		double		forAlignment;
	}			firstRoom;		/* memory for small batches, which then need
								 * no memory context */
	IndexTuple	last;			/* copy of the last entry of the batch before */
	Size		lastSize;
	SwareCandidates tails[SWARE_MAX_TAILS];
	SwareBufferSource *sources;
	int			sourcesAllocated;
} SwareBufferCursor;

extern void sware_buffer_cursor_init(SwareBufferCursor *cursor,
									 IndexScanDesc scan, SwareScanKeys *keys,
									 MemoryContext context);
extern void sware_buffer_cursor_rewind(SwareBufferCursor *cursor);
extern void sware_buffer_cursor_end(SwareBufferCursor *cursor);

/*
 * Bring the view up to date with a state.  Returns false if the directory has
 * changed since the state was read.
 */
extern bool sware_buffer_cursor_refresh_view(SwareBufferCursor *cursor,
											 const SwareBufferState *state);

/*
 * Read the first batch in a direction: of all entries (`after` NULL), or of
 * those beyond `after`.  If the batch is empty, none qualifies.  Reads pages,
 * and runs comparators without any lock; the caller holds none.
 */
extern void sware_buffer_cursor_seek(SwareBufferCursor *cursor, bool forward,
									 IndexTuple after);

/*
 * Read the next batch; the last one had entries and is not the last batch.
 * Returns false if the generation has changed since the first batch was read:
 * then the caller must seek both cursors again.  Locks as for
 * sware_buffer_cursor_seek.
 */
extern bool sware_buffer_cursor_read_on(SwareBufferCursor *cursor);

/*
 * Note that the row of an entry of the batch is dead to everybody.  Does
 * nothing in a scan that does not use marks.  It is marked when the batch is
 * left.
 */
extern void sware_buffer_cursor_note_dead(SwareBufferCursor *cursor,
										  const SwareBufferedEntry *buffered);

/*
 * Has the scan met so many marked entries that pages with no others should be
 * flushed, and is the oldest sealed page one?  May lock that page for a moment.
 */
extern bool sware_buffer_cursor_met_dead_pages(SwareBufferCursor *cursor);

/*
 * Call a function for the TIDs of all qualifying entries, in no order; some
 * may come several times.  Returns the number of calls.  There is no batch
 * afterwards.  Locks as for sware_buffer_cursor_seek.
 */
extern int64 sware_buffer_cursor_visit_all(SwareBufferCursor *cursor,
										   SwareTidFunction visit, void *state);

/*
 * Return the abbreviation of any entry of the index.  The cursor must have had
 * a batch that was not empty.
 */
extern int64 sware_buffer_cursor_abbreviate(const SwareBufferCursor *cursor,
											IndexTuple entry);

/*
 * Compare an entry of the batch with a tuple of the key columns and a TID.
 * Runs comparators.
 */
extern int	sware_buffer_cursor_compare(const SwareBufferCursor *cursor,
										const SwareBufferedEntry *buffered,
										IndexTuple tuple, ItemPointer tid);

/* The next entry of the batch, or NULL if all have been returned. */
static inline SwareBufferedEntry *
sware_buffer_cursor_head(SwareBufferCursor *cursor)
{
	return cursor->current < cursor->count ?
		&cursor->entries[cursor->current] :
		NULL;
}

#endif							/* SWARE_BUFFERCURSOR_H */
