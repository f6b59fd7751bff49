/*-------------------------------------------------------------------------
 *
 * scan.h
 *	  The access method's callbacks for scans, but for those of parallel ones
 *	  (parallelscan.h).
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

extern IndexScanDesc sware_beginscan(Relation index, int key_count,
									 int order_by_count);
extern void sware_rescan(IndexScanDesc scan, ScanKey keys, int key_count,
						 ScanKey order_bys, int order_by_count);
extern bool sware_gettuple(IndexScanDesc scan, ScanDirection direction);
extern int64 sware_getbitmap(IndexScanDesc scan, TIDBitmap *bitmap);
extern void sware_endscan(IndexScanDesc scan);
extern void sware_markpos(IndexScanDesc scan);
extern void sware_restrpos(IndexScanDesc scan);

#endif							/* SWARE_SCAN_H */
