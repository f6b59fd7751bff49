/*
 * copies.pml
 *	  Descents that take downlinks from old copies of internal pages, beside splits,
 *	  deletions, reuse, a build anew in the same file, and the rollback of a command
 *	  that has copied the file.
 *
 * Property: a descent ends at the leaf whose range has the key, and does not begin
 * again more often than the tree changes, and once for the copy.
 *
 * What is in `atomic` is one step: a WAL record, or the read of a page.  The reader
 * holds no lock between two steps, so a standby needs no model of its own.  The root is
 * a map from keys to links, and the reader's copy of it is from any time.
 *
 *	 here			in the code
 *	 -------------	---------------------------------------------------------
 *	 leaf			layout/page.h
 *	 split			split_page, sware_insert_downlink (tree/split.c)
 *	 delete			sware_delete_page (tree/unlink.c)
 *	 build			sware_cache_forget (pages/cache.c)
 *	 copy the file	ALTER INDEX ... SET TABLESPACE
 *	 roll back		ROLLBACK of a transaction with that command
 *	 reader			try_descend (tree/descent.c), sware_follow_copies,
 *					sware_forget_copies (tree/internalcopies.c)
 */

#define KEYS	3
#define LEAVES	3
#define CHANGES	4
#define LOOKS	2
#define NONE	255

typedef Leaf {
	bool is_live;
	byte incarnation;
	byte low;					/* its range: low <= key < high */
	byte high;
	byte right;					/* a link, or NONE */
	bool is_incomplete			/* has the right sibling no downlink yet? */
};
Leaf leaf[LEAVES];
byte root[KEYS];
byte file;						/* 0, or 1 while a copy of it is in use */
Leaf saved_leaf[LEAVES];
byte saved_root[KEYS];
byte saved_index_incarnation;
byte index_incarnation;
bool is_built;

/* a link: a leaf and its incarnation */
#define LINK(number)			((leaf[number].incarnation << 2) | (number))
#define NUMBER(link)			((link) & 3)
#ifndef WITHOUT_LINKS_HAVE_INCARNATIONS
#define LEADS(link)				(leaf[NUMBER(link)].is_live && LINK(NUMBER(link)) == (link))
#else
#define LEADS(link)				(leaf[NUMBER(link)].is_live)
#endif

bool is_looking;
byte changes;

inline use(number, its_low, its_high, its_right)
{
	leaf[number].is_live = true;
	leaf[number].incarnation++;
	leaf[number].low = its_low;
	leaf[number].high = its_high;
	leaf[number].right = its_right;
	leaf[number].is_incomplete = false
}

inline copy_leaf(to, from)
{
	to.is_live = from.is_live;
	to.incarnation = from.incarnation;
	to.low = from.low;
	to.high = from.high;
	to.right = from.right;
	to.is_incomplete = from.is_incomplete
}

/* Let the root lead to a leaf from a key on, where it led to another one. */
inline set_downlinks(number, first, other)
{
	i = first;
	do
	:: i < KEYS && (root[i] == other || other == NONE) -> root[i] = LINK(number); i++
	:: i < KEYS && root[i] != other && other != NONE -> i++
	:: i == KEYS -> break
	od;
	i = 0
}

active proctype writer()
{
	byte i;
	byte a;
	byte b;

	atomic { use(0, 0, KEYS, NONE); set_downlinks(0, 0, NONE); is_built = true };
	do
	:: changes < CHANGES ->
		atomic {
			select(a : 0 .. LEAVES - 1);
			select(b : 0 .. LEAVES - 1);
			if
			/* split */
			:: leaf[a].is_live && !leaf[b].is_live && !leaf[a].is_incomplete &&
			   leaf[a].high > leaf[a].low + 1 ->
				changes++;
				i = leaf[a].low + 1;
				if
				:: leaf[a].high > i + 1 -> i++
				:: true
				fi;
				use(b, i, leaf[a].high, leaf[a].right);
				leaf[a].high = i;
				leaf[a].right = LINK(b);
				leaf[a].is_incomplete = true;
				i = 0
			/* give the right sibling its downlink */
			:: leaf[a].is_live && leaf[a].is_incomplete && NUMBER(leaf[a].right) == b ->
				leaf[a].is_incomplete = false;
				set_downlinks(b, leaf[b].low, LINK(a))
			/* delete `a`, whose range goes to the right */
			:: leaf[a].is_live && !leaf[a].is_incomplete && leaf[a].right != NONE &&
			   NUMBER(leaf[a].right) == b ->
				changes++;
				leaf[a].is_live = false;
				leaf[b].low = leaf[a].low;
				set_downlinks(b, 0, LINK(a));
				do
				:: i < LEAVES && leaf[i].is_live && leaf[i].right == LINK(a) ->
					leaf[i].right = LINK(b); i++
				:: i < LEAVES && !(leaf[i].is_live && leaf[i].right == LINK(a)) -> i++
				:: i == LEAVES -> break
				od;
				i = 0
			/* build the index anew: incarnations begin again */
			:: !is_looking && a != b ->
				changes++;
				index_incarnation++;
				do
				:: i < LEAVES ->
					leaf[i].is_live = false; leaf[i].incarnation = 0; leaf[i].right = NONE; i++
				:: i == LEAVES -> break
				od;
				use(a, 1, KEYS, NONE);
				use(b, 0, 1, LINK(a));
				set_downlinks(b, 0, NONE);
				set_downlinks(a, 1, NONE)
			/* copy the file */
			:: !is_looking && file == 0 && a == 0 && b == 0 ->
				changes++;
				file = 1;
				saved_index_incarnation = index_incarnation;
				do
				:: i < LEAVES -> copy_leaf(saved_leaf[i], leaf[i]); i++
				:: i == LEAVES -> break
				od;
				i = 0;
				do
				:: i < KEYS -> saved_root[i] = root[i]; i++
				:: i == KEYS -> break
				od;
				i = 0
			/* roll back */
			:: !is_looking && file == 1 && a == 1 && b == 1 ->
				changes++;
				file = 0;
				index_incarnation = saved_index_incarnation;
				do
				:: i < LEAVES -> copy_leaf(leaf[i], saved_leaf[i]); i++
				:: i == LEAVES -> break
				od;
				i = 0;
				do
				:: i < KEYS -> root[i] = saved_root[i]; i++
				:: i == KEYS -> break
				od;
				i = 0
			:: else
			fi;
			a = 0; b = 0
		}
	:: changes == CHANGES -> break
	od
}

active proctype reader()
{
	byte looks;
	byte key;
	byte link;
	byte attempts;
	byte changes_before;
	bool by_copy;
	byte copy[KEYS];
	byte copy_incarnation = NONE;	/* of the index */
	byte copy_file;

	is_built;
	do
	:: looks < LOOKS ->
		atomic {
			is_looking = true;
			looks++;
			attempts = 0;
			changes_before = changes;
			select(key : 0 .. KEYS - 1)
		};
again:
		atomic {
			attempts++;
			assert(attempts <= changes - changes_before + 2);
#ifndef WITHOUT_COPIES_ARE_OF_A_BUILD
			by_copy = copy_incarnation == index_incarnation;
#else
			by_copy = copy_incarnation != NONE;
#endif
#ifndef WITHOUT_COPIES_ARE_OF_A_FILE
			by_copy = by_copy && copy_file == file;
#endif
			if
			:: by_copy -> link = copy[key]
			:: else ->
				link = root[key];
				copy[0] = root[0];
				copy[1] = root[1];
				copy[2] = root[2];
				copy_incarnation = index_incarnation;
				copy_file = file
			fi
		};
		do
		:: atomic {
			!LEADS(link) ->
#ifndef WITHOUT_REFUSED_COPIES_ARE_FORGOTTEN
			copy_incarnation = NONE;
#endif
			goto again
		   }
#ifndef WITHOUT_HIGH_KEY_IS_CHECKED
		:: atomic {
			LEADS(link) && key >= leaf[NUMBER(link)].high ->
			if
			:: by_copy -> copy_incarnation = NONE; goto again
			:: else -> link = leaf[NUMBER(link)].right
			fi
		   }
		:: atomic {
			LEADS(link) && key < leaf[NUMBER(link)].high ->
#else
		:: atomic {
			LEADS(link) ->
#endif
			assert(key >= leaf[NUMBER(link)].low && key < leaf[NUMBER(link)].high);
			break
		   }
		od;
		is_looking = false
	:: looks == LOOKS -> break
	od
}
