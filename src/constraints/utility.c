/*-------------------------------------------------------------------------
 *
 * utility.c
 *	  Giving primary keys and unique constraints of statements sware indexes,
 *	  and keeping the option that asks for these.
 *
 * A key whose options say "sware" gets a sware index, or there is an error.
 * With the setting sware.use_for_keys, others get one, too, where nothing
 * speaks against it; for the rest the statement stays as it is.
 *
 * The hook for utility commands (staging/hooks.c) asks here before the server
 * sees a statement, and hands on what it gets: of each CREATE TABLE and ALTER
 * TABLE a copy, which may be changed.  The server makes the table of a CREATE
 * TABLE first, and then its indexes, each by a statement that comes back here.
 * Nothing here calls functions of users.
 *
 * The definition of a constraint names no access method.  pg_dump, pg_upgrade
 * and ALTER TABLE make the index again from the definition and the options, so
 * it is the option that makes it a sware index again, and the index of a key
 * keeps it.  Without it, pg_upgrade would even take over the file for a btree.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_type.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "base/options.h"
#include "constraints/constraints.h"

static object_access_hook_type previous_object_access;

static bool
is_installed(void)
{
	return OidIsValid(get_index_am_oid(SWARE_ACCESS_METHOD, true));
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

/*
 * Add a node of a statement to a list, if it is a key.  One of a column, which
 * is NULL else, gets it as its key column, as the server does it later.
 */
static List *
add_key(List *keys, Node *node, const ColumnDef *column)
{
	Constraint *constraint = (Constraint *) node;

	if (!IsA(node, Constraint) ||
		(constraint->contype != CONSTR_PRIMARY &&
		 constraint->contype != CONSTR_UNIQUE))
		return keys;
	if (column && constraint->keys == NIL)
		constraint->keys = list_make1(makeString(column->colname));
	return lappend(keys, constraint);
}

static List *
add_keys_of_column(List *keys, const ColumnDef *column)
{
	ListCell   *cell;

	foreach(cell, column->constraints)
		keys = add_key(keys, lfirst(cell), column);
	return keys;
}

/*
 * The keys that CREATE TABLE or ALTER TABLE adds, as a list of Constraint.  The
 * statement is a copy.
 */
static List *
keys_of_statement(const Node *command)
{
	List	   *keys = NIL;
	ListCell   *cell;

	if (IsA(command, CreateStmt))
	{
		foreach(cell, ((const CreateStmt *) command)->tableElts)
		{
			Node	   *element = lfirst(cell);

			if (IsA(element, ColumnDef))
				keys = add_keys_of_column(keys, (ColumnDef *) element);
			else
				keys = add_key(keys, element, NULL);
		}
		return keys;
	}
	foreach(cell, ((const AlterTableStmt *) command)->cmds)
	{
		AlterTableCmd *part = lfirst_node(AlterTableCmd, cell);

		if (part->subtype == AT_AddColumn)
			keys = add_keys_of_column(keys, castNode(ColumnDef, part->def));
		else if (part->subtype == AT_AddConstraint)
			keys = add_key(keys, part->def, NULL);
	}
	return keys;
}

/*
 * Does a key ask for sware by its options?  It does, too, if the value is no
 * boolean: then sware refuses it.  The server knows how to make an index of
 * WITHOUT OVERLAPS by GiST only.
 */
static bool
is_requested(const Constraint *constraint)
{
	DefElem    *option = find_option(constraint->options);
	bool		value;

	return option && constraint->access_method == NULL &&
		!sware_is_constraint_without_overlaps(constraint) &&
		(option->arg == NULL ||
		 !parse_bool(defGetString(option), &value) || value);
}

/* Does the setting sware.use_for_keys count now? */
static bool
wishes_count(void)
{
	return sware_use_for_keys && !IsBinaryUpgrade && !creating_extension &&
		is_installed();
}

/* Has sware an operator class by default for a type, if there is one? */
static bool
has_operator_class(Oid type)
{
	return OidIsValid(type) &&
		OidIsValid(GetDefaultOpClass(type,
									 get_index_am_oid(SWARE_ACCESS_METHOD,
													  false)));
}

/*
 * Can a column of a key be of sware when an ALTER TABLE has ended?  The last
 * part of the statement that gives it a type tells.  A name that no type has is
 * that of an integer with a sequence (serial), or the server refuses it.
 */
static bool
column_suits(const char *column, const AlterTableStmt *alter, Oid table)
{
	bool		suits =
		has_operator_class(get_atttype(table, get_attnum(table, column)));
	ListCell   *cell;

	foreach(cell, alter->cmds)
	{
		AlterTableCmd *part = lfirst_node(AlterTableCmd, cell);
		TypeName   *name;
		Oid			type;

		if (part->subtype == AT_AddColumn &&
			strcmp(castNode(ColumnDef, part->def)->colname, column) == 0)
			name = ((ColumnDef *) part->def)->typeName;
		else if (part->subtype == AT_AlterColumnType &&
				 strcmp(part->name, column) == 0)
			name = castNode(ColumnDef, part->def)->typeName;
		else
			continue;
		type = LookupTypeNameOid(NULL, name, true);
		suits = !OidIsValid(type) || has_operator_class(type);
	}
	return suits;
}

/*
 * Can a key that an ALTER TABLE adds, and that does not ask for sware, get a
 * sware index?  The caller has the lock on the table that the statement wants.
 */
static bool
may_wish_key(const Constraint *constraint, const AlterTableStmt *alter,
			 Oid table)
{
	ListCell   *cell;

	if (constraint->access_method || constraint->indexname ||
		sware_is_constraint_without_overlaps(constraint) ||
		find_option(constraint->options))
		return false;
	foreach(cell, constraint->keys)
	{
		if (!column_suits(strVal(lfirst(cell)), alter, table))
			return false;
	}
	return true;
}

/*
 * Can the index of a key of CREATE TABLE, which the server is about to make,
 * be of sware, though the key does not ask for it?  The table exists, and
 * nobody else sees it.  Not the copy of another table's index (LIKE), which
 * comes here transformed: a table that is to become a partition is made so,
 * and its key must be of the kind of the partitioned table's.
 */
static bool
may_wish_index(const IndexStmt *index)
{
	Oid			table;
	ListCell   *cell;

	if (!index->isconstraint || !index->unique || index->excludeOpNames ||
		index->transformed || sware_is_index_without_overlaps(index) ||
		OidIsValid(index->indexOid) ||
		strcmp(index->accessMethod, DEFAULT_INDEX_TYPE) != 0 ||
		find_option(index->options))
		return false;
	table = RangeVarGetRelid(index->relation, NoLock, true);
	if (!OidIsValid(table))
		return false;
	foreach(cell, index->indexParams)
	{
		IndexElem  *element = lfirst_node(IndexElem, cell);

		if (element->name == NULL || element->opclass ||
			!has_operator_class(get_atttype(table,
											get_attnum(table, element->name))))
			return false;
	}
	return true;
}

static List *
add_option(List *options)
{
	return lappend(options,
				   makeDefElem(pstrdup(SWARE_KEY_OPTION),
							   (Node *) makeString(pstrdup("true")), -1));
}

/*
 * Let keys of a statement, which is a copy, have sware if they ask for it, or
 * if that is wished for those that an ALTER TABLE adds to this table, which is
 * InvalidOid if it is not known yet.
 */
static void
grant_sware(const Node *command, Oid table)
{
	ListCell   *cell;

	foreach(cell, keys_of_statement(command))
	{
		Constraint *key = lfirst(cell);

		if (is_requested(key))
			key->access_method = pstrdup(SWARE_ACCESS_METHOD);
		else if (OidIsValid(table) && wishes_count() &&
				 may_wish_key(key, (const AlterTableStmt *) command, table))
		{
			key->access_method = pstrdup(SWARE_ACCESS_METHOD);
			key->options = add_option(key->options);
		}
	}
}

/*
 * Does what is to be done with an ALTER TABLE depend on its table?  The tables
 * of statements without such parts are not even locked here.
 */
static bool
depends_on_table(const AlterTableStmt *alter)
{
	ListCell   *cell;

	if (alter->objtype != OBJECT_TABLE || !is_installed())
		return false;
	foreach(cell, keys_of_statement((const Node *) alter))
	{
		if (lfirst_node(Constraint, cell)->indexname || wishes_count())
			return true;
	}
	foreach(cell, alter->cmds)
	{
		AlterTableCmd *part = lfirst_node(AlterTableCmd, cell);

		if (part->subtype == AT_AttachPartition || sware_rebuilds_keys(part))
			return true;
	}
	return false;
}

/*
 * Do what depends on the table in an ALTER TABLE, which is a copy.  The table
 * gets the lock that the server would take next, and its owner is checked; so
 * what is seen here stays so.
 */
static void
prepare_for_table(AlterTableStmt *alter, const char *query_string)
{
	LOCKMODE	lockmode = AlterTableGetLockLevel(alter->cmds);
	Oid			table = AlterTableLookupRelation(alter, lockmode);

	/* IF EXISTS: it does not */
	if (!OidIsValid(table))
		return;
	/* The name means this table to the server, whatever others create now. */
	alter->relation->schemaname =
		get_namespace_name_or_temp(get_rel_namespace(table));
	grant_sware((Node *) alter, table);
	sware_prepare_column_changes(alter, table, lockmode);
	sware_prepare_keys(alter, table, query_string);
}

/* Returns a statement, or a copy that may be changed, for the server. */
PlannedStmt *
sware_prepare_utility(PlannedStmt *statement, const char *query_string,
					  ProcessUtilityContext context)
{
	Node	   *command = statement->utilityStmt;

	if (IsA(command, CreateStmt) || IsA(command, AlterTableStmt))
	{
		/* the server, too, copies what may be cached before it changes it */
		statement = copyObject(statement);
		command = statement->utilityStmt;
		grant_sware(command, InvalidOid);

		/* where nothing can be written, the server refuses the statement */
		if (IsA(command, AlterTableStmt) &&
			!XactReadOnly && !IsInParallelMode() && !RecoveryInProgress() &&
			depends_on_table((AlterTableStmt *) command))
			prepare_for_table((AlterTableStmt *) command, query_string);
	}
	else if (IsA(command, IndexStmt) && context == PROCESS_UTILITY_SUBCOMMAND &&
			 wishes_count() && may_wish_index((IndexStmt *) command))
	{
		IndexStmt  *index;

		statement = copyObject(statement);
		index = (IndexStmt *) statement->utilityStmt;
		index->accessMethod = pstrdup(SWARE_ACCESS_METHOD);
		index->options = add_option(index->options);
	}
	return statement;
}

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
SwareKeyIndex
sware_read_key_index(Oid relation)
{
	SwareKeyIndex result = {0};
	HeapTuple	tuple = copy_row(RelationRelationId, ClassOidIndexId,
								 Anum_pg_class_oid, relation);
	Form_pg_class form;
	Datum		options;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		return result;
	form = (Form_pg_class) GETSTRUCT(tuple);
	result.name = form->relname;
	result.isSware = (form->relkind == RELKIND_INDEX ||
					  form->relkind == RELKIND_PARTITIONED_INDEX) &&
		form->relam == get_index_am_oid(SWARE_ACCESS_METHOD, true);
	options = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions,
							  &isnull);
	result.asksForSware = result.isSware && !isnull &&
		sware_options_ask_for_sware(options);
	heap_freetuple(tuple);
	return result;
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
	Form_pg_constraint form;

	if (!OidIsValid(constraint))
		return InvalidOid;
	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	if (form->contype != CONSTRAINT_PRIMARY &&
		form->contype != CONSTRAINT_UNIQUE)
		constraint = InvalidOid;
	ReleaseSysCache(tuple);
	return constraint;
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
	SwareKeyIndex index = sware_read_key_index(oid);
	Oid			constraint = InvalidOid;

	if (index.isSware)
		constraint = sware_key_of_index(oid);
	if (OidIsValid(constraint))
		require_option(&index, get_constraint_name(constraint));
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
	index = sware_read_key_index(form->conindid);
	if (!index.isSware)
		return;
	require_option(&index, NameStr(form->conname));
	if (SWARE_SUBSCRIBERS_NEED_BTREE && !IsBinaryUpgrade)
		ereport(WARNING,
				(errmsg("as a logical subscriber, PostgreSQL 17 cannot apply updates and deletes by constraint \"%s\", whose index is of sware",
						NameStr(form->conname)),
				 errhint("If this table is to be subscribed to, its replica identity must be a btree index.")));
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
