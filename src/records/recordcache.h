/*-------------------------------------------------------------------------
 *
 * recordcache.h
 *	  The record cache: in shared memory, where the rows of keys are that were
 *	  looked up.
 *
 * In an index that is larger than memory, hot keys that lie scattered have a
 * leaf in memory each.  A *record* is a key with the TIDs of all its entries,
 * and takes 49 bytes instead.  The cache consists of sets of records; the hash
 * of a key says in which set its record is.  If a set is full, the record that
 * was not looked up for longest, nearly, gives way (CLOCK).
 *
 * A record has what a search of the index would find.  It is out of date when
 * an entry of the key is stored, and when VACUUM lets TIDs be reused:
 *
 *	 reader					inserter				VACUUM
 *	 takes a snapshot		stores the entry		removes entries
 *	 reads epoch, version	raises the version		raises the epoch
 *	 reads all of the key	of the key's set, and	reuses TIDs
 *	 same version? then		removes the record
 *	 installs the record	commits
 *	 goes to the TIDs
 *
 * Invariants:
 *	- A reader reads epoch and version before any page or zone of the index.  It
 *	  compares the version, and installs the record, under the set's lock.
 *	- A record is found only under the epoch that its reader had read.
 *	- An entry's version is raised after it was stored, and before its row's
 *	  transaction commits, whatever the settings of the session are.
 *	- So a snapshot sees no row whose entry a record lacks: the transaction has
 *	  committed before the snapshot was taken, and removed the record before.
 *	- A TID of a record that belongs to another row by now belongs to one that
 *	  was inserted later.  Only scans with an MVCC snapshot take TIDs from
 *	  records: to them that row is invisible.
 *
 * Versions and epochs are never reset.  In recovery entries are stored without
 * any of this, so there the cache is neither read nor filled.
 *
 * Only indexes with one key column have records, if its values are passed by
 * value, and if values that are equal are stored as the same bytes.  So keys
 * are compared without calling functions.  Only the bytes that would be stored
 * count: a Datum has room for more, and what it has there depends on where it
 * comes from.
 *
 * No function raises an error, except where it says so.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_RECORDCACHE_H
#define SWARE_RECORDCACHE_H

#include "access/itup.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

/* keys with more TIDs have no records */
#define SWARE_RECORD_TIDS	3

/* A key, and what a reader notes before it searches for the key. */
typedef struct SwareRecordKey
{
	uint64		value;			/* the bytes that the column stores, and
								 * zeroes */
	uint64		incarnation;	/* the index's */
	Oid			database;
	uint32		set;			/* where the record is, if there is one */
	uint64		version;		/* of the set */
	uint64		epoch;			/* of the index */
} SwareRecordKey;

/* See base/sharedmemory.h. */
extern void sware_share_records(void);

/*
 * May the index have records?  Depends on the index and the server only.  May
 * read the metapage, and raise errors of that.
 */
extern bool sware_has_records(Relation index);

/*
 * Look up the record of a key of an index that may have records.  Fills in
 * *key, copies the record's TIDs to `tids`, which has room for
 * SWARE_RECORD_TIDS, and returns their number, or 0 if there is no record.
 */
extern int	sware_find_record(Relation index, Datum value, SwareRecordKey *key,
							  ItemPointer tids);

/*
 * Install the record of a key that had none, unless an entry of the set's keys
 * may have been stored since sware_find_record.
 */
extern void sware_install_record(const SwareRecordKey *key,
								 const ItemPointerData *tids, int count);

/*
 * Remove the record of a key, one of whose rows is dead; if an entry of the key
 * has been stored, also raise the version of its set.
 */
extern void sware_remove_record(const SwareRecordKey *key, bool stored);

/*
 * Raise the versions of sets, and remove the records, of the keys of entries
 * that have been stored.  This and the next function may read the metapage, and
 * raise errors of that, before they have done anything.
 */
extern void sware_records_stored(Relation index, IndexTuple *entries,
								 int64 count);

/* Raise the epoch of an index, or the epochs of all. */
extern void sware_records_raise_epoch(Relation index);
extern void sware_records_raise_all_epochs(void);

#endif							/* SWARE_RECORDCACHE_H */
