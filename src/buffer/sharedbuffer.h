/*-------------------------------------------------------------------------
 *
 * sharedbuffer.h
 *	  The shared buffer: WAL-logged pages of the index that take entries
 *	  before the tree does.  tree/page.h draws them.
 *
 * Entries move from the buffer to the tree, never back.  Whoever looks at the
 * buffer first, and at the tree second, sees every entry, perhaps twice.
 *
 * Lock order: buffer pages, then directory pages, then the metapage.  No
 * content lock on a tree page is held together with any of these, nor are two
 * of these held by a reader.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SHAREDBUFFER_H
#define SWARE_SHAREDBUFFER_H

#include "access/itup.h"
#include "access/xlogdefs.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "tree/page.h"

/* for test modules, see tree.h */
#pragma GCC visibility push(default)

/* What the metapage said of the shared buffer at one moment. */
typedef struct SwareBufferState
{
	uint64		indexIncarnation;
	uint64		generation;
	uint64		version;		/* of the directory, tails included */
	XLogRecPtr	lsn;			/* of the metapage */
	int			sealedPages;
	int			directoryPages;
	int			tailCount;		/* open pages */
	SwareLink	tails[SWARE_MAX_TAILS]; /* the first tailCount are links */
} SwareBufferState;

/* A page of the directory's listing. */
typedef struct SwareListedPage
{
	SwareLink	page;
	uint32		sequence;
	int			slot;			/* its number */
	uint16		state;			/* SWARE_SLOT_SEALED or SWARE_SLOT_RETIRED */
	uint16		entries;
} SwareListedPage;

/* bufferpages.c: what readers need; they hold one content lock at a time */
extern bool sware_buffer_read_state(Relation index, SwareBufferState *state);
extern uint64 sware_buffer_generation(Relation index);
extern int	sware_buffer_list_pages(Relation index, uint16 state, SwareListedPage **pages);
extern Buffer sware_read_buffer_page(Relation index, SwareLink link, int lockmode);
extern bool sware_copy_buffer_page(Relation index, SwareLink link, Page copy);
extern int	sware_buffer_page_entry_count(Relation index, BlockNumber block, Page page);
extern void sware_report_buffer_entry(Relation index, BlockNumber block, Size offset);

/* bufferinsert.c */
extern int	sware_buffer_quota(Relation index);
extern int	sware_buffer_add(Relation index, IndexTuple *entries, int count,
							 bool *over_quota);
extern int	sware_buffer_insert(Relation index, IndexTuple *entries, int count);

/* flush.c */
extern int64 sware_buffer_flush_all(Relation index);
extern void sware_buffer_flush_piece(Relation index);
extern void sware_buffer_wait_for_readers(Relation index, BufferAccessStrategy strategy);
extern void sware_buffer_free_retired(Relation index);

#pragma GCC visibility pop

/* is there nothing in the shared buffer? */
static inline bool
sware_buffer_state_is_empty(const SwareBufferState *state)
{
	return state->sealedPages == 0 && state->tailCount == 0;
}

/*
 * The entries of a buffer page, on which the caller has a lock or of which it
 * owns a copy:
 *
 *	for (Size offset = SWARE_BUFFER_START; offset < sware_buffer_page_end(page);)
 *		entry = sware_buffer_entry(index, block, page, &offset);
 *
 * An entry that is not within the page is an error.
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

	if (unlikely(size < sizeof(IndexTupleData) ||
				 *offset + size > sware_buffer_page_end(page) ||
				 (entry->t_info & INDEX_AM_RESERVED_BIT) != 0))
		sware_report_buffer_entry(index, block, *offset);
	*offset += size;
	return entry;
}

#endif							/* SWARE_SHAREDBUFFER_H */
