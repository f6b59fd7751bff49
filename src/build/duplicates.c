/*-------------------------------------------------------------------------
 *
 * duplicates.c
 *	  Finding duplicate keys while a unique index is built.
 *
 * Entries come in order, so equal keys come one behind another.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "utils/rel.h"

#include "build/build.h"
#include "layout/page.h"

struct SwareDuplicateCheck
{
	Relation	index;
	Relation	heap;
	bool		nullsNotDistinct;
	SwareComparator *comparator;
	bool		hasPrevious;
	union
	{
		IndexTupleData entry;
		char		data[SWARE_MAX_ENTRY_SIZE];
	}			previous;
};

/*
 * Begin to check entries, which come in order, for duplicate keys.  The result
 * is allocated in the current memory context.
 */
SwareDuplicateCheck *
sware_duplicate_check_begin(Relation index, Relation heap,
							bool nulls_not_distinct,
							SwareComparator *comparator)
{
	SwareDuplicateCheck *check = palloc(sizeof(SwareDuplicateCheck));

	check->index = index;
	check->heap = heap;
	check->nullsNotDistinct = nulls_not_distinct;
	check->comparator = comparator;
	check->hasPrevious = false;
	return check;
}

/* Does the key have a null?  INCLUDE columns are not part of the key. */
static bool
key_has_nulls(Relation index, IndexTuple entry)
{
	bool		is_null = false;

	if (IndexTupleHasNulls(entry))
	{
		for (int i = 1;
			 i <= IndexRelationGetNumberOfKeyAttributes(index) && !is_null;
			 i++)
			(void) index_getattr(entry, i, RelationGetDescr(index), &is_null);
	}
	return is_null;
}

/* Report that the previous entry has the same key as the present one. */
static void
report_duplicate(SwareDuplicateCheck *check)
{
	Relation	index = check->index;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	char	   *key;

	index_deform_tuple(&check->previous.entry, RelationGetDescr(index), values,
					   isnull);
	key = BuildIndexValueDescription(index, values, isnull);
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("could not create unique index \"%s\"",
					RelationGetRelationName(index)),
			 key ? errdetail("Key %s is duplicated.", key) :
			 errdetail("Duplicate keys exist."),
			 errtableconstraint(check->heap, RelationGetRelationName(index))));
}

/*
 * Check the entry of the next live row: raise an error if its key is that of
 * the live row before.  The entry is copied.  Calls comparators.
 */
void
sware_duplicate_check_next(SwareDuplicateCheck *check, IndexTuple entry)
{
	if (!check->nullsNotDistinct && key_has_nulls(check->index, entry))
		return;

	if (check->hasPrevious &&
		sware_comparator_keys(check->comparator, &check->previous.entry,
							  entry) == 0)
		report_duplicate(check);

	memcpy(&check->previous, entry, IndexTupleSize(entry));
	check->hasPrevious = true;
}

/* Free a check. */
void
sware_duplicate_check_end(SwareDuplicateCheck *check)
{
	pfree(check);
}
