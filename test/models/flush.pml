/*
 * flush.pml
 *	  Flushes beside inserts and each other, with crashes.
 *
 * Property: at every moment, the listed pages of the buffer and the tree together
 * have every entry that was stored, so a crash at any moment loses none; and the
 * tree has none twice.
 *
 * What is in `atomic` is one step: a WAL record, or the copy of a page.  A crash
 * leaves the records that were written, and takes what processes remember: here, the
 * copy that a flusher has made, and its list of pages.  So a flusher may die before
 * each of its steps, and begin again; a crash of all processes would leave
 * fewer possibilities.  A session may store an entry once more, as it
 * does after an error in the middle of publishing.
 *
 *	 here				in the code
 *	 -----------------	-----------------------------------------------------
 *	 page, slot, tail	layout/page.h: buffer pages, directory, metapage
 *	 inserter: find		lock_tail, lock_open_page (buffer/bufferinsert.c)
 *	 inserter: open		sware_open_tail (buffer/tails.c)
 *	 inserter: append	append (buffer/bufferinsert.c)
 *	 inserter: replace	sware_replace_tail, try_retired_page (buffer/tails.c)
 *	 flusher: seal		sware_seal_tail (buffer/tails.c)
 *	 flusher: list		sware_buffer_list_pages (pages/bufferpages.c)
 *	 flusher: copy		copy_pages (buffer/piece.c)
 *	 flusher: insert	sware_tree_insert_run (tree/insertrun.c)
 *	 flusher: retire	retire (buffer/flush.c)
 *	 flusher: free		sware_buffer_free_retired (buffer/flush.c),
 *						free_retired_page (buffer/tails.c)
 */

#define ENTRIES	2
#define PAGES	3
#define SLOTS	2
#define NONE	255

/* sets of entries are bit maps */
#define ALL				((1 << ENTRIES) - 1)
#define BIT(entry)		(1 << (entry))
#define SMALLEST(set) \
	((set) & 1 -> 0 : ((set) & 2 -> 1 : ENTRIES))

mtype = { FREE, BUFFER, LEAF, SEALED, RETIRED };

typedef Page {
	mtype kind = FREE;
	byte incarnation;
	bool is_sealed;
	byte entries
};
typedef Slot {
	mtype state = FREE;
	byte link
};
Page page[PAGES];
Slot slot[SLOTS];
byte tail = NONE;
byte tree;

bool is_flushing;				/* the flush lock */
byte stored;					/* all entries that there must be */

/* how often it may happen */
byte deaths = 1;
byte repetitions = 1;

/* a link is a block number with an incarnation */
#define LINK(block)		((block) + 4 * page[block].incarnation)
#define BLOCK(link)		((link) & 3)
#define IS_MEANT(link) \
	(page[BLOCK(link)].kind == BUFFER && LINK(BLOCK(link)) == (link))

#define FREE_PAGE \
	(page[0].kind == FREE -> 0 : (page[1].kind == FREE -> 1 : \
	 (page[2].kind == FREE -> 2 : PAGES)))

#define IN_SLOT(i) \
	(slot[i].state == SEALED && IS_MEANT(slot[i].link) -> \
	 page[BLOCK(slot[i].link)].entries : 0)
#define ON_TAIL \
	(tail != NONE && IS_MEANT(tail) -> page[BLOCK(tail)].entries : 0)

inline reinitialise(block, its_kind)
{
	page[block].kind = its_kind;
	page[block].incarnation++;
	page[block].is_sealed = false;
	page[block].entries = 0
}

/* what the record that seals the tail does, but for what comes in its place */
inline seal(number)
{
	page[BLOCK(tail)].is_sealed = true;
	slot[number].state = SEALED;
	slot[number].link = tail;
	tail = NONE
}

inline insert_into_tree(entry)
{
#ifdef WITHOUT_TREE_SKIPS
	assert(!(tree & BIT(entry)));
#endif
	tree = tree | BIT(entry)
}

active proctype inserter()
{
	byte mine = NONE;			/* the open page used last */
	byte entry;
	byte block;

	do
	:: stored == ALL && repetitions == 0 -> break
	:: atomic {
			stored != ALL || repetitions > 0 ->
			if
			:: stored != ALL ->
				entry = SMALLEST(ALL & ~stored)
			:: stored != 0 && repetitions > 0 ->
				repetitions--;
				entry = SMALLEST(stored)
			fi
		};
find:
		if
		:: atomic {
				mine == NONE && tail != NONE -> mine = tail;
				goto append
			}
		:: atomic {
				mine == NONE && tail == NONE && FREE_PAGE < PAGES ->
				block = FREE_PAGE;
				reinitialise(block, BUFFER);
				mine = LINK(block);
#ifndef WITHOUT_LISTED_AT_ONCE
				tail = mine;
#endif
				block = 0;
				goto append
			}
		/* the buffer has no room */
		:: atomic {
				tree = tree | BIT(entry);
				stored = stored | BIT(entry);
				goto is_stored
			}
		:: mine != NONE
		fi;
append:
		atomic {
			if
#ifndef WITHOUT_OPEN_IS_CHECKED
			:: !IS_MEANT(mine) || page[BLOCK(mine)].is_sealed ->
				mine = NONE;
				goto find
#endif
			:: else ->
				page[BLOCK(mine)].entries = page[BLOCK(mine)].entries | BIT(entry);
				stored = stored | BIT(entry)
			fi
		}
#ifdef WITHOUT_LISTED_AT_ONCE
		atomic {
			if
			:: tail == NONE -> tail = mine
			:: else
			fi
		}
#endif
is_stored:
		entry = 0
	/* the page is full: it is sealed, and another one opened */
	:: atomic {
			mine != NONE && mine == tail && page[BLOCK(mine)].entries != 0 ->
			if
			:: slot[0].state == RETIRED ->
				block = BLOCK(slot[0].link);
				seal(0)
			:: slot[1].state == RETIRED ->
				block = BLOCK(slot[1].link);
				seal(1)
			:: slot[0].state == FREE && FREE_PAGE < PAGES ->
				block = FREE_PAGE;
				seal(0)
			:: slot[0].state != FREE && slot[1].state == FREE && FREE_PAGE < PAGES ->
				block = FREE_PAGE;
				seal(1)
			:: else -> goto no_slot
			fi;
			reinitialise(block, BUFFER);
			tail = LINK(block);
			mine = tail;
no_slot:
			block = 0
		}
	od
}

#define OR_DIE	:: atomic { deaths > 0 -> deaths--; goto dies }

active [2] proctype flusher()
{
	byte link[SLOTS];			/* what is to be flushed; NONE: nothing */
	byte entries;
	byte i;

begin:
#ifndef WITHOUT_ONE_FLUSHER
	atomic { !is_flushing -> is_flushing = true }
#endif

	/* everything, or a piece: that begins with what is sealed */
#ifdef WITHOUT_SEALED_FIRST
	atomic {
		if
		:: tail != NONE -> entries = page[BLOCK(tail)].entries
		:: else
		fi
	}
#endif
	if
	:: atomic {
			tail != NONE && page[BLOCK(tail)].entries != 0 ->
			if
			:: slot[0].state == FREE -> seal(0)
			:: slot[0].state != FREE && slot[1].state == FREE -> seal(1)
			:: else
			fi
		}
	:: true
	OR_DIE
	fi;

	/* list */
	atomic {
		link[0] = (slot[0].state == SEALED -> slot[0].link : NONE);
		link[1] = (slot[1].state == SEALED -> slot[1].link : NONE);
		if
		:: link[0] != NONE && link[1] != NONE -> link[1] = NONE
		:: link[0] != NONE && link[1] != NONE -> link[0] = NONE
		:: true
		fi
	}
#ifdef WITHOUT_STORED_BEFORE_RETIREMENT
	goto retire;
#endif

copy:
#ifndef WITHOUT_SEALED_FIRST
	do
	:: atomic {
			i < SLOTS ->
			if
			:: link[i] != NONE ->
				assert(IS_MEANT(link[i]));
				entries = entries | page[BLOCK(link[i])].entries
			:: else
			fi;
			i++
		}
	:: i == SLOTS -> break
	OR_DIE
	od;
#endif

	do
	:: atomic {
			entries != 0 ->
			i = SMALLEST(entries);
			insert_into_tree(i);
			entries = entries & ~BIT(i)
		}
	:: entries == 0 -> break
	OR_DIE
	od;
#ifdef WITHOUT_STORED_BEFORE_RETIREMENT
	goto free;
#endif

retire:
	i = 0;
	do
	:: atomic {
			i < SLOTS ->
			if
			:: link[i] != NONE -> slot[i].state = RETIRED
			:: else
			fi;
			i++
		}
	:: i == SLOTS -> break
	OR_DIE
	od;
#ifdef WITHOUT_STORED_BEFORE_RETIREMENT
	i = 0;
	goto copy;
#endif

free:
	atomic {
		link[0] = (slot[0].state == RETIRED -> slot[0].link : NONE);
		link[1] = (slot[1].state == RETIRED -> slot[1].link : NONE);
		i = 0
	}
	do
	:: atomic {
			i < SLOTS ->
			if
			:: link[i] != NONE &&
#ifndef WITHOUT_RETIRED_IS_CHECKED
				IS_MEANT(link[i]) && slot[i].state == RETIRED && slot[i].link == link[i] ->
#else
				true ->
#endif
				page[BLOCK(link[i])].kind = FREE;
				slot[i].state = FREE
			:: else
			fi;
			i++
		}
	:: i == SLOTS -> break
	:: i < SLOTS -> break		/* or later */
	OR_DIE
	od;
	atomic {
		is_flushing = false;
		entries = 0;
		i = 0;
		goto done
	}

dies:
	atomic {
		is_flushing = false;
		entries = 0;
		i = 0;
		goto begin
	}
done:
	skip
}

/* A page that is free may become one of the tree's. */
active proctype tree_grows()
{
	byte block;

	if
	:: atomic {
			FREE_PAGE < PAGES && page[FREE_PAGE].incarnation > 0 ->
			block = FREE_PAGE;
			reinitialise(block, LEAF)
		}
	:: true
	fi
}

active proctype nothing_is_lost()
{
end:
	atomic {
		(stored & ~(tree | ON_TAIL | IN_SLOT(0) | IN_SLOT(1))) != 0 ->
		assert(false)
	}
}
