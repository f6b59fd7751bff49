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
#include "access/xact.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "cursor/onerow.h"

/*
 * Can the values that a scan asks for equal one key each?  Those of the
 * column's type can, and integers.
 */
static bool
has_exact_values(IndexScanDesc scan)
{
	for (int i = 0; i < scan->numberOfKeys; i++)
	{
		ScanKey		key = &scan->keyData[i];
		Oid			type =
			scan->indexRelation->rd_opcintype[key->sk_attno - 1];

		if (OidIsValid(key->sk_subtype) && key->sk_subtype != type &&
			!(sware_is_integer(sware_comparison_of_integers(key->sk_subtype)) &&
			  sware_is_integer(sware_comparison_of_integers(type))))
			return false;
	}
	return true;
}

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

	return form->indisunique && form->indisvalid &&
		scan->xs_heapfetch != NULL && scan->xs_snapshot != NULL &&
		IsMVCCSnapshot(scan->xs_snapshot) && !IsolationIsSerializable() &&
		sware_scan_keys_are_one_key(keys) && !have_null(&keys->low) &&
		has_exact_values(scan) &&
		TransactionIdPrecedes(HeapTupleHeaderGetXmin(entry),
							  scan->xs_snapshot->xmin);
}
