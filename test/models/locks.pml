/*
 * locks.pml
 *	  Content locks on the pages of the buffer: of writers, of redo, and of readers.
 *
 * Property: no processes wait for each other in a circle.  The deadlock detector knows nothing of content
 * locks, so a circle would last for ever.
 *
 * On the primary there are two writers, each of which makes one record after another
 * and holds the locks of a record's pages until it is written.  On a standby, which is
 * the variant, redo makes them all, and has all locks of a record, too.
 *
 *	 here				in the code
 *	 -----------------	-----------------------------------------------------
 *	 open				sware_open_tail (buffer/tails.c)
 *	 seal				sware_replace_tail, sware_seal_tail, seal
 *						(buffer/tails.c)
 *	 retire				retire (buffer/flush.c)
 *	 free				free_retired_page (buffer/tails.c)
 *	 redo				core's generic_redo: pages in the order in which they
 *						were registered
 *	 reader				sware_buffer_read_state, sware_buffer_list_pages,
 *						sware_copy_buffer_page (pages/bufferpages.c)
 *
 * There is one page of each kind.  Locks that are only tried, as those of retired
 * pages, cannot be part of a circle, and are not here.
 *
 * Variant: STANDBY
 */

#define RECORDS		3			/* of each writer */
#define NOBODY		255

mtype = { BUFFER_PAGE, DIRECTORY, METAPAGE };

byte owner[4] = NOBODY;			/* with an exclusive lock, by kind of page */
byte readers[4];				/* with share locks */

inline lock(page)
{
	atomic { owner[page] == NOBODY && readers[page] == 0 -> owner[page] = _pid }
}

inline unlock(page)
{
	owner[page] = NOBODY
}

inline open()
{
	lock(BUFFER_PAGE);
	lock(METAPAGE);
	unlock(METAPAGE);
	unlock(BUFFER_PAGE)
}

inline seal()
{
#ifndef WITHOUT_METAPAGE_LAST
	lock(BUFFER_PAGE);
	lock(DIRECTORY);
	lock(METAPAGE);
#else
	lock(BUFFER_PAGE);
	lock(METAPAGE);
	lock(DIRECTORY);
#endif
	unlock(METAPAGE);
	unlock(DIRECTORY);
	unlock(BUFFER_PAGE)
}

inline retire()
{
	lock(DIRECTORY);
	lock(METAPAGE);
	unlock(METAPAGE);
	unlock(DIRECTORY)
}

inline free()
{
#ifndef WITHOUT_BUFFER_PAGE_FIRST
	lock(BUFFER_PAGE);
	lock(DIRECTORY);
#else
	lock(DIRECTORY);
	lock(BUFFER_PAGE);
#endif
	unlock(DIRECTORY);
	unlock(BUFFER_PAGE)
}

#ifdef STANDBY
active proctype redo()
#else
active [2] proctype writer()
#endif
{
	byte records;

	do
	:: records < RECORDS ->
		records++;
		if
		:: open()
		:: seal()
		:: retire()
		:: free()
		fi
	:: records == RECORDS -> break
	od
}

inline share_lock(page)
{
	atomic { owner[page] == NOBODY -> readers[page]++ }
}

inline share_unlock(page)
{
	readers[page]--
}

active [2] proctype reader()
{
	share_lock(METAPAGE);
#ifndef WITHOUT_READERS_HOLD_ONE_LOCK
	share_unlock(METAPAGE);
	share_lock(DIRECTORY);
	share_unlock(DIRECTORY);
	share_lock(BUFFER_PAGE);
	share_unlock(BUFFER_PAGE)
#else
	share_lock(DIRECTORY);
	share_unlock(METAPAGE);
	share_lock(BUFFER_PAGE);
	share_unlock(DIRECTORY);
	share_unlock(BUFFER_PAGE)
#endif
}
