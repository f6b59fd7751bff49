/*-------------------------------------------------------------------------
 *
 * keptoption.c
 *	  The index of a key keeps the option that asks for sware.
 *
 * The definition of a constraint names no access method.  pg_dump, pg_upgrade
 * and ALTER TABLE make the index again from the definition and the options, so
 * it is the option that makes it a sware index again.  pg_upgrade would even
 * take over the file for a btree.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "constraints/constraints.h"
#include "base/compat.h"

static object_access_hook_type previous_object_access;

/* Raise an error if the index of a key has not the option. */
static void
require_option(const SwareKeyIndex *index, const char *constraint)
{
	if (index->asksForSware)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("index \"%s\" of constraint \"%s\" needs the option \"%s\"",
					NameStr(index->name), constraint, SWARE_KEY_OPTION),
			 errdetail("Without it, a dump or pg_upgrade would make a btree index of it."),
			 errhint("To have a btree index instead, drop the constraint, and add it again.")));
}

/* An index has been altered.  It must have the option if it has to. */
static void
index_altered(Oid oid)
{
	SwareKeyIndex index;
	Oid			constraint;

	sware_read_key_index(oid, &index);
	if (!index.isSware)
		return;
	constraint = sware_key_of_index(oid);
	if (OidIsValid(constraint))
		require_option(&index, get_constraint_name(constraint));
}

/* Warn of a key that PostgreSQL 17 cannot use on a subscriber. */
static void
warn_of_subscriber(const char *constraint)
{
	ereport(WARNING,
			(errmsg("as a logical subscriber, PostgreSQL 17 cannot apply updates and deletes by constraint \"%s\", whose index is of sware",
					constraint),
			 errhint("If this table is to be subscribed to, its replica identity must be a btree index.")));
}

/* A constraint has been made.  Its index must have the option if it has to. */
static void
constraint_created(Oid oid)
{
	Relation	catalog = table_open(ConstraintRelationId, AccessShareLock);
	SwareKeyIndex index = {0};
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_constraint_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(oid));
	scan = systable_beginscan(catalog, ConstraintOidIndexId, true,
							  SnapshotSelf, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);

		if (form->contype == CONSTRAINT_PRIMARY ||
			form->contype == CONSTRAINT_UNIQUE)
			sware_read_key_index(form->conindid, &index);
		if (index.isSware)
		{
			require_option(&index, NameStr(form->conname));
			if (SWARE_SUBSCRIBERS_NEED_BTREE && !IsBinaryUpgrade)
				warn_of_subscriber(NameStr(form->conname));
		}
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
}

/* The server reports what it does with an object of the database. */
static void
object_access(ObjectAccessType access, Oid class, Oid object, int part,
			  void *argument)
{
	if (previous_object_access)
		previous_object_access(access, class, object, part, argument);
	if (access == OAT_POST_ALTER && class == RelationRelationId && part == 0)
		index_altered(object);
	else if (access == OAT_POST_CREATE && class == ConstraintRelationId)
		constraint_created(object);
}

/* Raise an error if an index is that of a key, and has lost the option. */
void
sware_check_key_option(Relation index)
{
	SwareKeyIndex description;
	Oid			constraint = sware_key_of_index(RelationGetRelid(index));

	if (!OidIsValid(constraint))
		return;
	sware_read_key_index(RelationGetRelid(index), &description);
	if (!description.asksForSware)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" of constraint \"%s\" lacks the option \"%s\"",
						RelationGetRelationName(index),
						get_constraint_name(constraint), SWARE_KEY_OPTION),
				 errhint("ALTER INDEX %s SET (%s);",
						 quote_identifier(RelationGetRelationName(index)),
						 SWARE_KEY_OPTION)));
}

/* Install the hook.  Called once, when the library is loaded. */
void
sware_install_object_hook(void)
{
	previous_object_access = object_access_hook;
	object_access_hook = object_access;
}
