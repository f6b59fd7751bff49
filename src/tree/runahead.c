/*-------------------------------------------------------------------------
 *
 * runahead.c
 *	  Decides when a run asks for leaves ahead.  See runahead.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/spccache.h"

#include "keys/searchkey.h"
#include "tree/runahead.h"

/* After this number of leaves in a row that had to be read, it begins. */
#define COLD_LEAVES		2

/* ... if this number of entries are left */
#define ENTRIES_LEFT	16

void
sware_run_ahead_init(SwareRunAhead *ahead, Relation index)
{
	ahead->index = index;
	ahead->readahead = NULL;
	ahead->coldLeaves = 0;
}

void
sware_run_ahead_before_leaf(SwareRunAhead *ahead)
{
	ahead->blocksRead = sware_blocks_read();
}

/*
 * Begin to ask for the leaves of these entries, unless
 * maintenance_io_concurrency forbids it.
 */
static void
begin(SwareRunAhead *ahead, IndexTuple *entries, int count)
{
	Oid			tablespace = ahead->index->rd_rel->reltablespace;
	int			distance;
	SwareSearchKey place;

	ahead->coldLeaves = 0;
	distance = get_tablespace_maintenance_io_concurrency(tablespace);
	if (distance <= 0)
		return;
	sware_search_key_prepare(&place, ahead->index);
	sware_search_key_set_entry(&place, entries[0]);
	ahead->readahead = sware_readahead_make(ahead->index);
	sware_readahead_set_distance(ahead->readahead, distance, distance);
	sware_readahead_want(ahead->readahead, entries, count);
	if (!sware_readahead_begin(ahead->readahead, &place, NULL, true))
		sware_run_ahead_end(ahead);
}

void
sware_run_ahead_after_leaf(SwareRunAhead *ahead, BlockNumber leaf,
						   IndexTuple *entries, int count)
{
	if (ahead->readahead == NULL)
	{
		if (sware_blocks_read() == ahead->blocksRead)
			ahead->coldLeaves = 0;
		else if (++ahead->coldLeaves >= COLD_LEAVES && count >= ENTRIES_LEFT)
			begin(ahead, entries, count);
	}
	if (ahead->readahead == NULL)
		return;
	sware_readahead_visit(ahead->readahead, leaf, MAX_IO_CONCURRENCY);
	if (sware_readahead_is_useless(ahead->readahead))
		sware_run_ahead_end(ahead);
}

void
sware_run_ahead_end(SwareRunAhead *ahead)
{
	sware_readahead_end(ahead->readahead);
	ahead->readahead = NULL;
}
