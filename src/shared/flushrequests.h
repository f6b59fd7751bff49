/*-------------------------------------------------------------------------
 *
 * flushrequests.h
 *	  Requests of inserters, and of scans, to flush workers, in shared memory.
 *
 * A flush worker is a background worker that flushes buffers of one database's
 * indexes (worker/flushworker.c), so that inserters need not.  An inserter that
 * finds a buffer beyond its quota requests a flush of it, and so does a scan if
 * entries bypass the buffer, and it has some.  If its database has
 * no worker, that starts one, unless requests are rare and pieces are short: a
 * worker would cost more than it saves then.  The inserter itself flushes in
 * this case, if there can be no worker, or if the worker could not flush this
 * index a moment ago.
 *
 * Each worker has a *post*, which the request that starts it takes, with a
 * number that no other worker has:
 *
 *	 free --request--> STARTING --worker begins--> RUNNING --worker ends--> free
 *						  |
 *						  +-- the postmaster has started nobody in time: another
 *							  request may take the post, with another number
 *
 * Invariants, which a lightweight lock guards:
 *	- A database has one post at most, and `sware.flush_workers` posts are taken
 *	  at most, until that is lowered.
 *	- A worker works only while the post has its number.
 *	- A worker gives up its post only if nothing is requested, or because it has
 *	  to end; so a request either finds a post that will be looked at again, or
 *	  none.  If the worker dies instead, inserters flush, as without workers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_FLUSHREQUESTS_H
#define SWARE_FLUSHREQUESTS_H

#include "utils/rel.h"

/* How does a request end? */
typedef enum SwareRequested
{
	SWARE_REQUEST_REFUSED,		/* nobody else will flush the buffer */
	SWARE_REQUEST_NOTED,		/* the worker will, after others perhaps */
	SWARE_REQUEST_IN_WORK		/* the worker is flushing it, or begins now */
} SwareRequested;

/* When is a worker started, if the database has none? */
typedef enum SwareStart
{
	SWARE_START_NEVER,
	SWARE_START_IF_FREQUENT,	/* if another request came a moment ago */
	SWARE_START_AT_ONCE
} SwareStart;

/*
 * If a piece of an index has raised an error, or has taken too long, the index
 * is left to inserters for so many milliseconds.
 */
#define SWARE_FAILED_REST	60000

/* The same if the worker ends in the middle of a piece for another reason. */
#define SWARE_ENDED_REST	10000

/* See base/sharedmemory.h. */
extern void sware_share_flush_requests(void);

/*
 * Request a flush of an index's buffer, as long as it is beyond its quota,
 * which is 0 if entries bypass it.
 * The caller holds no content locks or lightweight locks, and is in no critical
 * section.  Raises no errors.
 */
extern SwareRequested sware_request_flush(Relation index, SwareStart start);

/*
 * What workers call.  They raise no errors, but take a lightweight lock for a
 * moment.
 */

/*
 * For so many milliseconds the index in work is left to inserters if the worker
 * ends in the middle of its piece.  A signal handler may change it.
 */
extern int	sware_rest_at_exit;

/* Begin to work at the post with this number.  False if it is not there. */
extern bool sware_post_begin(uint32 number, Oid *database);

/*
 * Returns the index, of those requested, that is to be flushed next, and notes
 * that it is in work, and not requested any more; InvalidOid if there is none.
 */
extern Oid	sware_post_next(void);

/*
 * A piece of the index in work is done.  `flushed` says that there was
 * something to be done: then it is requested again, and stays in work until
 * sware_post_next is called.  If `rest` is not 0, it could not be flushed, and
 * requests are refused for so many milliseconds; so they are for a moment if
 * nothing was to be done several times in a row, as the sessions that request
 * it have another quota, or another session is flushing.
 */
extern void sware_post_is_done(bool flushed, int rest);

/*
 * Give up the post; with `if_idle`, only if nothing is requested.  Returns
 * whether it was given up.
 */
extern bool sware_post_end(bool if_idle);

#endif							/* SWARE_FLUSHREQUESTS_H */
