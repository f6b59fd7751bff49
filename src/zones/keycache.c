/*-------------------------------------------------------------------------
 *
 * keycache.c
 *	  The key cache: fingerprints of the keys on buffer pages that are in no
 *	  sorted zone.  See keycache.h.
 *
 * The cache of an index is set-associative: a page can be in one of the eight
 * places of the set that its block number, modulo the number of sets, gives.
 * Each place has a hash table of tags, which are made of the entries'
 * fingerprints.
 *
 * A hash function may execute any query, which may use and change the caches
 * while entries are being hashed for one of them.  So all entries are hashed
 * before the cache is changed, and pointers into it are looked up again
 * afterwards.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "keys/hashfunction.h"
#include "layout/page.h"
#include "keys/fingerprint.h"
#include "pages/bufferpages.h"
#include "pages/pageaccess.h"
#include "shared/pageversions.h"
#include "zones/keycache.h"

#define MAX_CACHES		8		/* indexes */
#define SETS			16
#define PLACES_PER_SET	8
#define TAGS			1024	/* of a page's table; a power of two */
#define MAX_TAGS_USED	(TAGS / 4 * 3)	/* of a page; more are not remembered */

StaticAssertDecl(SETS * PLACES_PER_SET == 2 * SWARE_KEY_CACHE_REACH,
				 "pages that are asked about in turn must stay");

/*
 * the most entries of a page: each has a header, and a byte or more behind it
 */
#define MAX_ENTRIES		(BLCKSZ / MAXALIGN(sizeof(IndexTupleData) + 1))

typedef struct CachedPage
{
	Size		end;			/* entries before this byte are known */
	bool		isComplete;		/* the page is sealed, and all are known */
	uint64		version;		/* of the page, when all were known; or
								 * SWARE_NO_VERSION */
	int			tagsUsed;
	uint64		lastUse;
	uint32	   *tags;			/* an array of TAGS, 0 for none; NULL if the
								 * place is not in use */
} CachedPage;

typedef struct KeyCache
{
	MemoryContext context;		/* has this struct and all its memory */
	SwareFile	file;			/* of the index */
	uint64		indexIncarnation;
	uint64		methods;		/* the result of sware_hash_methods() when the
								 * fingerprints were made */
	uint64		lastUse;
	SwareLink	links[SETS][PLACES_PER_SET];	/* the pages */
	CachedPage	pages[SETS][PLACES_PER_SET];
} KeyCache;

/* The fingerprints of a page's entries that are not in the cache yet. */
typedef struct Addition
{
	Size		start;			/* where these entries begin on the page */
	Size		end;			/* and end */
	bool		isSealed;		/* is the page sealed? */
	uint64		version;		/* of the page, before it was read */
	int			count;
	uint64		fingerprints[MAX_ENTRIES];
} Addition;

static KeyCache *caches[MAX_CACHES];
static uint64 uses = 0;			/* counts uses of caches and pages */

/*
 * Does a cache belong to the index, and to the key's incarnation and methods?
 */
static bool
is_cache_of(const KeyCache *cache, Relation index, const SwareSoughtKey *key)
{
	return cache->indexIncarnation == key->indexIncarnation &&
		cache->methods == key->methods &&
		memcmp(&cache->file, &SwareRelationLocator(index),
			   sizeof(SwareFile)) == 0;
}

/* The cache of an index; NULL if there is none. */
static KeyCache *
find_cache(Relation index, const SwareSoughtKey *key)
{
	for (int i = 0; i < MAX_CACHES && caches[i] != NULL; i++)
	{
		KeyCache   *cache = caches[i];

		if (is_cache_of(cache, index, key))
		{
			/* it will be looked for again soon, so make it the first */
			caches[i] = caches[0];
			caches[0] = cache;
			cache->lastUse = ++uses;
			return cache;
		}
	}
	return NULL;
}

/* Make the cache of an index, in place of the one that was used longest ago. */
static KeyCache *
make_cache(Relation index, const SwareSoughtKey *key)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "sware key cache",
												  ALLOCSET_DEFAULT_SIZES);
	KeyCache   *cache = MemoryContextAllocZero(context, sizeof(KeyCache));
	int			place = 0;

	cache->context = context;
	cache->file = SwareRelationLocator(index);
	cache->indexIncarnation = key->indexIncarnation;
	cache->methods = key->methods;
	cache->lastUse = ++uses;
	MemoryContextSetParent(context, CacheMemoryContext);

	for (int i = 0; i < MAX_CACHES && caches[place] != NULL; i++)
	{
		if (caches[i] == NULL || caches[i]->lastUse < caches[place]->lastUse)
			place = i;
	}
	if (caches[place] != NULL)
		MemoryContextDelete(caches[place]->context);
	caches[place] = cache;
	return cache;
}

/* Find what is known of a page; NULL if nothing is. */
static CachedPage *
find_page(KeyCache *cache, SwareLink link)
{
	int			set = link.block % SETS;

	for (int i = 0; i < PLACES_PER_SET; i++)
	{
		if (sware_links_equal(cache->links[set][i], link) &&
			cache->pages[set][i].tags != NULL)
			return &cache->pages[set][i];
	}
	return NULL;
}

/*
 * Add a page of which nothing is known, in the place of the page of its set
 * that was used longest ago.
 */
static CachedPage *
make_page(KeyCache *cache, SwareLink link)
{
	int			set = link.block % SETS;
	CachedPage *pages = cache->pages[set];
	int			place = 0;
	uint32	   *tags;

	for (int i = 1; i < PLACES_PER_SET && pages[place].tags != NULL; i++)
	{
		if (pages[i].tags == NULL || pages[i].lastUse < pages[place].lastUse)
			place = i;
	}
	tags = pages[place].tags;
	if (tags == NULL)
		tags = MemoryContextAlloc(cache->context, TAGS * sizeof(uint32));
	memset(tags, 0, TAGS * sizeof(uint32));
	cache->links[set][place] = link;
	pages[place] = (CachedPage)
	{
		.end = SWARE_BUFFER_START,.tags = tags
	};
	return &pages[place];
}

/*
 * The tag that stands for a fingerprint.  Sets *place to where the search for
 * it in a page's table begins.
 */
static inline uint32
make_tag(uint64 fingerprint, int *place)
{
	uint64		mixed =
		(fingerprint ^ (fingerprint >> 32)) * UINT64CONST(0x9E3779B97F4A7C15);
	uint32		tag = (uint32) (mixed >> 32);

	*place = tag % TAGS;
	return tag == 0 ? 1 : tag;
}

/* May a page have the key with a fingerprint? */
static bool
has_tag(const CachedPage *page, uint64 fingerprint)
{
	int			place;
	uint32		tag = make_tag(fingerprint, &place);

	while (page->tags[place] != 0)
	{
		if (page->tags[place] == tag)
			return true;
		place = (place + 1) % TAGS;
	}
	return false;
}

/* Add the tag of a fingerprint to a page's table. */
static void
add_tag(CachedPage *page, uint64 fingerprint)
{
	int			place;
	uint32		tag = make_tag(fingerprint, &place);

	while (page->tags[place] != 0)
	{
		if (page->tags[place] == tag)
			return;
		place = (place + 1) % TAGS;
	}
	page->tags[place] = tag;
	page->tagsUsed++;
}

/*
 * Hash the entries of a page from addition->start to addition->end.  The copy
 * has the page's header and these entries.  Returns false if they have no
 * fingerprints.  Calls hash functions, which may raise errors.
 */
static bool
hash_entries(Relation index, BlockNumber block, Page copy, Addition *addition)
{
	TupleDesc	descriptor = RelationGetDescr(index);
	int			columns = IndexRelationGetNumberOfKeyAttributes(index);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "sware key hashing",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	bool		tells = true;

	addition->count = 0;
	for (Size offset = addition->start; tells && offset < addition->end;)
	{
		IndexTuple	entry = sware_buffer_entry(index, block, copy, &offset);
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];
		SwareFingerprint fingerprint;

		for (int i = 0; i < columns; i++)
			values[i] = index_getattr(entry, i + 1, descriptor, &isnull[i]);
		fingerprint = sware_fingerprint(index, values, isnull);
		tells = fingerprint.tells && addition->count < (int) MAX_ENTRIES;
		if (tells)
			addition->fingerprints[addition->count++] = fingerprint.value;
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return tells;
}

/*
 * Fill an addition with the fingerprints of the page's entries from
 * addition->start on.  Returns false if the page is not the one any more that
 * the link means, or if its entries have no fingerprints.  Share-locks the page
 * for a moment.
 */
static bool
read_on(Relation index, SwareLink link, Addition *addition)
{
	PGAlignedBlock copy;
	Buffer		buffer;
	Page		page;

	CHECK_FOR_INTERRUPTS();
	addition->version = sware_page_version(index, link.block);
	buffer = sware_read_buffer_page(index, link, BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buffer))
		return false;
	page = BufferGetPage(buffer);
	addition->end = sware_buffer_page_end(page);
	addition->isSealed = sware_buffer_page_is_sealed(page);
	addition->count = 0;
	if (addition->end > addition->start)
	{
		memcpy(copy.data, page, SizeOfPageHeaderData);
		memcpy(copy.data + addition->start, (char *) page + addition->start,
			   addition->end - addition->start);
	}
	sware_release_buffer(buffer);
	return addition->end == addition->start ||
		(addition->end > addition->start &&
		 hash_entries(index, link.block, copy.data, addition));
}

/*
 * Add an addition to the cache, and return what is known of the page then.
 * Returns NULL if it was not added: a hash function may have changed the cache
 * meanwhile, so that the addition does not begin where the known entries end;
 * or there are too many tags.
 */
static CachedPage *
remember(Relation index, SwareLink link, const SwareSoughtKey *key,
		 const Addition *addition)
{
	KeyCache   *cache = find_cache(index, key);
	CachedPage *page;

	/* hash functions may have been replaced meanwhile */
	if (sware_hash_methods() != key->methods)
		return NULL;
	if (cache == NULL)
		cache = make_cache(index, key);
	page = find_page(cache, link);
	if (page == NULL)
		page = make_page(cache, link);
	if (page->end != addition->start ||
		page->tagsUsed + addition->count > MAX_TAGS_USED)
		return NULL;

	for (int i = 0; i < addition->count; i++)
		add_tag(page, addition->fingerprints[i]);
	page->end = addition->end;
	page->isComplete = addition->isSealed;
	page->version = addition->version;
	return page;
}

bool
sware_page_may_have_key(Relation index, SwareLink link,
						const SwareSoughtKey *key)
{
	KeyCache   *cache = find_cache(index, key);
	CachedPage *page = cache == NULL ? NULL : find_page(cache, link);

	if (sware_hash_methods() != key->methods)
		return true;
	if (page == NULL ||
		!(page->isComplete ||
		  sware_is_page_version(index, link.block, page->version)))
	{
		Addition	addition;

		addition.start = page == NULL ? SWARE_BUFFER_START : page->end;
		if (!read_on(index, link, &addition))
			return true;
		page = remember(index, link, key, &addition);
		if (page == NULL)
			return true;
	}
	page->lastUse = ++uses;
	return has_tag(page, key->fingerprint);
}
