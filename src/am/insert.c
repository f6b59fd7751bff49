/*-------------------------------------------------------------------------
 *
 * insert.c
 *	  The aminsert callback.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/predicate.h"

#include "am/callbacks.h"
#include "buffer/sharedbuffer.h"
#include "buffer/staging.h"
#include "faultpoint.h"
#include "buffer/statistics.h"
#include "tree/entry.h"
#include "tree/tree.h"

bool
sware_insert(Relation index, Datum *values, bool *isnull, ItemPointer heap_tid,
			 Relation heap, IndexUniqueCheck check_unique, bool index_unchanged,
			 IndexInfo *index_info)
{
	IndexTuple	entry;

	if (sware_stage(index, heap, values, isnull, heap_tid, index_info))
		return false;
	SWARE_FAULT_POINT("insert-begins");

	entry = index_form_tuple(RelationGetDescr(index), values, isnull);
	entry->t_tid = *heap_tid;
	sware_check_entry_size(index, heap, entry);
	if (!sware_enable_buffer || sware_buffer_insert(index, &entry, 1) == 0)
	{
		int			appended = sware_tree_insert_run(index, heap, &entry, 1);

		sware_count_tree_run(index, appended, 1 - appended);
	}
	pfree(entry);
	SWARE_FAULT_POINT("insert-stored");

	/*
	 * Core has checked for serialization conflicts before it called us.  A
	 * reader that took its predicate lock and searched the index since then
	 * has neither seen this entry nor been seen by that check, so check again
	 * now that readers can see the entry.
	 */
	CheckForSerializableConflictIn(index, NULL, InvalidBlockNumber);

	return false;				/* says nothing, without unique indexes */
}
