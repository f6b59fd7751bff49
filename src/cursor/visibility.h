/*-------------------------------------------------------------------------
 *
 * visibility.h
 *	  Which entries of an index-only scan have a row that its snapshot sees;
 *	  and scans that find one row at most.
 *
 * VACUUM waits for the pin of a leaf, but for no scan that returns an entry of
 * the buffer, and redo for no pin on an index page (docs/architecture.md).  So
 * a scan whose entries are not protected by a pin returns only those whose rows
 * it has found to be visible itself.
 *
 * For an entry of the tree, the visibility map can tell, by this protocol:
 *
 *	 1	the scan copies entries of the leaf together with its LSN;
 *	 2	it looks up the entries' heap pages in the visibility map;
 *	 3	it locks the leaf again, and compares the LSN.
 *
 * If the LSN is the same, nothing has changed on the leaf in between: no entry
 * has been removed, or has gone to another leaf by a split, and the page has
 * not been deleted or reused.  So each entry was still in the index when its
 * heap page was all-visible.  TIDs are released for reuse after their entries
 * have left the index, in the order of WAL, too.  So the entry's TID led to its
 * row then, and to no other one.  As a page with dead line pointers is not
 * all-visible, that row was visible to everybody, the scan's snapshot included:
 * before redo sets the bit, at that record or at an earlier one, which has
 * frozen the rows, it waits until all transactions have ended, or are
 * cancelled, whose snapshots do not see a row of the page.  (On a primary,
 * VACUUM does not set the bit as long as there are such snapshots.)
 *
 * For entries of the buffer, its generation takes the place of the LSN: a batch
 * has them under one generation (buffercursor.h), and VACUUM retires all pages,
 * which raises it, before it releases TIDs.  Entries of staging are not looked
 * up in the map, as they can leave staging without that; a page with rows of a
 * transaction that has not ended is not all-visible anyway.
 *
 * If the page is not all-visible, or the leaf or the generation has changed,
 * the row itself is looked at.  If that row is visible, it is the
 * entry's: the TID can have been reused only after the entry was read, which
 * was after the snapshot was taken, and the snapshot sees no row from then on.
 *
 * What is visible to the snapshot stays so, and keeps its TID, as long as the
 * snapshot is held: redo of a record that removes the row first waits until the
 * transaction has ended, or cancels it, and after a promotion VACUUM leaves the
 * row alone.  So it does not matter when the entry is returned, nor what the
 * executor then finds in the map: if the page is not all-visible any more, it
 * looks at the row, and finds it visible.  (The exception after a promotion is
 * old_snapshot_threshold, on 15 and 16: rows may be removed earlier, and missed
 * then, as in nbtree.)
 *
 * All of this needs an MVCC snapshot that was taken before the entries were
 * read, and for the LSN, but not for the generation, an index that is logged.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_VISIBILITY_H
#define SWARE_VISIBILITY_H

#include "access/relscan.h"
#include "executor/tuptable.h"
#include "storage/buf.h"

#include "keys/scankeys.h"
#include "tree/treescan.h"

/* What a scan knows of the visibility of its rows; zeroes at first. */
typedef struct SwareVisibility
{
	IndexScanDesc scan;
	MemoryContext context;		/* lives as long as the scan */
	TupleTableSlot *slot;		/* for reading rows; made when needed */
	Buffer		mapPage;		/* the page of the visibility map that was
								 * looked at last, pinned, or InvalidBuffer */

	uint64		position;		/* the tree cursor's position whose items have
								 * been looked up: its `replacements` */
	bool	   *isVisible;		/* an element for each item: is its row known
								 * to be visible?  Made when needed */
} SwareVisibility;

/*
 * Is the row with a TID visible to the scan's snapshot?  `*all_dead` is set to
 * whether it is dead to everybody.  Reads the row, without the map.
 *
 * `*is_settled`, unless NULL is given for it, is set to whether it is also
 * known to be settled: visible, and not deleted, or being updated, at this
 * moment, and inserted by another transaction.
 */
extern bool sware_row_is_visible(SwareVisibility *visibility,
								 const ItemPointerData *tid, bool *all_dead,
								 bool *is_settled);

/*
 * Is a scan, whose keys have been analyzed, one that finds one row at most if
 * that is settled?  Not if it cannot read the table.
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
 */
extern bool sware_scan_finds_one_row(IndexScanDesc scan,
									 const SwareScanKeys *keys);

/* Is the page of a TID all-visible?  Keeps a page of the map pinned. */
extern bool sware_ask_map(SwareVisibility *visibility,
						  const ItemPointerData *tid);

/*
 * Find out whether the row of the item that the tree cursor is on is visible to
 * the scan's snapshot.  All items of the position are looked up in the map
 * together.  The leaf is not pinned, and the caller holds no lock.
 */
extern bool sware_find_out_visibility(SwareVisibility *visibility,
									  SwareTreeCursor *cursor);

#endif							/* SWARE_VISIBILITY_H */
