/*
 * frontier.pml
 *	  Frontiers of unique indexes: a key beyond the frontier is inserted without a
 *	  look-up.
 *
 * Property: no key is stored twice.  Transactions are left out, but for that of the
 * stager, whose keys other sessions wait for until it ends: they begin again then.
 *
 * What is in `atomic` is one step.  Each access to the frontier is one, since a
 * spinlock guards it; and so is a look-up, since nobody else stores the key while it is
 * locked.  Whatever takes or releases a lock is a barrier, and so is each atomic
 * addition, so store buffers are left out; what unique.pml says of the register holds
 * here, too.
 *
 *	 here				in the code
 *	 -----------------	-----------------------------------------------------
 *	 owner, is_valid,	Frontier (locks/frontier.c)
 *	 number, taking
 *	 direct				lock_free_key, insert_unique (am/insert.c)
 *	 shown				DirectInsert (locks/stagedkeys.c)
 *	 stager				search_bound is left out: each key is locked and
 *						looked up (admit_with_look_up, unique/stager.c)
 *	 publish			send, tell_of_stored (staging/publish.c)
 *	 search				sware_search_frontier (unique/unique.c)
 *	 other_index		sware_take_frontier of an index with the same place
 *	 move				the index is moved to another tablespace with its file's
 *						number, and back: ALTER DATABASE
 *	 build				sware_build (build/build.c): it stores keys without
 *						raising anything, and nobody else inserts
 *
 * The index is file 1 or, while it is moved, file 2; 3 is another index.  Two sessions
 * insert directly, and one searches.  Another index and a search that fails take the
 * frontier meanwhile; or instead, in the variants, a stager publishes, or the index is
 * moved and built.
 *
 * Variant: STAGER
 * Variant: MOVES
 */

#ifndef STAGER
#ifndef MOVES
#define FULL					/* another index, and a search that fails */
#endif
#endif

#define KEYS		2
#define NOBODY		255
#define NONE		0
#define BIT(key)	(1 << (key))

/* the entries, all in one file that is moved as a whole */
byte stored;
byte file = 1;

/* the frontier */
byte owner = NONE;
bool is_valid;
byte number;
byte taking;

byte key_lock[KEYS + 1] = NOBODY;
byte shown[2];					/* by each direct insert; 0: nothing */
byte registered;
byte stagers;
bool stager_has_ended;

byte users;						/* sessions that have the relation locked */
bool is_exclusive;

#ifndef WITHOUT_SAME_TAKING
#define IS_SAME_TAKING	(taking == its_taking)
#else
#define IS_SAME_TAKING	true
#endif

#define LARGEST		(stored & BIT(2) -> 2 : (stored & BIT(1) -> 1 : 0))

/* Store a key, which must not be there. */
inline store(what)
{
	assert((stored & BIT(what)) == 0);
	stored = stored | BIT(what)
}

/* Part of a step. */
inline find_owner()
{
	if
	:: owner == file -> is_owner = true
	:: else ->
		is_owner = false;
#ifndef WITHOUT_MOVE_IS_NOTICED
		if
		:: owner == 3 - file -> owner = NONE
		:: else
		fi
#endif
	fi
}

proctype direct(byte me; byte key)
{
	bool is_owner;
	bool is_beyond;
	bool is_found;

	atomic { !is_exclusive -> users++ }
next:
#ifndef WITHOUT_KEY_IS_LOCKED
	atomic { key_lock[key] == NOBODY -> key_lock[key] = me }
#endif
#ifndef WITHOUT_ANNOUNCED_BEFORE_RAISED
	shown[me] = key;
#endif
#ifdef WITHOUT_REGISTER_BEFORE_FRONTIER
	atomic {
		find_owner();
		is_beyond = is_owner && is_valid && key > number;
		number = (is_owner && key > number -> key : number);
		is_owner = false
	}
#endif
	/* find_staged_key */
	atomic {
		if
		:: registered & BIT(key) -> goto waits
		:: else
		fi
	}
#ifndef WITHOUT_REGISTER_BEFORE_FRONTIER
	/* sware_pass_frontier */
	atomic {
		find_owner();
		is_beyond = is_owner && is_valid && key > number;
#ifndef WITHOUT_INSERT_RAISES
		number = (is_owner && key > number -> key : number);
#endif
		is_owner = false
	}
#endif
#ifdef WITHOUT_ANNOUNCED_BEFORE_RAISED
	shown[me] = key;
#endif
	atomic {
		is_found = !is_beyond && (stored & BIT(key)) != 0;
		is_beyond = false
	}
	atomic {
		if
		:: !is_found -> store(key)
		:: else
		fi;
		is_found = false
	}
	goto unlock;
waits:
	atomic {
		shown[me] = 0;
		key_lock[key] = (key_lock[key] == me -> NOBODY : key_lock[key])
	}
	stager_has_ended -> goto next;
unlock:
	shown[me] = 0;
	atomic { key_lock[key] = (key_lock[key] == me -> NOBODY : key_lock[key]) };
	users--
}

/* A session that searches for the frontier. */
proctype searcher()
{
	bool is_owner;
	byte its_taking;
	byte largest;
	byte waits_for;

	atomic { !is_exclusive -> users++ };
#ifdef WITHOUT_TAKEN_FIRST
	largest = LARGEST;
#endif
	atomic {
		find_owner();
		if
		:: !is_owner -> owner = file; number = 0
		:: else
		fi;
		is_owner = false;
#ifndef WITHOUT_TAKEN_IS_NOT_VALID
		is_valid = false;
#endif
		taking++;
		its_taking = taking
	};
#ifndef WITHOUT_NO_STAGER
	if
	:: stagers > 0 -> goto gives_up
	:: stagers == 0
	fi;
#endif
#ifndef WITHOUT_INSERTS_ARE_WAITED_FOR
	waits_for = shown[0];
	atomic {
		waits_for == 0 || key_lock[waits_for] == NOBODY ->
		waits_for = shown[1]
	};
	atomic {
		waits_for == 0 || key_lock[waits_for] == NOBODY ->
		waits_for = 0
	};
#endif
#ifndef WITHOUT_TAKEN_FIRST
	largest = LARGEST;
#endif
	atomic {
		find_owner();
		if
		:: is_owner && IS_SAME_TAKING ->
			number = (largest > number -> largest : number);
			is_valid = true
		:: else
		fi
	};
gives_up:
	atomic {
		is_owner = false; its_taking = 0; largest = 0;
		users--
	}
}

/* A search that fails at once. */
proctype failing_search()
{
	bool is_owner;

	atomic {
		find_owner();
		if
		:: !is_owner -> owner = file; number = 0
		:: else
		fi;
		is_owner = false;
		is_valid = false;
		taking++
	}
}

/* Another index takes the same place, once, and validates. */
proctype other_index()
{
	byte its_taking;

	atomic {
		owner = 3;
		number = 0;
		is_valid = false;
		taking++;
		its_taking = taking
	};
	atomic {
		if
		:: taking == its_taking && owner == 3 ->
			is_valid = true
		:: else
		fi
	}
}

#ifdef STAGER
/* It stages key 2, if that is free, and publishes it. */
proctype stager(byte me)
{
	bool is_owner;
	bool is_staged;

	atomic { !is_exclusive -> users++ };
	stagers++;
	atomic { key_lock[2] == NOBODY -> key_lock[2] = me };
	registered = registered | BIT(2);
	atomic {
		if
		:: stored & BIT(2) -> registered = 0
		:: else -> is_staged = true
		fi
	};
	key_lock[2] = NOBODY;
	if
	:: is_staged ->
#ifdef WITHOUT_REGISTERED_UNTIL_RAISED
		registered = 0;
#endif
#ifndef WITHOUT_PUBLISHING_RAISES
#ifndef WITHOUT_RAISED_BEFORE_STORED
		atomic {
			find_owner();
			number = (is_owner && 2 > number -> 2 : number);
			is_owner = false
		};
#endif
#endif
		/* other sessions wait for the key, or find it */
		store(2);
#ifdef WITHOUT_RAISED_BEFORE_STORED
		registered = 0;
		atomic {
			find_owner();
			number = (is_owner && 2 > number -> 2 : number);
			is_owner = false
		};
#endif
		registered = 0
	:: else
	fi;
	atomic { stager_has_ended = true; stagers--; users--; is_staged = false }
}
#endif

#ifdef MOVES
/* The index is moved, and back; then it is built anew, with key 1. */
proctype owner_of_index()
{
	atomic { users == 0 -> file = 2 };
	atomic { users == 0 -> file = 1 };
	atomic { users == 0 -> is_exclusive = true };
#ifndef WITHOUT_BUILD_FORGETS
	atomic {
		owner = (owner == file -> NONE : owner)
	};
#endif
	stored = stored | BIT(2);
	is_exclusive = false
}
#endif

init
{
	atomic {
#ifdef STAGER
		stager_has_ended = false;
		run stager(2);
		run direct(0, 2);
#else
		stager_has_ended = true;
		if
		:: run direct(0, 1)
		:: run direct(0, 2)
		fi;
#endif
#ifdef MOVES
		run owner_of_index();
#endif
#ifdef FULL
		run other_index();
		run failing_search();
#endif
		if
		:: stored = 0
		:: stored = BIT(1)
		fi;
		run direct(1, 2);
		run searcher()
	}
}
