/*
 * scan.pml
 *	  A scan beside inserts, flushes, and the retirement and reuse of pages.
 *
 * Property: an MVCC scan returns each entry that was stored when it began once,
 * and what it returns is in order, whatever happens beside it.
 *
 * What is in `atomic` is one step.  So is a WAL record: all pages of a record are
 * locked at one moment, on the primary and in redo.  So is the read of a page,
 * since readers lock one page at a time.  The scan holds no lock and no pin between
 * two steps.  So it meets on a standby what it meets here, and on the primary, too,
 * where locks only forbid some of the orders: one copy of the pages serves for both.
 *
 *	 here				in the code
 *	 -----------------	-----------------------------------------------------
 *	 page, slot, tail	layout/page.h: buffer pages, directory, metapage
 *	 inserter			append (buffer/bufferinsert.c), sware_open_tail,
 *						sware_replace_tail (buffer/tails.c), and
 *						sware_tree_insert_run (tree/insertrun.c)
 *	 flusher			sware_buffer_flush_all, sware_buffer_flush_piece,
 *						retire, sware_buffer_free_retired (buffer/flush.c);
 *						flush.pml has them in detail
 *	 scan: seek			seek, merge_begin (cursor/mergescan.c)
 *	 scan: read_batch	read_batch, collect (cursor/buffercursor.c)
 *	 scan: zone			sware_zones_copy, sware_zones_publish
 *						(zones/zonetable.c), update (zones/zoneview.c)
 *	 scan: read_leaf	sware_tree_cursor_seek, sware_tree_cursor_next_page
 *						(tree/treescan.c)
 *	 scan: merge		merge_next (cursor/mergescan.c)
 *
 * It begins in any state that a buffer can be in: each entry is on a sealed page, on
 * the tail, in the tree, or in the tree and still on the sealed page (a flush has died
 * there); one may be yet to come.  A batch has one entry.  A leaf that is read ends
 * anywhere, which stands for all that splits may do.  A zone is a sorted zone of all
 * sealed pages, and each slot is on a directory page of its own.  The scan goes
 * forward; backward is its mirror image.
 *
 * The code looks at the generation again when it has read a batch.  The model does
 * not, and holds: what was in the buffer when the batch began is on the pages that
 * were listed then, or these are not the pages meant any more.
 */

#define ENTRIES	3				/* numbers, in order */
#define PAGES	3
#define SLOTS	2
#define FLUSHES	1
#define NONE	255

/* sets of entries are bit maps */
#define ALL				((1 << ENTRIES) - 1)
#define BIT(entry)		(1 << (entry))
#define FROM(entry)		(ALL & ~(BIT(entry) - 1))
#define SMALLEST(set) \
	((set) & 1 -> 0 : ((set) & 2 -> 1 : ((set) & 4 -> 2 : ENTRIES)))

mtype = { FREE, BUFFER, LEAF, SEALED, RETIRED };

typedef Page {
	mtype kind = FREE;
	byte incarnation;
	byte entries
};
typedef Slot {
	mtype state = FREE;
	byte link
};
Page page[PAGES];
Slot slot[SLOTS];
byte tree;

/* the metapage */
byte generation;
byte version;
byte tail = NONE;

/* shared memory: the entries of all sealed pages of a version */
byte zone_version = NONE;
byte zone_entries;

/* a link is a block number with an incarnation */
#define LINK(block)		((block) + 4 * page[block].incarnation)
#define BLOCK(link)		((link) & 3)
#define IS_MEANT(link) \
	(page[BLOCK(link)].kind == BUFFER && LINK(BLOCK(link)) == (link))

#define FREE_PAGE \
	(page[0].kind == FREE -> 0 : (page[1].kind == FREE -> 1 : \
	 (page[2].kind == FREE -> 2 : PAGES)))

inline reinitialise(block, its_kind)
{
	page[block].kind = its_kind;
#ifndef WITHOUT_INCARNATION_IS_RAISED
	page[block].incarnation++;
#endif
	page[block].entries = 0
}

inline list_tail(number)
{
	slot[number].state = SEALED;
	slot[number].link = tail;
	tail = NONE;
#ifndef WITHOUT_VERSION_IS_RAISED
	version++
#endif
}

inline open_tail(block)
{
	reinitialise(block, BUFFER);
	tail = LINK(block);
	version++
}

proctype inserter(byte missing)
{
	byte block;

	do
	:: atomic {
			missing != 0 ->
			if
			:: tail != NONE ->
				page[BLOCK(tail)].entries = page[BLOCK(tail)].entries | missing
			:: tree = tree | missing
			fi;
			missing = 0
		}
	/* a page is opened, or replaces a full one, whose slot is free or retired */
	:: atomic {
			tail == NONE && FREE_PAGE < PAGES ->
			block = FREE_PAGE;
			open_tail(block);
			block = 0
		}
	:: atomic {
			tail != NONE && page[BLOCK(tail)].entries != 0 &&
			(slot[0].state == RETIRED || slot[1].state == RETIRED) ->
			if
			:: slot[0].state == RETIRED ->
				block = BLOCK(slot[0].link);
				list_tail(0)
			:: slot[1].state == RETIRED ->
				block = BLOCK(slot[1].link);
				list_tail(1)
			fi;
			open_tail(block);
			block = 0
		}
	:: atomic {
			tail != NONE && page[BLOCK(tail)].entries != 0 && FREE_PAGE < PAGES &&
			(slot[0].state == FREE || slot[1].state == FREE) ->
			block = FREE_PAGE;
			if
			:: slot[0].state == FREE -> list_tail(0)
			:: slot[0].state != FREE -> list_tail(1)
			fi;
			open_tail(block);
			block = 0
		}
	:: missing == 0 -> break
	od
}

active proctype flusher()
{
	byte flushes;
	byte entries;
	byte i;
	bool taken[SLOTS];

	do
	:: flushes < FLUSHES ->
		/* of everything, if the tail is sealed; otherwise of a piece */
		atomic {
			flushes++;
			if
			:: tail != NONE && page[BLOCK(tail)].entries != 0 ->
				if
				:: slot[0].state == FREE -> list_tail(0)
				:: slot[0].state != FREE && slot[1].state == FREE -> list_tail(1)
				:: else
				fi
			:: true
			fi
		};
		atomic {
			taken[0] = slot[0].state == SEALED;
			taken[1] = slot[1].state == SEALED;
			if
			:: taken[0] && taken[1] -> taken[1] = false
			:: true
			fi;
			if
			:: taken[0] -> entries = entries | page[BLOCK(slot[0].link)].entries
			:: else
			fi;
			if
			:: taken[1] -> entries = entries | page[BLOCK(slot[1].link)].entries
			:: else
			fi
		};
		do
		:: atomic {
				entries != 0 ->
				i = SMALLEST(entries);
				tree = tree | BIT(i);
				entries = entries & ~BIT(i);
				i = 0
			}
		:: entries == 0 -> break
		od;
		do
		:: atomic {
				taken[0] || taken[1] ->
				i = (taken[0] -> 0 : 1);
				slot[i].state = RETIRED;
#ifndef WITHOUT_GENERATION_IS_RAISED
				generation++;
#endif
				version++;
				taken[i] = false;
				i = 0
			}
		:: else -> break
		od
	/* a retired page becomes free, and then perhaps a leaf */
	:: atomic {
			slot[0].state == RETIRED ->
			page[BLOCK(slot[0].link)].kind = FREE;
			slot[0].state = FREE
		}
	:: atomic {
			FREE_PAGE < PAGES && page[FREE_PAGE].incarnation != 0 ->
			i = FREE_PAGE;
			reinitialise(i, LEAF);
			i = 0
		}
	:: break
	od
}

proctype scan(byte owed)
{
	byte next;					/* what was returned last lies before that */

	/* the buffer's cursor */
	bool is_reading_on;
	byte place;					/* the batch begins there */
	byte head = ENTRIES;		/* the batch's entry, if there is one */
	bool is_exhausted;
	byte its_generation;
	byte its_version;
	byte its_tail;
	byte listed[SLOTS];
	bool is_known;				/* is the zone this version's? */
	byte on_tail;
	byte on_pages;
	byte i;

	/* the tree's cursor */
	byte leaf;					/* the rest of the leaf */
	byte leaf_end;				/* all before that has been read */

seek:
	atomic {
		is_reading_on = false;
		place = next
	}
#ifdef WITHOUT_BUFFER_FIRST
	leaf_end = next;
	atomic {
		leaf = tree & FROM(next);
		leaf_end = ENTRIES
	}
#endif

read_batch:
	atomic {
		on_tail = 0;
		on_pages = 0;
		listed[0] = NONE;
		listed[1] = NONE;
		i = 0;
		if
#ifndef WITHOUT_SAME_GENERATION
		:: is_reading_on && generation != its_generation -> goto pages_have_retired
#endif
		:: else
		fi;
		its_generation = generation;
		its_version = version;
		its_tail = tail;
		if
		:: tail == NONE && slot[0].state != SEALED && slot[1].state != SEALED ->
			goto batch_is_read
		:: else
		fi
	}

	/* the list of sealed pages, or their entries, of that version */
	atomic {
		is_known = zone_version != NONE &&
#ifndef WITHOUT_ZONE_OF_STATE
			zone_version == its_version;
#else
			true;
#endif
		if
		:: is_known -> on_pages = zone_entries; goto read_tail
		:: else
		fi
	}
	listed[0] = (slot[0].state == SEALED -> slot[0].link : NONE);
	listed[1] = (slot[1].state == SEALED -> slot[1].link : NONE);
	atomic {
		if
#ifndef WITHOUT_VERSION_IS_COMPARED
		:: version != its_version -> goto read_batch
#endif
		:: else
		fi
	}

read_tail:
	atomic {
		if
		:: its_tail == NONE
#ifndef WITHOUT_PAGE_IS_CHECKED
		:: its_tail != NONE && !IS_MEANT(its_tail) -> goto read_batch
#endif
		:: else -> on_tail = page[BLOCK(its_tail)].entries
		fi
	}
	do
	:: atomic {
			i < SLOTS ->
			if
			:: listed[i] == NONE
#ifndef WITHOUT_PAGE_IS_CHECKED
			:: listed[i] != NONE && !IS_MEANT(listed[i]) -> goto read_batch
#endif
			:: else -> on_pages = on_pages | page[BLOCK(listed[i])].entries
			fi;
			i++
		}
	:: atomic {
			i == SLOTS ->
			zone_version = its_version;
			zone_entries = on_pages;
			break
		}
	od;

batch_is_read:
	atomic {
		on_pages = (on_tail | on_pages) & FROM(place);
		head = SMALLEST(on_pages);
		is_exhausted = (on_pages & ~BIT(head)) == 0;
		on_tail = 0;
		on_pages = 0;
		i = 0;
#ifndef WITHOUT_BUFFER_FIRST
		if
		:: !is_reading_on ->
			leaf_end = next;
			goto read_leaf
		:: else
		fi;
#endif
		goto merge
	}

pages_have_retired:
#ifndef WITHOUT_SEEK_BOTH
	goto seek;
#else
	atomic {
		is_reading_on = true;
		its_generation = generation;
		place = next;
		goto read_batch
	}
#endif

read_leaf:
	atomic {
		leaf = 0;
		do
		:: leaf_end < ENTRIES ->
			leaf = leaf | (tree & BIT(leaf_end));
			leaf_end++;
			if
			:: break
			:: leaf_end < ENTRIES
			fi
		:: else -> break
		od
	}

merge:
	atomic {
		do
		:: head == ENTRIES && !is_exhausted &&
#ifndef WITHOUT_BATCH_BEFORE_TREE
			true ->
#else
			leaf == 0 && leaf_end == ENTRIES ->
#endif
			is_reading_on = true;
			goto read_batch
		:: else ->
			i = SMALLEST(leaf);
			if
			:: i == ENTRIES && leaf_end < ENTRIES -> goto read_leaf
			:: i == ENTRIES && leaf_end == ENTRIES && head == ENTRIES -> break
			:: i < ENTRIES && i <= head ->
#ifndef WITHOUT_EQUAL_ENTRIES_ARE_ONE
				if
				:: i == head -> place = head + 1; head = ENTRIES
				:: else
				fi;
#endif
				leaf = leaf & ~BIT(i)
			:: head < i && (i < ENTRIES || leaf_end == ENTRIES) ->
				i = head;
				place = head + 1;
				head = ENTRIES
			fi;
			assert(i >= next);
			owed = owed & ~BIT(i);
			next = i + 1
		od;
		assert(owed == 0)
	}
}

init
{
	byte missing;
	byte i;

	atomic {
		do
		:: i < ENTRIES ->
			if
			:: missing == 0 -> missing = BIT(i)
			:: tree = tree | BIT(i)
			:: page[0].entries = page[0].entries | BIT(i)
			:: page[1].entries = page[1].entries | BIT(i)
			:: tree = tree | BIT(i); page[0].entries = page[0].entries | BIT(i)
			fi;
			i++
		:: else -> break
		od;
		if
		:: page[0].entries != 0 ->
			page[0].kind = BUFFER;
			slot[0].state = SEALED;
			slot[0].link = LINK(0)
		:: else
		fi;
		if
		:: page[1].entries != 0 ->
			page[1].kind = BUFFER;
			tail = LINK(1)
		:: else
		fi;
		run inserter(missing);
		run scan(ALL & ~missing)
	}
}
