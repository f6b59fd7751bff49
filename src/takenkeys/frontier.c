/*-------------------------------------------------------------------------
 *
 * frontier.c
 *	  Frontiers of unique indexes.  frontier.h describes the protocol.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/faultpoint.h"
#include "base/sharedmemory.h"
#include "keys/abbreviation.h"
#include "keys/entry.h"
#include "takenkeys/frontier.h"
#include "pages/cache.h"

/* the number of frontiers; indexes are distributed over them */
#define FRONTIERS		512

/* the largest count of a frontier's numbers */
#define NUMBERS			256

/* When it is reached, the smallest of them are dropped, this many at a time. */
#define DROPPED			64

/*
 * After this number of misses in a row, inserts that had no use of a frontier,
 * one is searched for: a search takes as long as some look-ups.  After a search
 * that was not worth while, the next one comes after twice as many misses, up
 * to a limit.
 */
#define MISSES_BEFORE_SEARCH		64
#define MOST_MISSES_BEFORE_SEARCH	4096

typedef struct Frontier
{
	bool		isValid;
	uint64		incarnation;	/* of the index that it belongs to, ... */
	Oid			database;		/* ... and its database; 0: to none */
	uint64		taking;			/* the number of times that it was taken */

	int64		floor;			/* the numbers of keys are not above this, or
								 * among these: */
	int			count;
	int64		numbers[NUMBERS];	/* ascending, and above the floor */
} Frontier;

static Frontier *frontiers = NULL;	/* NULL: no shared memory */
static LWLockPadded *locks;		/* one for each; it guards everything */

/* The frontier that an index may have, and what is needed to use it. */
typedef struct Access
{
	Frontier   *frontier;		/* NULL: none */
	LWLock	   *lock;
	uint64		incarnation;	/* the index's */
	SwareKeyColumn column;
} Access;

void
sware_share_frontiers(void)
{
	bool		is_new;

	locks = sware_share_locks("SwareFrontiers", FRONTIERS);
	frontiers = sware_share("sware frontiers", FRONTIERS * sizeof(Frontier),
							&is_new);
	if (is_new)
		memset(frontiers, 0, FRONTIERS * sizeof(Frontier));
}

/*
 * Find the frontier that an index may have.  Databases that were made from the
 * same template have indexes of the same incarnation.
 */
static bool
find_frontier(Relation index, Access *access)
{
	int			place;

	if (frontiers == NULL ||
		index->rd_rel->relpersistence == RELPERSISTENCE_TEMP ||
		!sware_may_wait(index))
		return false;
	sware_key_column_init(&access->column, index, 1);
	if (!sware_has_abbreviations(&access->column))
		return false;
	access->incarnation = sware_cache(index)->indexIncarnation;
	place = ((uint32) access->incarnation + MyDatabaseId) % FRONTIERS;
	access->frontier = &frontiers[place];
	access->lock = &locks[place].lock;
	return true;
}

/* Does the frontier belong to the index?  The caller has locked it. */
static inline bool
is_owner(const Access *access)
{
	return access->frontier->incarnation == access->incarnation &&
		access->frontier->database == MyDatabaseId;
}

/* The place of a number, or of the first larger one, among the numbers. */
static inline int
place_of(const Frontier *frontier, int64 number)
{
	int			low = 0;
	int			high = frontier->count;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (frontier->numbers[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Raise the floor to a number, unless it is higher: numbers up to it go. */
static void
raise_floor(Frontier *frontier, int64 number)
{
	int			dropped = place_of(frontier, number);

	if (dropped < frontier->count && frontier->numbers[dropped] == number)
		dropped++;
	frontier->count -= dropped;
	memmove(frontier->numbers, frontier->numbers + dropped,
			frontier->count * sizeof(int64));
	frontier->floor = Max(frontier->floor, number);
}

/*
 * Add the number of a key.  Returns false if the frontier has covered it
 * before: then another key may have the number.
 */
static bool
add_number(Frontier *frontier, int64 number)
{
	int			place;

	if (number <= frontier->floor)
		return false;
	place = frontier->count;
	if (place > 0 && number <= frontier->numbers[place - 1])
		place = place_of(frontier, number);
	if (place < frontier->count && frontier->numbers[place] == number)
		return false;

	if (frontier->count == NUMBERS)
	{
		raise_floor(frontier, frontier->numbers[DROPPED - 1]);
		place -= DROPPED;
		if (place < 0)
			return true;
	}
	memmove(frontier->numbers + place + 1, frontier->numbers + place,
			(frontier->count - place) * sizeof(int64));
	frontier->numbers[place] = number;
	frontier->count++;
	return true;
}

bool
sware_pass_frontier(Relation index, Datum value, bool is_null, bool *is_wanted)
{
	Access		access;
	SwareFrontierUse *use;
	int64		number;
	bool		is_new;

	*is_wanted = false;
	if (is_null || !find_frontier(index, &access))
		return false;
	number = sware_abbreviate_value(&access.column, value, false);
	use = &sware_cache(index)->frontier;

	LWLockAcquire(access.lock, LW_EXCLUSIVE);
	if (use->taking != access.frontier->taking)
		use->missed = 0;
	use->taking = access.frontier->taking;
	is_new = is_owner(&access) && add_number(access.frontier, number) &&
		access.frontier->isValid;
	if (is_new)
	{
		use->saved++;
		use->missed = 0;
	}
	else
		*is_wanted = ++use->missed >=
			Max(use->patience, MISSES_BEFORE_SEARCH);
	LWLockRelease(access.lock);
	return is_new;
}

void
sware_raise_frontier(Relation index, IndexTuple *entries, int64 count)
{
	Access		access;
	TupleDesc	descriptor = RelationGetDescr(index);
	int64		largest = PG_INT64_MIN;
	bool		is_its_own;

	if (!find_frontier(index, &access))
		return;
	LWLockAcquire(access.lock, LW_SHARED);
	is_its_own = is_owner(&access);
	LWLockRelease(access.lock);
	if (!is_its_own)
		return;

	SWARE_FAULT_POINT("frontier-rises");
	for (int64 i = 0; i < count; i++)
	{
		bool		is_null;
		Datum		value = index_getattr(entries[i], 1, descriptor, &is_null);

		if (!is_null)
			largest = Max(largest,
						  sware_abbreviate_value(&access.column, value, false));
	}

	LWLockAcquire(access.lock, LW_EXCLUSIVE);
	if (is_owner(&access))
		raise_floor(access.frontier, largest);
	LWLockRelease(access.lock);
}

uint64
sware_take_frontier(Relation index)
{
	Access		access;
	Frontier   *frontier;
	SwareFrontierUse *use;
	uint64		taking;

	if (!find_frontier(index, &access))
		return 0;
	frontier = access.frontier;
	use = &sware_cache(index)->frontier;
	LWLockAcquire(access.lock, LW_EXCLUSIVE);
	if (use->taking != frontier->taking)
	{
		/* another session has taken it since the misses */
		LWLockRelease(access.lock);
		return 0;
	}
	if (use->hasFound)
		use->patience = use->saved >= use->missed ? MISSES_BEFORE_SEARCH :
			Min(Max(use->patience, MISSES_BEFORE_SEARCH) * 2,
				MOST_MISSES_BEFORE_SEARCH);
	use->hasFound = false;
	use->missed = 0;
	use->saved = 0;
	frontier->incarnation = access.incarnation;
	frontier->database = MyDatabaseId;
	frontier->isValid = false;
	frontier->floor = PG_INT64_MIN;
	frontier->count = 0;
	taking = use->taking = ++frontier->taking;
	LWLockRelease(access.lock);
	return taking;
}

void
sware_validate_frontier(Relation index, IndexTuple *entries, int count,
						uint64 taking)
{
	Access		access;
	SwareFrontierUse *use;
	int64		numbers[SWARE_FRONTIER_ENTRIES];

	if (!find_frontier(index, &access))
		return;
	for (int i = 0; i < count; i++)
		numbers[i] = sware_abbreviate(&access.column, RelationGetDescr(index),
									  entries[i]);
	use = &sware_cache(index)->frontier;

	LWLockAcquire(access.lock, LW_EXCLUSIVE);
	if (access.frontier->taking == taking && is_owner(&access))
	{
		if (count == SWARE_FRONTIER_ENTRIES)
			raise_floor(access.frontier, numbers[count - 1]);
		for (int i = 0; i < count; i++)
			(void) add_number(access.frontier, numbers[i]);
		access.frontier->isValid = true;
		use->hasFound = true;
	}
	LWLockRelease(access.lock);
}

void
sware_forget_frontiers_of_database(Oid database)
{
	for (int i = 0; frontiers != NULL && i < FRONTIERS; i++)
	{
		LWLockAcquire(&locks[i].lock, LW_EXCLUSIVE);
		if (frontiers[i].database == database)
			frontiers[i].database = InvalidOid;
		LWLockRelease(&locks[i].lock);
	}
}
