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

#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "base/compat.h"

/* Who the session was before. */
typedef struct SwareIdentity
{
	Oid			user;
	int			securityContext;
	int			gucLevel;
} SwareIdentity;

/* An error makes the session what it was before, too. */
static inline void
sware_become_owner(Relation relation, SwareIdentity *before)
{
	GetUserIdAndSecContext(&before->user, &before->securityContext);
	SetUserIdAndSecContext(relation->rd_rel->relowner,
						   before->securityContext |
						   SECURITY_RESTRICTED_OPERATION);
	before->gucLevel = NewGUCNestLevel();
	sware_restrict_search_path();
}

static inline void
sware_become_again(const SwareIdentity *before)
{
	AtEOXact_GUC(false, before->gucLevel);
	SetUserIdAndSecContext(before->user, before->securityContext);
}

#endif							/* SWARE_IDENTITY_H */
