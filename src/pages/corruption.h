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

/*
 * Raise an error about a block, ERRCODE_INDEX_CORRUPTED.  The arguments behind
 * the block are the format of the detail, and what goes into it.
 */
#define sware_report_corruption(index, block, ...) \
	ereport(ERROR, \
			(errcode(ERRCODE_INDEX_CORRUPTED), \
			 errmsg("index \"%s\" contains corrupted page at block %u", \
					RelationGetRelationName(index), block), \
			 errdetail_internal(__VA_ARGS__), \
			 errhint("Please REINDEX it.")))

#endif							/* SWARE_CORRUPTION_H */
