/*-------------------------------------------------------------------------
 *
 * stagedruns.h
 *	  Searching what is staged for an index, where it is.
 *
 * A staging has its entries in the order of their arrival.  The first scan that
 * looks for some of them sorts pointers to them: the result is a *staged run*.
 * The entries that arrive later are the *newest* ones.  Scans look at them one
 * by one, until there are many; then the next scan makes another staged run of
 * them, and merges it with those before it that are not much larger.  So a
 * staging that is searched again and again has a handful of staged runs, and a
 * load that reads nothing has none.
 *
 * Invariants:
 *	- the staged runs have the first entries of the staging, each once;
 *	- none crosses the beginning of a segment (staging.h) that is there when it
 *	  is made.  So when a subtransaction aborts, those of earlier segments stay:
 *	  otherwise each of many that abort would have all of them sorted again.
 *
 * Comparison functions may execute SQL, which inserts into the index, publishes
 * what is staged for it, rolls back a part, or looks into it and makes staged
 * runs.  So they are called with copies of entries only, and afterwards the
 * stamp shows whether staging is still what it was.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_STAGEDRUNS_H
#define SWARE_STAGEDRUNS_H

#include "sort/sorter.h"
#include "keys/searchkey.h"
#include "staging/entrychain.h"

typedef struct SwareStagedRun
{
	int64		first;			/* the number of entries that arrived before
								 * its entries did */
	int64		count;
	SwareChainPlace end;		/* of the chain, where its entries end */
	Size		entrySize;		/* in bytes, of the largest entry */
	SwareSortItem *items;		/* in index order */
} SwareStagedRun;

/* All zero if nothing has been sorted. */
typedef struct SwareStagedRuns
{
	int			count;
	int			allocated;
	SwareStagedRun *runs;		/* in the order of arrival */
} SwareStagedRuns;

/* Where the newest entries begin. */
static inline SwareChainPlace
sware_newest_begin(const SwareStagedRuns *runs)
{
	return runs->count == 0 ? sware_chain_begin :
		runs->runs[runs->count - 1].end;
}

struct SwareStaging;

/* how often staged runs have been made; never reset */
extern uint64 sware_staged_runs_made;

/*
 * Return the staged runs of a staging, when all but `most_newest` or fewer of
 * its entries are in staged runs.  Returns NULL if staging has changed in the
 * meantime.  Calls comparators; the caller holds no lightweight lock.
 */
extern const SwareStagedRuns *sware_staged_runs(struct SwareStaging *staging,
												Relation index,
												int most_newest);

/*
 * Find the first entry of a staged run that is not before a place.  Returns its
 * number in the run, or the number of its entries if there is none; -1 if the
 * stamp is not the given one any more.  Calls comparators.
 */
extern int64 sware_staged_run_search(Relation index, const SwareStagedRun *run,
									 uint64 stamp, const SwareSearchKey *place);

#endif							/* SWARE_STAGEDRUNS_H */
