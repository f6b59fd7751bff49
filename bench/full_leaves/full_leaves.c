/*-------------------------------------------------------------------------
 *
 * full_leaves.c
 *	  The bound of a load that comes in order: an access method that does only
 *	  what each index has to do that is logged.
 *
 * It forms an entry where it is to lie, on a leaf in private memory.  When so
 * many leaves are full as a WAL record can have, they are copied to new pages
 * of the file and logged together; so are the last ones, before the
 * transaction commits.  There is no tree above the leaves, no key is looked at,
 * and nobody can read the index.
 *
 * The index has one column, of type int8, and is not temporary.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/itup.h"
#include "access/xact.h"
#include "access/xloginsert.h"
#include "fmgr.h"
#include "nodes/execnodes.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

#include "../../test/lib/testcompat.h"

PG_MODULE_MAGIC;

/* a record can have so many pages */
#define BATCH			XLR_MAX_BLOCK_ID

#define ENTRY_SIZE		((int) (sizeof(IndexTupleData) + sizeof(int64)))

/* as large as sware's; and sware fills leaves so far if keys come in order */
#define SPECIAL_SIZE	32
#define UNUSED			(BLCKSZ * 3 / 100)

/* The leaves of the index that the transaction loads. */
static Oid	loaded = InvalidOid;
static int	full_leaves;
static PGAlignedBlock leaves[BATCH];

PG_FUNCTION_INFO_V1(full_leaves_handler);
void		_PG_init(void);

static void
begin_leaf(void)
{
	PageInit(leaves[full_leaves].data, BLCKSZ, SPECIAL_SIZE);
}

/* Write the first leaves to the end of the file. */
static void
write_leaves(Relation index, int count)
{
	int			written = 0;

	while (written < count)
	{
		Buffer		buffers[BATCH];
		BlockNumber blocks[BATCH];
		Page		pages[BATCH];
		BlockNumber first;
		int			here = sware_extend_file(index, count - written, &first);

		for (int i = 0; i < here; i++)
		{
			blocks[i] = first + i;
			buffers[i] = ReadBuffer(index, blocks[i]);
			LockBuffer(buffers[i], BUFFER_LOCK_EXCLUSIVE);
			pages[i] = BufferGetPage(buffers[i]);
		}
		for (int i = 0; i < here; i++)
		{
			memcpy(pages[i], leaves[written + i].data, BLCKSZ);
			MarkBufferDirty(buffers[i]);
		}
		log_newpages(&SwareRelationLocator(index), MAIN_FORKNUM, here, blocks,
					 pages, true);
		for (int i = 0; i < here; i++)
			UnlockReleaseBuffer(buffers[i]);
		written += here;
	}
}

static void
transaction_ends(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_COMMIT && OidIsValid(loaded))
	{
		Relation	index = index_open(loaded, RowExclusiveLock);

		write_leaves(index, full_leaves + 1);
		index_close(index, NoLock);
	}
	if (event != XACT_EVENT_PARALLEL_COMMIT)
		loaded = InvalidOid;
}

static bool
full_leaves_insert(Relation index, Datum *values, bool *isnull,
				   ItemPointer tid, Relation heap, IndexUniqueCheck check_unique,
				   bool index_unchanged, IndexInfo *index_info)
{
	PageHeader	leaf = (PageHeader) leaves[full_leaves].data;
	IndexTuple	entry;

	if (unlikely(loaded != RelationGetRelid(index)))
	{
		if (OidIsValid(loaded))
			elog(ERROR, "a transaction can load one index only");
		loaded = RelationGetRelid(index);
		full_leaves = 0;
		begin_leaf();
		leaf = (PageHeader) leaves[0].data;
	}
	else if (unlikely(leaf->pd_upper - leaf->pd_lower <
					  ENTRY_SIZE + (int) sizeof(ItemIdData) + UNUSED))
	{
		if (++full_leaves == BATCH)
		{
			write_leaves(index, BATCH);
			full_leaves = 0;
		}
		begin_leaf();
		leaf = (PageHeader) leaves[full_leaves].data;
	}
	if (unlikely(isnull[0]))
		elog(ERROR, "a key must not be null");

	leaf->pd_upper -= ENTRY_SIZE;
	ItemIdSetNormal((ItemId) ((char *) leaf + leaf->pd_lower), leaf->pd_upper,
					ENTRY_SIZE);
	leaf->pd_lower += sizeof(ItemIdData);
	entry = (IndexTuple) ((char *) leaf + leaf->pd_upper);
	entry->t_tid = *tid;
	entry->t_info = ENTRY_SIZE;
	memcpy(entry + 1, &values[0], sizeof(int64));
	return false;
}

static IndexBuildResult *
full_leaves_build(Relation heap, Relation index, IndexInfo *index_info)
{
	if (RelationGetNumberOfBlocks(heap) > 0)
		elog(ERROR, "the table must be empty");
	return palloc0(sizeof(IndexBuildResult));
}

static void
full_leaves_buildempty(Relation index)
{
}

static IndexBulkDeleteResult *
full_leaves_bulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
					   IndexBulkDeleteCallback callback, void *callback_state)
{
	elog(ERROR, "nothing can be deleted");
}

static IndexBulkDeleteResult *
full_leaves_vacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	return stats;
}

static bytea *
full_leaves_options(Datum options, bool validate)
{
	return NULL;
}

static bool
full_leaves_validate(Oid opclass)
{
	return true;
}

static IndexScanDesc
full_leaves_beginscan(Relation index, int keys, int orderings)
{
	elog(ERROR, "the index cannot be read");
}

Datum
full_leaves_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *routine = makeNode(IndexAmRoutine);

	routine->amstrategies = 1;
	routine->ambuild = full_leaves_build;
	routine->ambuildempty = full_leaves_buildempty;
	routine->aminsert = full_leaves_insert;
	routine->ambulkdelete = full_leaves_bulkdelete;
	routine->amvacuumcleanup = full_leaves_vacuumcleanup;
	routine->amoptions = full_leaves_options;
	routine->amvalidate = full_leaves_validate;
	routine->ambeginscan = full_leaves_beginscan;
	PG_RETURN_POINTER(routine);
}

void
_PG_init(void)
{
	RegisterXactCallback(transaction_ends, NULL);
}
