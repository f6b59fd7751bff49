/*-------------------------------------------------------------------------
 *
 * pagedigest.h
 *	  Digests of open pages: where their entries are, in the order of their
 *	  abbreviations.  Each backend has its own, in private memory.  They are of
 *	  use until a page that has been sealed is in a sorted zone.
 *
 * An open page has no zone, and its entries are in the order of their arrival.
 * A look-up would read all of them.  With a digest it reads those between two
 * abbreviations, and those that are too new to be in the digest.
 *
 * A digest never becomes wrong, only incomplete: entries are appended to open
 * pages, none is moved or removed, and a block that is used for another page
 * gets another incarnation.  As long as the page has the version under which
 * the digest was complete, the page need not be read to find out that it has
 * nothing that is wanted.
 *
 * Scans that use marks leave marked entries out, so a digest that only such
 * scans use omits them, when there are many.  Another scan resets it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PAGEDIGEST_H
#define SWARE_PAGEDIGEST_H

#include "utils/rel.h"

#include "base/compat.h"
#include "layout/page.h"
#include "layout/tuple.h"

/* the largest number of entries of a buffer page */
#define SWARE_MAX_PAGE_ENTRIES	(BLCKSZ / sizeof(IndexTupleData))

typedef struct SwareDigestEntry
{
	int64		abbreviation;	/* in the order of the index */
	uint16		offset;			/* of the entry on its page, in bytes */
	bool		isMarked;		/* has a scan that uses marks found it so? */
} SwareDigestEntry;

typedef struct SwarePageDigest
{
	SwareFile	file;			/* of the index */
	uint64		indexIncarnation;
	SwareLink	page;
	uint64		lastUse;
	uint64		version;		/* of the page, when it had all entries; or
								 * SWARE_NO_VERSION */
	Size		end;			/* it has the entries before this byte */
	int			passed;			/* later ones that were read since it was
								 * extended, counted each time */
	int			count;
	int			marked;			/* this number of them are marked */
	int			omitted;		/* marked entries that it does not have */
	int			added;			/* entries behind them, not in order yet */
	SwareDigestEntry entries[SWARE_MAX_PAGE_ENTRIES];
} SwarePageDigest;

/*
 * Return the digest of a page, which may be empty; with `make`, one is made if
 * there is none, otherwise NULL is returned.  It is valid until the next call.
 */
extern SwarePageDigest *sware_page_digest(Relation index,
										  uint64 index_incarnation,
										  SwareLink page, bool make);

/* Forget what is known of the page. */
extern void sware_page_digest_reset(SwarePageDigest *digest);

/* Return the number of its first entry that is not below an abbreviation. */
extern int	sware_page_digest_search(const SwarePageDigest *digest,
									 int64 abbreviation);

/* Note that a scan that uses marks has found one of the entries marked. */
static inline void
sware_page_digest_note_marked(SwarePageDigest *digest, int number)
{
	digest->marked += !digest->entries[number].isMarked;
	digest->entries[number].isMarked = true;
}

/* Omit the marked entries if there are many.  No entries are being added. */
extern void sware_page_digest_omit_marked(SwarePageDigest *digest);

/*
 * Tell a digest that a number of entries behind its end have been read.
 * Returns whether it should be extended by them.
 */
extern bool sware_page_digest_passed(SwarePageDigest *digest, int entries);

/*
 * Extend a digest by the entries that were put behind its own, which are those
 * before the byte `end` of the page.
 */
extern void sware_page_digest_extend(SwarePageDigest *digest, Size end);

#endif							/* SWARE_PAGEDIGEST_H */
