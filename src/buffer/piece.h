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

/*
 * How entries to be flushed lie on their pages: in the order of their arrival,
 * from page to page, or in that of their keys.
 */
typedef enum SwarePageOrder
{
	SWARE_ARRIVAL_ORDER,
	SWARE_KEY_ORDER
} SwarePageOrder;

/* What is to be flushed together: all entries of sealed pages, or some. */
typedef struct SwarePiece
{
	const SwareListedPage *pages;
	int			count;
	int			sealed;			/* how many pages the buffer has */
	SwarePageOrder order;

	/* of entries in SWARE_KEY_ORDER, only those from..to; NULL: no limit */
	IndexTuple	from;
	IndexTuple	to;				/* not included */
} SwarePiece;

/* What was flushed. */
typedef struct SwareFlushed
{
	IndexTuple *entries;		/* in order, without duplicates */
	int			count;
	SwareListedPage *pages;		/* those that have no entries left */
	int			pageCount;
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
