/*-------------------------------------------------------------------------
 *
 * parallelscan.h
 *	  Parallel index scans: the order of entries is cut into intervals, and the
 *	  participants claim them one after another, in the direction of the scan.
 *
 * Each claims an interval, scans it as if there were nothing else (mergescan.h),
 * and claims the next one.  Leaves, which is what nbtree hands out, would not do:
 * they say nothing about where an entry of the shared buffer belongs, nor is an
 * entry on the same leaf forever.  But each entry lies in exactly one interval,
 * be it in the buffer, in the tree, or on the way, and whatever is split or
 * deleted meanwhile.
 *
 * Intervals are cut where leaves begin (tree/cut.c), or nearer where the buffer
 * has much (buffer/buffercut.h).  The shared state has the place where the next one
 * begins.  One participant at a time moves it on; the others wait for that, since
 * pages are read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PARALLELSCAN_H
#define SWARE_PARALLELSCAN_H

#include "access/relscan.h"
#include "access/sdir.h"

#include "am/mergescan.h"
#include "compat.h"

/* callbacks */
extern Size sware_estimateparallelscan(SWARE_ESTIMATE_PARALLEL_SCAN_PARAMETERS);
extern void sware_initparallelscan(void *target);
extern void sware_parallelrescan(IndexScanDesc descriptor);

/*
 * Claim the next interval, and restrict the scan's keys to it; its cursors have
 * been rewound.  False, with the keys as they were, if nothing is left.
 */
extern bool sware_claim_interval(SwareScan *scan, ScanDirection direction);

#endif							/* SWARE_PARALLELSCAN_H */
