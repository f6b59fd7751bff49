/*-------------------------------------------------------------------------
 *
 * columnchange.c
 *	  Changes of columns and partitions that keys of sware do not go along with.
 *
 * When the type of a column changes, the server makes the keys of the column
 * again from their definition, where no hook sees them.  It would take the
 * options for btree's, and say that it does not know one.  So the statement is
 * made to drop such a key, and to add it again.  Where that would lose
 * something that the server keeps, it is refused, with the statement that does
 * it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/comment.h"
#include "parser/parse_type.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "constraints/constraints.h"
#include "base/compat.h"

static char *
qualified_name(Oid table)
{
	Oid			schema = get_rel_namespace(table);

	return quote_qualified_identifier(get_namespace_name_or_temp(schema),
									  get_rel_name(table));
}

/* What a part of ALTER TABLE does to a column, as text for a hint. */
static char *
describe_change(const AlterTableCmd *part)
{
	ColumnDef  *column;
	Oid			type = InvalidOid;
	int32		modifier = -1;
	Type		tuple;

	if (part->subtype != AT_AlterColumnType)
		return "SET EXPRESSION AS (...)";
	column = castNode(ColumnDef, part->def);
	tuple = LookupTypeName(NULL, column->typeName, &modifier, true);
	if (tuple)
	{
		type = typeTypeId(tuple);
		ReleaseSysCache(tuple);
	}
	return psprintf("TYPE %s%s",
					OidIsValid(type) ? format_type_with_typemod(type, modifier) :
					TypeNameToString(column->typeName),
					column->raw_default ? " USING ..." : "");
}

/* The clause that adds a constraint again, with its options. */
static char *
adding_clause(Oid table, Oid constraint)
{
	char	   *command = pg_get_constraintdef_command(constraint);

	return command + strlen("ALTER TABLE ") + strlen(qualified_name(table)) + 1;
}

/* `loss` says why the key is not made again in the same statement. */
SWARE_NORETURN static void
refuse(const AlterTableCmd *part, Oid altered, Oid table, Oid constraint,
	   const char *loss)
{
	const char *name = quote_identifier(get_constraint_name(constraint));
	char	   *change = psprintf("ALTER %s %s", quote_identifier(part->name),
								  describe_change(part));

	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot change column \"%s\" while constraint \"%s\" of table \"%s\" has a sware index",
					part->name, get_constraint_name(constraint),
					get_rel_name(table)),
			 errdetail("%s", loss),
			 altered == table ?
			 errhint("Drop the constraint, and add it again, in the same statement: "
					 "ALTER TABLE %s DROP CONSTRAINT %s, %s, %s;",
					 qualified_name(table), name, change,
					 adding_clause(table, constraint)) :
			 errhint("Drop the constraint before, and add it again afterwards: "
					 "ALTER TABLE %s DROP CONSTRAINT %s; ALTER TABLE %s %s; ALTER TABLE %s %s;",
					 qualified_name(table), name, qualified_name(altered),
					 change, qualified_name(table),
					 adding_clause(table, constraint))));
}

/* Has a statement such a part, for this name, or if that is NULL, any name? */
bool
sware_has_part(const AlterTableStmt *alter, AlterTableType kind,
			   const char *name)
{
	ListCell   *cell;

	foreach(cell, alter->cmds)
	{
		AlterTableCmd *part = lfirst_node(AlterTableCmd, cell);

		if (part->subtype == kind &&
			(name == NULL || strcmp(part->name, name) == 0))
			return true;
	}
	return false;
}

/* Does a constraint come from a partitioned table's? */
static bool
is_inherited(Oid constraint)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID,
										ObjectIdGetDatum(constraint));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = OidIsValid(((Form_pg_constraint) GETSTRUCT(tuple))->conparentid);
	ReleaseSysCache(tuple);
	return result;
}

/* Has an index a column, perhaps only included? */
static bool
has_column(const FormData_pg_index *index, AttrNumber number)
{
	for (int i = 0; i < index->indnatts; i++)
	{
		if (index->indkey.values[i] == number)
			return true;
	}
	return false;
}

/*
 * What would be lost, or in the way, if the statement dropped a key of the
 * table and added it again?  NULL if nothing.
 */
static const char *
loss_of_key(const AlterTableStmt *alter, Oid table, Oid constraint,
			const FormData_pg_index *index)
{
	if (get_rel_relkind(table) == RELKIND_PARTITIONED_TABLE ||
		has_subclass(table))
		return "Other tables inherit from the table.";
	if (sware_has_part(alter, AT_DropColumn, NULL))
		return "The statement drops columns, too.";
	if (get_index_ref_constraints(index->indexrelid) != NIL)
		return "Foreign keys refer to the constraint, and must be dropped before.";
	if (index->indisclustered)
		return "The table is clustered by the index.";
	if (index->indisreplident)
		return "The index is the table's replica identity.";
	if (GetComment(constraint, ConstraintRelationId, 0) ||
		GetComment(index->indexrelid, RelationRelationId, 0))
		return "The constraint, or its index, has a comment.";
	return NULL;
}

/* The parts of a statement that drop a key, and add it again. */
static List *
parts_for_key(Oid constraint)
{
	AlterTableCmd *drop = makeNode(AlterTableCmd);
	RawStmt    *raw =
		linitial_node(RawStmt,
					  raw_parser(pg_get_constraintdef_command(constraint),
								 RAW_PARSE_DEFAULT));
	AlterTableCmd *add =
		linitial_node(AlterTableCmd,
					  castNode(AlterTableStmt, raw->stmt)->cmds);
	Constraint *definition = castNode(Constraint, add->def);

	drop->subtype = AT_DropConstraint;
	drop->name = get_constraint_name(constraint);
	drop->behavior = DROP_RESTRICT;
	definition->access_method = pstrdup(SWARE_ACCESS_METHOD);
	/* not a place in the user's query */
	definition->location = -1;
	return list_make2(drop, add);
}

/*
 * Do what a change of a column of `altered` needs for one index of a table,
 * itself or one that inherits from it.
 */
static void
prepare_index(AlterTableStmt *alter, const AlterTableCmd *part, Oid altered,
			  const FormData_pg_index *index)
{
	Oid			table = index->indrelid;
	Oid			constraint;
	SwareKeyIndex description;
	const char *loss = "The constraint is of a table that inherits the column.";

	sware_read_key_index(index->indexrelid, &description);
	if (!description.isSware ||
		!has_column(index, get_attnum(table, part->name)))
		return;
	constraint = sware_key_of_index(index->indexrelid);
	if (!OidIsValid(constraint) || is_inherited(constraint))
		return;
	if (altered == table)
	{
		if (sware_has_part(alter, AT_DropConstraint,
						   get_constraint_name(constraint)))
			return;
		loss = loss_of_key(alter, table, constraint, index);
	}
	if (loss)
		refuse(part, altered, table, constraint, loss);
	alter->cmds = list_concat(alter->cmds, parts_for_key(constraint));
}

/* Do it for all indexes of a table, which is locked. */
static void
prepare_table(AlterTableStmt *alter, const AlterTableCmd *part, Oid altered,
			  Oid table)
{
	Relation	relation = relation_open(table, NoLock);
	List	   *indexes = RelationGetIndexList(relation);
	ListCell   *cell;

	relation_close(relation, NoLock);
	foreach(cell, indexes)
	{
		HeapTuple	tuple = SearchSysCache1(INDEXRELID,
											ObjectIdGetDatum(lfirst_oid(cell)));

		if (!HeapTupleIsValid(tuple))
			continue;
		prepare_index(alter, part, altered,
					  (Form_pg_index) GETSTRUCT(tuple));
		ReleaseSysCache(tuple);
	}
	list_free(indexes);
}

/*
 * Prepare an ALTER TABLE for changes of columns that keys of sware have: it is
 * changed, so it must be a copy, or refused.  The caller has the lock on the
 * table that the statement wants; those that inherit from it are locked here,
 * as the server does later.
 */
void
sware_prepare_column_changes(AlterTableStmt *alter, Oid table,
							 LOCKMODE lockmode)
{
	List	   *parts = list_copy(alter->cmds);
	ListCell   *cell;

	foreach(cell, parts)
	{
		AlterTableCmd *part = lfirst_node(AlterTableCmd, cell);
		List	   *tables;
		ListCell   *other;

		if (!sware_rebuilds_keys(part))
			continue;
		tables = alter->relation->inh ?
			find_all_inheritors(table, lockmode, NULL) : list_make1_oid(table);
		foreach(other, tables)
			prepare_table(alter, part, table, lfirst_oid(other));
		list_free(tables);
	}
	list_free(parts);
}

/* a primary key or unique constraint of a table */
typedef struct TableKey
{
	char	   *name;
	char	   *columns;		/* their names, quoted, in the key's order */
	bool		isSware;
} TableKey;

/* The keys of a table, which need not be locked. */
static List *
keys_of_table(Oid table)
{
	Relation	catalog = table_open(ConstraintRelationId, AccessShareLock);
	List	   *keys = NIL;
	ScanKeyData scan_key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&scan_key, Anum_pg_constraint_conrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(table));
	scan = systable_beginscan(catalog, ConstraintRelidTypidNameIndexId, true,
							  NULL, 1, &scan_key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);
		SwareKeyIndex index;
		TableKey   *key;

		/* an index that is gone by now has no columns */
		if ((form->contype != CONSTRAINT_PRIMARY &&
			 form->contype != CONSTRAINT_UNIQUE) ||
			!SearchSysCacheExists1(INDEXRELID,
								   ObjectIdGetDatum(form->conindid)))
			continue;
		sware_read_key_index(form->conindid, &index);
		key = palloc(sizeof(TableKey));
		key->name = pstrdup(NameStr(form->conname));
		key->columns = pg_get_indexdef_columns(form->conindid, false);
		key->isSware = index.isSware;
		keys = lappend(keys, key);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return keys;
}

/*
 * Say so if a partition has a key with the same columns as one of the table,
 * but none of the same kind.
 */
static void
note_different_kinds(const TableKey *of_table, List *keys,
					 const char *partition)
{
	const TableKey *other = NULL;
	ListCell   *cell;

	foreach(cell, keys)
	{
		const TableKey *key = lfirst(cell);

		if (strcmp(of_table->columns, key->columns) != 0)
			continue;
		if (of_table->isSware == key->isSware)
			return;
		other = key;
	}
	if (other)
		ereport(NOTICE,
				(errmsg("partition \"%s\" gets a second unique index on (%s)",
						partition, of_table->columns),
				 errdetail("The index of its constraint \"%s\" is of %s, that of the partitioned table's \"%s\" of %s.",
						   other->name,
						   other->isSware ? SWARE_ACCESS_METHOD : "btree",
						   of_table->name,
						   of_table->isSware ? SWARE_ACCESS_METHOD : "btree")));
}

/*
 * Say so if a table that is to become a partition will have two unique indexes,
 * since those of the keys are of different kinds: the server makes one that
 * fits that of the partitioned table.
 */
void
sware_note_attached_keys(const AlterTableStmt *alter, Oid table)
{
	ListCell   *cell;

	foreach(cell, alter->cmds)
	{
		AlterTableCmd *part = lfirst_node(AlterTableCmd, cell);
		Oid			partition;
		List	   *keys;
		ListCell   *other;

		if (part->subtype != AT_AttachPartition)
			continue;
		partition = RangeVarGetRelid(castNode(PartitionCmd, part->def)->name,
									 NoLock, true);
		if (!OidIsValid(partition))
			continue;
		keys = keys_of_table(partition);
		foreach(other, keys_of_table(table))
			note_different_kinds(lfirst(other), keys, get_rel_name(partition));
	}
}
