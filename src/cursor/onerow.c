/*-------------------------------------------------------------------------
 *
 * onerow.c
 *	  Scans that find one row at most.  See onerow.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "cursor/onerow.h"

static bool
have_null(const SwareSearchKey *key)
{
	for (int i = 0; i < key->columnCount; i++)
		if (key->columns[i].isNull)
			return true;
	return false;
}

bool
sware_scan_finds_one_row(IndexScanDesc scan, const SwareScanKeys *keys)
{
	Relation	index = scan->indexRelation;
	Form_pg_index form = index->rd_index;
	HeapTupleHeader entry = index->rd_indextuple->t_data;

	return form->indisunique && form->indimmediate && form->indisvalid &&
		scan->xs_heapfetch != NULL && scan->xs_snapshot != NULL &&
		IsMVCCSnapshot(scan->xs_snapshot) &&
		sware_scan_keys_are_one_key(keys) && !have_null(&keys->low) &&
		TransactionIdPrecedes(HeapTupleHeaderGetXmin(entry),
							  scan->xs_snapshot->xmin);
}
