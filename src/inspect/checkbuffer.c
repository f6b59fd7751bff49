/*-------------------------------------------------------------------------
 *
 * checkbuffer.c
 *	  Checking the buffer against the metapage and the directory.
 *
 * Other sessions insert and flush meanwhile.  Rules that relate the metapage
 * to the directory are checked only if the directory's version was the same
 * before and after both were copied.  If a page does not match its slot, or
 * the metapage's link to it, that counts only if slot or link are still there
 * afterwards.  That is enough, since a link has an incarnation, and a page is
 * opened, sealed and retired only once in an incarnation.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "inspect/inspect.h"
#include "keys/searchkey.h"
#include "layout/tuple.h"
#include "pages/bufferpages.h"

/* how often a directory is copied at most, if it keeps changing */
#define MAX_ATTEMPTS	100

/* What is known of the page run of the sorted page that was checked last. */
typedef struct CheckedRun
{
	bool		isKnown;
	uint32		lastSequence;	/* of the run's last page */
	IndexTuple	entry;			/* last entry of the page */
} CheckedRun;

/* The metapage, and the pages that the directory lists, as they were sealed. */
typedef struct Directory
{
	PGAlignedBlock metapage;
	SwareMetaPage meta;
	SwareListedPage *slots;
	int			slotCount;
} Directory;

static void
copy_directory_page(SwareCheck *check, SwareLink link, Page copy)
{
	SwarePageOpaque opaque;

	sware_check_copy_block(check, SWARE_METAPAGE, link.block, copy);
	check->block = link.block;
	sware_validate_frame(check->index, link.block, copy);
	opaque = SwarePageGetOpaque(copy);
	if (link.block == SWARE_METAPAGE || opaque->kind != SWARE_KIND_DIRECTORY ||
		opaque->incarnation != link.incarnation)
		sware_report_corruption(
								check->index, link.block,
								"The metapage links to it as a directory page of incarnation %u, "
								"but it has kind %u and incarnation %u.",
								link.incarnation, opaque->kind, opaque->incarnation);
	sware_validate_slots(check->index, link.block, copy);
}

/*
 * Copy the metapage and the slots, and check the pages that have them.  Returns
 * false if the directory has changed meanwhile.
 */
static bool
try_copy_directory(SwareCheck *check, Directory *directory)
{
	SwareMetaPage meta = SwarePageGetMeta(directory->metapage.data);
	SwareBufferState state;
	uint32		slots;

	sware_check_copy_metapage(check, directory->metapage.data);
	slots = sware_first_slot(meta->directoryPages);
	if (meta->sealedPages > slots || meta->nextSlot > slots)
		sware_report_corruption(
								check->index, SWARE_METAPAGE,
								"There are %u sealed pages, and slot %u is next, "
								"but the directory has %u pages.",
								meta->sealedPages, meta->nextSlot, meta->directoryPages);
	directory->meta = meta;
	for (uint32 i = 0; i < meta->directoryPages; i++)
	{
		PGAlignedBlock copy;

		copy_directory_page(check, meta->directory[i], copy.data);
	}
	check->block = InvalidBlockNumber;
	directory->slotCount = sware_buffer_list_pages(check->index,
												   SWARE_SLOT_FREE,
												   &directory->slots);
	sware_buffer_read_state(check->index, &state);
	return state.version == meta->directoryVersion;
}

/*
 * Metapage and directory must link to each block only once.  Invalid links, and
 * others that lead behind the end of the file, are never in the set.
 */
static void
check_link(SwareCheck *check, SwareBlockSet *linked, SwareLink link)
{
	if (sware_block_set_has(linked, link.block))
		sware_report_corruption(check->index, link.block,
								"Metapage and directory of the buffer link to it twice.");
	sware_block_set_add(linked, link.block);
}

static void
check_links(SwareCheck *check, Directory *directory)
{
	SwareMetaPage meta = directory->meta;
	SwareBlockSet *linked =
		sware_block_set_make(RelationGetNumberOfBlocks(check->index));

	check_link(check, linked, meta->root);
	for (int i = 0; i < directory->slotCount; i++)
		check_link(check, linked, directory->slots[i].page);
	for (int i = 0; i < SWARE_MAX_TAILS; i++)
		check_link(check, linked, meta->tails[i]);
	for (uint32 i = 0; i < meta->directoryPages; i++)
		check_link(check, linked, meta->directory[i]);
}

static void
check_sequences(SwareCheck *check, Directory *directory)
{
	SwareMetaPage meta = directory->meta;
	const SwareListedPage *before = NULL;
	uint32		count = 0;

	/* the slots are in the order of these numbers */
	for (int i = 0; i < directory->slotCount; i++)
	{
		const SwareListedPage *listed = &directory->slots[i];

		if (listed->state != SWARE_SLOT_SEALED)
			continue;
		count++;
		if ((int32) (meta->nextSequence - listed->sequence) <= 0)
			sware_report_corruption(check->index, listed->page.block,
									"Slot %u of the buffer's directory gives it the sequence number %u, "
									"but the next one is %u.", listed->slot,
									listed->sequence, meta->nextSequence);
		if (before && listed->sequence == before->sequence)
			sware_report_corruption(check->index, listed->page.block,
									"The slots %u and %u of the buffer's directory have the same sequence number.",
									before->slot, listed->slot);
		before = listed;
	}
	if (count != meta->sealedPages)
		sware_report_corruption(check->index, SWARE_METAPAGE,
								"There are %u sealed pages, but the directory lists %u.",
								meta->sealedPages, count);
}

static bool
is_still_open(SwareCheck *check, SwareLink link)
{
	SwareBufferState state;

	sware_buffer_read_state(check->index, &state);
	for (int i = 0; i < state.tailCount; i++)
	{
		if (sware_links_equal(state.tails[i], link))
			return true;
	}
	return false;
}

static bool
is_still_listed(SwareCheck *check, Directory *directory,
				const SwareListedPage *listed)
{
	PGAlignedBlock copy;
	SwareSlot  *slot;

	copy_directory_page(check,
						directory->meta
						->directory[sware_page_of_slot(listed->slot)],
						copy.data);
	check->block = InvalidBlockNumber;
	slot = sware_slot(copy.data, listed->slot);
	return slot->state != SWARE_SLOT_FREE &&
		sware_links_equal(slot->page, listed->page);
}

/*
 * Copy the page that a link on the page `from` means, and check its frame.
 * Returns false if the block is not that page any more.
 */
static bool
copy_buffer_page(SwareCheck *check, BlockNumber from, SwareLink link, Page copy)
{
	sware_check_copy_block(check, from, link.block, copy);
	check->block = link.block;

	/* a page that was freed, and is being reused, may be new */
	if (PageIsNew(copy))
		return false;
	sware_validate_frame(check->index, link.block, copy);
	return link.block != SWARE_METAPAGE && sware_is_buffer_page(copy, link);
}

/* Check the entries of a copy of a buffer page.  Returns their number. */
static int
check_entries(SwareCheck *check, BlockNumber block, Page page)
{
	int			count =
		sware_validate_buffer_entries(check->index, block, page);
	Size		offset = SWARE_BUFFER_START;

	for (int i = 1; i <= count; i++)
	{
		IndexTuple	entry =
			sware_buffer_entry(check->index, block, page, &offset);
		bool		is_marked = sware_entry_is_marked(entry);

		sware_clear_mark(entry);
		sware_check_entries(check, entry, i, is_marked);
	}
	return count;
}

static void
check_open_page(SwareCheck *check, SwareLink link)
{
	PGAlignedBlock copy;
	Page		page = copy.data;
	bool		is_found = copy_buffer_page(check, SWARE_METAPAGE, link, page);

	if (!is_found || sware_buffer_page_is_sealed(page))
	{
		if (is_still_open(check, link))
			sware_report_corruption(check->index, link.block,
									"The metapage links to it as an open buffer page of incarnation %u, "
									"but that it is not.", link.incarnation);
		if (!is_found)
			return;
	}
	(void) check_entries(check, link.block, page);
}

/*
 * Check that the entries of a private copy of a sorted page, which have no
 * marks any more, are in order, and behind those of the page before it in its
 * page run.
 */
static void
check_sorted_page(SwareCheck *check, const SwareListedPage *listed, Page page,
				  CheckedRun *run)
{
	BlockNumber block = listed->page.block;
	uint32		last_sequence = sware_page_run_end(page, listed->sequence);
	IndexTuple	before = run->isKnown && run->lastSequence == last_sequence ?
		run->entry : NULL;
	Size		offset = SWARE_BUFFER_START;

	for (int i = 1; offset < sware_buffer_page_end(page); i++)
	{
		IndexTuple	entry =
			sware_buffer_entry(check->index, block, page, &offset);

		if (before && sware_compare_entries(check->index, before, entry) >= 0)
			sware_report_corruption(check->index, block,
									"Entry %d of the sorted page is not above the one before.",
									i);
		before = entry;
	}
	run->isKnown = before != NULL;
	run->lastSequence = last_sequence;
	if (run->isKnown)
		run->entry = CopyIndexTuple(before);
}

/*
 * Check a page that the directory lists; of a retired one, not its entries.
 * Sorted pages come in the order of sealing.
 */
static void
check_listed_page(SwareCheck *check, Directory *directory,
				  const SwareListedPage *listed, CheckedRun *run)
{
	PGAlignedBlock copy;
	Page		page = copy.data;
	SwareLink	link = listed->page;
	uint32		directory_page = sware_page_of_slot(listed->slot);
	int			count;

	if (!copy_buffer_page(check,
						  directory->meta->directory[directory_page].block,
						  link, page) ||
		!sware_buffer_page_is_sealed(page))
	{
		if (is_still_listed(check, directory, listed))
			sware_report_corruption(check->index, link.block,
									"Slot %u of the buffer's directory lists it as a sealed page of incarnation %u, "
									"but that it is not.", listed->slot, link.incarnation);
		return;
	}
	if (listed->state == SWARE_SLOT_RETIRED)
		return;
	count = check_entries(check, link.block, page);
	if (count != listed->entries)
		sware_report_corruption(check->index, link.block,
								"The page has %d entries, but slot %u of the buffer's directory says %u.",
								count, listed->slot, listed->entries);
	if (sware_buffer_page_is_sorted(page) != listed->isSorted)
		sware_report_corruption(check->index, link.block,
								"The page is %s, but slot %u of the buffer's directory says that it is %s.",
								listed->isSorted ? "unsorted" : "sorted", listed->slot,
								listed->isSorted ? "sorted" : "unsorted");
	if (listed->isSorted)
		check_sorted_page(check, listed, page, run);
}

/*
 * Check the whole buffer.  Pages that are opened after the metapage was copied
 * are not checked: no row of theirs is visible to the snapshot, which is
 * older.  Nor are entries of pages that retire meanwhile; they are checked in
 * the tree.
 */
void
sware_check_buffer(SwareCheck *check)
{
	MemoryContext outer = MemoryContextSwitchTo(check->pageContext);
	Directory	directory = {.slots = NULL};
	CheckedRun	run = {.isKnown = false};
	bool		is_consistent = false;

	for (int attempt = 0; attempt < MAX_ATTEMPTS && !is_consistent; attempt++)
		is_consistent = try_copy_directory(check, &directory);
	if (is_consistent)
	{
		check_links(check, &directory);
		check_sequences(check, &directory);
	}

	for (int i = 0; i < SWARE_MAX_TAILS; i++)
	{
		if (sware_link_is_valid(directory.meta->tails[i]))
			check_open_page(check, directory.meta->tails[i]);
	}
	for (int i = 0; i < directory.slotCount; i++)
	{
		/* the directory may have grown since the metapage was copied */
		if ((uint32) sware_page_of_slot(directory.slots[i].slot) <
			directory.meta->directoryPages)
			check_listed_page(check, &directory, &directory.slots[i], &run);
	}

	check->block = InvalidBlockNumber;
	MemoryContextSwitchTo(outer);
	MemoryContextReset(check->pageContext);
}
