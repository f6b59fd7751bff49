/*-------------------------------------------------------------------------
 *
 * faultpoint.h
 *	  Fault points: named places at which tests make a session fail, die or
 *	  wait.
 *
 * They are nothing but in a library for tests (make FAULT_POINTS=1), into which
 * test/faultpoints is compiled.
 *
 * No fault point may lie between the first and the last store to shared state
 * that belong together.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_FAULTPOINT_H
#define SWARE_FAULTPOINT_H

#ifdef SWARE_FAULT_POINTS
#include "faultsettings.h"
#else
#define SWARE_FAULT_POINT(name)			((void) 0)
#define SWARE_FAULT_SETTING(name)		0
#define SWARE_DEFINE_FAULT_SETTINGS()	((void) 0)
/* let isolationtester see a lock that is not in the lock manager */
#define SWARE_SHOW_LOCK(index, page)	((void) 0)
#define SWARE_HIDE_LOCK(index, page)	((void) 0)
#define SWARE_WAIT_FOR_SHOWN_LOCK(index, page)	((void) 0)
#endif

#endif							/* SWARE_FAULTPOINT_H */
