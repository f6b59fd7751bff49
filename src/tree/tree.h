/*-------------------------------------------------------------------------
 *
 * tree.h
 *	  The tree as the rooms above see it.
 *
 * The tree takes sorted runs of entries (IndexTuples with their heap TID in
 * t_tid); a single insert is a run of one.  It knows nothing of where the
 * runs come from.
 *
 * Lock order within the tree: content locks left to right, child to parent,
 * metapage last.  Readers hold one content lock at a time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_TREE_H
#define SWARE_TREE_H

#include "access/genam.h"
#include "access/itup.h"
#include "storage/block.h"
#include "utils/rel.h"

#include "keys/searchkey.h"
#include "layout/page.h"

/* A set of blocks of a file, one bit each. */
typedef struct SwareBlockSet
{
	BlockNumber blocks;			/* all blocks are below this number */
	uint8	   *bits;
} SwareBlockSet;

typedef struct SwareBulkload SwareBulkload;

/* The scattered entries of a run, for which the caller has made room. */
typedef struct SwareScattered
{
	IndexTuple *entries;
	int			count;
	Size		limit;			/* so many bytes of entries at most, or one
								 * entry more */
	int			late;			/* late entries of the run: these, and others
								 * that the tree has got */
} SwareScattered;

/* What has become of a run that was inserted. */
typedef struct SwareInserted
{
	int			late;			/* late entries */
	int			visits;			/* of leaves that were there */
} SwareInserted;

extern bool sware_tree_interval_end(const SwareSearchKey *place, bool forward,
									int leaves, IndexTuple pivot);
extern bool sware_tree_insert_expected(Relation index, IndexTuple entry,
									   bool if_new, bool *seek);
extern SwareInserted sware_tree_insert_run(Relation index, Relation heap,
										   IndexTuple *entries, int count,
										   bool has_versions);
extern int	sware_tree_insert_company(Relation index, Relation heap,
									  IndexTuple *entries, int count,
									  bool has_versions,
									  SwareScattered *scattered);

/* append.c: a run above the whole tree becomes whole leaves */
extern int	sware_entries_within_leaf(Relation index, Page page,
									  IndexTuple *entries, int count);
extern int	sware_entries_within_tree(Relation index, IndexTuple *entries,
									  int count);
extern int	sware_tree_entries_at_edge(Relation index, IndexTuple *entries,
									   int count);
extern int	sware_tree_append_run(Relation index, IndexTuple *entries,
								  int count);

extern void sware_tree_bulk_delete(IndexVacuumInfo *info,
								   IndexBulkDeleteResult *stats,
								   IndexBulkDeleteCallback callback,
								   void *state);
extern void sware_tree_cleanup(IndexVacuumInfo *info,
							   IndexBulkDeleteResult *stats,
							   SwareBlockSet *free_pages);
extern void sware_tree_order_leaves(const IndexVacuumInfo *info,
									SwareBlockSet *free_pages);

/*
 * unlink.c: taking a page out of the tree.  Only a backend that VACUUMs the
 * index may call these.  The caller holds no content locks, and no pin on the
 * page.
 */
extern int	sware_delete_page(Relation index, SwareLink target, int level);
extern bool sware_move_leaf(Relation index, SwareLink *leaf, BlockNumber to);

/* bulkload.c: building a tree from all of its entries */
extern SwareBulkload *sware_bulkload_begin(Relation index, ForkNumber fork);
extern void sware_bulkload_add(SwareBulkload *load, IndexTuple entry);
extern void sware_bulkload_finish(SwareBulkload *load);

/* Make an empty set, in the current memory context. */
static inline SwareBlockSet *
sware_block_set_make(BlockNumber blocks)
{
	SwareBlockSet *set = palloc(sizeof(SwareBlockSet));

	set->blocks = blocks;
	set->bits = MemoryContextAllocExtended(CurrentMemoryContext, blocks / 8 + 1,
										   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	return set;
}

/* Add a block, unless it is beyond those that the set was made for. */
static inline void
sware_block_set_add(SwareBlockSet *set, BlockNumber block)
{
	if (block < set->blocks)
		set->bits[block / 8] |= 1 << (block % 8);
}

static inline bool
sware_block_set_has(const SwareBlockSet *set, BlockNumber block)
{
	return block < set->blocks &&
		(set->bits[block / 8] & (1 << (block % 8))) != 0;
}

/* qsort comparator of block numbers */
static inline int
sware_compare_blocks(const void *a, const void *b)
{
	BlockNumber one = *(const BlockNumber *) a;
	BlockNumber other = *(const BlockNumber *) b;

	return (one > other) - (one < other);
}

#endif							/* SWARE_TREE_H */
