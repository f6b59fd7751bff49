/*-------------------------------------------------------------------------
 *
 * cache.c
 *	  What a backend remembers of an index between calls (rd_amcache).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "layout/page.h"
#include "pages/cache.h"
#include "pages/pageaccess.h"
#include "shared/pageversions.h"

/* Copy the metapage's data to the cache.  Locks the metapage for a moment. */
static void
read_metapage(Relation index, SwareCache *cache)
{
	Buffer		buffer =
		sware_read_buffer(index, SWARE_METAPAGE, BUFFER_LOCK_SHARE);
	SwareMetaPage meta = SwarePageGetMeta(BufferGetPage(buffer));

	cache->root = meta->root;
	cache->level = meta->level;
	cache->allEqualImage = meta->allEqualImage;
	cache->indexIncarnation = meta->indexIncarnation;
	sware_release_buffer(buffer);
}

/*
 * Return the cache of an index, filled from the metapage if it does not exist
 * yet.
 */
SwareCache *
sware_cache(Relation index)
{
	if (index->rd_amcache == NULL)
	{
		SwareCache	cache = {.waiting = SWARE_WAITING_IS_UNKNOWN};

		read_metapage(index, &cache);
		for (int i = 0; i < SWARE_EXPECTED_LEAVES; i++)
			cache.leaves[i].link.block = InvalidBlockNumber;
		cache.tail = cache.leaves[0].link;
		cache.metapageVersion = SWARE_NO_VERSION;
		index->rd_amcache =
			MemoryContextAlloc(index->rd_indexcxt, sizeof(SwareCache));
		memcpy(index->rd_amcache, &cache, sizeof(SwareCache));
	}
	return (SwareCache *) index->rd_amcache;
}

/* Read the metapage again, when the root is not where the cache says. */
void
sware_cache_refresh_root(Relation index)
{
	SwareCache	fresh;
	SwareCache *cache;

	read_metapage(index, &fresh);
	cache = sware_cache(index);
	cache->root = fresh.root;
	cache->level = fresh.level;
	cache->allEqualImage = fresh.allEqualImage;
}

/* Forget everything, when the file is about to be built anew. */
void
sware_cache_forget(Relation index)
{
	if (index->rd_amcache)
		pfree(index->rd_amcache);
	index->rd_amcache = NULL;
}
