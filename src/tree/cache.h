/*-------------------------------------------------------------------------
 *
 * cache.h
 *	  What a backend remembers of an index between calls (rd_amcache).
 *
 * Everything here may be out of date, and is checked when it is used.  What
 * sware_cache returns is valid until the next thing that may look at catalogs,
 * comparators included.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_CACHE_H
#define SWARE_CACHE_H

#include "utils/rel.h"

#include "layout/page.h"


typedef struct SwareCache
{
	SwareLink	root;			/* as the metapage had it */
	int			level;			/* of the root */
	bool		allEqualImage;	/* never changes while the file is the same */
	SwareLink	rightmost;		/* rightmost leaf, or no link if not known */
	SwareLink	tail;			/* open page of the buffer, or no link */
} SwareCache;

extern SwareCache *sware_cache(Relation index);
extern void sware_cache_refresh_root(Relation index);
extern void sware_cache_set_rightmost(Relation index, SwareLink rightmost);
extern void sware_cache_set_tail(Relation index, SwareLink tail);
extern void sware_cache_forget(Relation index);

#endif							/* SWARE_CACHE_H */
