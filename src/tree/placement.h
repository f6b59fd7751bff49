/*-------------------------------------------------------------------------
 *
 * placement.h
 *	  Where on a leaf does an entry go?
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_PLACEMENT_H
#define SWARE_PLACEMENT_H

#include "access/itup.h"
#include "storage/bufmgr.h"

#include "keys/searchkey.h"

/* What must be done to a leaf to store an entry. */
typedef enum SwarePlacementKind
{
	SWARE_PLACEMENT_NONE,		/* the entry is there already */
	SWARE_PLACEMENT_NO_ROOM,
	SWARE_PLACEMENT_ADD,		/* add it at an offset */
	SWARE_PLACEMENT_POSTING		/* put it into a posting list, and store the
								 * list's largest TID elsewhere */
} SwarePlacementKind;

typedef struct SwarePlacement
{
	SwarePlacementKind kind;
	OffsetNumber offset;		/* where to add, or where the posting list is */
} SwarePlacement;

/*
 * Where does an entry go, whose place is `key`, on a leaf to which it belongs?
 * The caller has locked the leaf, or owns a copy.  Calls comparators.
 */
extern SwarePlacement sware_place_entry(const SwareSearchKey *key, Page page,
										IndexTuple entry);

/*
 * Add an entry, whose place is `key`, to an exclusively locked leaf to which it
 * belongs, with one record, if that changes nothing else there.  Returns what
 * its placement was: with SWARE_PLACEMENT_ADD and SWARE_PLACEMENT_NONE the leaf
 * has the entry now.  Calls comparators.
 */
extern SwarePlacementKind sware_add_entry(const SwareSearchKey *key,
										  Buffer buffer, IndexTuple entry);

#endif							/* SWARE_PLACEMENT_H */
