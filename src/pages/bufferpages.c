/*-------------------------------------------------------------------------
 *
 * bufferpages.c
 *	  Reading the pages that make up the buffer, and asking the kernel for them
 *	  before.  See bufferpages.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/spccache.h"

#include "base/compat.h"
#include "base/faultpoint.h"
#include "base/memory.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/bufferpages.h"
#include "pages/cache.h"
#include "shared/pageversions.h"
#include "shared/statistics.h"

/*
 * Get what the metapage says of the buffer: what this backend remembers, if the
 * metapage has not changed since.  Returns false if the buffer has no pages.
 * Locks the metapage for a moment, or not at all.
 */
bool
sware_buffer_read_state(Relation index, SwareBufferState *state)
{
	SwareCache *cache = sware_cache(index);

	if (!sware_is_page_version(index, SWARE_METAPAGE, cache->metapageVersion))
		cache = sware_cache_refresh(index);
	*state = cache->bufferState;
	return !sware_buffer_state_is_empty(state);
}

/*
 * Has the buffer no pages, as far as this backend remembers the metapage, which
 * has not changed since?
 */
bool
sware_buffer_is_known_empty(Relation index)
{
	SwareCache *cache = sware_cache(index);

	return sware_is_page_version(index, SWARE_METAPAGE,
								 cache->metapageVersion) &&
		sware_buffer_state_is_empty(&cache->bufferState);
}

/*
 * Pin and lock a directory page.  A block that has become a directory page
 * stays one as long as the file exists, so anything else there is an error.
 */
Buffer
sware_read_directory_page(Relation index, SwareLink link, int lockmode)
{
	Buffer		buffer = sware_read_buffer(index, link.block, lockmode);
	SwarePageOpaque opaque = SwarePageGetOpaque(BufferGetPage(buffer));

	if (opaque->kind != SWARE_KIND_DIRECTORY ||
		opaque->incarnation != link.incarnation ||
		(opaque->flags & SWARE_DELETED) != 0)
		sware_report_corruption(index, link.block,
								"The metapage links to it as a page of the buffer's directory.");
	return buffer;
}

/*
 * Get the links to the directory pages, in the current memory context.  Returns
 * their number.  Locks the metapage for a moment.
 */
int
sware_buffer_directory(Relation index, SwareLink **links)
{
	SwareMetaPage meta;
	Buffer		buffer;
	int			count;

	*links = palloc(SWARE_MAX_DIRECTORY_PAGES * sizeof(SwareLink));
	buffer = sware_read_buffer(index, SWARE_METAPAGE, BUFFER_LOCK_SHARE);
	meta = SwarePageGetMeta(BufferGetPage(buffer));
	count = meta->directoryPages;
	memcpy(*links, meta->directory, count * sizeof(SwareLink));
	sware_release_buffer(buffer);
	return count;
}

/* sort_by_sequence: the pages that were sealed first come first */
#define ST_SORT sort_by_sequence
#define ST_ELEMENT_TYPE SwareListedPage
#define ST_COMPARE(a, b) ((int32) ((a)->sequence - (b)->sequence))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * Get the buffer pages that the directory lists in a state (SWARE_SLOT_SEALED
 * or SWARE_SLOT_RETIRED), or in any one (SWARE_SLOT_FREE), in the order of
 * sealing, in the current memory context; *pages is NULL if there are none.
 * Returns their number.
 *
 * The directory can change meanwhile, so readers compare its version
 * afterwards.  A flusher need not: no other backend retires pages while it has
 * the flush lock.
 */
int
sware_buffer_list_pages(Relation index, uint16 state, SwareListedPage **pages)
{
	SwareLink  *links;
	int			link_count = sware_buffer_directory(index, &links);
	int			count = 0;
	int			allocated = 0;

	*pages = NULL;
	for (int i = 0; i < link_count; i++)
	{
		PGAlignedBlock copy;
		Buffer		buffer =
			sware_read_directory_page(index, links[i], BUFFER_LOCK_SHARE);
		int			slot_count;

		memcpy(copy.data, BufferGetPage(buffer), BLCKSZ);
		sware_release_buffer(buffer);

		slot_count = sware_slot_count(copy.data);
		for (int j = 0; j < slot_count; j++)
		{
			SwareSlot  *slot = sware_slot(copy.data, j);
			SwareListedPage *listed;

			if (slot->state == SWARE_SLOT_FREE ||
				(state != SWARE_SLOT_FREE && slot->state != state))
				continue;
			if (count == allocated)
				sware_grow(*pages, allocated, 512, CurrentMemoryContext);
			listed = &(*pages)[count++];
			listed->page = slot->page;
			listed->sequence = slot->sequence;
			listed->slot = sware_first_slot(i) + j;
			listed->state = slot->state;
			listed->entries = slot->entries;
			listed->isSorted = slot->isSorted;
		}
	}
	pfree(links);
	if (count > 1)
		sort_by_sequence(*pages, count);
	return count;
}

/*
 * Pin and lock a buffer page.  Returns InvalidBuffer, with nothing pinned or
 * locked, if the page is not the one any more that the link means.
 */
Buffer
sware_read_buffer_page(Relation index, SwareLink link, int lockmode)
{
	Buffer		buffer = sware_read_buffer(index, link.block, lockmode);

	if (!sware_is_buffer_page(BufferGetPage(buffer), link))
	{
		sware_release_buffer(buffer);
		return InvalidBuffer;
	}
	return buffer;
}

/*
 * Copy a buffer page, which is share-locked for a moment.  Returns false if
 * the page is not the one any more that the link means.
 */
bool
sware_copy_buffer_page(Relation index, SwareLink link, Page copy)
{
	Buffer		buffer = sware_read_buffer_page(index, link, BUFFER_LOCK_SHARE);

	if (!BufferIsValid(buffer))
		return false;
	memcpy(copy, BufferGetPage(buffer), BLCKSZ);
	sware_release_buffer(buffer);
	return true;
}

/*
 * Pin and share-lock a sealed page for a flusher, which has the flush lock, so
 * that the page cannot have become another one.
 */
Buffer
sware_read_listed_page(Relation index, const SwareListedPage *listed)
{
	Buffer		buffer =
		sware_read_buffer_page(index, listed->page, BUFFER_LOCK_SHARE);

	if (!BufferIsValid(buffer))
		sware_report_corruption(index, listed->page.block,
								"Slot %d of the buffer's directory lists it, but it is another page now.",
								listed->slot);
	return buffer;
}

/*
 * Returns the number of entries on a buffer page.  The caller has a lock on
 * it, or owns a copy.
 */
int
sware_buffer_page_entry_count(Relation index, BlockNumber block, Page page)
{
	int			count = 0;

	for (Size offset = SWARE_BUFFER_START;
		 offset < sware_buffer_page_end(page);)
	{
		sware_buffer_entry(index, block, page, &offset);
		count++;
	}
	return count;
}

/*
 * Find the entry of a buffer page that has a TID, from an entry's offset on.
 * Returns NULL if none has it before `end`.  The caller has a lock on the page.
 */
static IndexTuple
find_entry(Relation index, BlockNumber block, Page page,
		   const ItemPointerData *tid, Size from, Size end)
{
	for (Size offset = from; offset < end;)
	{
		IndexTuple	entry = sware_buffer_entry(index, block, page, &offset);

		if (memcmp(&entry->t_tid, tid, sizeof(ItemPointerData)) == 0)
			return entry;
	}
	return NULL;
}

/*
 * Return a dead entry on its buffer page; NULL if it is not there.  If it was
 * read in a sorted zone, it is searched for, from the offset *from on, which is
 * set to where it is.  The caller has a lock on the page.
 */
static IndexTuple
find_dead(Relation index, BlockNumber block, Page page,
		  const SwareDeadEntry *dead, Size *from)
{
	Size		offset = dead->source.number;
	IndexTuple	entry;

	if (dead->source.zone == 0)
		return find_entry(index, block, page, &dead->tid, offset, offset + 1);
	entry = find_entry(index, block, page, &dead->tid, *from,
					   sware_buffer_page_end(page));
	if (entry == NULL)
		entry = find_entry(index, block, page, &dead->tid,
						   SWARE_BUFFER_START, *from);
	if (entry)
		*from = (char *) entry - (char *) page;
	return entry;
}

/*
 * Mark entries of a buffer page: their rows are dead to everybody.  It is
 * fastest if they are in the order of their TIDs, in which entries arrive as a
 * rule.  Does nothing if the page is not the one any more that the link means.
 *
 * As long as it is that page, it has all the entries that it got, and VACUUM
 * releases no TID of theirs before it has retired the page.  So an entry with
 * the TID is the one that was read.  Share-locks the page for a moment; others
 * may read it, and set marks, at the same time.
 */
void
sware_mark_buffer_entries(Relation index, SwareLink link,
						  const SwareDeadEntry *entries, int count)
{
	Buffer		buffer = sware_read_buffer_page(index, link, BUFFER_LOCK_SHARE);
	Size		from = SWARE_BUFFER_START;
	int			marked = 0;
	bool		may_mark;

	if (!BufferIsValid(buffer))
		return;
	may_mark = sware_begin_marks(buffer);
	for (int i = 0; may_mark && i < count; i++)
	{
		IndexTuple	entry = find_dead(index, link.block,
									  BufferGetPage(buffer), &entries[i],
									  &from);

		if (entry == NULL || sware_entry_is_marked(entry))
			continue;
		entry->t_info |= SWARE_MARKED_ENTRY;
		marked++;
	}
	if (may_mark)
		sware_finish_marks(buffer, marked > 0);
	sware_release_buffer(buffer);
	if (marked > 0)
		sware_count(index, SWARE_STAT_ENTRIES_MARKED, marked);
}

/*
 * Raise an error about the entry at an offset of a buffer page, which is
 * damaged.
 */
void
sware_report_buffer_entry(Relation index, BlockNumber block, Size offset)
{
	sware_report_corruption(index, block, "The entry at byte %u is damaged.",
							(unsigned) offset);
}

/* How many pages may be asked for ahead?  None if none had to be read. */
int
sware_pages_ahead(SwarePagesAhead *ahead)
{
	if (ahead->distance < 0 && ahead->blocksRead != sware_blocks_read())
	{
		ahead->distance = sware_kernel_can_be_asked() ?
			get_tablespace_io_concurrency(ahead->index->rd_rel->reltablespace) :
			0;
		ahead->fileBlocks = RelationGetNumberOfBlocks(ahead->index);
	}
	return Max(ahead->distance, 0);
}

/* Ask for a page, if the file has it. */
void
sware_ask_for_page(const SwarePagesAhead *ahead, SwareLink link)
{
	if (link.block >= ahead->fileBlocks)
		return;
	SWARE_FAULT_POINT("pages-ahead-asks");
	PrefetchBuffer(ahead->index, MAIN_FORKNUM, link.block);
}

/*
 * The caller has a list of pages that it reads in this order, and is about to
 * read the one with the number `next`: ask for some behind it.
 *
 * The page that follows the one before it in the file is not asked for: the
 * kernel reads ahead by itself where a file is read in order.
 */
void
sware_ask_for_pages(SwarePagesAhead *ahead, const SwareLink *links, int count,
					int next)
{
	int			end = Min(count, next + 1 + sware_pages_ahead(ahead));

	for (ahead->asked = Max(ahead->asked, next + 1); ahead->asked < end;
		 ahead->asked++)
	{
		SwareLink	link = links[ahead->asked];

		if (link.block != links[ahead->asked - 1].block + 1)
			sware_ask_for_page(ahead, link);
	}
}
