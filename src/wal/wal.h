/*-------------------------------------------------------------------------
 *
 * wal.h
 *	  All functions that write WAL records for pages.
 *
 * Changes of pages are logged as generic WAL, new pages as whole images, and
 * the most frequent changes of leaves, entries that come one by one, TIDs that
 * go, and gaps that are closed, as nbtree's are.  The server can redo all this
 * without the library.
 *
 * A record changes up to SWARE_WAL_MAX_PAGES pages at once.  Between
 * sware_wal_begin and sware_wal_finish the caller changes private copies;
 * sware_wal_finish applies and logs them in one critical section.  Relations
 * that need no WAL take the same path.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_WAL_H
#define SWARE_WAL_H

#include "access/generic_xlog.h"
#include "access/rmgr.h"
#include "access/xlog.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#define SWARE_WAL_MAX_PAGES		MAX_GENERIC_XLOG_PAGES

typedef struct SwareWal SwareWal;

/* Where a TID is on a leaf. */
typedef struct SwareTidPlace
{
	OffsetNumber offset;		/* of its entry or posting list */
	uint16		number;			/* among the TIDs of the list, from 0 on */
} SwareTidPlace;

extern SwareWal *sware_wal_begin(Relation index);
extern Page sware_wal_change(SwareWal *wal, Buffer buffer);
extern Page sware_wal_new_page(SwareWal *wal, Buffer buffer);
extern void sware_wal_finish(SwareWal *wal);
extern void sware_wal_abort(SwareWal *wal);

/* changes of single pages, which are private copies as a rule */
extern void sware_add_item(Page page, IndexTuple tuple, OffsetNumber offset);
extern void sware_delete_items(Page page, OffsetNumber *offsets, int count);

extern void sware_wal_add_item(Relation index, Buffer buffer, IndexTuple tuple,
							   OffsetNumber offset);
extern void sware_wal_remove_tids(Relation index, Buffer buffer,
								  const SwareTidPlace *gone, int count);
extern bool sware_wal_close_gaps(Relation index, Buffer buffer, Size space);

extern void sware_wal_log_conflict(Relation index, Relation heap,
								   TransactionId horizon);

extern void sware_wal_append_data(Relation index, Buffer buffer,
								  const char *data, Size size, uint16 flags);

extern void sware_wal_fill_page(Relation index, Buffer buffer, Page image);
extern void sware_wal_write_new_page(Relation index, ForkNumber fork,
									 BlockNumber block, Page page);

/* What the records of all kinds have in common.  For this room only. */

/*
 * Are images of pages compared with what redo makes of them
 * (wal_consistency_checking)?  Marks of dead entries are hints: they are not
 * logged, so a standby may lack them, and generic WAL does not mask them.  So
 * each record then clears the marks of its pages.
 */
static inline bool
sware_images_are_compared(void)
{
	return wal_consistency_checking[RM_GENERIC_ID];
}

/* How a page is registered (REGBUF_*) for a record. */
extern uint8 sware_page_registration(Page page);

/*
 * How a page changes, in the form of generic WAL.  For this room, and tests.
 *
 * A delta is a list of fragments.  Redo copies each to its place on the page,
 * and then clears the space between pd_lower and pd_upper:
 *
 *	 | offset | length | bytes ... | offset | length | bytes ... |
 *
 * Offset and length are of two bytes each, and nothing is aligned.  Two
 * fragments have more bytes between them than their header takes.
 */

/* what precedes the bytes of a fragment */
typedef struct SwareFragment
{
	OffsetNumber offset;		/* from the beginning of the page */
	OffsetNumber length;
} SwareFragment;

/* a delta of a whole page, on both sides of its free space */
#define SWARE_MAX_DELTA			(BLCKSZ + 2 * sizeof(SwareFragment))

typedef struct SwareDelta
{
	Size		length;
	char		fragments[SWARE_MAX_DELTA];
} SwareDelta;

extern void sware_delta_compare(SwareDelta *delta, const char *before,
								const char *after);
extern void sware_delta_apply(const SwareDelta *delta, char *page);

#endif							/* SWARE_WAL_H */
