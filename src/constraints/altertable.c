/*-------------------------------------------------------------------------
 *
 * altertable.c
 *	  What an ALTER TABLE needs that meets keys of sware: changes of columns and
 *	  partitions that these do not go along with, and USING INDEX with a sware
 *	  index.
 *
 * When the type of a column changes, the server makes the keys of the column
 * again from their definition, where no hook sees them.  It would take the
 * options for btree's, and say that it does not know one.  So the statement is
 * made to drop such a key, and to add it again.  Where that would lose
 * something that the server keeps, it is refused, with the statement that does
 * it.
 *
 * For ADD CONSTRAINT ... USING INDEX, the server refuses other indexes than
 * btree's where it turns the constraint of the statement into the command that
 * it executes.  So the statement gets that command here, after the same checks,
 * and with the same errors.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/comment.h"
#include "commands/defrem.h"
#include "nodes/makefuncs.h"
#include "parser/parse_node.h"
#include "parser/parse_type.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "constraints/constraints.h"

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
	Oid			type;
	int32		modifier;

	if (part->subtype != AT_AlterColumnType)
		return "SET EXPRESSION AS (...)";
	column = castNode(ColumnDef, part->def);
	typenameTypeIdAndMod(NULL, column->typeName, &type, &modifier);
	return psprintf("TYPE %s%s", format_type_with_typemod(type, modifier),
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
static bool
has_part(const AlterTableStmt *alter, AlterTableType kind, const char *name)
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
	if (has_part(alter, AT_DropColumn, NULL))
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
	const char *loss = "The constraint is of a table that inherits the column.";

	if (!sware_read_key_index(index->indexrelid).isSware ||
		!has_column(index, get_attnum(table, part->name)))
		return;
	constraint = sware_key_of_index(index->indexrelid);
	if (!OidIsValid(constraint))
		return;

	/* a key that comes from a partitioned table's follows that */
	if (has_superclass(index->indexrelid) &&
		OidIsValid(get_index_constraint(get_partition_parent(index->indexrelid,
															 true))))
		return;
	if (altered == table)
	{
		if (has_part(alter, AT_DropConstraint,
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
	}
}

/*
 * Say so if a partition has a key with the same columns as one of the table,
 * which has this index, but none of the same kind.  `indexes` are those of the
 * partition.
 */
static void
note_different_kinds(Oid index, List *indexes, const char *partition)
{
	Oid			key = sware_key_of_index(index);
	bool		is_sware;
	char	   *columns;
	Oid			other = InvalidOid;
	ListCell   *cell;

	if (!OidIsValid(key))
		return;
	is_sware = sware_read_key_index(index).isSware;
	columns = pg_get_indexdef_columns(index, false);
	foreach(cell, indexes)
	{
		Oid			constraint = sware_key_of_index(lfirst_oid(cell));

		if (!OidIsValid(constraint) ||
			strcmp(columns,
				   pg_get_indexdef_columns(lfirst_oid(cell), false)) != 0)
			continue;
		if (is_sware == sware_read_key_index(lfirst_oid(cell)).isSware)
			return;
		other = constraint;
	}
	if (OidIsValid(other))
		ereport(NOTICE,
				(errmsg("partition \"%s\" gets a second unique index on (%s)",
						partition, columns),
				 errdetail("The index of its constraint \"%s\" is of %s, that of the partitioned table's \"%s\" of %s.",
						   get_constraint_name(other),
						   is_sware ? "btree" : SWARE_ACCESS_METHOD,
						   get_constraint_name(key),
						   is_sware ? SWARE_ACCESS_METHOD : "btree")));
}

/*
 * Say so if a table that is to become a partition will have two unique indexes,
 * since those of the keys are of different kinds: the server makes one that
 * fits that of the partitioned table.  The partition is locked for a moment.
 */
static void
note_attached_keys(const AlterTableCmd *part, Relation table)
{
	Oid			oid = RangeVarGetRelid(castNode(PartitionCmd, part->def)->name,
									   NoLock, true);
	Relation	partition = OidIsValid(oid) ?
		try_relation_open(oid, AccessShareLock) : NULL;
	List	   *indexes;
	ListCell   *cell;

	if (partition == NULL)
		return;
	indexes = RelationGetIndexList(partition);
	foreach(cell, RelationGetIndexList(table))
		note_different_kinds(lfirst_oid(cell), indexes,
							 RelationGetRelationName(partition));
	relation_close(partition, AccessShareLock);
}

/* a constraint that is to use an index */
typedef struct Adoption
{
	const AlterTableStmt *alter;
	const Constraint *constraint;
	ParseState *parseState;		/* for the place of errors */
	Relation	table;
	Relation	index;
} Adoption;

#define error_place(adoption) \
	parser_errposition((adoption)->parseState, \
					   (adoption)->constraint->location)

/* Is the index free, and of this table? */
static void
check_ownership(const Adoption *adoption)
{
	const char *name = adoption->constraint->indexname;
	bool		is_taken = OidIsValid(get_index_constraint(
														   RelationGetRelid(adoption->index)));
	ListCell   *cell;

	/* by another part of the same statement? */
	foreach(cell, adoption->alter->cmds)
	{
		AlterTableCmd *part = lfirst_node(AlterTableCmd, cell);

		is_taken |= part->subtype == AT_AddIndexConstraint &&
			castNode(IndexStmt, part->def)->indexOid ==
			RelationGetRelid(adoption->index);
	}
	if (is_taken)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is already associated with a constraint",
						name),
				 error_place(adoption)));
	if (adoption->index->rd_index->indrelid !=
		RelationGetRelid(adoption->table))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" does not belong to table \"%s\"", name,
						RelationGetRelationName(adoption->table)),
				 error_place(adoption)));
}

/* Raise an error about an index that cannot become that of a key. */
SWARE_NORETURN static void
refuse_kind(const Adoption *adoption, const char *message)
{
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("%s", message),
			 errdetail("Cannot create a primary key or unique constraint using such an index."),
			 error_place(adoption)));
}

/* Is the index complete, and does it enforce what the constraint says? */
static void
check_kind(const Adoption *adoption)
{
	const char *name = adoption->constraint->indexname;
	const FormData_pg_index *form = adoption->index->rd_index;

	if (!form->indisvalid || !form->indisready)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid", name),
				 error_place(adoption)));
	if (!form->indisunique)
		refuse_kind(adoption, psprintf("\"%s\" is not a unique index", name));
	if (RelationGetIndexExpressions(adoption->index) != NIL)
		refuse_kind(adoption, psprintf("index \"%s\" contains expressions", name));
	if (RelationGetIndexPredicate(adoption->index) != NIL)
		refuse_kind(adoption, psprintf("\"%s\" is a partial index", name));
	if (!form->indimmediate && !adoption->constraint->deferrable)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a deferrable index", name),
				 errdetail("Cannot create a non-deferrable constraint using a deferrable index."),
				 error_place(adoption)));
	if (!sware_read_key_index(RelationGetRelid(adoption->index)).asksForSware)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" lacks the option \"%s\"", name,
						SWARE_KEY_OPTION),
				 errdetail("The option makes dumps and upgrades make the constraint's index again as it is."),
				 errhint("ALTER INDEX %s SET (%s);", quote_identifier(name),
						 SWARE_KEY_OPTION),
				 error_place(adoption)));
}

/*
 * Is a column of a primary key NOT NULL already?  To make it so, the server
 * scans the table while nobody can use it.
 */
static void
check_not_null(const Adoption *adoption, AttrNumber number, const char *column)
{
	const char *table =
		quote_identifier(RelationGetRelationName(adoption->table));
	const char *quoted = quote_identifier(column);

	if (sware_column_is_not_null(adoption->table, number) ||
		has_part(adoption->alter, AT_SetNotNull, column))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
			 errmsg("primary key column \"%s\" is not marked NOT NULL", column),
			 errhint("This makes it so with a short lock only: "
					 "ALTER TABLE %s ADD CONSTRAINT present CHECK (%s IS NOT NULL) NOT VALID; "
					 "ALTER TABLE %s VALIDATE CONSTRAINT present; "
					 "ALTER TABLE %s ALTER %s SET NOT NULL; "
					 "ALTER TABLE %s DROP CONSTRAINT present;",
					 table, quoted, table, table, quoted, table),
			 error_place(adoption)));
}

/* Does a column of the key sort as the constraint's index would? */
static void
check_sorting(const Adoption *adoption, int i, Form_pg_attribute attribute)
{
	Relation	index = adoption->index;
	bool		isnull;
	oidvector  *classes = (oidvector *)
		DatumGetPointer(SysCacheGetAttr(INDEXRELID, index->rd_indextuple,
										Anum_pg_index_indclass, &isnull));

	if (classes->values[i] != GetDefaultOpClass(attribute->atttypid,
												index->rd_rel->relam) ||
		attribute->attcollation != index->rd_indcollation[i] ||
		get_attoptions(RelationGetRelid(index), i + 1) != (Datum) 0 ||
		index->rd_indoption[i] != 0)
		refuse_kind(adoption,
					psprintf("index \"%s\" column number %d does not have default sorting behavior",
							 adoption->constraint->indexname, i + 1));
}

/*
 * Check the columns of the index.  Returns the names of those of its key that
 * are not of the system.
 */
static List *
check_columns(const Adoption *adoption)
{
	const FormData_pg_index *form = adoption->index->rd_index;
	bool		is_primary = adoption->constraint->contype == CONSTR_PRIMARY;
	List	   *names = NIL;

	for (int i = 0; i < form->indnatts; i++)
	{
		AttrNumber	number = form->indkey.values[i];
		Form_pg_attribute attribute;
		char	   *name;

		if (number <= 0)
			refuse_kind(adoption,
						psprintf("index \"%s\" has a system column",
								 adoption->constraint->indexname));
		attribute = TupleDescAttr(RelationGetDescr(adoption->table),
								  number - 1);
		name = pstrdup(NameStr(attribute->attname));
		if (has_part(adoption->alter, AT_DropColumn, name) ||
			has_part(adoption->alter, AT_AlterColumnType, name) ||
			has_part(adoption->alter, SWARE_CHANGE_EXPRESSION, name))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot use index \"%s\" for a constraint in the statement that changes its column \"%s\"",
							adoption->constraint->indexname, name),
					 errhint("Use two statements."),
					 error_place(adoption)));
		if (i >= form->indnkeyatts)
			continue;
		check_sorting(adoption, i, attribute);
		for (int j = 0; j < i; j++)
		{
			if (form->indkey.values[j] == number)
				ereport(ERROR,
						(errcode(ERRCODE_DUPLICATE_COLUMN),
						 errmsg(is_primary ?
								"column \"%s\" appears twice in primary key constraint" :
								"column \"%s\" appears twice in unique constraint",
								name),
						 error_place(adoption)));
		}
		if (is_primary)
			check_not_null(adoption, number, name);
		names = lappend(names, name);
	}
	return names;
}

/*
 * If a part of the statement is a constraint that is to use a sware index, turn
 * it into the command that the server executes for btree's.  Returns parts that
 * this needs in addition.
 */
static List *
use_index(AlterTableStmt *alter, AlterTableCmd *part, Relation table,
		  ParseState *state)
{
	Constraint *constraint = (Constraint *) part->def;
	Adoption	adoption = {
		.alter = alter,.constraint = constraint,.parseState = state,
		.table = table
	};
	Oid			oid = get_relname_relid(constraint->indexname,
										RelationGetNamespace(table));
	IndexStmt  *index;
	List	   *columns;
	List	   *more = NIL;
	ListCell   *cell;

	if (!sware_read_key_index(oid).isSware)
		return NIL;

	/*
	 * This lock, which is kept until the transaction ends, is the one of
	 * ALTER INDEX ... RESET: it locks no table.  An index of another table,
	 * which may be another user's, is only looked at to say so.
	 */
	adoption.index =
		index_open(oid, IndexGetRelation(oid, true) == RelationGetRelid(table) ?
				   ShareUpdateExclusiveLock : AccessShareLock);
	check_ownership(&adoption);
	check_kind(&adoption);
	columns = check_columns(&adoption);
	index_close(adoption.index, NoLock);

	index = makeNode(IndexStmt);
	index->unique = true;
	index->primary = constraint->contype == CONSTR_PRIMARY;
	index->isconstraint = true;
	index->deferrable = constraint->deferrable;
	index->initdeferred = constraint->initdeferred;
	index->idxname = constraint->conname;
	index->relation = copyObject(alter->relation);
	index->accessMethod = pstrdup(SWARE_ACCESS_METHOD);
	index->indexOid = oid;
	index->transformed = true;
	part->subtype = AT_AddIndexConstraint;
	part->def = (Node *) index;

	/*
	 * The columns of a primary key are NOT NULL, but those of tables that
	 * inherit from this one need not be so before 18.  This goes on to them.
	 */
	if (!index->primary)
		return NIL;
	foreach(cell, columns)
	{
		AlterTableCmd *not_null = makeNode(AlterTableCmd);

		sware_set_not_null(not_null, lfirst(cell));
		more = lappend(more, not_null);
	}
	return more;
}

/*
 * Let constraints of an ALTER TABLE use sware indexes, and note what keys
 * tables have that become partitions.  The statement is changed, so it must be
 * a copy.  The caller has the lock on the table that the statement wants, and
 * which keeps others from changing its indexes.
 */
void
sware_prepare_keys(AlterTableStmt *alter, Oid table, const char *query_string)
{
	Relation	relation = relation_open(table, NoLock);
	ParseState *state = make_parsestate(NULL);
	List	   *more = NIL;
	ListCell   *cell;

	state->p_sourcetext = query_string;
	foreach(cell, alter->cmds)
	{
		AlterTableCmd *part = lfirst_node(AlterTableCmd, cell);

		if (part->subtype == AT_AttachPartition)
			note_attached_keys(part, relation);
		if (part->subtype == AT_AddConstraint &&
			castNode(Constraint, part->def)->indexname)
			more = list_concat(more,
							   use_index(alter, part, relation, state));
	}
	alter->cmds = list_concat(alter->cmds, more);
	free_parsestate(state);
	relation_close(relation, NoLock);
}
