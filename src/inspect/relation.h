/*-------------------------------------------------------------------------
 *
 * relation.h
 *	  Is a relation one that can be inspected?
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_RELATION_H
#define SWARE_RELATION_H

#include "utils/rel.h"

extern bool sware_is_sware_index(Relation relation);
extern void sware_refuse_other_temp(Relation relation);

#endif							/* SWARE_RELATION_H */
