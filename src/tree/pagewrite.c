/*-------------------------------------------------------------------------
 *
 * pagewrite.c
 *	  Writes items to pages, packs pages with items that come in order, and
 *	  collects items from pages.
 *
 * Pages are written to only if they are private copies, or if no other session
 * can see them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"

#include "keys/entry.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "tree/treepages.h"

/*
 * Add a tuple and its line pointer to those of a page that end and begin at
 * `lower` and `upper`.
 */
static inline void
push_item(Page page, IndexTuple tuple, Size *lower, Size *upper)
{
	Size		size = IndexTupleSize(tuple);
	ItemIdData	item;

	if (unlikely(*lower + sizeof(ItemIdData) + MAXALIGN(size) > *upper))
		elog(ERROR, "tuple of %zu bytes does not fit on the page", size);

	*upper -= MAXALIGN(size);
	item.lp_off = *upper;
	item.lp_flags = LP_NORMAL;
	item.lp_len = size;
	*(ItemId) ((char *) page + *lower) = item;
	*lower += sizeof(ItemIdData);
	sware_copy_tuple((char *) page + *upper, tuple);
}

/*
 * Replace all items of an initialised tree page: a high key (NULL on the
 * rightmost page of a level) and data in order.  The tuples must not point
 * into this page.  The rest of the special space stays as it is.
 */
void
sware_write_items(Page page, IndexTuple high_key, const IndexTuple *tuples,
				  int count)
{
	PageHeader	header = (PageHeader) page;
	Size		lower = SizeOfPageHeaderData;
	Size		upper = header->pd_special;

	if (high_key)
		push_item(page, high_key, &lower, &upper);
	else
	{
		ItemIdSetUnused((ItemId) ((char *) page + lower));
		lower += sizeof(ItemIdData);
	}
	for (int i = 0; i < count; i++)
		push_item(page, tuples[i], &lower, &upper);
	header->pd_lower = lower;
	header->pd_upper = upper;
}

/*
 * Give a page a high key, or another one, for which it must have room.  The
 * line pointer exists already.
 */
void
sware_set_high_key(Page page, IndexTuple high_key)
{
	PageHeader	header = (PageHeader) page;
	ItemId		line_pointer = PageGetItemId(page, SWARE_HIGH_KEY);
	Size		size = IndexTupleSize(high_key);

	Assert(header->pd_lower + MAXALIGN(size) <= header->pd_upper);
	header->pd_upper -= MAXALIGN(size);
	ItemIdSetNormal(line_pointer, header->pd_upper, size);
	memcpy((char *) page + header->pd_upper, high_key, size);
}

/* Collect the data items of a page.  They point into the page. */
void
sware_collect_items(Page page, SwareItems *items)
{
	items->count = sware_page_data_count(page);
	for (int i = 0; i < items->count; i++)
		items->tuples[i] = sware_page_tuple(page, SWARE_FIRST_DATA + i);
}

/*
 * Merge neighbouring tuples with bytewise equal keys into posting lists, in
 * place.  Returns the new number of tuples.  Merged ones are palloc'ed.
 */
int
sware_deduplicate(Relation index, IndexTuple *tuples, int count)
{
	ItemPointerData tids[SWARE_MAX_POSTING_SIZE / sizeof(ItemPointerData)];
	int			result = 0;
	int			next;

	for (int first = 0; first < count; first = next)
	{
		IndexTuple	base = tuples[first];
		Size		key_size;
		int			tid_count;

		/* usually the next key is another one */
		next = first + 1;
		if (next == count || !sware_keys_equal_image(index, base, tuples[next]))
		{
			tuples[result++] = base;
			continue;
		}

		key_size = sware_leaf_tuple_key_size(base);
		tid_count = sware_leaf_tuple_tid_count(base);
		for (; next < count; next++)
		{
			int			more = sware_leaf_tuple_tid_count(tuples[next]);

			if (MAXALIGN(key_size +
						 (tid_count + more) * sizeof(ItemPointerData)) >
				SWARE_MAX_POSTING_SIZE ||
				!sware_keys_equal_image(index, base, tuples[next]))
				break;
			if (next == first + 1)
				memcpy(tids, sware_leaf_tuple_tids(base),
					   tid_count * sizeof(ItemPointerData));
			memcpy(&tids[tid_count], sware_leaf_tuple_tids(tuples[next]),
				   more * sizeof(ItemPointerData));
			tid_count += more;
		}
		tuples[result++] = next == first + 1 ? base :
			_bt_form_posting(base, tids, tid_count);
	}
	return result;
}

/* Go on with an empty page, which is made here. */
void
sware_pack_page(SwarePacking *packing, Page page, int level,
				uint32 incarnation)
{
	sware_init_page(page, level == 0 ? SWARE_KIND_LEAF : SWARE_KIND_INTERNAL,
					level, incarnation);
	sware_write_items(page, NULL, NULL, 0);
	packing->page = page;
}

/* Can the page get `more` bytes of items, and a high key? */
static inline bool
has_room(const SwarePacking *packing, Size more, Size high_key)
{
	PageHeader	header = (PageHeader) packing->page;
	Size		room = header->pd_upper - header->pd_lower;

	return more + high_key <= room &&
		SWARE_PAGE_CAPACITY - room + more <= packing->fill;
}

/* Merge an entry with the last one, if the keys are equal and there is room. */
static inline bool
merge_with_last(SwarePacking *packing, IndexTuple entry)
{
	IndexTuple	last = &packing->last.tuple;
	Size		key_size = IndexTupleSize(last);
	Size		size = MAXALIGN(key_size + (packing->tidCount + 1) *
								sizeof(ItemPointerData));

	if (!sware_keys_equal_image(packing->index, last, entry) ||
		size > SWARE_MAX_POSTING_SIZE ||
		!has_room(packing, size + sizeof(ItemIdData), sware_pivot_space(last)))
		return false;
	packing->tids[packing->tidCount++] = entry->t_tid;
	return true;
}

/* Put the last item on the page.  Returns false if the page is full. */
static inline bool
put_last(SwarePacking *packing, IndexTuple next)
{
	Page		page = packing->page;
	PageHeader	header = (PageHeader) page;
	Size		lower = header->pd_lower;
	Size		upper = header->pd_upper;
	IndexTuple	item = &packing->last.tuple;
	bool		is_leaf = sware_page_is_leaf(page);
	int			count = sware_page_data_count(page);

	if (packing->tidCount > 1)
		item = _bt_form_posting(item, packing->tids, packing->tidCount);
	if (count >= (is_leaf ? 1 : 2) &&
		!has_room(packing, sware_item_space(item),
				  next ? sware_pivot_space(next) : 0))
		return false;
	if (!is_leaf && count == 0)
		item = sware_form_minus_infinity(sware_pivot_link(item));
	push_item(page, item, &lower, &upper);
	header->pd_lower = lower;
	header->pd_upper = upper;
	return true;
}

bool
sware_pack(SwarePacking *packing, IndexTuple next)
{
	if (packing->tidCount > 0)
	{
		if (packing->merges && next && merge_with_last(packing, next))
			return true;
		if (!put_last(packing, next))
			return false;
	}
	if (next)
	{
		sware_copy_tuple(&packing->last, next);
		packing->tids[0] = next->t_tid;
	}
	packing->tidCount = next ? 1 : 0;
	return true;
}
