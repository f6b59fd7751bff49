/*-------------------------------------------------------------------------
 *
 * bufferpages.h
 *	  Reading the pages that make up the buffer: metapage, directory pages and
 *	  buffer pages.
 *
 * The functions hold one content lock at a time.  They raise an error if a
 * page is damaged (ERRCODE_INDEX_CORRUPTED).
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BUFFERPAGES_H
#define SWARE_BUFFERPAGES_H

#include "access/itup.h"
#include "access/xlogdefs.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "layout/page.h"
#include "pages/pageaccess.h"

/* What the metapage says of the buffer at one moment. */
typedef struct SwareBufferState
{
	uint64		indexIncarnation;
	uint64		generation;
	uint64		version;		/* of the directory, tails included */
	XLogRecPtr	lsn;			/* of the metapage */
	int			sealedPages;
	int			tailCount;		/* number of open pages */
	SwareLink	tails[SWARE_MAX_TAILS]; /* the links to them */
} SwareBufferState;

/* A buffer page that the directory lists. */
typedef struct SwareListedPage
{
	SwareLink	page;
	uint32		sequence;
	int			slot;			/* the number of its slot */
	uint16		state;			/* SWARE_SLOT_SEALED or SWARE_SLOT_RETIRED */
	uint16		entries;		/* on the page */
	bool		isSorted;		/* is it a sorted page? */
	bool		isResumed;		/* of a sweep: may entries of it have been
								 * flushed? */
} SwareListedPage;

/* Where an entry of the buffer was read. */
typedef struct SwareEntrySource
{
	SwareLink	page;			/* its buffer page; no link if it was read in
								 * staging, or in a sorted zone and that was
								 * not asked for */
	uint32		zone;			/* 0: it was read from its page, or in
								 * staging; else the number, from 1 on, of a
								 * sorted zone of a view (zones/zones.h) */
	uint32		number;			/* of the entry in the sorted zone, or its
								 * offset on its page, in bytes */
} SwareEntrySource;

/* A dead entry that is to be marked. */
typedef struct SwareDeadEntry
{
	ItemPointerData tid;
	SwareEntrySource source;
} SwareDeadEntry;

extern bool sware_buffer_read_state(Relation index, SwareBufferState *state);
extern bool sware_buffer_is_known_empty(Relation index);
extern int	sware_buffer_list_pages(Relation index, uint16 state,
									SwareListedPage **pages);
extern Buffer sware_read_buffer_page(Relation index, SwareLink link,
									 int lockmode);
extern bool sware_copy_buffer_page(Relation index, SwareLink link, Page copy);
extern Buffer sware_read_listed_page(Relation index,
									 const SwareListedPage *listed);
extern int	sware_buffer_page_entry_count(Relation index, BlockNumber block,
										  Page page);
extern void sware_mark_buffer_entries(Relation index, SwareLink link,
									  const SwareDeadEntry *entries,
									  int count);
extern void sware_report_buffer_entry(Relation index, BlockNumber block,
									  Size offset);
extern Buffer sware_read_directory_page(Relation index, SwareLink link,
										int lockmode);
extern int	sware_buffer_directory(Relation index, SwareLink **links);

/*
 * The flush lock of an index is a heavyweight lock on this page number, which
 * no page has.  Only the session that has it retires pages, or writes sorted
 * ones.
 */
#define SWARE_FLUSH_LOCK_PAGE	MaxBlockNumber

/* Is a page the buffer page that a link means?  The caller holds a lock. */
static inline bool
sware_is_buffer_page(Page page, SwareLink link)
{
	SwarePageOpaque opaque = SwarePageGetOpaque(page);

	return opaque->kind == SWARE_KIND_BUFFER &&
		opaque->incarnation == link.incarnation &&
		(opaque->flags & SWARE_DELETED) == 0;
}

/* Is a buffer page sealed?  The caller holds a lock, or owns a copy. */
static inline bool
sware_buffer_page_is_sealed(Page page)
{
	return (SwarePageGetOpaque(page)->flags & SWARE_SEALED) != 0;
}

/* Is a buffer page sorted?  The caller holds a lock, or owns a copy. */
static inline bool
sware_buffer_page_is_sorted(Page page)
{
	return (SwarePageGetOpaque(page)->flags & SWARE_SORTED) != 0;
}

/*
 * The sequence number of the last page of the page run that a sorted page is
 * of.  `sequence` is the page's own.  The caller holds a lock on the page, or
 * owns a copy.
 */
static inline uint32
sware_page_run_end(Page page, uint32 sequence)
{
	return sequence + SwarePageGetOpaque(page)->run.pagesBehind;
}

/* Does the buffer have neither sealed nor open pages? */
static inline bool
sware_buffer_state_is_empty(const SwareBufferState *state)
{
	return state->sealedPages == 0 && state->tailCount == 0;
}

/*
 * The following read the entries of a buffer page, on which the caller has a
 * lock or of which it owns a copy:
 *
 *	for (Size offset = SWARE_BUFFER_START; offset <
 *		sware_buffer_page_end(page);) entry = sware_buffer_entry(index, block,
 *		page, &offset);
 *
 * Offsets are in bytes.  An entry that is not within the page is an error.
 * Entries may be marked (layout/tuple.h).
 */
#define SWARE_BUFFER_START	MAXALIGN(SizeOfPageHeaderData)

static inline Size
sware_buffer_page_end(Page page)
{
	return ((PageHeader) page)->pd_lower;
}

static inline IndexTuple
sware_buffer_entry(Relation index, BlockNumber block, Page page, Size *offset)
{
	IndexTuple	entry = (IndexTuple) ((char *) page + *offset);
	Size		size = MAXALIGN(IndexTupleSize(entry));

	if (unlikely(IndexTupleSize(entry) <= sizeof(IndexTupleData) ||
				 *offset + size > sware_buffer_page_end(page)))
		sware_report_buffer_entry(index, block, *offset);
	*offset += size;
	return entry;
}

/*
 * Asking the kernel for pages before they are read, by readers that have the
 * links to the pages that they will read, in their order.  Nothing is asked for
 * before one of the pages was not in shared buffers.  From then on, a reader
 * asks for the pages that follow, up to effective_io_concurrency of the index's
 * tablespace ahead.  The tree's leaves, whose links are not at hand, have a way
 * of their own (tree/readahead.h).  These functions lock nothing.
 */
typedef struct SwarePagesAhead
{
	Relation	index;
	int			distance;		/* so many pages are asked for ahead; -1: not
								 * known, since all were in shared buffers */
	BlockNumber fileBlocks;		/* of the index, if `distance` is known: links
								 * of a damaged page may lead behind its end */
	int			asked;			/* pages before this one have been asked for,
								 * or need not be */
	int64		blocksRead;		/* how many blocks this session had read */
} SwarePagesAhead;

/* Prepare for a list of pages, of which none has been read. */
static inline void
sware_pages_ahead_init(SwarePagesAhead *ahead, Relation index)
{
	ahead->index = index;
	ahead->distance = -1;
	ahead->asked = 0;
	ahead->blocksRead = sware_blocks_read();
}

extern int	sware_pages_ahead(SwarePagesAhead *ahead);
extern void sware_ask_for_page(const SwarePagesAhead *ahead, SwareLink link);
extern void sware_ask_for_pages(SwarePagesAhead *ahead, const SwareLink *links,
								int count, int next);

#endif							/* SWARE_BUFFERPAGES_H */
