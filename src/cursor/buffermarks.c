/*-------------------------------------------------------------------------
 *
 * buffermarks.c
 *	  Marking entries of the buffer whose rows are dead to everybody.  See
 *	  buffermarks.h.
 *
 * Marks in sorted zones are what later scans see, except for page runs, whose
 * entries they read on the pages.  Those on pages outlive the zones, and
 * flushes see them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/memory.h"
#include "cursor/buffermarks.h"
#include "pages/bufferpages.h"
#include "pages/pageaccess.h"

/* room for dead entries at first */
#define FIRST_ALLOCATED		64

/*
 * If more entries than this are to be marked, pages of sorted zones that have
 * only few of them are not read for it: the marks in the zones have to do.  (Of
 * page runs there are none but those on the pages.)
 */
#define MANY_ENTRIES		256
#define FEW_OF_A_PAGE		8

void
sware_dead_entries_add(SwareDeadEntries *dead, ItemPointer tid,
					   const SwareEntrySource *source, MemoryContext context)
{
	if (dead->count == dead->allocated)
		sware_grow(dead->entries, dead->allocated, FIRST_ALLOCATED, context);
	dead->entries[dead->count].tid = *tid;
	dead->entries[dead->count].source = *source;
	dead->count++;
}

/* qsort comparator: by page, then by TID */
static int
compare_dead(const void *a, const void *b)
{
	const SwareDeadEntry *one = a;
	const SwareDeadEntry *other = b;

	if (one->source.page.block != other->source.page.block)
		return one->source.page.block < other->source.page.block ? -1 : 1;
	if (one->source.page.incarnation != other->source.page.incarnation)
		return one->source.page.incarnation < other->source.page.incarnation ?
			-1 : 1;
	return ItemPointerCompare(unconstify(ItemPointerData *, &one->tid),
							  unconstify(ItemPointerData *, &other->tid));
}

void
sware_dead_entries_mark(SwareDeadEntries *dead, Relation index,
						const SwareZoneView *view)
{
	bool		are_many = dead->count > MANY_ENTRIES;
	SwareEntryPlace *places;
	int			count = 0;

	if (likely(dead->count == 0))
		return;
	if (view->sortedCount > 0)
		sware_zones_mark_entries(view, dead->entries, dead->count);
	qsort(dead->entries, dead->count, sizeof(SwareDeadEntry), compare_dead);
	places = palloc(dead->count * sizeof(SwareEntryPlace));
	for (int i = 0; i < dead->count; i++)
	{
		SwareEntrySource *source = &dead->entries[i].source;
		SwareLink	page = source->page;
		bool		is_done = source->zone != 0 &&
			!view->sorted[source->zone - 1].isOfRun;

		places[count].tid = dead->entries[i].tid;
		places[count++].offset = source->zone != 0 ? 0 : source->number;
		if (i + 1 < dead->count &&
			sware_links_equal(page, dead->entries[i + 1].source.page))
			continue;
		CHECK_FOR_INTERRUPTS();
		if (sware_link_is_valid(page) &&
			!(are_many && is_done && count < FEW_OF_A_PAGE))
			sware_mark_buffer_entries(index, page, places, count);
		count = 0;
	}
	pfree(places);
	dead->count = 0;
}
