/*-------------------------------------------------------------------------
 *
 * entry.h
 *	  The tuples on tree pages: entries, posting lists and pivots.
 *
 * All three are IndexTuples.  An *entry* is an ordinary one: t_tid is the
 * heap TID, then come the key and INCLUDE columns.  The other two set
 * SWARE_SPECIAL_TUPLE in t_info and use t_tid for themselves:
 *
 *   posting list (leaf only; no INCLUDE columns):
 *     t_tid.block  = offset of the TID array within the tuple
 *     t_tid.offset = SWARE_IS_POSTING | number of TIDs (at least 2)
 *     +--------+-------------+---------------------+
 *     | header | key columns | TID, TID, ... TID   |   TIDs ascending
 *     +--------+-------------+---------------------+
 *
 *   pivot (high keys and downlinks):
 *     t_tid.block  = child block of a downlink, else InvalidBlockNumber
 *     t_tid.offset = SWARE_PIVOT_TID? | SWARE_PIVOT_LINK? | key columns kept
 *     +--------+-------------------+-------------+---------------------+
 *     | header | first key columns | TID,     if | incarnation of the  |
 *     |        |                   | PIVOT_TID   | child, if PIVOT_LINK|
 *     +--------+-------------------+-------------+---------------------+
 *                                     8 bytes        8 bytes
 *
 * A pivot separates two neighbours: it lies above every entry to its left
 * and not above any entry to its right.  Columns that it does not keep are
 * minus infinity, and so is a TID that it does not keep; a TID that it keeps
 * is one of the right side.  "Below the pivot" is therefore an exact test
 * for "belongs to the left".
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ENTRY_H
#define SWARE_ENTRY_H

#include "access/itup.h"
#include "access/tupdesc.h"
#include "utils/rel.h"

#include "tree/page.h"

#define SWARE_SPECIAL_TUPLE		INDEX_AM_RESERVED_BIT

#define SWARE_IS_POSTING		0x8000
#define SWARE_PIVOT_TID			0x4000
#define SWARE_PIVOT_LINK		0x2000
#define SWARE_COUNT_MASK		0x1FFF

#define SWARE_TAIL_SIZE			MAXALIGN(sizeof(ItemPointerData))

StaticAssertDecl(SWARE_MAX_TIDS_PER_PAGE <= SWARE_COUNT_MASK,
				 "the number of TIDs of a posting list must fit");
StaticAssertDecl(INDEX_MAX_KEYS <= SWARE_COUNT_MASK,
				 "the number of columns of a pivot must fit");

static inline bool
sware_tuple_is_special(IndexTuple tuple)
{
	return (tuple->t_info & SWARE_SPECIAL_TUPLE) != 0;
}

static inline bool
sware_tuple_is_posting(IndexTuple tuple)
{
	return sware_tuple_is_special(tuple) &&
		(ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid) & SWARE_IS_POSTING) != 0;
}

static inline bool
sware_tuple_is_pivot(IndexTuple tuple)
{
	return sware_tuple_is_special(tuple) &&
		(ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid) & SWARE_IS_POSTING) == 0;
}

/* number of TIDs of a posting list, or of columns of a pivot */
static inline int
sware_tuple_count(IndexTuple tuple)
{
	return ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid) & SWARE_COUNT_MASK;
}

static inline uint32
sware_posting_offset(IndexTuple tuple)
{
	return ItemPointerGetBlockNumberNoCheck(&tuple->t_tid);
}

static inline ItemPointer
sware_posting_tids(IndexTuple tuple)
{
	return (ItemPointer) ((char *) tuple + sware_posting_offset(tuple));
}

/* number of TIDs of an entry or posting list */
static inline int
sware_leaf_tuple_tid_count(IndexTuple tuple)
{
	return sware_tuple_is_posting(tuple) ? sware_tuple_count(tuple) : 1;
}

/* the TIDs of an entry or posting list, ascending */
static inline ItemPointer
sware_leaf_tuple_tids(IndexTuple tuple)
{
	return sware_tuple_is_posting(tuple) ? sware_posting_tids(tuple) : &tuple->t_tid;
}

static inline ItemPointer
sware_leaf_tuple_max_tid(IndexTuple tuple)
{
	return sware_leaf_tuple_tids(tuple) + (sware_leaf_tuple_tid_count(tuple) - 1);
}

/* size of the part of an entry or posting list before its TID array */
static inline Size
sware_leaf_tuple_key_size(IndexTuple tuple)
{
	return sware_tuple_is_posting(tuple) ? sware_posting_offset(tuple) : IndexTupleSize(tuple);
}

static inline bool
sware_pivot_has_tid(IndexTuple pivot)
{
	return (ItemPointerGetOffsetNumberNoCheck(&pivot->t_tid) & SWARE_PIVOT_TID) != 0;
}

static inline bool
sware_pivot_has_link(IndexTuple pivot)
{
	return (ItemPointerGetOffsetNumberNoCheck(&pivot->t_tid) & SWARE_PIVOT_LINK) != 0;
}

/* the TID of a pivot that has one */
static inline ItemPointer
sware_pivot_tid(IndexTuple pivot)
{
	return (ItemPointer) ((char *) pivot + IndexTupleSize(pivot) -
						  (sware_pivot_has_link(pivot) ? 2 : 1) * SWARE_TAIL_SIZE);
}

/* the page a downlink leads to */
static inline SwareLink
sware_pivot_link(IndexTuple pivot)
{
	SwareLink	link;

	Assert(sware_pivot_has_link(pivot));
	link.block = ItemPointerGetBlockNumberNoCheck(&pivot->t_tid);
	memcpy(&link.incarnation,
		   (char *) pivot + IndexTupleSize(pivot) - SWARE_TAIL_SIZE,
		   sizeof(uint32));
	return link;
}

/* set where an existing downlink leads to */
static inline void
sware_pivot_set_link(IndexTuple pivot, SwareLink link)
{
	Assert(sware_pivot_has_link(pivot));
	BlockIdSet(&pivot->t_tid.ip_blkid, link.block);
	memcpy((char *) pivot + IndexTupleSize(pivot) - SWARE_TAIL_SIZE,
		   &link.incarnation, sizeof(uint32));
}

extern IndexTuple sware_form_minus_infinity(SwareLink child);
extern IndexTuple sware_form_downlink(IndexTuple pivot, SwareLink child);
extern IndexTuple sware_form_high_key(IndexTuple pivot);
extern IndexTuple sware_form_pivot(Relation index, IndexTuple last_left,
								   IndexTuple first_right);
extern int	sware_pivot_columns_needed(Relation index, IndexTuple last_left,
									   IndexTuple first_right);
extern IndexTuple sware_form_posting(IndexTuple base, ItemPointer tids, int count);
extern IndexTuple sware_posting_insert(IndexTuple posting, ItemPointer tid,
									   IndexTuple *overflow);
extern bool sware_posting_contains(IndexTuple posting, ItemPointer tid);
extern bool sware_keys_equal_image(Relation index, IndexTuple a, IndexTuple b);
extern void sware_report_large_entry(Relation index, Relation heap, IndexTuple entry);

/*
 * Raise an error if an entry is too large for the index.  `heap` may be NULL
 * if it is not known.
 */
static inline void
sware_check_entry_size(Relation index, Relation heap, IndexTuple entry)
{
	if (unlikely(IndexTupleSize(entry) > SWARE_MAX_ENTRY_SIZE))
		sware_report_large_entry(index, heap, entry);
}

#endif							/* SWARE_ENTRY_H */
