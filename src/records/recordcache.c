/*-------------------------------------------------------------------------
 *
 * recordcache.c
 *	  The record cache.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/spin.h"

#include "base/options.h"
#include "base/sharedmemory.h"
#include "pages/cache.h"
#include "records/recordcache.h"

/* a spinlock is held while this number of records is looked at */
#define RECORDS_PER_SET	16

/* the number of epochs, which indexes share, a power of two */
#define EPOCH_COUNT		1024

/*
 * a record that is looked up often survives this number of turns of the clock's
 * hand
 */
#define MAX_USES		3

typedef struct Record
{
	uint64		incarnation;	/* the index's */
	uint64		epoch;			/* the index's when the record was read */
	uint64		value;			/* as in SwareRecordKey */
	Oid			database;
	uint8		count;			/* of TIDs; 0: the place is free */
	uint8		uses;
	ItemPointerData tids[SWARE_RECORD_TIDS];
} Record;

typedef struct RecordSet
{
	slock_t		lock;
	uint32		hand;			/* the record that may give way next */
	uint64		version;
	Record		records[RECORDS_PER_SET];
} RecordSet;

static pg_atomic_uint64 *epochs = NULL; /* NULL: no shared memory */
static RecordSet *sets = NULL;
static uint32 set_count = 0;	/* 0: there is no cache */

void
sware_share_records(void)
{
	Size		size = add_size(EPOCH_COUNT * sizeof(pg_atomic_uint64),
								mul_size(sware_record_cache, 1024));
	bool		is_new;

	epochs = sware_share("sware record cache", size, &is_new);
	if (epochs == NULL)
		return;
	sets = (RecordSet *) (epochs + EPOCH_COUNT);
	set_count = (Size) sware_record_cache * 1024 / sizeof(RecordSet);
	for (int i = 0; i < EPOCH_COUNT && is_new; i++)
		pg_atomic_init_u64(&epochs[i], 0);
	for (uint32 i = 0; i < set_count && is_new; i++)
	{
		MemSet(&sets[i], 0, sizeof(RecordSet));
		SpinLockInit(&sets[i].lock);
	}
}

bool
sware_has_records(Relation index)
{
	return set_count > 0 &&
		IndexRelationGetNumberOfKeyAttributes(index) == 1 &&
		TupleDescAttr(RelationGetDescr(index), 0)->attbyval &&
		!RelationUsesLocalBuffers(index) && !RecoveryInProgress() &&
		sware_cache(index)->allEqualImage;
}

static pg_atomic_uint64 *
epoch_of(uint64 incarnation)
{
	return &epochs[incarnation % EPOCH_COUNT];
}

/* Fill in the identity of a key, and where its record is. */
static void
identify(Relation index, Datum value, SwareRecordKey *key)
{
	uint64		hashed[2];

	key->value = 0;
	store_att_byval(&key->value, value,
					TupleDescAttr(RelationGetDescr(index), 0)->attlen);
	key->incarnation = sware_cache(index)->indexIncarnation;
	key->database = MyDatabaseId;
	hashed[0] = key->incarnation;
	hashed[1] = key->value;
	key->set = hash_bytes((const unsigned char *) hashed, sizeof(hashed)) %
		set_count;
}

/* Returns the record of a key, or NULL.  The caller has locked the set. */
static Record *
find(RecordSet *set, const SwareRecordKey *key)
{
	for (int i = 0; i < RECORDS_PER_SET; i++)
	{
		Record	   *record = &set->records[i];

		if (record->value == key->value && record->count > 0 &&
			record->incarnation == key->incarnation &&
			record->database == key->database)
			return record;
	}
	return NULL;
}

int
sware_find_record(Relation index, Datum value, SwareRecordKey *key,
				  ItemPointer tids)
{
	RecordSet  *set;
	Record	   *record;
	int			count = 0;

	identify(index, value, key);
	key->epoch = pg_atomic_read_u64(epoch_of(key->incarnation));
	set = &sets[key->set];

	SpinLockAcquire(&set->lock);
	key->version = set->version;
	record = find(set, key);
	if (record && record->epoch != key->epoch)
		record->count = 0;
	else if (record)
	{
		count = record->count;
		memcpy(tids, record->tids, count * sizeof(ItemPointerData));
		if (record->uses < MAX_USES)
			record->uses++;
	}
	SpinLockRelease(&set->lock);

	/* nothing of the index is read before version and epoch */
	pg_memory_barrier();
	return count;
}

/* Choose a place for a record.  The caller has locked the set. */
static Record *
make_room(RecordSet *set)
{
	for (;;)
	{
		Record	   *record = &set->records[set->hand++ % RECORDS_PER_SET];

		if (record->count == 0 || record->uses == 0)
			return record;
		record->uses--;
	}
}

void
sware_install_record(const SwareRecordKey *key, const ItemPointerData *tids,
					 int count)
{
	RecordSet  *set = &sets[key->set];

	Assert(count > 0 && count <= SWARE_RECORD_TIDS);
	SpinLockAcquire(&set->lock);
	/* another reader may have been faster */
	if (set->version == key->version && find(set, key) == NULL)
	{
		Record	   *record = make_room(set);

		record->value = key->value;
		record->incarnation = key->incarnation;
		record->database = key->database;
		record->epoch = key->epoch;
		record->count = count;
		record->uses = 0;
		memcpy(record->tids, tids, count * sizeof(ItemPointerData));
	}
	SpinLockRelease(&set->lock);
}

void
sware_remove_record(const SwareRecordKey *key, bool stored)
{
	RecordSet  *set = &sets[key->set];
	Record	   *record;

	SpinLockAcquire(&set->lock);
	set->version += stored ? 1 : 0;
	record = find(set, key);
	if (record)
		record->count = 0;
	SpinLockRelease(&set->lock);
}

void
sware_records_stored(Relation index, IndexTuple *entries, int64 count)
{
	if (likely(!sware_has_records(index)))
		return;
	for (int64 i = 0; i < count; i++)
	{
		bool		isnull;
		Datum		value = index_getattr(entries[i], 1,
										  RelationGetDescr(index), &isnull);
		SwareRecordKey key;

		if (isnull)
			continue;			/* no equality look-up finds it */
		identify(index, value, &key);
		sware_remove_record(&key, true);
	}
}

void
sware_records_raise_epoch(Relation index)
{
	if (sware_has_records(index))
		pg_atomic_fetch_add_u64(epoch_of(sware_cache(index)->indexIncarnation),
								1);
}

void
sware_records_raise_all_epochs(void)
{
	for (int i = 0; set_count > 0 && i < EPOCH_COUNT; i++)
		pg_atomic_fetch_add_u64(&epochs[i], 1);
}
