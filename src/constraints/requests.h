/*-------------------------------------------------------------------------
 *
 * requests.h
 *	  Primary keys and unique constraints in statements, and which of them get
 *	  sware indexes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_REQUESTS_H
#define SWARE_REQUESTS_H

#include "nodes/parsenodes.h"

/* a primary key or unique constraint of a statement */
typedef struct SwareKey
{
	Constraint *constraint;
	const char *column;			/* NULL: a constraint of the table */
} SwareKey;

extern List *sware_keys_of_statement(const Node *command);
extern bool sware_request_key(const SwareKey *key);
extern bool sware_wishes_count(void);
extern bool sware_wish_key(const SwareKey *key, const AlterTableStmt *alter,
						   Oid table);
extern bool sware_wish_index(const IndexStmt *index);
extern List *sware_add_option(List *options);

#endif							/* SWARE_REQUESTS_H */
