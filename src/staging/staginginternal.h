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

#include "keys/entry.h"
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

/* How an index stores and orders its entries; see owner.c. */
typedef struct SwareKeyDescription
{
	int			count;
	Oid			items[FLEXIBLE_ARRAY_MEMBER];
} SwareKeyDescription;

/*
 * What is staged for a build of an index.  The index can lose it, and get it
 * again when a subtransaction aborts: by REINDEX, or when its file is
 * exchanged for another index's.
 */
struct SwareStaging
{
	uint64		incarnation;	/* of the build; the hash key of stagings */
	SwareFile	file;			/* in which the build was when the first entry
								 * came */
	bool		isTemporary;	/* is it a temporary index's? */
	Oid			index;			/* the index that had the build then */
	Oid			owner;			/* the one that has got, or is getting,
								 * entries */
	bool		isOwnerless;	/* has no index the build, as far as this
								 * subtransaction knows? */
	SwareKeyDescription *key;
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
	bool		isLocked;		/* does staging hold the index's lock? */
	int			level;			/* level of the statement that staged the
								 * first entry, or SWARE_NO_STATEMENT when it
								 * has ended */
	Size		limit;			/* publish when entries.bytes reaches this */
	int			flushFraction;	/* the share that is published then, in
								 * percent */
	SwareEntryForm form;		/* how its entries are formed */
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

/* Has an index the file of a staging? */
static inline bool
sware_is_file_of(const SwareStaging *staging, Relation index)
{
	return memcmp(&staging->file, &SwareRelationLocator(index),
				  sizeof(SwareFile)) == 0;
}

/*
 * Was a staging made for an index, in the file that the index has?  Its build
 * is that of the staging.
 */
static inline bool
sware_is_made_for(const SwareStaging *staging, Relation index)
{
	return staging->index == RelationGetRelid(index) &&
		sware_is_file_of(staging, index);
}

/* staging.c */
extern SwareStaging *sware_staging_of(Relation index);
extern void sware_reduce_staged(SwareStaging *staging, int64 count,
								int64 unmoved, SwareChainPlace end);
extern void sware_clear_staging(SwareStaging *staging);
extern void sware_set_ownerless(SwareStaging *staging);

/* owner.c */
extern SwareKeyDescription *sware_describe_key(Relation index);
extern Relation sware_open_owner(SwareStaging *staging);

/* stagedruns.c */
extern void sware_forget_staged_runs(SwareStaging *staging, int64 count,
									 SwareChainPlace end);

/* publish.c */
extern void sware_publish(SwareStaging *staging);
extern void sware_make_room(void);
extern void sware_limit_lingering(void);

#endif							/* SWARE_STAGINGINTERNAL_H */
