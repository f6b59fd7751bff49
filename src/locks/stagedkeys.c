/*-------------------------------------------------------------------------
 *
 * stagedkeys.c
 *	  Which keys sessions have staged for unique indexes.  stagedkeys.h
 *	  describes the protocol.
 *
 * To find the seats of an index, where its stagers have their keys, a backend
 * goes through the array seat_indexes.  The number of an index's stagers is
 * stored beside its activity, so that a backend that inserts into an index
 * without stagers reads only that number.
 *
 * No lightweight lock is held while an error can be raised.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/memutils.h"

#include "base/faultpoint.h"
#include "keys/abbreviation.h"
#include "keys/searchkey.h"
#include "locks/changes.h"
#include "locks/fingerprint.h"
#include "locks/stagedkeys.h"
#include "pages/cache.h"

/*
 * Number of activities.  Indexes are distributed over them by hash, and may
 * share one.
 */
#define ACTIVITIES		256

/* the largest number of indexes that a session is a stager of at a time */
#define MAX_OWN_STAGERS	16

typedef struct SwareActivity
{
	pg_atomic_uint64 raised;
	pg_atomic_uint32 stagers;
	char		padding[PG_CACHE_LINE_SIZE - sizeof(pg_atomic_uint64) -
						sizeof(pg_atomic_uint32)];
} SwareActivity;

typedef struct Seat
{
	/* guarded by the seat's lock; only the owner writes, see keyset.h */
	TransactionId transaction;	/* the stager's, top-level */
	SwareKeySet keys;
} Seat;

/* parts of shared memory; NULL if the library was not preloaded */
static SwareActivity *activities = NULL;
static pg_atomic_uint64 *seat_indexes;	/* the index of each seat, see
										 * index_number; 0 if the seat is
										 * free. Changed under its lock */
static Seat *seats;
static LWLockPadded *locks;		/* one for each seat, and a last one for
								 * taking seats */

/* the indexes that this session is a stager of in the running transaction */
static SwareStager own_stagers[MAX_OWN_STAGERS];
static int	own_count = 0;

/*
 * The number of seats.  There are as many as sessions, though a session may
 * use several and others none.
 */
static inline int
seat_count(void)
{
	return MaxBackends;
}

static inline uint64
index_number(Oid index)
{
	return (uint64) MyDatabaseId << 32 | index;
}

/*
 * The activity of an index's build, whichever file and index has the build: so
 * a bound remains right when an index gets another one's file, and its own one
 * again.  May read the metapage.
 */
static inline SwareActivity *
activity_of(Relation index)
{
	uint64		incarnation = sware_cache(index)->indexIncarnation;

	return &activities[murmurhash32(MyDatabaseId ^ (uint32) incarnation) %
					   ACTIVITIES];
}

static Size
memory_size(void)
{
	Size		size = CACHELINEALIGN(sizeof(pg_atomic_uint32));

	size =
		add_size(size, CACHELINEALIGN(mul_size(ACTIVITIES,
											   sizeof(SwareActivity))));
	size = add_size(size, CACHELINEALIGN(mul_size(seat_count(),
												  sizeof(pg_atomic_uint64))));
	return add_size(size, mul_size(seat_count(), sizeof(Seat)));
}

void
sware_staged_keys_request_memory(void)
{
	RequestAddinShmemSpace(memory_size());
	RequestNamedLWLockTranche("SwareStagedKeys", seat_count() + 1);
}

void
sware_staged_keys_attach(void)
{
	bool		found;
	char	   *memory = ShmemInitStruct("sware staged keys", memory_size(), &found);
	pg_atomic_uint32 *chunks = (pg_atomic_uint32 *) memory;

	memory += CACHELINEALIGN(sizeof(pg_atomic_uint32));
	activities = (SwareActivity *) memory;
	memory += CACHELINEALIGN(ACTIVITIES * sizeof(SwareActivity));
	seat_indexes = (pg_atomic_uint64 *) memory;
	memory += CACHELINEALIGN(seat_count() * sizeof(pg_atomic_uint64));
	seats = (Seat *) memory;
	locks = GetNamedLWLockTranche("SwareStagedKeys");
	if (!found)
	{
		pg_atomic_init_u32(chunks, 0);
		for (int i = 0; i < ACTIVITIES; i++)
		{
			pg_atomic_init_u64(&activities[i].raised, 0);
			pg_atomic_init_u32(&activities[i].stagers, 0);
		}
		for (int i = 0; i < seat_count(); i++)
			pg_atomic_init_u64(&seat_indexes[i], 0);
	}
	sware_key_sets_attach(chunks);
}

/* Raise an activity, and return its old value. */
static uint64
raise_activity(SwareActivity *activity)
{
	return pg_atomic_fetch_add_u64(&activity->raised, 1);
}

void
sware_raise_activity(Relation index)
{
	if (activities != NULL)
		(void) raise_activity(activity_of(index));
}

/* Does a seat belong to this session? */
static bool
is_own_seat(int seat)
{
	for (int i = 0; i < own_count; i++)
	{
		if (own_stagers[i].seat == seat)
			return true;
	}
	return false;
}

/* Does another session stage for an index of this activity? */
static bool
has_other_stagers(SwareActivity *activity)
{
	uint32		count = pg_atomic_read_u32(&activity->stagers);

	for (int i = 0; i < own_count && count > 0; i++)
	{
		if (own_stagers[i].activity == activity)
			count--;
	}
	return count > 0;
}

bool
sware_index_has_stagers(Relation index)
{
	pg_memory_barrier();
	return activities == NULL ||
		pg_atomic_read_u32(&activity_of(index)->stagers) > 0;
}

bool
sware_there_are_stagers(Relation index)
{
	return activities != NULL &&
		has_other_stagers(activity_of(index));
}

/*
 * Return the transaction of a seat's stager, if it has staged a key of the
 * index; else InvalidTransactionId.  Takes the seat's lock.
 */
static TransactionId
look_into_seat(int seat, uint64 index, uint64 fingerprint)
{
	TransactionId result = InvalidTransactionId;

	LWLockAcquire(&locks[seat].lock, LW_SHARED);
	if (pg_atomic_read_u64(&seat_indexes[seat]) == index &&
		sware_key_set_contains(&seats[seat].keys, fingerprint))
		result = seats[seat].transaction;
	LWLockRelease(&locks[seat].lock);
	return result;
}

TransactionId
sware_find_staged_key(Relation index, uint64 fingerprint)
{
	uint64		number = index_number(RelationGetRelid(index));
	TransactionId result = InvalidTransactionId;

	if (!sware_there_are_stagers(index))
		return InvalidTransactionId;
	for (int i = 0; i < seat_count() && !TransactionIdIsValid(result); i++)
	{
		if (pg_atomic_read_u64(&seat_indexes[i]) == number && !is_own_seat(i))
			result = look_into_seat(i, number, fingerprint);
	}
	return result;
}

/* Take a free seat for an index, and return its number; -1 if none is free. */
static int
take_seat(Oid index, bool is_exact)
{
	LWLock	   *lock = &locks[seat_count()].lock;
	int			seat;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	for (seat = 0; seat < seat_count(); seat++)
	{
		if (pg_atomic_read_u64(&seat_indexes[seat]) == 0)
			break;
	}
	if (seat < seat_count())
	{
		LWLockAcquire(&locks[seat].lock, LW_EXCLUSIVE);
		seats[seat].transaction = GetTopTransactionIdIfAny();
		sware_key_set_init(&seats[seat].keys, is_exact);
		pg_atomic_write_u64(&seat_indexes[seat], index_number(index));
		LWLockRelease(&locks[seat].lock);
	}
	LWLockRelease(lock);
	return seat < seat_count() ? seat : -1;
}

/* Free all seats of this session.  Raises no errors. */
static void
give_up_seats(void)
{
	while (own_count > 0)
	{
		SwareStager *stager = &own_stagers[--own_count];

		sware_key_set_empty(stager->keys, stager->lock);
		LWLockAcquire(stager->lock, LW_EXCLUSIVE);
		pg_atomic_write_u64(&seat_indexes[stager->seat], 0);
		LWLockRelease(stager->lock);
		pg_atomic_fetch_sub_u32(&stager->activity->stagers, 1);
	}
}

static void
give_up_seats_at_exit(int code, Datum argument)
{
	give_up_seats();
}

/*
 * Make this session a stager of an index until its transaction ends.  Returns
 * NULL if the library was not preloaded, the transaction has no XID yet, or no
 * seat is free.  The result is valid until the transaction ends.
 */
SwareStager *
sware_become_stager(Relation index)
{
	static bool is_registered = false;
	SwareActivity *activity;
	SwareStager *stager;
	SwareKeyColumn column;
	bool		is_integer;
	int			seat;

	if (activities == NULL || own_count == MAX_OWN_STAGERS ||
		!TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return NULL;
	if (!is_registered)
	{
		/*
		 * A session that exits in a transaction aborts it, which voids what
		 * it has staged.
		 */
		on_shmem_exit(give_up_seats_at_exit, (Datum) 0);
		is_registered = true;
	}

	sware_key_column_init(&column, index, 1, (Datum) 0, true);
	is_integer = IndexRelationGetNumberOfKeyAttributes(index) == 1 &&
		sware_is_integer(column.comparison);
	activity = activity_of(index);
	seat = take_seat(RelationGetRelid(index), is_integer);
	if (seat < 0)
		return NULL;

	/* Nothing raises an error from here on. */
	stager = &own_stagers[own_count++];
	memset(stager, 0, sizeof(SwareStager));
	stager->seat = seat;
	stager->keys = &seats[seat].keys;
	stager->lock = &locks[seat].lock;
	stager->activity = activity;
	stager->index = RelationGetRelid(index);
	stager->first.comparison = column.comparison;
	stager->first.descending = column.descending;
	stager->first.nullsFirst = column.nullsFirst;
	stager->isInteger = is_integer;

	pg_atomic_fetch_add_u32(&activity->stagers, 1);
	(void) raise_activity(stager->activity);
	return stager;
}

/*
 * Free the seats of this session: its transaction has ended, and its entries
 * are stored, or void.  Raises no errors.
 */
void
sware_staged_keys_transaction_ends(void)
{
	give_up_seats();
}

/*
 * Is a key above the bound?  A comparison function may run SQL that publishes,
 * after which the bound may be unknown.
 */
static inline bool
is_above_bound(SwareStager *stager, Relation index, const Datum *values,
			   const bool *isnull)
{
	SwareSearchKey key;

	if (stager->isUnbounded)
		return true;
	if (sware_has_abbreviations(&stager->first) && !isnull[0])
	{
		int64		number =
			sware_abbreviate_value(&stager->first, values[0], false);

		if (number != stager->boundNumber || stager->isInteger)
			return number > stager->boundNumber;
	}

	sware_search_key_init(&key, index);
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		sware_search_key_set_column(&key, i + 1, values[i], isnull[i]);
	/* a place before all entries with an equal key */
	return sware_compare_key(&key, stager->bound) > 0;
}

/*
 * Is the bound known, and has no backend stored anything since it was found?
 */
bool
sware_bound_is_valid(SwareStager *stager)
{
	return stager->hasBound &&
		pg_atomic_read_u64(&stager->activity->raised) == stager->boundActivity;
}

/*
 * Is a key above the bound, and has no backend stored anything since the bound
 * was found?  Runs comparison functions, so no lightweight lock may be held.
 */
bool
sware_key_is_above_bound(SwareStager *stager, Relation index,
						 const Datum *values, const bool *isnull)
{
	return sware_bound_is_valid(stager) &&
		is_above_bound(stager, index, values, isnull);
}

/*
 * Is it certain that no other row has a key that was above the bound, and is
 * registered?  This is the end of step 1 of a stager's insert.  Takes the locks
 * of seats for a moment.
 */
bool
sware_key_needs_no_look_up(SwareStager *stager, Relation index,
						   uint64 fingerprint)
{
	if (!sware_bound_is_valid(stager))
		return false;
	SWARE_FAULT_POINT("above-bound");
	if (stager->hasCompany)
	{
		if (TransactionIdIsValid(sware_find_staged_key(index, fingerprint)))
			return false;

		/*
		 * A key that left the register before we looked is stored, and its
		 * session raised the activity before.
		 */
		pg_memory_barrier();
		if (!sware_bound_is_valid(stager))
			return false;
	}
	stager->rowsSaved++;
	return true;
}

/*
 * Begin to look for the bound: return the activity that it will hold for, and
 * in *has_company whether there are other stagers.  The caller then calls
 * sware_wait_for_locked_keys, reads the largest entry, and calls
 * sware_set_bound.
 */
uint64
sware_begin_bound(SwareStager *stager, bool *has_company)
{
	uint64		activity = pg_atomic_read_u64(&stager->activity->raised);

	/* a stager that comes from now on raises the activity after that read */
	pg_memory_barrier();
	*has_company = has_other_stagers(stager->activity);
	return activity;
}

/*
 * Remember a copy of a stored entry as the bound.  If memory runs out, an
 * error is raised, and the bound is unknown.
 */
static void
remember_bound(SwareStager *stager, Relation index, IndexTuple largest)
{
	stager->hasBound = false;
	if (stager->bound)
		pfree(stager->bound);
	stager->bound = NULL;
	stager->isUnbounded = largest == NULL;
	if (largest)
		stager->boundNumber =
			sware_abbreviate(&stager->first, RelationGetDescr(index), largest);
	if (largest && !stager->isInteger)
	{
		stager->bound =
			MemoryContextAlloc(TopTransactionContext, IndexTupleSize(largest));
		memcpy(stager->bound, largest, IndexTupleSize(largest));
	}
	stager->hasBound = true;
}

/*
 * Set the bound that was found: the largest stored entry whose first column is
 * not null, or NULL if there is none.  The entry is copied.  `activity` and
 * `has_company` are those of sware_begin_bound.
 */
void
sware_set_bound(SwareStager *stager, Relation index, IndexTuple largest,
				uint64 activity, bool has_company)
{
	stager->boundActivity = activity;
	stager->hasCompany = has_company;
	remember_bound(stager, index, largest);
}

/* Forget the bound, which is to be searched for again. */
void
sware_forget_bound(SwareStager *stager)
{
	stager->hasBound = false;
}

/* Is the first column of an entry null?  The bound disregards such entries. */
static bool
begins_with_null(Relation index, IndexTuple entry)
{
	bool		is_null;

	(void) index_getattr(entry, 1, RelationGetDescr(index), &is_null);
	return is_null;
}

/*
 * Return the largest of the given entries; NULL if the first column of all is
 * null.  `in_order` tells that they are in order.
 */
static IndexTuple
largest_entry(Relation index, IndexTuple *entries, int64 count, bool in_order)
{
	IndexTuple	largest = NULL;
	int			column;

	for (int64 i = count - 1; i >= 0 && !(in_order && largest); i--)
	{
		if (begins_with_null(index, entries[i]))
			continue;
		if (largest == NULL ||
			sware_compare_columns(index, entries[i], largest, &column) > 0)
			largest = entries[i];
	}
	return largest;
}

/* Is an entry above the bound? */
static bool
entry_is_above_bound(SwareStager *stager, Relation index, IndexTuple entry)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	index_deform_tuple(entry, RelationGetDescr(index), values, isnull);
	return is_above_bound(stager, index, values, isnull);
}

/*
 * Is this session admitting a key of the index?  Then a comparison function of
 * the index has run SQL that has the staged entries published.  In this case
 * the bound and the registered keys stay as they are: the comparison may be
 * one with the bound, and the key that is being admitted must stay registered.
 * Keys of stored entries may stay registered, since to wait for a transaction
 * that has stored a key does no harm.
 */
static bool
is_admitting(const SwareStager *stager)
{
	return sware_is_changing(stager->index, SWARE_INSERTS);
}

/*
 * Note that staged entries have been stored, while their keys are still
 * registered: raise the activity.  If no other backend has raised it since the
 * bound was found, the new bound is known without a search.  Runs comparison
 * functions.
 */
void
sware_tell_of_stored(SwareStager *stager, Relation index,
					 IndexTuple *entries, int64 count, bool in_order)
{
	IndexTuple	largest;

	if (raise_activity(stager->activity) != stager->boundActivity ||
		!stager->hasBound || is_admitting(stager))
	{
		stager->hasBound = false;
		return;
	}
	largest = largest_entry(index, entries, count, in_order);
	if (largest && entry_is_above_bound(stager, index, largest))
		remember_bound(stager, index, largest);
	stager->boundActivity++;
}

/*
 * Remove registered keys, except those of the given entries, which are still
 * staged.  All stay registered, which does no harm (see is_admitting), if there
 * is room for as many others as are kept, so that this is not worth while yet,
 * and also if the pool has no room for a new table of keys.  Runs hash
 * functions.
 */
void
sware_keep_keys(SwareStager *stager, Relation index, IndexTuple *entries,
				int64 count)
{
	uint64	   *fingerprints;
	int64		kept = 0;

	if (is_admitting(stager) || sware_key_set_has_room(stager->keys, count))
		return;
	fingerprints = MemoryContextAllocHuge(CurrentMemoryContext,
										  Max(count, 1) * sizeof(uint64));

	for (int64 i = 0; i < count; i++)
	{
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		index_deform_tuple(entries[i], RelationGetDescr(index), values, isnull);
		if (!sware_has_null_key(index, isnull))
			fingerprints[kept++] =
				stager->isInteger ?
				sware_integer_fingerprint(stager, values[0]) :
				sware_fingerprint(index, values, isnull).value;
	}
	(void) sware_key_set_fill(stager->keys, stager->lock, fingerprints, kept);
	pfree(fingerprints);
}

/*
 * Remove all registered keys of a stager, since nothing is staged any more.
 * The session remains a stager.  Raises no errors.
 */
void
sware_forget_keys(SwareStager *stager)
{
	if (!is_admitting(stager))
		sware_key_set_empty(stager->keys, stager->lock);
}
