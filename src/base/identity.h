/*-------------------------------------------------------------------------
 *
 * identity.h
 *	  Becoming the owner of a relation for some time, as VACUUM and REINDEX do:
 *	  functions that the owner has given to an index are called with the owner's
 *	  rights only, within a security-restricted operation, and from PostgreSQL
 *	  17 on with a search_path that is safe.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_IDENTITY_H
#define SWARE_IDENTITY_H

#include "utils/rel.h"

/* Who the session was before. */
typedef struct SwareIdentity
{
	Oid			user;
	int			securityContext;
	int			gucLevel;
} SwareIdentity;

/* An error makes the session what it was before, too. */
extern void sware_become_owner(Relation relation, SwareIdentity *before);
extern void sware_become_again(const SwareIdentity *before);

#endif							/* SWARE_IDENTITY_H */
