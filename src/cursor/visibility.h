/*-------------------------------------------------------------------------
 *
 * visibility.h
 *	  Which entries of an index-only scan have a row that its snapshot sees.
 *
 * The executor trusts the visibility map: if a heap page is all-visible, it
 * returns an entry without a look at the row.  That is wrong if VACUUM has
 * removed the row meanwhile.  As long as the scan keeps the entry's leaf
 * pinned, VACUUM waits for it.  But nobody waits for a scan that returns an
 * entry of the buffer, and redo waits for no pin on an index page.  So a scan
 * whose entries are not protected by a pin returns only those that it has
 * found to be visible itself; what the executor then does is right, whether
 * the map says all-visible or not.
 *
 * For an entry of the tree, the visibility map can tell, by this protocol:
 *
 *	 1	the scan copies the leaf's entries together with its LSN;
 *	 2	it looks up the entries' heap pages in the visibility map;
 *	 3	it locks the leaf again, and compares the LSN.
 *
 * If the LSN is the same, nothing has changed on the leaf in between.  So each
 * entry was still in the index when its heap page was all-visible.  TIDs are
 * released for reuse after their entries have left the index, so the entry's
 * TID meant its row then, and no other one; and the row was visible to all,
 * since a page with dead line pointers is not all-visible.  That the scan's
 * snapshot is among "all" is what VACUUM sees to on the primary; on a standby
 * redo does, which resolves conflicts with older snapshots before it sets the
 * bit.  The snapshot goes on to need the row, so the row keeps its TID as long
 * as the snapshot is held: redo of whatever removes the row cancels the query
 * first, or waits for it; and after a promotion VACUUM does not remove it.
 *
 * If the page is not all-visible, or the leaf has changed, the row itself is
 * looked at, as for an entry of the buffer.  If that row is visible, it is the
 * entry's: the TID can have been reused only after the entry was read, which
 * was after the snapshot was taken, and the snapshot sees no row of later.
 *
 * All of this needs an MVCC snapshot that was taken before the entries were
 * read, and for the LSN an index that is logged.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_VISIBILITY_H
#define SWARE_VISIBILITY_H

#include "access/relscan.h"
#include "executor/tuptable.h"
#include "storage/buf.h"

#include "tree/treescan.h"

/* What a scan knows of the visibility of its rows. */
typedef struct SwareVisibility
{
	IndexScanDesc scan;
	MemoryContext context;		/* lives as long as the scan */
	TupleTableSlot *slot;		/* for reading rows; made when needed */
	Buffer		mapPage;		/* the page of the visibility map that was
								 * looked at last, pinned, or InvalidBuffer */

	/* The items of the tree cursor's position that have been looked up. */
	uint64		position;		/* of which position: `replacements` of the
								 * cursor */
	int			first;			/* items first..last; none if last < first */
	int			last;
	bool		leafHasChanged; /* since it was read */
	int			batchSize;		/* how many will be looked up next */
	bool	   *isVisible;		/* an element for each item: is its row known
								 * to be visible?  Made when needed */
} SwareVisibility;

/*
 * Prepare for the scan; rewind, for the same scan with other keys, perhaps;
 * release pin and memory.
 */
extern void sware_visibility_init(SwareVisibility *visibility,
								  IndexScanDesc scan, MemoryContext context);
extern void sware_visibility_rewind(SwareVisibility *visibility);
extern void sware_visibility_end(SwareVisibility *visibility);

/*
 * Is the row with a TID visible to the scan's snapshot?  `*all_dead` is set to
 * whether it is dead to everybody.  Reads the row, without the map.
 */
extern bool sware_row_is_visible(SwareVisibility *visibility,
								 const ItemPointerData *tid, bool *all_dead);

/*
 * Is the row of the item that the tree cursor is on visible to the scan's
 * snapshot?  Neighbouring items in the direction of the scan are looked up
 * together.  The leaf is not pinned, and the caller holds no lock.
 */
extern bool sware_item_is_visible(SwareVisibility *visibility,
								  SwareTreeCursor *cursor, bool forward);

#endif							/* SWARE_VISIBILITY_H */
