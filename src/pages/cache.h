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
 * which comparators can do, too.  After that sware_cache locks the metapage for
 * a moment.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_CACHE_H
#define SWARE_CACHE_H

#include "utils/rel.h"

#include "layout/page.h"
#include "pages/bufferpages.h"

/* A key of a leaf's first item or high key that is larger is not copied. */
#define SWARE_MAX_KEY_COPY			64

/*
 * A copy of a leaf's first item, with one TID, or of its high key.  Its size is
 * 0 if there is none.
 */
typedef union SwareKeyCopy
{
	IndexTupleData tuple;
	char		bytes[SWARE_MAX_KEY_COPY];
	int64		alignment;
} SwareKeyCopy;

/* A leaf at which keys are expected (tree/expectedleaf.c), with a downlink. */
typedef struct SwareExpectedLeaf
{
	SwareLink	link;			/* or no link if none is expected */
	SwareKeyCopy first;			/* what may be there lies behind this */
	SwareKeyCopy highKey;		/* and before this */
	uint32		lastUse;		/* `leafUses` when a writer's key was there */
	bool		isProved;		/* has there been one since it was noted? */
} SwareExpectedLeaf;

/* how many are remembered */
#define SWARE_EXPECTED_LEAVES	4

/* What is known of keys that were at no expected leaf. */
typedef struct SwareStrays
{
	int			count;			/* keys that belonged elsewhere */
	int			patience;		/* look for another leaf after so many */
	int			missed;			/* a sum: are they rare? */
} SwareStrays;

/* May entries of the index wait (keys/trust.c)? */
typedef enum SwareWaiting
{
	SWARE_WAITING_IS_UNKNOWN,
	SWARE_MAY_WAIT,
	SWARE_MAY_NOT_WAIT
} SwareWaiting;

typedef struct SwareCache
{
	/* what the metapage said, when it had this version, or SWARE_NO_VERSION */
	uint64		metapageVersion;
	SwareLink	root;
	int			level;			/* level of the root */
	bool		allEqualImage;	/* never changes while the file is the same */
	uint64		indexIncarnation;	/* nor does this, except in a build */
	SwareBufferState bufferState;

	SwareWaiting waiting;
	SwareExpectedLeaf leaves[SWARE_EXPECTED_LEAVES];
	uint32		leafUses;		/* how often one has been used */
	SwareStrays strays;
	SwareLink	tail;			/* an open buffer page, or no link */
	bool		bypassesBuffer; /* do entries go to the tree at once? */
	uint8		untilQuestion;	/* calls for which this is kept still */
	uint8		scans;			/* scans that the statistics lack */
	bool		owesFlush;		/* is the next insert to flush a piece? */
} SwareCache;

extern SwareCache *sware_cache(Relation index);
extern SwareCache *sware_cache_refresh(Relation index);
extern void sware_cache_forget(Relation index);

#endif							/* SWARE_CACHE_H */
