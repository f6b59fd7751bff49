/*-------------------------------------------------------------------------
 *
 * publish.c
 *	  Publishing: moving staged entries to where other backends see them.
 *
 * A bulk load goes through the cycle of the SWARE-buffer here ("Indexing for
 * Near-Sorted Data", section III): when the memory is used up, the entries are
 * sorted, the lower part goes to the tree as a run, and the upper part is kept,
 * in order, so that later entries that overlap it are merged with it.
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
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/faultpoint.h"
#include "base/memory.h"
#include "base/options.h"
#include "buffer/buffer.h"
#include "locks/changes.h"
#include "locks/predicatelocks.h"
#include "pages/cache.h"
#include "records/recordcache.h"
#include "shared/statistics.h"
#include "sort/sorter.h"
#include "staging/staging.h"
#include "tree/tree.h"

/*
 * Up to this number of entries of a transaction go to the buffer, but for those
 * that come in order.  Of more entries, several come to each leaf: only
 * scattered ones go there.
 */
#define LARGEST_BUFFERED_RUN	256

/*
 * Scattered entries go to the tree, too, if only one in this number is: they
 * cost little then, and readers are faster if nothing is in the buffer.
 */
#define FEW_SCATTERED			32

/* the size of the smallest entry: an entry is never without data */
#define SMALLEST_ENTRY		MAXALIGN(sizeof(IndexTupleData) + 1)

/* to publish so many entries at once costs less than to insert each */
#define USEFUL_RUN			8

/* so many entries in order are published as soon as they fill the caches */
#define MANY_IN_ORDER		2048

/* What to publish of a staging. */
typedef enum PublishedPart
{
	PUBLISH_ALL,
	PUBLISH_LOWER_PART,			/* all if many entries came in order */
	PUBLISH_IF_IN_ORDER			/* all if many entries came in order, or none */
} PublishedPart;

/*
 * Keep only the given entries of a staging, which are in order, and all of one
 * subtransaction.  An error for want of memory changes nothing.
 */
static void
keep(SwareStaging *staging, IndexTuple *entries, int64 count)
{
	SwareStagedSegment *segment = &staging->segments[0];
	SwareEntryChain kept;

	Assert(staging->segmentCount == 1);
	sware_copy_to_chain(&kept, entries, count);
	sware_clear_chain(&staging->entries);
	staging->entries = kept;
	sware_reduce_staged(staging, count, 0);
	segment->start = sware_chain_begin;
	segment->count = 0;
	staging->inOrder = count;
}

/* Insert a run of staged entries into the tree, and count how they arrived. */
static void
store_in_tree(SwareStaging *staging, Relation index, Relation heap,
			  IndexTuple *entries, int count)
{
	SwareInserted done = sware_tree_insert_run(index, heap, entries, count,
											   staging->hasVersions);

	sware_count_arrivals(index, count, done.late);
}

/*
 * Store the few entries of a staging: in the tree those that belong to its
 * rightmost leaf or above it, and the others in the buffer.  Changes their
 * order.  Returns how many were stored, from the first on.
 */
static int
store_few(SwareStaging *staging, Relation index, Relation heap,
		  IndexTuple *entries, int count)
{
	int			at_edge = sware_tree_entries_at_edge(index, entries, count);

	if (at_edge > 0)
	{
		sware_sort_arrivals(index, entries, 0, at_edge);
		store_in_tree(staging, index, heap, entries, at_edge);
	}
	if (at_edge == count)
		return count;
	return at_edge +
		sware_buffer_publish(index, entries + at_edge, count - at_edge,
							 staging->hasVersions);
}

/*
 * Store those of the staged entries, which are in order, that are not above the
 * whole tree: in the tree, or in the buffer if they would come to its leaves
 * one by one.  Returns how many were stored, from the first on; the caller
 * sends the others to the tree.
 */
static int
store_within_tree(SwareStaging *staging, Relation index, Relation heap,
				  IndexTuple *entries, int count)
{
	SwareScattered scattered = {.limit = sware_buffer_run_limit(index)};
	int			within = sware_entries_within_tree(index, entries, count);
	bool		has_versions = staging->hasVersions;
	int			stored;
	int			buffered = 0;

	if (scattered.limit == 0 || within == 0)
		return 0;
	scattered.entries = palloc(scattered.limit / SMALLEST_ENTRY *
							   sizeof(IndexTuple));
	stored = sware_tree_insert_company(index, heap, entries, within,
									   has_versions, &scattered);
	if (scattered.count > count / FEW_SCATTERED)
		buffered = sware_buffer_publish(index, scattered.entries,
										scattered.count, has_versions);
	/* these have been counted as late */
	(void) sware_tree_insert_run(index, heap, scattered.entries + buffered,
								 scattered.count - buffered, has_versions);
	sware_count_arrivals(index, stored, scattered.late);
	sware_count_late_buffered(index, buffered);
	return stored;
}

/*
 * Check for serializable transactions that have looked for stored entries, and
 * so missed them.  They may have done so in the index that the entries were
 * staged for, before it lost its file.
 */
static void
check_conflicts(SwareStaging *staging, Relation index, IndexTuple *entries,
				int64 count)
{
	sware_check_conflicts(index, entries, count);
	if (unlikely(RelationGetRelid(index) != staging->index))
	{
		Relation	former = RelationIdGetRelation(staging->index);

		if (RelationIsValid(former))
		{
			sware_check_conflicts(former, entries, count);
			RelationClose(former);
		}
	}
}

/*
 * Send a part of the staged entries to the tree, or, if that is few entries, to
 * the buffer.  The rest is kept, in order.  After an error all entries are
 * staged still; storing an entry twice does no harm.  Calls comparators, and
 * takes locks on pages, so the caller holds none.
 *
 * `index` is locked as for an insert.  If entries were not staged for it in the
 * file that it has, all of them go to the tree, and no row is looked at: it is
 * unknown whether the index's table has these.
 */
static void
send(SwareStaging *staging, Relation index, PublishedPart part)
{
	MemoryContext caller = sware_enter_context("sware publish");
	int64		count = staging->count;
	int64		sent = count;
	IndexTuple *entries;
	int			stored = 0;
	bool		came_in_order;
	bool		is_made_for = sware_is_made_for(staging, index);
	Relation	heap = NULL;
	SwareWork	work;

	if (count > LARGEST_BUFFERED_RUN)
		sware_work_begin(&work, index, SWARE_INSERTER);
	sware_begin_change(index, SWARE_PUBLISHES);
	entries = sware_chain_entries(&staging->entries, count);
	came_in_order = part != PUBLISH_ALL && count >= MANY_IN_ORDER &&
		sware_are_in_order(index, entries, staging->inOrder, count);
	if (part == PUBLISH_IF_IN_ORDER && !came_in_order)
	{
		staging->hasGrown = true;
		staging->limit = (Size) sware_staging_size * 1024;
		sware_end_change();
		sware_leave_context(caller);
		return;
	}

	/* what is kept is put in order, which would mix up segments */
	if (part == PUBLISH_LOWER_PART && !came_in_order && count >= USEFUL_RUN &&
		staging->segmentCount == 1 && is_made_for)
		sent -= count * (100 - staging->flushFraction) / 100;
	SWARE_FAULT_POINT("publish-begins");

	/* the statements that have staged the entries have locked the table */
	if (is_made_for)
		heap = table_open(index->rd_index->indrelid, NoLock);
	if (count <= LARGEST_BUFFERED_RUN && sent == count && is_made_for)
		stored = store_few(staging, index, heap, entries, count);
	if (stored < count)
	{
		if (came_in_order && stored == 0)
			sware_note_sortedness(index, count, 0, 0);
		else if (count - stored > 1)
			sware_sort_arrivals(index, entries + stored,
								stored == 0 ? staging->inOrder : 0,
								count - stored);
		SWARE_FAULT_POINT("publish-sorted");
		if (sent == count && count > LARGEST_BUFFERED_RUN && is_made_for &&
			!came_in_order)
			stored += store_within_tree(staging, index, heap, entries + stored,
										count - stored);
		store_in_tree(staging, index, heap, entries + stored, sent - stored);
	}
	if (heap)
		table_close(heap, NoLock);
	SWARE_FAULT_POINT("publish-stored");
	if (staging->stager)
	{
		/* other stagers notice, and only then keys leave the register */
		sware_tell_of_stored(staging->stager);
		SWARE_FAULT_POINT("staged-keys-published");
	}

	/* readers can find the entries from now on */
	sware_records_stored(index, entries, sent);
	check_conflicts(staging, index, entries, sent);

	if (sent == count)
		sware_clear_staging(staging);
	else
		keep(staging, entries + sent, count - sent);
	sware_end_change();
	sware_leave_context(caller);
	if (count > LARGEST_BUFFERED_RUN)
		(void) sware_work_end(&work, SWARE_PUBLISH_WORK);
}

/*
 * Has a staging entries that can be published now?  An index that this session
 * is changing is left alone, since it may have a leaf locked.
 */
static bool
is_publishable(SwareStaging *staging)
{
	return staging->count > 0 && !staging->isOwnerless &&
		!sware_is_changing(staging->owner, SWARE_CHANGES);
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
 * Staged entries belong to a build of an index, which its incarnation tells,
 * and to the file that the build was in.  As a rule the index still has both
 * when the entries are published.  But C code may exchange the files of indexes
 * by changing pg_class, or drop an index, without a utility command that would
 * have published before:
 *
 *	- the index that has the file now gets the entries;
 *	- if none has it, the index for which they were staged gets them, if its
 *	  file is a copy of the one before (SET TABLESPACE);
 *	- otherwise the entries are void.  They go when no rollback can bring the
 *	  file back, that is, outside of all subtransactions; until then they stay.
 *
 * Open the index that gets a staging's entries, locked as for an insert; the
 * caller closes it, but keeps the lock.  Returns NULL if there is none: then
 * the entries are gone, or stay until a subtransaction ends.
 */
static Relation
open_owner(SwareStaging *staging)
{
	Relation	index = RelationIdGetRelation(staging->index);
	Relation	result = NULL;

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

/* Publish a part of a staging, if an index has its build. */
static void
publish(SwareStaging *staging, PublishedPart part)
{
	Relation	index = open_owner(staging);
	bool		pushed = false;

	if (index == NULL)
		return;

	/* Comparators and detoasting may need a snapshot. */
	if (!ActiveSnapshotSet())
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		pushed = true;
	}
	send(staging, index, part);
	if (pushed)
		PopActiveSnapshot();
	index_close(index, NoLock);
}

/* Publish a staging, if that is possible.  No page may be locked. */
void
sware_publish(SwareStaging *staging)
{
	if (is_publishable(staging))
		publish(staging, PUBLISH_ALL);
}

/*
 * Find a staging that can be published of those that statements of
 * `highest_level` and of lower levels have filled; NULL if there is none.
 */
static SwareStaging *
next_publishable(int highest_level)
{
	dlist_iter	iterator;

	dlist_foreach(iterator, &sware_filled_stagings)
	{
		SwareStaging *staging =
			dlist_container(SwareStaging, node, iterator.cur);

		if (staging->level > highest_level)
			break;
		if (is_publishable(staging))
			return staging;
	}
	return NULL;
}

/*
 * Publish what was staged by statements of `highest_level` and of lower levels,
 * as far as it can be published.  The lowest, SWARE_NO_STATEMENT, is that of
 * statements that have ended: their stagings come first in the list.
 */
static void
publish_staged(int highest_level)
{
	SwareStaging *staging;

	/* a comparator may execute SQL that stages entries for other indexes */
	while ((staging = next_publishable(highest_level)) != NULL)
		publish(staging, PUBLISH_ALL);
}

/*
 * Publish what ended statements have staged, if it is for too many indexes, or
 * if it must not wait for the transaction's end (sware_uses_foreign_tables).
 * Each such index stays locked, while nbtree locks it until the statement ends.
 * All sessions together may use a quarter of the server's lock table for these
 * locks.
 */
void
sware_limit_lingering(void)
{
	int			lingering = 0;
	dlist_iter	iterator;

	dlist_foreach(iterator, &sware_filled_stagings)
	{
		if (dlist_container(SwareStaging, node, iterator.cur)->level !=
			SWARE_NO_STATEMENT)
			break;
		lingering++;
	}
	if (unlikely(lingering > max_locks_per_xact / 4 ||
				 sware_uses_foreign_tables))
		publish_staged(SWARE_NO_STATEMENT);
}

/* The largest staging that can be published; NULL if there is none. */
static SwareStaging *
largest_publishable(void)
{
	SwareStaging *largest = NULL;
	dlist_iter	iterator;

	dlist_foreach(iterator, &sware_filled_stagings)
	{
		SwareStaging *staging =
			dlist_container(SwareStaging, node, iterator.cur);

		if (is_publishable(staging) &&
			(largest == NULL || staging->entries.bytes > largest->entries.bytes))
			largest = staging;
	}
	return largest;
}

/*
 * Publish the lower parts of the largest stagings when all together have become
 * too large: enough that small stagings do not reach the limit again with the
 * next entry.
 */
void
sware_make_room(void)
{
	Size		enough = (Size) sware_staging_size * 1024 / 4 * 3;
	SwareStaging *largest;

	while (sware_staged_bytes > enough &&
		   (largest = largest_publishable()) != NULL)
		publish(largest, PUBLISH_LOWER_PART);
}

/*
 * Make room in a staging that has reached its limit, if that is possible:
 * publish the lower part, or raise the limit.
 */
void
sware_publish_lower_part(SwareStaging *staging)
{
	if (is_publishable(staging))
		publish(staging, staging->limit < (Size) sware_staging_size * 1024 ?
				PUBLISH_IF_IN_ORDER : PUBLISH_LOWER_PART);
}

/*
 * Publish what this backend has staged for an index, if anything.  Called
 * before the index is read in a way that does not search staging.  No
 * lightweight lock may be held.
 */
void
sware_publish_index(Relation index)
{
	if (unlikely(sware_staged_indexes > 0))
	{
		SwareStaging *staging = sware_staging_of(index);

		if (staging)
			sware_publish(staging);
	}
}

/*
 * Publish all that this backend has staged.  No lightweight lock may be held.
 * An error leaves entries staged.
 */
void
sware_publish_all(void)
{
	if (sware_staged_indexes > 0)
		publish_staged(INT_MAX);
}

/*
 * Note that a statement ends: the stagings that got their first entry in it are
 * lingering from now on (staging.h).
 */
void
sware_staging_statement_ends(void)
{
	while (!dlist_is_empty(&sware_filled_stagings))
	{
		SwareStaging *staging = dlist_tail_element(SwareStaging, node,
												   &sware_filled_stagings);

		if (staging->level < sware_statement.level)
			break;
		staging->level = SWARE_NO_STATEMENT;
		dlist_delete(&staging->node);
		dlist_push_head(&sware_filled_stagings, &staging->node);
	}
	sware_limit_lingering();
}
