/*-------------------------------------------------------------------------
 *
 * border.c
 *	  Borders: places between entries where a tree cursor goes on.  See
 *	  border.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "layout/tuple.h"
#include "tree/border.h"

void
sware_set_tuple_border(SwareBorder *border, MemoryContext context,
					   int64 range, IndexTuple tuple)
{
	bool		is_posting = sware_tuple_is_posting(tuple);
	Size		size = is_posting ? sware_posting_offset(tuple) :
		IndexTupleSize(tuple);

	if (border->size < size)
	{
		if (border->tuple)
			pfree(border->tuple);
		/* round up, so that keys of varying length seldom need more memory */
		border->size = TYPEALIGN(128, size);
		border->tuple = MemoryContextAlloc(context, border->size);
	}
	memcpy(border->tuple, tuple, size);
	if (is_posting)
	{
		border->tuple->t_info &= ~(INDEX_SIZE_MASK | SWARE_SPECIAL_TUPLE);
		border->tuple->t_info |= size;
		border->tuple->t_tid = sware_posting_tids(tuple)[0];
	}
	border->range = range;
	border->hasTuple = true;
}

void
sware_copy_border(SwareBorder *to, MemoryContext context,
				  const SwareBorder *from)
{
	if (from->hasTuple)
		sware_set_tuple_border(to, context, from->range, from->tuple);
	else
		sware_set_range_border(to, from->range);
}
