/*-------------------------------------------------------------------------
 *
 * parallelscan.h
 *	  Parallel index scans: the order of entries is cut into intervals, which
 *	  the participants claim one after another, in the direction of the scan.
 *
 * A participant claims an interval, scans buffer and tree for its entries
 * alone (mergescan.h), and claims the next one.  nbtree hands out leaves
 * instead.  That would not do here, since a leaf says nothing about entries of
 * the buffer, and an entry need not stay on its leaf.  But each entry lies in
 * exactly one interval, whether it is in the buffer, in the tree, or on its
 * way there, and whatever pages are split or deleted meanwhile.
 *
 * Intervals end where leaves begin (tree/treeinterval.c), or earlier if the
 * buffer has many entries there (cursor/bufferinterval.h).  The shared state
 * has the place where the next interval begins.  One participant at a time
 * moves it on, for which it reads pages; others that want to claim wait on a
 * condition variable.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PARALLELSCAN_H
#define SWARE_PARALLELSCAN_H

#include "access/relscan.h"
#include "access/sdir.h"

#include "cursor/mergescan.h"
#include "base/compat.h"

/*
 * The callbacks amestimateparallelscan, aminitparallelscan, amparallelrescan.
 */
extern Size sware_estimateparallelscan(SWARE_ESTIMATE_PARALLEL_SCAN_PARAMETERS);
extern void sware_initparallelscan(void *target);
extern void sware_parallelrescan(IndexScanDesc descriptor);

/*
 * Claim the next interval, and restrict the scan's keys to it.  The caller has
 * rewound the cursors of the scan, and holds no content locks.  Returns false,
 * with keys that are not restricted, if no interval is left.  Waits for
 * another participant that is claiming; the wait can be cancelled.
 */
extern bool sware_claim_interval(SwareScan *scan, ScanDirection direction);

#endif							/* SWARE_PARALLELSCAN_H */
