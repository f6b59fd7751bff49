/*-------------------------------------------------------------------------
 *
 * inspect.h
 *	  What the SQL functions of this room share; and an option of EXPLAIN.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_INSPECT_H
#define SWARE_INSPECT_H

#include "access/itup.h"
#include "fmgr.h"
#include "lib/bloomfilter.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "base/identity.h"
#include "layout/page.h"
#include "pages/pageaccess.h"
#include "tree/tree.h"

/* the most columns of a row */
#define SWARE_MAX_COLUMNS	32

/* An open index and its table, and what sware_close_target restores. */
typedef struct SwareTarget
{
	Relation	heap;
	Relation	index;
	LOCKMODE	lockmode;
	SwareIdentity caller;
} SwareTarget;

/* functions.c */
extern void sware_open_target(SwareTarget *target, Oid index_oid,
							  LOCKMODE lockmode);
extern void sware_close_target(SwareTarget *target);
extern void sware_require_sware_index(Relation relation);

/* A row that an SQL function returns, to which columns are added in order. */
typedef struct SwareRow
{
	int			count;
	Datum		values[SWARE_MAX_COLUMNS];
	bool		nulls[SWARE_MAX_COLUMNS];
} SwareRow;

/* Add a column, which is NULL unless `is_known`. */
static inline void
sware_add_known(SwareRow *row, bool is_known, Datum value)
{
	Assert(row->count < SWARE_MAX_COLUMNS);
	row->values[row->count] = value;
	row->nulls[row->count++] = !is_known;
}

static inline void
sware_add_value(SwareRow *row, Datum value)
{
	sware_add_known(row, true, value);
}

/*
 * Make a row a value of the result type of an SQL function.  Columns that were
 * not added are NULL.
 */
extern Datum sware_row_datum(FunctionCallInfo fcinfo, SwareRow *row);

/*
 * validate.c: validation of single pages.  The functions work on private copies
 * of pages, and trust nothing in them.  Other code can work with a page that
 * has passed: every item is within the page, and every column within its item.
 * They do not look at the contents of values or at the order of items, and call
 * no comparator.  A fault is reported by sware_report_corruption, with
 * ERRCODE_INDEX_CORRUPTED.
 */

/* Is a page one of the tree, and not of the buffer? */
static inline bool
sware_page_is_of_tree(Page page)
{
	return SwarePageGetOpaque(page)->kind == SWARE_KIND_LEAF ||
		SwarePageGetOpaque(page)->kind == SWARE_KIND_INTERNAL;
}

extern void sware_copy_page(Relation index, BlockNumber block,
							BufferAccessStrategy strategy, Page copy);
extern void sware_validate_frame(Relation index, BlockNumber block, Page page);
extern void sware_validate_item(Relation index, BlockNumber block, Page page,
								OffsetNumber offset);
extern void sware_validate_page(Relation index, BlockNumber block, Page page);
extern int	sware_validate_buffer_entries(Relation index, BlockNumber block,
										  Page page);
extern void sware_validate_slots(Relation index, BlockNumber block, Page page);

/* What the parts of sware_check share; check.c says how it checks. */
typedef struct SwareCheck
{
	Relation	index;
	Relation	heap;
	BufferAccessStrategy strategy;
	MemoryContext pageContext;	/* reset for each page of a level, and each
								 * tuple of the table */
	SwareLink	root;			/* as the metapage has it */
	int			rootLevel;
	bool		allEqualImage;
	BlockNumber block;			/* the page being checked, for messages */

	BlockNumber indexBlocks;	/* the index has at least this many blocks */
	BlockNumber heapBlocks;		/* the table has at least this many blocks */
	SwareBlockSet *visited;		/* pages that the tree has */
	int64		steps;			/* along a level, since its beginning or the
								 * last search */

	bloom_filter *filter;		/* of the entries of the index that scans see;
								 * NULL if the table is not checked */
	bool		marksMatter;	/* do scans with the snapshot of the check
								 * leave out marked entries? */
} SwareCheck;

/* checktree.c */
extern void sware_check_copy_block(SwareCheck *check, BlockNumber from,
								   BlockNumber block, Page copy);
extern void sware_check_copy_metapage(SwareCheck *check, Page copy);
extern void sware_check_tree(SwareCheck *check);

/* checkbuffer.c */
extern void sware_check_buffer(SwareCheck *check);

/* check.c: whether the entries of index and table are the same */
extern void sware_check_entries(SwareCheck *check, IndexTuple tuple,
								OffsetNumber offset, bool is_marked);

/* sortedness.c: how nearly rows are in order */

/* What is known of the rows that have been measured so far; zero at first. */
typedef struct SwareMeasurement
{
	int64		rows;
	int64		inOrder;		/* length of the longest ascending run */
	int64		largestDisplacement;
	int64	   *lasts;			/* lasts[n]: the smallest last number of an
								 * ascending subsequence of length n + 1 */
	int64		allocated;		/* elements that lasts has room for */
} SwareMeasurement;

/*
 * Add the next row, in the order of values, which has this number.  The first
 * number is 1.  Memory is taken from the current context.
 */
extern void sware_measure_row(SwareMeasurement *measurement, int64 number);

/*
 * scanreads.c: install the option SWARE of EXPLAIN, if the server lets
 * extensions do so.  Called once, when the library is loaded.
 */
extern void sware_install_explain_option(void);

#endif							/* SWARE_INSPECT_H */
