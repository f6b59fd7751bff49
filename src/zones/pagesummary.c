/*-------------------------------------------------------------------------
 *
 * pagesummary.c
 *	  What a backend remembers of buffer pages.  See pagesummary.h.
 *
 * Summaries are in sets: that of a page can be in one of the eight places of a
 * set, which its block number and its index choose.
 *
 * A hash function may run any query, which may use and change summaries.  So
 * all entries are hashed before a summary is changed, and that is looked up
 * again afterwards.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/memory.h"
#include "keys/abbreviation.h"
#include "keys/fingerprint.h"
#include "pages/bufferpages.h"
#include "pages/pageaccess.h"
#include "shared/pageversions.h"
#include "zones/pagesummary.h"

#define SETS			16
#define PLACES_PER_SET	8

StaticAssertDecl(SETS * PLACES_PER_SET == 2 * SWARE_SUMMARY_REACH,
				 "pages that are asked about in turn must stay");

static SwareLink links[SETS][PLACES_PER_SET];	/* the pages */
static SwarePageSummary *summaries[SETS][PLACES_PER_SET];	/* NULL: none yet */
static uint64 uses = 0;			/* counts uses of summaries */

/* The number of the set that may have the summary of a page. */
static inline int
set_of(Relation index, SwareLink link)
{
	return (link.block + RelationGetRelid(index)) % SETS;
}

static bool
is_of_kind(const SwareSummaryKind *a, const SwareSummaryKind *b)
{
	return a->indexIncarnation == b->indexIncarnation &&
		a->isOfKeys == b->isOfKeys &&
		(!a->isOfKeys || a->methods == b->methods);
}

/* Find the summary of a page; NULL if there is none. */
static SwarePageSummary *
find_summary(Relation index, SwareLink link, const SwareSummaryKind *kind)
{
	int			set = set_of(index, link);

	for (int i = 0; i < PLACES_PER_SET; i++)
	{
		SwarePageSummary *summary = summaries[set][i];

		if (sware_links_equal(links[set][i], link) && summary != NULL &&
			is_of_kind(&summary->kind, kind) &&
			memcmp(&summary->file, &SwareRelationLocator(index),
				   sizeof(SwareFile)) == 0)
		{
			summary->lastUse = ++uses;
			return summary;
		}
	}
	return NULL;
}

/*
 * Make a summary of a page, in the place of the one of its set that was used
 * longest ago.  The caller sets its entries.
 */
static SwarePageSummary *
make_summary(Relation index, SwareLink link, const SwareSummaryKind *kind)
{
	int			set = set_of(index, link);
	SwarePageSummary **places = summaries[set];
	int			place = 0;

	for (int i = 1; i < PLACES_PER_SET && places[place] != NULL; i++)
	{
		if (places[i] == NULL || places[i]->lastUse < places[place]->lastUse)
			place = i;
	}
	if (places[place] == NULL)
		places[place] = MemoryContextAlloc(CacheMemoryContext,
										   sizeof(SwarePageSummary));
	links[set][place] = link;
	places[place]->file = SwareRelationLocator(index);
	places[place]->kind = *kind;
	places[place]->lastUse = ++uses;
	return places[place];
}

/*
 * Add the entries of a page from an offset on to a new summary, each with its
 * number.  The copy has the page's header and these entries.  Returns false if
 * keys cannot be hashed, or no longer as the kind says.  Calls hash functions,
 * which may raise errors.
 */
static bool
number_entries(Relation index, BlockNumber block, Page copy,
			   Size start, SwarePageSummary *added)
{
	TupleDesc	descriptor = RelationGetDescr(index);
	int			columns = IndexRelationGetNumberOfKeyAttributes(index);
	bool		of_keys = added->kind.isOfKeys;
	MemoryContext caller = of_keys ?
		sware_enter_context("sware page summary") : NULL;
	bool		tells = true;
	SwareKeyColumn column;

	sware_key_column_init(&column, index, 1);
	for (Size offset = start; tells && offset < added->end;)
	{
		SwareSummaryEntry *numbered = &added->entries[added->count++];
		IndexTuple	entry;

		numbered->offset = offset;
		numbered->isMarked = false;
		entry = sware_buffer_entry(index, block, copy, &offset);
		if (of_keys)
		{
			Datum		values[INDEX_MAX_KEYS];
			bool		isnull[INDEX_MAX_KEYS];
			SwareFingerprint fingerprint;

			for (int i = 0; i < columns; i++)
				values[i] = index_getattr(entry, i + 1, descriptor, &isnull[i]);
			fingerprint = sware_fingerprint(index, values, isnull);
			tells = fingerprint.tells;
			numbered->number = (int64) fingerprint.value;
		}
		else
			numbered->number = sware_abbreviate(&column, descriptor, entry);
	}
	if (!of_keys)
		return true;
	sware_leave_context(caller);
	return tells && sware_hash_methods() == added->kind.methods;
}

/*
 * Copy a page's entries from an offset on, with its header, and begin a summary
 * of these.  Returns false if the page is not the one any more that the link
 * means.  Share-locks the page for a moment.
 */
static bool
read_on(Relation index, SwareLink link, Size start, SwarePageSummary *added,
		Page copy)
{
	Buffer		buffer;
	Page		page;

	CHECK_FOR_INTERRUPTS();
	added->count = 0;
	added->version = sware_page_version(index, link.block);
	buffer = sware_read_buffer_page(index, link, BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buffer))
		return false;
	page = BufferGetPage(buffer);
	added->end = sware_buffer_page_end(page);
	added->isSealed = sware_buffer_page_is_sealed(page);

	/* less cannot be, but for damage */
	if (unlikely(added->end < start || added->end > BLCKSZ))
		sware_report_buffer_entry(index, link.block, start);
	memcpy(copy, page, SizeOfPageHeaderData);
	memcpy((char *) copy + start, (char *) page + start, added->end - start);
	sware_release_buffer(buffer);
	return true;
}

/* Put an entry into its place in a summary. */
static inline void
insert(SwarePageSummary *summary, const SwareSummaryEntry *added)
{
	SwareSummaryEntry *entries = summary->entries;
	int			place = summary->count;

	if (place > 0 && entries[place - 1].number > added->number)
		place = sware_page_summary_search(summary, added->number + 1);
	memmove(&entries[place + 1], &entries[place],
			(summary->count - place) * sizeof(SwareSummaryEntry));
	entries[place] = *added;
	summary->count++;
}

/*
 * Add what a summary has of a page from an offset on to the backend's summary
 * of the page, and return that.  Returns NULL if it does not end there now.
 */
static SwarePageSummary *
add(Relation index, SwareLink link, Size start, const SwarePageSummary *added)
{
	SwarePageSummary *summary = find_summary(index, link, &added->kind);

	if (start == SWARE_BUFFER_START)
	{
		if (summary == NULL)
			summary = make_summary(index, link, &added->kind);
		summary->count = 0;
	}
	else if (summary == NULL || summary->end != start)
		return NULL;
	for (int i = 0; i < added->count; i++)
		insert(summary, &added->entries[i]);
	summary->end = added->end;
	summary->isSealed = added->isSealed;
	summary->version = added->version;
	return summary;
}

bool
sware_page_summary(Relation index, SwareLink link, SwareSummaryKind *kind,
				   SwarePageSummary **result)
{
	SwarePageSummary *summary;
	Size		start;

	if (kind->isOfKeys && sware_hash_methods() != kind->methods)
		kind->isOfKeys = false;
	summary = find_summary(index, link, kind);
	start = summary ? summary->end : SWARE_BUFFER_START;

	while (summary == NULL ||
		   !(summary->isSealed ||
			 sware_is_page_version(index, link.block, summary->version)))
	{
		PGAlignedBlock copy;
		SwarePageSummary added;

		added.kind = *kind;
		if (!read_on(index, link, start, &added, copy.data))
			return false;
		if (added.end > start &&
			!number_entries(index, link.block, copy.data, start, &added))
		{
			kind->isOfKeys = false;
			return sware_page_summary(index, link, kind, result);
		}
		summary = add(index, link, start, &added);
		if (summary)
			break;

		/* hash functions have changed it; the whole page is always added */
		start = SWARE_BUFFER_START;
	}
	*result = summary;
	return true;
}

int
sware_page_summary_search(const SwarePageSummary *summary, int64 number)
{
	int			low = 0;
	int			high = summary->count;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (summary->entries[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
