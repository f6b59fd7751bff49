/*-------------------------------------------------------------------------
 *
 * parallelscan.c
 *	  Parallel index scans: the order of entries is cut into intervals, which
 *	  the participants claim one after another, in the direction of the scan.
 *
 * Intervals end where leaves begin (tree/treeinterval.c).  The shared state has
 * the place where the next one begins.  One participant at a time moves it on,
 * for which it reads pages; others that want to claim wait on a condition
 * variable.  docs/architecture.md says why it is not leaves that are claimed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "pgstat.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"

#include "base/faultpoint.h"
#include "keys/searchkey.h"
#include "layout/page.h"
#include "scan/scan.h"
#include "tree/tree.h"

/*
 * An interval has an eighth of the number of leaves that were claimed before
 * it, but at least 1 and at most 16.  So participants share a small range, too,
 * and a large one takes few claims.
 */
#define PART_OF_CLAIMED		8
#define MAX_LEAVES			16

typedef enum SwareParallelState
{
	SWARE_PARALLEL_IDLE,		/* the next interval may be claimed */
	SWARE_PARALLEL_CLAIMING,	/* a participant is claiming it */
	SWARE_PARALLEL_DONE			/* no interval is left */
} SwareParallelState;

/* what the participants share, in dynamic shared memory */
typedef struct SwareParallelScan
{
	slock_t		mutex;			/* guards the state */
	SwareParallelState state;
	ConditionVariable stateChanged;

	/* used only by the participant that is claiming */
	int64		leavesClaimed;	/* about how many leaves have been claimed */
	bool		hasPlace;		/* has any interval been claimed? */
	union
	{
		IndexTupleData tuple;
		char		bytes[SWARE_MAX_PIVOT_SIZE];
		double		forAlignment;
	}			place;			/* if so, where the next one begins */
} SwareParallelScan;

/* The interval of a participant, between two pivots. */
struct SwareClaim
{
	/* in the direction of the scan; NULL: where the scan begins, or ends */
	IndexTuple	begin;
	IndexTuple	end;
	SwareSearchKey key;			/* the place of either, for comparing */
	PGAlignedBlock beginMemory;
	PGAlignedBlock endMemory;
};

/* of waits for another participant; without preloading it has no name */
static uint32 wait_event = PG_WAIT_EXTENSION;

void
sware_parallel_scans_attach(void)
{
	wait_event = sware_new_wait_event("SwareParallelScan");
}

/* the state of a parallel scan in dynamic shared memory */
static inline SwareParallelScan *
shared_state(IndexScanDesc descriptor)
{
	ParallelIndexScanDesc parallel = descriptor->parallel_scan;

	return (SwareParallelScan *)
		OffsetToPointer(parallel, SwareParallelScanOffset(parallel));
}

/* The amestimateparallelscan callback. */
Size
sware_estimateparallelscan(SWARE_ESTIMATE_PARALLEL_SCAN_PARAMETERS)
{
	return sizeof(SwareParallelScan);
}

/* The aminitparallelscan callback. */
void
sware_initparallelscan(void *target)
{
	SwareParallelScan *shared = target;

	SpinLockInit(&shared->mutex);
	ConditionVariableInit(&shared->stateChanged);
	shared->state = SWARE_PARALLEL_IDLE;
	shared->leavesClaimed = 0;
	shared->hasPlace = false;
}

/* The amparallelrescan callback: no participant is scanning. */
void
sware_parallelrescan(IndexScanDesc descriptor)
{
	SwareParallelScan *shared = shared_state(descriptor);

	SpinLockAcquire(&shared->mutex);
	shared->state = SWARE_PARALLEL_IDLE;
	SpinLockRelease(&shared->mutex);
	shared->leavesClaimed = 0;
	shared->hasPlace = false;
}

/*
 * Wait until no other participant is claiming.  Returns true if the caller may
 * claim now, and false if no interval is left.  The wait can be cancelled.
 */
static bool
begin_claim(SwareParallelScan *shared)
{
	SwareParallelState state;

	for (;;)
	{
		SpinLockAcquire(&shared->mutex);
		state = shared->state;
		if (state == SWARE_PARALLEL_IDLE)
			shared->state = SWARE_PARALLEL_CLAIMING;
		SpinLockRelease(&shared->mutex);

		if (state != SWARE_PARALLEL_CLAIMING)
			break;
		ConditionVariableSleep(&shared->stateChanged, wait_event);
	}
	ConditionVariableCancelSleep();
	return state == SWARE_PARALLEL_IDLE;
}

/* Set whether there are more intervals, and wake up those that wait. */
static void
end_claim(SwareParallelScan *shared, SwareParallelState state)
{
	SpinLockAcquire(&shared->mutex);
	Assert(shared->state == SWARE_PARALLEL_CLAIMING);
	shared->state = state;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->stateChanged);
}

/*
 * Returns the place where the first entry of the next interval can be: where
 * the interval begins, or the range if that is further on; or a place behind
 * it, if entries can be skipped.  Returns NULL if there is none.
 */
static SwareSearchKey *
find_place(SwareScanKeys *keys, struct SwareClaim *claim, bool forward)
{
	const SwareSearchKey *begin = forward ? &keys->low : &keys->high;
	IndexTuple	tuple = claim->begin;
	SwareSearchKey *place;

	if (tuple && !sware_scan_keys_go_beyond(keys, tuple, forward))
		return NULL;
	if (tuple && begin->columnCount > 0 &&
		sware_compare_key(begin, tuple) * (forward ? 1 : -1) >= 0)
		tuple = NULL;
	return sware_first_place(keys, tuple, forward, &claim->key, &place) ==
		SWARE_SKIP_NONE ? NULL : place;
}

/* Does an interval end behind its beginning, in the direction of the scan? */
static bool
is_progress(SwareScanKeys *keys, struct SwareClaim *claim, bool forward)
{
	int			order;

	if (claim->begin == NULL)
		return true;
	sware_search_key_from_tuple(&claim->key, keys->index, claim->begin);
	order = sware_compare_key(&claim->key, claim->end);
	return forward ? order < 0 : order > 0;
}

/*
 * Find the next interval, of about this number of leaves.  Returns false if
 * there is none.  If it has an end, there may be others behind it.  The caller
 * is the participant that is claiming.
 */
static bool
find_interval(SwareScan *scan, SwareParallelScan *shared,
			  struct SwareClaim *claim, int leaves, bool forward)
{
	SwareScanKeys *keys = &scan->tree.keys;
	SwareSearchKey *place;

	claim->begin = claim->end = NULL;
	if (shared->hasPlace)
		claim->begin = memcpy(claim->beginMemory.data, &shared->place,
							  IndexTupleSize(&shared->place.tuple));
	place = find_place(keys, claim, forward);
	if (place == NULL)
		return false;
	place->below = !forward;
	if (sware_tree_interval_end(place, forward, leaves,
								(IndexTuple) claim->endMemory.data))
		claim->end = (IndexTuple) claim->endMemory.data;
	place->below = false;

	/* if the end cannot be used, everything that is left is one interval */
	if (claim->end && (!is_progress(keys, claim, forward) ||
					   !sware_scan_keys_go_beyond(keys, claim->end, forward)))
		claim->end = NULL;
	SWARE_FAULT_POINT("interval-found");
	return true;
}

bool
sware_claim_interval(SwareScan *scan, ScanDirection direction)
{
	SwareParallelScan *shared = shared_state(scan->scan);
	SwareScanKeys *keys = &scan->tree.keys;
	bool		forward = ScanDirectionIsForward(direction);
	struct SwareClaim *claim = scan->claim;
	int			leaves;

	sware_scan_keys_lift_restriction(keys);
	if (keys->isEmpty || !begin_claim(shared))
		return false;

	/*
	 * After an error the state stays SWARE_PARALLEL_CLAIMING.  That does no
	 * harm: the error ends the query, and so the waits of all participants.
	 */
	if (claim == NULL)
	{
		claim = MemoryContextAlloc(scan->context, sizeof(struct SwareClaim));
		scan->claim = claim;
		pgstat_count_index_scan(scan->scan->indexRelation);
	}
	leaves = Min(Max(shared->leavesClaimed / PART_OF_CLAIMED, 1), MAX_LEAVES);
	if (!find_interval(scan, shared, claim, leaves, forward))
	{
		end_claim(shared, SWARE_PARALLEL_DONE);
		return false;
	}

	if (claim->end)
	{
		memcpy(&shared->place, claim->end, IndexTupleSize(claim->end));
		shared->hasPlace = true;
		shared->leavesClaimed += leaves;
	}
	end_claim(shared, claim->end ? SWARE_PARALLEL_IDLE : SWARE_PARALLEL_DONE);

	if (forward)
		sware_scan_keys_restrict(keys, claim->begin, claim->end);
	else
		sware_scan_keys_restrict(keys, claim->end, claim->begin);
	SWARE_FAULT_POINT("interval-claimed");
	return true;
}
