/*-------------------------------------------------------------------------
 *
 * placement.c
 *	  Where on a leaf does an entry go?
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "keys/entry.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "tree/placement.h"
#include "wal/wal.h"

SwarePlacement
sware_place_entry(const SwareSearchKey *key, Page page, IndexTuple entry)
{
	SwarePlacement placement = {SWARE_PLACEMENT_NONE, InvalidOffsetNumber};
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	IndexTuple	next;

	placement.offset = sware_search_leaf(key, page, SWARE_FIRST_DATA, last);
	next = placement.offset <= last ?
		sware_page_tuple(page, placement.offset) : NULL;
	if (next && sware_compare_key(key, next) == 0)
	{
		if (sware_tuple_is_posting(next) &&
			!sware_posting_contains(next, &entry->t_tid))
			placement.kind = SWARE_PLACEMENT_POSTING;
	}
	else if (PageGetFreeSpace(page) < MAXALIGN(IndexTupleSize(entry)))
		placement.kind = SWARE_PLACEMENT_NO_ROOM;
	else
		placement.kind = SWARE_PLACEMENT_ADD;
	return placement;
}

SwarePlacementKind
sware_add_entry(const SwareSearchKey *key, Buffer buffer, IndexTuple entry)
{
	SwarePlacement placement =
		sware_place_entry(key, BufferGetPage(buffer), entry);

	if (placement.kind == SWARE_PLACEMENT_ADD)
		sware_wal_add_item(key->index, buffer, entry, placement.offset);
	return placement.kind;
}
