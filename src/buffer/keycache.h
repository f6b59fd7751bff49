/*-------------------------------------------------------------------------
 *
 * keycache.h
 *	  The key cache: which keys are on the buffer pages that are in no sorted
 *	  block, as a backend remembers it.
 *
 * Who looks for one key, that is, for entries that are equal to it in all key
 * columns, nearly always finds none.  To compare it with all entries of these
 * pages would cost more than all else.  So their fingerprints (keylock.h) are
 * remembered: each entry is hashed once by each backend that looks for keys.
 *
 * What is remembered of a page never becomes wrong, only incomplete: open pages
 * are appended to, sealed ones never change, and a block that becomes another
 * page gets another incarnation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_KEYCACHE_H
#define SWARE_KEYCACHE_H

#include "utils/rel.h"

#include "tree/page.h"

/*
 * So many pages may be asked about for each look-up.  If there are many more of
 * them, they would drive each other out of the cache, between two look-ups.
 */
#define SWARE_KEY_CACHE_REACH	64

typedef struct SwareSoughtKey
{
	uint64		indexIncarnation;	/* of the index that is looked into */
	uint64		fingerprint;
	uint64		methods;		/* sware_hash_methods() when it was made */
} SwareSoughtKey;

/*
 * May a buffer page have an entry with a key?  True if that is not known, and
 * if the page is not the one that the link means any more.
 *
 * The answer is about the page as it is now, or, if it is sealed, as it was
 * then, though it may have retired.  Share-locks it for a moment, unless it is
 * known to be sealed; the caller holds no content locks.  Hash functions run
 * without locks, and may raise errors.
 */
extern bool sware_page_may_have_key(Relation index, SwareLink page,
									const SwareSoughtKey *key);

#endif							/* SWARE_KEYCACHE_H */
