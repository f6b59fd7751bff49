/*-------------------------------------------------------------------------
 *
 * requests.c
 *	  Primary keys and unique constraints in statements, and which of them get
 *	  sware indexes.
 *
 * A key whose options say "sware" gets a sware index, or there is an error.
 * With the setting sware.use_for_keys, others get one, too, where nothing
 * speaks against it; for the rest the statement stays as it is.
 *
 * Nothing here calls functions of users.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_type.h"
#include "utils/lsyscache.h"

#include "constraints/constraints.h"
#include "base/compat.h"
#include "base/options.h"

/* Append a constraint to a list, if it is a key. */
static List *
add_key(List *keys, Node *node, const char *column)
{
	Constraint *constraint;
	SwareKey   *key;

	if (!IsA(node, Constraint))
		return keys;
	constraint = (Constraint *) node;
	if (constraint->contype != CONSTR_PRIMARY &&
		constraint->contype != CONSTR_UNIQUE)
		return keys;
	key = palloc(sizeof(SwareKey));
	key->constraint = constraint;
	key->column = column;
	return lappend(keys, key);
}

/* Append the keys that are constraints of a column to a list. */
static List *
add_keys_of_column(List *keys, const ColumnDef *column)
{
	ListCell   *cell;

	foreach(cell, column->constraints)
		keys = add_key(keys, lfirst(cell), column->colname);
	return keys;
}

/*
 * The keys that CREATE TABLE or ALTER TABLE adds, as a list of SwareKey, which
 * points into the statement.
 */
List *
sware_keys_of_statement(const Node *command)
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
 * Does a key ask for sware by its options?  The server knows how to make an
 * index of WITHOUT OVERLAPS by GiST only.
 */
bool
sware_request_key(const SwareKey *key)
{
	const Constraint *constraint = key->constraint;

	return constraint->access_method == NULL &&
		!sware_is_constraint_without_overlaps(constraint) &&
		sware_list_asks_for_sware(constraint->options);
}

/* Does the setting sware.use_for_keys count now? */
bool
sware_wishes_count(void)
{
	return sware_use_for_keys && !IsBinaryUpgrade && !creating_extension &&
		sware_is_installed();
}

/* Has sware an operator class by default for a type? */
static bool
has_operator_class(Oid type)
{
	return OidIsValid(type) &&
		OidIsValid(GetDefaultOpClass(type,
									 get_index_am_oid(SWARE_ACCESS_METHOD,
													  false)));
}

/* Is a type's name one of those that stand for an integer with a sequence? */
static bool
is_serial(const TypeName *name)
{
	static const char *const serials[] = {
		"smallserial", "serial2", "serial", "serial4", "bigserial", "serial8"
	};

	if (list_length(name->names) != 1)
		return false;
	for (size_t i = 0; i < lengthof(serials); i++)
	{
		if (strcmp(strVal(linitial(name->names)), serials[i]) == 0)
			return true;
	}
	return false;
}

/*
 * Can a column of a key be of sware when an ALTER TABLE has ended?  The last
 * part of the statement that gives it a type tells.
 */
static bool
column_suits(const char *column, const AlterTableStmt *alter, Oid table)
{
	AttrNumber	number = get_attnum(table, column);
	bool		suits = number != InvalidAttrNumber &&
		has_operator_class(get_atttype(table, number));
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
		suits = OidIsValid(type) ? has_operator_class(type) : is_serial(name);
	}
	return suits;
}

/*
 * Can a key that an ALTER TABLE adds, and that does not ask for sware, get a
 * sware index?  The caller has the lock on the table that the statement wants.
 */
bool
sware_wish_key(const SwareKey *key, const AlterTableStmt *alter, Oid table)
{
	const Constraint *constraint = key->constraint;
	ListCell   *cell;

	if (constraint->access_method || constraint->indexname ||
		sware_is_constraint_without_overlaps(constraint) ||
		sware_list_names_option(constraint->options))
		return false;
	if (key->column)
		return column_suits(key->column, alter, table);
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
bool
sware_wish_index(const IndexStmt *index)
{
	Oid			table;
	ListCell   *cell;

	if (!index->isconstraint || !index->unique || index->excludeOpNames ||
		index->transformed || sware_is_index_without_overlaps(index) ||
		OidIsValid(index->indexOid) ||
		strcmp(index->accessMethod, DEFAULT_INDEX_TYPE) != 0 ||
		sware_list_names_option(index->options))
		return false;
	table = RangeVarGetRelid(index->relation, NoLock, true);
	if (!OidIsValid(table))
		return false;
	foreach(cell, index->indexParams)
	{
		IndexElem  *element = lfirst_node(IndexElem, cell);
		AttrNumber	number;

		if (element->name == NULL || element->opclass)
			return false;
		number = get_attnum(table, element->name);
		if (number == InvalidAttrNumber ||
			!has_operator_class(get_atttype(table, number)))
			return false;
	}
	return true;
}

/* Returns options with the one that asks for sware. */
List *
sware_add_option(List *options)
{
	return lappend(options,
				   makeDefElem(pstrdup(SWARE_KEY_OPTION),
							   (Node *) makeString(pstrdup("true")), -1));
}
