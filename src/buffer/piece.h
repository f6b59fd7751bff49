/*-------------------------------------------------------------------------
 *
 * piece.h
 *	  What of the buffer is flushed or sorted together.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PIECE_H
#define SWARE_PIECE_H

#include "access/itup.h"
#include "utils/rel.h"

#include "pages/bufferpages.h"

/* What is to be flushed together: all entries of sealed pages, or some. */
typedef struct SwarePiece
{
	SwareListedPage *pages;		/* those with no other entries get the state
								 * SWARE_SLOT_RETIRED when they are copied */
	int			count;
	int			sealed;			/* how many pages the buffer has */
	bool		asArrived;		/* are the entries in the order of arrival,
								 * which is measured?  Else each page has its
								 * own in that of their keys, or all are
								 * marked */

	/*
	 * Of entries in the order of their keys, only from..to; NULL: no limit.
	 * What is before `from` is left out of those pages only that are marked
	 * as resumed: the others have nothing before it.
	 */
	IndexTuple	from;
	IndexTuple	to;				/* not included */
} SwarePiece;

/* What was flushed. */
typedef struct SwareFlushed
{
	IndexTuple *entries;		/* in order, without duplicates */
	int			count;
	bool		hasVersions;	/* may rows among them be versions of others
								 * with the same key? */
	int			dropped;		/* entries of dead rows that were left out */
} SwareFlushed;

/*
 * Copy the entries of a piece, in order, without duplicates and without those
 * of rows that are dead to everybody, to the current memory context.  Locks
 * one page at a time; calls comparators without locks.  The caller has the
 * flush lock, and holds no content locks.
 */
extern void sware_copy_piece(Relation index, Relation heap,
							 const SwarePiece *piece, SwareFlushed *flushed);

#endif							/* SWARE_PIECE_H */
