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
#include "utils/rel.h"

#include "keys/searchkey.h"
#include "layout/page.h"
#include "tree/blockset.h"

/* Sorted pages of the buffer that VACUUM has met. */
typedef struct SwareMetPages
{
	SwareLink  *links;
	int			count;
	int			allocated;
} SwareMetPages;

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

/*
 * Test modules call these functions.  Since PostgreSQL 16, extensions are
 * compiled with hidden visibility.
 */
#pragma GCC visibility push(default)

extern bool sware_tree_interval_end(const SwareSearchKey *place, bool forward,
									int leaves, IndexTuple pivot);
extern bool sware_tree_insert_expected(Relation index, IndexTuple entry,
									   bool *seek);
extern int	sware_tree_insert_run(Relation index, Relation heap,
								  IndexTuple *entries, int count,
								  bool has_versions, int *late);
extern int	sware_tree_insert_company(Relation index, Relation heap,
									  IndexTuple *entries, int count,
									  bool has_versions,
									  SwareScattered *scattered);
extern bool sware_tree_may_have(const SwareSearchKey *low,
								const SwareSearchKey *high);
extern void sware_tree_bulk_delete(IndexVacuumInfo *info,
								   IndexBulkDeleteResult *stats,
								   IndexBulkDeleteCallback callback,
								   void *state);
extern void sware_tree_cleanup(IndexVacuumInfo *info,
							   IndexBulkDeleteResult *stats,
							   SwareMetPages *sorted_pages,
							   SwareBlockSet *free_pages);
extern void sware_tree_order_leaves(const IndexVacuumInfo *info,
									SwareBlockSet *free_pages);

#pragma GCC visibility pop

#endif							/* SWARE_TREE_H */
