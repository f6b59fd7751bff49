/*-------------------------------------------------------------------------
 *
 * stagedkeys.c
 *	  Which keys sessions have staged for unique indexes.  stagedkeys.h tells
 *	  the protocol.
 *
 * A stager has a slot in shared memory, with its keys.  Slots are found by
 * going through the numbers of their indexes, which lie side by side.  Beside
 * an index's activity is the number of its stagers, so that who meets none of
 * them pays for one number.  (Several indexes may share an activity.)
 *
 * No lightweight lock is held over anything that can fail.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/memutils.h"

#include "buffer/abbreviation.h"
#include "buffer/stagedkeys.h"
#include "faultpoint.h"

/* of indexes; those with the same hash share one */
#define ACTIVITIES		256

/* indexes that a session can be a stager of at a time */
#define MAX_OWN_STAGERS	16

typedef struct Activity
{
	pg_atomic_uint64 raised;
	pg_atomic_uint32 stagers;
	char		padding[PG_CACHE_LINE_SIZE - sizeof(pg_atomic_uint64) -
						sizeof(pg_atomic_uint32)];
} Activity;

/* The key that a session is inserting directly; the session alone writes. */
typedef struct DirectInsert
{
	pg_atomic_uint64 index;		/* its number; 0: none; or SEVERAL_INSERTS */
	pg_atomic_uint64 fingerprint;
} DirectInsert;

/* no index has this number */
#define SEVERAL_INSERTS	PG_UINT64_MAX

typedef struct Slot
{
	/* guarded by the slot's lock; only the owner writes, see keyset.h */
	TransactionId transaction;	/* the stager's, top-level */
	SwareKeySet keys;
} Slot;

/* where things are in shared memory; NULL if there is none */
static Activity *activities = NULL;
static DirectInsert *direct_inserts;	/* of each session */
static pg_atomic_uint64 *slot_indexes;	/* of each slot, see index_number; 0: free.
										 * Changed under the slot's lock */
static Slot *slots;
static LWLockPadded *locks;		/* of the slots, and one for taking them */

/* this session's, of the running transaction */
static SwareStager own_stagers[MAX_OWN_STAGERS];
static int	own_count = 0;

/* the innermost one of this session; NULL if there is none */
static SwareDirectInsert *direct_insert = NULL;

/* There are as many slots as sessions, though one may need several. */
static inline int
slot_count(void)
{
	return MaxBackends;
}

static inline uint64
index_number(Oid index)
{
	return (uint64) MyDatabaseId << 32 | index;
}

static inline Activity *
activity_of(Oid index)
{
	return &activities[murmurhash32(MyDatabaseId ^ murmurhash32(index)) % ACTIVITIES];
}

static Size
memory_size(void)
{
	Size		size = CACHELINEALIGN(sizeof(pg_atomic_uint32));

	size = add_size(size, CACHELINEALIGN(mul_size(ACTIVITIES, sizeof(Activity))));
	size = add_size(size, CACHELINEALIGN(mul_size(MaxBackends, sizeof(DirectInsert))));
	size = add_size(size, CACHELINEALIGN(mul_size(slot_count(), sizeof(pg_atomic_uint64))));
	return add_size(size, mul_size(slot_count(), sizeof(Slot)));
}

void
sware_staged_keys_request_memory(void)
{
	RequestAddinShmemSpace(memory_size());
	RequestNamedLWLockTranche("sware_stagers", slot_count() + 1);
}

void
sware_staged_keys_attach(void)
{
	bool		found;
	char	   *memory = ShmemInitStruct("sware staged keys", memory_size(), &found);
	pg_atomic_uint32 *chunks = (pg_atomic_uint32 *) memory;

	memory += CACHELINEALIGN(sizeof(pg_atomic_uint32));
	activities = (Activity *) memory;
	memory += CACHELINEALIGN(ACTIVITIES * sizeof(Activity));
	direct_inserts = (DirectInsert *) memory;
	memory += CACHELINEALIGN(MaxBackends * sizeof(DirectInsert));
	slot_indexes = (pg_atomic_uint64 *) memory;
	memory += CACHELINEALIGN(slot_count() * sizeof(pg_atomic_uint64));
	slots = (Slot *) memory;
	locks = GetNamedLWLockTranche("sware_stagers");
	if (!found)
	{
		pg_atomic_init_u32(chunks, 0);
		for (int i = 0; i < ACTIVITIES; i++)
		{
			pg_atomic_init_u64(&activities[i].raised, 0);
			pg_atomic_init_u32(&activities[i].stagers, 0);
		}
		for (int i = 0; i < MaxBackends; i++)
		{
			pg_atomic_init_u64(&direct_inserts[i].index, 0);
			pg_atomic_init_u64(&direct_inserts[i].fingerprint, 0);
		}
		for (int i = 0; i < slot_count(); i++)
			pg_atomic_init_u64(&slot_indexes[i], 0);
	}
	sware_key_sets_attach(chunks);
}

/* Raise an activity, and tell what it was. */
static uint64
raise_activity(pg_atomic_uint64 *activity)
{
	return pg_atomic_fetch_add_u64(activity, 1);
}

/* where this session says what it is inserting */
static inline DirectInsert *
own_direct_insert(void)
{
	return &direct_inserts[MyProc - ProcGlobal->allProcs];
}

/* Has this session, besides, a direct insert of the key under way? */
static bool
is_inserting(const SwareDirectInsert *insert, Oid index, uint64 fingerprint)
{
	for (; insert; insert = insert->outer)
	{
		if (insert->index == index && insert->fingerprint == fingerprint)
			return true;
	}
	return false;
}

void
sware_report_nested_insert(Relation index)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("cannot insert a key into index \"%s\" while it is being stored there",
					RelationGetRelationName(index))));
}

void
sware_begin_direct_insert(SwareDirectInsert *insert, Relation index, uint64 fingerprint)
{
	if (is_inserting(direct_insert, RelationGetRelid(index), fingerprint))
		sware_report_nested_insert(index);
	for (int i = 0; i < own_count; i++)
	{
		if (own_stagers[i].index == RelationGetRelid(index))
			own_stagers[i].disturbances++;
	}
	insert->index = RelationGetRelid(index);
	insert->fingerprint = fingerprint;
	insert->outer = direct_insert;
	direct_insert = insert;
}

/*
 * A stager that has not seen the activity raised notices that it has been; one
 * that has seen it sees the key, too, and waits.  There is room to say one key:
 * with one insert within another, nobody can wait for them.
 */
void
sware_announce_direct_insert(void)
{
	DirectInsert *shown;

	if (activities == NULL)
		return;
	shown = own_direct_insert();
	if (direct_insert->outer)
		pg_atomic_write_u64(&shown->index, SEVERAL_INSERTS);
	else
	{
		pg_atomic_write_u64(&shown->fingerprint, direct_insert->fingerprint);
		pg_write_barrier();
		pg_atomic_write_u64(&shown->index, index_number(direct_insert->index));
	}
	(void) raise_activity(&activity_of(direct_insert->index)->raised);
}

/* What was said while there were several stays until the outermost one ends. */
void
sware_revoke_direct_insert(void)
{
	if (activities != NULL && direct_insert->outer == NULL)
		pg_atomic_write_u64(&own_direct_insert()->index, 0);
}

void
sware_end_direct_insert(void)
{
	sware_revoke_direct_insert();
	direct_insert = direct_insert->outer;
}

bool
sware_is_inserting_directly(void)
{
	return direct_insert != NULL;
}

/*
 * Wait until all direct inserts into an index that are under way have stored
 * their entries, or given up.  The caller holds no lock but on the relation.
 * False if there are some that cannot be waited for.
 *
 * If a session goes on to another insert while we look at it, the one before has
 * come to its end.
 */
bool
sware_wait_for_direct_inserts(Relation index)
{
	uint64		number = index_number(RelationGetRelid(index));

	for (int i = 0; i < MaxBackends; i++)
	{
		uint64		shown = pg_atomic_read_u64(&direct_inserts[i].index);
		uint64		fingerprint;

		if ((shown != number && shown != SEVERAL_INSERTS) ||
			&direct_inserts[i] == own_direct_insert())
			continue;
		if (shown == SEVERAL_INSERTS)
			return false;
		pg_read_barrier();
		fingerprint = pg_atomic_read_u64(&direct_inserts[i].fingerprint);
		sware_wait_for_key_lock(index, fingerprint);
	}
	return true;
}

/* Has this session a slot? */
static bool
is_own_slot(int slot)
{
	for (int i = 0; i < own_count; i++)
	{
		if (own_stagers[i].slot == slot)
			return true;
	}
	return false;
}

/* Are there stagers, of indexes of this activity, other than this session? */
static bool
has_other_stagers(Activity *activity)
{
	uint32		count = pg_atomic_read_u32(&activity->stagers);

	for (int i = 0; i < own_count && count > 0; i++)
	{
		if (own_stagers[i].activity == &activity->raised)
			count--;
	}
	return count > 0;
}

bool
sware_there_are_stagers(Relation index)
{
	return activities != NULL && has_other_stagers(activity_of(RelationGetRelid(index)));
}

/*
 * The transaction of a slot's stager, if that has staged a key of an index.
 * Takes the slot's lock.
 */
static TransactionId
look_into_slot(int slot, uint64 index, uint64 fingerprint)
{
	TransactionId result = InvalidTransactionId;

	LWLockAcquire(&locks[slot].lock, LW_SHARED);
	if (pg_atomic_read_u64(&slot_indexes[slot]) == index &&
		sware_key_set_contains(&slots[slot].keys, fingerprint))
		result = slots[slot].transaction;
	LWLockRelease(&locks[slot].lock);
	return result;
}

TransactionId
sware_find_staged_key(Relation index, uint64 fingerprint)
{
	uint64		number = index_number(RelationGetRelid(index));
	TransactionId result = InvalidTransactionId;

	if (!sware_there_are_stagers(index))
		return InvalidTransactionId;
	for (int i = 0; i < slot_count() && !TransactionIdIsValid(result); i++)
	{
		if (pg_atomic_read_u64(&slot_indexes[i]) == number && !is_own_slot(i))
			result = look_into_slot(i, number, fingerprint);
	}
	return result;
}

/* Take a free slot for an index.  -1 if there is none. */
static int
take_slot(Oid index, bool is_exact)
{
	LWLock	   *lock = &locks[slot_count()].lock;
	int			slot;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	for (slot = 0; slot < slot_count(); slot++)
	{
		if (pg_atomic_read_u64(&slot_indexes[slot]) == 0)
			break;
	}
	if (slot < slot_count())
	{
		LWLockAcquire(&locks[slot].lock, LW_EXCLUSIVE);
		slots[slot].transaction = GetTopTransactionIdIfAny();
		sware_key_set_init(&slots[slot].keys, is_exact);
		pg_atomic_write_u64(&slot_indexes[slot], index_number(index));
		LWLockRelease(&locks[slot].lock);
	}
	LWLockRelease(lock);
	return slot < slot_count() ? slot : -1;
}

/* Let go of all this session has.  Raises no errors. */
static void
give_up_slots(void)
{
	while (own_count > 0)
	{
		SwareStager *stager = &own_stagers[--own_count];
		Activity   *activity = activity_of(stager->index);

		sware_key_set_empty(stager->keys, stager->lock);
		LWLockAcquire(stager->lock, LW_EXCLUSIVE);
		pg_atomic_write_u64(&slot_indexes[stager->slot], 0);
		LWLockRelease(stager->lock);
		pg_atomic_fetch_sub_u32(&activity->stagers, 1);
	}
}

static void
give_up_slots_at_exit(int code, Datum argument)
{
	give_up_slots();
}

/*
 * Make this session known as one that stages for an index; its transaction has
 * a number.  It stays known until the transaction ends.  NULL if that is not
 * possible.
 */
SwareStager *
sware_become_stager(Relation index)
{
	static bool is_registered = false;
	Activity   *activity;
	SwareStager *stager;
	SwareKeyColumn column;
	int			slot;

	if (activities == NULL || own_count == MAX_OWN_STAGERS ||
		!TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return NULL;
	if (!is_registered)
	{
		/* a session that exits in mid-transaction aborts: what it has staged is void */
		before_shmem_exit(give_up_slots_at_exit, (Datum) 0);
		is_registered = true;
	}

	sware_key_column_init(&column, index, 1, (Datum) 0, true);
	if (IndexRelationGetNumberOfKeyAttributes(index) > 1)
		column.comparison = SWARE_COMPARE_FUNCTION;
	slot = take_slot(RelationGetRelid(index), column.comparison != SWARE_COMPARE_FUNCTION);
	if (slot < 0)
		return NULL;

	/* nothing can fail from here on */
	activity = activity_of(RelationGetRelid(index));
	stager = &own_stagers[own_count++];
	memset(stager, 0, sizeof(SwareStager));
	stager->slot = slot;
	stager->keys = &slots[slot].keys;
	stager->lock = &locks[slot].lock;
	stager->activity = &activity->raised;
	stager->index = RelationGetRelid(index);
	stager->comparison = column.comparison;
	stager->descending = column.descending;

	pg_atomic_fetch_add_u32(&activity->stagers, 1);
	(void) raise_activity(stager->activity);
	return stager;
}

/* The transaction has ended, and its entries are stored, or void. */
void
sware_staged_keys_transaction_ends(void)
{
	give_up_slots();
}

/*
 * Register a key; a memory barrier follows.  If it is there already, nothing
 * has changed.
 */
SwareKeySetResult
sware_register_key(SwareStager *stager, uint64 fingerprint)
{
	SwareKeySetResult result = sware_key_set_add(stager->keys, stager->lock, fingerprint);

	pg_memory_barrier();
	return result;
}

/* Take back what was registered, and not staged. */
void
sware_withdraw_key(SwareStager *stager, uint64 fingerprint)
{
	sware_key_set_remove(stager->keys, fingerprint);
}

/* the order of a number among abbreviations */
static inline int64
abbreviate(const SwareStager *stager, Datum value)
{
	SwareKeyColumn column;

	column.comparison = stager->comparison;
	column.descending = stager->descending;
	return sware_abbreviate_value(&column, value, false);
}

/*
 * Is a key, of an entry that is to be inserted, above the bound?  What the
 * comparison does may mean that there is none any more.
 */
static inline bool
is_above_bound(SwareStager *stager, Relation index, const Datum *values,
			   const bool *isnull)
{
	SwareSearchKey key;
	bool		result;

	if (stager->isUnbounded)
		return true;
	if (stager->comparison != SWARE_COMPARE_FUNCTION)
		return abbreviate(stager, values[0]) > stager->boundNumber;

	sware_search_key_init(&key, index);
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		sware_search_key_set_column(&key, i + 1, values[i], isnull[i]);
	/*
	 * A place before the entries that are equal to it.  After an error, which
	 * ends the transaction as a rule, the bound counts as used for good.
	 */
	stager->boundUses++;
	result = sware_compare_key(&key, stager->bound) > 0;
	stager->boundUses--;
	return result;
}

/* Is there a bound, and has nobody stored anything since it was found? */
bool
sware_bound_is_valid(SwareStager *stager)
{
	return stager->hasBound &&
		pg_atomic_read_u64(stager->activity) == stager->boundActivity;
}

/* Is a key above the bound, and has nobody stored anything since that was found? */
bool
sware_key_is_above_bound(SwareStager *stager, Relation index,
						 const Datum *values, const bool *isnull)
{
	return sware_bound_is_valid(stager) && is_above_bound(stager, index, values, isnull);
}

/*
 * Is there certainly no other row with a key that was above the bound, and has been
 * registered since then?  That is the protocol's step 3.
 */
bool
sware_key_needs_no_look_up(SwareStager *stager, Relation index, uint64 fingerprint)
{
	if (!sware_bound_is_valid(stager))
		return false;
	SWARE_FAULT_POINT("above-bound");
	if (stager->hasCompany)
	{
		if (TransactionIdIsValid(sware_find_staged_key(index, fingerprint)))
			return false;

		/* what left the register before we looked is stored, and has been told */
		pg_memory_barrier();
		if (pg_atomic_read_u64(stager->activity) != stager->boundActivity)
			return false;
	}
	stager->rowsSaved++;
	return true;
}

/*
 * Begin to look for the bound: tells the activity that it will be good for, and
 * whether there are other stagers.
 */
uint64
sware_begin_bound(SwareStager *stager, bool *has_company)
{
	uint64		activity = pg_atomic_read_u64(stager->activity);

	/* one that comes now raises the activity behind that */
	pg_memory_barrier();
	*has_company = has_other_stagers(activity_of(stager->index));
	return activity;
}

/*
 * Remember a stored entry as the bound.  If it cannot be copied, or a comparison
 * with the bound before has led here, there is none.
 */
static void
remember_bound(SwareStager *stager, Relation index, IndexTuple largest)
{
	SwareKeyColumn column;

	stager->hasBound = false;
	if (stager->boundUses > 0)
		return;
	if (stager->bound)
		pfree(stager->bound);
	stager->bound = NULL;
	stager->isUnbounded = largest == NULL;
	if (stager->comparison != SWARE_COMPARE_FUNCTION)
	{
		sware_key_column_init(&column, index, 1, (Datum) 0, true);
		if (largest)
			stager->boundNumber = sware_abbreviate(&column, RelationGetDescr(index), largest);
	}
	else if (largest)
	{
		stager->bound = MemoryContextAlloc(TopTransactionContext, IndexTupleSize(largest));
		memcpy(stager->bound, largest, IndexTupleSize(largest));
	}
	stager->hasBound = true;
}

/*
 * The bound has been found: the largest entry stored, or NULL if there is none
 * (whose first column is not null).
 */
void
sware_set_bound(SwareStager *stager, Relation index, IndexTuple largest,
				uint64 activity, bool has_company)
{
	stager->boundActivity = activity;
	stager->hasCompany = has_company;
	remember_bound(stager, index, largest);
}

/* The bound is none any more. */
void
sware_forget_bound(SwareStager *stager)
{
	stager->hasBound = false;
}

/* Is the first column of an entry null?  Such entries have no part in the bound. */
static bool
begins_with_null(Relation index, IndexTuple entry)
{
	bool		is_null;

	(void) index_getattr(entry, 1, RelationGetDescr(index), &is_null);
	return is_null;
}

/* The largest of some entries; NULL if all begin with null. */
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
 * Staged entries have been stored, and their keys are still registered.  If
 * nobody else has raised the activity, the bound is known without a search.
 */
void
sware_tell_of_stored(SwareStager *stager, Relation index,
					 IndexTuple *entries, int64 count, bool in_order)
{
	IndexTuple	largest;

	if (raise_activity(stager->activity) != stager->boundActivity || !stager->hasBound)
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
 * Of the registered keys, only those of some entries are still staged.  If the
 * pool has no room to part them, all stay: it does no harm to wait for a
 * transaction that has stored a key.
 */
void
sware_keep_keys(SwareStager *stager, Relation index, IndexTuple *entries, int64 count)
{
	uint64	   *fingerprints = MemoryContextAllocHuge(CurrentMemoryContext,
													  Max(count, 1) * sizeof(uint64));
	int64		kept = 0;

	for (int64 i = 0; i < count; i++)
	{
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		index_deform_tuple(entries[i], RelationGetDescr(index), values, isnull);
		if (!sware_has_null_key(index, isnull))
			fingerprints[kept++] = stager->comparison == SWARE_COMPARE_FUNCTION ?
				sware_fingerprint(index, values, isnull).value :
				sware_integer_fingerprint(stager, values[0]);
	}
	stager->disturbances++;
	(void) sware_key_set_fill(stager->keys, stager->lock, fingerprints, kept);
	pfree(fingerprints);
}

/* Nothing is staged any more; the stager stays known. */
void
sware_forget_keys(SwareStager *stager)
{
	stager->disturbances++;
	sware_key_set_empty(stager->keys, stager->lock);
}

/* Has this session registered a key of that fingerprint? */
bool
sware_has_staged_key_itself(Relation index, uint64 fingerprint)
{
	for (int i = 0; i < own_count; i++)
	{
		if (own_stagers[i].index == RelationGetRelid(index) &&
			sware_key_set_contains(own_stagers[i].keys, fingerprint))
			return true;
	}
	return false;
}
