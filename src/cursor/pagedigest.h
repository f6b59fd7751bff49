/*-------------------------------------------------------------------------
 *
 * pagedigest.h
 *	  Digests of open pages: where their entries are, in the order of their
 *	  abbreviations.  Each backend has its own, in private memory.
 *
 * An open page has no zone, and its entries are in the order of their arrival.
 * A look-up would read all of them.  With a digest it reads those between two
 * abbreviations, and those that are too new to be in the digest.
 *
 * A digest never becomes wrong, only incomplete: entries are appended to open
 * pages, none is moved or removed, and a block that is used for another page
 * gets another incarnation.
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
} SwareDigestEntry;

typedef struct SwarePageDigest
{
	SwareFile	file;			/* of the index */
	uint64		indexIncarnation;
	SwareLink	page;
	uint64		lastUse;
	Size		end;			/* it has the entries before this byte */
	int			passed;			/* later ones that were read since it was
								 * extended, counted each time */
	int			count;
	int			added;			/* entries behind them, not in order yet */
	SwareDigestEntry entries[SWARE_MAX_PAGE_ENTRIES];
} SwarePageDigest;

/*
 * Return the digest of an open page, which may be empty.  It is valid until
 * the next call.
 */
extern SwarePageDigest *sware_page_digest(Relation index,
										  uint64 index_incarnation,
										  SwareLink page);

/* Forget what is known of the page. */
extern void sware_page_digest_reset(SwarePageDigest *digest);

/* Return the number of its first entry that is not below an abbreviation. */
extern int	sware_page_digest_search(const SwarePageDigest *digest,
									 int64 abbreviation);

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
