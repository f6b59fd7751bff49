/*-------------------------------------------------------------------------
 *
 * border.c
 *	  Copies of entries.  See border.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "layout/tuple.h"
#include "tree/border.h"

void
sware_save_tuple(SwareSavedEntry *saved, MemoryContext context,
				 IndexTuple tuple)
{
	bool		is_posting = sware_tuple_is_posting(tuple);
	Size		size = is_posting ? sware_posting_offset(tuple) :
		IndexTupleSize(tuple);

	if (saved->size < size + NAMEDATALEN)
	{
		if (saved->tuple)
			pfree(saved->tuple);
		/* round up, so that keys of varying length seldom need more memory */
		saved->size = TYPEALIGN(128, size + NAMEDATALEN);
		saved->tuple = MemoryContextAlloc(context, saved->size);
	}
	memcpy(saved->tuple, tuple, size);
	if (is_posting)
	{
		saved->tuple->t_info &= ~(INDEX_SIZE_MASK | SWARE_SPECIAL_TUPLE);
		saved->tuple->t_info |= size;
		saved->tuple->t_tid = sware_posting_tids(tuple)[0];
	}
}
