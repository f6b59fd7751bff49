/*-------------------------------------------------------------------------
 *
 * bufferview.h
 *	  What of the buffer a batch is read from: the pages that it has under one
 *	  generation, and what is known of them.
 *
 * The parts that may have wanted entries, beside the open pages, are the
 * *sources* of a batch.  Sorted zones come before pages, and either in the
 * order of their first entries, so that most need not be read: enough better
 * entries have been found before.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BUFFERVIEW_H
#define SWARE_BUFFERVIEW_H

#include "cursor/scanfilter.h"
#include "pages/bufferpages.h"
#include "pages/pagesahead.h"
#include "zones/zones.h"

typedef struct SwareBufferSource
{
	int64		first;			/* abbreviation of its first entry, in the
								 * order of the scan; or less */
	bool		isZone;			/* a sorted zone?  Else it is a page */
	int			number;			/* of the zone or page in the view */
	double		rate;			/* how many of its entries are wanted, if its
								 * abbreviations are evenly spread */
} SwareBufferSource;

typedef struct SwareBufferView
{
	SwareBufferState state;		/* what the metapage says */
	SwareZoneView zones;		/* what is known of sealed pages */
	SwareBufferSource *sources;
	int			sourceCount;
	int			sourcesAllocated;
	double		rate;			/* the sum of those of sources */
} SwareBufferView;

extern void sware_buffer_view_init(SwareBufferView *view, Relation index,
								   MemoryContext context);
extern void sware_buffer_view_end(SwareBufferView *view);

/*
 * Bring what is known of sealed pages up to date with the state, without
 * sources.  Returns false if the directory has changed since.
 */
extern bool sware_buffer_view_refresh(SwareBufferView *view);

/*
 * List those sorted zones and sealed pages that may have wanted entries.  May
 * call a hash function, which may raise an error.
 */
extern void sware_buffer_view_list_sealed(SwareBufferView *view,
										  SwareScanFilter *filter);

/*
 * The source with this number is about to be read, and pages had to be read for
 * those before: ask for the pages of some that follow, where these are page
 * runs.  So many entries of each one are likely to be read.
 */
extern void sware_buffer_view_ask(const SwareBufferView *view,
								  const SwareScanFilter *filter,
								  SwarePagesAhead *ahead, int number,
								  int wanted);

/* Are the pages still there that the state lists?  May lock the metapage. */
static inline bool
sware_buffer_view_is_current(const SwareBufferView *view)
{
	return sware_buffer_generation(view->zones.index) == view->state.generation;
}

#endif							/* SWARE_BUFFERVIEW_H */
