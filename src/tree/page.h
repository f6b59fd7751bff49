/*-------------------------------------------------------------------------
 *
 * page.h
 *	  What is on disk: the layout of every page of a sware index.
 *
 * This header holds on-disk structures and nothing that acts on them.
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
 * The hole is neither logged nor kept by generic WAL, so nothing may live
 * there; the metapage sets pd_lower past its data.
 *
 * Tree pages.  Line pointer 1 belongs to the high key on every page; on the
 * rightmost page of a level, which has none, it is unused.  It never moves,
 * so giving a page its high key shifts no line pointer (bytes that shift
 * cost WAL).
 *
 *   leaf:      [ high key | sorted part ............ | append area ]
 *                1          2 .. 1+S                   2+S .. 1+S+A
 *   internal:  [ high key | downlink, downlink, ...                ]
 *                1          2 ..
 *
 *   A = appendItems.  The append area (IPA-IDX) takes entries that belong
 *   between those of the sorted part, so that an insert does not shift the
 *   whole line pointer array.  Its line pointers are in order among
 *   themselves.  No entry in it has a TID within the range of a posting
 *   list of the sorted part with an equal key.
 *
 * Invariants of tree pages:
 *   - entries are in (key, TID) order, within each part, and no two of a
 *     page are equal, posting list members and append area included;
 *   - a leaf's high key lies above every entry of its page, and not above
 *     any entry to the right (see entry.h for pivots);
 *   - the same holds for internal pages, except that a high key or pivot
 *     next to an empty internal page, whose range has gone to the right, may
 *     be too high (never too low: a search then ends too far left, and moves
 *     right);
 *   - the first downlink of an internal page has no key columns: it stands
 *     for minus infinity;
 *   - an internal page without any downlink means "move right"; it is never
 *     rightmost and never gets a downlink again;
 *   - a deleted page keeps its level and nothing else: who gets there seeks
 *     again.
 *
 * Pages of the shared buffer.  A *buffer page* holds entries one behind
 * another, in the order of their arrival, each in MAXALIGN(its size) bytes;
 * without line pointers, an entry costs no more WAL than its bytes:
 *
 *   0      24                               pd_lower           8160   8192
 *   +------+---------+---------+-- ... ------+------------------+------+
 *   |header| entry   | entry   | entry       |       hole       |opaque|
 *   +------+---------+---------+-- ... ------+------------------+------+
 *
 * It is append-only.  It is *open* while one of the metapage's tails links to
 * it, then *sealed* (SWARE_SEALED), when it is immutable and a slot of the
 * directory lists it, and then *retired*: the slot says that its entries are
 * in the tree.
 *
 * A *directory page* holds an array of slots.  All slots are numbered through:
 * slot n is on the directory page n / SWARE_SLOTS_PER_PAGE.
 *
 *   +------+--------+--------+-- ... -+------------------+------+
 *   |header| slot   | slot   |        |       hole       |opaque|
 *   +------+--------+--------+-- ... -+------------------+------+
 *
 * Invariants of the shared buffer:
 *   - whatever changes which pages are open or sealed (opening, sealing,
 *     retiring) raises directoryVersion in the same record;
 *   - bufferGeneration is raised in the record that retires a page;
 *   - nothing but an open page gets entries; a retired page, and its slot, are
 *     used again only under a cleanup lock on the page.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PAGE_H
#define SWARE_PAGE_H

#include "storage/block.h"
#include "storage/bufpage.h"
#include "storage/itemptr.h"

/*
 * A link to a page.  A block number alone is never stored, nor cached: the
 * page may have been deleted and reused meanwhile, which shows in its
 * incarnation.
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
#define SWARE_DELETED			(1 << 1)	/* unlinked, free for reuse */
#define SWARE_SEALED			(1 << 2)	/* buffer page that takes no more */

/* marks a page as sware's; stands in every special space */
#define SWARE_PAGE_ID			0x5AE1

typedef struct SwarePageOpaqueData
{
	SwareLink	left;			/* left sibling */
	SwareLink	right;			/* right sibling */
	uint16		level;			/* 0 is the leaf level */
	uint16		appendItems;	/* items in the append area; 0 if not leaf */
	uint16		flags;			/* see above */
	uint16		kind;			/* see above */
	uint32		incarnation;	/* raised by one when the page is reused */
	uint16		unused;			/* zero */
	uint16		pageId;			/* SWARE_PAGE_ID */
} SwarePageOpaqueData;

typedef SwarePageOpaqueData *SwarePageOpaque;

StaticAssertDecl(sizeof(SwarePageOpaqueData) == MAXALIGN(sizeof(SwarePageOpaqueData)),
				 "the special space must be maximally aligned");

#define SwarePageGetOpaque(page) \
	((SwarePageOpaque) PageGetSpecialPointer(page))

/* offsets of items */
#define SWARE_HIGH_KEY			FirstOffsetNumber
#define SWARE_FIRST_DATA		OffsetNumberNext(FirstOffsetNumber)

/*
 * The metapage, block 0.  Its data stands where other pages have line
 * pointers.
 */
#define SWARE_METAPAGE			0
#define SWARE_FIRST_ROOT		1	/* the root of an empty index */
#define SWARE_META_MAGIC		0x53574152
#define SWARE_VERSION			1

/* how many pages of the shared buffer are open, at most */
#define SWARE_MAX_TAILS			4

typedef struct SwareMetaPageData
{
	uint32		magic;			/* SWARE_META_MAGIC */
	uint32		version;		/* SWARE_VERSION */
	uint64		indexIncarnation;	/* random; new with each build */
	SwareLink	root;			/* the root page */
	int32		level;			/* its level */
	bool		allEqualImage;	/* equal keys are bytewise equal, so posting
								 * lists are possible (support function 4) */

	/* the shared buffer */
	uint64		bufferGeneration;	/* raised when pages retire */
	uint64		directoryVersion;	/* raised when pages open, seal or retire */
	uint32		nextSequence;	/* for the next page to be sealed */
	uint32		nextSlot;		/* where to look first for a slot to use */
	uint32		sealedPages;	/* pages that are sealed and not retired */
	uint32		directoryPages; /* number of directory pages */
	SwareLink	tails[SWARE_MAX_TAILS]; /* open pages, or no links */
	SwareLink	directory[FLEXIBLE_ARRAY_MEMBER];	/* directoryPages of them */
} SwareMetaPageData;

typedef SwareMetaPageData *SwareMetaPage;

#define SwarePageGetMeta(page)	((SwareMetaPage) PageGetContents(page))

/* a slot of the directory */
#define SWARE_SLOT_FREE			0
#define SWARE_SLOT_SEALED		1
#define SWARE_SLOT_RETIRED		2

typedef struct SwareSlot
{
	SwareLink	page;			/* of the page, unless free */
	uint32		sequence;		/* order of sealing; compare by difference */
	uint16		state;			/* SWARE_SLOT_* */
	uint16		entries;		/* on the page */
} SwareSlot;

#define SWARE_SLOTS_PER_PAGE \
	((int) ((BLCKSZ - SizeOfPageHeaderData - sizeof(SwarePageOpaqueData)) / \
			sizeof(SwareSlot)))

#define SwarePageGetSlots(page)	((SwareSlot *) PageGetContents(page))

/* how many directory pages the metapage has room for */
#define SWARE_MAX_DIRECTORY_PAGES \
	((int) ((BLCKSZ - SizeOfPageHeaderData - sizeof(SwarePageOpaqueData) - \
			 offsetof(SwareMetaPageData, directory)) / sizeof(SwareLink)))

/*
 * Room for items and their line pointers on a tree page, that of the high
 * key included.
 */
#define SWARE_PAGE_CAPACITY \
	(BLCKSZ - SizeOfPageHeaderData - sizeof(SwarePageOpaqueData))

/*
 * The largest pivot must fit three times on a page: a high key and two
 * downlinks.  A pivot is at most as large as an entry, and a TID and an
 * incarnation with their padding (entry.h).
 */
#define SWARE_MAX_PIVOT_SIZE \
	MAXALIGN_DOWN((BLCKSZ - \
				   MAXALIGN(SizeOfPageHeaderData + 3 * sizeof(ItemIdData)) - \
				   MAXALIGN(sizeof(SwarePageOpaqueData))) / 3)

#define SWARE_MAX_ENTRY_SIZE \
	(SWARE_MAX_PIVOT_SIZE - 2 * MAXALIGN(sizeof(ItemPointerData)))

/*
 * The largest posting list tuple: a page must be able to take several, or
 * splits would find no good place.
 */
#define SWARE_MAX_POSTING_SIZE	MAXALIGN_DOWN(BLCKSZ / 6)

/* an upper limit on the TIDs that one leaf can hold */
#define SWARE_MAX_TIDS_PER_PAGE \
	((int) (SWARE_PAGE_CAPACITY / sizeof(ItemPointerData)))

/*
 * An upper limit on the line pointers of one page, that of the high key
 * included, which may be unused.
 */
#define SWARE_MAX_ITEMS_PER_PAGE \
	((int) (SWARE_PAGE_CAPACITY / \
			(MAXALIGN(sizeof(IndexTupleData) + 1) + sizeof(ItemIdData))) + 1)

/*
 * How many items the append area takes.  Each costs a reader a few
 * comparisons more; see docs/architecture.md for what was measured.
 */
#define SWARE_MAX_APPEND_ITEMS	16

#endif							/* SWARE_PAGE_H */
