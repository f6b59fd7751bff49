/*
 * dead.pml
 *	  How entries of dead rows go: marks of scans, deletion without VACUUM, VACUUM and the
 *	  reuse of TIDs; on the primary, on a standby, and after its promotion.
 *
 * Property: a scan finds each row that its snapshot sees, if it is not cancelled.
 *
 * What is in `atomic` is one step: a WAL record, the read of a page, a look at one row.
 * Nothing on the primary depends on the standby, which sends no feedback.  So a standby
 * that lags behind meets nothing else than one that replays each record at once, and a
 * promotion that loses records is one that comes earlier.  There is one copy of the table
 * and of the index for both servers; only the marks, which are hints, differ.
 *
 *	 here				in the code
 *	 -----------------	-----------------------------------------------------
 *	 tids, marks		an item of a leaf, with one TID or more; its mark is in
 *						`marks` for each TID.  With BUFFER, entries of a
 *						buffer page, which have a mark each
 *	 log				wal/wal.c
 *	 log_conflict		sware_wal_log_conflict (wal/leafrecords.c); core does the
 *						same when it prunes a page of the table
 *	 inserter			store_entry (tree/insertrun.c), sware_wal_add_item;
 *						with BUFFER append (buffer/bufferinsert.c)
 *	 remover			remove_confirmed (tree/deadentries.c); with BUFFER
 *						sware_copy_piece (buffer/piece.c), retire (buffer/flush.c) and
 *						log_conflict (buffer/piece.c)
 *	 vacuum				core's lazy VACUUM, sware_tree_bulk_delete
 *						(tree/bulkdelete.c); with BUFFER it waits for a flush
 *	 scan: read			read_leaf, learn_what_is_wanted (tree/treescan.c)
 *	 scan: mark			lock_leaf_to_mark, is_all_dead (tree/leafmarks.c); with
 *						BUFFER sware_mark_buffer_entries (pages/bufferpages.c)
 *
 * All rows have one key.  An unlogged index, which no standby has, is a variant.
 *
 * Variant: UNLOGGED
 * Variant: BUFFER
 */

#define TIDS		2
#define ROWS		2
#define SCANS		2			/* on the primary, and then perhaps on its successor */

/* instead of a row */
#define FREE		254			/* the TID can be taken */
#define STUB		255			/* the row is gone, its TID is not free yet */

/* sets of rows, and of TIDs, are bit maps */
#define BIT(i)		(1 << (i))

/* sessions, and servers */
#define PRIMARY		0
#define STANDBY		1

/* the table */
byte row_at[TIDS];
byte inserted = BIT(0);			/* rows whose transaction has committed */
byte deleted;

/* the index */
byte tids = BIT(0);
byte marks[2];					/* on each server */
byte pins;						/* of the leaf, on the server that writes */
bool is_locked;					/* the leaf, exclusively */
byte tree;						/* with BUFFER, TIDs that have been flushed */
bool is_sealed;					/* with BUFFER, the page takes no entries */

/* each session's snapshot, if it has one, is the set of rows that it sees */
byte snapshot[2];
bool is_cancelled;				/* the standby's session */

/*
 * Has the LSN changed since the session has read the leaf?  With BUFFER: has the
 * buffer page another incarnation?
 */
bool has_changed[2] = true;

byte writer = PRIMARY;			/* the server that is not in recovery */

#define ROW(tid)	(row_at[tid] < ROWS -> BIT(row_at[tid]) : 0)
#define ROWS_OF(set) \
	(((set) & 1 -> ROW(0) : 0) | ((set) & 2 -> ROW(1) : 0))

/* rows that a server's sessions may still look at */
#define NEEDED_ON(server) \
	((server) == STANDBY -> \
	 snapshot[STANDBY] | (writer == STANDBY -> snapshot[PRIMARY] : 0) : \
	 snapshot[PRIMARY])

/* does the TID lead to no row, or to one that is dead to everybody on the server? */
#define IS_DEAD(tid, server) \
	(row_at[tid] >= ROWS || \
	 (BIT(row_at[tid]) & deleted & ~NEEDED_ON(server)) != 0)
#define DEAD(set, server) \
	(((set) & 1 && IS_DEAD(0, server) -> 1 : 0) | \
	 ((set) & 2 && IS_DEAD(1, server) -> 2 : 0))

/*
 * A record of the page, on which `before` was marked.  If it has an image, this has
 * the marks, too.  Otherwise it leaves out bytes that it does not change.
 */
inline log(before)
{
#ifndef BUFFER
#ifndef UNLOGGED
	has_changed[PRIMARY] = true;
	has_changed[STANDBY] = true;
#endif
#endif
	if
	:: writer == PRIMARY -> marks[STANDBY] = marks[PRIMARY]
#ifndef BUFFER
	:: writer == PRIMARY && before != 0 && marks[PRIMARY] == 0 ->
		marks[STANDBY] = 0
	:: writer == PRIMARY && (before == 0 || marks[PRIMARY] != 0) ->
		marks[STANDBY] = (marks[STANDBY] != 0 -> tids : 0)
#else
	:: writer == PRIMARY -> marks[STANDBY] = marks[STANDBY] & tids
#endif
	:: writer == STANDBY
	fi
}

/* is the transaction of the standby's session one that uses marks? */
#ifdef WITHOUT_MARKS_NEED_IGNORE_KILLED
#define LEAVES_OUT_MARKED	true
#else
#ifdef WITHOUT_RECOVERY_IS_REMEMBERED
#define LEAVES_OUT_MARKED	(writer == STANDBY)
#else
#define LEAVES_OUT_MARKED	false
#endif
#endif
#ifdef WITHOUT_NO_MARKS_IN_RECOVERY
#define MARKS_IN_RECOVERY	true
#else
#define MARKS_IN_RECOVERY	false
#endif

inline log_conflict(gone)
{
	if
	:: writer == PRIMARY && (snapshot[STANDBY] & ROWS_OF(gone)) != 0 ->
		snapshot[STANDBY] = 0;
		is_cancelled = true
	:: else
	fi
}

/*
 * A row is inserted.  An entry that is there already gains the TID of the new row, or
 * a new one is made.
 */
proctype inserter()
{
	byte row = 1;
	byte tid;
	byte before;
	byte server;

end:
	do
	:: atomic {
			row < ROWS && (row_at[0] == FREE || row_at[1] == FREE) ->
			tid = (row_at[0] == FREE -> 0 : 1);
			row_at[tid] = row;
			server = writer
		};
		atomic {
			!is_locked || server != writer ->
			if
			:: server != writer ->
				deleted = deleted | BIT(row)	/* it has never committed */
#ifdef BUFFER
			:: server == writer && is_sealed ->
				tree = tree | BIT(tid);
				inserted = inserted | BIT(row)
#endif
			:: server == writer && !is_sealed ->
				before = marks[writer];
#ifndef BUFFER
				if
				:: tids == 0 -> marks[STANDBY] = 0
				:: else
				fi;
				tids = tids | BIT(tid);
#ifndef WITHOUT_GAINED_TID_CLEARS_MARK
				marks[writer] = 0;
#else
				marks[writer] = (before != 0 -> tids : 0);
#endif
#else
				tids = tids | BIT(tid);
#endif
				log(before);
				inserted = inserted | BIT(row)
			fi;
			row++;
			before = 0;
			server = 0;
			tid = 0
		}
	od
}

proctype deleter()
{
end:
	atomic {
		(inserted & ~deleted) != 0 ->
		if
		:: inserted & ~deleted & 1 -> deleted = deleted | 1
		:: inserted & ~deleted & 2 -> deleted = deleted | 2
		fi
	}
}

/* A leaf without room loses entries; with BUFFER, a flush drops them. */
#ifndef WITHOUT_TABLE_IS_ASKED
#define REMOVABLE	DEAD(tids, writer)
#else
#define REMOVABLE	marks[writer]
#endif

proctype remover()
{
	byte going;
	byte before;
	byte server;

end:
	do
	:: atomic {
#ifdef BUFFER
			tids != 0 ->
			is_sealed = true;
#else
			REMOVABLE != 0 ->
			is_locked = true;
#endif
			server = writer;
			going = REMOVABLE;
#ifndef WITHOUT_CONFLICT_IS_LOGGED
#ifndef WITHOUT_CONFLICT_COMES_FIRST
			log_conflict(going)
#endif
#endif
		};
		atomic {
			if
			:: server == writer ->
				before = marks[writer];
#ifdef BUFFER
				tree = tree | (tids & ~going);
				tids = 0;
				marks[writer] = 0;
				has_changed[PRIMARY] = true;
				has_changed[STANDBY] = true;
				is_sealed = false;
#else
				tids = tids & ~going;
				marks[writer] = marks[writer] & tids;
				is_locked = false;
#endif
				log(before);
				before = 0
			:: else
			fi;
#ifdef WITHOUT_CONFLICT_COMES_FIRST
		};
		atomic {
			if
			:: server == writer -> log_conflict(going)
			:: else
			fi;
#endif
			going = 0;
			server = 0
		}
	od
}

#define IN_USE \
	((row_at[0] == FREE -> 0 : 1) | (row_at[1] == FREE -> 0 : 2))

/* It prunes the table, removes entries, and lets TIDs be taken again. */
proctype vacuum()
{
	byte going;
	byte before;
	byte server;

end:
	do
	:: atomic {
			DEAD(IN_USE, writer) != 0 ->
			going = DEAD(IN_USE, writer);
			server = writer;
			log_conflict(going);
			row_at[0] = (going & 1 -> STUB : row_at[0]);
			row_at[1] = (going & 2 -> STUB : row_at[1])
		};
		atomic {
#ifdef BUFFER
#ifndef WITHOUT_VACUUM_FLUSHES_FIRST
			(tids & going) == 0 || server != writer ->
#endif
			tree = (server == writer -> tree & ~going : tree)
#else
#ifndef WITHOUT_VACUUM_WAITS_FOR_PINS
			(pins == 0 && !is_locked) || server != writer ->
#else
			!is_locked || server != writer ->
#endif
			if
			:: server == writer ->
				before = marks[writer];
				tids = tids & ~going;
				marks[writer] = marks[writer] & tids;
				log(before)
			:: else
			fi;
			before = 0
#endif
		};
		atomic {
			if
			:: server == writer ->
				row_at[0] = (going & 1 -> FREE : row_at[0]);
				row_at[1] = (going & 2 -> FREE : row_at[1])
			:: else
			fi;
			going = 0;
			server = 0
		}
	od
}

/* has the session ended, since its server has, or by a conflict? */
#define IS_GONE(me)	(me == PRIMARY -> server != writer : is_cancelled)

/*
 * A session's scan.  It notes which of the TIDs that it has read lead to rows that are
 * dead to everybody, and marks their entries in the end.
 */
inline scan(me, may_leave_out, may_mark)
{
	atomic {
		!is_locked || server != writer ->
		has_changed[me] = !may_mark;
		rest = tids | tree;
#ifdef BUFFER
		on_page = (may_mark -> tids : 0);
#endif
		if
		:: may_leave_out -> rest = rest & ~marks[server]
		:: else
		fi;
		found = 0;
		dead = 0;
#ifndef BUFFER
		if
		:: server == writer && may_mark -> is_pinned = true; pins++
#ifdef UNLOGGED
#ifdef WITHOUT_UNLOGGED_IS_PINNED
		:: true
#endif
#else
		:: true
#endif
		fi
#endif
	};
	do
	:: atomic {
			rest != 0 ->
			tid = (rest & 1 -> 0 : 1);
			rest = rest & ~BIT(tid);
			found = found | ROW(tid);
#ifdef BUFFER
			dead = dead | (IS_DEAD(tid, server) -> on_page & BIT(tid) : 0);
			on_page = on_page & rest;
#else
			dead = dead | (may_mark && IS_DEAD(tid, server) -> BIT(tid) : 0);
#endif
			tid = 0
		}
	:: rest == 0 -> break
	od;
	atomic {
		!is_locked || server != writer ->
		if
		:: IS_GONE(me) -> dead = 0
		:: else -> assert((snapshot[me] & ~found) == 0)
		fi;
#ifndef WITHOUT_MARK_IS_CHECKED
		dead = (is_pinned || !has_changed[me] -> dead : 0);
#endif
#ifdef BUFFER
		dead = dead & tids;
#else
#ifndef WITHOUT_WHOLE_ITEM_IS_DEAD
		dead = ((tids & ~dead) == 0 -> tids : 0);
#else
		dead = (tids & dead -> tids : 0);
#endif
#endif
		if
		:: dead != 0 ->
			marks[server] = marks[server] | dead;
			/* with checksums, an image of the page is logged */
			if
			:: server == PRIMARY -> log(marks[server])
			:: true
			fi
		:: else
		fi;
		if
		:: is_pinned && server == writer -> pins--
		:: else
		fi;
		is_pinned = false;
		has_changed[me] = true;
		snapshot[me] = 0;
#ifdef BUFFER
		on_page = 0;
#endif
		found = 0;
		dead = 0
	}
}

/* sessions that begin on a server that is not in recovery */
proctype session()
{
	byte scans;
	byte server;
	byte rest;
#ifdef BUFFER
	byte on_page;
#endif
	byte found;
	byte dead;
	byte tid;
	bool is_pinned;

	do
	:: atomic {
			scans < SCANS ->
			scans++;
			server = writer;
			snapshot[PRIMARY] = inserted & ~deleted
		};
		scan(PRIMARY, true, true)
	:: scans == SCANS -> break
	od
}

#ifndef UNLOGGED
/* a session that begins in recovery, and goes on after a promotion */
proctype standby_session()
{
	byte server = STANDBY;
	byte rest;
#ifdef BUFFER
	byte on_page;
#endif
	byte found;
	byte dead;
	byte tid;
	bool is_pinned;

	atomic {
		if
		:: writer == PRIMARY -> snapshot[STANDBY] = inserted & ~deleted
		:: else -> goto is_over
		fi
	};
	scan(STANDBY, LEAVES_OUT_MARKED, MARKS_IN_RECOVERY);
is_over:
	skip
}

proctype promotion()
{
	if
	:: atomic {
			writer = STANDBY;
			snapshot[PRIMARY] = 0;
			pins = 0;
			is_locked = false;
			is_sealed = false
		}
	:: true
	fi
}
#endif

init
{
	atomic {
		row_at[1] = FREE;
		run inserter();
		run deleter();
		run remover();
		run vacuum();
		run session();
#ifndef UNLOGGED
		run standby_session();
		run promotion()
#endif
	}
}
