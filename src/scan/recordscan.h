/*-------------------------------------------------------------------------
 *
 * recordscan.h
 *	  A scan that looks up one key takes the TIDs from the record cache, or
 *	  fills the cache (records/recordcache.h).
 *
 * That is done for an index scan with an MVCC snapshot whose only condition is
 * equality, of the column's own type.  It is not done if this session has
 * staged entries for the index, or may insert rows that the scan sees; nor for
 * index-only scans, in parallel plans, in transactions that began in recovery,
 * and where rows may be removed that a snapshot sees (old_snapshot_threshold).
 *
 * The scan has taken its predicate lock when it was restarted, so it does not
 * matter to serializable transactions where the TIDs come from.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_RECORDSCAN_H
#define SWARE_RECORDSCAN_H

#include "access/relscan.h"
#include "access/sdir.h"

#include "cursor/mergescan.h"

/*
 * Ask the cache for the scan's key, before anything of the index is read.  May
 * read the metapage, and raise errors of that.
 */
extern void sware_ask_for_record(IndexScanDesc descriptor,
								 ScanDirection direction);

/* Go to the next TID of the record that the scan has; false: there is none. */
extern bool sware_next_of_record(IndexScanDesc descriptor,
								 ScanDirection direction);

/* Install what the scan has found, after its first sware_scan_next. */
extern void sware_offer_record(SwareScan *scan, ScanDirection direction);

#endif							/* SWARE_RECORDSCAN_H */
