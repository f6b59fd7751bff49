/*-------------------------------------------------------------------------
 *
 * taking.h
 *	  Taking those entries into a buffer cursor's batch that are wanted; or, if
 *	  the cursor has a visitor, handing them to that.
 *
 * Comparators and conditions run, so callers hold no locks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_TAKING_H
#define SWARE_TAKING_H

#include "cursor/buffercursor.h"
#include "cursor/listreader.h"

/* Take those candidates that are wanted. */
extern void sware_take_candidates(SwareBufferCursor *cursor,
								  const SwareCandidates *candidates);

/*
 * Take the wanted entries of a list that is in order and without duplicates,
 * and count them in *taken.  The reader has been initialised; `source` is that
 * of the entries.  Returns false if the list is gone.
 */
extern bool sware_take_from_list(SwareBufferCursor *cursor,
								 SwareListReader *reader,
								 SwareEntrySource source, int *taken);

#endif							/* SWARE_TAKING_H */
