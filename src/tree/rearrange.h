/*-------------------------------------------------------------------------
 *
 * rearrange.h
 *	  Stores entries of a run in a leaf that has no room for them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_REARRANGE_H
#define SWARE_REARRANGE_H

#include "storage/bufmgr.h"

#include "keys/searchkey.h"
#include "tree/descent.h"

/* Runs comparators. */
extern int	sware_rearrange(SwareSearchKey *key, Buffer buffer,
							IndexTuple *entries, int count, SwareStack *stack);

#endif							/* SWARE_REARRANGE_H */
