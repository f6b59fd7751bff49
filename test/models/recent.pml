/*
 * recent.pml
 *	  The recent keys of a stager: a look for a key without the owner's knowledge.
 *
 * Property: a backend that looks for a key finds it if it was registered before the look
 * began.
 *
 * A stager registers keys in an array of recent ones.  When the array is full, it moves
 * them to its table, and uses the array again.  It takes no lock for that.  Each
 * statement is one step, and memory is seen in the order of the steps, which the barriers
 * of the code see to.
 *
 *	 here				in the code
 *	 -----------------	-----------------------------------------------------
 *	 recent, count		recent, recentCount of SwareKeySet (takenkeys/keyset.h)
 *	 table				its table; the n-th bit is that of key n
 *	 owner				add_to_recent, move_recent (takenkeys/keyset.c)
 *	 reader				sware_key_set_contains, is_among_recent
 *						(takenkeys/keyset.c)
 */

#define KEYS		5
#define SLOTS		2
#define LOOKS		2

byte recent[SLOTS];
byte count;
byte table;
byte registered;				/* keys 1..registered are */

active proctype owner()
{
	byte key;
	byte moved;

	do
	:: key < KEYS ->
		key++;
		if
		:: count == SLOTS ->
#ifdef WITHOUT_TABLE_BEFORE_COUNT
			count = 0;
#endif
			do
			:: moved < SLOTS ->
				table = table | (1 << recent[moved]);
				moved++
			:: moved == SLOTS -> break
			od;
			moved = 0;
#ifndef WITHOUT_TABLE_BEFORE_COUNT
			count = 0
#endif
		:: else
		fi;
		recent[count] = key;
		count++;
		registered = key
	:: key == KEYS -> break
	od
}

active proctype reader()
{
	byte looks;
	byte wanted;
	byte its_count;
	byte slot;
	bool is_found;

	do
	:: looks < LOOKS ->
		looks++;
		/* any key that is registered */
		atomic {
			registered > 0 || looks == LOOKS;
			select(wanted : 0 .. KEYS);
			if
			:: wanted == 0 || wanted > registered -> wanted = registered
			:: else
			fi
		};
		is_found = wanted == 0;
#ifdef WITHOUT_RECENT_BEFORE_TABLE
		is_found = is_found || (table & (1 << wanted)) != 0;
#endif
		its_count = count;
		do
		:: slot < its_count ->
			is_found = is_found || recent[slot] == wanted;
			slot++
		:: slot == its_count -> break
		od;
		slot = 0;
#ifndef WITHOUT_RECENT_BEFORE_TABLE
		is_found = is_found || (table & (1 << wanted)) != 0;
#endif
		assert(is_found)
	:: looks == LOOKS -> break
	od
}
