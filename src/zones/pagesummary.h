/*-------------------------------------------------------------------------
 *
 * pagesummary.h
 *	  Page summaries: where the entries of a buffer page are that is in no
 *	  sorted zone, by a number for each.  Each backend has its own, in private
 *	  memory.
 *
 * Open pages, and sealed ones that nobody has sorted, have their entries in the
 * order of their arrival.  With a summary a scan reads those whose numbers it
 * wants: the abbreviations of the first column; or, for look-ups of one key in
 * all its columns, fingerprints (fingerprint.h), which tell more but have to be
 * hashed.
 *
 * A summary never becomes wrong, only incomplete: entries are appended to open
 * pages, none is moved or removed, and a block that is used for another page
 * gets another incarnation.  If the page is sealed, or has the version under
 * which the summary was complete, it need not be read to find out that it has
 * nothing that is wanted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PAGESUMMARY_H
#define SWARE_PAGESUMMARY_H

#include "utils/rel.h"

#include "base/compat.h"
#include "layout/page.h"

/*
 * A look-up should not ask about more pages by fingerprints: there are twice as
 * many summaries, or they would drive each other out between two look-ups.
 */
#define SWARE_SUMMARY_REACH		64

/* the most entries of a page: each has a header, and a byte or more */
#define SWARE_MAX_PAGE_ENTRIES \
	(BLCKSZ / MAXALIGN(sizeof(IndexTupleData) + 1))

/* What the numbers of a summary are. */
typedef struct SwareSummaryKind
{
	uint64		indexIncarnation;	/* of the index that has the page */
	bool		isOfKeys;		/* are they fingerprints?  Else they are
								 * abbreviations, in the order of the index */
	uint64		methods;		/* of fingerprints: the result of
								 * sware_hash_methods() when they were made */
} SwareSummaryKind;

typedef struct SwareSummaryEntry
{
	int64		number;
	uint16		offset;			/* of the entry on its page, in bytes */
	bool		isMarked;		/* has a scan that uses marks found it so? */
} SwareSummaryEntry;

typedef struct SwarePageSummary
{
	SwareFile	file;			/* of the index */
	SwareSummaryKind kind;
	uint64		lastUse;
	Size		end;			/* it has the entries before this byte */
	bool		isSealed;		/* is the page sealed, so that these are all? */
	uint64		version;		/* of the page, when these were all; or
								 * SWARE_NO_VERSION */
	int			count;
	SwareSummaryEntry entries[SWARE_MAX_PAGE_ENTRIES];	/* in order, equal ones
														 * in that of their
														 * arrival */
} SwarePageSummary;

/*
 * Find the summary of a page, and let it have all entries that the page has
 * now. If keys cannot be hashed, or no longer as the kind says, the kind is
 * changed to abbreviations.  Returns false if the page is not the one any more
 * that the link means; a page whose entries are all known is not looked at, and
 * may have retired meanwhile.
 *
 * The summary is valid until the next call, here or of a function that may run
 * SQL.  Hash functions are called, and may raise errors.  The page is
 * share-locked for a moment; the caller holds no content locks.
 */
extern bool sware_page_summary(Relation index, SwareLink link,
							   SwareSummaryKind *kind,
							   SwarePageSummary **summary);

/* How many entries have a smaller number? */
extern int	sware_page_summary_search(const SwarePageSummary *summary,
									  int64 number);

#endif							/* SWARE_PAGESUMMARY_H */
