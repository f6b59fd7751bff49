/*-------------------------------------------------------------------------
 *
 * staging.h
 *	  Entries of the current transaction, in its backend's private memory.
 *
 * No other backend needs them before commit, since their heap tuples are
 * invisible until then.  They are published (moved to the buffer or the tree,
 * where other backends find them) before the transaction commits.  Scans of
 * this backend search them where they are (stagedruns.h), if they have an MVCC
 * snapshot; before other reads of the index, they are published.
 *
 * Invariants:
 *	- a staged entry belongs to the subtransaction that inserted it, or to
 *	  the ancestor that this one has been committed into;
 *	- an entry leaves staging only once it is stored, or when its
 *	  subtransaction aborts;
 *	- a staging belongs to a build of an index, in a file, whichever index has
 *	  that file later (owner.c);
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
#include "nodes/execnodes.h"
#include "utils/rel.h"

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

/*
 * The level while no statement is in progress; the outermost statement has
 * level 1.
 */
#define SWARE_NO_STATEMENT	0

/* The innermost statement that is in progress. */
typedef struct SwareStatement
{
	SwareStatementKind kind;
	bool		isSmall;		/* is it expected to insert one row, in a
								 * transaction of its own? */
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
 * Has this transaction used a foreign table?  Then another server may commit
 * before the pre-commit callback publishes, which can fail: callbacks are
 * called in the reverse order in which they were registered, and a wrapper
 * registers its own when it first needs it.  So each statement publishes what
 * it has staged.
 */
extern bool sware_uses_foreign_tables;

/*
 * How many utility commands that can move data are in progress, one within the
 * other.  Meanwhile rows that triggers insert are not staged, since the command
 * may change which file belongs to an index.
 */
extern int	sware_utility_depth;

/*
 * the number of stagings with entries, so that their absence is tested cheaply
 */
extern int	sware_staged_indexes;

/*
 * The staging generation is raised whenever entries leave a staging, or cannot
 * be found there any more: when they are published, and when their
 * subtransaction aborts.  Then a scan that has searched staging seeks again.
 */
extern uint64 sware_staging_generation;

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
								 * key as it was (unique/newversion.c), or
								 * InvalidCommandId */
} SwareNewRow;

/*
 * What is staged for a build of an index.  The functions are described where
 * they are defined.
 */
typedef struct SwareStaging SwareStaging;

extern bool sware_stage(const SwareNewRow *row, bool is_version,
						IndexInfo *index_info);
extern SwareStaging *sware_staging_for_insert(const SwareNewRow *row,
											  IndexInfo *index_info);
extern void sware_stage_entry(SwareStaging *staging, const SwareNewRow *row);
extern SwareStaging *sware_find_staging(Relation index);
extern SwareStager *sware_stager_of(SwareStaging *staging);
extern void sware_set_stager(SwareStaging *staging, SwareStager *stager);
extern void sware_publish_lower_part(SwareStaging *staging, Relation index);
extern void sware_publish_index_slowly(Relation index);
extern void sware_publish_all(void);
extern void sware_staging_build_begins(void);
extern void sware_staging_statement_ends(void);
extern void sware_staging_transaction_prepares_to_end(void);
extern void sware_staging_transaction_ends(void);
extern void sware_staging_subtransaction_commits(SubTransactionId child,
												 SubTransactionId parent);
extern void sware_staging_subtransaction_aborts(SubTransactionId child);

/*
 * Publish what this backend has staged for an index, if anything.  Called
 * before the index is read in a way that does not search staging.  No
 * lightweight lock may be held.
 */
static inline void
sware_publish_index(Relation index)
{
	if (unlikely(sware_staged_indexes > 0))
		sware_publish_index_slowly(index);
}

extern void sware_install_hooks(void);

#endif							/* SWARE_STAGING_H */
