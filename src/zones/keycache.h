/*-------------------------------------------------------------------------
 *
 * keycache.h
 *	  The key cache: fingerprints of the keys on buffer pages that are in no
 *	  sorted zone, in each backend's private memory.
 *
 * A look-up for one key, that is, for entries that equal it in all key columns,
 * finds none as a rule.  To compare the key with all entries of these pages
 * would cost more than everything else.  So each backend that looks for keys
 * hashes each entry once, and remembers the fingerprints (fingerprint.h).
 *
 * What is remembered of a page never becomes wrong, only incomplete: entries
 * are appended to open pages, sealed pages never change, and a block that is
 * used for another page gets another incarnation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_KEYCACHE_H
#define SWARE_KEYCACHE_H

#include "utils/rel.h"

#include "layout/page.h"


/*
 * A look-up should not ask about more pages than this.  The cache has room for
 * twice as many; if there were more, they would drive each other out between
 * two look-ups.
 */
#define SWARE_KEY_CACHE_REACH	64

/* A key to look for, by its fingerprint. */
typedef struct SwareSoughtKey
{
	uint64		indexIncarnation;	/* of the index that it is looked for in */
	uint64		fingerprint;
	uint64		methods;		/* the result of sware_hash_methods() when the
								 * fingerprint was made */
} SwareSoughtKey;

/*
 * May a buffer page have an entry with a key?  True also if that is not known,
 * or if the page is not the one any more that the link means.
 *
 * The answer is about the page as it is now.  If it is known to be sealed, or
 * not to have changed, the page is not looked at, and may have retired
 * meanwhile.  Otherwise it is share-locked for a moment; the caller holds no
 * content locks.  Hash functions are called without locks, and may raise
 * errors.  Memory comes from a context of the cache's own.
 */
extern bool sware_page_may_have_key(Relation index, SwareLink page,
									const SwareSoughtKey *key);

#endif							/* SWARE_KEYCACHE_H */
