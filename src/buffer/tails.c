/*-------------------------------------------------------------------------
 *
 * tails.c
 *	  Opening, sealing and freeing buffer pages.
 *
 * The directory is a ring of slots.  Pages that were sealed first are retired
 * first, as a rule, so the next slot that can be used is the one behind the
 * slot that was used last.  When an open page is full, one record seals it,
 * lists it in that slot, and reinitialises the retired page that the slot
 * listed as the new open page.
 *
 * Locks are taken in the order buffer pages, directory page, metapage.  Locks
 * on retired pages are taken at any time, but never waited for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"

#include "buffer/buffer.h"
#include "buffer/tails.h"
#include "layout/page.h"
#include "pages/bufferpages.h"
#include "pages/pageaccess.h"
#include "wal/wal.h"

/* from the next slot on, this number of slots is looked at */
#define SLOTS_TO_TRY	16

/* A slot that is about to list a page. */
typedef struct SlotPlace
{
	Buffer		directory;		/* exclusively locked */
	int			slot;			/* its number */
	Buffer		retired;		/* the retired page that it lists, with a
								 * cleanup lock; or InvalidBuffer if it is
								 * free */
} SlotPlace;

/* What a search for a slot needs of the metapage. */
typedef struct DirectorySummary
{
	SwareLink	links[SWARE_MAX_DIRECTORY_PAGES];
	int			pages;
	int			nextSlot;
} DirectorySummary;

/* Read what a search for a slot needs.  Locks the metapage for a moment. */
static void
read_summary(Relation index, DirectorySummary *summary)
{
	Buffer		buffer =
		sware_read_buffer(index, SWARE_METAPAGE, BUFFER_LOCK_SHARE);
	SwareMetaPage meta = SwarePageGetMeta(BufferGetPage(buffer));

	summary->pages = meta->directoryPages;
	memcpy(summary->links, meta->directory, summary->pages * sizeof(SwareLink));
	summary->nextSlot = meta->nextSlot;
	sware_release_buffer(buffer);
}

/*
 * Get a cleanup lock on a retired page, which is to be reused.  Returns
 * InvalidBuffer, with nothing pinned, if another backend has a pin, since a
 * scan may still return the page's entries.
 */
Buffer
sware_try_retired_page(Relation index, SwareLink page)
{
	Buffer		buffer = ReadBuffer(index, page.block);

	if (ConditionalLockBufferForCleanup(buffer))
	{
		if (sware_is_buffer_page(BufferGetPage(buffer), page))
			return buffer;
		sware_unlock_buffer(buffer);
	}
	ReleaseBuffer(buffer);
	return InvalidBuffer;
}

/*
 * Can a slot of a locked directory page be used?  It is free, or, if `reuse`,
 * its retired page can be reused.
 */
static bool
is_usable(Relation index, int slot, bool reuse, SlotPlace *place)
{
	SwareSlot  *listed = sware_slot(BufferGetPage(place->directory), slot);

	place->slot = slot;
	place->retired = InvalidBuffer;
	if (listed->state == SWARE_SLOT_RETIRED && reuse)
		place->retired = sware_try_retired_page(index, listed->page);
	return listed->state == SWARE_SLOT_FREE || BufferIsValid(place->retired);
}

/*
 * Find a slot that can be used among `tries` slots from the next one on: a free
 * one, or, if `reuse`, one whose retired page can be reused.  Returns false,
 * with nothing locked, if there is none.
 */
static bool
find_next_slot(Relation index, DirectorySummary *summary, bool reuse,
			   int tries, SlotPlace *place)
{
	int			slot = summary->nextSlot;

	while (summary->pages > 0 && tries > 0)
	{
		int			number = sware_page_of_slot(slot);
		int			end;

		if (number >= summary->pages)
			slot = number = 0;
		place->directory =
			sware_read_directory_page(index, summary->links[number],
									  BUFFER_LOCK_EXCLUSIVE);
		end = sware_first_slot(number) +
			sware_slot_count(BufferGetPage(place->directory));
		for (; slot < end && tries > 0; slot++, tries--)
		{
			if (is_usable(index, slot, reuse, place))
				return true;
		}
		sware_release_buffer(place->directory);

		/* the last directory page may not be full */
		slot = sware_first_slot(number + 1);
		tries--;
	}
	return false;
}

/*
 * Find the slot behind the last one, if the last directory page has room for
 * it. Returns false, with nothing locked, if it has not.
 */
static bool
find_slot_at_end(Relation index, DirectorySummary *summary, SlotPlace *place)
{
	int			count;

	if (summary->pages == 0)
		return false;
	place->directory =
		sware_read_directory_page(index, summary->links[summary->pages - 1],
								  BUFFER_LOCK_EXCLUSIVE);
	count = sware_slot_count(BufferGetPage(place->directory));
	if (count >= sware_directory_page_limit(summary->pages - 1))
	{
		sware_release_buffer(place->directory);
		return false;
	}
	place->slot = sware_first_slot(summary->pages - 1) + count;
	place->retired = InvalidBuffer;
	return true;
}

/* Give back a page that was allocated, but is not needed. */
static void
give_back(Relation index, Buffer buffer)
{
	BlockNumber block = BufferGetBlockNumber(buffer);

	sware_release_buffer(buffer);
	sware_record_free_page(index, block);
}

/*
 * Add a directory page, unless the directory has another number of pages than
 * the caller has found.  The last one must have no room for further slots.  The
 * caller holds no lock on a directory page or on the metapage.
 */
void
sware_add_directory_page(Relation index, int pages)
{
	uint32		incarnation;
	Buffer		directory = sware_allocate_buffer(index, &incarnation);
	Buffer		meta_buffer = sware_read_buffer(index, SWARE_METAPAGE,
												BUFFER_LOCK_EXCLUSIVE);
	SwareMetaPage meta = SwarePageGetMeta(BufferGetPage(meta_buffer));
	SwareWal   *wal;
	Page		page;

	if ((int) meta->directoryPages != pages)
	{
		sware_release_buffer(meta_buffer);
		give_back(index, directory);
		return;
	}

	wal = sware_wal_begin(index);
	sware_init_page(sware_wal_new_page(wal, directory), SWARE_KIND_DIRECTORY, 0,
					incarnation);
	page = sware_wal_change(wal, meta_buffer);
	meta = SwarePageGetMeta(page);
	meta->directory[meta->directoryPages].block =
		BufferGetBlockNumber(directory);
	meta->directory[meta->directoryPages].incarnation = incarnation;
	meta->directoryPages++;
	((PageHeader) page)->pd_lower = sware_metapage_end(meta);
	sware_wal_finish(wal);
	sware_release_buffer(meta_buffer);
	sware_release_buffer(directory);
}

/*
 * Find a slot that can be used, and lock its directory page: a free one, or,
 * if `reuse`, one whose retired page can be reused, which gets a cleanup
 * lock.  Returns false, with nothing locked, if the directory has no room at
 * all.  The caller may hold locks on buffer pages.
 */
static bool
find_slot(Relation index, bool reuse, SlotPlace *place)
{
	for (;;)
	{
		DirectorySummary summary;
		bool		found;

		read_summary(index, &summary);
		found = find_next_slot(index, &summary, reuse, SLOTS_TO_TRY, place) ||
			find_slot_at_end(index, &summary, place);
		if (found)
			return true;
		if (sware_first_slot(summary.pages) >= sware_directory_limit())
		{
			/* look at all slots, although that takes long */
			return find_next_slot(index, &summary, reuse,
								  2 * sware_first_slot(summary.pages), place);
		}
		sware_add_directory_page(index, summary.pages);
	}
}

/* Which of the metapage's tails links to a page?  -1 if none does. */
static int
tail_number(SwareMetaPage meta, SwareLink page)
{
	for (int i = 0; i < SWARE_MAX_TAILS; i++)
	{
		if (sware_link_is_valid(meta->tails[i]) &&
			sware_links_equal(meta->tails[i], page))
			return i;
	}
	return -1;
}

/*
 * Find an unused place among the tails of the metapage, which the caller has
 * locked; -1 if there is none.
 */
static int
free_tail(SwareMetaPage meta)
{
	for (int i = 0; i < SWARE_MAX_TAILS; i++)
	{
		if (!sware_link_is_valid(meta->tails[i]))
			return i;
	}
	return -1;
}

/*
 * Open one more page.  Returns it exclusively locked, or InvalidBuffer if there
 * are SWARE_MAX_TAILS open pages already.  The caller holds no content locks.
 */
Buffer
sware_open_tail(Relation index)
{
	uint32		incarnation;
	Buffer		buffer = sware_allocate_buffer(index, &incarnation);
	Buffer		meta_buffer = sware_read_buffer(index, SWARE_METAPAGE,
												BUFFER_LOCK_EXCLUSIVE);
	SwareMetaPage meta = SwarePageGetMeta(BufferGetPage(meta_buffer));
	int			number = free_tail(meta);
	SwareWal   *wal;

	if (number < 0)
	{
		sware_release_buffer(meta_buffer);
		give_back(index, buffer);
		return InvalidBuffer;
	}

	wal = sware_wal_begin(index);
	sware_init_page(sware_wal_new_page(wal, buffer), SWARE_KIND_BUFFER, 0,
					incarnation);
	meta = SwarePageGetMeta(sware_wal_change(wal, meta_buffer));
	meta->tails[number].block = BufferGetBlockNumber(buffer);
	meta->tails[number].incarnation = incarnation;
	meta->directoryVersion++;
	sware_wal_finish(wal);
	sware_release_buffer(meta_buffer);
	return buffer;
}

/*
 * Seal an open page, list it in the slot `place`, and, if `successor` is
 * valid, open that page in its place, with a new incarnation.  The caller has
 * locked the pages and the slot's directory page exclusively.  Releases the
 * directory page, and keeps the locks of the two pages.  Returns the sequence
 * number of the sealed page.
 */
static uint32
seal(Relation index, Buffer buffer, Buffer successor, uint32 incarnation,
	 SlotPlace *place)
{
	SwareLink	link = sware_page_link(buffer);
	int			entries = sware_buffer_page_entry_count(index, link.block,
														BufferGetPage(buffer));
	Buffer		meta_buffer = sware_read_buffer(index, SWARE_METAPAGE,
												BUFFER_LOCK_EXCLUSIVE);
	SwareWal   *wal = sware_wal_begin(index);
	int			tail;
	uint32		sequence;
	SwarePageOpaque opaque;
	Page		page;
	SwareSlot  *slot;
	SwareMetaPage meta;

	opaque = SwarePageGetOpaque(sware_wal_change(wal, buffer));
	opaque->flags |= SWARE_SEALED;
	opaque->seal = pg_prng_uint64(&pg_global_prng_state);
	if (BufferIsValid(successor))
		sware_init_page(sware_wal_new_page(wal, successor), SWARE_KIND_BUFFER,
						0, incarnation);

	page = sware_wal_change(wal, place->directory);
	slot = sware_slot(page, place->slot);
	if (slot == sware_slot(page, 0) + sware_slot_count(page))
		sware_add_slot(page);

	meta = SwarePageGetMeta(sware_wal_change(wal, meta_buffer));
	tail = tail_number(meta, link);
	if (tail < 0)
		elog(ERROR, "open page %u of index \"%s\" is not among its tails",
			 link.block, RelationGetRelationName(index));
	slot->page = link;
	slot->sequence = sequence = meta->nextSequence++;
	slot->state = SWARE_SLOT_SEALED;
	slot->entries = entries;
	slot->isSorted = false;

	meta->tails[tail].block = InvalidBlockNumber;
	meta->tails[tail].incarnation = 0;
	if (BufferIsValid(successor))
	{
		meta->tails[tail].block = BufferGetBlockNumber(successor);
		meta->tails[tail].incarnation = incarnation;
	}
	meta->sealedPages++;
	meta->nextSlot = place->slot + 1;
	meta->directoryVersion++;
	sware_wal_finish(wal);
	sware_release_buffer(meta_buffer);
	sware_release_buffer(place->directory);
	return sequence;
}

/*
 * Seal a full open page, which the caller has locked exclusively, and open
 * another one in its place.  Releases the full page, and returns the new one,
 * exclusively locked; InvalidBuffer, with nothing locked and the page still
 * open, if the directory is full.  Sets *sequence to the sequence number of the
 * sealed page.
 */
Buffer
sware_replace_tail(Relation index, Buffer full, uint32 *sequence)
{
	SlotPlace	place;
	Buffer		successor;
	uint32		incarnation;

	if (!find_slot(index, true, &place))
	{
		sware_release_buffer(full);
		return InvalidBuffer;
	}
	if (BufferIsValid(place.retired))
	{
		successor = place.retired;
		incarnation = sware_page_link(successor).incarnation + 1;
	}
	else
	{
		/*
		 * There is no page to reuse, so allocate one.  It must be locked
		 * before the directory page is, so the slot is looked for again.
		 */
		sware_release_buffer(place.directory);
		successor = sware_allocate_buffer(index, &incarnation);
		if (!find_slot(index, false, &place))
		{
			give_back(index, successor);
			sware_release_buffer(full);
			return InvalidBuffer;
		}
	}
	*sequence = seal(index, full, successor, incarnation, &place);
	sware_release_buffer(full);
	return successor;
}

/*
 * Seal an open page, without opening another one.  Does nothing if the page is
 * not open any more, or if it is empty.  Returns false if the directory has no
 * free slot.
 */
static bool
try_to_seal_tail(Relation index, SwareLink tail)
{
	Buffer		buffer =
		sware_read_buffer_page(index, tail, BUFFER_LOCK_EXCLUSIVE);
	bool		done = true;
	Page		page;
	SlotPlace	place;

	if (!BufferIsValid(buffer))
		return true;
	page = BufferGetPage(buffer);
	if (!(SwarePageGetOpaque(page)->flags & SWARE_SEALED) &&
		sware_buffer_page_end(page) > SWARE_BUFFER_START)
	{
		done = find_slot(index, false, &place);
		if (done)
			(void) seal(index, buffer, InvalidBuffer, 0, &place);
	}
	sware_release_buffer(buffer);
	return done;
}

/*
 * Seal an open page, without opening another one.  Does nothing if the page is
 * not open any more, or if it is empty.  If the directory has no free slot,
 * frees retired pages; raises an error if there is still none.  The caller has
 * the flush lock, and holds no locks on pages.
 */
void
sware_seal_tail(Relation index, SwareLink tail)
{
	if (try_to_seal_tail(index, tail))
		return;
	sware_buffer_free_retired(index);
	if (!try_to_seal_tail(index, tail))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the buffer directory of index \"%s\" is full",
						RelationGetRelationName(index))));
}

/*
 * Free a retired page and its slot, which is on a directory page.  Returns
 * false if another backend has a pin on the page, or if it is not retired any
 * more.  The caller holds no content locks.
 */
bool
sware_free_retired_page(Relation index, SwareLink page, SwareLink directory,
						int slot)
{
	Buffer		buffer = sware_try_retired_page(index, page);
	Buffer		directory_buffer;
	SwareSlot  *listed;
	bool		is_retired;

	if (!BufferIsValid(buffer))
		return false;
	directory_buffer =
		sware_read_directory_page(index, directory, BUFFER_LOCK_EXCLUSIVE);
	listed = sware_slot(BufferGetPage(directory_buffer), slot);
	is_retired = listed->state == SWARE_SLOT_RETIRED &&
		sware_links_equal(listed->page, page);
	if (is_retired)
	{
		SwareWal   *wal = sware_wal_begin(index);

		sware_mark_deleted(sware_wal_change(wal, buffer));
		listed = sware_slot(sware_wal_change(wal, directory_buffer), slot);
		listed->state = SWARE_SLOT_FREE;
		sware_wal_finish(wal);
	}
	sware_release_buffer(directory_buffer);
	sware_release_buffer(buffer);
	if (is_retired)
		sware_record_free_page(index, page.block);
	return is_retired;
}
