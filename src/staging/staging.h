/*-------------------------------------------------------------------------
 *
 * staging.h
 *	  Entries of the current transaction, in its backend's private memory.
 *
 * No other backend needs them before commit, since their heap tuples are
 * invisible until then.  They are published (moved to the buffer or the tree,
 * where other backends find them) before the transaction commits.  Scans of
 * this backend search them where they are (stagedruns.c), if they have an MVCC
 * snapshot; before other reads of the index, they are published.
 *
 * Invariants:
 *	- a staged entry belongs to the subtransaction that inserted it, or to
 *	  the ancestor that this one has been committed into;
 *	- an entry leaves staging only once it is stored, or when its
 *	  subtransaction aborts;
 *	- a staging belongs to a build of an index, in a file, whichever index has
 *	  that file later (open_owner in publish.c);
 *	- as long as an entry is staged, the index is locked as an insert locks it;
 *	- for a unique index, the key of an entry is registered (stagedkeys.h) until
 *	  the entry has left staging;
 *	- nothing is staged after the pre-commit callback was called, in a parallel
 *	  worker, or for a statement whose tuples may be killed before the
 *	  transaction ends (ON CONFLICT).
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_STAGING_H
#define SWARE_STAGING_H

#include "access/genam.h"
#include "executor/execdesc.h"
#include "lib/ilist.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "base/compat.h"
#include "keys/entry.h"
#include "sort/sorter.h"
#include "takenkeys/stagedkeys.h"

/* How the entries of the statement in progress are treated. */
typedef enum SwareStatementKind
{
	SWARE_STATEMENT_UNKNOWN,	/* no hook has seen the statement:
								 * is_speculative is asked for each row */
	SWARE_STATEMENT_STAGES,
	SWARE_STATEMENT_SPECULATES	/* has ON CONFLICT: its entries are stored at
								 * once */
} SwareStatementKind;

/* the level while no statement is in progress; the outermost one has level 1 */
#define SWARE_NO_STATEMENT	0

/*
 * The innermost statement that is in progress, of those that may change tables.
 */
typedef struct SwareStatement
{
	SwareStatementKind kind;
	int			level;			/* how many statements are in progress, one
								 * within the other */
	CommandId	earliestCommand;	/* rows that these statements insert have
									 * this command id or a later one;
									 * InvalidCommandId if they insert none */
	QueryDesc  *query;			/* its plan's state; NULL if it has none, or
								 * began before the hooks were installed */
} SwareStatement;

/* set by hooks.c */
extern SwareStatement sware_statement;

/*
 * Is the statement expected to insert one row, in a transaction of its own?
 * Not if it is a part of another one that changes tables, of a transaction
 * block, or of a pipeline, or the second one of a function: more rows may
 * follow.
 */
extern bool sware_statement_is_small(void);

/*
 * Is a row the first one that an index gets in a small statement?  To store it
 * costs less than to stage and publish it.  Others that follow would be staged.
 */
extern bool sware_is_single_row(IndexInfo *index_info);

/*
 * Has this transaction used a foreign table?  Then another server may commit
 * before the pre-commit callback publishes, which can fail: callbacks are
 * called in the reverse order in which they were registered, and a wrapper
 * registers its own when it first needs it.  So each statement publishes what
 * it has staged.
 */
extern bool sware_uses_foreign_tables;

/*
 * How many utility commands are in progress, one within the other, that may
 * change which file belongs to an index: meanwhile nothing is staged.
 */
extern int	sware_utility_depth;

/* the number of stagings with entries */
extern int	sware_staged_indexes;

/*
 * The staging generation is raised whenever entries leave a staging, or cannot
 * be found there any more: when they are published, and when their
 * subtransaction aborts.  Then a scan that has searched staging seeks again.
 */
extern uint64 sware_staging_generation;

/* how often staged runs have been made; never reset */
extern uint64 sware_staged_runs_made;

/*
 * A number that changes whenever entries leave a staging, or staged runs are
 * made: then pointers to either may be invalid.
 */
static inline uint64
sware_staging_stamp(void)
{
	return sware_staging_generation + sware_staged_runs_made;
}

/* the number of rows that this backend has inserted into any index */
extern uint64 sware_arrivals;

/* A row that is being inserted, as aminsert gets it. */
typedef struct SwareNewRow
{
	Relation	index;
	Relation	heap;
	Datum	   *values;			/* of the index's columns */
	bool	   *isnull;
	ItemPointer tid;
	IndexUniqueCheck check;
	CommandId	keepsKeyIn;		/* the command that is seen to leave the row's
								 * key as it was (unique/unique.c), or
								 * InvalidCommandId */
} SwareNewRow;

/*
 * A *chain* has entries in private memory, one behind another.  It is a list of
 * pieces of memory called bins.  The first has a few hundred bytes, and each
 * next one is larger: a transaction may have thousands of chains, or one of
 * many megabytes.  All chains of a transaction are in one memory context, and
 * the sizes of their bins are added up.
 */
typedef struct SwareEntryBin
{
	struct SwareEntryBin *next;
	Size		size;			/* of the bin, in bytes, this header included */
	Size		used;			/* bytes in use, this header included */
	char		data[FLEXIBLE_ARRAY_MEMBER];
} SwareEntryBin;

/* The entries, in the order in which they came.  All zero if there are none. */
typedef struct SwareEntryChain
{
	SwareEntryBin *first;
	SwareEntryBin *last;
	Size		bytes;			/* sum of the bins' sizes */
} SwareEntryChain;

/*
 * A place between two entries of a chain: its end at some time, to which it can
 * be cut later, or how far it has been read.
 */
typedef struct SwareChainPlace
{
	SwareEntryBin *bin;			/* the bin of the entry before the place; NULL
								 * if the place is where the chain begins */
	Size		used;			/* bytes of the bin before the place */
} SwareChainPlace;

/* The place where every chain begins. */
static const SwareChainPlace sware_chain_begin = {NULL, 0};

/* sum of the sizes of all chains' bins */
extern Size sware_staged_bytes;

extern MemoryContext sware_chain_context(void);
extern void sware_chains_are_gone(void);
extern SwareEntryBin *sware_add_bin(SwareEntryChain *chain, Size entry_size);
extern void sware_clear_chain(SwareEntryChain *chain);
extern void sware_cut_chain(SwareEntryChain *chain, SwareChainPlace end);
extern IndexTuple *sware_chain_entries(SwareEntryChain *chain, int64 count);
extern void sware_copy_to_chain(SwareEntryChain *chain, IndexTuple *entries,
								int64 count);

/*
 * Return room for an entry at the end of a chain.  The entry becomes part of
 * the chain by sware_add_reserved.
 */
static inline IndexTuple
sware_reserve(SwareEntryChain *chain, Size size)
{
	SwareEntryBin *bin = chain->last;

	if (unlikely(bin == NULL || bin->used + size > bin->size))
		bin = sware_add_bin(chain, size);
	return (IndexTuple) ((char *) bin + bin->used);
}

/* Add the entry of the given size for which room was reserved. */
static inline void
sware_add_reserved(SwareEntryChain *chain, Size size)
{
	chain->last->used += size;
}

/* The end of a chain as it is now, for sware_cut_chain. */
static inline SwareChainPlace
sware_chain_end(const SwareEntryChain *chain)
{
	SwareChainPlace end = {chain->last, chain->last ? chain->last->used : 0};

	return end;
}

/*
 * Return the entry behind a place, and move the place behind it; NULL at the
 * end of the chain.
 */
static inline IndexTuple
sware_chain_next(const SwareEntryChain *chain, SwareChainPlace *place)
{
	SwareEntryBin *bin = place->bin;
	IndexTuple	entry;

	while (bin == NULL || place->used == bin->used)
	{
		bin = bin == NULL ? chain->first : bin->next;
		if (bin == NULL)
			return NULL;
		place->bin = bin;
		place->used = offsetof(SwareEntryBin, data);
	}
	entry = (IndexTuple) ((char *) bin + place->used);
	place->used += IndexTupleSize(entry);
	return entry;
}

/* A staged run: sorted pointers to staged entries, for scans. */
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
 * What is staged for a build of an index.  The index can lose it, and get it
 * again when a subtransaction aborts: by REINDEX, or when its file is
 * exchanged for another index's.
 */
typedef struct SwareStaging
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
	uint64		layout;			/* a hash of how entries are stored and
								 * ordered */
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
	int			level;			/* level of the statement that staged the
								 * first entry, or SWARE_NO_STATEMENT when it
								 * has ended */
	Size		limit;			/* publish when entries.bytes reaches this */
	bool		hasGrown;		/* have entries come out of order, so that it
								 * is as high as it may be? */
	int			flushFraction;	/* the share that is published then, in
								 * percent */
	SwareEntryForm form;		/* how its entries are formed */
	dlist_node	node;			/* in sware_filled_stagings if there are
								 * entries */
} SwareStaging;

/* Has an index the file of a staging? */
static inline bool
sware_is_file_of(const SwareStaging *staging, Relation index)
{
	return memcmp(&staging->file, &SwareRelationLocator(index),
				  sizeof(SwareFile)) == 0;
}

/* Was a staging made for an index with its build, in the file that it has? */
static inline bool
sware_is_made_for(const SwareStaging *staging, Relation index)
{
	return staging->index == RelationGetRelid(index) &&
		sware_is_file_of(staging, index);
}

/* The functions are described where they are defined. */
extern bool sware_stage(const SwareNewRow *row, bool is_version,
						IndexInfo *index_info);
extern bool sware_stage_next(const SwareNewRow *row, bool is_version,
							 IndexInfo *index_info);
extern SwareStaging *sware_staging_for_insert(const SwareNewRow *row,
											  IndexInfo *index_info);
extern void sware_stage_entry(SwareStaging *staging, const SwareNewRow *row);
extern SwareStaging *sware_find_staging(Relation index);
extern void sware_publish_lower_part(SwareStaging *staging);
extern void sware_publish_index(Relation index);
extern void sware_publish_all(void);
extern void sware_staging_build_begins(void);
extern void sware_staging_statement_ends(void);
extern void sware_staging_transaction_prepares_to_end(void);
extern void sware_staging_transaction_ends(void);
extern void sware_staging_subtransaction_ends(SubTransactionId child,
											  SubTransactionId parent);

/* stagedruns.c */

/*
 * Return the staged runs of a staging, when all but `most_newest` or fewer of
 * its entries are in staged runs.  Returns NULL if staging has changed in the
 * meantime.  Calls comparators; the caller holds no lightweight lock.
 */
extern const SwareStagedRuns *sware_staged_runs(SwareStaging *staging,
												Relation index,
												int most_newest);

/*
 * Find the first entry of a staged run that is not before a place.  Returns its
 * number in the run, or the number of its entries if there is none; -1 if the
 * stamp is not the given one any more.  Calls comparators.
 */
extern int64 sware_staged_run_search(Relation index, const SwareStagedRun *run,
									 uint64 stamp, const SwareSearchKey *place);

extern void sware_install_hooks(void);

/* What follows is for the files of this room. */

/*
 * The stagings with entries.  The *lingering* ones, whose statement has ended,
 * come first; the others follow in the order in which they got their first
 * entry.
 */
extern dlist_head sware_filled_stagings;

/* staging.c */
extern SwareStaging *sware_staging_of(Relation index);
extern void sware_reduce_staged(SwareStaging *staging, int64 count,
								int64 unmoved);
extern void sware_clear_staging(SwareStaging *staging);
extern void sware_set_ownerless(SwareStaging *staging);
extern uint64 sware_hash_of_layout(Relation index);

/* stagedruns.c */
extern void sware_forget_staged_runs(SwareStaging *staging, int64 count);

/* publish.c */
extern void sware_publish(SwareStaging *staging);
extern void sware_make_room(void);
extern void sware_limit_lingering(void);

#endif							/* SWARE_STAGING_H */
