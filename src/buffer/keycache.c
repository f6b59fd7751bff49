/*-------------------------------------------------------------------------
 *
 * keycache.c
 *	  Which keys are on the buffer pages that are in no sorted block.  See
 *	  keycache.h.
 *
 * The cache of an index has places for pages, in sets: a page has its place in
 * the set that its block number belongs to.  With it goes a hash table of tags,
 * which are made of the fingerprints of entries.
 *
 * A hash function may run any query, and so use the caches while entries are
 * hashed for one of them.  Nothing is changed before they all have been, and
 * then everything is looked for again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "buffer/directory.h"
#include "buffer/keycache.h"
#include "buffer/hashfunction.h"
#include "buffer/keylock.h"
#include "buffer/sharedbuffer.h"
#include "compat.h"
#include "tree/tree.h"

#define MAX_CACHES		8		/* indexes */
#define SETS			16		/* places for pages: two times the reach */
#define PLACES_PER_SET	8
#define TAGS			1024	/* a power of two; the table of a page */
#define MAX_TAGS_USED	(TAGS / 4 * 3)

StaticAssertDecl(SETS * PLACES_PER_SET == 2 * SWARE_KEY_CACHE_REACH,
				 "pages that are asked about in turn must stay");

/* a page has no more entries: each has a header, and something behind it */
#define MAX_ENTRIES		(BLCKSZ / MAXALIGN(sizeof(IndexTupleData) + 1))

typedef struct CachedPage
{
	Size		end;			/* of the entries that are known */
	bool		isComplete;		/* the page is sealed, and all are known */
	int			tagsUsed;
	uint64		lastUse;
	uint32	   *tags;			/* TAGS of them, 0 for none; NULL: place not in use */
} CachedPage;

typedef struct KeyCache
{
	MemoryContext context;		/* of this and all that belongs to it */
	SwareFile	file;			/* what it is the cache of */
	uint64		indexIncarnation;
	uint64		methods;		/* sware_hash_methods() of all fingerprints */
	uint64		lastUse;
	SwareLink	links[SETS][PLACES_PER_SET];	/* the pages */
	CachedPage	pages[SETS][PLACES_PER_SET];
} KeyCache;

/* fingerprints of entries that are not in the cache yet */
typedef struct Addition
{
	Size		start;			/* on the page; all before are known */
	Size		end;
	bool		isSealed;
	int			count;
	uint64		fingerprints[MAX_ENTRIES];
} Addition;

static KeyCache *caches[MAX_CACHES];
static uint64 uses = 0;

static bool
is_cache_of(const KeyCache *cache, Relation index, const SwareSoughtKey *key)
{
	return cache->indexIncarnation == key->indexIncarnation &&
		cache->methods == key->methods &&
		memcmp(&cache->file, &SwareRelationLocator(index), sizeof(SwareFile)) == 0;
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
			/* it is asked for again soon */
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

/* What is known of a page; NULL if nothing is. */
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
 * Make room for a page, of which nothing is known, in place of the one of its
 * set that was used longest ago.
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
	pages[place] = (CachedPage) {.end = SWARE_BUFFER_START,.tags = tags};
	return &pages[place];
}

/* The tag that stands for a fingerprint, and where it is looked for first. */
static inline uint32
make_tag(uint64 fingerprint, int *place)
{
	uint64		mixed = (fingerprint ^ (fingerprint >> 32)) * UINT64CONST(0x9E3779B97F4A7C15);
	uint32		tag = (uint32) (mixed >> 32);

	*place = tag % TAGS;
	return tag == 0 ? 1 : tag;
}

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
 * Hash the entries of a page from addition->start on, of a copy that has its
 * header and these.  False if they cannot be hashed.
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
 * Get what a page has from addition->start on.  False if the page is not the
 * one that the link means any more, or its entries cannot be hashed.  Share-locks
 * it for a moment.
 */
static bool
read_on(Relation index, SwareLink link, Addition *addition)
{
	PGAlignedBlock copy;
	Buffer		buffer;
	Page		page;

	CHECK_FOR_INTERRUPTS();
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
 * Remember an addition.  Returns what is known of the page then; NULL if the
 * addition is not one to what is known.
 */
static CachedPage *
remember(Relation index, SwareLink link, const SwareSoughtKey *key,
		 const Addition *addition)
{
	KeyCache   *cache = find_cache(index, key);
	CachedPage *page;

	/* not those of other hash functions */
	if (sware_hash_methods() != key->methods)
		return NULL;
	if (cache == NULL)
		cache = make_cache(index, key);
	page = find_page(cache, link);
	if (page == NULL)
		page = make_page(cache, link);
	if (page->end != addition->start || page->tagsUsed + addition->count > MAX_TAGS_USED)
		return NULL;

	for (int i = 0; i < addition->count; i++)
		add_tag(page, addition->fingerprints[i]);
	page->end = addition->end;
	page->isComplete = addition->isSealed;
	return page;
}

bool
sware_page_may_have_key(Relation index, SwareLink link, const SwareSoughtKey *key)
{
	KeyCache   *cache = find_cache(index, key);
	CachedPage *page = cache == NULL ? NULL : find_page(cache, link);

	if (sware_hash_methods() != key->methods)
		return true;
	if (page == NULL || !page->isComplete)
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
