/*-------------------------------------------------------------------------
 *
 * scan.h
 *	  The access method's callbacks for scans, and what these share.
 *
 * PostgreSQL's amapi.h and its chapter "Index Access Method Interface
 * Definition" say what each does.  The caller holds AccessShareLock on the
 * index, or a stronger lock, and no content locks.  All of them may raise
 * errors: of comparators, of damaged pages (ERRCODE_INDEX_CORRUPTED), and
 * serialization failures.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SCAN_H
#define SWARE_SCAN_H

#include "access/amapi.h"
#include "access/relscan.h"
#include "nodes/tidbitmap.h"

#include "base/compat.h"
#include "cursor/mergescan.h"

extern IndexScanDesc sware_beginscan(Relation index, int key_count,
									 int order_by_count);
extern void sware_rescan(IndexScanDesc scan, ScanKey keys, int key_count,
						 ScanKey order_bys, int order_by_count);
extern bool sware_gettuple(IndexScanDesc scan, ScanDirection direction);
extern int64 sware_getbitmap(IndexScanDesc scan, TIDBitmap *bitmap);
extern void sware_endscan(IndexScanDesc scan);
extern void sware_markpos(IndexScanDesc scan);
extern void sware_restrpos(IndexScanDesc scan);

/* What scans have read. */
typedef struct SwareScanReads
{
	SwareBufferReads buffer;
	int64		treeEntries;
	int64		leaves;
	int64		tablePrefetches;	/* pages of tables that were asked for */
} SwareScanReads;

/* Add what a scan has read to a sum. */
extern void sware_add_scan_reads(SwareScanReads *sum, const SwareScan *scan);

/* what all scans of the session have read that have ended */
extern SwareScanReads sware_session_reads;

/* parallelscan.c */

/* Name the waits of parallel scans, in shmem_startup_hook. */
extern void sware_parallel_scans_attach(void);

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

#endif							/* SWARE_SCAN_H */
