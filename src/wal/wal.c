/*-------------------------------------------------------------------------
 *
 * wal.c
 *	  Writes generic WAL records, and images of pages.
 *
 * Generic WAL (resource manager "Generic") is put together here in the form
 * that GenericXLogFinish gives it.  That looks at each byte of two pages.  Most
 * changes touch a small part of a page, so here what is equal is passed over in
 * larger pieces, and where pages differ, most bytes need no look.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/itup.h"
#include "access/timeline.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"

#include "base/compat.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "shared/pageversions.h"
#include "wal/wal.h"

/* how many bytes are compared at once */
#define PIECE	16

/* so many equal bytes end a fragment: they take more than the next header */
#define ENOUGH	((int) sizeof(SwareFragment) + 1)

/*
 * Part of a page: bytes from `start` on, up to `end`.  Of these, what redo
 * finds at other places than those from `knownStart` to `knownEnd` is not
 * known, since they were free space before.
 */
typedef struct Region
{
	int			start;
	int			end;
	int			knownStart;
	int			knownEnd;
} Region;

/*
 * Append a fragment with `length` bytes of the changed page, from `start` on.
 */
static void
add_fragment(SwareDelta *delta, const char *page, const void *start,
			 Size length)
{
	SwareFragment fragment;
	char	   *place = delta->fragments + delta->length;

	fragment.offset = (OffsetNumber) ((const char *) start - page);
	fragment.length = (OffsetNumber) length;
	Assert(delta->length + sizeof(fragment) + length <= SWARE_MAX_DELTA);
	memcpy(place, &fragment, sizeof(fragment));
	memcpy(place + sizeof(fragment), start, length);
	delta->length += sizeof(fragment) + length;
}

/*
 * Return the first place from `place` on at which two pages differ before
 * `end`; otherwise `end`, or `place` if that is beyond it.
 */
static int
pass_over_equal(const char *before, const char *after, int place, int end)
{
	while (place + PIECE <= end &&
		   memcmp(before + place, after + place, PIECE) == 0)
		place += PIECE;
	while (place < end && before[place] == after[place])
		place++;
	return place;
}

/*
 * Return where the fragment ends that begins at `place`: where so many bytes
 * are equal that another fragment takes less than they do.
 */
static int
fragment_end(const Region *region, const char *before, const char *after,
			 int place)
{
	int			start = Max(place + 1, region->knownStart);
	int			end = region->end;

	/* looked at from behind, a byte that differs excludes all before it */
	while (start + ENOUGH <= region->knownEnd)
	{
		int			last = start + ENOUGH - 1;

		while (last >= start && before[last] == after[last])
			last--;
		if (last < start)
			return start;
		start = last + 1;
	}

	/* too few are left; behind them is the end, or what is not known */
	if (end == region->knownEnd)
	{
		while (end > start && before[end - 1] == after[end - 1])
			end--;
	}
	return end;
}

/* Append what differs in a part of a page. */
static void
compare_region(SwareDelta *delta, const Region *region, const char *before,
			   const char *after)
{
	int			place = region->start;

	for (;;)
	{
		int			end;

		/* what is not known differs */
		if (place >= region->knownStart)
			place = pass_over_equal(before, after, place, region->knownEnd);
		if (place >= region->end)
			return;
		end = fragment_end(region, before, after, place);
		add_fragment(delta, after, after + place, end - place);
		place = end;
	}
}

/* Make the delta that changes one page into another; free space is ignored. */
void
sware_delta_compare(SwareDelta *delta, const char *before, const char *after)
{
	const PageHeaderData *old = (const PageHeaderData *) before;
	const PageHeaderData *new = (const PageHeaderData *) after;
	Region		lower = {0, new->pd_lower,
	0, Min(new->pd_lower, old->pd_lower)};
	Region		upper = {new->pd_upper, BLCKSZ, old->pd_upper, BLCKSZ};

	delta->length = 0;
	compare_region(delta, &lower, before, after);
	compare_region(delta, &upper, before, after);
}

/* Change a page as redo does. */
void
sware_delta_apply(const SwareDelta *delta, char *page)
{
	const char *place = delta->fragments;
	PageHeader	header = (PageHeader) page;

	while (place < delta->fragments + delta->length)
	{
		SwareFragment fragment;

		memcpy(&fragment, place, sizeof(fragment));
		place += sizeof(fragment);
		memcpy(page + fragment.offset, place, fragment.length);
		place += fragment.length;
	}
	memset(page + header->pd_lower, 0, header->pd_upper - header->pd_lower);
}

/* Clear the marks of a buffer page's entries. */
static void
clear_entry_marks(Page page)
{
	char	   *end = (char *) page + ((PageHeader) page)->pd_lower;
	char	   *entry = PageGetContents(page);

	while (entry < end)
	{
		Size		size = MAXALIGN(IndexTupleSize((IndexTuple) entry));

		if (size < sizeof(IndexTupleData))
			return;				/* a damaged page is not made worse */
		sware_clear_mark((IndexTuple) entry);
		entry += size;
	}
}

/* Clear the marks of dead entries on a page that is about to be logged. */
static void
clear_marks(Page page)
{
	if (PageIsNew(page))
		return;
	if (SwarePageGetOpaque(page)->kind == SWARE_KIND_BUFFER)
		clear_entry_marks(page);
	if (SwarePageGetOpaque(page)->kind != SWARE_KIND_LEAF)
		return;
	for (OffsetNumber offset = SWARE_FIRST_DATA;
		 offset <= PageGetMaxOffsetNumber(page); offset++)
	{
		ItemId		line_pointer = PageGetItemId(page, offset);

		if (ItemIdIsDead(line_pointer))
			ItemIdSetNormal(line_pointer, ItemIdGetOffset(line_pointer),
							ItemIdGetLength(line_pointer));
	}
}

/*
 * Returns where the timeline began on which this server writes WAL.  Reads
 * the timeline's history once in each backend.
 */
static XLogRecPtr
timeline_begin(void)
{
	static XLogRecPtr begin = InvalidXLogRecPtr;
	static TimeLineID timeline = 0;

	if (unlikely(timeline == 0))
	{
		TimeLineID	current = GetWALInsertionTimeLine();
		List	   *history = readTimeLineHistory(current);
		ListCell   *cell;

		foreach(cell, history)
		{
			TimeLineHistoryEntry *entry = lfirst(cell);

			if (entry->tli == current)
				begin = entry->begin;
		}
		list_free_deep(history);
		timeline = current;
	}
	return begin;
}

/*
 * Must the record that is being made have an image of the page?  The first
 * record of a timeline has one for each page that may have marks of dead
 * entries.  The server that wrote the timeline before may follow this one
 * now, and have marks that were never logged.  Redo of a record that leaves
 * out equal bytes would keep a mark where the line pointer of another entry
 * is now.
 */
static inline bool
needs_image(Page page)
{
	return !PageIsNew(page) && PageGetLSN(page) <= timeline_begin() &&
		(SwarePageGetOpaque(page)->kind == SWARE_KIND_LEAF ||
		 SwarePageGetOpaque(page)->kind == SWARE_KIND_BUFFER);
}

uint8
sware_page_registration(Page page)
{
	return REGBUF_STANDARD | (needs_image(page) ? REGBUF_FORCE_IMAGE : 0);
}

/* A page that a record changes. */
typedef struct ChangedPage
{
	Buffer		buffer;
	bool		hasImage;		/* is all of the page logged? */
	SwareDelta	delta;			/* otherwise this is */
	PGAlignedBlock copy;		/* what the caller changes */
} ChangedPage;

struct SwareWal
{
	bool		isLogged;
	int			count;			/* of pages */
	ChangedPage *pages[SWARE_WAL_MAX_PAGES];
};

/* If a changed page is one of those that have versions, raise its version. */
static void
tell_of_change(Buffer buffer)
{
	uint16		kind = SwarePageGetOpaque(BufferGetPage(buffer))->kind;

	if (kind == SWARE_KIND_META || kind == SWARE_KIND_BUFFER)
		sware_raise_page_version(buffer);
}

/* Start a record.  It belongs to the current memory context. */
SwareWal *
sware_wal_begin(Relation index)
{
	SwareWal   *wal = palloc(sizeof(SwareWal));

	wal->isLogged = RelationNeedsWAL(index);
	wal->count = 0;
	return wal;
}

/*
 * Return the private copy of an exclusively locked page; if the record does
 * not have the page yet, it is added.
 */
static Page
add_page(SwareWal *wal, Buffer buffer, bool has_image)
{
	ChangedPage *changed;

	for (int i = 0; i < wal->count; i++)
	{
		if (wal->pages[i]->buffer == buffer)
			return wal->pages[i]->copy.data;
	}
	if (wal->count == SWARE_WAL_MAX_PAGES)
		elog(ERROR, "a record cannot change more than %d pages",
			 SWARE_WAL_MAX_PAGES);

	changed = palloc(sizeof(ChangedPage));
	changed->buffer = buffer;
	changed->hasImage = has_image;
	memcpy(changed->copy.data, BufferGetPage(buffer), BLCKSZ);
	wal->pages[wal->count++] = changed;
	return changed->copy.data;
}

/*
 * Return a private copy of an exclusively locked page, for the caller to
 * change.  Redo locks the pages of a record in the order of these calls,
 * which must be left to right.
 */
Page
sware_wal_change(SwareWal *wal, Buffer buffer)
{
	Page		page = add_page(wal, buffer,
								needs_image(BufferGetPage(buffer)));

	if (unlikely(sware_images_are_compared()))
		clear_marks(page);
	return page;
}

/*
 * The same for a page whose present content does not matter: all of the new
 * one is logged.
 */
Page
sware_wal_new_page(SwareWal *wal, Buffer buffer)
{
	return add_page(wal, buffer, true);
}

/* Is a page what it is meant to be, but for its free space? */
pg_attribute_unused()
static bool
is_as_copy(const ChangedPage *changed)
{
	Page		page = BufferGetPage(changed->buffer);
	Page		copy = (Page) changed->copy.data;
	PageHeader	header = (PageHeader) copy;

	return memcmp(page, copy, header->pd_lower) == 0 &&
		memcmp((char *) page + header->pd_upper,
			   (char *) copy + header->pd_upper,
			   BLCKSZ - header->pd_upper) == 0;
}

/*
 * Change a page as redo will.  The free space of an image is cleared, as redo
 * does.
 */
static void
apply_change(const ChangedPage *changed, bool is_logged)
{
	Page		page = BufferGetPage(changed->buffer);
	PageHeader	header = (PageHeader) page;

	if (is_logged && !changed->hasImage)
		sware_delta_apply(&changed->delta, page);
	else
	{
		memcpy(page, changed->copy.data, BLCKSZ);
		memset((char *) page + header->pd_lower, 0,
			   header->pd_upper - header->pd_lower);
	}
	Assert(is_as_copy(changed));
	MarkBufferDirty(changed->buffer);
}

/* Forget the changes, and free the record. */
void
sware_wal_abort(SwareWal *wal)
{
	for (int i = 0; i < wal->count; i++)
		pfree(wal->pages[i]);
	pfree(wal);
}

/* Apply and log the changes in one critical section, and free the record. */
void
sware_wal_finish(SwareWal *wal)
{
	for (int i = 0; wal->isLogged && i < wal->count; i++)
	{
		ChangedPage *changed = wal->pages[i];

		if (!changed->hasImage)
			sware_delta_compare(&changed->delta,
								BufferGetPage(changed->buffer),
								changed->copy.data);
	}

	START_CRIT_SECTION();
	for (int i = 0; i < wal->count; i++)
		apply_change(wal->pages[i], wal->isLogged);
	if (wal->isLogged)
	{
		XLogRecPtr	lsn;

		XLogBeginInsert();
		for (int i = 0; i < wal->count; i++)
		{
			ChangedPage *changed = wal->pages[i];

			XLogRegisterBuffer(i, changed->buffer, REGBUF_STANDARD |
							   (changed->hasImage ? REGBUF_FORCE_IMAGE : 0));
			if (!changed->hasImage)
				XLogRegisterBufData(i, changed->delta.fragments,
									changed->delta.length);
		}
		lsn = XLogInsert(RM_GENERIC_ID, 0);
		for (int i = 0; i < wal->count; i++)
			PageSetLSN(BufferGetPage(wal->pages[i]->buffer), lsn);
	}
	END_CRIT_SECTION();

	for (int i = 0; i < wal->count; i++)
		tell_of_change(wal->pages[i]->buffer);
	sware_wal_abort(wal);
}

/*
 * Add bytes behind pd_lower of an exclusively locked page, and flags.  The
 * caller has made sure that they fit.  The record is put together as in
 * sware_wal_add_item.
 */
void
sware_wal_append_data(Relation index, Buffer buffer, const char *data,
					  Size size, uint16 flags)
{
	Page		page = BufferGetPage(buffer);
	SwarePageOpaque opaque = SwarePageGetOpaque(page);
	bool		sets_flags = (flags & ~opaque->flags) != 0;
	PageHeader	header = (PageHeader) page;
	char	   *place = (char *) page + header->pd_lower;
	uint8		registration = sware_page_registration(page);

	if (unlikely(sware_images_are_compared()))
	{
		SwareWal   *wal = sware_wal_begin(index);

		page = sware_wal_change(wal, buffer);
		memcpy((char *) page + header->pd_lower, data, size);
		((PageHeader) page)->pd_lower += size;
		SwarePageGetOpaque(page)->flags |= flags;
		sware_wal_finish(wal);
		return;
	}

	START_CRIT_SECTION();

	memcpy(place, data, size);
	header->pd_lower += size;
	opaque->flags |= flags;
	MarkBufferDirty(buffer);

	if (RelationNeedsWAL(index))
	{
		SwareDelta	delta;
		XLogRecPtr	lsn;

		delta.length = 0;
		add_fragment(&delta, page, &header->pd_lower, sizeof(LocationIndex));
		add_fragment(&delta, page, place, size);
		if (sets_flags)
			add_fragment(&delta, page, &opaque->flags, sizeof(uint16));
		XLogBeginInsert();
		XLogRegisterBuffer(0, buffer, registration);
		XLogRegisterBufData(0, delta.fragments, delta.length);
		lsn = XLogInsert(RM_GENERIC_ID, 0);
		PageSetLSN(page, lsn);
	}

	END_CRIT_SECTION();
	tell_of_change(buffer);
}

/*
 * Write an image to an exclusively locked page that no other page links to
 * yet, and log it whole.
 */
void
sware_wal_fill_page(Relation index, Buffer buffer, Page image)
{
	START_CRIT_SECTION();
	memcpy(BufferGetPage(buffer), image, BLCKSZ);
	MarkBufferDirty(buffer);
	if (RelationNeedsWAL(index))
		log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
}

/*
 * Log a page of a fork that was not read through the buffer manager, of a file
 * that no other session can see yet.  The initialisation fork is logged
 * although the relation is unlogged.
 */
void
sware_wal_write_new_page(Relation index, ForkNumber fork, BlockNumber block,
						 Page page)
{
	if (fork == INIT_FORKNUM || RelationNeedsWAL(index))
		log_newpage(&SwareRelationLocator(index), fork, block, page, true);
}
