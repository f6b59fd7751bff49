/*-------------------------------------------------------------------------
 *
 * constraints.h
 *	  sware indexes for primary keys and unique constraints.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_CONSTRAINTS_H
#define SWARE_CONSTRAINTS_H

#include "nodes/parsenodes.h"
#include "storage/lockdefs.h"
#include "utils/rel.h"

#define SWARE_ACCESS_METHOD		"sware"
#define SWARE_KEY_OPTION		"sware"

/* what pg_class says of a relation that may be an index of a key */
typedef struct SwareKeyIndex
{
	bool		isSware;		/* an index, or a partitioned one, of sware */
	bool		asksForSware;	/* by its options */
	NameData	name;
} SwareKeyIndex;

/* a primary key or unique constraint of a statement */
typedef struct SwareKey
{
	Constraint *constraint;
	const char *column;			/* NULL: a constraint of the table */
} SwareKey;

/* keyindex.c: the option that asks for sware, in statements and catalogs */
extern bool sware_is_installed(void);
extern void sware_read_key_index(Oid relation, SwareKeyIndex *result);
extern Oid	sware_key_of_index(Oid index);
extern bool sware_list_names_option(const List *options);
extern bool sware_list_asks_for_sware(const List *options);

/* requests.c: keys in statements, and which of them get sware indexes */
extern List *sware_keys_of_statement(const Node *command);
extern bool sware_request_key(const SwareKey *key);
extern bool sware_wishes_count(void);
extern bool sware_wish_key(const SwareKey *key, const AlterTableStmt *alter,
						   Oid table);
extern bool sware_wish_index(const IndexStmt *index);
extern List *sware_add_option(List *options);

/* columnchange.c: changes of columns and partitions that keys do not survive */
extern void sware_prepare_column_changes(AlterTableStmt *alter, Oid table,
										 LOCKMODE lockmode);
extern void sware_note_attached_keys(const AlterTableStmt *alter, Oid table);

/* usingindex.c: ADD CONSTRAINT ... USING INDEX, with a sware index */
extern void sware_use_indexes(AlterTableStmt *alter, Oid table,
							  const char *query_string);

/* keptoption.c: the index of a key keeps the option that asks for sware */
extern void sware_check_key_option(Relation index);
extern void sware_install_object_hook(void);

/* utility.c: the hook that gives keys of statements sware indexes */
extern void sware_install_utility_hook(void);

#endif							/* SWARE_CONSTRAINTS_H */
