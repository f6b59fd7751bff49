/*-------------------------------------------------------------------------
 *
 * dropdead.h
 *	  Leaving out what need not go to the tree: entries of rows that are dead
 *	  to everybody.
 *
 * A row that lives shorter than its entry stays in the buffer never costs a
 * leaf.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_DROPDEAD_H
#define SWARE_DROPDEAD_H

#include "access/itup.h"
#include "utils/rel.h"

/*
 * Leave out entries of rows that the table says are dead to everybody; the
 * others stay in the order in which they are.  Returns how many were left out.
 * Before any of them may go from the index for good, this has told standbys of
 * it.  The caller has the flush lock, which keeps VACUUM from releasing their
 * TIDs, and no content locks.
 *
 * Where few rows of a table die early, only a sample of the entries is asked
 * about, and some that are dead remain.  With `only_marked`, the table is asked
 * about marked ones only, or about all if many are marked: entries that are not
 * in the order of their arrival are of blocks all over the table.
 */
extern int	sware_drop_dead(Relation index, Relation heap, IndexTuple *entries,
							int count, bool only_marked);

#endif							/* SWARE_DROPDEAD_H */
