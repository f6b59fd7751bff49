/*-------------------------------------------------------------------------
 *
 * keyoption.c
 *	  The option that asks for sware, in the catalogs: the index of a key keeps
 *	  it.
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
#include "catalog/dependency.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "constraints/constraints.h"
#include "base/compat.h"
#include "base/options.h"

static object_access_hook_type previous_object_access;

/*
 * Returns a copy of an object's row in a catalog, with changes that the current
 * command has made; NULL if there is none.
 */
static HeapTuple
copy_row(Oid catalog, Oid catalog_index, AttrNumber oid_column, Oid object)
{
	Relation	relation = table_open(catalog, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, oid_column, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(object));
	scan = systable_beginscan(relation, catalog_index, true, SnapshotSelf, 1,
							  &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		tuple = heap_copytuple(tuple);
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	return tuple;
}

/*
 * Read what pg_class says of a relation.  Needs no lock on the relation; one
 * that is gone is no index.
 */
void
sware_read_key_index(Oid relation, SwareKeyIndex *result)
{
	HeapTuple	tuple = copy_row(RelationRelationId, ClassOidIndexId,
								 Anum_pg_class_oid, relation);
	Form_pg_class form;
	Datum		options;
	bool		isnull;

	memset(result, 0, sizeof(*result));
	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_class) GETSTRUCT(tuple);
	result->name = form->relname;
	result->isSware = (form->relkind == RELKIND_INDEX ||
					   form->relkind == RELKIND_PARTITIONED_INDEX) &&
		form->relam == get_index_am_oid(SWARE_ACCESS_METHOD, true);
	options = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions,
							  &isnull);
	result->asksForSware = result->isSware && !isnull &&
		sware_options_ask_for_sware(options);
	heap_freetuple(tuple);
}

/*
 * The primary key or unique constraint that an index belongs to; InvalidOid if
 * there is none, or if it is an exclusion constraint.
 */
Oid
sware_key_of_index(Oid index)
{
	Oid			constraint = get_index_constraint(index);
	HeapTuple	tuple;
	char		type;

	if (!OidIsValid(constraint))
		return InvalidOid;
	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	type = ((Form_pg_constraint) GETSTRUCT(tuple))->contype;
	ReleaseSysCache(tuple);
	return type == CONSTRAINT_PRIMARY || type == CONSTRAINT_UNIQUE ?
		constraint : InvalidOid;
}

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
			 errhint("Set the option. To have a btree index instead, drop the constraint, and add it again.")));
}

void
sware_check_key_option(Oid oid)
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
	HeapTuple	tuple = copy_row(ConstraintRelationId, ConstraintOidIndexId,
								 Anum_pg_constraint_oid, oid);
	Form_pg_constraint form;
	SwareKeyIndex index;

	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	if (form->contype != CONSTRAINT_PRIMARY &&
		form->contype != CONSTRAINT_UNIQUE)
		return;
	sware_read_key_index(form->conindid, &index);
	if (!index.isSware)
		return;
	require_option(&index, NameStr(form->conname));
	if (SWARE_SUBSCRIBERS_NEED_BTREE && !IsBinaryUpgrade)
		warn_of_subscriber(NameStr(form->conname));
}

static pg_noinline void
object_changed(ObjectAccessType access, Oid class, Oid object, int part)
{
	if (access == OAT_POST_ALTER && class == RelationRelationId && part == 0)
		sware_check_key_option(object);
	else if (access == OAT_POST_CREATE && class == ConstraintRelationId)
		constraint_created(object);
}

/*
 * The server reports what it does with an object of the database.  It does so
 * for each function that a statement calls, so this is short.
 */
static void
object_access(ObjectAccessType access, Oid class, Oid object, int part,
			  void *argument)
{
	if (unlikely(previous_object_access != NULL))
		previous_object_access(access, class, object, part, argument);
	if (unlikely(access == OAT_POST_ALTER || access == OAT_POST_CREATE))
		object_changed(access, class, object, part);
}

/* Install the hook.  Called once, when the library is loaded. */
void
sware_install_object_hook(void)
{
	previous_object_access = object_access_hook;
	object_access_hook = object_access;
}
