/*
 * visibility.pml
 *	  An index-only scan on a standby beside redo, which removes entries, lets their
 *	  TIDs be reused, and makes pages of the table all-visible.  For entries of the
 *	  buffer, the same goes on on the primary.
 *
 * Property: the scan returns an entry that it has read if its snapshot sees the
 * entry's row, and does not return it otherwise, unless the query is cancelled.
 *
 * What is in `atomic` is one step.  So is a WAL record, whose pages redo locks at one
 * moment, and the read of a leaf or of the visibility map.  Between two steps the scan
 * holds no lock, and no pin that redo would wait for.
 *
 *	 here				in the code
 *	 -----------------	-----------------------------------------------------
 *	 scan: copy			read_leaf (tree/treescan.c); read_batch
 *						(cursor/buffercursor.c)
 *	 scan: read_map		look_into_map (cursor/visibility.c, buffercursor.c)
 *	 scan: compare		sware_tree_cursor_leaf_is_unchanged (tree/leafmarks.c);
 *						sware_buffer_cursor_is_current (cursor/buffercursor.h)
 *	 scan: check		sware_row_is_visible (cursor/visibility.c)
 *	 scan: executor		core's IndexOnlyNext
 *	 redo				core's heap_redo, heap2_redo, generic_redo, xact_redo,
 *						in an order in which the primary may write the records
 *	 resolve			core's ResolveRecoveryConflictWithSnapshot
 *
 * The table has a page with one line pointer, in which rows follow each other, and so
 * one TID.  The index has a buffer and two leaves: an entry is inserted into one of them.
 * A flush moves it from the buffer to a leaf, and a split may move it from the first leaf
 * to the second.  VACUUM removes entries of leaves only, so it flushes first.  A snapshot
 * sees what was committed when it was taken.
 */

#define ROWS	3
#define BUFFER	2
#define NOWHERE	3

mtype = { NORMAL, DEAD, UNUSED };

/* the page of the table */
mtype pointer = NORMAL;
byte row;						/* that the line pointer leads or has led to */
bool is_inserted = true;		/* is its insertion committed? */
bool is_being_deleted;			/* has it been deleted, perhaps not committed? */
bool is_deleted;				/* is that committed? */
bool is_all_visible;			/* the bit in the visibility map */

/* the index */
byte leaf_of_entry;				/* of the row; NOWHERE if there is no entry */
byte lsn[3];					/* of each leaf; the generation of the buffer */

/* the scan's snapshot */
bool has_snapshot;
bool sees[ROWS];
bool is_cancelled;

/*
 * A conflict with the snapshot: redo cancels the query.  If it waits for the end of the
 * query instead, this is as if the record came after that.
 */
inline resolve(conflict)
{
#ifndef WITHOUT_CONFLICTS_ARE_RESOLVED
	if
	:: has_snapshot && (conflict) -> is_cancelled = true; has_snapshot = false
	:: !(has_snapshot && (conflict))
	fi
#else
	skip
#endif
}

active proctype redo()
{
	do
	/* rows come and go */
	:: atomic {
			pointer == NORMAL && is_inserted && !is_being_deleted ->
			is_being_deleted = true;
			is_all_visible = false
		}
	:: atomic { is_being_deleted && !is_deleted -> is_deleted = true }
	:: atomic {
			pointer == UNUSED && row < ROWS - 1 ->
			row++;
			pointer = NORMAL;
			is_inserted = false;
			is_being_deleted = false;
			is_deleted = false;
			is_all_visible = false;
			leaf_of_entry = NOWHERE
		}
	:: atomic {
			pointer == NORMAL && !is_inserted && leaf_of_entry == NOWHERE ->
			if
			:: leaf_of_entry = 0
			:: leaf_of_entry = 1
			:: leaf_of_entry = BUFFER
			fi;
			if
			:: leaf_of_entry != BUFFER -> lsn[leaf_of_entry]++
			:: else					/* an insert leaves the generation as it is */
			fi
		}
	:: atomic { leaf_of_entry != NOWHERE && !is_inserted -> is_inserted = true }

	/* a flush */
	:: atomic {
			leaf_of_entry == BUFFER ->
			if
			:: leaf_of_entry = 0
			:: leaf_of_entry = 1
			fi;
			lsn[leaf_of_entry]++;
#ifndef WITHOUT_FLUSH_RAISES_THE_GENERATION
			lsn[BUFFER]++
#endif
		}

	/* a split */
	:: atomic {
			leaf_of_entry == 0 ->
			leaf_of_entry = 1;
			lsn[0]++;
			lsn[1]++
		}

	/* VACUUM: the row, the entry, the TID, and the page */
	:: atomic {
			pointer == NORMAL && is_deleted ->
			resolve(sees[row]);
			pointer = DEAD
		}
	:: atomic {
			pointer == DEAD && leaf_of_entry < BUFFER ->
			lsn[leaf_of_entry]++;
			leaf_of_entry = NOWHERE
		}
	:: atomic {
#ifndef WITHOUT_ENTRY_LEAVES_BEFORE_ITS_TID
			pointer == DEAD && leaf_of_entry == NOWHERE ->
#else
			pointer == DEAD ->
#endif
			pointer = UNUSED
		}
	:: atomic {
			!is_all_visible &&
			(pointer == UNUSED ||
			 pointer == NORMAL && is_inserted && !is_being_deleted) ->
			resolve(pointer == NORMAL && !sees[row]);
			is_all_visible = true
		}
	:: break
	od
}

inline take_snapshot()
{
	atomic {
		sees[row] = pointer == NORMAL && is_inserted && !is_deleted;
		has_snapshot = true
	}
}

active proctype scan()
{
	byte entry;					/* its row */
	byte leaf;
	byte its_lsn;
	bool is_sure;				/* is the row known to be visible? */
	bool is_returned;

#ifndef WITHOUT_SNAPSHOT_BEFORE_COPY
	take_snapshot();
#endif

	/* copy: a row that the snapshot sees has an entry */
	atomic {
		if
		:: is_cancelled -> goto end
		:: !is_cancelled && leaf_of_entry == NOWHERE ->
			assert(!sees[0] && !sees[1] && !sees[2]);
			goto end
		:: else
		fi;
		entry = row;
		leaf = leaf_of_entry;
		its_lsn = lsn[leaf]
	}
#ifdef WITHOUT_SNAPSHOT_BEFORE_COPY
	take_snapshot();
#endif

#ifndef WITHOUT_MAP_BEFORE_LSN
	is_sure = is_all_visible;
#ifndef WITHOUT_LSN_IS_COMPARED
	is_sure = is_sure && lsn[leaf] == its_lsn;
#endif
#else
	is_sure = lsn[leaf] == its_lsn;
	is_sure = is_sure && is_all_visible;
#endif

	/* check */
#ifndef WITHOUT_UNSURE_ENTRIES_ARE_CHECKED
	atomic {
		is_returned = is_sure || pointer == NORMAL && sees[row]
	}
#else
	is_returned = true;
#endif

	/* executor */
	if
	:: is_returned && is_all_visible
	:: is_returned && !is_all_visible ->
		is_returned = pointer == NORMAL && sees[row]
	:: !is_returned
	fi;
	atomic {
		assert(is_cancelled || is_returned == sees[entry]);
		has_snapshot = false
	}
end:
	skip
}
