/*-------------------------------------------------------------------------
 *
 * predicatelocks.h
 *	  Predicate locks: what serializable scans lock, and inserts check.
 *
 * nbtree's scans lock the leaves that they read.  Here entries move from the
 * buffer to the tree, so no page stands for the keys that a scan has looked
 * for.  Instead, scans take PostgreSQL's predicate locks on page numbers that
 * are names of parts of the key space; the index need not have such pages:
 *
 *	- *Points*: the hash of a value of the first column, or of null.  A scan
 *	  with an equality on the first column locks the points of its values.
 *	- *Granules*: if the first column is compared as an integer, its numbers are
 *	  mapped to places on a scale of 64 bits (scale in predicatelocks.c).  A
 *	  granule of level n is a list of 2^n places that begins at a multiple of
 *	  2^n.  A scan of a range of numbers locks up to 20 granules that cover the
 *	  range: large ones in the middle, small ones at its ends.
 *	- *Markers*: before a scan locks a point, it locks the marker of all points,
 *	  and before it locks a granule, the marker of granules of similar levels.
 *	  If an insert finds a marker unlocked, no point or granule of its kind is
 *	  locked, and none has to be looked up.
 *
 * Any other scan locks the whole index.  If scans of ranges did that, too,
 * about every second transaction would fail beside inserts elsewhere; with
 * granules hardly any does (bench/serializable).
 *
 * An insert is checked against its point, the 64 granules that it lies in, as
 * far as their markers are locked, and the whole index.  Different points or
 * granules can have one page number by chance; a transaction may then fail
 * without need.
 *
 * A scan must lock before it reads, and an insert must store its entry before
 * it checks: so at least one of them notices the other.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PREDICATELOCKS_H
#define SWARE_PREDICATELOCKS_H

#include "access/itup.h"
#include "access/relscan.h"

#include "keys/scankeys.h"

/*
 * Take the predicate locks of a scan, before it reads.  Does nothing unless the
 * transaction is serializable.  May call comparators and hash functions, which
 * may raise errors.  The caller holds no content locks.
 */
extern void sware_lock_predicates(IndexScanDesc scan, SwareScanKeys *keys);

/*
 * Check for scans of other transactions that would have found these entries,
 * which have been stored where other backends find them.  Does nothing unless
 * the transaction is serializable.  May raise a serialization failure
 * (ERRCODE_T_R_SERIALIZATION_FAILURE).  The caller holds no content locks.
 */
extern void sware_check_conflicts(Relation index, IndexTuple *entries,
								  int64 count);

#endif							/* SWARE_PREDICATELOCKS_H */
