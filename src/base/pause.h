/*-------------------------------------------------------------------------
 *
 * pause.h
 *	  Pauses of a process that works for others.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PAUSE_H
#define SWARE_PAUSE_H

#include "miscadmin.h"

/* Does this process pause?  Set for each piece of work by buffer/flush.c. */
extern bool sware_pauses;

/*
 * Sleep for a moment if this process has used the processor for some time since
 * it did so last.  Does nothing while interrupts are held, as the caller may
 * have locks on pages then, for which others would have to wait.
 */
extern void sware_pause(void);

/* The same, if this process is one that pauses. */
static inline void
sware_pause_if_due(void)
{
	if (unlikely(sware_pauses))
		sware_pause();
}

/* The same, with a check for interrupts. */
static inline void
sware_pause_point(void)
{
	CHECK_FOR_INTERRUPTS();
	sware_pause_if_due();
}

#endif							/* SWARE_PAUSE_H */
