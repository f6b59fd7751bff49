/*-------------------------------------------------------------------------
 *
 * columnchange.c
 *	  Changes of columns and partitions that keys of sware do not go along with.
 *
 * When the type of a column changes, the server makes the keys of the column
 * again from their definition, where no hook sees them.  It would take the
 * options for btree's, and say that it does not know one.  So this is refused
 * first, with the statement that works.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "parser/parse_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "constraints/columnchange.h"
#include "constraints/keyindex.h"
#include "base/compat.h"

/* The name of a table, with its schema, quoted. */
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

/* Raise the error for one key. */
SWARE_NORETURN static void
refuse(const AlterTableCmd *part, Oid altered, Oid table, Oid constraint)
{
	const char *name = quote_identifier(get_constraint_name(constraint));
	char	   *change = psprintf("ALTER %s %s", quote_identifier(part->name),
								  describe_change(part));

	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot change column \"%s\" while constraint \"%s\" of table \"%s\" has a sware index",
					part->name, get_constraint_name(constraint),
					get_rel_name(table)),
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

/* Does a statement drop a constraint of its table? */
static bool
drops(const AlterTableStmt *alter, const char *constraint)
{
	ListCell   *cell;

	foreach(cell, alter->cmds)
	{
		AlterTableCmd *part = lfirst_node(AlterTableCmd, cell);

		if (part->subtype == AT_DropConstraint &&
			strcmp(part->name, constraint) == 0)
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
has_column(Oid index, AttrNumber number)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	Form_pg_index form;
	bool		result = false;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_index) GETSTRUCT(tuple);
	for (int i = 0; i < form->indnatts; i++)
		result |= form->indkey.values[i] == number;
	ReleaseSysCache(tuple);
	return result;
}

/*
 * Refuse a change of a column of `altered` if a table, itself or one that
 * inherits from it, has a key with that column.  The table is locked.
 */
static void
refuse_change(const AlterTableStmt *alter, const AlterTableCmd *part,
			  Oid altered, Oid table)
{
	AttrNumber	number = get_attnum(table, part->name);
	Relation	relation = relation_open(table, NoLock);
	List	   *indexes = RelationGetIndexList(relation);
	ListCell   *cell;

	relation_close(relation, NoLock);
	foreach(cell, indexes)
	{
		Oid			index = lfirst_oid(cell);
		SwareKeyIndex description;
		Oid			constraint;

		sware_read_key_index(index, &description);
		if (!description.isSware || !has_column(index, number))
			continue;
		constraint = sware_key_of_index(index);
		if (OidIsValid(constraint) && !is_inherited(constraint) &&
			!(altered == table && drops(alter, get_constraint_name(constraint))))
			refuse(part, altered, table, constraint);
	}
	list_free(indexes);
}

/*
 * Refuse changes of columns that keys of sware have.  The caller has the lock
 * on the table that the statement wants; those that inherit from it are locked
 * here, as the server does later.
 */
void
sware_refuse_column_changes(const AlterTableStmt *alter, Oid table,
							LOCKMODE lockmode)
{
	ListCell   *cell;

	foreach(cell, alter->cmds)
	{
		AlterTableCmd *part = lfirst_node(AlterTableCmd, cell);
		List	   *tables;
		ListCell   *other;

		if (!sware_rebuilds_keys(part))
			continue;
		tables = alter->relation->inh ?
			find_all_inheritors(table, lockmode, NULL) : list_make1_oid(table);
		foreach(other, tables)
			refuse_change(alter, part, table, lfirst_oid(other));
		list_free(tables);
	}
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
		StringInfoData columns;
		TableKey   *key;
		Datum		numbers;
		Datum	   *elements;
		int			count;
		bool		isnull;

		if (form->contype != CONSTRAINT_PRIMARY &&
			form->contype != CONSTRAINT_UNIQUE)
			continue;
		numbers = heap_getattr(tuple, Anum_pg_constraint_conkey,
							   RelationGetDescr(catalog), &isnull);
		if (isnull)
			continue;
		deconstruct_array(DatumGetArrayTypeP(numbers), INT2OID, sizeof(int16),
						  true, TYPALIGN_SHORT, &elements, NULL, &count);
		initStringInfo(&columns);
		for (int i = 0; i < count; i++)
		{
			char	   *column = get_attname(table, DatumGetInt16(elements[i]),
											 true);

			appendStringInfo(&columns, "%s%s", i > 0 ? ", " : "",
							 column ? quote_identifier(column) : "");
		}
		sware_read_key_index(form->conindid, &index);
		key = palloc(sizeof(TableKey));
		key->name = pstrdup(NameStr(form->conname));
		key->columns = columns.data;
		key->isSware = index.isSware;
		keys = lappend(keys, key);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return keys;
}

/* Say so if two keys have the same columns, but indexes of different kinds. */
static void
note_different_kinds(const TableKey *of_table, const TableKey *of_partition,
					 const char *partition)
{
	if (of_table->isSware == of_partition->isSware ||
		strcmp(of_table->columns, of_partition->columns) != 0)
		return;
	ereport(NOTICE,
			(errmsg("partition \"%s\" gets a second unique index on (%s)",
					partition, of_table->columns),
			 errdetail("The index of its constraint \"%s\" is of %s, that of the partitioned table's \"%s\" of %s.",
					   of_partition->name,
					   of_partition->isSware ? SWARE_ACCESS_METHOD : "btree",
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
		ListCell   *first;
		ListCell   *second;

		if (part->subtype != AT_AttachPartition)
			continue;
		partition = RangeVarGetRelid(castNode(PartitionCmd, part->def)->name,
									 NoLock, true);
		if (!OidIsValid(partition))
			continue;
		keys = keys_of_table(partition);
		foreach(first, keys_of_table(table))
		{
			foreach(second, keys)
				note_different_kinds(lfirst(first), lfirst(second),
									 get_rel_name(partition));
		}
	}
}
