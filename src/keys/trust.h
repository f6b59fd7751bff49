/*-------------------------------------------------------------------------
 *
 * trust.h
 *	  May the entries of an index wait, so that they are compared later?
 *
 * An entry that waits, in private memory or in the buffer, is compared by a
 * COMMIT or by whoever flushes, and not in the INSERT.  Nobody can notice that
 * if no comparison can fail, and none executes code of anybody but a superuser.
 * A function is *trusted* if it is written in C, or built in, and belongs to a
 * superuser.  Entries of all other indexes are stored in the tree at once
 * (docs/architecture.md).
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_TRUST_H
#define SWARE_TRUST_H

#include "utils/rel.h"

/* Is a function trusted?  Reads catalogs. */
extern bool sware_is_trusted(Oid function);

/*
 * May the entries of an index wait?  Decided once for each entry of the
 * relation cache.  May read catalogs and the metapage, so no lightweight lock
 * may be held, except by code that calls comparison functions, too.
 */
extern bool sware_may_wait(Relation index);

/*
 * Might they, if an index of nbtree's were one of sware's?  Reads catalogs.
 */
extern bool sware_keys_may_wait(Relation index);

#endif							/* SWARE_TRUST_H */
