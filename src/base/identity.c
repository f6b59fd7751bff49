/*-------------------------------------------------------------------------
 *
 * identity.c
 *	  Becoming the owner of a relation for some time.  See identity.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/guc.h"

#include "base/compat.h"
#include "base/identity.h"

void
sware_become_owner(Relation relation, SwareIdentity *before)
{
	GetUserIdAndSecContext(&before->user, &before->securityContext);
	SetUserIdAndSecContext(relation->rd_rel->relowner,
						   before->securityContext |
						   SECURITY_RESTRICTED_OPERATION);
	before->gucLevel = NewGUCNestLevel();
	sware_restrict_search_path();
}

void
sware_become_again(const SwareIdentity *before)
{
	AtEOXact_GUC(false, before->gucLevel);
	SetUserIdAndSecContext(before->user, before->securityContext);
}
