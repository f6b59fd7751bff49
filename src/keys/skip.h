/*-------------------------------------------------------------------------
 *
 * skip.h
 *	  Skipping entries of a range that cannot qualify.
 *
 * A range of a scan (scankeys.h) ends with the first column that has no
 * equality.  If there are conditions on columns behind that one, only parts of
 * the range can satisfy them.  With an index on (a, b) and the condition
 * b = 5, the range is the whole index, and the parts are the entries with
 * (1, 5), those with (2, 5), and so on, whatever values of `a` there are.
 *
 * The parts are not listed anywhere.  Instead a cursor that is at any place of
 * a range asks for the next place in its direction at which a qualifying entry
 * can be.  From (3, 7) on forward this is (4, 5) if `a` is an integer.  If it
 * is of a type whose next value is not known, this is the place behind all
 * entries with 3; there the cursor meets the next value that exists, say x, and
 * asks again, to be sent to (x, 5).
 *
 * Nothing is remembered from one answer to the next.  So it does not matter
 * where a cursor is, in which direction it goes, and what other cursors of the
 * scan do.  Between the two places no entry qualifies, so a cursor may just as
 * well look at all of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SKIP_H
#define SWARE_SKIP_H

#include "keys/scankeys.h"
#include "keys/searchkey.h"

/* One end of the values that a column may have. */
typedef struct SwareSkipEnd
{
	bool		isGiven;		/* false: there is no such end */
	bool		isStrict;		/* is the value itself not allowed? */
	SwareKeyColumn column;		/* the value, or null */
} SwareSkipEnd;

/*
 * The values that a column may have if an entry is to qualify; perhaps also
 * others, since a column can have several conditions.
 */
typedef struct SwareSkipColumn
{
	SwareElements *elements;	/* one of these; or if NULL: */
	SwareSkipEnd low;			/* in index order */
	SwareSkipEnd high;
} SwareSkipColumn;

/* What scan keys have if scans of their ranges may skip. */
typedef struct SwareSkipKeys
{
	int			lastColumn;		/* the last one with a condition, from 0 on */
	SwareSearchKey from;		/* for comparing: the columns of the entry or
								 * pivot at which a cursor is */
	SwareSkipColumn columns[INDEX_MAX_KEYS];	/* those from the first column
												 * behind the prefix to
												 * lastColumn */
} SwareSkipKeys;

/* Where can the next qualifying entry of a range be? */
typedef enum SwareSkip
{
	SWARE_SKIP_NONE,			/* there is no other one */
	SWARE_SKIP_HERE,			/* at the place where the cursor is */
	SWARE_SKIP_AHEAD			/* not before another place */
} SwareSkip;

/*
 * Find the first place in a direction at which a qualifying entry of the
 * current range can be, and set `place` to it if it lies ahead: from an entry
 * or pivot on that lies in the range, or from where the range begins in the
 * direction.  The place points into the tuple, and into the scan keys; nothing
 * is allocated.  Calls comparators.  The caller may hold a content lock, as for
 * other comparisons with a page's tuples.
 */
extern SwareSkip sware_skip_from_tuple(SwareScanKeys *keys, IndexTuple tuple,
									   bool forward, SwareSearchKey *place);
extern SwareSkip sware_skip_from_begin(SwareScanKeys *keys, bool forward,
									   SwareSearchKey *place);

#endif							/* SWARE_SKIP_H */
