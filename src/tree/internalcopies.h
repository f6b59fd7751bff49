/*-------------------------------------------------------------------------
 *
 * internalcopies.h
 *	  A backend's copies of internal pages, for descents of readers.
 *
 * A descent may be delayed between a page and its child as long as it likes:
 * meanwhile splits move the place to the right of the child, and a link to a
 * page that was deleted is refused.  So a reader may also take the downlink
 * from a *copy* of the page, however old it is.  That costs neither a pin nor a
 * lock, and needs no invalidation, on a standby neither.
 *
 * A copy is known by the incarnations of index and page, so it never counts for
 * another page.  Whatever it leads to must be checked: the link may be refused,
 * and the place may be to the right.  Then the copies on the way are forgotten,
 * and the descent begins again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_INTERNALCOPIES_H
#define SWARE_INTERNALCOPIES_H

#include "utils/rel.h"

#include "keys/searchkey.h"
#include "layout/page.h"

/* Descents use copies on this number of levels at most, the highest ones. */
#define SWARE_MAX_COPIED_LEVELS	8

/* The copies that a descent has used. */
typedef struct SwareCopiesUsed
{
	uint64		indexIncarnation;
	int			count;
	uint16		slots[SWARE_MAX_COPIED_LEVELS];
} SwareCopiesUsed;

extern void sware_follow_copies(SwareCopiesUsed *used, Relation index,
								const SwareSearchKey *key, bool rightmost,
								SwareLink *page, int *level);
extern void sware_forget_copies(const SwareCopiesUsed *used);
extern void sware_note_internal_page(const SwareCopiesUsed *used,
									 BlockNumber block, Page page);

#endif							/* SWARE_INTERNALCOPIES_H */
