/*-------------------------------------------------------------------------
 *
 * sortedness.h
 *	  How nearly rows are in order, and what index that speaks for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SORTEDNESS_H
#define SWARE_SORTEDNESS_H

/* What is known of the rows that have been measured so far. */
typedef struct SwareMeasurement
{
	int64		rows;
	int64		inOrder;		/* length of the longest ascending run */
	int64		largestDisplacement;
	int64	   *lasts;			/* lasts[n]: the smallest last number of an
								 * ascending subsequence of length n + 1 */
	int64		allocated;		/* elements that lasts has room for */
} SwareMeasurement;

/* Begin to measure; memory is taken from the current context. */
extern void sware_begin_measurement(SwareMeasurement *measurement);

/*
 * Add the next row, in the order of values, which has this number.  The first
 * number is 1.
 */
extern void sware_measure_row(SwareMeasurement *measurement, int64 number);

/*
 * Recommend access methods, and the size of a buffer for sware in megabytes.
 * K and L are in percent; rows is the number of all rows of the table, and
 * displacement the largest one among them.
 */
extern const char *sware_recommend(double k, double l, double rows,
								   double displacement, Size entry,
								   int *megabytes);

#endif							/* SWARE_SORTEDNESS_H */
