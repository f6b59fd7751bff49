/*-------------------------------------------------------------------------
 *
 * onerow.h
 *	  Scans that find one row at most.
 *
 * A scan for one key of a unique index, with an MVCC snapshot, sees one row at
 * most, as a rule.  If that row is in the buffer, it is mostly on one of the
 * pages that were written last.  So if an entry of an open page has a row that
 * the snapshot sees, the scan need not look anywhere else, provided that the
 * row is *settled*: another transaction has inserted it, and nobody has deleted
 * it.  There is no other row with the key, P, that the snapshot sees:
 *	- If P was inserted before this row, its deletion came before this row's
 *	  insertion, by the same transaction, or by one that had committed.  So
 *	  a snapshot that sees this row does not see P.
 *	- P cannot have been inserted after this row, which is still live.
 *
 * Rows of the own transaction are not settled: a snapshot may see rows that an
 * earlier command inserts after the snapshot was taken, and those that a later
 * command deletes.
 *
 * A snapshot that is older than the index may see several rows with the key:
 * those that had died before the index was built may have equal keys.
 *
 * A serializable transaction looks at all versions, since each may tell of a
 * conflict.  A value of another type than the column's may equal several keys:
 * a timestamp in the hour that the beginning of daylight-saving time leaves out
 * equals the same timestamptz as one an hour later.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ONEROW_H
#define SWARE_ONEROW_H

#include "access/relscan.h"

#include "keys/scankeys.h"

/*
 * Is a scan, whose keys have been analyzed, one that finds one row at most if
 * that is settled?  Not if it cannot read the table.
 */
extern bool sware_scan_finds_one_row(IndexScanDesc scan,
									 const SwareScanKeys *keys);

#endif							/* SWARE_ONEROW_H */
