/*-------------------------------------------------------------------------
 *
 * cache.h
 *	  What a backend remembers of an index between calls (rd_amcache).
 *
 * Links here may be out of date, and must be checked when they are used.  The
 * relation cache frees everything when the index gets another file; a build
 * frees it when the file is the same.
 *
 * The pointer that sware_cache returns is valid until catalogs may be read,
 * which comparators can do, too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_CACHE_H
#define SWARE_CACHE_H

#include "utils/rel.h"

#include "layout/page.h"
#include "pages/bufferpages.h"

/*
 * The leaf at which the next key is expected (tree/expectedleaf.h).  That of
 * the writers has a downlink.
 */
typedef struct SwareExpectedLeaf
{
	SwareLink	link;			/* or no link if none is expected */
	int64		lowest;			/* first columns' numbers that may be there */
	int64		highest;
	int			strays;			/* keys in a row that belong elsewhere */
	int			patience;		/* after so many of them, look for another
								 * leaf */
} SwareExpectedLeaf;

/* May entries of the index wait (keys/trust.h)? */
typedef enum SwareWaiting
{
	SWARE_WAITING_IS_UNKNOWN,
	SWARE_MAY_WAIT,
	SWARE_MAY_NOT_WAIT
} SwareWaiting;

typedef struct SwareCache
{
	SwareLink	root;			/* as the metapage had it */
	int			level;			/* level of the root */
	bool		allEqualImage;	/* never changes while the file is the same */
	uint64		indexIncarnation;	/* nor does this, except in a build */
	SwareWaiting waiting;
	SwareExpectedLeaf readersLeaf;
	SwareExpectedLeaf writersLeaf;
	SwareLink	tail;			/* an open buffer page, or no link */
	SwareBufferState bufferState;	/* what the metapage said of the buffer */
	uint64		metapageVersion;	/* when it said so; or SWARE_NO_VERSION */
	uint64		emptyRootVersion;	/* of the page SWARE_FIRST_ROOT when it
									 * was all of the tree, and had no items;
									 * or SWARE_NO_VERSION */
} SwareCache;

extern SwareCache *sware_cache(Relation index);
extern void sware_cache_refresh_root(Relation index);
extern void sware_cache_set_waiting(Relation index, SwareWaiting waiting);
extern void sware_cache_set_leaf(Relation index, bool is_writer,
								 const SwareExpectedLeaf *leaf);
extern void sware_cache_set_tail(Relation index, SwareLink tail);
extern void sware_cache_set_empty_root(Relation index, uint64 version);
extern void sware_cache_forget(Relation index);

#endif							/* SWARE_CACHE_H */
