/*-------------------------------------------------------------------------
 *
 * bufferbatch.c
 *	  A batch: copies of the next wanted entries of the buffer, up to a limit,
 *	  in the order of the scan and without duplicates; and marking dead entries.
 *
 * Entries are added in any order.  Whenever there are twice as many as the
 * limit, they are sorted, and the worst ones are removed: those that the scan
 * would return last.  From then on only better entries than the worst one kept
 * are wanted.
 *
 * A scan notes the entries whose rows it finds to be dead to everybody, with
 * where they were read, and marks them later, many at once: on their buffer
 * pages, and in the sorted zones that they were read from.
 *
 * Comparators are called, so callers hold no locks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/memory.h"
#include "cursor/buffercursor.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"

/* A batch ends before its limit if its entries take this number of bytes. */
#define MAX_BATCH_BYTES		(1024 * 1024)

/* Sizes of the pieces in which memory for entries is allocated. */
#define FIRST_PIECE			2048
#define LAST_PIECE			(64 * 1024)

/* the number of entries that a batch has room for at first */
#define FIRST_ALLOCATED		16

void
sware_batch_begin(SwareBufferBatch *batch)
{
	batch->count = batch->current = 0;
	batch->sorted = batch->kept = 0;
	batch->hasMore = false;
	if (batch->roomContext)
		MemoryContextReset(batch->roomContext);
	batch->bytes = 0;
	batch->room = batch->firstRoom.bytes;
	batch->roomLeft = sizeof(batch->firstRoom.bytes);
}

/*
 * Copy an entry to the batch's memory.  NAMEDATALEN bytes behind it can be
 * read, too: the type "name" is stored in fewer bytes than functions that read
 * it may copy.
 */
static inline IndexTuple
copy_entry(SwareBufferBatch *batch, IndexTuple entry)
{
	Size		size = MAXALIGN(IndexTupleSize(entry));
	IndexTuple	copy;

	if (unlikely(batch->roomLeft < size + NAMEDATALEN))
	{
		Size		piece = Min(Max(batch->bytes, FIRST_PIECE), LAST_PIECE);

		if (batch->roomContext == NULL)
			batch->roomContext =
				AllocSetContextCreate(batch->context, "sware batch",
									  ALLOCSET_DEFAULT_SIZES);
		batch->roomLeft = Max(piece, size + NAMEDATALEN);
		batch->room = MemoryContextAlloc(batch->roomContext, batch->roomLeft);
	}
	copy = (IndexTuple) batch->room;
	sware_copy_tuple(copy, entry);
	batch->room += size;
	batch->roomLeft -= size;
	batch->bytes += size;
	return copy;
}

/* Compare two entries of the batch. */
static inline int
compare_buffered(const SwareBufferBatch *batch, const SwareBufferedEntry *a,
				 const SwareBufferedEntry *b)
{
	return sware_scan_order_compare(&batch->filter->order, &a->item, &b->item,
									&b->item.entry->t_tid);
}

/*
 * Merge entries with others behind them; both are in order.  Entries that are
 * in both are kept once.  Returns the number of entries.  There is room for
 * `count` of them in `scratch`.
 */
static int
merge(const SwareBufferBatch *batch, SwareBufferedEntry *entries, int count,
	  const SwareBufferedEntry *b, int count_b, SwareBufferedEntry *scratch)
{
	SwareBufferedEntry *to = entries;
	const SwareBufferedEntry *a = scratch;
	const SwareBufferedEntry *end_a = a + count;
	const SwareBufferedEntry *end_b = b + count_b;

	memcpy(scratch, entries, count * sizeof(SwareBufferedEntry));
	while (a < end_a && b < end_b)
	{
		int			order = compare_buffered(batch, a, b);

		*to++ = order <= 0 ? *a++ : *b++;
		if (order == 0)
			b++;
	}
	memcpy(to, a, (end_a - a) * sizeof(SwareBufferedEntry));
	to += end_a - a;
	memmove(to, b, (end_b - b) * sizeof(SwareBufferedEntry));
	return to + (end_b - b) - entries;
}

/*
 * Sort the entries from number *next on, as far as two to the power of `levels`
 * parts that are in order, and remove duplicates.  *next is set to what is
 * behind.  Returns the number of entries that are left.
 */
static int
sort_parts(const SwareBufferBatch *batch, int *next, int levels,
		   SwareBufferedEntry *scratch)
{
	SwareBufferedEntry *entries = batch->entries + *next;
	int			count = 1;

	if (levels > 0)
	{
		int			middle;

		count = sort_parts(batch, next, levels - 1, scratch);
		middle = *next;
		if (middle == batch->count)
			return count;
		return merge(batch, entries, count, batch->entries + middle,
					 sort_parts(batch, next, levels - 1, scratch), scratch);
	}
	while (++*next < batch->count)
	{
		const SwareBufferedEntry *other = batch->entries + *next;
		int			order =
			compare_buffered(batch, &entries[count - 1], other);

		if (order > 0)
			break;
		if (order < 0)
			entries[count++] = *other;
	}
	return count;
}

/* Sort the entries, and remove duplicates. */
static void
sort(SwareBufferBatch *batch)
{
	SwareBufferedEntry *scratch;
	int			count = batch->sorted;
	int			next = count;

	if (count == batch->count)
		return;
	scratch = MemoryContextAlloc(batch->context, batch->count *
								 sizeof(SwareBufferedEntry));
	for (int levels = 0; next < batch->count; levels++)
	{
		SwareBufferedEntry *others = batch->entries + next;

		count = merge(batch, batch->entries, count, others,
					  sort_parts(batch, &next, levels, scratch), scratch);
	}
	pfree(scratch);
	batch->count = count;
}

/* Move the entries to new memory, without those that were removed. */
static void
save_memory(SwareBufferBatch *batch)
{
	MemoryContext old = batch->roomContext;

	batch->roomContext = NULL;
	batch->bytes = 0;
	batch->roomLeft = 0;
	for (int i = 0; i < batch->count; i++)
		batch->entries[i].item.entry =
			copy_entry(batch, batch->entries[i].item.entry);
	MemoryContextDelete(old);
}

void
sware_batch_keep_the_best(SwareBufferBatch *batch)
{
	SwareScanFilter *filter = batch->filter;
	int			limit;

	sort(batch);
	while (batch->count > 0 &&
		   batch->entries[batch->count - 1].item.abbreviation > filter->last)
		batch->count--;
	batch->sorted = batch->count;
	limit = Min(batch->limit, batch->count);
	if (batch->bytes > MAX_BATCH_BYTES)
		limit = Max(Min(limit, batch->count *
						((double) MAX_BATCH_BYTES / batch->bytes)), 1);
	if (batch->count > limit || batch->kept > 0)
	{
		batch->hasMore = true;
		batch->count = batch->sorted = batch->kept = limit;
		filter->last = Min(filter->last,
						   batch->entries[limit - 1].item.abbreviation);
	}
	if (batch->bytes > 4 * MAX_BATCH_BYTES)
		save_memory(batch);

#ifdef USE_ASSERT_CHECKING
	for (int i = 1; i < batch->count; i++)
		Assert(compare_buffered(batch, &batch->entries[i - 1],
								&batch->entries[i]) < 0);
#endif
}

bool
sware_batch_add(SwareBufferBatch *batch, const SwareBufferedEntry *found,
				bool follows)
{
	SwareBufferedEntry *added;

	if (batch->count == batch->allocated)
		sware_grow(batch->entries, batch->allocated, FIRST_ALLOCATED,
				   batch->context);
	added = &batch->entries[batch->count];
	*added = *found;
	added->item.entry = copy_entry(batch, found->item.entry);

	/* If all entries before it are in order, is this one, too? */
	if (batch->sorted == batch->count &&
		(batch->count == 0 || follows ||
		 compare_buffered(batch, added - 1, added) < 0))
		batch->sorted++;
	batch->count++;
	if (batch->count < 2 * batch->limit &&
		batch->bytes <= 4 * MAX_BATCH_BYTES)
		return true;
	sware_batch_keep_the_best(batch);
	return false;
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
sware_dead_entries_mark(SwareBufferCursor *cursor)
{
	SwareDeadEntries *dead = &cursor->dead;
	int			first = 0;		/* the first of those on the same page */

	if (likely(dead->count == 0))
		return;
	if (cursor->view.zones.sortedCount > 0)
		sware_zones_mark_entries(&cursor->view.zones, dead->entries,
								 dead->count);
	qsort(dead->entries, dead->count, sizeof(SwareDeadEntry), compare_dead);
	for (int i = 0; i < dead->count; i++)
	{
		SwareLink	page = dead->entries[i].source.page;

		if (i + 1 < dead->count &&
			sware_links_equal(page, dead->entries[i + 1].source.page))
			continue;
		CHECK_FOR_INTERRUPTS();
		if (sware_link_is_valid(page))
			sware_mark_buffer_entries(cursor->scan->indexRelation, page,
									  &dead->entries[first], i + 1 - first);
		first = i + 1;
	}
	dead->count = 0;
}
