/*-------------------------------------------------------------------------
 *
 * scanvalues.h
 *	  The values of a scan's keys: their types, their arrays, and how they are
 *	  compared with the index's values.
 *
 * Columns are counted from 0 on.  Functions that compare call those of the
 * operator class; memory is the scan's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SCANVALUES_H
#define SWARE_SCANVALUES_H

#include "access/skey.h"

#include "keys/scankeys.h"

#define KEY_IS_NULL(key)		(((key)->sk_flags & SK_SEARCHNULL) != 0)
#define KEY_IS_NOT_NULL(key)	(((key)->sk_flags & SK_SEARCHNOTNULL) != 0)
#define KEY_IS_ARRAY(key)		(((key)->sk_flags & SK_SEARCHARRAY) != 0)
#define KEY_IS_OPERATOR(key)                                                  \
	(((key)->sk_flags &                                                       \
	  (SK_SEARCHNULL | SK_SEARCHNOTNULL | SK_SEARCHARRAY)) == 0)

/* The type of a key's argument, or of its elements if that is an array. */
static inline Oid
sware_argument_type(const SwareScanKeys *keys, ScanKey key)
{
	return OidIsValid(key->sk_subtype) ? key->sk_subtype :
		keys->index->rd_opcintype[key->sk_attno - 1];
}

extern FmgrInfo *sware_find_scan_function(SwareScanKeys *keys, int column,
										  Oid left, Oid right);
extern bool sware_is_comparable(SwareScanKeys *keys, ScanKey key);
extern void sware_init_scan_column(SwareScanKeys *keys, SwareKeyColumn *result,
								   int column, Oid left, Oid right,
								   Oid collation);
extern void sware_make_scan_column(SwareScanKeys *keys, SwareKeyColumn *result,
								   int column, ScanKey key);
extern void sware_get_elements(SwareScanKeys *keys, ScanKey key,
							   SwareElements *elements);
extern int	sware_find_element(const SwareElements *elements, Datum value,
							   bool is_null, bool *equal);
extern bool sware_reduce_to_extreme(SwareScanKeys *keys, ScanKey key);
extern void sware_compare_as_integers(SwareScanKeys *keys,
									  SwareCondition *condition);

#endif							/* SWARE_SCANVALUES_H */
