/*
 * pages.pml
 *	  Versions of pages: a reader that looks at no page whose version is unchanged.
 *
 * Properties: when a reader has copied a page, or found its copy to be current, it
 * knows each change that was complete when it began; a change is complete when its
 * page is unlocked.  And a page that a reader has pinned before it found that the page
 * was not retired is not freed until the reader unpins it.
 *
 * There is one metapage, whose content is a number that each record raises; the last
 * record retires a buffer page.  The first record is replayed by redo, which raises no
 * version.  What is in `atomic` is one step.  The version that a writer writes waits in
 * its store buffer until the processor writes it to memory, as in unique.pml, or a
 * barrier waits for that.
 *
 *	 here				in the code
 *	 -----------------	-----------------------------------------------------
 *	 version			sware_page_version, sware_raise_page_version
 *						(shared/pageversions.c)
 *	 content			the metapage, or an open page
 *	 writer				sware_wal_finish, sware_wal_append_data (wal/wal.c);
 *						VACUUM, which frees retired pages (buffer/flush.c)
 *	 copy, its_version	SwareCache (pages/cache.h), SwarePageSummary
 *						(zones/pagesummary.h)
 *	 reader				read_metapage (pages/cache.c),
 *						sware_page_summary (zones/pagesummary.c)
 *	 is_pinned			pin_buffer_page (cursor/mergescan.c)
 */

#define RECORDS		3
#define LOOKS		3
#define NO_VERSION	0

byte content;
byte version = 1;
byte store_buffer = NO_VERSION; /* the version that is on its way to memory */
bool is_locked;
bool in_recovery = true;
byte complete;					/* the last record that is complete */

bool is_pinned;
bool is_freed;

#define BARRIER		(store_buffer == NO_VERSION)

active proctype processor()
{
end:
	do
	:: atomic { !BARRIER -> version = store_buffer; store_buffer = NO_VERSION }
	od
}

inline raise()
{
#ifndef WITHOUT_WRITER_RAISES
	if
	:: atomic { !in_recovery -> store_buffer = version + 1 }
	:: in_recovery
	fi
#ifndef WITHOUT_RAISING_IS_A_BARRIER
	;
	BARRIER
#endif
#else
	skip
#endif
}

active proctype writer()
{
	byte record;

	do
	:: record < RECORDS ->
		atomic { !is_locked -> is_locked = true; record++ };
		content = record;
#ifndef WITHOUT_RAISED_BEFORE_UNLOCKING
		raise();
#endif
		atomic { is_locked = false; complete = record };
#ifdef WITHOUT_RAISED_BEFORE_UNLOCKING
		raise();
#endif
		in_recovery = false		/* the server is promoted */
	:: record == RECORDS -> break
	od;
	atomic { !is_pinned -> is_freed = true }
}

active proctype reader()
{
	byte looks;
	byte needed;
	byte copy;
	byte its_version = NO_VERSION;
	byte seen;

	do
	:: looks < LOOKS ->
		atomic { looks++; needed = complete };
#ifndef WITHOUT_PINNED_BEFORE_VERSION
		atomic { is_pinned = !is_freed };
#endif
#ifndef WITHOUT_RECOVERY_HAS_NO_VERSIONS
		atomic { seen = (in_recovery -> NO_VERSION : version) };
#else
		seen = version;
#endif
		if
		:: seen != NO_VERSION && seen == its_version
		:: else ->
			atomic { !is_locked -> copy = content };
#ifdef WITHOUT_VERSION_BEFORE_PAGE
			seen = version;
#endif
			its_version = seen
		fi;
		assert(copy >= needed);
#ifdef WITHOUT_PINNED_BEFORE_VERSION
		atomic { is_pinned = !is_freed };
#endif
		/* what is not retired is in use now */
		assert(copy == RECORDS || is_pinned);
		is_pinned = false
	:: looks == LOOKS -> break
	od
}
