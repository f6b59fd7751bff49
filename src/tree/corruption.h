/*-------------------------------------------------------------------------
 *
 * corruption.h
 *	  The error that a damaged page raises.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_CORRUPTION_H
#define SWARE_CORRUPTION_H

#include "utils/rel.h"

/* What follows the block is a format for the detail, and its arguments. */
#define sware_report_corruption(index, block, ...) \
	ereport(ERROR, \
			(errcode(ERRCODE_INDEX_CORRUPTED), \
			 errmsg("index \"%s\" contains corrupted page at block %u", \
					RelationGetRelationName(index), block), \
			 errdetail_internal(__VA_ARGS__), \
			 errhint("Please REINDEX it.")))

#endif							/* SWARE_CORRUPTION_H */
