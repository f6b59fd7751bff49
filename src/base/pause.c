/*-------------------------------------------------------------------------
 *
 * pause.c
 *	  Pauses of a process that works for others.  See pause.h.
 *
 * The operating system lets a process that always has something to do keep a
 * processor for some milliseconds, and a session that wakes up there meanwhile
 * has to wait.  A process that sleeps often is not in its way.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "base/pause.h"

/* It sleeps when it has used the processor for so long, in microseconds. */
#define WORK_TIME		200
#define SLEEP_TIME		50

bool		sware_pauses = false;

void
sware_pause(void)
{
	static clock_t latest;		/* the time used before the latest pause */
	clock_t		now = clock();

	if (InterruptHoldoffCount > 0 ||
		now - latest < WORK_TIME * (CLOCKS_PER_SEC / 1000000))
		return;
	pg_usleep(SLEEP_TIME);
	latest = now;
}
