/*-------------------------------------------------------------------------
 *
 * staginginternal.h
 *	  The stagings of indexes, as the files of this room see them.  No other
 *	  room includes this header.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_STAGINGINTERNAL_H
#define SWARE_STAGINGINTERNAL_H

#include "lib/ilist.h"

#include "keys/entryform.h"
#include "staging/entrychain.h"
#include "staging/stagedruns.h"
#include "staging/staging.h"
#include "base/compat.h"

/*
 * The staged entries of one subtransaction; they end where the next segment
 * begins.
 */
typedef struct SwareStagedSegment
{
	SubTransactionId subtransaction;
	SwareChainPlace start;		/* of the chain when the segment began */
	int64		count;			/* the number of entries that the staging had
								 * when the segment began */
} SwareStagedSegment;

/*
 * What is staged for an index.  An index can have several stagings if a
 * subtransaction has rebuilt it: what was staged before is *superseded*, that
 * is, it is stored only if that subtransaction aborts.
 */
struct SwareStaging
{
	Oid			index;
	SwareFile	file;			/* the index's file when the first entry came */
	SwareStager *stager;		/* set if the session is a stager of the
								 * index, else NULL */
	SwareEntryChain entries;
	int64		count;			/* number of entries */
	int64		inOrder;		/* number of the first ones that were sorted
								 * when others were published */
	SwareStagedRuns runs;		/* what scans have sorted of them */
	bool		hasVersions;	/* are rows among them versions of others that
								 * have the same key? */
	SwareStagedSegment *segments;	/* that of the outermost subtransaction
									 * comes first */
	int			segmentCount;
	int			segmentsAllocated;
	SubTransactionId supersededBy;	/* the subtransaction that has rebuilt the
									 * index, if any */
	bool		isLocked;		/* does staging hold the index's lock? */
	int			level;			/* level of the statement that staged the
								 * first entry, or SWARE_NO_STATEMENT when it
								 * has ended */
	Size		limit;			/* publish when entries.bytes reaches this */
	int			flushFraction;	/* the share that is published then, in
								 * percent */
	SwareEntryForm form;		/* how its entries are formed */
	SwareStaging *sameIndex;	/* the next older staging of the index */
	dlist_node	node;			/* in sware_filled_stagings if there are
								 * entries */
};

/*
 * The stagings with entries.  The *lingering* ones, whose statement has ended,
 * come first; the others follow in the order in which they got their first
 * entry.
 */
extern dlist_head sware_filled_stagings;
extern int	sware_lingering_stagings;	/* the number of lingering ones */

/*
 * The number of rows still to insert directly before anything is staged for an
 * index that has no staged entries.
 */
extern int64 sware_direct_inserts;

/* staging.c */
extern SwareStaging *sware_stagings_of(Oid index);
extern void sware_reduce_staged(SwareStaging *staging, int64 count,
								int64 unmoved, SwareChainPlace end);
extern void sware_clear_staging(SwareStaging *staging);
extern void sware_check_staged_file(SwareStaging *staging, Relation index);

/* stagedruns.c */
extern void sware_forget_staged_runs(SwareStaging *staging, int64 count,
									 SwareChainPlace end);

/* publish.c */
extern void sware_make_room(void);
extern void sware_limit_lingering(void);

#endif							/* SWARE_STAGINGINTERNAL_H */
