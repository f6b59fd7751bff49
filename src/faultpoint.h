/*-------------------------------------------------------------------------
 *
 * faultpoint.h
 *	  Named places at which tests make a session fail, die or wait.
 *
 * Compiled in with "make FAULT_POINTS=1" only.  The setting sware.fault_points
 * holds a list like "flush-inserted=error, split=kill":
 *
 *	error	raises an error
 *	kill	SIGKILLs the session (and so crashes the server)
 *	wait	waits until it gets advisory lock SWARE_FAULT_LOCK, shared; only
 *			for places where no content locks are held
 *	notice	says that it was there
 *
 * The name "*" stands for every point.
 *
 * No point lies between the first and the last store to shared state.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_FAULTPOINT_H
#define SWARE_FAULTPOINT_H

#ifdef SWARE_FAULT_POINTS

#define SWARE_FAULT_LOCK	23265

extern void sware_define_fault_points(void);
extern void sware_define_fault_requests(void);	/* faultrequest.c */
extern void sware_fault_point(const char *name);

#define SWARE_FAULT_POINT(name)	sware_fault_point(name)

#else

#define sware_define_fault_points()	((void) 0)
#define sware_define_fault_requests()	((void) 0)
#define SWARE_FAULT_POINT(name)	((void) 0)

#endif

#endif							/* SWARE_FAULTPOINT_H */
