/*-------------------------------------------------------------------------
 *
 * work.h
 *	  Pieces of work: what a session does for an index beside what its user has
 *	  asked for.
 *
 * A piece of work is all that a session does in one go: a flush of a part of
 * the buffer, or the sorting of pages in its place; the whole flush of VACUUM
 * or sware_flush; the making of a sorted zone; the publishing of more than a
 * few staged entries.  It is counted, with its time, and logged if it takes
 * longer than sware.log_min_flush_duration.  One piece may be done within
 * another one: then both are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_WORK_H
#define SWARE_WORK_H

#include "portability/instr_time.h"
#include "utils/rel.h"

#include "shared/statistics.h"

typedef enum SwareWorkKind
{
	SWARE_FLUSH_WORK,
	SWARE_ZONE_WORK,
	SWARE_PUBLISH_WORK
} SwareWorkKind;

/* A piece of work that has begun. */
typedef struct SwareWork
{
	Relation	index;
	SwareWorker worker;
	instr_time	start;
	int64		before[SWARE_COUNTERS]; /* what the session had counted */
} SwareWork;

/* Begin a piece of work; the caller keeps the index open until it ends. */
extern void sware_work_begin(SwareWork *work, Relation index,
							 SwareWorker worker);

/*
 * Count a piece of work that has ended, unless nothing was to be done, and log
 * it if it took long.  That may raise an error, for instance if the statement
 * is cancelled; so the caller has finished its changes, and has given up all
 * locks that it took for them.  After an error there is nothing to be called.
 */
extern void sware_work_end(const SwareWork *work, SwareWorkKind kind);

#endif							/* SWARE_WORK_H */
