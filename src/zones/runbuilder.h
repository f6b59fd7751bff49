/*-------------------------------------------------------------------------
 *
 * runbuilder.h
 *	  Building the sorted zone of a run.
 *
 * A builder is told the entries of one page after another.  It keeps none of
 * them but the first of each page.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_RUNBUILDER_H
#define SWARE_RUNBUILDER_H

#include "access/itup.h"

#include "zones/sortedzone.h"

/* for test modules, see tree.h */
#pragma GCC visibility push(default)

typedef struct SwareRunBuilder SwareRunBuilder;

/*
 * Begin to build.  Takes memory from the current context, and later too, which
 * must be that context whenever a function here is called.
 */
extern SwareRunBuilder *sware_run_builder_begin(Relation index);

/*
 * Add the run's next page, which has these entries, one behind another from the
 * start of the page on.  There are SWARE_MAX_ZONE_PAGES at most.  Calls hash
 * functions, which may raise errors; the caller holds no locks.
 */
extern void sware_run_builder_add(SwareRunBuilder *builder, SwareLink link,
								  uint64 seal, IndexTuple *entries, int count);

/* Make the zone of the pages.  Returns false if they have no entries. */
extern bool sware_run_builder_finish(SwareRunBuilder *builder,
									 SwareZoneImage *image);

/*
 * Build the zone of the pages that the links lead to.  Returns false if one of
 * them is gone, or is not a sorted one.  Locks one page at a time, and none
 * while hash functions are called.
 */
extern bool sware_run_zone_build(Relation index, const SwareLink *links,
								 int count, SwareZoneImage *image);

#pragma GCC visibility pop

#endif							/* SWARE_RUNBUILDER_H */
