/*-------------------------------------------------------------------------
 *
 * page.h
 *	  The layout of the pages of an index on disk.
 *
 * This header has on-disk structures, and what finds places in them.  All sizes
 * are in bytes.
 *
 * Every page is a standard PostgreSQL page (header, line pointers, items,
 * special space).  The special space is the same on pages of every kind, so
 * the incarnation is always found at the same place:
 *
 *   0      24                pd_lower      pd_upper            8160   8192
 *   +------+------------------+-------------+-------------------+------+
 *   |header| line pointers -> |    hole     | <- items          |opaque|
 *   +------+------------------+-------------+-------------------+------+
 *
 * Generic WAL neither logs nor keeps the hole, so nothing may be stored there;
 * on the metapage, pd_lower lies behind the data.
 *
 * Tree pages.  Line pointer 1 is always the high key's.  It is unused on a
 * page without a high key, which is the rightmost page of a level, or an
 * internal page that has given its high key up.  So giving a page its high key
 * shifts no line pointers; bytes that shift cost WAL.
 *
 *   leaf:      [ high key | entry or posting list, ... ]
 *                1          2 ..
 *   internal:  [ high key | downlink, downlink, ...    ]
 *                1          2 ..
 *
 *   An entry or posting list all of whose rows are dead to everybody may be
 *   *marked*: its line pointer is LP_DEAD, and keeps its offset and length.
 *   Marks are hints, and not logged.
 *
 * Invariants of tree pages:
 *   - Entries are in the order of (key, TID).  No two entries of a page are
 *     equal, including those of posting lists.
 *   - A leaf's high key is above every entry of its page, and not above any
 *     entry on pages to the right (see tuple.h for pivots).
 *   - The same is true of internal pages and their pivots, with one exception:
 *     next to an empty internal page, whose range has gone to the right, a
 *     high key or pivot may be too high.  A search then ends too far to the
 *     left, and moves right.  It is never too low.
 *   - The first downlink of an internal page has no key columns: it stands for
 *     minus infinity.
 *   - An internal page has room for SWARE_MIN_FANOUT downlinks.  If keys are
 *     so large that the last of these does not fit otherwise, the page gives
 *     up its high key, which then counts as plus infinity: too high, as above.
 *     A page whose split is incomplete keeps its high key, from which the
 *     downlink to its right sibling will be made.
 *   - An internal page without downlinks sends a search to its right sibling.
 *     It is never the rightmost page, and never gets a downlink again.
 *   - A deleted page keeps its level and incarnation.  A backend that gets
 *     there begins its search again.
 *
 * Pages of the buffer.  A *buffer page* has entries one behind another, as a
 * rule in the order of their arrival, each in MAXALIGN(its size) bytes.
 * Without line pointers, an entry needs no more WAL than for its own bytes:
 *
 *   0      24                               pd_lower           8160   8192
 *   +------+---------+---------+-- ... ------+------------------+------+
 *   |header| entry   | entry   | entry       |       hole       |opaque|
 *   +------+---------+---------+-- ... ------+------------------+------+
 *
 * Entries are only added at its end.  At first it is *open*: one of the
 * metapage's tails links to it.  When it is full, it is *sealed*
 * (SWARE_SEALED): it takes no more entries, and a slot of the directory lists
 * it.  The record that seals it also writes its seal, a random number that no
 * other page has, where tree pages link to a sibling.  At last it is *retired*:
 * the slot says that its entries are in the tree, or on sorted pages.
 *
 * A *sorted* page (SWARE_SORTED) is written whole, and listed afterwards.  It
 * belongs to a *page run*: pages that were written together, with entries in
 * the order of (key, TID), within each page and from page to page, and none
 * twice.  Their sequence numbers follow one another, and each page has the
 * number of those behind it, where tree pages have the incarnation of a
 * sibling.  So if a page has the sequence number s and n pages behind it, all
 * pages with sequence numbers from s to s + n are of its run.  Those that are
 * missing have retired, or a crash came before they were listed.
 *
 * An entry whose row is dead to everybody may be *marked* there, too, by
 * SWARE_MARKED_ENTRY in its t_info (tuple.h).  So a sealed page changes only by
 * marks.  These are hints: they are not logged, they change the page's LSN only
 * if there are checksums, and a standby's page may have others.
 *
 * A *directory page* has an array of slots.  Slot n of the directory is slot
 * n % SWARE_SLOTS_PER_PAGE of directory page n / SWARE_SLOTS_PER_PAGE.
 *
 *   +------+--------+--------+-- ... -+------------------+------+
 *   |header| slot   | slot   |        |       hole       |opaque|
 *   +------+--------+--------+-- ... -+------------------+------+
 *
 * Invariants of the buffer:
 *   - A record that opens, seals or retires a page also raises
 *   directoryVersion.
 *   - A record that retires a page also raises bufferGeneration.
 *   - Entries are added to open pages only.
 *   - A retired page, and its slot, are reused only by a backend that has a
 *     cleanup lock on the page.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PAGE_H
#define SWARE_PAGE_H

#include "storage/block.h"
#include "storage/bufpage.h"
#include "storage/itemptr.h"

/*
 * A link to a page.  A block number is never stored or cached without an
 * incarnation: the page may be deleted and reused, and its incarnation shows
 * that.
 */
typedef struct SwareLink
{
	BlockNumber block;			/* InvalidBlockNumber: no link */
	uint32		incarnation;	/* of the page meant */
} SwareLink;

/* what a page is for */
#define SWARE_KIND_META			1
#define SWARE_KIND_LEAF			2
#define SWARE_KIND_INTERNAL		3
#define SWARE_KIND_BUFFER		4
#define SWARE_KIND_DIRECTORY	5

/* flags */
#define SWARE_INCOMPLETE_SPLIT	(1 << 0)	/* right sibling has no downlink */
#define SWARE_DELETED			(1 << 1)	/* unlinked, can be reused */
#define SWARE_SEALED			(1 << 2)	/* buffer page: takes no more
											 * entries */
#define SWARE_HAS_VERSIONS		(1 << 3)	/* buffer page: rows of entries
											 * may be versions of others with
											 * the same key */
#define SWARE_SORTED			(1 << 4)	/* sealed buffer page: of a page
											 * run */

/* identifies the pages of this access method, in the special space of each */
#define SWARE_PAGE_ID			0x5AE1

typedef struct SwarePageOpaqueData
{
	union
	{
		SwareLink	left;		/* left sibling */
		uint64		seal;		/* sealed buffer page: a random number */
	};
	uint16		level;			/* 0 on leaves, and on pages not of the tree */
	uint16		flags;			/* see above */
	uint16		unused1;		/* zero, also after redo of nbtree's records */
	uint16		unused2;		/* zero */
	union
	{
		SwareLink	right;		/* right sibling */
		struct					/* sorted buffer page */
		{
			BlockNumber none;	/* InvalidBlockNumber */
			uint32		pagesBehind;	/* of its page run */
		}			run;
	};
	uint32		incarnation;	/* raised by one in the record that reuses the
								 * page */
	uint16		kind;			/* SWARE_KIND_* */
	uint16		pageId;			/* SWARE_PAGE_ID */
} SwarePageOpaqueData;

typedef SwarePageOpaqueData *SwarePageOpaque;

StaticAssertDecl(sizeof(SwarePageOpaqueData) ==
				 MAXALIGN(sizeof(SwarePageOpaqueData)),
				 "the special space must be maximally aligned");

#define SwarePageGetOpaque(page) \
	((SwarePageOpaque) PageGetSpecialPointer(page))

/* offsets of items */
#define SWARE_HIGH_KEY			FirstOffsetNumber
#define SWARE_FIRST_DATA		OffsetNumberNext(FirstOffsetNumber)

/* The metapage, block 0.  Its data is where other pages have line pointers. */
#define SWARE_METAPAGE			0
#define SWARE_FIRST_ROOT		1	/* the root of an empty index */
#define SWARE_META_MAGIC		0x53574152
#define SWARE_VERSION			3

/*
 * The most open pages: as many sessions can add entries at the same time.  The
 * metapage has room for them: another number is another SWARE_VERSION.
 */
#define SWARE_MAX_TAILS			4

typedef struct SwareMetaPageData
{
	uint32		magic;			/* SWARE_META_MAGIC */
	uint32		version;		/* SWARE_VERSION */
	uint64		indexIncarnation;	/* random; new with each build */
	SwareLink	root;			/* the root page */
	int32		level;			/* its level */
	bool		allEqualImage;	/* equal keys are bytewise equal (support
								 * function 4), so posting lists are possible */

	/* the buffer */
	uint64		bufferGeneration;	/* raised when pages are retired */
	uint64		directoryVersion;	/* raised when pages are opened, sealed or
									 * retired */
	uint32		nextSequence;	/* of the next page that is sealed */
	uint32		nextSlot;		/* the first slot to try for it */
	uint32		sealedPages;	/* sealed pages that are not retired */
	uint32		directoryPages; /* number of directory pages */
	SwareLink	tails[SWARE_MAX_TAILS]; /* open pages, or no links */
	SwareLink	directory[FLEXIBLE_ARRAY_MEMBER];	/* directoryPages of them */
} SwareMetaPageData;

typedef SwareMetaPageData *SwareMetaPage;

#define SwarePageGetMeta(page)	((SwareMetaPage) PageGetContents(page))

/* states of a slot: it lists no page, or a page that is ... */
#define SWARE_SLOT_FREE			0
#define SWARE_SLOT_SEALED		1
#define SWARE_SLOT_RETIRED		2

/* A slot of the directory. */
typedef struct SwareSlot
{
	SwareLink	page;			/* the page, unless the slot is free */
	uint32		sequence;		/* number in the order of sealing; wraps
								 * around, so compare by the sign of the
								 * difference */
	uint16		state;			/* SWARE_SLOT_* */
	uint16		entries:15;		/* number of entries on the page */
	uint16		isSorted:1;		/* is it a sorted page? */
} SwareSlot;

StaticAssertDecl(sizeof(SwareSlot) == 16, "a slot has no padding");

#define SWARE_SLOTS_PER_PAGE \
	((int) ((BLCKSZ - SizeOfPageHeaderData - sizeof(SwarePageOpaqueData)) / \
			sizeof(SwareSlot)))

/* number of slots of a directory page, free ones included */
static inline int
sware_slot_count(Page page)
{
	return (((PageHeader) page)->pd_lower - MAXALIGN(SizeOfPageHeaderData)) /
		sizeof(SwareSlot);
}

/* Add a slot to a directory page, behind the others. */
static inline void
sware_add_slot(Page page)
{
	((PageHeader) page)->pd_lower += sizeof(SwareSlot);
}

/* the directory page of a slot, by its number in the metapage */
static inline int
sware_page_of_slot(int slot)
{
	return slot / SWARE_SLOTS_PER_PAGE;
}

/* the first slot of a directory page */
static inline int
sware_first_slot(int directory_page)
{
	return directory_page * SWARE_SLOTS_PER_PAGE;
}

/* a slot of the directory, which is on this page of it */
static inline SwareSlot *
sware_slot(Page page, int slot)
{
	return (SwareSlot *) PageGetContents(page) + slot % SWARE_SLOTS_PER_PAGE;
}

/* how many directory pages the metapage has room for */
#define SWARE_MAX_DIRECTORY_PAGES \
	((int) ((BLCKSZ - SizeOfPageHeaderData - sizeof(SwarePageOpaqueData) - \
			 offsetof(SwareMetaPageData, directory)) / sizeof(SwareLink)))

/* where the data of the metapage end, in bytes from its start */
static inline LocationIndex
sware_metapage_end(SwareMetaPage meta)
{
	return (LocationIndex) (MAXALIGN(SizeOfPageHeaderData) +
							offsetof(SwareMetaPageData, directory) +
							meta->directoryPages * sizeof(SwareLink));
}

/*
 * Room for items and their line pointers on a tree page, including the high key
 * and its line pointer.
 */
#define SWARE_PAGE_CAPACITY \
	(BLCKSZ - SizeOfPageHeaderData - sizeof(SwarePageOpaqueData))

/*
 * The largest entry.  A leaf must have room for a high key and two entries of
 * this size, so that any three entries can be split.  A high key is at most as
 * large as an entry and a TID.  (nbtree's limit is the same, with pages of 8
 * kB.)
 */
#define SWARE_MAX_ENTRY_SIZE \
	MAXALIGN_DOWN((SWARE_PAGE_CAPACITY - 3 * sizeof(ItemIdData) - \
				   MAXALIGN(sizeof(ItemPointerData))) / 3)

/*
 * The largest pivot: as large as an entry, and a TID and an incarnation with
 * their padding (tuple.h).
 */
#define SWARE_MAX_PIVOT_SIZE \
	(SWARE_MAX_ENTRY_SIZE + 2 * MAXALIGN(sizeof(ItemPointerData)))

/*
 * An internal page has room for this number of downlinks, whatever their size.
 * With two, splits could leave pages with one downlink, and nothing would
 * limit the height of the tree.
 */
#define SWARE_MIN_FANOUT		3

/*
 * The largest posting list tuple.  A page must have room for several of them,
 * so that splits find a good place.
 */
#define SWARE_MAX_POSTING_SIZE	MAXALIGN_DOWN(BLCKSZ / 6)

/* an upper limit on the TIDs that one leaf can hold */
#define SWARE_MAX_TIDS_PER_PAGE \
	((int) (SWARE_PAGE_CAPACITY / sizeof(ItemPointerData)))

/*
 * An upper limit on the line pointers of one page, including that of the high
 * key, which may be unused.
 */
#define SWARE_MAX_ITEMS_PER_PAGE \
	((int) (SWARE_PAGE_CAPACITY / \
			(MAXALIGN(sizeof(IndexTupleData) + 1) + sizeof(ItemIdData))) + 1)

#endif							/* SWARE_PAGE_H */
