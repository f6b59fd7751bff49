/*-------------------------------------------------------------------------
 *
 * sortedness.h
 *	  How nearly rows are in order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SORTEDNESS_H
#define SWARE_SORTEDNESS_H

/* What is known of the rows that have been measured so far; zero at first. */
typedef struct SwareMeasurement
{
	int64		rows;
	int64		inOrder;		/* length of the longest ascending run */
	int64		largestDisplacement;
	int64	   *lasts;			/* lasts[n]: the smallest last number of an
								 * ascending subsequence of length n + 1 */
	int64		allocated;		/* elements that lasts has room for */
} SwareMeasurement;

/*
 * Add the next row, in the order of values, which has this number.  The first
 * number is 1.  Memory is taken from the current context.
 */
extern void sware_measure_row(SwareMeasurement *measurement, int64 number);

#endif							/* SWARE_SORTEDNESS_H */
