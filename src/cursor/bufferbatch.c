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

/* the size of the pieces in which memory for entries is allocated */
#define PIECE				4096

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
	batch->bytes = batch->roomLeft = 0;
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
		if (batch->roomContext == NULL)
			batch->roomContext =
				AllocSetContextCreate(batch->context, "sware batch",
									  ALLOCSET_DEFAULT_SIZES);
		batch->roomLeft = Max(PIECE, size + NAMEDATALEN);
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
 * Merge neighbouring parts that are in order: part i ends where part i + 1
 * begins, at ends[i].  Returns the number of entries.
 */
static int
merge_parts(const SwareBufferBatch *batch, const int *ends, int parts,
			SwareBufferedEntry *scratch)
{
	int			half = parts / 2;
	int			count;

	if (parts == 1)
		return ends[0] - ends[-1];
	count = merge_parts(batch, ends, half, scratch);
	return merge(batch, batch->entries + ends[-1], count,
				 batch->entries + ends[half - 1],
				 merge_parts(batch, ends + half, parts - half, scratch),
				 scratch);
}

/* Sort the entries, and remove duplicates. */
static void
sort(SwareBufferBatch *batch)
{
	int			sorted = batch->sorted;
	SwareBufferedEntry *scratch;
	int		   *ends;			/* where the parts end that are in order */
	int			parts = 1;

	if (sorted == batch->count)
		return;
	scratch = MemoryContextAlloc(batch->context, batch->count *
								 (sizeof(SwareBufferedEntry) + sizeof(int)));
	ends = (int *) (scratch + batch->count);
	ends[0] = sorted;
	for (int i = sorted + 1; i <= batch->count; i++)
	{
		if (i == batch->count ||
			compare_buffered(batch, &batch->entries[i - 1],
							 &batch->entries[i]) >= 0)
			ends[parts++] = i;
	}
	batch->count = merge(batch, batch->entries, sorted,
						 batch->entries + sorted,
						 merge_parts(batch, ends + 1, parts - 1, scratch),
						 scratch);
	pfree(scratch);
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
	if (batch->count > limit || batch->kept > 0)
	{
		batch->hasMore = true;
		batch->count = batch->sorted = batch->kept = limit;
		filter->last = Min(filter->last,
						   batch->entries[limit - 1].item.abbreviation);
	}

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
	if (batch->count < 2 * batch->limit)
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
	int			order = memcmp(&one->source.page, &other->source.page,
							   sizeof(SwareLink));

	return order != 0 ? order : sware_compare_tids(&one->tid, &other->tid);
}

void
sware_dead_entries_mark(SwareBufferCursor *cursor)
{
	SwareDeadEntry *dead = cursor->dead;
	int			count = cursor->deadCount;
	int			first = 0;		/* the first of those on the same page */

	if (likely(count == 0))
		return;
	if (cursor->zones.sortedCount > 0)
		sware_zones_mark_entries(&cursor->zones, dead, count);
	qsort(dead, count, sizeof(SwareDeadEntry), compare_dead);
	for (int i = 0; i < count; i++)
	{
		SwareLink	page = dead[i].source.page;

		if (i + 1 < count && sware_links_equal(page, dead[i + 1].source.page))
			continue;
		CHECK_FOR_INTERRUPTS();
		if (sware_link_is_valid(page))
			sware_mark_buffer_entries(cursor->scan->indexRelation, page,
									  &dead[first], i + 1 - first);
		first = i + 1;
	}
	cursor->deadCount = 0;
}
