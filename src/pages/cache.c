/*-------------------------------------------------------------------------
 *
 * cache.c
 *	  What a backend remembers of an index between calls (rd_amcache).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "layout/page.h"
#include "pages/cache.h"
#include "pages/pageaccess.h"
#include "shared/pageversions.h"

/*
 * Set what the cache has of the metapage, which is locked for a moment.  The
 * version is read before the page.
 */
static void
read_metapage(Relation index, SwareCache *cache)
{
	SwareBufferState *state = &cache->bufferState;
	uint64		version = sware_page_version(index, SWARE_METAPAGE);
	Buffer		buffer =
		sware_read_buffer(index, SWARE_METAPAGE, BUFFER_LOCK_SHARE);
	Page		page = BufferGetPage(buffer);
	SwareMetaPage meta = SwarePageGetMeta(page);

	cache->metapageVersion = version;
	cache->root = meta->root;
	cache->level = meta->level;
	cache->allEqualImage = meta->allEqualImage;
	cache->indexIncarnation = state->indexIncarnation = meta->indexIncarnation;
	state->generation = meta->bufferGeneration;
	state->version = meta->directoryVersion;
	state->lsn = PageGetLSN(page);
	state->sealedPages = meta->sealedPages;
	state->tailCount = 0;
	for (int i = 0; i < SWARE_MAX_TAILS; i++)
	{
		if (sware_link_is_valid(meta->tails[i]))
			state->tails[state->tailCount++] = meta->tails[i];
	}
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
		index->rd_amcache =
			MemoryContextAlloc(index->rd_indexcxt, sizeof(SwareCache));
		memcpy(index->rd_amcache, &cache, sizeof(SwareCache));
	}
	return (SwareCache *) index->rd_amcache;
}

/*
 * Read the metapage again, when it has changed, or the root is not where the
 * cache says.  Returns the cache.
 */
SwareCache *
sware_cache_refresh(Relation index)
{
	SwareCache	fresh;
	SwareCache *cache;

	read_metapage(index, &fresh);
	cache = sware_cache(index);
	memcpy(cache, &fresh, offsetof(SwareCache, waiting));
	return cache;
}

/* Forget everything, when the file is about to be built anew. */
void
sware_cache_forget(Relation index)
{
	if (index->rd_amcache)
		pfree(index->rd_amcache);
	index->rd_amcache = NULL;
}
