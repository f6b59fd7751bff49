/*-------------------------------------------------------------------------
 *
 * tuple.h
 *	  The tuples on tree pages: entries, posting lists and pivots.
 *
 * All three are IndexTuples.  An *entry* is an ordinary one: t_tid is the heap
 * TID, then come the key and INCLUDE columns.  The other two have
 * SWARE_SPECIAL_TUPLE set in t_info, and t_tid has another meaning:
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
 * A pivot separates two neighbouring pages: it is above every entry on its
 * left, and not above any entry on its right.  Columns that it does not keep
 * count as minus infinity, and so does a TID that it does not keep.  A TID
 * that it keeps is that of an entry on its right.  So an entry belongs to the
 * left exactly if it is below the pivot.
 *
 * Buffer pages have entries only.  There the bit of SWARE_SPECIAL_TUPLE is
 * SWARE_MARKED_ENTRY: the entry's row is dead to everybody.  A copy of an entry
 * loses the bit before it is compared, or gets anywhere but to a sorted zone:
 * elsewhere the bit would mean a posting list or a pivot.  The sort of a build
 * (entrysort.c) marks the entries of dead rows with the same bit.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_TUPLE_H
#define SWARE_TUPLE_H

#include "access/itup.h"
#include "access/tupdesc.h"
#include "utils/rel.h"

#include "layout/page.h"

/* in t_info: a posting list or a pivot */
#define SWARE_SPECIAL_TUPLE		INDEX_AM_RESERVED_BIT

/* in t_info of an entry on a buffer page or in a sorted zone: it is marked */
#define SWARE_MARKED_ENTRY		INDEX_AM_RESERVED_BIT

/* in the offset number of t_tid */
#define SWARE_IS_POSTING		0x2000	/* not a pivot; as in nbtree */
#define SWARE_PIVOT_TID			0x4000	/* the pivot has a TID */
#define SWARE_PIVOT_LINK		0x8000	/* it is a downlink */
#define SWARE_COUNT_MASK		0x1FFF	/* TIDs, or key columns kept */

/* bytes of a pivot's TID, and of its incarnation, with padding */
#define SWARE_PIVOT_FIELD_SIZE	MAXALIGN(sizeof(ItemPointerData))

/* the first downlink of an internal page: nothing but the link */
#define SWARE_MINUS_INFINITY_SIZE \
	(MAXALIGN(sizeof(IndexTupleData)) + SWARE_PIVOT_FIELD_SIZE)

StaticAssertDecl(SWARE_MAX_TIDS_PER_PAGE <= SWARE_COUNT_MASK,
				 "the number of TIDs of a posting list must fit");
StaticAssertDecl(INDEX_MAX_KEYS <= SWARE_COUNT_MASK,
				 "the number of columns of a pivot must fit");
StaticAssertDecl(2 * SWARE_MAX_ENTRY_SIZE +
				 SWARE_MAX_ENTRY_SIZE + SWARE_PIVOT_FIELD_SIZE +
				 3 * sizeof(ItemIdData) <= SWARE_PAGE_CAPACITY,
				 "two of the largest entries and a high key must fit on a leaf");
StaticAssertDecl(SWARE_MINUS_INFINITY_SIZE +
				 (SWARE_MIN_FANOUT - 1) * SWARE_MAX_PIVOT_SIZE +
				 (SWARE_MIN_FANOUT + 1) * sizeof(ItemIdData) <=
				 SWARE_PAGE_CAPACITY,
				 "the largest downlinks must fit on a page without high key");
StaticAssertDecl(SWARE_MINUS_INFINITY_SIZE +
				 2 * SWARE_MAX_PIVOT_SIZE - SWARE_PIVOT_FIELD_SIZE +
				 3 * sizeof(ItemIdData) <= SWARE_PAGE_CAPACITY,
				 "half of the largest downlinks must fit beside a high key");

/* Is an entry, on a buffer page or in a sorted zone, or just copied, marked? */
static inline bool
sware_entry_is_marked(IndexTuple entry)
{
	return (entry->t_info & SWARE_MARKED_ENTRY) != 0;
}

/* Clear the mark, if there is one, of a private copy of an entry. */
static inline void
sware_clear_mark(IndexTuple copy)
{
	copy->t_info &= ~SWARE_MARKED_ENTRY;
}

/* Is a tuple a posting list or a pivot? */
static inline bool
sware_tuple_is_special(IndexTuple tuple)
{
	return (tuple->t_info & SWARE_SPECIAL_TUPLE) != 0;
}

static inline bool
sware_tuple_is_posting(IndexTuple tuple)
{
	return sware_tuple_is_special(tuple) &&
		(ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid) &
		 SWARE_IS_POSTING) != 0;
}

static inline bool
sware_tuple_is_pivot(IndexTuple tuple)
{
	return sware_tuple_is_special(tuple) &&
		(ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid) &
		 SWARE_IS_POSTING) == 0;
}

/* number of TIDs of a posting list, or of the key columns that a pivot keeps */
static inline int
sware_tuple_count(IndexTuple tuple)
{
	return ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid) & SWARE_COUNT_MASK;
}

/* where the TIDs of a posting list begin, in bytes from the tuple's start */
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

/* Is a special tuple a posting list, with all its TIDs inside the tuple? */
static inline bool
sware_is_sound_posting(IndexTuple tuple)
{
	Size		key_size = sware_posting_offset(tuple);
	Size		size = IndexTupleSize(tuple);

	return sware_tuple_is_posting(tuple) &&
		key_size >= sizeof(IndexTupleData) && key_size <= size &&
		sware_tuple_count(tuple) > 0 &&
		sware_tuple_count(tuple) * sizeof(ItemPointerData) <= size - key_size;
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
	return sware_tuple_is_posting(tuple) ? sware_posting_tids(tuple) :
		&tuple->t_tid;
}

/* the last and largest TID of an entry or posting list */
static inline ItemPointer
sware_leaf_tuple_max_tid(IndexTuple tuple)
{
	return sware_leaf_tuple_tids(tuple) +
		(sware_leaf_tuple_tid_count(tuple) - 1);
}

/* the size of an entry with one column of at most 8 bytes */
#define SWARE_SMALL_ENTRY_SIZE	(sizeof(IndexTupleData) + sizeof(Datum))

/*
 * Copy a tuple.  Most are small entries, and those a compiler copies best when
 * it knows the size.
 */
static inline void
sware_copy_tuple(void *to, IndexTuple tuple)
{
	Size		size = IndexTupleSize(tuple);

	if (size == SWARE_SMALL_ENTRY_SIZE)
		memcpy(to, tuple, SWARE_SMALL_ENTRY_SIZE);
	else
		memcpy(to, tuple, size);
}

/* A copy of any entry; functions may read a little behind it. */
typedef union SwareEntryCopy
{
	IndexTupleData tuple;
	char		bytes[MAXALIGN(SWARE_MAX_ENTRY_SIZE) + NAMEDATALEN];
	double		forAlignment;
} SwareEntryCopy;

/* size of an entry, or of a posting list without its TIDs */
static inline Size
sware_leaf_tuple_key_size(IndexTuple tuple)
{
	return sware_tuple_is_posting(tuple) ? sware_posting_offset(tuple) :
		IndexTupleSize(tuple);
}

/* Copy a pivot, or an entry; of a posting list, its first entry. */
static inline void
sware_copy_first_entry(IndexTuple to, IndexTuple tuple)
{
	Size		size = sware_leaf_tuple_key_size(tuple);

	memcpy(to, tuple, size);
	if (sware_tuple_is_posting(tuple))
	{
		to->t_info &= ~(INDEX_SIZE_MASK | SWARE_SPECIAL_TUPLE);
		to->t_info |= size;
		to->t_tid = sware_posting_tids(tuple)[0];
	}
}

static inline bool
sware_pivot_has_tid(IndexTuple pivot)
{
	return (ItemPointerGetOffsetNumberNoCheck(&pivot->t_tid) &
			SWARE_PIVOT_TID) != 0;
}

static inline bool
sware_pivot_has_link(IndexTuple pivot)
{
	return (ItemPointerGetOffsetNumberNoCheck(&pivot->t_tid) &
			SWARE_PIVOT_LINK) != 0;
}

/* the TID of a pivot that has one */
static inline ItemPointer
sware_pivot_tid(IndexTuple pivot)
{
	return (ItemPointer) ((char *) pivot + IndexTupleSize(pivot) -
						  (sware_pivot_has_link(pivot) ? 2 : 1) *
						  SWARE_PIVOT_FIELD_SIZE);
}

/* the page that a downlink leads to */
static inline SwareLink
sware_pivot_link(IndexTuple pivot)
{
	SwareLink	link;

	Assert(sware_pivot_has_link(pivot));
	link.block = ItemPointerGetBlockNumberNoCheck(&pivot->t_tid);
	memcpy(&link.incarnation,
		   (char *) pivot + IndexTupleSize(pivot) - SWARE_PIVOT_FIELD_SIZE,
		   sizeof(uint32));
	return link;
}

/* Let a downlink lead to another page. */
static inline void
sware_pivot_set_link(IndexTuple pivot, SwareLink link)
{
	Assert(sware_pivot_has_link(pivot));
	BlockIdSet(&pivot->t_tid.ip_blkid, link.block);
	memcpy((char *) pivot + IndexTupleSize(pivot) - SWARE_PIVOT_FIELD_SIZE,
		   &link.incarnation, sizeof(uint32));
}

#endif							/* SWARE_TUPLE_H */
