/*-------------------------------------------------------------------------
 *
 * survey.h
 *	  Sampled entries of an nbtree index.
 *
 * Leaves that are spread evenly over the order of the keys are read.  A leaf
 * has its entries in the order of the keys, and their TIDs tell the order of
 * the table, in which rows arrived if the table is filled at its end.  So no
 * key is compared: no function of an operator class or of an expression is
 * called.
 *
 * Pages are copied, and nothing on a copy is trusted: a page that is not what
 * its downlink says is passed over.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SURVEY_H
#define SWARE_SURVEY_H

#include "datatype/timestamp.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

/* a sampled entry */
typedef struct SwareSample
{
	int64		row;			/* its TID, as a number */
	int64		rank;			/* among all samples, by row */
	double		displacement;	/* in rows of the table */
	int			leaf;			/* a number of the sampled leaf */
} SwareSample;

/* what is known of an index */
typedef struct SwareSurvey
{
	Relation	heap;
	Relation	index;
	BufferAccessStrategy strategy;
	bool		hasDeadline;
	TimestampTz deadline;
	bool		isTimeUp;		/* then what has been found is of no use */
	PGAlignedBlock page;		/* a copy of the page read last */

	SwareSample *samples;		/* in the order of the keys */
	int64		count;
	int64		allocated;
	int			leaves;			/* that were sampled */
	int			filledLeaves;	/* those of them that have samples */
	int64		entries;		/* that they have, NULLs included */
	double		usedBytes;		/* of these: items and line pointers */
	double		tupleBytes;		/* entries, as if each were a tuple */
	double		allLeaves;		/* an estimate of how many the index has */

	double		k;				/* in percent, as sware_sortedness has them */
	double		l;
	int			megabytes;		/* of the buffer recommended */
	bool		isForNbtree;	/* does the order speak against sware? */
	double		rowsInserted;	/* by a transaction; 0: not known */
	bool		isBulk;			/* that number is a lower bound */
	double		savedWal;		/* bytes an entry */
} SwareSurvey;

/* Is the time up?  The answer stays yes. */
extern bool sware_is_time_up(SwareSurvey *survey);

/*
 * Sample leaves, as many as wanted if the index has them, unless the time is
 * up.  Heap and index are open and locked, and survey->strategy is set.
 */
extern void sware_survey_leaves(SwareSurvey *survey, int wanted);

/*
 * Find out how many rows a transaction inserts, by the rows at the end of the
 * table.  Versions that UPDATE has made do not count.
 */
extern void sware_survey_heap(SwareSurvey *survey);

#endif							/* SWARE_SURVEY_H */
