/*
 * grouping.pml
 *	  VACUUM moves leaves to other blocks, beside scans, an insert, and another backend
 *	  that looks for a free block; with crashes.
 *
 * Property: a scan, in either direction, returns each entry that was stored when it began,
 * none twice, and none whose TID has been released; in the end the tree has all entries
 * that were not removed, and each downlink leads to the leaf that it means.
 *
 * What is in `atomic` is one step: a WAL record, or the read of a page.  The scan holds no
 * lock between two steps.  It is index-only, and has the leaf pinned until it has looked
 * at the rows of its entries.  A crash is one of VACUUM's process only; what a server
 * starts from is the same.
 *
 *	 here			in the code
 *	 -------------	---------------------------------------------------------
 *	 leaf			layout/page.h
 *	 move			sware_move_leaf (tree/unlink.c), fill (tree/leaforder.c)
 *	 remove			sware_tree_bulk_delete (tree/bulkdelete.c)
 *	 inserter		sware_find_leaf (tree/descent.c), sware_tree_insert_run
 *					(tree/insertrun.c)
 *	 other			sware_allocate_buffer (pages/pageaccess.c)
 *	 scan			go_on, read_leaf (tree/treescan.c), sware_step_left
 *					(tree/descent.c)
 */

#define KEYS	4
#define BLOCKS	4
#define CHANGES	2
#define NONE	255

#define NEW		2				/* the key that is inserted */
#define DEAD	1				/* the key of an entry whose row is dead */

#define BIT(key)	(1 << (key))

mtype = { FREE, LEAF, OTHER };

typedef Leaf {
	mtype kind = FREE;
	byte incarnation;
	byte entries;
	byte low;					/* its range: low <= key < high */
	byte high;
	byte left;					/* links, or NONE */
	byte right;
	byte pins;
	bool is_locked
};
Leaf leaf[BLOCKS];
byte root[KEYS];
bool root_is_locked;
byte released;					/* TIDs that may be taken by other rows */
byte changes;
bool is_built;
byte ended;						/* how many processes have */

/* the key that a scan looks for next */
#define PLACE	(forward -> next : next - 1)

/* a link is a block number with an incarnation */
#define LINK(block)		((block) + 4 * leaf[block].incarnation)
#define BLOCK(link)		((link) & 3)
#define LEADS(link) \
	(leaf[BLOCK(link)].kind == LEAF && LINK(BLOCK(link)) == (link))

inline write_leaf(block, its_entries, its_low, its_high, its_left, its_right)
{
	leaf[block].kind = LEAF;
#ifndef WITHOUT_INCARNATION_IS_RAISED
	leaf[block].incarnation++;
#endif
	leaf[block].entries = its_entries;
	leaf[block].low = its_low;
	leaf[block].high = its_high;
	leaf[block].left = its_left;
	leaf[block].right = its_right
}

inline set_locks(lock)
{
#ifndef WITHOUT_LOCKED_FROM_THE_COPY_ON
	root_is_locked = lock;
	leaf[from].is_locked = lock;
	leaf[BLOCK(leaf[to].right)].is_locked = lock;
	if
	:: leaf[to].left != NONE -> leaf[BLOCK(leaf[to].left)].is_locked = lock
	:: else
	fi
#else
	skip
#endif
}

inline set_downlinks()
{
	i = leaf[to].low;
	do
	:: i < leaf[to].high -> root[i] = LINK(to); i++
	:: else -> break
	od;
	i = 0
}

active proctype vacuum()
{
	byte hole = 3;
	byte from;
	byte to;
	byte link;
	byte i;
	bool has_removed;

	is_built;
	do
	:: changes < CHANGES ->
		atomic {
			select(from : 0 .. BLOCKS - 1);
			to = hole;
			if
			:: leaf[from].kind == LEAF && leaf[from].right != NONE &&
#ifndef WITHOUT_BLOCK_IS_CHECKED
				leaf[to].kind == FREE &&
#endif
#ifndef WITHOUT_CLEANUP_LOCK
				leaf[from].pins == 0 &&
#endif
				from != to ->
				changes++;
				write_leaf(to, leaf[from].entries, leaf[from].low, leaf[from].high,
						   leaf[from].left, leaf[from].right);
				set_locks(true)
			:: else -> from = 0; goto moved
			fi
		};
		if
		:: true
		:: atomic { set_locks(false); goto crash }
		fi;
		atomic {
			leaf[BLOCK(leaf[to].right)].left = LINK(to);
			if
			:: leaf[to].left != NONE -> leaf[BLOCK(leaf[to].left)].right = LINK(to)
			:: else
			fi;
#ifndef WITHOUT_OLD_LEAF_IS_DELETED
			leaf[from].kind = FREE;
#endif
#ifndef WITHOUT_ONE_RECORD
			set_downlinks()
		};
#else
			skip
		};
		if
		:: true
		:: atomic { set_locks(false); goto crash }
		fi;
		set_downlinks();
#endif
		atomic {
			set_locks(false);
			hole = from;
			from = 0
		}
moved:
		skip
	/* remove the dead entry, wherever it is, and release its TID at the end */
	:: !has_removed ->
		has_removed = true;
		atomic { !root_is_locked -> link = root[0] };
		do
		:: link != NONE ->
			atomic {
				!leaf[BLOCK(link)].is_locked && leaf[BLOCK(link)].pins == 0 ->
				assert(LEADS(link));
				leaf[BLOCK(link)].entries = leaf[BLOCK(link)].entries & ~BIT(DEAD);
				link = leaf[BLOCK(link)].right
			}
		:: else -> break
		od;
		released = BIT(DEAD)
	:: break
	od;
crash:
	ended++
}

/* Another backend finds a free block. */
active proctype other()
{
	byte block;

	is_built;
	atomic {
		select(block : 0 .. BLOCKS - 1);
		if
		:: leaf[block].kind == FREE ->
			leaf[block].kind = OTHER;
			leaf[block].incarnation++
		:: else -> goto done
		fi
	};
	assert(leaf[block].kind == OTHER);
done:
	ended++
}

active proctype inserter()
{
	byte link;
	byte attempts;

	is_built;
again:
	atomic {
		!root_is_locked ->
		attempts++;
		assert(attempts <= CHANGES + 1);
		link = root[NEW]
	};
	do
	:: atomic {
			!leaf[BLOCK(link)].is_locked ->
			if
			:: !LEADS(link) -> goto again
			:: LEADS(link) && leaf[BLOCK(link)].high <= NEW -> link = leaf[BLOCK(link)].right
			:: LEADS(link) && leaf[BLOCK(link)].high > NEW ->
				leaf[BLOCK(link)].entries = leaf[BLOCK(link)].entries | BIT(NEW);
				break
			fi
		}
	od;
	ended++
}

active proctype scan()
{
	bool forward;
	byte next;					/* the next key; backward, the one behind it */
	byte owed = BIT(0) | BIT(3);
	byte returned;
	byte found;
	byte link;
	byte page = NONE;			/* the leaf that was read last */
	byte sibling;
	byte attempts;

	is_built;
	atomic {
		if
		:: forward = true
		:: next = KEYS
		fi
	};
seek:
	atomic {
		!root_is_locked ->
		attempts++;
		assert(attempts <= CHANGES + 1);
		link = root[PLACE];
		page = NONE
	};
read:
	atomic {
		!leaf[BLOCK(link)].is_locked ->
		if
		:: !LEADS(link) -> goto seek
		/* a step left must lead to the left sibling */
		:: LEADS(link) && !forward && page != NONE && leaf[BLOCK(link)].right != page ->
			goto seek
		:: LEADS(link) && leaf[BLOCK(link)].high <= PLACE ->
			link = leaf[BLOCK(link)].right;
			page = NONE;
			goto read
		:: else
		fi;
		assert(leaf[BLOCK(link)].low <= PLACE);
		found = leaf[BLOCK(link)].entries;
		page = link;
		sibling = (forward -> leaf[BLOCK(link)].right : leaf[BLOCK(link)].left);
		next = (forward -> leaf[BLOCK(link)].high : leaf[BLOCK(link)].low);
		leaf[BLOCK(link)].pins++
	};
	atomic {
		assert((found & (released | returned)) == 0);
		returned = returned | found;
		owed = owed & ~found;
		leaf[BLOCK(page)].pins--;
		found = 0;
		if
		:: sibling != NONE -> link = sibling; goto read
		:: else
		fi
	};
	assert(next == (forward -> KEYS : 0));
	assert(owed == 0);
	ended++
}

init
{
	byte key;

	atomic {
		write_leaf(0, BIT(0), 0, 1, NONE, 0);
		write_leaf(1, BIT(DEAD), 1, 3, LINK(0), 0);
		write_leaf(2, BIT(3), 3, 4, LINK(1), NONE);
		leaf[0].right = LINK(1);
		leaf[1].right = LINK(2);
		root[0] = LINK(0);
		root[1] = LINK(1);
		root[2] = LINK(1);
		root[3] = LINK(2);
		is_built = true
	};
	ended == 4;
	do
	:: key < KEYS ->
		assert(LEADS(root[key]) && leaf[BLOCK(root[key])].low <= key &&
			   leaf[BLOCK(root[key])].high > key);
		assert(key == DEAD || (leaf[BLOCK(root[key])].entries & BIT(key)) != 0);
		key++
	:: else -> break
	od
}
