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

#include "base/faultpoint.h"
#include "base/pause.h"
#include "buffer/buffer.h"
#include "buffer/buffersteps.h"
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

/* what the metapage has where there is no open page */
static const SwareLink no_link = {InvalidBlockNumber, 0};

/* Copy what the metapage says.  Locks it for a moment. */
static SwareMetaPage
copy_meta(Relation index, PGAlignedBlock *copy)
{
	Buffer		buffer =
		sware_read_buffer(index, SWARE_METAPAGE, BUFFER_LOCK_SHARE);
	Page		page = BufferGetPage(buffer);

	memcpy(copy->data, page, sware_metapage_end(SwarePageGetMeta(page)));
	sware_release_buffer(buffer);
	return SwarePageGetMeta(copy->data);
}

/*
 * Get a cleanup lock on a retired page, which is to be reused.  Returns
 * InvalidBuffer, with nothing pinned, if another backend has a pin, since a
 * scan may still return the page's entries.
 */
static Buffer
try_retired_page(Relation index, SwareLink page)
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
		place->retired = try_retired_page(index, listed->page);
	return listed->state == SWARE_SLOT_FREE || BufferIsValid(place->retired);
}

/*
 * Find a slot that can be used among `tries` slots from the next one on: a free
 * one, or, if `reuse`, one whose retired page can be reused.  Returns false,
 * with nothing locked, if there is none.
 */
static bool
find_next_slot(Relation index, SwareMetaPage meta, bool reuse,
			   int tries, SlotPlace *place)
{
	int			pages = meta->directoryPages;
	int			slot = meta->nextSlot;

	while (pages > 0 && tries > 0)
	{
		int			number = sware_page_of_slot(slot);
		int			end;

		if (number >= pages)
			slot = number = 0;
		place->directory =
			sware_read_directory_page(index, meta->directory[number],
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
find_slot_at_end(Relation index, SwareMetaPage meta, SlotPlace *place)
{
	int			last = (int) meta->directoryPages - 1;
	int			count;

	if (last < 0)
		return false;
	place->directory = sware_read_directory_page(index, meta->directory[last],
												 BUFFER_LOCK_EXCLUSIVE);
	count = sware_slot_count(BufferGetPage(place->directory));
	if (count >= sware_directory_page_limit(last))
	{
		sware_release_buffer(place->directory);
		return false;
	}
	place->slot = sware_first_slot(last) + count;
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
	SwareLink	link;
	Buffer		directory = sware_allocate_buffer(index, &link);
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
					link.incarnation);
	page = sware_wal_change(wal, meta_buffer);
	meta = SwarePageGetMeta(page);
	meta->directory[meta->directoryPages++] = link;
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
		PGAlignedBlock copy;
		SwareMetaPage meta = copy_meta(index, &copy);
		int			slots = sware_first_slot(meta->directoryPages);

		if (find_next_slot(index, meta, reuse, SLOTS_TO_TRY, place) ||
			find_slot_at_end(index, meta, place))
			return true;

		/* look at all slots, although that takes long */
		if (slots >= sware_directory_limit())
			return find_next_slot(index, meta, reuse, 2 * slots, place);
		sware_add_directory_page(index, meta->directoryPages);
	}
}

/*
 * Which of the metapage's tails has this link, which may be no link?  -1 if
 * none has.  The caller has locked the metapage.
 */
static int
tail_number(SwareMetaPage meta, SwareLink link)
{
	for (int i = 0; i < SWARE_MAX_TAILS; i++)
	{
		if (sware_links_equal(meta->tails[i], link))
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
	SwareLink	link;
	Buffer		buffer = sware_allocate_buffer(index, &link);
	Buffer		meta_buffer = sware_read_buffer(index, SWARE_METAPAGE,
												BUFFER_LOCK_EXCLUSIVE);
	SwareMetaPage meta = SwarePageGetMeta(BufferGetPage(meta_buffer));
	int			number = tail_number(meta, no_link);
	SwareWal   *wal;

	if (number < 0)
	{
		sware_release_buffer(meta_buffer);
		give_back(index, buffer);
		return InvalidBuffer;
	}

	wal = sware_wal_begin(index);
	sware_init_page(sware_wal_new_page(wal, buffer), SWARE_KIND_BUFFER, 0,
					link.incarnation);
	meta = SwarePageGetMeta(sware_wal_change(wal, meta_buffer));
	meta->tails[number] = link;
	meta->directoryVersion++;
	sware_wal_finish(wal);
	sware_release_buffer(meta_buffer);
	return buffer;
}

/*
 * Seal an open page, list it in the slot `place`, and, if `successor` is
 * valid, open that page in its place.  `next` is the link that leads to the
 * successor then, or no link.  The caller has locked the pages and the slot's
 * directory page exclusively.  Releases the directory page, and keeps the locks
 * of the two pages.  Returns the sequence number of the sealed page.
 */
static uint32
seal(Relation index, Buffer buffer, Buffer successor, SwareLink next,
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
						0, next.incarnation);

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

	meta->tails[tail] = next;
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
	SwareLink	next;

	if (!find_slot(index, true, &place))
	{
		sware_release_buffer(full);
		return InvalidBuffer;
	}
	if (BufferIsValid(place.retired))
	{
		successor = place.retired;
		next = sware_page_link(successor);
		next.incarnation++;
	}
	else
	{
		/*
		 * There is no page to reuse, so allocate one.  It must be locked
		 * before the directory page is, so the slot is looked for again.
		 */
		sware_release_buffer(place.directory);
		successor = sware_allocate_buffer(index, &next);
		if (!find_slot(index, false, &place))
		{
			give_back(index, successor);
			sware_release_buffer(full);
			return InvalidBuffer;
		}
	}
	*sequence = seal(index, full, successor, next, &place);
	sware_release_buffer(full);
	return successor;
}

/* sware_seal_tail, but returns false if the directory has no free slot. */
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
			(void) seal(index, buffer, InvalidBuffer, no_link, &place);
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
	sware_buffer_free_retired(index, PG_INT32_MAX);
	if (!try_to_seal_tail(index, tail))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the buffer directory of index \"%s\" is full",
						RelationGetRelationName(index))));
}

/*
 * Free a retired page and its slot, which is on a directory page, unless
 * another backend has a pin on the page, or it is not retired any more.
 * Returns whether it has done so.  The caller holds no content locks.
 */
static bool
free_retired_page(Relation index, SwareLink page, SwareLink directory,
				  int slot)
{
	Buffer		buffer = try_retired_page(index, page);
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

/*
 * Free the retired pages that no backend has a pin on, of the first `most`.
 * Returns how many retired pages there are still.  The caller has no page
 * locked.
 */
int
sware_buffer_free_retired(Relation index, int most)
{
	SwareLink  *links;
	SwareListedPage *pages;
	int			count =
		sware_buffer_list_pages(index, SWARE_SLOT_RETIRED, &pages);
	int			left = count;

	sware_buffer_directory(index, &links);
	for (int i = 0; i < Min(count, most); i++)
	{
		sware_pause_point();
		SWARE_FAULT_POINT("retired-freeing");
		left -= free_retired_page(index, pages[i].page,
								  links[sware_page_of_slot(pages[i].slot)],
								  pages[i].slot);
	}
	pfree(links);
	if (pages)
		pfree(pages);
	return left;
}
