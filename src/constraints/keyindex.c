/*-------------------------------------------------------------------------
 *
 * keyindex.c
 *	  The option that asks for sware: in statements, and in the catalogs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "commands/defrem.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "constraints/constraints.h"
#include "base/options.h"

/* Has this database the extension? */
bool
sware_is_installed(void)
{
	return OidIsValid(get_index_am_oid(SWARE_ACCESS_METHOD, true));
}

/*
 * Read what pg_class says of a relation, with changes that the current command
 * has made.  Needs no lock on the relation; one that is gone is no index.
 */
void
sware_read_key_index(Oid relation, SwareKeyIndex *result)
{
	Relation	catalog = table_open(RelationRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	memset(result, 0, sizeof(*result));
	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relation));
	scan = systable_beginscan(catalog, ClassOidIndexId, true, SnapshotSelf, 1,
							  &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		result->name = form->relname;
		result->isSware = (form->relkind == RELKIND_INDEX ||
						   form->relkind == RELKIND_PARTITIONED_INDEX) &&
			form->relam == get_index_am_oid(SWARE_ACCESS_METHOD, true);
		if (result->isSware)
		{
			bool		isnull;
			Datum		options = heap_getattr(tuple, Anum_pg_class_reloptions,
											   RelationGetDescr(catalog),
											   &isnull);

			result->asksForSware = !isnull &&
				sware_options_ask_for_sware(options);
		}
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
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

/* The option among those of a WITH clause; NULL if it is not there. */
static DefElem *
find_option(const List *options)
{
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, SWARE_KEY_OPTION) == 0)
			return option;
	}
	return NULL;
}

/* Do the options of a WITH clause name the option, with whatever value? */
bool
sware_list_names_option(const List *options)
{
	return find_option(options) != NULL;
}

/*
 * Do the options of a WITH clause ask for sware?  They do, too, if the value
 * is no boolean: then sware refuses it.
 */
bool
sware_list_asks_for_sware(const List *options)
{
	DefElem    *option = find_option(options);
	bool		value;

	if (option == NULL)
		return false;
	if (option->arg == NULL)
		return true;
	return !parse_bool(defGetString(option), &value) || value;
}
