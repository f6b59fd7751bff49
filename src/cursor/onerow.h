/*-------------------------------------------------------------------------
 *
 * onerow.h
 *	  Scans that find one row at most.
 *
 * A scan for one key of a unique index sees one row at most, if its snapshot
 * is an MVCC one: a row that replaced another one with the key was inserted
 * after the other one was deleted, by the same transaction or once the
 * deleter had committed, so no snapshot sees both.  A row of the buffer is,
 * as a rule, in one of the pages that were written last.  So when an entry
 * of an open page has a row that the snapshot sees, the scan need not look
 * anywhere else.
 *
 * A snapshot that is older than the index may see rows with equal keys: the
 * index has entries of all rows that any snapshot sees, and those that died
 * before it was built need not differ.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ONEROW_H
#define SWARE_ONEROW_H

#include "access/relscan.h"

#include "keys/scankeys.h"

/*
 * Is a scan, whose keys have been analyzed, one that finds one row at most?
 * Only if it can look at rows.
 */
extern bool sware_scan_finds_one_row(IndexScanDesc scan,
									 const SwareScanKeys *keys);

#endif							/* SWARE_ONEROW_H */
