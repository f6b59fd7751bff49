/*-------------------------------------------------------------------------
 *
 * frontier.c
 *	  Frontiers of unique indexes.  frontier.h describes the protocol.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "storage/spin.h"

#include "base/compat.h"
#include "keys/abbreviation.h"
#include "locks/frontier.h"

/* the number of frontiers; indexes are distributed over them by hash */
#define FRONTIERS		1024

/*
 * After this number of inserts that had no use of a frontier, one is searched
 * for: a search takes as long as some look-ups.
 */
#define INSERTS_BEFORE_SEARCH	64

typedef struct Frontier
{
	slock_t		mutex;			/* guards everything */
	bool		isValid;
	SwareFile	owner;			/* the index's file; zeros: none */
	int64		number;			/* abbreviation of the first key column */
	uint64		taking;			/* the number of times that it was taken */
	uint32		missed;			/* inserts that had no use of it */
} Frontier;

/* each in a cache line of its own */
typedef union PaddedFrontier
{
	Frontier	frontier;
	char		padding[PG_CACHE_LINE_SIZE];
} PaddedFrontier;

static PaddedFrontier *frontiers = NULL;	/* NULL: no shared memory */

void
sware_frontiers_request_memory(void)
{
	RequestAddinShmemSpace(FRONTIERS * sizeof(PaddedFrontier));
}

void
sware_frontiers_attach(void)
{
	bool		found;

	frontiers = ShmemInitStruct("sware frontiers",
								FRONTIERS * sizeof(PaddedFrontier), &found);
	if (found)
		return;
	memset(frontiers, 0, FRONTIERS * sizeof(PaddedFrontier));
	for (int i = 0; i < FRONTIERS; i++)
		SpinLockInit(&frontiers[i].frontier.mutex);
}

/*
 * The frontier that an index may have; NULL if it has none.  An index that is
 * moved to another tablespace keeps its place, so that what was known of it
 * under its former file is noticed to be void.
 */
static Frontier *
frontier_of(Relation index, SwareKeyColumn *column)
{
	SwareFile  *file = &SwareRelationLocator(index);
	uint32		hash;

	if (frontiers == NULL ||
		index->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return NULL;
	sware_key_column_init(column, index, 1, (Datum) 0, true);
	if (!sware_has_abbreviations(column))
		return NULL;
	hash = murmurhash32(hash_combine(SwareFileNumber(*file),
									 SwareFileDatabase(*file)));
	return &frontiers[hash % FRONTIERS].frontier;
}

/*
 * Does a frontier belong to an index?  If it belongs to another file of the
 * same number, which is the same index before it was moved, it is taken away.
 * The caller holds the mutex.
 */
static inline bool
is_owner(Frontier *frontier, const SwareFile *file)
{
	if (memcmp(&frontier->owner, file, sizeof(SwareFile)) == 0)
		return true;
	if (SwareFileNumber(frontier->owner) == SwareFileNumber(*file) &&
		SwareFileDatabase(frontier->owner) == SwareFileDatabase(*file))
		memset(&frontier->owner, 0, sizeof(SwareFile));
	return false;
}

bool
sware_pass_frontier(Relation index, Datum value, bool is_null, bool *is_wanted)
{
	SwareKeyColumn column;
	Frontier   *frontier = frontier_of(index, &column);
	int64		number;
	bool		is_beyond = false;

	*is_wanted = false;
	if (frontier == NULL || is_null)
		return false;
	number = sware_abbreviate_value(&column, value, false);

	SpinLockAcquire(&frontier->mutex);
	if (is_owner(frontier, &SwareRelationLocator(index)))
	{
		is_beyond = frontier->isValid && number > frontier->number;
		frontier->number = Max(frontier->number, number);
		if (frontier->isValid)
			frontier->missed = 0;
	}
	*is_wanted = !is_beyond && ++frontier->missed >= INSERTS_BEFORE_SEARCH;
	SpinLockRelease(&frontier->mutex);
	return is_beyond;
}

void
sware_raise_frontier(Relation index, IndexTuple *entries, int64 count)
{
	SwareKeyColumn column;
	Frontier   *frontier = frontier_of(index, &column);
	TupleDesc	descriptor = RelationGetDescr(index);
	int64		largest = PG_INT64_MIN;

	if (frontier == NULL)
		return;
	for (int64 i = 0; i < count; i++)
	{
		bool		is_null;
		Datum		value = index_getattr(entries[i], 1, descriptor, &is_null);

		if (!is_null)
			largest = Max(largest,
						  sware_abbreviate_value(&column, value, false));
	}

	SpinLockAcquire(&frontier->mutex);
	if (is_owner(frontier, &SwareRelationLocator(index)))
		frontier->number = Max(frontier->number, largest);
	SpinLockRelease(&frontier->mutex);
}

uint64
sware_take_frontier(Relation index)
{
	SwareKeyColumn column;
	Frontier   *frontier = frontier_of(index, &column);
	uint64		taking;

	if (frontier == NULL)
		return 0;
	SpinLockAcquire(&frontier->mutex);
	if (!is_owner(frontier, &SwareRelationLocator(index)))
	{
		frontier->owner = SwareRelationLocator(index);
		frontier->number = PG_INT64_MIN;
	}
	frontier->isValid = false;
	frontier->missed = 0;
	taking = ++frontier->taking;
	SpinLockRelease(&frontier->mutex);
	return taking;
}

void
sware_validate_frontier(Relation index, IndexTuple largest, uint64 taking)
{
	SwareKeyColumn column;
	Frontier   *frontier = frontier_of(index, &column);
	int64		number = PG_INT64_MIN;

	if (frontier == NULL)
		return;
	if (largest)
		number = sware_abbreviate(&column, RelationGetDescr(index), largest);

	SpinLockAcquire(&frontier->mutex);
	if (frontier->taking == taking &&
		is_owner(frontier, &SwareRelationLocator(index)))
	{
		frontier->number = Max(frontier->number, number);
		frontier->isValid = true;
	}
	SpinLockRelease(&frontier->mutex);
}

void
sware_forget_frontier(Relation index)
{
	SwareKeyColumn column;
	Frontier   *frontier = frontier_of(index, &column);

	if (frontier == NULL)
		return;
	SpinLockAcquire(&frontier->mutex);
	if (is_owner(frontier, &SwareRelationLocator(index)))
		memset(&frontier->owner, 0, sizeof(SwareFile));
	SpinLockRelease(&frontier->mutex);
}

void
sware_forget_frontiers_of_database(Oid database)
{
	for (int i = 0; frontiers != NULL && i < FRONTIERS; i++)
	{
		Frontier   *frontier = &frontiers[i].frontier;

		SpinLockAcquire(&frontier->mutex);
		if (SwareFileDatabase(frontier->owner) == database)
			memset(&frontier->owner, 0, sizeof(SwareFile));
		SpinLockRelease(&frontier->mutex);
	}
}
