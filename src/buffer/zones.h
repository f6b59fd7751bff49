/*-------------------------------------------------------------------------
 *
 * zones.h
 *	  What shared memory knows about the pages of shared buffers, so that
 *	  scans need not read them all: zonemaps, and copies of entries in order.
 *
 * Nothing here is the truth, which is in the pages: everything can be
 * rebuilt from them, by whoever needs it first, on a standby too.  The zones
 * of an index are those of one version of its directory.  A reader compares
 * them with the metapage (index incarnation, directory version and LSN), and
 * brings them up to date if they differ.  Only sealed pages, which are
 * immutable, have zones; readers always look at open pages themselves.
 *
 *	 sealed pages, in the order of sealing
 *	 +-----------------------+-----------------------+---+---+---+   +------+
 *	 | sorted block          | sorted block          | p | p | p |   | open |
 *	 +-----------------------+-----------------------+---+---+---+   +------+
 *	  entries of several pages, in order,			  unsorted		  tails
 *	  with a Bloom filter							  pages, with
 *													  zonemaps
 *
 * A sorted block is what the paper calls a query-sorted block.  A reader that
 * finds too much unsorted makes one of it, for everybody.  Blocks before it that
 * are not much larger go into the new one, so that there are few of them: each
 * one is something to search.
 *
 * Pages retire oldest first.  A block some of whose pages have retired stays,
 * and readers skip these pages' entries, until they are the rule in it.
 *
 * Another database can get the files' numbers, and from the same template the
 * same index incarnation, without a word to shared memory on a standby.  The
 * record that seals a page gives it an LSN that no other page ever has: while
 * the newest page that is known and still listed has the one that it had, all
 * that is older is of this database.
 *
 * Blocks are read without locks: an entry is copied, and then it is checked
 * that the block was still there.  So no lock is held when a comparator runs,
 * and an error leaves nothing behind.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ZONES_H
#define SWARE_ZONES_H

#include "access/itup.h"
#include "utils/rel.h"

#include "buffer/pool.h"
#include "buffer/sharedbuffer.h"
#include "tree/tree.h"

/* for test modules, see tree.h */
#pragma GCC visibility push(default)

/* settings */
extern int	sware_buffer_pool_size; /* in kilobytes */

/* A sealed page that is in no sorted block. */
typedef struct SwareUnsortedPage
{
	SwareLink	page;
	uint32		sequence;		/* order of sealing; compare by difference */
	bool		hasZonemap;
	int64		smallest;		/* abbreviations, if there is a zonemap */
	int64		largest;
	XLogRecPtr	lsn;			/* of the page, too */
} SwareUnsortedPage;

/* A sorted block, as a reader sees it: a place in shared memory. */
typedef struct SwareSortedBlock
{
	SwareSegment segment;		/* where it is; sortedblock.c knows how */
	uint64		stamp;			/* tells it from others that were there */
	uint32		entries;
	uint32		pages;			/* neighbours in the order of sealing */
	uint32		retiredPages;	/* the first so many; their entries are in the tree */
	uint32		firstSequence;	/* of the others */
	uint32		lastSequence;
	XLogRecPtr	lastLsn;		/* of the last page */
	uint32		firstEntry;		/* all entries of pages that have not retired are */
	uint32		endEntry;		/* behind the former, and before the latter */
	uint16		entrySize;		/* 0: they differ */
	uint16		filterProbes;	/* bits that tell of an entry */
	uint32		filterLines;	/* 0: no Bloom filter */
	Oid			hashFunction;	/* of the filter */
	uint32		fences;			/* 0: the first column has no abbreviations */
	uint32		fencesStart;	/* bytes of the segment */
	uint32		filterStart;
	uint32		originsStart;
	uint32		offsetsStart;
	uint32		tuplesStart;
	int64		smallest;		/* abbreviations of the first and last entry of all */
	int64		largest;
} SwareSortedBlock;

/*
 * All sealed pages of a shared buffer at one version of its directory: each
 * is in one of the blocks, or among the unsorted pages.  Both are in the order
 * of sealing.
 */
typedef struct SwareZoneView
{
	Relation	index;
	MemoryContext context;		/* of the arrays; lives as long as the view */
	SwareBufferState state;		/* what the view was made for */
	int			blockCount;
	SwareSortedBlock *blocks;
	int			pageCount;
	SwareUnsortedPage *pages;
	int			blocksAllocated;
	int			pagesAllocated;

	/* zones.c's own: where it is a copy from, if it is one */
	int			place;			/* -1: nowhere */
	uint64		stamp;			/* of what was copied */
	bool		isCrowded;		/* too much is unsorted */
} SwareZoneView;

/* Is the pool there, or are views only lists of pages? */
extern bool sware_zones_are_available(void);

/*
 * Called from the server's hooks for shared memory, if there is a pool:
 * request it, and find it, or make it if it was not there.  The latter with
 * AddinShmemInitLock held.
 */
extern void sware_zones_request_memory(void);
extern void sware_zones_attach(void);

/*
 * Make a view of the pages that were sealed in a state.  False if the
 * directory has changed since; then read the state again.  Without the pool
 * all pages are unsorted and without zonemaps.  Holds no locks on return, and
 * the caller holds none.  May read pages, and run comparators and hash
 * functions.
 */
extern void sware_zone_view_init(SwareZoneView *view, Relation index,
								 MemoryContext context);
extern bool sware_zone_view_refresh(SwareZoneView *view, const SwareBufferState *state);

/*
 * In a block: the number of the first entry at or behind a place (`entries`
 * if there is none).  -1 if the block is gone: refresh the view.
 */
extern int64 sware_block_search(const SwareZoneView *view, const SwareSortedBlock *block,
								const SwareSearchKey *place);

/*
 * Copy an entry of a block, and tell the buffer page it is on.  False if the
 * block is gone.  `into` has room for any entry (SWARE_MAX_ENTRY_SIZE bytes).
 */
extern bool sware_block_copy_entry(const SwareSortedBlock *block, uint32 number,
								   IndexTuple into, SwareLink *page);

/*
 * Copy the tuples of entries that follow one another in a block, each into
 * MAXALIGN(its size) bytes.  False if the block is gone.  `into` has room for
 * them.
 */
extern bool sware_block_copy_tuples(const SwareSortedBlock *block, uint32 first,
									uint32 count, char *into);

/*
 * Of entries that follow one another in a block, tell which are from retired
 * pages: they do not count.  False if the block is gone.
 */
extern bool sware_block_find_retired(const SwareSortedBlock *block, uint32 first,
									 uint32 count, bool *is_retired);

/*
 * May a block have an entry whose first column equals a value of the
 * column's own type, which is not null?  (Hashed by the caller, once:
 * sware_bloom_hash; false if the column has no hash function that goes with
 * its equality.)
 */
extern bool sware_bloom_hash(Relation index, Datum value, uint64 *hash);
extern bool sware_block_may_contain(const SwareSortedBlock *block, uint64 hash);

/* Has a block a filter that knows of such hashes? */
static inline bool
sware_block_has_filter(const SwareSortedBlock *block, uint64 hash)
{
	return block->filterLines > 0 && block->hashFunction == (Oid) (hash >> 32);
}

/* forget what is known of a database's indexes, which has been dropped */
extern void sware_zones_forget_database(Oid database);

/*
 * How many chunks the pool has, how many are free, and how many the zones of
 * all indexes have.  If nobody builds anything, none is missing.
 */
extern void sware_zones_count_chunks(int *all, int *unused, int *used);

#pragma GCC visibility pop

#endif							/* SWARE_ZONES_H */
