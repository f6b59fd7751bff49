/*
 * frontier.pml
 *	  Frontiers of unique indexes: a key that is new to the frontier is inserted without
 *	  a look-up.
 *
 * Property: no key is stored twice.  Transactions are left out, but for that of the
 * stager, whose keys other sessions wait for until it ends: they begin again then.
 *
 * What is in `atomic` is one step.  Each access to the frontier is one, since a lock
 * guards it; and so is a look-up, since nobody else stores the key while it is locked.
 * Whatever takes or releases a lock is a barrier, and so is each atomic addition, so
 * store buffers are left out; what unique.pml says of the register holds here, too.
 *
 *	 here				in the code
 *	 -----------------	-----------------------------------------------------
 *	 owner, is_valid,	Frontier (takenkeys/frontier.c); there is room for one
 *	 floor, numbers,	number, or for both keys
 *	 taking
 *	 direct				lock_free_key, insert_unique (am/insert.c)
 *	 named				the index that a KeyLock names (takenkeys/keylock.c)
 *	 stager				search_bound is left out: each key is locked and
 *						looked up (admit_with_look_up, unique/stager.c)
 *	 publish			send (staging/publish.c)
 *	 search				sware_search_frontier (unique/unique.c); it reads
 *						one entry, or all
 *	 other_index		sware_take_frontier of an index with the same place
 *	 build				sware_build (build/build.c): it stores keys without
 *						adding any, and nobody else inserts
 *
 * The index has incarnation 1, and after a build 2; 3 is another index.  Two sessions
 * insert directly, and one searches.  Another index and a search that fails take the
 * frontier meanwhile; or instead, in the variants, a stager publishes, or the index is
 * built.
 *
 * Variant: STAGER
 * Variant: BUILDS
 */

#ifndef STAGER
#ifndef BUILDS
#define FULL					/* another index, and a search that fails */
#endif
#endif

#define KEYS		2
#define NOBODY		255
#define NONE		0
#define BIT(key)	(1 << (key))

byte stored;
byte incarnation = 1;

/* the frontier */
byte owner = NONE;
bool is_valid;
byte floor;
byte numbers;
bool has_room;
byte taking;

byte key_lock[KEYS + 1] = NOBODY;
bool named[KEYS + 1];			/* by the lock; it may be another index's next */
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

/* Store a key, which must not be there. */
inline store(what)
{
	assert((stored & BIT(what)) == 0);
	stored = stored | BIT(what)
}

#ifndef WITHOUT_SAME_INCARNATION
#define IS_OWNER	(owner == incarnation)
#else
#define IS_OWNER	(owner != NONE && owner != 3)
#endif

#define ABOVE_FLOOR	(floor == 0 -> BIT(1) | BIT(2) : (floor == 1 -> BIT(2) : 0))

#define IS_NEW(key)	(IS_OWNER && is_valid && (BIT(key) & ABOVE_FLOOR & ~numbers) != 0)

/* Part of a step. */
inline raise_floor(key)
{
	floor = (key > floor -> key : floor);
	numbers = numbers & ABOVE_FLOOR
}

/* Part of a step: add keys; if there is no room for both, the smaller one goes. */
inline add(keys)
{
	numbers = numbers | (keys & ABOVE_FLOOR);
	if
	:: numbers == (BIT(1) | BIT(2)) && !has_room ->
#ifndef WITHOUT_FLOOR_RISES
		raise_floor(1)
#else
		numbers = BIT(2)
#endif
	:: else
	fi
}

/* Part of a step: an insert adds its key. */
inline pass(key)
{
	is_beyond = IS_NEW(key);
#ifndef WITHOUT_INSERT_ADDS
	if
	:: IS_OWNER -> add(BIT(key))
	:: else
	fi
#endif
}

/* Part of a step. */
inline take()
{
	owner = incarnation;
	floor = 0;
	numbers = 0;
#ifndef WITHOUT_TAKEN_IS_NOT_VALID
	is_valid = false;
#endif
	taking++
}

inline release(key)
{
	atomic {
		named[key] = named[key] && key_lock[key] != me;
		key_lock[key] = (key_lock[key] == me -> NOBODY : key_lock[key])
	}
}

inline wait_for_lock(key)
{
	holder = key_lock[key];
	if
	:: atomic { holder == NOBODY || !named[key] -> holder = NOBODY }
	:: atomic { holder != NOBODY && key_lock[key] != holder -> holder = NOBODY }
	fi
}

proctype direct(byte me; byte key)
{
	bool is_beyond;
	bool is_found;

	atomic { !is_exclusive -> users++ }
next:
#ifndef WITHOUT_KEY_IS_LOCKED
	atomic { key_lock[key] == NOBODY -> key_lock[key] = me }
#endif
#ifndef WITHOUT_NAMED_BEFORE_ADDED
	named[key] = true;
#endif
#ifdef WITHOUT_REGISTER_BEFORE_FRONTIER
	atomic { pass(key) }
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
	atomic { pass(key) }
#endif
#ifdef WITHOUT_NAMED_BEFORE_ADDED
	named[key] = true;
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
	release(key);
	stager_has_ended -> goto next;
unlock:
	release(key);
	users--
}

/* A session that searches for the frontier. */
proctype searcher()
{
	byte its_taking;
	byte largest;
	byte holder = NOBODY;

	atomic { !is_exclusive -> users++ };
#ifdef WITHOUT_TAKEN_FIRST
	largest = stored;
#endif
	atomic { take(); its_taking = taking };
#ifndef WITHOUT_NO_STAGER
	if
	:: stagers > 0 -> goto gives_up
	:: stagers == 0
	fi;
#endif
#ifndef WITHOUT_INSERTS_ARE_WAITED_FOR
	wait_for_lock(1);
	wait_for_lock(2);
#endif
#ifndef WITHOUT_TAKEN_FIRST
	largest = stored;
#endif
	atomic {
		if
		:: IS_OWNER && IS_SAME_TAKING ->
			if
			:: add(largest)
			:: largest != 0 ->
				raise_floor((largest & BIT(2) -> 2 : 1));
				add(largest)
			fi;
			is_valid = true
		:: else
		fi
	};
gives_up:
	atomic {
		its_taking = 0; largest = 0;
		users--
	}
}

/* A search that fails at once. */
proctype failing_search()
{
	atomic { take() }
}

/* Another index takes the same place, once, and validates. */
proctype other_index()
{
	byte its_taking;

	atomic {
		owner = 3;
		floor = 0;
		numbers = 0;
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
	bool is_its_own;
	bool is_staged;

	atomic { !is_exclusive -> users++ };
	stagers++;
	atomic { key_lock[2] == NOBODY -> key_lock[2] = me };
	named[2] = true;
	registered = registered | BIT(2);
	atomic {
		if
		:: stored & BIT(2) -> registered = 0
		:: else -> is_staged = true
		fi
	};
	release(2);
	if
	:: is_staged ->
#ifdef WITHOUT_REGISTERED_UNTIL_RAISED
		registered = 0;
#endif
#ifndef WITHOUT_PUBLISHING_RAISES
#ifndef WITHOUT_RAISED_BEFORE_STORED
		/* the entries are read in between, if the frontier is the index's */
		is_its_own = IS_OWNER;
		atomic {
			if
			:: is_its_own && IS_OWNER -> raise_floor(2)
			:: else
			fi;
			is_its_own = false
		};
#endif
#endif
		/* other sessions wait for the key, or find it */
		store(2);
#ifdef WITHOUT_RAISED_BEFORE_STORED
		registered = 0;
		atomic {
			if
			:: IS_OWNER -> raise_floor(2)
			:: else
			fi
		};
#endif
		registered = 0
	:: else
	fi;
	atomic { stager_has_ended = true; stagers--; users--; is_staged = false }
}
#endif

#ifdef BUILDS
/* The index is built anew, with key 2. */
proctype owner_of_index()
{
	atomic { users == 0 -> is_exclusive = true };
	stored = BIT(2);
	incarnation = 2;
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
#ifdef BUILDS
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
		if
		:: has_room = true
		:: has_room = false
		fi;
		run direct(1, 2);
		run searcher()
	}
}
