/*-------------------------------------------------------------------------
 *
 * comparator.h
 *	  Comparing entries of an index, many times in one operation.
 *
 * What is constant is found out once: a comparator holds a SortSupport for
 * each key column, whose function is called directly.  These functions may keep
 * state, so a comparator belongs to one operation, and is not reused after
 * an error.
 *
 * A comparator also makes a number of an entry, in the order of the keys: as a
 * rule the abbreviation of the first column.  If all entries that are compared
 * are known, the numbers can tell more (sware_refine_numbers).
 *
 * Of text whose collation is unknown, the last part of such a number may be a
 * guess.  Then entries that were sorted by their numbers are nearly in order,
 * if the guess is good, and have to be sorted again without it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_COMPARATOR_H
#define SWARE_COMPARATOR_H

#include "access/itup.h"
#include "utils/rel.h"
#include "utils/sortsupport.h"

#include "keys/abbreviation.h"

/* the most columns that have a part in a number */
#define SWARE_MAX_NUMBER_PARTS	4

/* What to guess of the order of text; the first that serves is taken. */
typedef enum SwareGuess
{
	SWARE_GUESS_USUAL,			/* that of most collations */
	SWARE_GUESS_BYTES,			/* that of the bytes */
	SWARE_GUESS_NOTHING
} SwareGuess;

/*
 * The part that a column has in the numbers of known entries.  The codes of its
 * values, from 0 on, are in their order, and null has a code of its own.
 */
typedef struct SwareNumberPart
{
	SwareGuess	guess;			/* SWARE_GUESS_NOTHING if the order is known */
	Size		start;			/* the first byte in which values differ */
	int64		lowest;			/* the smallest number of a value */
	uint64		codeOfLowest;
	uint64		codeOfNull;
	int			bits;			/* of the number */
	int			dropped;		/* bits of the code that have no room */
} SwareNumberPart;

typedef struct SwareComparator
{
	SwareSearchKey key;			/* prepared: tells of index and columns */
	SortSupport columns;		/* compare values */
	MemoryContext context;		/* context in which it was made */
	MemoryContext scratch;		/* where functions are called; NULL at first */
	uint32		calls;
	bool		numbersDecide;	/* do equal numbers mean equal keys, unless
								 * they are extreme? */
	SwareGuess	guess;			/* what to guess; those before it have been
								 * wrong */
	bool		hasGuess;		/* is the last part a guess? */
	int			partCount;		/* of numbers; 0: they are abbreviations */
	SwareNumberPart parts[SWARE_MAX_NUMBER_PARTS];	/* of the first columns */
} SwareComparator;

extern SwareComparator *sware_make_comparator(Relation index);
extern void sware_prepare_column(SortSupport column, Relation index, int number,
								 bool abbreviate);
extern int	sware_comparator_keys(SwareComparator *comparator, IndexTuple a,
								  IndexTuple b);
extern void sware_refine_numbers(SwareComparator *comparator,
								 const IndexTuple *entries, int64 count,
								 bool may_guess);
extern void sware_unrefine_numbers(SwareComparator *comparator);
extern void sware_drop_guess(SwareComparator *comparator);
extern int64 sware_refined_number(const SwareComparator *comparator,
								  IndexTuple entry);

/* A TID as a number, in the same order. */
static inline uint64
sware_tid_number(const ItemPointerData *tid)
{
	return (uint64) ItemPointerGetBlockNumberNoCheck(tid) << 16 |
		ItemPointerGetOffsetNumberNoCheck(tid);
}

/* Compare two TIDs. */
static inline int
sware_compare_tids(const ItemPointerData *a, const ItemPointerData *b)
{
	uint64		number_a = sware_tid_number(a);
	uint64		number_b = sware_tid_number(b);

	return (number_a > number_b) - (number_a < number_b);
}

/*
 * Compare two entries, which may be marked as dead, by (key, TID).  Like
 * sware_comparator_keys.
 */
static inline int
sware_comparator_entries(SwareComparator *comparator, IndexTuple a,
						 IndexTuple b)
{
	int			order = sware_comparator_keys(comparator, a, b);

	return order != 0 ? order : sware_compare_tids(&a->t_tid, &b->t_tid);
}

#endif							/* SWARE_COMPARATOR_H */
