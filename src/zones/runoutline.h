/*-------------------------------------------------------------------------
 *
 * runoutline.h
 *	  Outlines: what the directory tells of page runs, as zones that take
 *	  little reading to make.  Only the files of this room include this.
 *
 * Nobody should have to read a whole buffer before a look-up, as the first
 * reader after a restart.  So the pages of a page run that are in no zone yet
 * get an outline, for which the first and the last one are read.  A reader
 * finds an entry in it by guessing and halving, and reads a page for each step.
 * Readers then build zones with fences and filters of some pages at a time,
 * which the outline loses (zonesort.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_RUNOUTLINE_H
#define SWARE_RUNOUTLINE_H

#include "pages/bufferpages.h"
#include "zones/zones.h"

/* New outlines, in the order of sealing, before they are in the pool. */
typedef struct SwareOutlines
{
	SwareZoneImage *images;		/* each allocated, as are their bytes */
	int			count;
	int			allocated;
	int			pages;			/* of all of them */
} SwareOutlines;

/*
 * Make outlines of all sorted pages among those listed for which is_sorted is
 * not set, and set it, unless a page is not there any more.  Takes memory from
 * the current context.  Locks one page at a time.
 */
extern void sware_outlines_make(Relation index, const SwareListedPage *listed,
								int count, bool *is_sorted,
								SwareOutlines *outlines);

/*
 * Copy outlines to the pool, and add them to the zones of a view.  Returns
 * false if the pool has no room for all of them; then none is there.  The
 * caller must publish the view, or free them by sware_outlines_free, before
 * anything can fail or be interrupted.  Takes the pool's lock for a moment.
 */
extern bool sware_outlines_store(SwareOutlines *outlines, SwareZoneView *view);

/* Free outlines in the pool that were not published. */
extern void sware_outlines_free(SwareOutlines *outlines);

#endif							/* SWARE_RUNOUTLINE_H */
