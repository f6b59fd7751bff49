/*-------------------------------------------------------------------------
 *
 * keyindex.h
 *	  The option that asks for sware: in statements, and in the catalogs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_KEYINDEX_H
#define SWARE_KEYINDEX_H

#include "nodes/pg_list.h"

#define SWARE_ACCESS_METHOD		"sware"
#define SWARE_KEY_OPTION		"sware"

/* what pg_class says of a relation that may be an index of a key */
typedef struct SwareKeyIndex
{
	bool		isSware;		/* an index, or a partitioned one, of sware */
	bool		asksForSware;	/* by its options */
	NameData	name;
} SwareKeyIndex;

extern bool sware_is_installed(void);
extern void sware_read_key_index(Oid relation, SwareKeyIndex *result);
extern Oid	sware_key_of_index(Oid index);
extern bool sware_list_names_option(const List *options);
extern bool sware_list_asks_for_sware(const List *options);

#endif							/* SWARE_KEYINDEX_H */
