/*
 * sweep.pml
 *	  Sorting buffer pages and sweeping them, beside inserts, a scan and VACUUM,
 *	  with crashes.
 *
 * Properties: at every moment, the listed pages of the buffer and the tree together
 * have every entry that was stored, so a crash at any moment loses none; a scan
 * finds every entry that was stored when it began; and VACUUM frees no page but a
 * sorted one that nothing leads to.
 *
 * What is in `atomic` is one step: a WAL record, or a look at a page.  A flusher may
 * die before each of its steps, and another one begins; a crash of all processes
 * would leave fewer possibilities.  A page's slot is a part of the page here: its state
 * says whether a slot lists it.  Buffer pages get one entry, and are sealed at once.
 *
 *	 here				in the code
 *	 -----------------	-----------------------------------------------------
 *	 page				layout/page.h: buffer pages, and their slots
 *	 inserter			sware_replace_tail (buffer/tails.c)
 *	 flusher: copy		copy_pages (buffer/piece.c)
 *	 flusher: write		write_some (buffer/sortedpages.c)
 *	 flusher: list		list_some (buffer/sortedpages.c)
 *	 flusher: retire	retire (buffer/flush.c)
 *	 flusher: sweep		flush_swept (buffer/flush.c)
 *	 place				flush_swept (buffer/flush.c)
 *	 is_swept			begin_runs (buffer/sweep.c)
 *	 scan				read_batch (cursor/buffercursor.c), seek_in_tree
 *						(cursor/mergescan.c)
 *	 vacuum: note		examine_block (tree/bulkdelete.c)
 *	 vacuum: free		reclaim_sorted_page (tree/bulkdelete.c)
 *	 tree_grows			sware_allocate_buffer (pages/pageaccess.c)
 */

#define ENTRIES	2
#define PAGES	3
#define NONE	255

/* sets of entries, and of pages, are bit maps */
#define ALL				((1 << ENTRIES) - 1)
#define BIT(number)		(1 << (number))
#define SMALLEST(set) \
	((set) & 1 -> 0 : ((set) & 2 -> 1 : ENTRIES))

mtype = { FREE, UNLISTED, SEALED, RETIRED, LEAF };

typedef Page {
	mtype state = FREE;
	byte incarnation;
	bool is_sorted;
	byte entries
};
Page page[PAGES];
byte tree;

/*
 * The sweep: the entries before its place are in the tree, if they are on pages that
 * there were when it began.  Entries are the numbers 0, 1, ...
 */
byte place = ENTRIES;
bool is_swept[PAGES];

bool is_flushing;				/* the flush lock */
byte stored;					/* all entries that there must be */
bool is_raised;					/* the generation, since the scan looked at it */

/* how often it may happen */
byte deaths = 1;
byte rounds = 3;

#define FIRST(its_state) \
	(page[0].state == its_state -> 0 : (page[1].state == its_state -> 1 : \
	 (page[2].state == its_state -> 2 : PAGES)))
/* a page that can be taken */
#define AVAILABLE \
	(FIRST(FREE) < PAGES -> FIRST(FREE) : FIRST(RETIRED))

#define ON_PAGE(i)	(page[i].state == SEALED -> page[i].entries : 0)
#define IN_BUFFER	(ON_PAGE(0) | ON_PAGE(1) | ON_PAGE(2))

#define IS_UNSORTED(i)	(page[i].state == SEALED && !page[i].is_sorted)

inline reinitialise(block, its_state, its_entries, sorted)
{
	page[block].state = its_state;
	page[block].incarnation++;
	page[block].is_sorted = sorted;
	page[block].entries = its_entries;
	is_swept[block] = false
}

active proctype inserter()
{
	byte block;
	byte new;

	do
	:: stored == ALL -> break
	:: atomic {
			stored != ALL && AVAILABLE < PAGES ->
			block = AVAILABLE;
			if
			:: !(stored & 1) -> new = 1
			:: !(stored & 2) -> new = 2
			fi;
			reinitialise(block, SEALED, new, false);
			stored = stored | new;
			block = 0;
			new = 0
		}
	/* the buffer has no room */
	:: atomic {
			stored != ALL ->
			tree = tree | BIT(SMALLEST(ALL & ~stored));
			stored = stored | BIT(SMALLEST(ALL & ~stored))
		}
	od
}

#define OR_DIE	:: atomic { deaths > 0 -> deaths--; goto over }

inline retire_page(i)
{
	if
	:: from & BIT(i) -> page[i].state = RETIRED
	:: else
	fi
}

inline retire()
{
	retire_page(0);
	retire_page(1);
	retire_page(2)
}

inline copy_page(i)
{
	if
	:: IS_UNSORTED(i) ->
		from = from | BIT(i);
		entries = entries | page[i].entries
	:: else
	fi
}

inline begin_sweep(i)
{
	is_swept[i] = page[i].state == SEALED
}

/* the entries from the place on, and before the next one */
#define OF_PIECE(set)	((set) & ((1 << next) - 1) & ~((1 << place) - 1))

#ifndef WITHOUT_ONLY_PAGES_OF_SWEEP
#define IS_OF_SWEEP(i)	is_swept[i]
#else
#define IS_OF_SWEEP(i)	true
#endif

#ifndef WITHOUT_RETIRED_WHEN_EMPTY
#define HAS_NONE_LEFT(i)	((page[i].entries >> next) == 0)
#else
#define HAS_NONE_LEFT(i)	true
#endif

inline take(i)
{
	if
	:: page[i].state == SEALED && IS_OF_SWEEP(i) ->
		entries = entries | OF_PIECE(page[i].entries);
		if
		:: HAS_NONE_LEFT(i) -> from = from | BIT(i)
		:: else
		fi
	:: else
	fi
}

inline list()
{
	if
	:: page[to].state == UNLISTED && page[to].incarnation == incarnation ->
		page[to].state = SEALED
	:: else -> assert(false)	/* another one has taken the page */
	fi
}

active proctype flusher()
{
	byte from;					/* pages that are flushed or sorted */
	byte entries;				/* theirs */
	byte to;					/* the sorted page */
	byte incarnation;
	byte next;					/* place of the sweep */

	do
	:: rounds == 0 -> break
	:: atomic { rounds > 0 && !is_flushing -> rounds--; is_flushing = true };
		if
		/* sort */
		:: atomic {
				IS_UNSORTED(0) || IS_UNSORTED(1) || IS_UNSORTED(2) ->
				copy_page(0);
				copy_page(1);
				copy_page(2)
			};
			if
			:: atomic {
					AVAILABLE < PAGES ->
					to = AVAILABLE;
					reinitialise(to, UNLISTED, entries, true);
					incarnation = page[to].incarnation
				}
			:: atomic { AVAILABLE == PAGES -> goto over }
			OR_DIE
			fi;
#ifdef WITHOUT_LISTED_BEFORE_RETIREMENT
			atomic { retire(); is_raised = true };
#endif
			if
			:: atomic { true -> list() }
			OR_DIE
			fi;
#ifndef WITHOUT_LISTED_BEFORE_RETIREMENT
			if
			:: atomic {
					true -> retire();
#ifndef WITHOUT_RETIREMENT_IS_SHOWN
					is_raised = true
#endif
				}
			OR_DIE
			fi
#endif
		/*
		 * a piece of a sweep: the entries from its place to the next one.  Another
		 * sweep begins if the one before is at its end or was forgotten
		 */
		:: atomic {
				FIRST(SEALED) < PAGES ->
				if
				:: place < ENTRIES
				:: place > 0 ->
					place = 0;
					begin_sweep(0);
					begin_sweep(1);
					begin_sweep(2)
				fi;
				if
				:: place < 1 -> next = 1
				:: place < 2 -> next = 2
				fi;
				take(0);
				take(1);
				take(2);
#ifndef WITHOUT_PLACE_AFTER_TREE
				skip
#else
				place = next
#endif
			};
			if
			:: atomic { true -> tree = tree | entries }
			OR_DIE
			fi;
			if
			:: atomic { true -> retire(); is_raised = true }
			OR_DIE
			fi;
			if
			:: atomic { true -> place = next }
			OR_DIE
			fi
		/* free a retired page */
		:: atomic {
				FIRST(RETIRED) < PAGES ->
				if
				:: page[0].state == RETIRED -> page[0].state = FREE
				:: page[1].state == RETIRED -> page[1].state = FREE
				:: page[2].state == RETIRED -> page[2].state = FREE
				fi
			}
		:: true
		fi;
over:
		atomic {
			is_flushing = false;
			from = 0;
			entries = 0;
			to = 0;
			next = 0;
			incarnation = 0
		}
	od
}

/* Reads the pages that are listed, one after the other, and then the tree. */
active proctype scan()
{
	byte link[PAGES];
	byte known;
	byte found;
	byte i;

	known = stored;
again:
	atomic {
		i = 0;
		do
		:: i < PAGES ->
			link[i] = (page[i].state == SEALED -> page[i].incarnation : NONE);
			i++
		:: else -> break
		od;
		i = 0;
		found = 0;
		is_raised = false
	};
	do
	:: atomic {
			i < PAGES ->
			if
			:: link[i] == page[i].incarnation && page[i].state != FREE ->
				found = found | page[i].entries
			:: else
			fi;
			i++
		}
	:: atomic { i == PAGES && is_raised -> goto again }
	:: atomic { i == PAGES && !is_raised -> break }
	od;
	atomic {
		found = found | tree;
		assert((known & ~found) == 0)
	}
}

#define IS_LISTED(i)	(page[i].state == SEALED || page[i].state == RETIRED)

active proctype vacuum()
{
	byte met = PAGES;			/* a sorted page */
	byte incarnation;
	bool was_listed;

	if
	:: atomic {
			page[0].is_sorted && page[0].state != FREE -> met = 0 }
	:: atomic {
			page[1].is_sorted && page[1].state != FREE -> met = 1 }
	:: atomic {
			page[2].is_sorted && page[2].state != FREE -> met = 2 }
	:: rounds == 0 -> goto done
	fi;
	atomic {
		if
		:: page[met].is_sorted && page[met].state != FREE ->
			incarnation = page[met].incarnation;
			was_listed = IS_LISTED(met)
		:: else -> goto done
		fi
	}
#ifndef WITHOUT_VACUUM_TAKES_LOCK
	atomic { !is_flushing -> is_flushing = true };
#endif
#ifndef WITHOUT_LISTED_IS_ASKED_AGAIN
	was_listed = IS_LISTED(met);
#endif
	atomic {
		if
		:: !was_listed && page[met].state != FREE &&
#ifndef WITHOUT_PAGE_IS_CHECKED
			page[met].incarnation == incarnation ->
#else
			true ->
#endif
			assert(page[met].state == UNLISTED);
			page[met].state = FREE
		:: else
		fi
	}
#ifndef WITHOUT_VACUUM_TAKES_LOCK
	is_flushing = false;
#endif
done:
	skip
}

/* A page that is free may become one of the tree's. */
active proctype tree_grows()
{
	byte block;

	if
	:: atomic {
			FIRST(FREE) < PAGES && page[FIRST(FREE)].incarnation > 0 ->
			block = FIRST(FREE);
			reinitialise(block, LEAF, 0, false)
		}
	:: true
	fi
}

active proctype nothing_is_lost()
{
end:
	atomic {
		(stored & ~(tree | IN_BUFFER)) != 0 ->
		assert(false)
	}
}
