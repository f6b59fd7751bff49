/*-------------------------------------------------------------------------
 *
 * sware_comparisons.c
 *	  Comparison and hash functions that look at the locks held, for tests.
 *
 * A comparison may be made while pages of the tree are locked, and nothing
 * else: no page of the buffer, no metapage, and no shared memory.  A hash is
 * made with no lock at all.  Neither is made in a critical section, or where
 * interrupts are held off for another reason.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/lwlock.h"
#include "utils/wait_event.h"

#include "../../lib/testcompat.h"
#include "layout/page.h"


PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(sware_compare_watching);
PG_FUNCTION_INFO_V1(sware_hash_watching);
PG_FUNCTION_INFO_V1(sware_hash_extended_watching);
PG_FUNCTION_INFO_V1(sware_watched);

/* what is held at the moment */
typedef struct Held
{
	uint32		locks;			/* lightweight locks, of pages or not */
	uint32		treePages;
	const char *forbidden;		/* the first thing that must not be locked */
} Held;

static int64 comparisons = 0;
static int64 comparisons_unlocked = 0;
static int64 hashes = 0;
static int	most_locked_pages = 0;

#ifdef SWARE_CONTENT_LOCKS_ARE_LWLOCKS

/* What is a locked page, if it is not one of a tree?  NULL if it is. */
static const char *
forbidden_page(Page page)
{
	SwarePageOpaque opaque;

	if (PageGetSpecialSize(page) != sizeof(SwarePageOpaqueData))
		return "a page of something else";
	opaque = SwarePageGetOpaque(page);
	if (opaque->pageId != SWARE_PAGE_ID)
		return "a page of something else";
	switch (opaque->kind)
	{
		case SWARE_KIND_LEAF:
		case SWARE_KIND_INTERNAL:
			return NULL;
		case SWARE_KIND_META:
			return "the metapage";
		case SWARE_KIND_BUFFER:
			return "a buffer page";
		default:
			return "a directory page";
	}
}

static void
look_at_lock(LWLock *lock, LWLockMode mode, void *argument)
{
	Held	   *held = argument;
	char	   *first = (char *) &GetBufferDescriptor(0)->content_lock;
	size_t		distance = (char *) lock - first;
	size_t		number = distance / sizeof(BufferDescPadded);
	const char *forbidden;

	held->locks++;
	if ((char *) lock < first || number >= (size_t) NBuffers ||
		distance % sizeof(BufferDescPadded) != 0)
		forbidden = GetLWLockIdentifier(PG_WAIT_LWLOCK, lock->tranche);
	else
		forbidden = forbidden_page(BufferGetPage((Buffer) number + 1));

	if (forbidden == NULL)
		held->treePages++;
	else if (held->forbidden == NULL)
		held->forbidden = forbidden;
}

/* Look at all locks that this backend holds. */
static void
look_at_locks(Held *held)
{
	ForEachLWLockHeldByMe(look_at_lock, held);
}

#else

/*
 * It cannot be told of which pages content locks are, nor whether a lock is one
 * of a page.
 */
static void
look_at_locks(Held *held)
{
	held->treePages = held->locks = InterruptHoldoffCount;
}

#endif

/* Raise an error if a function is called where it may not be called. */
static Held
look_around(const char *function)
{
	Held		held = {0, 0, NULL};

	look_at_locks(&held);
	if (CritSectionCount > 0)
		elog(ERROR, "a %s function is called in a critical section", function);
	if (held.forbidden != NULL)
		elog(ERROR, "a %s function is called while %s is locked", function, held.forbidden);
	if (InterruptHoldoffCount != held.locks)
		elog(ERROR, "a %s function is called while interrupts are held off", function);
	return held;
}

static void
look_around_for_hash(void)
{
	hashes++;
	if (look_around("hash").treePages > 0)
		elog(ERROR, "a hash function is called while a page of the tree is locked");
}

Datum
sware_compare_watching(PG_FUNCTION_ARGS)
{
	int32		a = PG_GETARG_INT32(0);
	int32		b = PG_GETARG_INT32(1);
	Held		held = look_around("comparison");

	comparisons++;
	comparisons_unlocked += held.treePages == 0;
	most_locked_pages = Max(most_locked_pages, (int) held.treePages);
	PG_RETURN_INT32(a < b ? -1 : a > b);
}

Datum
sware_hash_watching(PG_FUNCTION_ARGS)
{
	look_around_for_hash();
	PG_RETURN_UINT32(hash_bytes_uint32(PG_GETARG_UINT32(0)));
}

Datum
sware_hash_extended_watching(PG_FUNCTION_ARGS)
{
	look_around_for_hash();
	PG_RETURN_UINT64(hash_bytes_uint32_extended(PG_GETARG_UINT32(0),
												PG_GETARG_INT64(1)));
}

Datum
sware_watched(PG_FUNCTION_ARGS)
{
	TupleDesc	descriptor;
	Datum		values[4];
	bool		isnull[4] = {false};

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int64GetDatum(comparisons);
	values[1] = Int64GetDatum(comparisons_unlocked);
	values[2] = Int64GetDatum(hashes);
	values[3] = Int32GetDatum(most_locked_pages);
	comparisons = 0;
	comparisons_unlocked = 0;
	hashes = 0;
	most_locked_pages = 0;
	PG_RETURN_DATUM(
					HeapTupleGetDatum(heap_form_tuple(descriptor, values, isnull)));
}
