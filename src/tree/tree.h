/*-------------------------------------------------------------------------
 *
 * tree.h
 *	  The tree as the layers above and the inspection functions see it.
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
#include "access/relscan.h"
#include "access/sdir.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/sortsupport.h"

#include "tree/entry.h"
#include "tree/page.h"

/* test modules call what is declared here, which servers from 16 on hide */
#pragma GCC visibility push(default)

/* how a column's values are compared */
typedef enum SwareComparison
{
	SWARE_COMPARE_FUNCTION,		/* through fmgr */
	SWARE_COMPARE_INT16,
	SWARE_COMPARE_INT32,
	SWARE_COMPARE_INT64
} SwareComparison;

typedef struct SwareKeyColumn
{
	Datum		value;
	bool		isNull;
	bool		descending;
	bool		nullsFirst;
	SwareComparison comparison;
	FmgrInfo   *function;		/* compares index column value (left) with
								 * `value` (right): support function 1,
								 * perhaps cross-type */
	Oid			collation;
} SwareKeyColumn;

/*
 * A place in the order of entries, given by the first columns of a key and
 * perhaps a TID.  What is not given makes it lie before all entries that are
 * equal in what is given, or behind them all if `after` is set.
 *
 * `below` moves the place just below where it would be: a descent then ends
 * left of a pivot that equals it, not right of it.
 */
typedef struct SwareSearchKey
{
	Relation	index;
	int			columnCount;
	bool		hasTid;			/* only if all key columns are given */
	bool		after;
	bool		below;
	ItemPointerData tid;
	SwareKeyColumn columns[INDEX_MAX_KEYS];
} SwareSearchKey;

/* Ancestors passed on a descent, nearest first; a hint that is checked. */
typedef struct SwareStack
{
	SwareLink	page;
	OffsetNumber offset;
	struct SwareStack *parent;
} SwareStack;

/* searchkey.c: making and comparing search keys */
extern void sware_key_column_init(SwareKeyColumn *column, Relation index, int number,
								  Datum value, bool is_null);
extern int	sware_compare_column(const SwareKeyColumn *column, Datum value, bool is_null);
extern void sware_search_key_init(SwareSearchKey *key, Relation index);
extern void sware_search_key_set_column(SwareSearchKey *key, int column,
										Datum value, bool isNull);
extern void sware_search_key_from_entry(SwareSearchKey *key, Relation index,
										IndexTuple entry);
extern void sware_search_key_from_pivot(SwareSearchKey *key, Relation index,
										IndexTuple pivot);
extern void sware_search_key_from_tuple(SwareSearchKey *key, Relation index,
										IndexTuple tuple);
extern void sware_search_key_set_tid(SwareSearchKey *key, ItemPointer tid);
extern SwareComparison sware_comparison_kind(FmgrInfo *function);
extern int	sware_compare_key(const SwareSearchKey *key, IndexTuple tuple);
extern int	sware_compare_pivot(Relation index, IndexTuple pivot, IndexTuple entry);
extern int	sware_compare_columns(Relation index, IndexTuple a, IndexTuple b,
								  int *column);
extern int	sware_compare_entries(Relation index, IndexTuple a, IndexTuple b);
extern OffsetNumber sware_search_leaf(const SwareSearchKey *key, Page page,
									  OffsetNumber first, OffsetNumber last);
extern OffsetNumber sware_search_internal(const SwareSearchKey *key, BlockNumber block,
										  Page page);
extern int	sware_ordered_offsets(Relation index, Page page, OffsetNumber *offsets);

/* pageaccess.c: getting at pages; the only place that reads or locks them */
extern bool sware_link_is_valid(SwareLink link);
extern bool sware_links_equal(SwareLink a, SwareLink b);
extern SwareLink sware_page_link(Buffer buffer);
extern Buffer sware_read_buffer(Relation index, BlockNumber block, int lockmode);
extern Buffer sware_read_linked(Relation index, SwareLink link, int level, int lockmode);
extern void sware_lock_buffer(Buffer buffer, int lockmode);
extern void sware_unlock_buffer(Buffer buffer);
extern void sware_release_buffer(Buffer buffer);
extern void sware_check_page(Relation index, BlockNumber block, Page page);
extern Buffer sware_allocate_buffer(Relation index, uint32 *incarnation);
extern void sware_init_page(Page page, uint16 kind, uint16 level, uint32 incarnation);
extern void sware_init_metapage(Page page, SwareLink root, int level,
								bool allEqualImage);
extern bool sware_all_equal_image(Relation index);

static inline bool
sware_page_is_live(Page page)
{
	return (SwarePageGetOpaque(page)->flags & SWARE_DELETED) == 0;
}

static inline bool
sware_page_is_rightmost(Page page)
{
	return SwarePageGetOpaque(page)->right.block == InvalidBlockNumber;
}

static inline bool
sware_page_is_leftmost(Page page)
{
	return SwarePageGetOpaque(page)->left.block == InvalidBlockNumber;
}

static inline bool
sware_page_is_leaf(Page page)
{
	return SwarePageGetOpaque(page)->level == 0;
}

/* entries, posting lists or downlinks: all items but the high key */
static inline int
sware_page_data_count(Page page)
{
	int			items = PageGetMaxOffsetNumber(page);

	return items > 0 ? items - 1 : 0;
}

/* last offset of the sorted part; below SWARE_FIRST_DATA if that is empty */
static inline OffsetNumber
sware_page_last_sorted(Page page)
{
	return PageGetMaxOffsetNumber(page) - SwarePageGetOpaque(page)->appendItems;
}

static inline IndexTuple
sware_page_tuple(Page page, OffsetNumber offset)
{
	return (IndexTuple) PageGetItem(page, PageGetItemId(page, offset));
}

/* the high key of a page that is not the rightmost of its level */
static inline IndexTuple
sware_page_high_key(Page page)
{
	Assert(!sware_page_is_rightmost(page));
	return sware_page_tuple(page, SWARE_HIGH_KEY);
}

/* room that a tuple takes on a page, line pointer included */
static inline Size
sware_item_space(IndexTuple tuple)
{
	return MAXALIGN(IndexTupleSize(tuple)) + sizeof(ItemIdData);
}

/* a page's items as an array, from which pages can be written anew */
typedef struct SwareItems
{
	int			count;
	IndexTuple	tuples[SWARE_MAX_ITEMS_PER_PAGE * 2];
} SwareItems;

/* pagewrite.c: pages written from items */
extern void sware_write_items(Page page, IndexTuple high_key,
							  const IndexTuple *tuples, int count);
extern void sware_set_high_key(Page page, IndexTuple high_key);
extern void sware_add_item(Page page, IndexTuple tuple, OffsetNumber offset);
extern void sware_remove_item(Page page, OffsetNumber offset);
extern void sware_collect_items(Relation index, Page page, SwareItems *items);
extern int	sware_deduplicate(Relation index, IndexTuple *tuples, int count);

/* descent.c */
extern SwareLink sware_get_root(Relation index, int *level);
extern Buffer sware_descend(const SwareSearchKey *key, int level, int lockmode,
							SwareStack **stack);
extern Buffer sware_find_leaf(const SwareSearchKey *key, int lockmode,
							  SwareStack **stack);
extern Buffer sware_descend_to_edge(Relation index, int level, bool rightmost);
extern Buffer sware_step_left(Relation index, SwareLink sibling, SwareLink page, int level);
extern Buffer sware_find_parent(Relation index, Buffer child, SwareStack *stack,
								OffsetNumber *offset);
extern void sware_free_stack(SwareStack *stack);

/* cut.c */
extern bool sware_find_cut(const SwareSearchKey *place, bool forward, int leaves,
						   IndexTuple pivot);

/* insert.c, split.c, splitpoint.c, append.c */
extern int	sware_tree_insert_run(Relation index, Relation heap,
								  IndexTuple *entries, int count);
extern int	sware_entries_within_tree(Relation index, IndexTuple *entries, int count);
extern int	sware_tree_append_run(Relation index, IndexTuple *entries, int count);
extern void sware_split(Relation index, Buffer buffer, SwareItems *items,
						int new_item, Buffer child);
extern int	sware_find_split_point(Relation index, Page page, SwareItems *items,
								   int new_item);
extern Size sware_pivot_space(IndexTuple first_right);
extern void sware_insert_downlink(Relation index, Buffer left, SwareStack *stack);

/* keysearch.c */
extern bool sware_tree_may_have(const SwareSearchKey *low, const SwareSearchKey *high);

/* unlink.c, vacuum.c */
extern void sware_mark_deleted(Page page);
extern int	sware_delete_page(Relation index, SwareLink target, int level);
extern void sware_tree_bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
								   IndexBulkDeleteCallback callback, void *state);
extern void sware_tree_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);

#pragma GCC visibility pop

#endif							/* SWARE_TREE_H */
