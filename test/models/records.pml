/*
 * records.pml
 *	  The record cache: a reader that installs the record of a key, and readers that
 *	  use it, beside inserts of the key, VACUUM and the reuse of TIDs.
 *
 * Property: a look-up returns a row of the key that its snapshot sees, and no row that
 * is of another key and that its snapshot sees.
 *
 * What is in `atomic` is one step.  A set of records is under a spinlock, so what is
 * done with it is one step, too.  An epoch is one number.
 *
 *	 here				in the code
 *	 -----------------	-----------------------------------------------------
 *	 reader: ask		sware_find_record (records/recordcache.c)
 *	 reader: search		sware_scan_next (cursor/mergescan.c)
 *	 reader: install	sware_install_record (records/recordcache.c)
 *	 inserter: raise	sware_records_stored (records/recordcache.c)
 *	 vacuum				sware_bulkdelete (am/handler.c), and core's heap
 *
 * There are two TIDs.  TID 0 has a row of the key, which is deleted; VACUUM removes
 * its entry and lets the TID be reused by a row of another key, which has no entry
 * here.  TID 1 gets a row of the key.  A snapshot sees what was committed when it was
 * taken.  Two readers look the key up twice each.
 */

#define TIDS	2
#define LOOK_UPS 2

/* the entries of the key: buffer and tree together */
bool entry[TIDS];

/* the table */
bool row_is_deleted;			/* of TID 0, committed */
bool tid_is_free;				/* TID 0 */
bool other_is_committed;		/* the row of another key in TID 0 */
bool new_is_committed;			/* the row of TID 1 */

/* the cache */
byte version;
byte epoch;
bool has_record;
byte record_epoch;
bool record[TIDS];

byte oldest_look_ups;			/* whose snapshots see the row of TID 0 */

init
{
	atomic {
		entry[0] = true;
		run reader();
		run reader();
		run inserter();
		run vacuum()
	}
}

proctype inserter()
{
#ifndef WITHOUT_RAISED_AFTER_STORING
	entry[1] = true;
#else
	skip;
#endif
	atomic {
#ifndef WITHOUT_VERSION_IS_RAISED
		version++;
#endif
#ifndef WITHOUT_RECORD_IS_REMOVED
		has_record = false
#else
		skip
#endif
	}
#ifdef WITHOUT_RAISED_AFTER_STORING
	entry[1] = true;
#endif
	new_is_committed = true
}

proctype vacuum()
{
	row_is_deleted = true;
	/* the row is dead to all when no snapshot sees it any more */
	oldest_look_ups == 0;
	entry[0] = false;
#ifndef WITHOUT_EPOCH_IS_RAISED
	epoch++;
#endif
	tid_is_free = true;
	other_is_committed = true
}

proctype reader()
{
	byte my_version;
	byte my_epoch;
	byte look_ups;
	bool found[TIDS];
	bool sees_old;
	bool sees_new;
	bool sees_other;

	do
	:: look_ups < LOOK_UPS ->
		look_ups++;
		atomic {
			sees_old = !row_is_deleted;
			sees_new = new_is_committed;
			sees_other = other_is_committed;
			oldest_look_ups = oldest_look_ups + sees_old
		}
		my_epoch = epoch;
		atomic {
			my_version = version;
			if
#ifndef WITHOUT_EPOCH_IS_COMPARED
			:: has_record && record_epoch == my_epoch ->
#else
			:: has_record ->
#endif
				found[0] = record[0];
				found[1] = record[1];
				goto returned
			:: else -> skip
			fi
		}
		/* one leaf */
		atomic {
			found[0] = entry[0];
			found[1] = entry[1]
		}
		atomic {
			if
#ifndef WITHOUT_VERSION_IS_COMPARED
			:: version == my_version && (found[0] || found[1]) ->
#else
			:: found[0] || found[1] ->
#endif
				has_record = true;
				record_epoch = my_epoch;
				record[0] = found[0];
				record[1] = found[1]
			:: else -> skip
			fi
		}
returned:
		atomic {
			/* rows that the snapshot sees are found */
			assert(!sees_old || found[0]);
			assert(!sees_new || found[1]);
			/* and no row of another key is */
			assert(!(found[0] && tid_is_free && sees_other));
			oldest_look_ups = oldest_look_ups - sees_old;
			found[0] = false;
			found[1] = false;
			my_epoch = 0;
			my_version = 0
		}
	:: else -> break
	od
}
