/*
 * unique.pml
 *	  Transactions that stage keys of a unique index, and that insert them directly.
 *
 * Properties: of the transactions that have committed, no two have a live row with
 * one key.  And all come to an end: each takes its keys in ascending order, so with
 * nbtree none would wait in a circle, neither for transactions nor for anything that
 * the deadlock detector does not see.
 *
 * What is in `atomic` is one step.  What a session writes to the register, and the
 * index that it names in a key lock, waits in its store buffer until the processor writes it to
 * memory, in order but at any time, or a barrier waits for that; so x86 has it, and
 * what the code needs beyond that, on other processors, is not modelled.  An atomic
 * increment is a barrier, and so is whatever takes or releases a lock.
 *
 *	 here					in the code
 *	 ----------------------	-------------------------------------------------
 *	 registered				the set of keys of a seat (takenkeys/stagedkeys.c)
 *	 named					the index that a KeyLock names (takenkeys/keylock.c)
 *	 activity, stagers		Activity (takenkeys/stagedkeys.c)
 *	 key_lock				sware_lock_key (takenkeys/keylock.c)
 *	 direct					lock_free_key, insert_unique (am/insert.c)
 *	 search_bound			search_bound (unique/stager.c),
 *							sware_wait_for_locked_keys (takenkeys/keylock.c)
 *	 fast					admit_above_bound
 *							(unique/stager.c)
 *	 slow					admit_with_look_up (unique/stager.c)
 *	 find_registered		sware_find_staged_key (takenkeys/stagedkeys.c)
 *	 look_up_new, _old		sware_look_up_key (unique/unique.c)
 *	 KEEPS_KEY				sware_keeps_key (unique/unique.h)
 *	 publish				send (staging/publish.c),
 *							sware_tell_of_stored (takenkeys/stagedkeys.c)
 *
 * Each session has one transaction, which may insert each key once, and stages it or
 * inserts it directly.  Session 0 may delete a row that was there, and replace it.
 * Two sessions do all this; in the variant, three insert the second key only.
 *
 * Variant: THREE_SESSIONS
 */

#define SESSIONS	3			/* at most */
#define KEYS		2			/* 1 and 2 */
#define NOBODY		255

#ifndef THREE_SESSIONS
#define MAY_INSERT	(key <= KEYS)
#else
#define MAY_INSERT	(key == KEYS)
#endif

#define BIT(key)	(1 << (key))

mtype = { RUNNING, COMMITTED, ABORTED };

/* memory, and the store buffers before it */
#define REGISTERED(session, key)	((session) * 3 + (key))
#define NAMED(key)					((key) * 3 - 3)
byte memory[SESSIONS * 3];
chan store_buffer[SESSIONS] = [2] of { byte, byte };

#define STORE(place, value)		store_buffer[me] ! (place), (value)
#define BARRIER					empty(store_buffer[me])

/* what a lock's barrier follows */
#define STORE_AT_ONCE(place, value) \
	atomic { BARRIER -> memory[place] = value }

/*
 * The activity is a number that is raised, and that a bound remembers: what matters
 * is whether it has been raised since a session has read it.
 */
bool is_activity_of_bound[SESSIONS];

#define READ_ACTIVITY		is_activity_of_bound[me] = true
#define ACTIVITY_IS_SAME	is_activity_of_bound[me]

#ifdef WITHOUT_BOUND_IS_LOOKED_AT_AGAIN
#define IS_STILL_VALID		true
#endif
#ifdef WITHOUT_BOUND_IS_LOOKED_AT_LAST
#define IS_STILL_VALID		true
#endif
#ifndef IS_STILL_VALID
#define IS_STILL_VALID		ACTIVITY_IS_SAME
#endif

inline raise_activity()
{
	is_activity_of_bound[0] = false;
	is_activity_of_bound[1] = false;
	is_activity_of_bound[2] = false
}

byte stagers;
byte key_lock[KEYS + 1] = NOBODY;

/* the rows of each session, by their keys, and a row that was there */
byte rows[SESSIONS];
mtype state[SESSIONS] = RUNNING;
bool has_ended[SESSIONS];		/* no session waits for it any more */
byte old_row;
byte old_row_deleter = NOBODY;

#define HAS_ROW(session, key) \
	(state[session] == COMMITTED && (rows[session] & BIT(key)) != 0)
#define OLD_ROW_LIVES \
	(old_row != 0 && (old_row_deleter == NOBODY || state[old_row_deleter] != COMMITTED))
#define LIVE_ROWS(key) \
	(HAS_ROW(0, key) + HAS_ROW(1, key) + HAS_ROW(2, key) + \
	 (old_row == (key) && OLD_ROW_LIVES))

#define ALL_ENTRIES		(rows[0] | rows[1] | rows[2] | (old_row -> BIT(old_row) : 0))
#define LARGEST_ENTRY	(ALL_ENTRIES & 4 -> 2 : (ALL_ENTRIES & 2 -> 1 : 0))

/* What a processor has in its store buffer gets to memory. */
active proctype processors()
{
	byte place;
	byte value;

end:
	do
	:: atomic { store_buffer[0] ? place, value -> memory[place] = value; place = 0; value = 0 }
	:: atomic { store_buffer[1] ? place, value -> memory[place] = value; place = 0; value = 0 }
	:: atomic { store_buffer[2] ? place, value -> memory[place] = value; place = 0; value = 0 }
	od
}

#define IS_FREE(key)	(key_lock[key] == NOBODY)

/*
 * Which transaction must be waited for, if the key is stored, or is it a duplicate?  What
 * has been stored meanwhile is found first (in the buffer), the row that was there
 * afterwards (in the tree).  Each is part of a step.
 */
inline look_up_new()
{
	i = 0;
	do
	:: i < SESSIONS ->
		if
		:: i != me && (rows[i] & BIT(key)) && state[i] == RUNNING -> other = i
		:: i != me && (rows[i] & BIT(key)) && state[i] == COMMITTED -> is_duplicate = true
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0
}

inline look_up_old()
{
	if
	:: old_row == key && old_row_deleter == NOBODY -> is_duplicate = true
	:: old_row == key && old_row_deleter != NOBODY && old_row_deleter != me ->
		if
		:: state[old_row_deleter] == RUNNING -> other = old_row_deleter
		:: state[old_row_deleter] == ABORTED -> is_duplicate = true
		:: else
		fi
	:: else
	fi;
	is_duplicate = is_duplicate && other == NOBODY
}

/* Does the session insert the new version of the row that was there? */
#define KEEPS_KEY	(old_row == key && old_row_deleter == me)

/* Which other session has registered the key?  If none has, look it up. */
inline find_registered(and_look_up)
{
	atomic { i = (stagers == is_stager -> SESSIONS : 0) }
	do
	:: atomic {
			i < SESSIONS ->
			if
			:: i != me && memory[REGISTERED(i, key)] -> other = i; i = SESSIONS
			:: else -> i++
			fi
		}
	:: atomic {
			i == SESSIONS ->
			i = 0;
			if
			:: and_look_up && other == NOBODY && !KEEPS_KEY -> look_up_new()
			:: else -> break
			fi
		}
		atomic { look_up_old() };
		break
	od
}

/* The lock may be another index's next. */
inline unlock()
{
	atomic { BARRIER -> memory[NAMED(key)] = 0; key_lock[key] = NOBODY }
}

inline forget_keys()
{
	memory[REGISTERED(me, 1)] = 0;
	memory[REGISTERED(me, 2)] = 0
}

/* Store what is staged.  The stager stays known. */
inline publish()
{
#ifdef WITHOUT_REGISTERED_UNTIL_STORED
	atomic { BARRIER -> forget_keys() }
#endif
	do
	:: atomic {
			staged != 0 ->
			largest = (staged & BIT(1) -> 1 : 2);
			rows[me] = rows[me] | BIT(largest);
			staged = staged & ~BIT(largest)
		}
	:: atomic {
			staged == 0 && largest != 0 && BARRIER ->
#ifndef WITHOUT_PUBLISHING_RAISES
			has_bound = false;
			raise_activity();
#endif
			largest = 0
		};
		if
		:: atomic { BARRIER -> forget_keys() }	/* under the lock of the seat */
		:: true					/* a part of what is staged is kept */
		fi
	:: staged == 0 && largest == 0 -> break
	od
}

proctype session(byte me)
{
	byte key;
	byte other = NOBODY;		/* the session that it must wait for */
	bool is_duplicate;
	byte i;

	bool is_stager;
	byte staged;
	byte largest;				/* key that has been published */
	bool has_bound;
	byte bound;

	if
	:: atomic { me == 0 && old_row != 0 -> old_row_deleter = me; goto next_key }
	:: goto next_key
	fi;

next_key:
	atomic {
		key++;
		if
		:: key > KEYS -> key = 0; goto ends
#ifndef THREE_SESSIONS
		:: key <= KEYS -> goto next_key
#else
		:: key < KEYS -> goto next_key
#endif
		:: MAY_INSERT && staged == 0 -> goto direct
		:: MAY_INSERT && is_stager -> goto stage
		:: MAY_INSERT && !is_stager && BARRIER ->
			/* become a stager */
			is_stager = true;
			stagers++
		fi
	}

stage:
	atomic {
		if
		:: has_bound && ACTIVITY_IS_SAME ->
			if
			:: key > bound -> goto fast
			:: else -> goto slow
			fi
		:: else -> has_bound = false; bound = 0
		fi;
		if
		:: goto slow			/* it does not search for a bound now */
		:: true
		fi;
		/* search_bound */
		READ_ACTIVITY
	}
	i = 0;
#ifndef WITHOUT_INSERTS_ARE_WAITED_FOR
	do
	:: atomic {
			i < KEYS ->
			i++;
			other = key_lock[i]
		}
		if
		:: atomic { other == NOBODY || !memory[NAMED(i)] -> other = NOBODY }
		:: atomic { other != NOBODY && key_lock[i] != other && BARRIER -> other = NOBODY }
		fi
	:: i == KEYS -> i = 0; break
	od;
#endif
	atomic {
		i = 0;
		bound = LARGEST_ENTRY;
		has_bound = true
	}
	atomic {
		if
		:: ACTIVITY_IS_SAME && key > bound
		:: else -> goto slow
		fi
	}

fast:
	STORE(REGISTERED(me, key), 1);
#ifndef WITHOUT_REGISTERING_IS_A_BARRIER
	BARRIER;
#endif
#ifdef WITHOUT_BOUND_IS_LOOKED_AT_LAST
	atomic {
		if
		:: !ACTIVITY_IS_SAME -> goto fast_path_fails
		:: else
		fi
	}
#endif
#ifndef WITHOUT_STAGERS_LOOK_AT_EACH_OTHER
	find_registered(false);
#endif
	atomic {
		if
		:: other != NOBODY -> other = NOBODY; goto fast_path_fails
		:: other == NOBODY && IS_STILL_VALID -> goto is_admitted
		:: else
		fi
	}

fast_path_fails:
	STORE_AT_ONCE(REGISTERED(me, key), 0);

slow:
	atomic {
#ifndef WITHOUT_STAGED_KEY_IS_LOCKED
		IS_FREE(key) && BARRIER -> key_lock[key] = me;
		STORE(NAMED(key), 1);
#endif
		STORE(REGISTERED(me, key), 1)
	}
#ifdef WITHOUT_DECIDED_UNDER_LOCK
	unlock()
#endif
	BARRIER;
	find_registered(true);
#ifndef WITHOUT_WITHDRAWN_BEFORE_WAITING
	if
	:: atomic { other != NOBODY && BARRIER -> memory[REGISTERED(me, key)] = 0 }
	:: other == NOBODY
	fi;
#endif
#ifndef WITHOUT_STAGED_KEY_IS_LOCKED
#ifndef WITHOUT_DECIDED_UNDER_LOCK
	unlock()
#endif
#endif
	atomic {
		if
		:: is_duplicate -> goto aborts
		:: other == NOBODY && !is_duplicate
		:: other != NOBODY && has_ended[other] && BARRIER -> other = NOBODY; goto stage
		fi
	}

is_admitted:
	atomic {
		staged = staged | BIT(key);
		if
		:: goto next_key
#ifndef THREE_SESSIONS
		:: true					/* a read, say, wants all entries stored */
#endif
		fi
	}
	publish();
	goto next_key;

direct:
	atomic {
#ifndef WITHOUT_KEY_IS_LOCKED
#ifndef WITHOUT_RAISED_UNDER_LOCK
#ifndef WITHOUT_KEPT_KEY_IS_LOCKED
		IS_FREE(key) && BARRIER -> key_lock[key] = me;
#else
		if
		:: KEEPS_KEY
		:: !KEEPS_KEY && IS_FREE(key) && BARRIER -> key_lock[key] = me
		fi;
#endif
#endif
#endif
		STORE(NAMED(key), 1)
	}
#ifndef WITHOUT_RAISED_BEFORE_REGISTER_IS_READ
	atomic {
#ifndef WITHOUT_RAISING_IS_A_BARRIER
		BARRIER ->
#endif
		raise_activity()
	}
#endif
#ifdef WITHOUT_RAISED_UNDER_LOCK
	atomic { IS_FREE(key) && BARRIER -> key_lock[key] = me }
#endif
#ifndef WITHOUT_REGISTER_BEFORE_INDEX
	find_registered(true);
#else
	if
	:: KEEPS_KEY
	:: !KEEPS_KEY ->
		atomic { look_up_new() };
		atomic { look_up_old() }
	fi;
	if
	:: other == NOBODY -> find_registered(false)
	:: other != NOBODY
	fi;
#endif
#ifdef WITHOUT_RAISED_BEFORE_REGISTER_IS_READ
	atomic { BARRIER -> raise_activity() }
#endif
#ifdef WITHOUT_WAITS_UNLOCKED
	if
	:: other == NOBODY
	:: other != NOBODY && has_ended[other]
	fi;
#endif
	if
	:: atomic {
			other == NOBODY && !is_duplicate ->
			rows[me] = rows[me] | BIT(key)
		}
	:: other != NOBODY || is_duplicate
	fi;
#ifndef WITHOUT_KEY_IS_LOCKED
	atomic {
		BARRIER ->
		if
		:: key_lock[key] == me -> memory[NAMED(key)] = 0; key_lock[key] = NOBODY
		:: else
		fi
	}
#endif
	atomic {
		if
		:: is_duplicate -> goto aborts
		:: other == NOBODY && !is_duplicate -> goto next_key
		:: other != NOBODY && has_ended[other] && BARRIER -> other = NOBODY; goto direct
		fi
	}

ends:
	if
	:: publish()
#ifndef THREE_SESSIONS
	:: goto aborts
#endif
	fi;
	atomic {
		state[me] = COMMITTED;
		assert(LIVE_ROWS(1) <= 1);
		assert(LIVE_ROWS(2) <= 1);
		goto gives_up_seat
	}
aborts:
	state[me] = ABORTED;
gives_up_seat:
	atomic {
		BARRIER ->
		forget_keys();
		stagers = stagers - is_stager
	}
	atomic {
		has_ended[me] = true;
		key = 0; is_duplicate = false; staged = 0; has_bound = false;
		bound = 0
	}
}

init
{
	atomic {
#ifdef THREE_SESSIONS
		run session(2);
#else
		if
		:: old_row = 1
		:: true
		fi;
#endif
		run session(0);
		run session(1)
	}
}
