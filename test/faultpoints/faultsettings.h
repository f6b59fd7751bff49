/*-------------------------------------------------------------------------
 *
 * faultsettings.h
 *	  Fault points, and settings that only tests have.
 *
 * The setting sware.fault_points is a list of names with actions, such as
 * "flush-inserted=error, split=kill".  The actions are:
 *
 *	error	raises an error
 *	kill	sends SIGKILL to the session (and so crashes the server)
 *	wait	waits for the advisory lock SWARE_FAULT_LOCK, shared, and releases
 *			it; where content locks are held, this wait cannot be cancelled
 *	stop	says so in the server's log, and sends SIGSTOP to the session; for
 *			background workers, which have no database yet, or a lock_timeout
 *	notice	reports that the place was reached
 *
 * The name "*" stands for every fault point.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_FAULTSETTINGS_H
#define SWARE_FAULTSETTINGS_H

#include "storage/block.h"
#include "utils/relcache.h"

#define SWARE_FAULT_LOCK	23265

/*
 * a setting: the largest number of slots of a directory; 0 means no limit but
 * that of the metapage
 */
extern int	sware_fault_directory_slots;

/*
 * a setting: buffers of any size get sorted pages, made of this number of
 * unsorted ones; 0 means that large ones do, as they do without the setting
 */
extern int	sware_fault_pages_to_sort;

/*
 * a setting: functions of everybody count as trusted (keys/trust.c), so that
 * tests can have functions that do what no trusted one should
 */
extern bool sware_fault_trust;

/*
 * a setting: rows in order go to the buffer like all others, so that tests can
 * fill it with keys of their choice
 */
extern bool sware_fault_buffer;

/* a setting: it is never rare that a row misses the expected leaves */
extern bool sware_fault_misses;

/* Define the settings of fault points, in _PG_init. */
extern void sware_define_fault_points(void);

/* Define the settings of requests that fail (faultrequest.c), in _PG_init. */
extern void sware_define_fault_requests(void);

/*
 * isolationtester sees only waits for heavyweight locks.  So a session with
 * fault points, at which it may wait, has such a lock on a page, too, while it
 * has a lock in shared memory, and others wait for that first.
 */
extern void sware_show_lock(Relation index, BlockNumber page);
extern void sware_hide_lock(Relation index, BlockNumber page);
extern void sware_wait_for_shown_lock(Relation index, BlockNumber page);

/* Do what sware.fault_points asks for at the fault point of this name. */
extern void sware_fault_point(const char *name);

#define SWARE_SHOW_LOCK(index, page)	sware_show_lock(index, page)
#define SWARE_HIDE_LOCK(index, page)	sware_hide_lock(index, page)
#define SWARE_WAIT_FOR_SHOWN_LOCK(index, page) \
	sware_wait_for_shown_lock(index, page)
#define SWARE_FAULT_POINT(name)		sware_fault_point(name)
#define SWARE_FAULT_SETTING(name)	sware_fault_##name
#define SWARE_DEFINE_FAULT_SETTINGS() \
	(sware_define_fault_points(), sware_define_fault_requests())

#endif							/* SWARE_FAULTSETTINGS_H */
