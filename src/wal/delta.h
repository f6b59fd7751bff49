/*-------------------------------------------------------------------------
 *
 * delta.h
 *	  Describes how a page changes, in the form of generic WAL.
 *
 * A delta is a list of fragments.  Redo copies each to its place on the page,
 * and then clears the space between pd_lower and pd_upper:
 *
 *	 | offset | length | bytes ... | offset | length | bytes ... |
 *
 * Offset and length are of two bytes each, and nothing is aligned.  Two
 * fragments have more bytes between them than their header takes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_DELTA_H
#define SWARE_DELTA_H

#include "storage/bufpage.h"

/* what precedes the bytes of a fragment */
typedef struct SwareFragment
{
	OffsetNumber offset;		/* from the beginning of the page */
	OffsetNumber length;
} SwareFragment;

/* a delta of a whole page, on both sides of its free space */
#define SWARE_MAX_DELTA			(BLCKSZ + 2 * sizeof(SwareFragment))

typedef struct SwareDelta
{
	Size		length;
	char		fragments[SWARE_MAX_DELTA];
} SwareDelta;

extern void sware_delta_add(SwareDelta *delta, const char *page,
							const void *start, Size length);
extern void sware_delta_compare(SwareDelta *delta, const char *before,
								const char *after);
extern void sware_delta_apply(const SwareDelta *delta, char *page);

#endif							/* SWARE_DELTA_H */
