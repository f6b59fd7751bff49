/*-------------------------------------------------------------------------
 *
 * changes.c
 *	  Which indexes this session is changing.  See changes.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"

#include "locks/changes.h"

/* the largest number of changes, one within the other */
#define MAX_CHANGES	16

typedef struct Change
{
	Oid			index;
	SwareChange kind;
	SubTransactionId subtransaction;	/* in which the change began */
} Change;

static Change changes[MAX_CHANGES]; /* the innermost one comes last */
int			sware_change_count = 0;

/*
 * Begin a change, within those that have begun.  Raises an error if there are
 * too many.
 */
void
sware_begin_change(Relation index, SwareChange kind)
{
	if (sware_change_count == MAX_CHANGES)
		ereport(ERROR,
				(errcode(ERRCODE_STATEMENT_TOO_COMPLEX),
				 errmsg("cannot change index \"%s\"", RelationGetRelationName(index)),
				 errdetail("Comparison functions of indexes that change other indexes are nested more than %d levels deep.",
						   MAX_CHANGES)));
	changes[sware_change_count++] = (Change)
	{
		.index = RelationGetRelid(index),
			.kind = kind,
			.subtransaction = GetCurrentSubTransactionId(),
	};
}

/* End the innermost change.  Raises no errors. */
void
sware_end_change(void)
{
	Assert(sware_change_count > 0);
	sware_change_count--;
}

bool
sware_is_changing(Oid index, SwareChange kind)
{
	for (int i = 0; i < sware_change_count; i++)
	{
		if (changes[i].index == index &&
			(changes[i].kind == kind || kind == SWARE_CHANGES))
			return true;
	}
	return false;
}

void
sware_refuse_nested_insert(Relation index)
{
	if (sware_is_changing(RelationGetRelid(index), SWARE_CHANGES))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot insert into index \"%s\" while it is being changed by the same session",
						RelationGetRelationName(index)),
				 errdetail("A comparison or hash function of the index tries to insert into the index's own table.")));
}

/*
 * Forget the changes that were begun in a subtransaction, or in one within it:
 * it has aborted or ended.  With TopSubTransactionId, forget all.  Raises no
 * errors.
 */
void
sware_forget_changes(SubTransactionId subtransaction)
{
	while (unlikely(sware_change_count > 0) &&
		   changes[sware_change_count - 1].subtransaction >= subtransaction)
		sware_change_count--;
}
