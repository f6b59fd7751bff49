/*-------------------------------------------------------------------------
 *
 * forecast.h
 *	  How full leaves at the right end of the tree are made, so that the late
 *	  entries that are to be expected find room (insert forecasting: TreeLine).
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_FORECAST_H
#define SWARE_FORECAST_H

#include "access/itup.h"
#include "utils/rel.h"

/*
 * Return how full, in percent, a leaf is made that has entries like this one,
 * and is to get late ones only.  That is the fill factor if the index has no
 * option forecast_fill, or if too little is known.  Nothing but speed and size
 * depends on it, and two calls may return different numbers.
 *
 * The caller may hold content locks; takes a lightweight lock for a moment.
 */
extern int	sware_leaf_fill(Relation index, IndexTuple entry);

#endif							/* SWARE_FORECAST_H */
