/*-------------------------------------------------------------------------
 *
 * internalcopies.h
 *	  A backend's copies of internal pages, for descents of readers.
 *
 * A descent may be delayed between a page and its child as long as it likes.
 * So a reader may also take the downlink from a *copy* of the page, however
 * old it is.  That costs neither a pin nor a lock, and needs no invalidation,
 * on a standby neither.  But whatever a copy leads to must be checked: the
 * link may be refused, and the place may be to the right.  Then the copies on
 * the way are forgotten, and the descent begins again.
 *
 * A copy counts for one page of one build of an index in one file.  A build in
 * the same file has another incarnation of the index.  A command that copies
 * the file, as ALTER INDEX ... SET TABLESPACE does, keeps the incarnation: if
 * it is rolled back, the two files have different pages with the same link.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_INTERNALCOPIES_H
#define SWARE_INTERNALCOPIES_H

#include "utils/rel.h"

#include "base/compat.h"
#include "keys/searchkey.h"
#include "layout/page.h"

/* Descents use copies on this number of levels at most, the highest ones. */
#define SWARE_MAX_COPIED_LEVELS	8

/* A build of an index, in a file. */
typedef struct SwareIndexBuild
{
	uint64		incarnation;	/* of the index */
	SwareFile	file;
} SwareIndexBuild;

/* The copies that a descent has used. */
typedef struct SwareCopiesUsed
{
	SwareIndexBuild build;
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
