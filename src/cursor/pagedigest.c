/*-------------------------------------------------------------------------
 *
 * pagedigest.c
 *	  Digests of open pages.  See pagedigest.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "cursor/pagedigest.h"
#include "pages/bufferpages.h"
#include "pages/pageaccess.h"
#include "shared/pageversions.h"

/* the most digests of a backend, 16 kB each */
#define MAX_DIGESTS		16

/* a digest omits marked entries if there is this number of them */
#define MANY_MARKED		32

/*
 * To put an entry into a digest costs about as much as to read this number of
 * entries.  So a digest is extended when as much has been spent on reading.
 */
#define COST_OF_ENTRY	16

#define ST_SORT			sort_entries
#define ST_ELEMENT_TYPE SwareDigestEntry
#define ST_COMPARE(a, b) \
	((a)->abbreviation < (b)->abbreviation ? -1 : \
	 (a)->abbreviation > (b)->abbreviation)
#define ST_SCOPE		static
#define ST_DEFINE
#include "lib/sort_template.h"

static SwarePageDigest *digests[MAX_DIGESTS];
static uint64 uses = 0;			/* counts uses of digests */

void
sware_page_digest_reset(SwarePageDigest *digest)
{
	digest->version = SWARE_NO_VERSION;
	digest->end = SWARE_BUFFER_START;
	digest->passed = digest->count = digest->added = 0;
	digest->marked = digest->omitted = 0;
}

SwarePageDigest *
sware_page_digest(Relation index, uint64 index_incarnation, SwareLink page,
				  bool make)
{
	SwarePageDigest *digest;
	int			place = 0;

	for (int i = 0; i < MAX_DIGESTS; i++)
	{
		digest = digests[i];
		if (digest == NULL)
		{
			place = i;
			break;
		}
		if (sware_links_equal(digest->page, page) &&
			digest->indexIncarnation == index_incarnation &&
			memcmp(&digest->file, &SwareRelationLocator(index),
				   sizeof(SwareFile)) == 0)
		{
			digest->lastUse = ++uses;
			return digest;
		}
		if (digest->lastUse < digests[place]->lastUse)
			place = i;
	}

	if (!make)
		return NULL;
	if (digests[place] == NULL)
		digests[place] = MemoryContextAlloc(CacheMemoryContext,
											sizeof(SwarePageDigest));
	digest = digests[place];
	digest->file = SwareRelationLocator(index);
	digest->indexIncarnation = index_incarnation;
	digest->page = page;
	digest->lastUse = ++uses;
	sware_page_digest_reset(digest);
	return digest;
}

int
sware_page_digest_search(const SwarePageDigest *digest, int64 abbreviation)
{
	int			low = 0;
	int			high = digest->count;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (digest->entries[middle].abbreviation < abbreviation)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void
sware_page_digest_omit_marked(SwarePageDigest *digest)
{
	int			count = 0;

	if (digest->marked < MANY_MARKED)
		return;
	for (int i = 0; i < digest->count; i++)
	{
		if (!digest->entries[i].isMarked)
			digest->entries[count++] = digest->entries[i];
	}
	digest->omitted += digest->marked;
	digest->count = count;
	digest->marked = 0;
}

bool
sware_page_digest_passed(SwarePageDigest *digest, int entries)
{
	digest->passed += entries;
	return entries > 0 && digest->passed >= COST_OF_ENTRY * entries;
}

void
sware_page_digest_extend(SwarePageDigest *digest, Size end)
{
	SwareDigestEntry added[SWARE_MAX_PAGE_ENTRIES];
	int			i = digest->count - 1;
	int			j = digest->added - 1;

	memcpy(added, &digest->entries[digest->count],
		   digest->added * sizeof(SwareDigestEntry));
	sort_entries(added, digest->added);

	/* merge them from the end on: the largest go to the last places */
	for (int to = i + j + 1; j >= 0; to--)
	{
		if (i >= 0 &&
			digest->entries[i].abbreviation > added[j].abbreviation)
			digest->entries[to] = digest->entries[i--];
		else
			digest->entries[to] = added[j--];
	}
	digest->count += digest->added;
	digest->added = 0;
	digest->passed = 0;
	digest->end = end;
}
