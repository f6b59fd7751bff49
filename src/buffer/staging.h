/*-------------------------------------------------------------------------
 *
 * staging.h
 *	  Entries of the running transaction, in its backend's private memory.
 *
 * Nobody else needs them: their heap tuples are invisible to others until
 * commit.  They are published (moved to where others see them) before anyone
 * can need them.
 *
 * Invariants:
 *	- a staged entry belongs to the subtransaction that inserted it, or to
 *	  the ancestor that this one has been committed into;
 *	- an entry leaves staging only once it is stored, or when its
 *	  subtransaction aborts;
 *	- for a unique index, the key of an entry is registered (stagedkeys.h) until
 *	  the entry has left staging;
 *	- nothing is staged after the pre-commit callback has run, in a parallel
 *	  worker, or for a statement whose tuples may be killed while the
 *	  transaction runs (ON CONFLICT).
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_STAGING_H
#define SWARE_STAGING_H

#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "buffer/stagedkeys.h"

/* settings */
extern int	sware_buffer_size;	/* in kilobytes */
extern bool sware_enable_buffer;

/* What the executor is doing, as far as staging has to know. */
typedef enum SwareStatementKind
{
	SWARE_STATEMENT_UNKNOWN,	/* no hook has seen it */
	SWARE_STATEMENT_STAGES,
	SWARE_STATEMENT_SPECULATES	/* has ON CONFLICT */
} SwareStatementKind;

/* set by the hooks for the innermost statement */
extern SwareStatementKind sware_statement_kind;

/*
 * How many utility commands that can move data are running, one within the
 * other: what triggers insert then is not staged, since the command may change
 * which index a file belongs to.
 */
extern int	sware_utility_depth;

/* number of indexes for which something is staged; for cheap tests */
extern int	sware_staged_indexes;

/* what is staged for an index, as others see it */
typedef struct SwareStaging
{
	SwareStager *stager;		/* if its keys are registered, or NULL */
} SwareStaging;

extern bool sware_stage(Relation index, Relation heap, Datum *values, bool *isnull,
						ItemPointer tid, IndexInfo *index_info);
extern SwareStaging *sware_staging_for_insert(Relation index, Relation heap,
											  ItemPointer tid, IndexInfo *index_info);
extern void sware_stage_entry(SwareStaging *staging, Relation index, Relation heap,
							  Datum *values, bool *isnull, ItemPointer tid);
extern void sware_staging_publish_lower_part(SwareStaging *staging, Relation index,
											 Relation heap);
extern bool sware_is_publishing(Relation index);
extern void sware_publish_index_slowly(Relation index);
extern void sware_publish_all(void);
extern void sware_supersede_staged(Relation index);
extern void sware_staging_transaction_prepares_to_end(void);
extern void sware_staging_transaction_ends(void);
extern void sware_staging_subtransaction_commits(SubTransactionId child,
												 SubTransactionId parent);
extern void sware_staging_subtransaction_aborts(SubTransactionId child);

/*
 * Publish what this backend has staged for an index, if anything.  Called
 * before the index is read.
 */
static inline void
sware_publish_index(Relation index)
{
	if (unlikely(sware_staged_indexes > 0))
		sware_publish_index_slowly(index);
}

#endif							/* SWARE_STAGING_H */
