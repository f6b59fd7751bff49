/*
 * keylock.pml
 *	  Key locks in shared memory: taking one, waiting for it, and releasing it.
 *
 * Properties: no two sessions hold the lock, and none waits for ever.
 *
 * What is in `atomic` is one step.  The list of a condition variable has a lock of its
 * own, which is a barrier, so steps take effect in their order.
 *
 *	 here					in the code
 *	 ----------------------	-------------------------------------------------
 *	 turns					KeyLock (takenkeys/keylock.c), modulo 8
 *	 listed					ConditionVariablePrepareToSleep, and what
 *							ConditionVariableSleep does when it is woken
 *	 wake					ConditionVariableBroadcast
 *	 inserter				sware_lock_key, sware_unlock_key; with an error
 *							sware_release_key_lock (takenkeys/keylock.c)
 *	 watcher				sware_wait_for_locked_keys (takenkeys/keylock.c)
 *
 * Two sessions take the lock twice, and may fail while they hold it; a third one waits
 * for its release once.
 */

#define SESSIONS	3
#define IS_HELD		(turns % 2 == 1)

byte turns;
byte holders;
bool listed[SESSIONS];

/* Those who sleep are not listed any more; they wake, and are listed again. */
inline wake()
{
#ifndef WITHOUT_RELEASE_WAKES_ALL
	d_step { listed[0] = false; listed[1] = false; listed[2] = false }
#else
	if
	:: atomic { listed[0] -> listed[0] = false }
	:: atomic { listed[1] -> listed[1] = false }
	:: atomic { listed[2] -> listed[2] = false }
	:: atomic { !listed[0] && !listed[1] && !listed[2] }
	fi
#endif
}

inline release()
{
	holders--;
#ifndef WITHOUT_RELEASED_BEFORE_WAKING
	turns = (turns + 1) % 8;
	wake()
#else
	wake();
	turns = (turns + 1) % 8
#endif
}

/* Is listed, and sleeps until it is not. */
#define PREPARE		listed[me] = true
#define SLEEP		atomic { !listed[me] -> listed[me] = true }

inline take(taken)
{
#ifndef WITHOUT_TAKEN_IF_UNCHANGED
	atomic {
		taken = !IS_HELD;
		turns = (taken -> (turns + 1) % 8 : turns)
	}
#else
	taken = !IS_HELD;
	if
	:: taken -> turns = (turns + 1) % 8
	:: else
	fi
#endif
}

proctype inserter(byte me)
{
	byte rows;
	bool taken;

	do
	:: rows < 2 ->
		rows++;
		take(taken);
		if
		:: taken
		:: else ->
#ifndef WITHOUT_LISTED_BEFORE_IT_LOOKS
			PREPARE;
			do
			:: take(taken);
				if
				:: taken -> break
				:: else -> SLEEP
				fi
			od;
#else
			do
			:: take(taken);
				if
				:: taken -> break
				:: else -> PREPARE; SLEEP
				fi
			od;
#endif
			listed[me] = false
		fi;
		holders++;
		assert(holders == 1);
		if
		:: release()
		:: true ->			/* an error */
#ifndef WITHOUT_ERROR_RELEASES
			release()
#else
			holders--
#endif
		fi
	:: rows == 2 -> break
	od
}

proctype watcher(byte me)
{
	byte seen;

	seen = turns;
	if
	:: seen % 2 == 0
	:: else ->
		PREPARE;
		do
		:: turns == seen -> SLEEP
		:: turns != seen -> break
		od;
		listed[me] = false
	fi
}

init
{
	atomic {
		run inserter(0);
		run inserter(1);
		run watcher(2)
	}
}
