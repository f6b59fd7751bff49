/*-------------------------------------------------------------------------
 *
 * predicatelocks.h
 *	  What serializable scans lock, and inserts check.
 *
 * An entry goes to staging, buffer or tree, and moves on, so a page of the
 * index says nothing about what a scan has looked for.  Scans lock pages that
 * the index may not have, as the names of parts of its key space:
 *
 *	- *points*: a value of the first column, or null, hashed.  A scan with an
 *	  equality on the first column locks those it asks for;
 *	- *granules*: where the first column is compared as an integer, its
 *	  numbers are put on a scale of 64 bits (sware_scale, below), and a granule
 *	  of level n is 2^n aligned places of it.  A scan of a range of numbers
 *	  locks some granules that cover it, small ones at its ends;
 *	- *markers*: a lock on a point, or on a granule of some levels, is
 *	  preceded by one on the marker of such locks.  Where there is no marker
 *	  an insert need not look for anything.
 *
 * Any other scan locks the whole index.
 *
 * An insert is checked against its point, the 64 granules it lies in, as far
 * as markers say that this is necessary, and the index.  Numbers of different
 * points or granules can agree by chance: then a transaction fails in vain.
 *
 * The scan locks before it reads, and the insert is stored before it checks
 * (must), so one of them notices the other.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PREDICATELOCKS_H
#define SWARE_PREDICATELOCKS_H

#include "access/itup.h"
#include "access/relscan.h"
#include "access/xact.h"

#include "tree/scankeys.h"

extern void sware_lock_ranges(IndexScanDesc scan, SwareScanKeys *keys);
extern void sware_check_entries(Relation index, IndexTuple *entries, int64 count);

/*
 * Take the predicate locks of a scan, before it reads.  The caller holds no
 * content locks.
 */
static inline void
sware_lock_predicates(IndexScanDesc scan, SwareScanKeys *keys)
{
	if (unlikely(IsolationIsSerializable()))
		sware_lock_ranges(scan, keys);
}

/*
 * Look for scans by other transactions that should have seen these entries,
 * which have been stored where others find them.  May raise a serialization
 * failure.  The caller holds no content locks.
 */
static inline void
sware_check_conflicts(Relation index, IndexTuple *entries, int64 count)
{
	if (unlikely(IsolationIsSerializable()))
		sware_check_entries(index, entries, count);
}

#endif							/* SWARE_PREDICATELOCKS_H */
