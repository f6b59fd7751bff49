/*-------------------------------------------------------------------------
 *
 * usingindex.c
 *	  ALTER TABLE ... ADD CONSTRAINT ... USING INDEX, with a sware index.
 *
 * The server refuses other indexes than btree's where it turns the constraint
 * of the statement into the command that it executes.  So the statement gets
 * that command here, after the same checks, and with the same errors.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/pg_index.h"
#include "commands/defrem.h"
#include "nodes/makefuncs.h"
#include "parser/parse_node.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "constraints/constraints.h"
#include "base/compat.h"

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
	SwareKeyIndex description;

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
	sware_read_key_index(RelationGetRelid(adoption->index), &description);
	if (!description.asksForSware)
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
		sware_has_part(adoption->alter, AT_SetNotNull, column))
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

/* Raise an error if the statement makes a column, and so the index, anew. */
static void
check_column_stays(const Adoption *adoption, const char *column)
{
	ListCell   *cell;

	foreach(cell, adoption->alter->cmds)
	{
		AlterTableCmd *part = lfirst_node(AlterTableCmd, cell);

		if ((part->subtype == AT_DropColumn || sware_rebuilds_keys(part)) &&
			strcmp(part->name, column) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot use index \"%s\" for a constraint in the statement that changes its column \"%s\"",
							adoption->constraint->indexname, column),
					 errhint("Use two statements."),
					 error_place(adoption)));
	}
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
		check_column_stays(adoption, name);
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
	SwareKeyIndex description;
	IndexStmt  *index;
	List	   *columns;
	List	   *more = NIL;
	ListCell   *cell;

	sware_read_key_index(oid, &description);
	if (!description.isSware)
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
 * Let constraints of an ALTER TABLE use sware indexes.  The statement is
 * changed, so it must be a copy.  The caller has the lock on the table that the
 * statement wants, and which keeps others from changing its indexes.
 */
void
sware_use_indexes(AlterTableStmt *alter, Oid table, const char *query_string)
{
	Relation	relation = relation_open(table, NoLock);
	ParseState *state = make_parsestate(NULL);
	List	   *more = NIL;
	ListCell   *cell;

	state->p_sourcetext = query_string;
	foreach(cell, alter->cmds)
	{
		AlterTableCmd *part = lfirst_node(AlterTableCmd, cell);

		if (part->subtype == AT_AddConstraint &&
			castNode(Constraint, part->def)->indexname)
			more = list_concat(more,
							   use_index(alter, part, relation, state));
	}
	alter->cmds = list_concat(alter->cmds, more);
	free_parsestate(state);
	relation_close(relation, NoLock);
}
