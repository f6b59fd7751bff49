/*-------------------------------------------------------------------------
 *
 * owner.c
 *	  Which index gets the entries of a staging.
 *
 * Staged entries belong to a build of an index, which its incarnation tells,
 * and to the file that the build was in.  As a rule the index still has both
 * when the entries are published.  But C code may exchange the files of
 * indexes by changing pg_class, or drop an index, without a utility command
 * that would have published before:
 *
 *	- the index that has the file now gets the entries;
 *	- if none has it, the index for which they were staged gets them, if its
 *	  file is a copy of the one before (SET TABLESPACE);
 *	- otherwise the entries are void.  They go when no rollback can bring the
 *	  file back, that is, outside of all subtransactions; until then they stay.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pages/cache.h"
#include "staging/staging.h"

/*
 * A hash of how an index stores and orders its entries.  Two indexes can have
 * each other's entries if theirs are equal.
 */
uint64
sware_hash_of_layout(Relation index)
{
	TupleDesc	descriptor = RelationGetDescr(index);
	int			keys = IndexRelationGetNumberOfKeyAttributes(index);
	Oid			items[5 + 5 * INDEX_MAX_KEYS];
	int			count = 0;

	items[count++] = index->rd_amhandler;
	items[count++] = descriptor->natts;
	items[count++] = keys;
	items[count++] = index->rd_index->indisunique;
	items[count++] = index->rd_index->indnullsnotdistinct;
	for (int i = 0; i < descriptor->natts; i++)
		items[count++] = TupleDescAttr(descriptor, i)->atttypid;
	for (int i = 0; i < keys; i++)
	{
		items[count++] = index->rd_opfamily[i];
		items[count++] = index->rd_opcintype[i];
		items[count++] = index->rd_indcollation[i];
		items[count++] = index->rd_indoption[i];
	}
	return hash_bytes_extended((const unsigned char *) items,
							   count * sizeof(Oid), 0);
}

/*
 * Return the OID of the relation that has a staging's file now, as this
 * transaction sees it; InvalidOid if there is none.  (RelidByRelfilenumber
 * knows no temporary relations.)
 */
static Oid
owner_of_file(const SwareStaging *staging)
{
	Oid			tablespace = SwareFileTablespace(staging->file);
	Relation	pg_class = table_open(RelationRelationId, AccessShareLock);
	Oid			result = InvalidOid;
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	if (tablespace == MyDatabaseTableSpace)
		tablespace = InvalidOid;
	ScanKeyInit(&keys[0], Anum_pg_class_reltablespace, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(tablespace));
	ScanKeyInit(&keys[1], Anum_pg_class_relfilenode, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(SwareFileNumber(staging->file)));
	scan = systable_beginscan(pg_class, ClassTblspcRelfilenodeIndexId, true,
							  NULL, 2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_class relation = (Form_pg_class) GETSTRUCT(tuple);

		/* a session's temporary files have numbers of their own */
		if (staging->isTemporary ?
			isTempOrTempToastNamespace(relation->relnamespace) :
			relation->relpersistence != RELPERSISTENCE_TEMP)
			result = relation->oid;
	}
	systable_endscan(scan);
	table_close(pg_class, AccessShareLock);
	return result;
}

/* Has an index the build that entries were staged for? */
static bool
has_build(const SwareStaging *staging, Relation index)
{
	return sware_cache(index)->indexIncarnation == staging->incarnation;
}

/*
 * Open the index that has got a staging's file from the one before.  Locks it,
 * until the (sub)transaction ends, without waiting: a COMMIT that waited could
 * be part of a deadlock.  Returns NULL if the file was built anew.
 */
static Relation
open_new_owner(const SwareStaging *staging, Oid owner)
{
	Relation	index = NULL;

	if (!ConditionalLockRelationOid(owner, RowExclusiveLock))
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("could not obtain lock on index \"%s\"",
						get_rel_name(owner)),
				 errdetail("It has been given a file in which entries wait to be stored.")));
	index = RelationIdGetRelation(owner);
	if (!RelationIsValid(index) ||
		index->rd_rel->relkind != RELKIND_INDEX ||
		!sware_is_file_of(staging, index) ||
		sware_hash_of_layout(index) != staging->layout)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("relation \"%s\" was given the file of an index with other keys",
						get_rel_name(owner)),
				 errdetail("Entries wait to be stored in the file.")));
	if (has_build(staging, index))
		return index;
	RelationClose(index);
	return NULL;
}

/*
 * Is the file of the index that entries were staged for a copy of the one that
 * it had then?  Within a subtransaction that is an error: a rollback would
 * bring the file before back, which would lack the entries.
 */
static bool
is_copy(const SwareStaging *staging, Relation index)
{
	if (!has_build(staging, index))
		return false;
	if (GetCurrentTransactionNestLevel() > 1)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" was given another file while entries waited to be stored in it",
						RelationGetRelationName(index)),
				 errhint("Set sware.enable_buffer to off in sessions that copy the files of indexes.")));
	return true;
}

/*
 * Open the index that gets a staging's entries, locked as for an insert; the
 * caller closes it, but keeps the lock.  Returns NULL if there is none: then
 * the entries are gone, or stay until a subtransaction ends.
 */
Relation
sware_open_owner(SwareStaging *staging)
{
	Relation	index = RelationIdGetRelation(staging->index);
	Relation	result = NULL;

	Assert(staging->isLocked);
	if (RelationIsValid(index) && sware_is_file_of(staging, index) &&
		has_build(staging, index))
		result = index;
	else
	{
		Oid			owner = owner_of_file(staging);

		if (OidIsValid(owner) && owner != staging->index)
			result = open_new_owner(staging, owner);
		else if (RelationIsValid(index) && is_copy(staging, index))
			result = index;
	}
	if (RelationIsValid(index) && result != index)
		RelationClose(index);

	if (result)
		staging->owner = RelationGetRelid(result);
	else if (GetCurrentTransactionNestLevel() > 1)
		sware_set_ownerless(staging);
	else
		sware_clear_staging(staging);
	return result;
}
