/*-------------------------------------------------------------------------
 *
 * scanahead.c
 *	  Decides when a scan asks for leaves ahead.  See scanahead.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "utils/spccache.h"

#include "tree/scanahead.h"

/*
 * Begin to ask for the leaves that follow the border, which is in the range.
 * A scan that has asked for them until now, in another range or in another
 * interval of a parallel scan, goes on with the distance that it has reached.
 */
static void
begin(SwareScanAhead *ahead, SwareScanKeys *keys, int64 range,
	  IndexTuple border, bool forward, MemoryContext context)
{
	int			limit =
		get_tablespace_io_concurrency(keys->index->rd_rel->reltablespace);
	bool		goes_on = ahead->readahead && ahead->forward == forward &&
		(ahead->isActive || keys->interval);
	SwareSearchKey place;

	ahead->isActive = false;
	if (limit <= 0)
		return;
	if (ahead->readahead == NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(context);

		ahead->readahead = sware_readahead_make(keys->index);
		MemoryContextSwitchTo(caller);
	}
	if (!goes_on)
		sware_readahead_set_distance(ahead->readahead, 1, limit);

	sware_scan_keys_set_range(keys, range);
	sware_search_key_from_tuple(&place, keys->index, border);
	place.below = !forward;
	ahead->isActive = sware_readahead_begin(ahead->readahead, &place,
											forward ? &keys->high : &keys->low,
											forward);
	ahead->forward = forward;
	ahead->range = range;
}

/*
 * The scan is about to follow a link to a leaf, from a border in a range, and
 * sware_scan_ahead_is_due: ask for leaves behind that one, for `most` at most.
 * `context` lives as long as the scan.  The caller holds no content locks.
 */
void
sware_scan_ahead_of_link(SwareScanAhead *ahead, SwareScanKeys *keys,
						 int64 range, IndexTuple border, bool forward,
						 BlockNumber leaf, int most, MemoryContext context)
{
	bool		fits = ahead->isActive && ahead->forward == forward &&
		ahead->range == range;

	if (!fits && (!ahead->isCold || most == 0))
		ahead->isActive = false;
	else if (!fits)
		begin(ahead, keys, range, border, forward, context);
	if (!ahead->isActive)
		return;

	sware_readahead_visit(ahead->readahead, leaf, most);
	if (sware_readahead_is_useless(ahead->readahead))
		ahead->isActive = false;
}
