/*-------------------------------------------------------------------------
 *
 * sware_deltas.c
 *	  Makes deltas of random pages, and sees what they do; damages a leaf, and
 *	  sees whether its gaps are closed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "common/pg_prng.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "base/compat.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "wal/wal.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(sware_check_deltas);
PG_FUNCTION_INFO_V1(sware_delta_limit);
PG_FUNCTION_INFO_V1(sware_close_gaps);

typedef enum Change
{
	NOTHING,					/* but garbage in free space */
	LIMITS,						/* pd_lower and pd_upper */
	SCATTERED,					/* bytes, some of them near to each other */
	INSERTION,					/* an item, and line pointers that shift */
	RUNS,						/* of equal bytes and of others, all short */
	REWRITING,					/* every byte, up to another pd_lower */
	NEW							/* there were zeroes before */
} Change;

static const char *const change_names[] =
{"nothing", "limits", "scattered", "insertion", "runs", "rewriting", "new"};

/* A pair of pages, their delta, and what is counted of all pairs. */
typedef struct Trial
{
	int64		seed;
	int			pair;			/* its number */
	pg_prng_state random;
	PGAlignedBlock before;
	PGAlignedBlock after;
	SwareDelta	delta;
	int64		fragments;
	int64		leftOut;
	int			longest;
} Trial;

static Change
change_of(const char *name)
{
	for (size_t i = 0; i < lengthof(change_names); i++)
	{
		if (strcmp(name, change_names[i]) == 0)
			return i;
	}
	elog(ERROR, "there is no change \"%s\"", name);
}

/* Draw a number from `low` up to `high`. */
static int
draw(Trial *trial, int low, int high)
{
	return low + (int) (pg_prng_uint64(&trial->random) % (high - low + 1));
}

static void
fill_with_garbage(Trial *trial, char *start, const char *end)
{
	while (start < end)
		*start++ = (char) pg_prng_uint32(&trial->random);
}

/* Give a page other limits: any, or free space that is small, or at its end. */
static void
draw_limits(Trial *trial, Page page)
{
	PageHeader	header = (PageHeader) page;
	int			lower = draw(trial, SizeOfPageHeaderData, BLCKSZ);
	int			upper = draw(trial, lower, BLCKSZ);

	switch (draw(trial, 0, 3))
	{
		case 0:
			upper = draw(trial, lower, Min(lower + 12, BLCKSZ));
			break;
		case 1:
			upper = draw(trial, Max(lower, BLCKSZ - 12), BLCKSZ);
			break;
	}
	header->pd_lower = lower;
	header->pd_upper = upper;
}

/* Change some bytes, half of them soon behind the one before. */
static void
change_scattered(Trial *trial, Page page)
{
	int			place = SizeOfPageHeaderData;

	for (int count = draw(trial, 1, 40); count > 0; count--)
	{
		if (draw(trial, 0, 1) == 0)
			place = draw(trial, SizeOfPageHeaderData, BLCKSZ - 1);
		else
			place = Min(place + draw(trial, 1, 8), BLCKSZ - 1);
		page[place] ^= draw(trial, 1, 255);
	}
}

/* Insert bytes below free space, and add others above it. */
static void
change_as_insertion(Trial *trial, Page page)
{
	PageHeader	header = (PageHeader) page;
	int			room = header->pd_upper - header->pd_lower;
	int			pointer = Min((int) sizeof(ItemIdData), room);
	int			item = draw(trial, 0, room - pointer);
	int			place = draw(trial, SizeOfPageHeaderData, header->pd_lower);

	memmove(page + place + pointer, page + place, header->pd_lower - place);
	fill_with_garbage(trial, page + place, page + place + pointer);
	header->pd_lower += pointer;
	header->pd_upper -= item;
	fill_with_garbage(trial, page + header->pd_upper,
					  page + header->pd_upper + item);
}

/* Change bytes in runs, behind runs of others, all of up to twelve bytes. */
static void
change_in_runs(Trial *trial, Page page)
{
	int			longest = draw(trial, 1, 12);
	int			place = SizeOfPageHeaderData;

	while (place < BLCKSZ)
	{
		int			end = Min(place + draw(trial, 1, longest), BLCKSZ);

		while (place < end)
			page[place++] ^= draw(trial, 1, 255);
		place += draw(trial, 1, longest);
	}
}

/* Change every byte. */
static void
change_everything(Trial *trial, Page page)
{
	for (int place = 0; place < BLCKSZ; place++)
		page[place] ^= draw(trial, 1, 255);
}

/* Clear any part of a page behind its header. */
static void
clear_part(Trial *trial, Page page)
{
	int			start = draw(trial, SizeOfPageHeaderData, BLCKSZ);

	memset(page + start, 0, draw(trial, start, BLCKSZ) - start);
}

/* Make a pair of pages. */
static void
make_pair(Trial *trial, Change change)
{
	char	   *before = trial->before.data;
	char	   *after = trial->after.data;
	PageHeader	header = (PageHeader) after;

	fill_with_garbage(trial, before, before + BLCKSZ);
	draw_limits(trial, before);
	memcpy(after, before, BLCKSZ);
	switch (change)
	{
		case NOTHING:
			fill_with_garbage(trial, after + header->pd_lower,
							  after + header->pd_upper);
			break;
		case LIMITS:
			draw_limits(trial, after);
			break;
		case SCATTERED:
			change_scattered(trial, after);
			break;
		case INSERTION:
			change_as_insertion(trial, after);
			break;
		case RUNS:
			change_in_runs(trial, after);
			if (draw(trial, 0, 1) == 0)
				draw_limits(trial, after);
			break;
		case REWRITING:
			change_everything(trial, after);
			draw_limits(trial, after);
			break;
		case NEW:
			memset(before, 0, BLCKSZ);
			if (draw(trial, 0, 1) == 0)
				clear_part(trial, after);
			break;
	}
}

SWARE_NORETURN static void
fail(const Trial *trial, const char *what, int place)
{
	elog(ERROR, "seed " INT64_FORMAT ", pair %d, byte %d: %s", trial->seed,
		 trial->pair, place, what);
}

/*
 * Must a delta have a byte?  If it differs, or was not on the same side of
 * free space before, since redo may find something else there then.
 */
static bool
is_needed(const Trial *trial, int place)
{
	const PageHeaderData *old = (const PageHeaderData *) trial->before.data;
	const PageHeaderData *new = (const PageHeaderData *) trial->after.data;

	if (place >= new->pd_lower && place < new->pd_upper)
		return false;
	return trial->before.data[place] != trial->after.data[place] ||
		(place < new->pd_lower ? place >= old->pd_lower :
		 place < old->pd_upper);
}

/* Does free space, or none, divide a page at a place? */
static bool
is_border(const Trial *trial, int place)
{
	const PageHeaderData *header = (const PageHeaderData *) trial->after.data;

	return place == header->pd_lower || place == header->pd_upper;
}

/*
 * The bytes from `start` on are not logged.  None of them may be needed; and
 * if there are fragments before and behind them, on the same side of free
 * space, they are more than a header takes.
 */
static void
check_left_out(Trial *trial, int start, int end)
{
	const PageHeaderData *header = (const PageHeaderData *) trial->after.data;
	bool		has_border = false;

	for (int place = start; place < end; place++)
	{
		if (is_needed(trial, place))
			fail(trial, "is needed, but left out", place);
		trial->leftOut += place < header->pd_lower || place >= header->pd_upper;
	}
	for (int place = start; place <= end; place++)
		has_border |= is_border(trial, place);
	if (!has_border && start > 0 && end < BLCKSZ &&
		end - start <= (int) sizeof(SwareFragment))
		fail(trial, "a fragment follows too soon", end);
}

/*
 * The bytes from `start` on are those of a fragment.  It begins and ends with
 * bytes that are needed, and has none that could better be left out.
 */
static void
check_fragment(Trial *trial, int start, int end)
{
	int			idle = 0;

	if (start >= end || end > BLCKSZ)
		fail(trial, "the fragment is empty or too long", start);
	if (!is_needed(trial, start))
		fail(trial, "the fragment begins too early", start);
	if (!is_needed(trial, end - 1))
		fail(trial, "the fragment ends too late", end);
	for (int place = start; place < end; place++)
	{
		if (place > start && is_border(trial, place))
			fail(trial, "the fragment is on both sides of free space", place);
		idle = is_needed(trial, place) ? 0 : idle + 1;
		if (idle > (int) sizeof(SwareFragment))
			fail(trial, "the fragment could have been two", place);
	}
}

/* Look at each fragment, and do with it what redo does. */
static void
redo(Trial *trial, char *page)
{
	const char *next = trial->delta.fragments;
	const char *limit = next + trial->delta.length;
	PageHeader	header = (PageHeader) page;
	int			end = 0;		/* of the fragment before */

	if (trial->delta.length > SWARE_MAX_DELTA)
		fail(trial, "the delta is too long", 0);
	while (next < limit)
	{
		SwareFragment fragment;

		memcpy(&fragment, next, Min((long) sizeof(fragment), limit - next));
		next += sizeof(fragment);
		if (next + fragment.length > limit)
			fail(trial, "the delta ends within a fragment", fragment.offset);
		if (fragment.offset < end)
			fail(trial, "the fragment is not behind the one before",
				 fragment.offset);
		check_left_out(trial, end, fragment.offset);
		end = fragment.offset + fragment.length;
		check_fragment(trial, fragment.offset, end);
		memcpy(page + fragment.offset, next, fragment.length);
		next += fragment.length;
		trial->fragments++;
	}
	check_left_out(trial, end, BLCKSZ);
	memset(page + header->pd_lower, 0, header->pd_upper - header->pd_lower);
}

/* Is a page the changed one, with zeroes in free space? */
static void
check_result(const Trial *trial, const char *page, const char *what)
{
	const PageHeaderData *header = (const PageHeaderData *) trial->after.data;

	for (int place = 0; place < BLCKSZ; place++)
	{
		bool		is_free =
			place >= header->pd_lower && place < header->pd_upper;

		if (page[place] != (is_free ? 0 : trial->after.data[place]))
			fail(trial, what, place);
	}
}

/*
 * Make the delta of a pair, and change both the page that was compared and one
 * with other bytes in free space, as standbys have them.
 */
static void
check_pair(Trial *trial)
{
	PGAlignedBlock page = trial->before;
	PageHeader	header = (PageHeader) page.data;

	sware_delta_compare(&trial->delta, trial->before.data, trial->after.data);
	for (int place = header->pd_lower; place < header->pd_upper; place++)
		page.data[place] = ~trial->after.data[place];
	redo(trial, page.data);
	check_result(trial, page.data, "redo makes another page");

	page = trial->before;
	sware_delta_apply(&trial->delta, page.data);
	check_result(trial, page.data, "the page is changed in another way");
	trial->longest = Max(trial->longest, (int) trial->delta.length);
}

Datum
sware_check_deltas(PG_FUNCTION_ARGS)
{
	Change		change = change_of(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	int			pairs = PG_GETARG_INT32(1);
	Trial	   *trial = palloc0(sizeof(Trial));
	TupleDesc	descriptor;
	Datum		values[3];
	bool		isnull[3] = {false};

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	trial->seed = PG_GETARG_INT64(2);
	pg_prng_seed(&trial->random, trial->seed);
	for (trial->pair = 0; trial->pair < pairs; trial->pair++)
	{
		CHECK_FOR_INTERRUPTS();
		make_pair(trial, change);
		check_pair(trial);
	}
	values[0] = Int64GetDatum(trial->fragments);
	values[1] = Int32GetDatum(trial->longest);
	values[2] = Int64GetDatum(trial->leftOut);
	PG_RETURN_DATUM(
					HeapTupleGetDatum(heap_form_tuple(descriptor, values, isnull)));
}

Datum
sware_delta_limit(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(SWARE_MAX_DELTA);
}

/* The item that lies before all others in the page, but for the high key. */
static ItemId
lowest_item(Page page)
{
	ItemId		lowest = PageGetItemId(page, SWARE_FIRST_DATA);

	for (OffsetNumber offset = SWARE_FIRST_DATA;
		 offset <= PageGetMaxOffsetNumber(page); offset++)
	{
		ItemId		item = PageGetItemId(page, offset);

		if (ItemIdGetOffset(item) < ItemIdGetOffset(lowest))
			lowest = item;
	}
	return lowest;
}

/* Change the item that lies before the others in one respect only. */
static void
damage(Page page, const char *how)
{
	ItemId		item = lowest_item(page);
	int			start = ItemIdGetOffset(item);
	int			size = ItemIdGetLength(item);
	int			told = 0;
	IndexTuple	tuple;

	if (strcmp(how, "none") == 0)
		return;
	if (strcmp(how, "odd size") == 0)
		size--;
	else if (strcmp(how, "no size") == 0)
		size = 0;
	else if (strcmp(how, "large") == 0)
		size = MAXALIGN(SWARE_MAX_ENTRY_SIZE + 1);
	else if (strcmp(how, "other size") == 0)
		told = size + MAXIMUM_ALIGNOF;
	else if (strcmp(how, "in free space") == 0)
		start = ((PageHeader) page)->pd_upper - size;
	else if (strcmp(how, "beyond the data") == 0)
		start = ((PageHeader) page)->pd_special - MAXIMUM_ALIGNOF;
	else if (strcmp(how, "posting list") != 0)
		elog(ERROR, "there is no damage \"%s\"", how);

	ItemIdSetNormal(item, start, size);
	tuple = (IndexTuple) ((char *) page + start);
	tuple->t_info = Max(told, size);
	if (strcmp(how, "posting list") == 0)
	{
		/* of no row */
		tuple->t_info |= SWARE_SPECIAL_TUPLE;
		ItemPointerSetOffsetNumber(&tuple->t_tid, SWARE_IS_POSTING);
	}
}

Datum
sware_close_gaps(PG_FUNCTION_ARGS)
{
	Relation	index = index_open(PG_GETARG_OID(0), RowExclusiveLock);
	char	   *how = text_to_cstring(PG_GETARG_TEXT_PP(2));
	Buffer		buffer = sware_read_buffer(index, PG_GETARG_INT32(1),
										   BUFFER_LOCK_EXCLUSIVE);
	Page		page = BufferGetPage(buffer);
	PGAlignedBlock before;
	bool		closed;

	memcpy(before.data, page, BLCKSZ);
	damage(page, how);
	closed = sware_wal_close_gaps(index, buffer, 0);
	if (!closed)
		memcpy(page, before.data, BLCKSZ);
	sware_release_buffer(buffer);
	index_close(index, NoLock);
	PG_RETURN_BOOL(closed);
}
