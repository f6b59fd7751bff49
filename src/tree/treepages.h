/*-------------------------------------------------------------------------
 *
 * treepages.h
 *	  Pages of the tree: finding, reading, writing and splitting them.  For
 *	  this room, and for checks of the tree.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_TREEPAGES_H
#define SWARE_TREEPAGES_H

#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "base/compat.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"

/* descent.c: from the root down, and from a child to its parent */

/*
 * The ancestors of a page, the nearest one first, as a descent has seen them:
 * a hint, which is checked.
 */
typedef struct SwareStack
{
	SwareLink	page;
	OffsetNumber offset;		/* of the downlink that was followed */
	struct SwareStack *parent;
} SwareStack;

extern bool sware_tree_has_downlinks(Relation index);
extern Buffer sware_descend(const SwareSearchKey *key, int level, int lockmode,
							SwareStack **stack);
extern Buffer sware_descend_to_edge(Relation index, int level, bool rightmost);
extern Buffer sware_seek_leaf(Relation index, const SwareSearchKey *key,
							  bool rightmost);
extern Buffer sware_step_left(Relation index, SwareLink sibling,
							  SwareLink page, int level);
extern Buffer sware_find_parent(Relation index, Buffer child, SwareStack *stack,
								OffsetNumber *offset);
extern void sware_count_step(Relation index, BlockNumber block, int64 *steps);

/* internalcopies.c: copies of internal pages, for descents of readers */

/* Descents use copies on this number of levels at most, the highest ones. */
#define SWARE_MAX_COPIED_LEVELS	8

/* A build of an index, in a file. */
typedef struct SwareIndexBuild
{
	uint64		incarnation;	/* of the index */
	SwareFile	file;
} SwareIndexBuild;

/* The copies that a descent has used. */
typedef struct SwareCopiesUsed
{
	SwareIndexBuild build;
	int			count;
	uint16		slots[SWARE_MAX_COPIED_LEVELS];
} SwareCopiesUsed;

extern void sware_follow_copies(SwareCopiesUsed *used, Relation index,
								const SwareSearchKey *key, bool rightmost,
								SwareLink *page, int *level);
extern void sware_forget_copies(const SwareCopiesUsed *used);
extern void sware_note_internal_page(const SwareCopiesUsed *used,
									 Buffer buffer);

/*
 * expectedleaf.c: the leaves at which the next keys are expected.  These call
 * comparators, and are called without content locks.
 */

extern Buffer sware_find_leaf(const SwareSearchKey *key, SwareStack **stack);
extern Buffer sware_try_expected_leaf(const SwareSearchKey *key, bool *seek);

/* pagewrite.c: writing items to pages, and collecting them from there */

/* The items of a page, or of a page that is to be split. */
typedef struct SwareItems
{
	int			count;
	IndexTuple	tuples[SWARE_MAX_ITEMS_PER_PAGE * 2];
} SwareItems;

/* Return the bytes that items take, with their line pointers. */
static inline Size
sware_items_space(const IndexTuple *tuples, int count)
{
	Size		space = 0;

	for (int i = 0; i < count; i++)
		space += sware_item_space(tuples[i]);
	return space;
}

extern void sware_write_items(Page page, IndexTuple high_key,
							  const IndexTuple *tuples, int count);
extern void sware_set_high_key(Page page, IndexTuple high_key);
extern void sware_collect_items(Page page, SwareItems *items);
extern int	sware_deduplicate(Relation index, IndexTuple *tuples, int count);

/*
 * Pages that are packed with items in order: leaves with entries, or the pages
 * of a level above with downlinks.  The last item is kept back, until it is
 * known what comes behind it: duplicates become one posting list with it, or
 * it is the first item of the next page.  All is zero at first.
 */
typedef struct SwarePacking
{
	Relation	index;
	bool		merges;			/* are duplicates merged? */
	Size		fill;			/* the most bytes of items, the high key not
								 * included, unless the page has a single one */
	Page		page;
	SwareEntryCopy last;		/* the item that is kept back */
	int			tidCount;		/* of last; 0: there is none */
	ItemPointerData tids[SWARE_MAX_POSTING_SIZE / sizeof(ItemPointerData)];
} SwarePacking;

extern void sware_pack_page(SwarePacking *packing, Page page, int level,
							uint32 incarnation);

/*
 * Put the item kept back on the page, and keep `next` back.  Returns false, and
 * does nothing, if the page is full: it has room for a high key before the item
 * kept back, and the caller goes on with an empty page.  At the end, `next` is
 * NULL.  What this allocates, in the current context, can be freed afterwards.
 */
extern bool sware_pack(SwarePacking *packing, IndexTuple next);

/* Return the last item on a page that is packed. */
static inline IndexTuple
sware_last_packed(const SwarePacking *packing)
{
	return sware_page_tuple(packing->page,
							PageGetMaxOffsetNumber(packing->page));
}

/* splitpoint.c, split.c, deadentries.c: making room for entries */

extern int	sware_find_split_point(Relation index, Page page, SwareItems *items,
								   int new_item);
extern Size sware_pivot_space(IndexTuple first_right);
extern Buffer sware_lock_right_sibling(Relation index, Buffer buffer);
extern void sware_insert_downlink(Relation index, Buffer left,
								  SwareStack *stack);

/*
 * Return how full, in percent, a leaf is made that has entries like this one,
 * and is to get late ones only.  That is the fill factor if the index has no
 * option forecast_fill, or if too little is known.  Nothing but speed and size
 * depends on it, and two calls may return different numbers.
 *
 * The caller may hold content locks; takes a lightweight lock for a moment.
 */
extern int	sware_leaf_fill(Relation index, IndexTuple entry);

extern int	sware_rearrange(SwareSearchKey *key, Buffer buffer,
							IndexTuple *entries, int count, SwareStack *stack);

/*
 * Make room for an item of `size` bytes, line pointer included, on an
 * exclusively locked leaf that has too little free space: remove entries of
 * dead rows.  `hasVersions` says that the entries to come are versions of rows
 * that the index has already.  Returns whether there is room for the item; the
 * leaf may have changed even if there is none.
 *
 * `heap` is the table; if it is NULL, no table is asked.  Locks pages of the
 * table, one at a time, while the leaf is locked.  What this allocates, in the
 * current memory context, can be freed afterwards.
 */
extern bool sware_leaf_make_room(Relation index, Relation heap, Buffer buffer,
								 Size size, bool hasVersions);

/*
 * A view of a leaf: its tuples in index order, which have the indexes
 * 0..count-1.  It points into its page, on which its user must hold a content
 * lock.  The items and posting lists that it returns are checked.
 */
typedef struct SwareLeafView
{
	Relation	index;
	BlockNumber block;
	Page		page;
	int			count;
} SwareLeafView;

/* Return the entry or posting list at an offset that the page has. */
static inline IndexTuple
sware_view_entry(const SwareLeafView *view, OffsetNumber offset)
{
	IndexTuple	tuple =
		sware_checked_item(view->index, view->block, view->page, offset);

	if (unlikely(sware_tuple_is_special(tuple) &&
				 !sware_is_sound_posting(tuple)))
		sware_report_item(view->index, view->block, view->page, offset);
	return tuple;
}

/* Return the offset of a view's tuple `i`, 0 <= i < count. */
static inline OffsetNumber
sware_view_offset(int i)
{
	return (OffsetNumber) (SWARE_FIRST_DATA + i);
}

static inline IndexTuple
sware_view_tuple(const SwareLeafView *view, int i)
{
	return sware_view_entry(view, sware_view_offset(i));
}

static inline bool
sware_view_is_marked(const SwareLeafView *view, int i)
{
	return ItemIdIsDead(PageGetItemId(view->page, sware_view_offset(i)));
}

/* Make a view of a leaf whose page header has been checked. */
static inline void
sware_view_init(SwareLeafView *view, Relation index, Buffer buffer)
{
	view->index = index;
	view->block = BufferGetBlockNumber(buffer);
	view->page = BufferGetPage(buffer);
	view->count = sware_page_data_count(view->page);
}

#endif							/* SWARE_TREEPAGES_H */
