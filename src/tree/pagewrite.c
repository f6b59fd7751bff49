/*-------------------------------------------------------------------------
 *
 * pagewrite.c
 *	  Writes items to pages, and collects items from pages.
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
		int			tid_count = 0;

		/* usually the next key is another one */
		if (first + 1 == count ||
			!sware_keys_equal_image(index, base, tuples[first + 1]))
		{
			tuples[result++] = base;
			next = first + 1;
			continue;
		}

		key_size = sware_leaf_tuple_key_size(base);
		for (next = first; next < count; next++)
		{
			int			more = sware_leaf_tuple_tid_count(tuples[next]);

			if (next > first &&
				(MAXALIGN(key_size +
						  (tid_count + more) * sizeof(ItemPointerData)) >
				 SWARE_MAX_POSTING_SIZE ||
				 !sware_keys_equal_image(index, base, tuples[next])))
				break;
			if (tid_count + more > (int) lengthof(tids))
			{
				/* this is a list that cannot grow */
				Assert(next == first);
				next++;
				break;
			}
			memcpy(&tids[tid_count], sware_leaf_tuple_tids(tuples[next]),
				   more * sizeof(ItemPointerData));
			tid_count += more;
		}
		tuples[result++] = (next == first + 1) ? base :
			_bt_form_posting(base, tids, tid_count);
	}
	return result;
}
