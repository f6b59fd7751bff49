/*-------------------------------------------------------------------------
 *
 * pairsort.c
 *	  Sorting pairs of numbers.
 *
 * A tuplesort makes a tuple of a few dozen bytes of each row; a pair takes 16
 * bytes, and is compared without a function call.
 *
 * Pairs are collected in an array.  When memory is used up, the array is
 * sorted and written to a temporary file, as a run; in the end, all runs are
 * merged, the last of which stays in the array.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/tablespace.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

#include "am/pairsort.h"

/* pairs read from a file at once */
#define READ_PAIRS		512

/* initial size of the array */
#define INITIAL_PAIRS	1024

static inline int
compare_pairs(const SwarePair *a, const SwarePair *b)
{
	if (a->major != b->major)
		return a->major < b->major ? -1 : 1;
	return (a->minor > b->minor) - (a->minor < b->minor);
}

#define ST_SORT sort_pairs
#define ST_ELEMENT_TYPE SwarePair
#define ST_COMPARE(a, b) compare_pairs(a, b)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

typedef struct Run
{
	BufFile    *file;			/* NULL if all that is left is in `pairs` */
	SwarePair  *pairs;
	int64		count;			/* of pairs */
	int64		next;			/* the first not yet returned */
} Run;

struct SwarePairSort
{
	MemoryContext context;
	SwarePair  *pairs;
	int64		count;
	int64		room;			/* size of the array */
	int64		maxRoom;
	List	   *runs;
	binaryheap *heap;			/* of runs that are not at their end */
};

/* Start to sort; `memory` in kilobytes. */
SwarePairSort *
sware_pair_sort_begin(int memory)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "sware pair sort",
												  ALLOCSET_DEFAULT_SIZES);
	SwarePairSort *sort = MemoryContextAllocZero(context, sizeof(SwarePairSort));

	sort->context = context;
	sort->maxRoom = Max((int64) memory * 1024 / sizeof(SwarePair), INITIAL_PAIRS);
	sort->room = INITIAL_PAIRS;
	sort->pairs = MemoryContextAlloc(context, sort->room * sizeof(SwarePair));
	return sort;
}

static Run *
add_run(SwarePairSort *sort)
{
	Run		   *run = palloc0(sizeof(Run));

	sort->runs = lappend(sort->runs, run);
	return run;
}

/* Sort the array and write it to a file. */
static void
write_run(SwarePairSort *sort)
{
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);
	Run		   *run = add_run(sort);

	sort_pairs(sort->pairs, sort->count);

	PrepareTempTablespaces();
	run->file = BufFileCreateTemp(false);
	BufFileWrite(run->file, sort->pairs, sort->count * sizeof(SwarePair));
	sort->count = 0;
	MemoryContextSwitchTo(old_context);
}

/* Make room in the array. */
static void
make_room(SwarePairSort *sort)
{
	if (sort->room == sort->maxRoom)
		write_run(sort);
	else
	{
		sort->room = Min(sort->room * 2, sort->maxRoom);
		sort->pairs = repalloc_huge(sort->pairs, sort->room * sizeof(SwarePair));
	}
}

/* Add a pair. */
void
sware_pair_sort_put(SwarePairSort *sort, int64 major, int64 minor)
{
	if (unlikely(sort->count == sort->room))
		make_room(sort);
	sort->pairs[sort->count].major = major;
	sort->pairs[sort->count].minor = minor;
	sort->count++;
}

/* Read more of a run; false at its end. */
static bool
fill_run(Run *run)
{
	Size		length;

	if (run->file == NULL)
		return false;

	length = BufFileRead(run->file, run->pairs, READ_PAIRS * sizeof(SwarePair));
	if (length % sizeof(SwarePair) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read temporary file")));
	run->count = length / sizeof(SwarePair);
	run->next = 0;
	return run->count > 0;
}

/* the heap has its largest element on top: larger means to come earlier */
static int
compare_runs(Datum a, Datum b, void *unused)
{
	Run		   *run_a = (Run *) DatumGetPointer(a);
	Run		   *run_b = (Run *) DatumGetPointer(b);

	return compare_pairs(&run_b->pairs[run_b->next], &run_a->pairs[run_a->next]);
}

/* Sort; then next returns the pairs in order. */
void
sware_pair_sort_perform(SwarePairSort *sort)
{
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);
	Run		   *last = add_run(sort);
	ListCell   *cell;

	sort_pairs(sort->pairs, sort->count);
	last->pairs = sort->pairs;
	last->count = sort->count;

	sort->heap = binaryheap_allocate(list_length(sort->runs), compare_runs, NULL);
	foreach(cell, sort->runs)
	{
		Run		   *run = lfirst(cell);

		if (run->file)
		{
			if (BufFileSeek(run->file, 0, 0, SEEK_SET) != 0)
				ereport(ERROR,
						(errcode_for_file_access(),
						 errmsg("could not rewind temporary file")));
			run->pairs = palloc(READ_PAIRS * sizeof(SwarePair));
			fill_run(run);
		}
		if (run->count > 0)
			binaryheap_add_unordered(sort->heap, PointerGetDatum(run));
	}
	binaryheap_build(sort->heap);
	MemoryContextSwitchTo(old_context);
}

/* Get the next pair; false at the end. */
bool
sware_pair_sort_next(SwarePairSort *sort, SwarePair *pair)
{
	Run		   *run;

	if (binaryheap_empty(sort->heap))
		return false;

	run = (Run *) DatumGetPointer(binaryheap_first(sort->heap));
	*pair = run->pairs[run->next++];

	if (run->next == run->count && !fill_run(run))
		binaryheap_remove_first(sort->heap);
	else if (list_length(sort->runs) > 1)
		binaryheap_replace_first(sort->heap, PointerGetDatum(run));
	return true;
}

void
sware_pair_sort_end(SwarePairSort *sort)
{
	ListCell   *cell;

	foreach(cell, sort->runs)
	{
		Run		   *run = lfirst(cell);

		if (run->file)
			BufFileClose(run->file);
	}
	MemoryContextDelete(sort->context);
}
