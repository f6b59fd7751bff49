/*-------------------------------------------------------------------------
 *
 * visibility.h
 *	  Which entries of an index-only scan have a row that its snapshot sees.
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
 */
extern bool sware_row_is_visible(SwareVisibility *visibility,
								 const ItemPointerData *tid, bool *all_dead);

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
